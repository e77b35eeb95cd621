/*
 * One function for each errno of perf_event_open(2) and mmap(2) that has more than one cause.
 *
 * Source: the ERRORS section of perf_event_open(2); perf_event_open(), perf_allow_kernel() and perf_allow_cpu() in
 * kernel/events/core.c and perf_trace_event_perm() in kernel/trace/trace_event_perf.c, Linux 6.12.
 */
#include "engine/events/open_error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/remedy.h"

#define KIB          UINT64_C(1024)
#define OBJECT_BYTES 256

/* The highest perf_event_paranoid at which an attempt passes without privileges, and the part of it that needs this. */
struct need {
    int paranoid;
    const char *what;
};

static struct need need_of(const struct weir_open_attempt *attempt)
{
    const struct perf_event_attr *attr = attempt->attr;
    if (attr->type == PERF_TYPE_TRACEPOINT && (attr->sample_type & PERF_SAMPLE_RAW))
        return (struct need){-1, "the data of tracepoints"};
    if (attempt->pid == -1)
        return (struct need){0, "recording all processes of a CPU"};
    if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR)
        return (struct need){1, "--phys-data"};
    if (!attr->exclude_kernel)
        return (struct need){1, "recording the kernel"};
    return (struct need){2, "recording without privileges"};
}

static void hint_permission(struct weir_error *err, const struct weir_open_attempt *attempt,
                            const struct weir_kernel_limits *limits)
{
    struct need need = need_of(attempt);
    char command[WEIR_REMEDY_BYTES];
    bool asks_for_namespaces = attempt->attr->namespaces && limits->perf_event_paranoid <= need.paranoid;
    if (!limits->cap_perfmon && asks_for_namespaces) {
        weir_error_hint(err, "--namespaces needs root or CAP_PERFMON, whatever kernel.perf_event_paranoid is");
    } else if (!limits->cap_perfmon && limits->perf_event_paranoid > need.paranoid) {
        bool by_kernel = need.paranoid == 1 && !(attempt->attr->sample_type & PERF_SAMPLE_PHYS_ADDR);
        const char *or_user = by_kernel ? "; or user space only, with modifier :u" : "";
        const char *who = limits->in_user_namespace ? "root outside of this user namespace" : "root or CAP_PERFMON";
        weir_error_hint(err, "kernel.perf_event_paranoid is %d, %s needs %d or less, or %s: %s%s",
                        limits->perf_event_paranoid, need.what, need.paranoid, who,
                        weir_remedy(WEIR_REMEDY_PARANOID, need.paranoid, command), or_user);
    } else if (attempt->pid > 0 && !limits->cap_perfmon) {
        weir_error_hint(err,
                        "task %d is of another user or may not be traced: run as its owner, as root or with "
                        "CAP_PERFMON",
                        (int)attempt->pid);
    } else if (attempt->attr->type == PERF_TYPE_TRACEPOINT) {
        weir_error_hint(
            err,
            "the kernel lets nobody sample some tracepoints (irq_vectors:irq_work_exit), though perf stat counts them: "
            "leave it out; or a seccomp filter or security module forbids perf_event_open(2): %s",
            weir_remedy(WEIR_REMEDY_CONTAINER, 0, command));
    } else {
        weir_error_hint(err, "a seccomp filter or security module forbids perf_event_open(2): %s",
                        weir_remedy(WEIR_REMEDY_CONTAINER, 0, command));
    }
}

void weir_open_error_hint_files(struct weir_error *err, uint64_t needed, const struct weir_kernel_limits *limits)
{
    char command[WEIR_REMEDY_BYTES];
    if (needed <= limits->nofile)
        weir_error_hint(err, "RLIMIT_NOFILE is %" PRIu64 ": raise it with ulimit -n", limits->nofile);
    else if (needed <= limits->nofile_max)
        weir_error_hint(err, "RLIMIT_NOFILE is %" PRIu64 ", this recording needs %" PRIu64 ": %s", limits->nofile,
                        needed, weir_remedy(WEIR_REMEDY_NOFILE, (int64_t)needed, command));
    else
        weir_error_hint(err,
                        "RLIMIT_NOFILE cannot be raised above %" PRIu64 ", this recording needs %" PRIu64
                        ": %s, or fewer events or CPUs (-e, -C)",
                        limits->nofile_max, needed, weir_remedy(WEIR_REMEDY_NOFILE_HARD, (int64_t)needed, command));
}

static void hint_no_such_event(struct weir_error *err, const struct weir_open_attempt *attempt)
{
    switch (attempt->attr->type) {
    case PERF_TYPE_HARDWARE:
    case PERF_TYPE_HW_CACHE:
    case PERF_TYPE_RAW:
        weir_error_hint(err, "this machine has no hardware counter for it, like most virtual machines: "
                             "-e cpu-clock needs none");
        break;
    default:
        weir_error_hint(err, "this kernel does not support it");
        break;
    }
}

