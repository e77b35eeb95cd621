/* The rules that judge the facts of `weir doctor`. Pure; any thread. */
#include "engine/upkeep/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/drain/chunk.h"
#include "engine/plan/budget.h"

#define EVENTS_ASSUMED   3u /* two events, and one for side records */
#define FREE_BYTES_LEAST (1ull << 30)
#define POOL_BYTES       (32ull << 20) /* of each reader */

struct findings {
    struct weir_finding *list;
    size_t count;
};

static struct weir_finding *__attribute__((format(printf, 4, 5)))
find(struct findings *found, const char *name, enum weir_verdict verdict, const char *format, ...)
{
    weir_assert(found->count < WEIR_FINDINGS_MAX);
    struct weir_finding *finding = &found->list[found->count++];
    *finding = (struct weir_finding){.name = name, .verdict = verdict};
    va_list args;
    va_start(args, format);
    vsnprintf(finding->state, sizeof(finding->state), format, args);
    va_end(args);
    return finding;
}

static void judge_events(const struct weir_doctor_facts *facts, struct findings *found)
{
    int error = facts->event_error;
    if (error == 0) /* trying counts more than the settings in /proc */
        find(found, "events", WEIR_VERDICT_OK, "perf_event_open(2) works");
    else if (!facts->limits.has_perf_events)
        find(found, "events", WEIR_VERDICT_BAD, "this kernel was built without CONFIG_PERF_EVENTS");
    else if (facts->limits.perf_event_paranoid > 2 && !facts->limits.cap_perfmon)
        weir_remedy(WEIR_REMEDY_PARANOID, 2,
                    find(found, "events", WEIR_VERDICT_BAD, "nothing can be recorded: kernel.perf_event_paranoid is %d",
                         facts->limits.perf_event_paranoid)
                        ->fix);
    else
        weir_remedy(WEIR_REMEDY_CONTAINER, 0,
                    find(found, "events", WEIR_VERDICT_BAD,
                         "perf_event_open(2) fails (%s): a seccomp filter or security module forbids it",
                         strerror(-error))
                        ->fix);
    found->list[found->count - 1].goal = "own commands";
    if (facts->hardware_error == 0)
        find(found, "hardware", WEIR_VERDICT_OK, "hardware counters are available");
    else if (error == 0)
        find(found, "hardware", WEIR_VERDICT_NOTE,
             "no hardware counter (%s), as in most virtual machines: cycles becomes cpu-clock",
             strerror(-facts->hardware_error));
}

/* A goal that needs CAP_PERFMON, or kernel.perf_event_paranoid at a level or below. */
static void judge_goal(const struct weir_doctor_facts *facts, struct findings *found, const char *name,
                       const char *goal, int level)
{
    const struct weir_kernel_limits *limits = &facts->limits;
    struct weir_finding *finding;
    if (limits->cap_perfmon)
        finding = find(found, name, WEIR_VERDICT_OK, "%s: allowed by CAP_PERFMON", goal);
    else if (limits->perf_event_paranoid <= level)
        finding = find(found, name, WEIR_VERDICT_OK, "%s: allowed, kernel.perf_event_paranoid is %d", goal,
                       limits->perf_event_paranoid);
    else {
        finding = find(found, name, WEIR_VERDICT_LIMITED,
                       "%s: needs CAP_PERFMON, or kernel.perf_event_paranoid at %d or below (now %d)", goal, level,
                       limits->perf_event_paranoid);
        weir_remedy(WEIR_REMEDY_PARANOID, level, finding->fix);
    }
    finding->goal = goal;
}

static void judge_goals(const struct weir_doctor_facts *facts, struct findings *found)
{
    judge_goal(facts, found, "kernel", "the kernel's part of own commands", 1);
    judge_goal(facts, found, "all-cpus", "all processes (-a, -C)", 0);
    judge_goal(facts, found, "tracepoints", "tracepoints", -1);
    struct weir_finding *tracepoints = &found->list[found->count - 1];
    if (tracepoints->verdict == WEIR_VERDICT_OK && facts->tracefs_error < 0) {
        tracepoints->verdict = WEIR_VERDICT_LIMITED;
        snprintf(tracepoints->state, sizeof(tracepoints->state), "tracepoints: need tracefs");
    }
}

