/* Each refusal of the kernel, word for word. */
#include "engine/events/open_error.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>

#include "base/bits.h"

#define KIB UINT64_C(1024)

static const struct weir_kernel_limits user = {
    .has_perf_events = true,
    .perf_event_paranoid = 2,
    .mlock_kb = 516,
    .max_sample_rate_hz = 100000,
    .nofile = 1024,
    .nofile_max = 4096,
    .page_bytes = 4096,
};
static const struct weir_kernel_limits strict_user = {.has_perf_events = true, .perf_event_paranoid = 3};
static const struct weir_kernel_limits rootless = {
    .has_perf_events = true, .perf_event_paranoid = 2, .in_user_namespace = true};
static const struct weir_kernel_limits root = {
    .has_perf_events = true, .perf_event_paranoid = 2, .cap_perfmon = true, .cap_ipc_lock = true, .page_bytes = 4096};
static const struct weir_kernel_limits no_perf = {.perf_event_paranoid = 2, .cap_perfmon = true};

static const struct perf_event_attr cycles = {.type = PERF_TYPE_HARDWARE, .freq = 1, .sample_freq = 4000};
static const struct perf_event_attr cycles_user = {.type = PERF_TYPE_HARDWARE, .exclude_kernel = 1};
static const struct perf_event_attr clock_branches = {
    .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_type = PERF_SAMPLE_BRANCH_STACK};
static const struct perf_event_attr cycles_precise = {.type = PERF_TYPE_HARDWARE, .precise_ip = 3};
static const struct perf_event_attr cycles_fast = {.type = PERF_TYPE_HARDWARE, .freq = 1, .sample_freq = 200000};
static const struct perf_event_attr tracepoint = {.type = PERF_TYPE_TRACEPOINT, .sample_type = PERF_SAMPLE_RAW};
static const struct perf_event_attr breakpoint = {.type = PERF_TYPE_BREAKPOINT, .sample_period = 1};
static const struct perf_event_attr namespaces = {.type = PERF_TYPE_SOFTWARE, .namespaces = 1, .exclude_kernel = 1};
static const struct perf_event_attr physical = {
    .type = PERF_TYPE_SOFTWARE, .sample_type = PERF_SAMPLE_PHYS_ADDR, .exclude_kernel = 1};
static const struct perf_event_attr of_pmu = {.type = 9, .sample_type = PERF_SAMPLE_RAW};
static const struct perf_event_attr of_pmu_by_frequency = {.type = 9, .freq = 1, .sample_freq = 99};
static const struct perf_event_attr reading = {.type = PERF_TYPE_SOFTWARE, .sample_type = PERF_SAMPLE_READ};
static const struct perf_event_attr software = {.type = PERF_TYPE_SOFTWARE, .config = 99};

#define HINT_SECCOMP                                                                                               \
    "a seccomp filter or security module forbids perf_event_open(2): start the container with --cap-add=PERFMON, " \
    "or with --security-opt seccomp=unconfined"
#define HINT_NO_PMU "this machine has no hardware counter for it, like most virtual machines: -e cpu-clock needs none"

