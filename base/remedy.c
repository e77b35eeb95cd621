/* The table of remedies. Pure; any thread. */
#include "base/remedy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"

#define SYSCTL               "sudo sysctl "
#define PARANOID_FOR_SYMBOLS 1

struct row {
    const char *text; /* the command, up to its value */
    bool has_value;
    const char *before_object, *after_object; /* NULL: the remedy takes no object */
};

static const struct row rows[] = {
    [WEIR_REMEDY_PARANOID] = {SYSCTL "kernel.perf_event_paranoid=", true},
    [WEIR_REMEDY_MLOCK_KB] = {SYSCTL "kernel.perf_event_mlock_kb=", true},
    [WEIR_REMEDY_MAX_SAMPLE_RATE] = {SYSCTL "kernel.perf_event_max_sample_rate=", true},
    [WEIR_REMEDY_NMI_WATCHDOG] = {SYSCTL "kernel.nmi_watchdog=", true},
    [WEIR_REMEDY_KPTR_RESTRICT] = {SYSCTL "kernel.kptr_restrict=", true},
    [WEIR_REMEDY_IO_URING] = {SYSCTL "kernel.io_uring_disabled=", true},
    [WEIR_REMEDY_NOFILE] = {"ulimit -n ", true},
    [WEIR_REMEDY_NOFILE_HARD] = {"sudo prlimit --pid $$ --nofile=", true},
    [WEIR_REMEDY_MEMLOCK] = {"sudo prlimit --pid $$ --memlock=unlimited", false},
    [WEIR_REMEDY_CONTAINER] = {"start the container with --cap-add=PERFMON, or with --security-opt seccomp=unconfined",
                               false},
    [WEIR_REMEDY_CONTAINER_SECCOMP] = {"start the container with --security-opt seccomp=unconfined", false},
    /* For a group, as Documentation/admin-guide/perf-security.rst does it. chgrp(1) takes capabilities away. */
    [WEIR_REMEDY_CAPABILITIES] = {"w=$(command -v weir); sudo groupadd -f perf_users; sudo chgrp perf_users \"$w\"; "
                                  "sudo chmod 750 \"$w\"; "
                                  "sudo setcap cap_perfmon,cap_ipc_lock,cap_syslog,cap_sys_ptrace=ep \"$w\"",
                                  false},
    [WEIR_REMEDY_TRACEFS_MOUNT] = {"sudo mount -t tracefs nodev /sys/kernel/tracing", false},
    [WEIR_REMEDY_TRACEFS_MODE] = {"sudo mount -o remount,mode=755", false, " ", ""},
    [WEIR_REMEDY_MEMORY_CGROUP] = {"sudo sh -c 'echo ", true, " >", "'"},
};
_Static_assert(WEIR_ARRAY_COUNT(rows) == WEIR_REMEDY_COUNT, "a row for each");

static void append(char text[WEIR_REMEDY_BYTES], const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, WEIR_REMEDY_BYTES - used, "%s", more);
}

static const char *write_command(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES])
{
    if (rows[remedy].has_value)
        snprintf(text, WEIR_REMEDY_BYTES, "%s%" PRId64, rows[remedy].text, value);
    else
        snprintf(text, WEIR_REMEDY_BYTES, "%s", rows[remedy].text);
    return text;
}

const char *weir_remedy(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES])
{
    weir_assert(remedy < WEIR_REMEDY_COUNT && !rows[remedy].before_object);
    return write_command(remedy, value, text);
}

const char *weir_remedy_on(enum weir_remedy remedy, int64_t value, const char *object, char text[WEIR_REMEDY_BYTES])
{
    weir_assert(remedy < WEIR_REMEDY_COUNT && rows[remedy].before_object);
    write_command(remedy, value, text);
    append(text, rows[remedy].before_object);
    append(text, object);
    append(text, rows[remedy].after_object);
    return text;
}

const char *weir_remedy_hidden_kernel(long long kptr_restrict, long long paranoid, bool cap_syslog,
                                      char text[WEIR_REMEDY_BYTES])
{
    bool too_paranoid = !cap_syslog && paranoid > PARANOID_FOR_SYMBOLS;
    if (kptr_restrict <= 0 && too_paranoid)
        return weir_remedy(WEIR_REMEDY_PARANOID, PARANOID_FOR_SYMBOLS, text);
    weir_remedy(WEIR_REMEDY_KPTR_RESTRICT, 0, text);
    char more[WEIR_REMEDY_BYTES];
    if (too_paranoid) { /* one sysctl(8) takes both */
        append(text, " ");
        append(text, weir_remedy(WEIR_REMEDY_PARANOID, PARANOID_FOR_SYMBOLS, more) + strlen(SYSCTL));
    }
    return text;
}