static void hint_invalid(struct weir_error *err, const struct weir_open_attempt *attempt,
                         const struct weir_kernel_limits *limits)
{
    const struct perf_event_attr *attr = attempt->attr;
    char command[WEIR_REMEDY_BYTES];
    bool reads_of_task = (attr->sample_type & PERF_SAMPLE_READ) && attempt->pid >= 0;
    if (attempt->is_refused_in_group && !reads_of_task)
        weir_error_hint(
            err,
            "the event opens alone, but not in its group: a PMU counts few events at once, and a group is inherited as "
            "a whole or not at all; fewer events, or ':W' behind the group, which then opens them one by one");
    else if (attr->freq && attr->sample_freq > limits->max_sample_rate_hz)
        weir_error_hint(err, "kernel.perf_event_max_sample_rate is %" PRIu64 ": -F max, or %s",
                        limits->max_sample_rate_hz,
                        weir_remedy(WEIR_REMEDY_MAX_SAMPLE_RATE, (int64_t)attr->sample_freq, command));
    else if (attempt->has_aux && attr->freq)
        weir_error_hint(err, "an event that traces has a period (-c), or none, but no frequency: leave out -F");
    else if (attempt->has_aux)
        weir_error_hint(err, "its PMU does not take these terms together: 'weir list pmu' shows the terms that it has");
    else if (attr->precise_ip)
        weir_error_hint(err, "this machine may not sample it precisely: leave out the modifiers p and P");
    else if (reads_of_task)
        weir_error_hint(err,
                        "child tasks cannot inherit an event that :S reads before Linux 6.13: give :S to the whole "
                        "group, '{EVENT,EVENT}:S', without --inherit, or try -i or -a");
    else if (attr->type == PERF_TYPE_BREAKPOINT)
        weir_error_hint(err, "a CPU watches 1, 2, 4 or 8 bytes at a multiple of that, on x86 for w, rw, or x without a "
                             "length; and not all of the kernel's code");
    else if (attr->type == PERF_TYPE_TRACEPOINT)
        weir_error_hint(err, "the tracepoint may have gone with its module: ls /sys/kernel/tracing/events");
    else if (attr->type > PERF_TYPE_BREAKPOINT && attempt->pid >= 0)
        weir_error_hint(err, "events of this PMU may count whole CPUs only, not tasks: try -a");
    else if (attr->type > PERF_TYPE_BREAKPOINT)
        weir_error_hint(
            err,
            "events of this PMU may not be able to interrupt, so they cannot be recorded: perf stat -a counts them");
    else
        weir_error_hint(err, "the CPU does not exist, or this kernel is older than what the event asks for");
}

static void hint_not_supported(struct weir_error *err, const struct perf_event_attr *attr)
{
    if (attr->aux_action)
        weir_error_hint(err, "its PMU cannot pause its trace: leave out the term aux-action");
    else if (attr->precise_ip)
        weir_error_hint(err, "this machine does not sample it precisely: leave out the modifiers p and P");
    else if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
        weir_error_hint(err,
                        "this event has no branch records here, which are the hardware PMU's: leave out -b, -j and "
                        "--call-graph lbr");
    else
        weir_error_hint(err, "this counter cannot interrupt, so it cannot be sampled: -e cpu-clock can");
}

static void hint_not_implemented(struct weir_error *err, const struct weir_kernel_limits *limits)
{
    char command[WEIR_REMEDY_BYTES];
    if (!limits->has_perf_events)
        weir_error_hint(err, "this kernel was built without CONFIG_PERF_EVENTS");
    else
        weir_error_hint(err, "a seccomp filter hides perf_event_open(2): %s",
                        weir_remedy(WEIR_REMEDY_CONTAINER, 0, command));
}

/* "event 'cycles' of task 12 on cpu 3", without the parts that do not apply. */
static void describe(char *text, const struct weir_open_attempt *attempt)
{
    char task[32] = "", cpu[32] = "";
    if (attempt->pid > 0)
        snprintf(task, sizeof(task), " of task %d", (int)attempt->pid);
    if (attempt->cpu >= 0)
        snprintf(cpu, sizeof(cpu), " on cpu %d", attempt->cpu);
    snprintf(text, OBJECT_BYTES, "event '%s'%s%s", attempt->name, task, cpu);
}