/* Security modules that can refuse what the settings above allow. */
static void judge_security(const struct weir_doctor_facts *facts, struct findings *found)
{
    if (strstr(facts->lockdown, "[confidentiality]"))
        find(found, "lockdown", WEIR_VERDICT_LIMITED,
             "the kernel is locked down for confidentiality: no tracefs, probes or /proc/kcore; lockdown= of the "
             "kernel's command line sets it");
    else
        find(found, "lockdown", WEIR_VERDICT_OK, "the kernel is not locked down against recordings");
    bool confines = facts->selinux_enforces || strstr(facts->profile, "(enforce)");
    if (!confines)
        find(found, "lsm", WEIR_VERDICT_OK, "no security module confines this process");
    else
        find(found, "lsm", facts->event_error == 0 ? WEIR_VERDICT_OK : WEIR_VERDICT_NOTE,
             "%s confines this process (%s)%s", facts->selinux_enforces ? "SELinux" : "AppArmor", facts->profile,
             facts->event_error == 0 ? ", and allows perf_event_open(2)" : "; the kernel's log tells what it denied");
    /* perf_event_open(2) and /proc need PTRACE_MODE_READ; Yama limits attaching (security/yama/yama_lsm.c). */
    find(found, "yama", WEIR_VERDICT_OK,
         facts->yama >= 0 ? "kernel.yama.ptrace_scope is %lld, which limits no recording" : "there is no Yama",
         facts->yama);
}

static void judge_capabilities(const struct weir_doctor_facts *facts, struct findings *found)
{
    const struct weir_kernel_limits *limits = &facts->limits;
    bool all = limits->cap_perfmon && limits->cap_ipc_lock && facts->cap_syslog && facts->cap_sys_ptrace;
    const char *missing[] = {limits->cap_perfmon ? "" : " CAP_PERFMON", limits->cap_ipc_lock ? "" : " CAP_IPC_LOCK",
                             facts->cap_syslog ? "" : " CAP_SYSLOG", facts->cap_sys_ptrace ? "" : " CAP_SYS_PTRACE"};
    if (limits->in_user_namespace)
        find(found, "capabilities", WEIR_VERDICT_NOTE,
             "this is a user namespace, whose capabilities do not count for perf events");
    else if (all)
        find(found, "capabilities", WEIR_VERDICT_OK, "all capabilities that a recording can use are held");
    else
        weir_remedy(WEIR_REMEDY_CAPABILITIES, 0,
                    find(found, "capabilities", WEIR_VERDICT_NOTE, "missing:%s%s%s%s; the fix gives them to a group",
                         missing[0], missing[1], missing[2], missing[3])
                        ->fix);
}

/* Judges the locked memory of rings and of the writer's buffers: two limits, two budgets. */
static void judge_memory(const struct weir_doctor_facts *facts, struct findings *found)
{
    const struct weir_kernel_limits *limits = &facts->limits;
    struct weir_kernel_limits freed = *limits;
    freed.cap_ipc_lock = true;
    struct weir_ring_sizes sizes = weir_ring_bytes_choose(limits, facts->memory_bytes, facts->cpus);
    struct weir_ring_sizes best = weir_ring_bytes_choose(&freed, facts->memory_bytes, facts->cpus);
    uint64_t wanted_kb = weir_ring_sizes_mlock_kb(limits, &best);
    if (sizes.data_bytes == best.data_bytes)
        find(found, "mlock", WEIR_VERDICT_OK, "rings of %" PRIu64 " KiB for each CPU fit", sizes.data_bytes >> 10);
    else
        weir_remedy(WEIR_REMEDY_MLOCK_KB, (int64_t)wanted_kb,
                    find(found, "mlock", WEIR_VERDICT_NOTE,
                         "kernel.perf_event_mlock_kb is %" PRIu64 ": rings of %" PRIu64 " KiB instead of %" PRIu64
                         " KiB, which overflow sooner",
                         limits->mlock_kb, sizes.data_bytes >> 10, best.data_bytes >> 10)
                        ->fix);

    uint64_t pool_bytes = POOL_BYTES * facts->cpus;
    if (limits->cap_ipc_lock || limits->memlock_bytes >= pool_bytes)
        find(found, "memlock", WEIR_VERDICT_OK, "the writer's buffers can be registered");
    else
        weir_remedy(WEIR_REMEDY_MEMLOCK, 0,
                    find(found, "memlock", WEIR_VERDICT_NOTE,
                         "RLIMIT_MEMLOCK is %" PRIu64 " KiB: the writer's buffers (%" PRIu64 " MiB) may not be "
                         "registered, writing takes a tenth more CPU time",
                         limits->memlock_bytes >> 10, pool_bytes >> 20)
                        ->fix);
}