static const struct refusal {
    int code;
    struct weir_open_attempt attempt;
    const struct weir_kernel_limits *limits;
    const char *what, *hint;
} refusals[] = {
    /* permission: the strictest need of the attempt decides */
    {-EACCES,
     {"cycles", &cycles, -1, 3, 0},
     &user,
     "cannot open event 'cycles' on cpu 3: Permission denied",
     "kernel.perf_event_paranoid is 2, recording all processes of a CPU needs 0 or less, or root or CAP_PERFMON: "
     "sudo sysctl kernel.perf_event_paranoid=0"},
    {-EACCES,
     {"cycles", &cycles, 12, 3, 0},
     &user,
     "cannot open event 'cycles' of task 12 on cpu 3: Permission denied",
     "kernel.perf_event_paranoid is 2, recording the kernel needs 1 or less, or root or CAP_PERFMON: "
     "sudo sysctl kernel.perf_event_paranoid=1; or user space only, with modifier :u"},
    {-EPERM,
     {"sched:sched_switch", &tracepoint, -1, 0, 0},
     &user,
     "cannot open event 'sched:sched_switch' on cpu 0: Operation not permitted",
     "kernel.perf_event_paranoid is 2, the data of tracepoints needs -1 or less, or root or CAP_PERFMON: "
     "sudo sysctl kernel.perf_event_paranoid=-1"},
    {-EACCES,
     {"dummy:u", &namespaces, 12, 0, 0},
     &user,
     "cannot open event 'dummy:u' of task 12 on cpu 0: Permission denied",
     "--namespaces needs root or CAP_PERFMON, whatever kernel.perf_event_paranoid is"},
    {-EACCES,
     {"cs:u", &physical, 12, 0, 0},
     &user,
     "cannot open event 'cs:u' of task 12 on cpu 0: Permission denied",
     "kernel.perf_event_paranoid is 2, --phys-data needs 1 or less, or root or CAP_PERFMON: "
     "sudo sysctl kernel.perf_event_paranoid=1"},
    {-EACCES,
     {"cycles:u", &cycles_user, 12, 0, 0},
     &strict_user,
     "cannot open event 'cycles:u' of task 12 on cpu 0: Permission denied",
     "kernel.perf_event_paranoid is 3, recording without privileges needs 2 or less, or root or CAP_PERFMON: "
     "sudo sysctl kernel.perf_event_paranoid=2"},
    {-EACCES,
     {"cycles", &cycles, -1, 0, 0},
     &rootless,
     "cannot open event 'cycles' on cpu 0: Permission denied",
     "kernel.perf_event_paranoid is 2, recording all processes of a CPU needs 0 or less, or root outside of this user "
     "namespace: sudo sysctl kernel.perf_event_paranoid=0"},
    {-EACCES,
     {"cycles:u", &cycles_user, 12, -1, 0},
     &user,
     "cannot open event 'cycles:u' of task 12: Permission denied",
     "task 12 is of another user or may not be traced: run as its owner, as root or with CAP_PERFMON"},
    {-EPERM,
     {"cycles", &cycles, -1, 0, 0},
     &root,
     "cannot open event 'cycles' on cpu 0: Operation not permitted",
     HINT_SECCOMP},
    {-EPERM,
     {"irq_vectors:irq_work_exit", &tracepoint, -1, 0, 0},
     &root,
     "cannot open event 'irq_vectors:irq_work_exit' on cpu 0: Operation not permitted",
     "the kernel lets nobody sample some tracepoints (irq_vectors:irq_work_exit), though perf stat counts them: leave "
     "it out; or a seccomp filter or security module forbids perf_event_open(2): start the container with "
     "--cap-add=PERFMON, "
     "or with --security-opt seccomp=unconfined"},
    {-EPERM,
     {"cycles", &cycles, 12, 0, 0},
     &root,
     "cannot open event 'cycles' of task 12 on cpu 0: Operation not permitted",
     HINT_SECCOMP},

    /* descriptors */
    {-EMFILE,
     {"cycles", &cycles, -1, 0, 0},
     &user,
     "cannot open event 'cycles' on cpu 0: Too many open files",
     "RLIMIT_NOFILE is 1024: raise it with ulimit -n"},
    {-EMFILE,
     {"cycles", &cycles, -1, 0, 4096},
     &user,
     "cannot open event 'cycles' on cpu 0: Too many open files",
     "RLIMIT_NOFILE is 1024, this recording needs 4096: ulimit -n 4096"},
    {-EMFILE,
     {"cycles", &cycles, -1, 0, 4097},
     &user,
     "cannot open event 'cycles' on cpu 0: Too many open files",
     "RLIMIT_NOFILE cannot be raised above 4096, this recording needs 4097: sudo prlimit --pid $$ --nofile=4097, or "
     "fewer events or CPUs (-e, -C)"},
    {-ENFILE,
     {"cycles", &cycles, -1, 0, 0},
     &user,
     "cannot open event 'cycles' on cpu 0: Too many open files in system",
     "the machine's limit fs.file-max is reached: sysctl fs.file-nr shows use and limit"},

    /* the event */
    {-ENOENT,
     {"cycles", &cycles, -1, 0, 0},
     &root,
     "cannot open event 'cycles' on cpu 0: No such file or directory",
     HINT_NO_PMU},
    {-ENOENT,
     {"sw99", &software, -1, 0, 0},
     &root,
     "cannot open event 'sw99' on cpu 0: No such file or directory",
     "this kernel does not support it"},
    {-EINVAL,
     {"cycles", &cycles_fast, -1, 0, 0},
     &user,
     "cannot open event 'cycles' on cpu 0: Invalid argument",
     "kernel.perf_event_max_sample_rate is 100000: -F max, or sudo sysctl kernel.perf_event_max_sample_rate=200000"},
    {-EINVAL,
     {"cycles:ppp", &cycles_precise, -1, 0, 0},
     &user,
     "cannot open event 'cycles:ppp' on cpu 0: Invalid argument",
     "this machine may not sample it precisely: leave out the modifiers p and P"},
    {-EINVAL,
     {"cs:S", &reading, 12, 0, 0},
     &user,
     "cannot open event 'cs:S' of task 12 on cpu 0: Invalid argument",
     "child tasks cannot inherit an event that :S reads before Linux 6.13: give :S to the whole group, "
     "'{EVENT,EVENT}:S', without --inherit, or try -i or "
     "-a"},
    {-EINVAL,
     {"cs:S", &reading, 12, 0, 0, .is_refused_in_group = true},
     &user,
     "cannot open event 'cs:S' of task 12 on cpu 0: Invalid argument",
     "child tasks cannot inherit an event that :S reads before Linux 6.13: give :S to the whole group, "
     "'{EVENT,EVENT}:S', without --inherit, or try -i or "
     "-a"},
    {-EINVAL,
     {"cycles", &cycles, 12, 0, 0, .is_refused_in_group = true},
     &user,
     "cannot open event 'cycles' of task 12 on cpu 0: Invalid argument",
     "the event opens alone, but not in its group: a PMU counts few events at once, and a group is inherited as a "
     "whole or not at all; fewer events, or ':W' behind the group, which then opens them one by one"},
    {-EINVAL,
     {"sched:sched_switch", &tracepoint, -1, 0, 0},
     &user,
     "cannot open event 'sched:sched_switch' on cpu 0: Invalid argument",
     "the tracepoint may have gone with its module: ls /sys/kernel/tracing/events"},
    {-EINVAL,
     {"mem:0x1001/4:w", &breakpoint, -1, 0, 0},
     &root,
     "cannot open event 'mem:0x1001/4:w' on cpu 0: Invalid argument",
     "a CPU watches 1, 2, 4 or 8 bytes at a multiple of that, on x86 for w, rw, or x without a length; and not all of "
     "the kernel's code"},
    {-ENOSPC,
     {"mem:0x1000:w", &breakpoint, -1, 0, 0},
     &root,
     "cannot open event 'mem:0x1000:w' on cpu 0: No space left on device",
     "a CPU has few registers for breakpoints, x86 four: fewer mem: events, or end the debugger that uses some"},
    {-EINVAL,
     {"msr/tsc/", &of_pmu, 40, 0, 0},
     &user,
     "cannot open event 'msr/tsc/' of task 40 on cpu 0: Invalid argument",
     "events of this PMU may count whole CPUs only, not tasks: try -a"},
    {-EINVAL,
     {"msr/tsc/", &of_pmu, -1, 0, 0},
     &user,
     "cannot open event 'msr/tsc/' on cpu 0: Invalid argument",
     "events of this PMU may not be able to interrupt, so they cannot be recorded: perf stat -a counts them"},
    {-EINVAL,
     {"cycles", &cycles, -1, 999, 0},
     &user,
     "cannot open event 'cycles' on cpu 999: Invalid argument",
     "the CPU does not exist, or this kernel is older than what the event asks for"},
    {-EOPNOTSUPP,
     {"cycles:ppp", &cycles_precise, -1, 0, 0},
     &root,
     "cannot open event 'cycles:ppp' on cpu 0: Operation not supported",
     "this machine does not sample it precisely: leave out the modifiers p and P"},
    {-EOPNOTSUPP,
     {"cycles", &cycles, -1, 0, 0},
     &root,
     "cannot open event 'cycles' on cpu 0: Operation not supported",
     "this counter cannot interrupt, so it cannot be sampled: -e cpu-clock can"},
    {-EOPNOTSUPP,
     {"cpu-clock", &clock_branches, -1, 0, 0},
     &root,
     "cannot open event 'cpu-clock' on cpu 0: Operation not supported",
     "this event has no branch records here, which are the hardware PMU's: leave out -b, -j and --call-graph lbr"},
    {-E2BIG,
     {"cycles", &cycles, -1, 0, 0},
     &root,
     "cannot open event 'cycles' on cpu 0: Argument list too long",
     "this kernel is older than what the event asks for"},

    /* where, and the rest */
    {-ESRCH,
     {"cycles", &cycles, 12, -1, 0},
     &root,
     "cannot open event 'cycles' of task 12: No such process",
     "the task has ended: ps -eLo pid,tid,comm lists the running ones"},
    {-ENODEV,
     {"cycles", &cycles, -1, 5, 0},
     &root,
     "cannot open event 'cycles' on cpu 5: No such device",
     "the CPU is offline or has no such counter: lscpu -e shows which are online"},
    {-EBUSY,
     {"cycles", &cycles, -1, 5, 0},
     &root,
     "cannot open event 'cycles' on cpu 5: Device or resource busy",
     "another profiler or the NMI watchdog holds the counter: sudo sysctl kernel.nmi_watchdog=0"},
    {-EBUSY,
     {"intel_pt//", &of_pmu, -1, 5, 0, true},
     &root,
     "cannot open event 'intel_pt//' on cpu 5: Device or resource busy",
     "its PMU serves one recording at a time, of CPUs or of tasks; on Intel's CPUs intel_pt, intel_bts and branch "
     "registers exclude each other"},
    {-EINVAL,
     {"arm_spe_0//", &of_pmu_by_frequency, -1, 5, 0, true},
     &user,
     "cannot open event 'arm_spe_0//' on cpu 5: Invalid argument",
     "an event that traces has a period (-c), or none, but no frequency: leave out -F"},
    {-EINVAL,
     {"intel_pt/ptw/", &of_pmu, 12, 5, 0, true},
     &root,
     "cannot open event 'intel_pt/ptw/' of task 12 on cpu 5: Invalid argument",
     "its PMU does not take these terms together: 'weir list pmu' shows the terms that it has"},
    {-ENOSYS,
     {"cycles", &cycles, -1, 0, 0},
     &no_perf,
     "cannot open event 'cycles' on cpu 0: Function not implemented",
     "this kernel was built without CONFIG_PERF_EVENTS"},
    {-ENOSYS,
     {"cycles", &cycles, -1, 0, 0},
     &root,
     "cannot open event 'cycles' on cpu 0: Function not implemented",
     "a seccomp filter hides perf_event_open(2): start the container with --cap-add=PERFMON, or with --security-opt "
     "seccomp=unconfined"},
    {-ENOMEM, {"cycles", &cycles, -1, 0, 0}, &root, "cannot open event 'cycles' on cpu 0: Cannot allocate memory", ""},
};

