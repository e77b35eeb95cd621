/* Checking and dropping privileges. Source: capabilities(7), getauxval(3) on AT_SECURE, cap_set_proc(3), capset(2). */
#include "engine/kernel/privileges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "engine/kernel/thread_filter.h"

/* Capabilities that the program file may have. None of them lets the caller open a file or become a user that he could
 * not without. */
static const cap_value_t for_files[] = {CAP_PERFMON,    CAP_BPF,      CAP_IPC_LOCK,     CAP_SYSLOG,
                                        CAP_SYS_PTRACE, CAP_SYS_NICE, CAP_SYS_RESOURCE, CAP_SYS_ADMIN};

/* Capabilities that root keeps while recording: those for perf events, and for files and processes of others. */
static const cap_value_t kept_besides[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_KILL,
                                           CAP_CHECKPOINT_RESTORE};

static bool is_among(cap_value_t wanted, const cap_value_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == wanted)
            return true;
    }
    return false;
}

/* The first capability that the program has and its file must not have; -1: none. */
static int excessive_capability(void)
{
    cap_t caps = cap_get_proc();
    int found = -1;
    for (cap_value_t value = 0; caps && found < 0 && value < cap_max_bits(); value++) {
        cap_flag_value_t held = CAP_CLEAR;
        if (cap_get_flag(caps, value, CAP_PERMITTED, &held) == 0 && held == CAP_SET &&
            !is_among(value, for_files, WEIR_ARRAY_COUNT(for_files)))
            found = value;
    }
    cap_free(caps);
    return found;
}

/* hwloc loads plugins from the folders that its variables name, also in a program with more rights than its caller. */
static const char *library_variable(void)
{
    for (char **variable = environ; variable && *variable; variable++) {
        if (strncmp(*variable, "HWLOC_", 6) == 0)
            return *variable;
    }
    return NULL;
}

int weir_privileges_check(struct weir_error *err)
{
    char command[WEIR_REMEDY_BYTES];
    if (getuid() != geteuid() || getgid() != getegid()) {
        weir_error_set(err, -EPERM, "does not run set-user-ID or set-group-ID");
        weir_error_hint(err, "give the program file capabilities instead: %s",
                        weir_remedy(WEIR_REMEDY_CAPABILITIES, 0, command));
        return -EPERM;
    }
    if (!getauxval(AT_SECURE))
        return 0;
    int excessive = excessive_capability();
    if (excessive >= 0) {
        char *name = cap_to_name(excessive);
        weir_error_set(err, -EPERM, "does not run with the file capability %s: its user would get it",
                       name ? name : "?");
        weir_error_hint(err, "what recordings need: %s", weir_remedy(WEIR_REMEDY_CAPABILITIES, 0, command));
        cap_free(name);
        return -EPERM;
    }
    const char *variable = library_variable();
    if (variable) {
        weir_error_set(err, -EPERM, "does not take '%.*s' with file capabilities: hwloc may load code by it",
                       (int)strcspn(variable, "="), variable);
        weir_error_hint(err, "unset it, or run as root");
        return -EPERM;
    }
    return 0;
}

void weir_privileges_drop_unneeded(void)
{
    cap_t caps = cap_get_proc();
    for (cap_value_t value = 0; caps && value < cap_max_bits(); value++) {
        if (!is_among(value, for_files, WEIR_ARRAY_COUNT(for_files)) &&
            !is_among(value, kept_besides, WEIR_ARRAY_COUNT(kept_besides))) {
            cap_set_flag(caps, CAP_EFFECTIVE, 1, &value, CAP_CLEAR);
            cap_set_flag(caps, CAP_PERMITTED, 1, &value, CAP_CLEAR);
        }
    }
    if (caps)
        cap_set_proc(caps);
    cap_free(caps);
    weir_thread_filters_make();
}

static void gain_none(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* Linux 3.5; a kernel without it has no such limit */
}

void weir_privileges_execute_nothing(void)
{
    gain_none();
    weir_thread_filter_enter(WEIR_THREAD_FILTER_RECORDER);
}

#define BIT(capability) (1ull << (capability))

static const uint64_t kept_by[] = {
    [WEIR_PRIVILEGES_DATA] = 0,
    /* Ids of BPF programs and /proc/iomem need CAP_SYS_ADMIN, kernel/bpf/syscall.c and kernel/resource.c. */
    [WEIR_PRIVILEGES_SIDEBAND] = BIT(CAP_SYS_ADMIN) | BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYSLOG) |
                                 BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_NICE),
    /* map_files needs CAP_CHECKPOINT_RESTORE, on kernels before 5.9 CAP_SYS_ADMIN (fs/proc/base.c). */
    [WEIR_PRIVILEGES_BUILD_IDS] = BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) |
                                  BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_NICE),
    [WEIR_PRIVILEGES_PROC] = BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH),
    [WEIR_PRIVILEGES_METRICS] = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER),
    [WEIR_PRIVILEGES_FINISHER] =
        BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) | BIT(CAP_SYS_RESOURCE),
};

static const enum weir_thread_filter filter_of[] = {
    [WEIR_PRIVILEGES_DATA] = WEIR_THREAD_FILTER_DATA,       [WEIR_PRIVILEGES_SIDEBAND] = WEIR_THREAD_FILTER_SIDEBAND,
    [WEIR_PRIVILEGES_BUILD_IDS] = WEIR_THREAD_FILTER_FILES, [WEIR_PRIVILEGES_PROC] = WEIR_THREAD_FILTER_FILES,
    [WEIR_PRIVILEGES_METRICS] = WEIR_THREAD_FILTER_METRICS,
};

/* By capset(2), not with an allocated cap_t: malloc(3) would make an arena for each of hundreds of threads, which never
 * allocate again. */
static void limit_capabilities(enum weir_privileges_class class)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (capget(&header, sets) < 0)
        return;
    uint64_t kept = kept_by[class];
    bool restores = (uint64_t)sets[1].permitted << 32 & BIT(CAP_CHECKPOINT_RESTORE);
    if (class == WEIR_PRIVILEGES_BUILD_IDS && restores)
        kept &= ~BIT(CAP_SYS_ADMIN);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sets); i++) {
        uint32_t part = (uint32_t)(kept >> (32 * i));
        sets[i].effective &= part;
        sets[i].permitted &= part;
    }
    capset(&header, sets);
}

void weir_privileges_limit(enum weir_privileges_class class)
{
    limit_capabilities(class);
    if (class == WEIR_PRIVILEGES_FINISHER) /* executes commands; without them it has its parent's filter */
        return;
    gain_none();
    weir_thread_filter_enter(filter_of[class]);
}