/* Judges the memory that `weir record -a` takes at its start. */
static void judge_cgroup(const struct weir_doctor_facts *facts, struct findings *found)
{
    const struct weir_budget_input input = {
        .places = facts->cpus,
        .readers = facts->cpus,
        .descriptors = (uint64_t)EVENTS_ASSUMED * facts->cpus,
        .pool_bytes = weir_pool_default_bytes(facts->memory_limit.bytes, facts->cpus),
        .pool_grows = true,
        .sideband = true,
        .page_bytes = facts->limits.page_bytes,
    };
    struct weir_budget budget;
    struct weir_error refused;
    weir_budget_compute(&budget, &input);
    if (weir_budget_check(&budget, &facts->memory_limit, &refused) < 0)
        weir_remedy_on(WEIR_REMEDY_MEMORY_CGROUP, (int64_t)weir_budget_enough_bytes(&budget), facts->memory_limit.file,
                       find(found, "cgroup", WEIR_VERDICT_LIMITED, "%s", refused.what)->fix);
    else if (facts->memory_limit.bytes < facts->memory_bytes)
        find(found, "cgroup", WEIR_VERDICT_OK, "%" PRIu64 " MiB of memory are allowed",
             facts->memory_limit.bytes >> 20);
    else
        find(found, "cgroup", WEIR_VERDICT_OK, "no limit of memory");
}

static void judge_files(const struct weir_doctor_facts *facts, struct findings *found)
{
    uint64_t needed = weir_budget_fds((uint64_t)EVENTS_ASSUMED * facts->cpus, facts->cpus);
    if (needed <= facts->limits.nofile_max)
        find(found, "files", WEIR_VERDICT_OK, "%" PRIu64 " descriptors for -a with two events, %" PRIu64 " are allowed",
             needed, facts->limits.nofile_max);
    else
        weir_remedy(WEIR_REMEDY_NOFILE_HARD, (int64_t)needed,
                    find(found, "files", WEIR_VERDICT_LIMITED,
                         "-a with two events needs %" PRIu64 " descriptors, at most %" PRIu64 " are allowed", needed,
                         facts->limits.nofile_max)
                        ->fix);
}

static void judge_kernel(const struct weir_doctor_facts *facts, struct findings *found)
{
    /* kallsyms_show_value(), kernel/kallsyms.c. */
    long long kptr = facts->kptr_restrict;
    int paranoid = facts->limits.perf_event_paranoid;
    bool is_hidden = facts->cap_syslog ? kptr >= 2 : kptr >= 1 || paranoid > 1;
    if (!is_hidden)
        find(found, "kptr", WEIR_VERDICT_OK, "the kernel shows its addresses");
    else
        weir_remedy_hidden_kernel(
            kptr, paranoid, facts->cap_syslog,
            find(found, "kptr", WEIR_VERDICT_NOTE,
                 "kernel samples have no symbols: kernel.kptr_restrict is %lld, kernel.perf_event_paranoid is %d%s",
                 kptr, paranoid, facts->cap_syslog ? "" : ", and CAP_SYSLOG is not held")
                ->fix);
    if (facts->nmi_watchdog != 1 || facts->hardware_error != 0)
        find(found, "watchdog", WEIR_VERDICT_OK, "the NMI watchdog uses no hardware counter");
    else
        weir_remedy(
            WEIR_REMEDY_NMI_WATCHDOG, 0,
            find(found, "watchdog", WEIR_VERDICT_NOTE, "the NMI watchdog uses a hardware counter of each CPU")->fix);
    if (facts->tracefs_error == 0)
        find(found, "tracefs", WEIR_VERDICT_OK, "at %s", facts->tracefs);
    else if (facts->tracefs_error == -EACCES) {
        weir_remedy_on(
            WEIR_REMEDY_TRACEFS_MODE, 0, "/sys/kernel/tracing",
            find(found, "tracefs", WEIR_VERDICT_LIMITED, "tracepoints need root: this user may not enter tracefs")
                ->fix);
    } else {
        weir_remedy(WEIR_REMEDY_TRACEFS_MOUNT, 0,
                    find(found, "tracefs", WEIR_VERDICT_LIMITED, "not mounted: tracepoints cannot be recorded")->fix);
    }
}