Test(open_error, each_refusal_has_its_line_and_hint)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        struct weir_error err = {.hint = "from before"};
        cr_expect_eq(weir_open_error_explain(&err, refusal->code, &refusal->attempt, refusal->limits), refusal->code);
        cr_expect_eq(err.code, refusal->code, "row %zu", i);
        cr_expect_str_eq(err.what, refusal->what, "row %zu: %s", i, err.what);
        cr_expect_str_eq(err.hint, refusal->hint, "row %zu: %s", i, err.hint);
    }
}

Test(open_error, error_may_be_unwanted)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++)
        cr_expect_eq(weir_open_error_explain(NULL, refusals[i].code, &refusals[i].attempt, refusals[i].limits),
                     refusals[i].code);
    const struct weir_ring_sizes sizes = {2048 * KIB, 128 * KIB};
    cr_expect_eq(weir_ring_map_error_explain(NULL, -EPERM, &(struct weir_event_place){.cpu = 0}, sizes.data_bytes,
                                             &sizes, &user),
                 -EPERM);
}

static void expect_map_error(int code, const struct weir_kernel_limits *limits, struct weir_ring_sizes sizes,
                             const char *what, const char *hint)
{
    struct weir_error err = {.hint = "from before"};
    cr_expect_eq(weir_ring_map_error_explain(&err, code, &(struct weir_event_place){.cpu = 12}, sizes.data_bytes,
                                             &sizes, limits),
                 code);
    cr_expect_eq(err.code, code);
    cr_expect_str_eq(err.what, what, "%s", err.what);
    cr_expect_str_eq(err.hint, hint, "%s", err.hint);
}