int weir_open_error_explain(struct weir_error *err, int code, const struct weir_open_attempt *attempt,
                            const struct weir_kernel_limits *limits)
{
    char object[OBJECT_BYTES];
    describe(object, attempt);
    weir_error_set_errno(err, code, "cannot open %s", object);

    switch (code) {
    case -EACCES:
    case -EPERM:
        hint_permission(err, attempt, limits);
        break;
    case -EMFILE:
        weir_open_error_hint_files(err, attempt->fds_needed, limits);
        break;
    case -ENFILE:
        weir_error_hint(err, "the machine's limit fs.file-max is reached: sysctl fs.file-nr shows use and limit");
        break;
    case -ENOENT:
        hint_no_such_event(err, attempt);
        break;
    case -EINVAL:
        hint_invalid(err, attempt, limits);
        break;
    case -EOPNOTSUPP:
        hint_not_supported(err, attempt->attr);
        break;
    case -ESRCH:
        weir_error_hint(err, "the task has ended: ps -eLo pid,tid,comm lists the running ones");
        break;
    case -ENODEV:
    case -ENXIO:
        weir_error_hint(err, "the CPU is offline or has no such counter: lscpu -e shows which are online");
        break;
    case -EBUSY:
        if (attempt->has_aux)
            weir_error_hint(err, "its PMU serves one recording at a time, of CPUs or of tasks; on Intel's CPUs "
                                 "intel_pt, intel_bts and branch registers exclude each other");
        else
            weir_error_hint(err, "another profiler or the NMI watchdog holds the counter: %s",
                            weir_remedy(WEIR_REMEDY_NMI_WATCHDOG, 0, (char[WEIR_REMEDY_BYTES]){0}));
        break;
    case -ENOSPC:
        weir_error_hint(err,
                        "a CPU has few registers for breakpoints, x86 four: fewer mem: events, or end the debugger "
                        "that uses some");
        break;
    case -E2BIG:
        weir_error_hint(err, "this kernel is older than what the event asks for");
        break;
    case -ENOSYS:
        hint_not_implemented(err, limits);
        break;
    default: /* the errno says it all */
        break;
    }
    return code;
}

static void hint_locked_memory(struct weir_error *err, const struct weir_ring_sizes *sizes,
                               const struct weir_kernel_limits *limits)
{
    uint64_t wanted_kb = weir_ring_sizes_mlock_kb(limits, sizes);
    if (weir_kernel_limits_rings_are_free(limits))
        weir_error_hint(err, "a security module forbids the mapping");
    else if (wanted_kb <= limits->mlock_kb)
        weir_error_hint(err,
                        "kernel.perf_event_mlock_kb is %" PRIu64 " per CPU for all recorders of a user: stop the other "
                        "one, or run with CAP_IPC_LOCK",
                        limits->mlock_kb);
    else {
        struct weir_ring_sizes fits = weir_ring_bytes_choose(limits, UINT64_MAX, 1);
        char command[WEIR_REMEDY_BYTES];
        weir_error_hint(err,
                        "kernel.perf_event_mlock_kb is %" PRIu64 " per CPU: -m %" PRIu64 "K fits; or %s, or run with "
                        "CAP_IPC_LOCK",
                        limits->mlock_kb, fits.data_bytes / KIB,
                        weir_remedy(WEIR_REMEDY_MLOCK_KB, (int64_t)wanted_kb, command));
    }
}

int weir_ring_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                                uint64_t ring_bytes, const struct weir_ring_sizes *sizes,
                                const struct weir_kernel_limits *limits)
{
    bool of_cpu = place->cpu >= 0;
    weir_error_set_errno(err, code, "cannot map ring for %s %d (%" PRIu64 " pages)", of_cpu ? "cpu" : "task",
                         of_cpu ? place->cpu : (int)place->task, ring_bytes / limits->page_bytes);
    switch (code) {
    case -EPERM:
        hint_locked_memory(err, sizes, limits);
        break;
    case -ENOMEM:
        weir_error_hint(err, "the rings are %" PRIu64 " KiB for each %s",
                        (sizes->data_bytes + sizes->sideband_bytes) / KIB,
                        of_cpu ? "CPU: a smaller -m, or fewer CPUs (-C)"
                               : "task: a smaller -m, or without --per-thread one for each CPU");
        break;
    default: /* the errno says it all */
        break;
    }
    return code;
}

static void hint_locked_aux(struct weir_error *err, const struct weir_ring_sizes *sizes,
                            const struct weir_kernel_limits *limits)
{
    char command[WEIR_REMEDY_BYTES];
    if (weir_kernel_limits_rings_are_free(limits))
        weir_error_hint(err, "a security module forbids the mapping");
    else
        weir_error_hint(err,
                        "kernel.perf_event_mlock_kb is %" PRIu64 " per CPU, for the rings (%" PRIu64
                        " KiB) and the AUX area: a smaller -m DATA,AUX; or %s, or run with CAP_IPC_LOCK",
                        limits->mlock_kb, (sizes->data_bytes + sizes->sideband_bytes) / KIB,
                        weir_remedy(WEIR_REMEDY_MLOCK_KB, (int64_t)weir_ring_sizes_mlock_kb(limits, sizes), command));
}

int weir_aux_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                               const struct weir_ring_sizes *sizes, const struct weir_kernel_limits *limits)
{
    bool of_cpu = place->cpu >= 0;
    weir_error_set_errno(err, code, "cannot map the AUX area for %s %d (%" PRIu64 " pages)", of_cpu ? "cpu" : "task",
                         of_cpu ? place->cpu : (int)place->task, sizes->aux_bytes / limits->page_bytes);
    if (code == -EPERM)
        hint_locked_aux(err, sizes, limits);
    else if (code == -ENOMEM)
        weir_error_hint(err, "each area is %" PRIu64 " KiB, and its PMU may need it in one piece: a smaller -m ,SIZE",
                        sizes->aux_bytes / KIB);
    else if (code == -EINVAL)
        weir_error_hint(err, "its PMU does not take an area of %" PRIu64 " KiB: another -m ,SIZE",
                        sizes->aux_bytes / KIB);
    return code;
}