static void judge_seccomp(const struct weir_doctor_facts *facts, struct findings *found)
{
    if (facts->seccomp != 2)
        find(found, "seccomp", WEIR_VERDICT_OK, "no filter on this process");
    else if (facts->event_error == 0 && facts->uring_error == 0)
        find(found, "seccomp", WEIR_VERDICT_OK, "a filter, which allows perf_event_open(2) and io_uring");
    else
        weir_remedy(WEIR_REMEDY_CONTAINER_SECCOMP, 0,
                    find(found, "seccomp", WEIR_VERDICT_NOTE, "a filter on this process refuses %s%s%s",
                         facts->event_error < 0 ? "perf_event_open(2)" : "",
                         facts->event_error < 0 && facts->uring_error < 0 ? " and " : "",
                         facts->uring_error < 0 ? "io_uring" : "")
                        ->fix);
}

static void judge_output(const struct weir_doctor_facts *facts, struct findings *found)
{
    int error = facts->uring_error;
    if (error == 0)
        find(found, "io_uring", WEIR_VERDICT_OK, "works");
    else if (error == -EPERM && facts->io_uring_disabled > 0)
        weir_remedy(WEIR_REMEDY_IO_URING, 0,
                    find(found, "io_uring", WEIR_VERDICT_NOTE,
                         "kernel.io_uring_disabled is %lld: pwritev(2) writes instead, with more CPU time",
                         facts->io_uring_disabled)
                        ->fix);
    else
        weir_remedy(error == -ENOMEM ? WEIR_REMEDY_MEMLOCK : WEIR_REMEDY_CONTAINER_SECCOMP, 0,
                    find(found, "io_uring", WEIR_VERDICT_NOTE,
                         "refused (%s): pwritev(2) writes instead, with more CPU time", strerror(-error))
                        ->fix);

    error = facts->direct_error;
    if (error == 0)
        find(found, "direct", WEIR_VERDICT_OK, "%s supports O_DIRECT", facts->folder);
    else if (error == -EINVAL || error == -EOPNOTSUPP)
        find(found, "direct", WEIR_VERDICT_NOTE,
             "the file system of %s does not support O_DIRECT: writing goes through the page cache", facts->folder);
    else
        find(found, "direct", WEIR_VERDICT_LIMITED, "%s: cannot create a file there (%s): cd elsewhere, or -o FILE",
             facts->folder, strerror(-error));

    if (facts->space_error < 0)
        find(found, "space", WEIR_VERDICT_LIMITED, "%s: %s", facts->folder, strerror(-facts->space_error));
    else
        find(found, "space", facts->free_bytes < FREE_BYTES_LEAST ? WEIR_VERDICT_NOTE : WEIR_VERDICT_OK,
             "%" PRIu64 " MiB are free in %s", facts->free_bytes >> 20, facts->folder);
}

size_t weir_doctor_judge(const struct weir_doctor_facts *facts, struct weir_finding findings[WEIR_FINDINGS_MAX])
{
    struct findings found = {.list = findings};
    judge_events(facts, &found);
    judge_goals(facts, &found);
    judge_security(facts, &found);
    judge_capabilities(facts, &found);
    judge_memory(facts, &found);
    judge_cgroup(facts, &found);
    judge_files(facts, &found);
    judge_kernel(facts, &found);
    judge_seccomp(facts, &found);
    judge_output(facts, &found);
    find(&found, "numa", WEIR_VERDICT_OK,
         facts->nodes > 1 ? "%u nodes: buffers lie where their readers run" : "%u node", facts->nodes);
    return found.count;
}

const char *weir_verdict_word(enum weir_verdict verdict)
{
    static const char *const words[] = {"ok", "note", "limited", "bad"};
    return words[verdict];
}