Test(open_error, ring_beyond_the_mlock_knob_names_the_size_that_fits_and_the_knob_that_would)
{
    expect_map_error(-EPERM, &user, (struct weir_ring_sizes){2048 * KIB, 128 * KIB},
                     "cannot map ring for cpu 12 (512 pages): Operation not permitted",
                     "kernel.perf_event_mlock_kb is 516 per CPU: -m 256K fits; or sudo sysctl "
                     "kernel.perf_event_mlock_kb=2184, or run with CAP_IPC_LOCK");
}

Test(open_error, ring_within_the_mlock_knob_was_refused_for_the_sake_of_another_recorder)
{
    expect_map_error(
        -EPERM, &user, (struct weir_ring_sizes){256 * KIB, 128 * KIB},
        "cannot map ring for cpu 12 (64 pages): Operation not permitted",
        "kernel.perf_event_mlock_kb is 516 per CPU for all recorders of a user: stop the other one, or run "
        "with CAP_IPC_LOCK");
}

Test(open_error, ring_refused_to_the_privileged_is_a_matter_of_policy)
{
    expect_map_error(-EPERM, &root, (struct weir_ring_sizes){256 * KIB, 128 * KIB},
                     "cannot map ring for cpu 12 (64 pages): Operation not permitted",
                     "a security module forbids the mapping");
}

Test(open_error, ring_without_memory_asks_for_less)
{
    expect_map_error(-ENOMEM, &root, (struct weir_ring_sizes){8192 * KIB, 1024 * KIB},
                     "cannot map ring for cpu 12 (2048 pages): Cannot allocate memory",
                     "the rings are 9216 KiB for each CPU: a smaller -m, or fewer CPUs (-C)");
}

Test(open_error, ring_of_a_task_without_memory_asks_for_rings_of_cpus)
{
    struct weir_error err = {.hint = "from before"};
    const struct weir_event_place place = {.cpu = -1, .task = 4242};
    const struct weir_ring_sizes sizes = {8192 * KIB, 1024 * KIB};
    cr_expect_eq(weir_ring_map_error_explain(&err, -ENOMEM, &place, sizes.data_bytes, &sizes, &root), -ENOMEM);
    cr_expect_str_eq(err.what, "cannot map ring for task 4242 (2048 pages): Cannot allocate memory", "%s", err.what);
    cr_expect_str_eq(err.hint,
                     "the rings are 9216 KiB for each task: a smaller -m, or without --per-thread one for each CPU",
                     "%s", err.hint);
}

static void expect_aux_error(int code, const struct weir_kernel_limits *limits, const char *what, const char *hint)
{
    struct weir_error err = {.hint = "from before"};
    const struct weir_ring_sizes sizes = {256 * KIB, 128 * KIB, 512 * KIB};
    cr_expect_eq(weir_aux_map_error_explain(&err, code, &(struct weir_event_place){.cpu = 3}, &sizes, limits), code);
    cr_expect_str_eq(err.what, what, "%s", err.what);
    cr_expect_str_eq(err.hint, hint, "%s", err.hint);
}

Test(open_error, aux_area_that_cannot_be_mapped_says_what_would_fit)
{
    expect_aux_error(-EPERM, &user, "cannot map the AUX area for cpu 3 (128 pages): Operation not permitted",
                     "kernel.perf_event_mlock_kb is 516 per CPU, for the rings (384 KiB) and the AUX area: a smaller "
                     "-m DATA,AUX; or sudo sysctl kernel.perf_event_mlock_kb=904, or run with CAP_IPC_LOCK");
    expect_aux_error(-EPERM, &root, "cannot map the AUX area for cpu 3 (128 pages): Operation not permitted",
                     "a security module forbids the mapping");
    expect_aux_error(-ENOMEM, &root, "cannot map the AUX area for cpu 3 (128 pages): Cannot allocate memory",
                     "each area is 512 KiB, and its PMU may need it in one piece: a smaller -m ,SIZE");
    expect_aux_error(-EINVAL, &root, "cannot map the AUX area for cpu 3 (128 pages): Invalid argument",
                     "its PMU does not take an area of 512 KiB: another -m ,SIZE");
}

Test(open_error, ring_refused_for_another_reason_has_no_hint)
{
    expect_map_error(-ENODEV, &root, (struct weir_ring_sizes){4 * KIB, 4 * KIB},
                     "cannot map ring for cpu 12 (1 pages): No such device", "");
}
