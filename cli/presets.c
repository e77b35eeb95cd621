/*
 * The table of presets. Constant data.
 *
 * Source: builtin-{sched,lock,kmem,timechart,trace,mem,c2c,kvm,kwork}.c and util/mem-events.c of tools/perf, Linux
 * 6.12. Its perf looks for PMUs where these presets look for names of events: no PMU but the named ones has them.
 */
#include "cli/presets.h"

#include "base/bits.h"

#define OPTIONS(...) ((const struct weir_preset_option[]){__VA_ARGS__, {NULL, NULL}})
#define EVENTS(...)  .events = ((const char *const[]){__VA_ARGS__, NULL})
#define NO_EVENTS    .events = ((const char *const[]){NULL})
#define ALL_CPUS         \
    {                    \
        "all-cpus", NULL \
    }
#define RAW                 \
    {                       \
        "raw-samples", NULL \
    }
#define EACH         \
    {                \
        "count", "1" \
    }
#define RINGS                \
    {                        \
        "mmap-pages", "1024" \
    }
#define OF_SYSCALL(name) "syscalls:sys_enter_" name, "syscalls:sys_exit_" name

#define MEMORY_NEEDS "a PMU that samples loads and stores: mem-loads of cpu, ibs_op of AMD, or arm_spe_0"

/* perf mem and perf c2c. */
#define MEMORY_STEP                                                                                                \
    {                                                                                                              \
        {                                                                                                          \
            {EVENTS("{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:P", "cpu/mem-stores/P")},                        \
                {EVENTS("cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P")},                                          \
                {EVENTS("{cpu_core/mem-loads-aux/,cpu_core/mem-loads,ldlat=30/}:P", "cpu_core/mem-stores/P",       \
                        "cpu_atom/mem-loads,ldlat=30/P", "cpu_atom/mem-stores/P")},                                \
                {EVENTS("cpu_core/mem-loads,ldlat=30/P", "cpu_core/mem-stores/P", "cpu_atom/mem-loads,ldlat=30/P", \
                        "cpu_atom/mem-stores/P")},                                                                 \
                {EVENTS("cpu/mem-loads/", "cpu/mem-stores/")}, {EVENTS("ibs_op//")},                               \
            {                                                                                                      \
                EVENTS("arm_spe_0/ts_enable=1,pa_enable=1,load_filter=1,store_filter=1,min_latency=30/")           \
            }                                                                                                      \
        }                                                                                                          \
    }

static const struct weir_preset presets[] = {
    {
        .name = "sched",
        .summary = "the scheduler: switches, wake-ups, migrations",
        .readers = "perf sched timehist|latency|map|replay|script",
        .options = OPTIONS(ALL_CPUS, RAW, RINGS, EACH),
        .steps =
            {
                {{{EVENTS("sched:sched_switch", "sched:sched_stat_runtime", "sched:sched_process_fork",
                          "sched:sched_wakeup_new", "sched:sched_migrate_task")}}},
                {{{EVENTS("sched:sched_waking")}, {EVENTS("sched:sched_wakeup")}}},
                {{{EVENTS("sched:sched_stat_wait", "sched:sched_stat_sleep", "sched:sched_stat_iowait")},
                  {NO_EVENTS, .notice = "recorded without sched:sched_stat_wait, _sleep and _iowait, which need a "
                                        "kernel with CONFIG_SCHEDSTATS"}}},
            },
    },
    {
        .name = "lock",
        .summary = "locks of the kernel",
        .readers = "perf lock report|contention -i FILE",
        .options = OPTIONS(RAW, RINGS, EACH, {"synth", "task"}),
        .steps = {{{{EVENTS("lock:lock_acquire", "lock:lock_acquired", "lock:lock_contended", "lock:lock_release")},
                    {EVENTS("lock:contention_begin", "lock:contention_end"), .options = OPTIONS({"call-graph", "fp,8"}),
                     .notice = "recorded for 'perf lock contention' only: 'perf lock report' needs lock:lock_acquire, "
                               "a kernel with CONFIG_LOCK_STAT"}}}},
    },
    {
        .name = "kmem",
        .summary = "the kernel's slab allocator",
        .readers = "perf kmem stat --slab",
        .options = OPTIONS(ALL_CPUS, RAW, EACH),
        /* Linux 6.1 took the events of a node into the others. */
        .steps = {{{{EVENTS("kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc", "kmem:kmem_cache_free",
                            "kmem:kmalloc_node", "kmem:kmem_cache_alloc_node")},
                    {EVENTS("kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc", "kmem:kmem_cache_free")}}}},
    },
    {
        .name = "kmem-page",
        .summary = "the kernel's page allocator, with call chains",
        .readers = "perf kmem stat --page",
        .options = OPTIONS(ALL_CPUS, RAW, EACH, {"call-graph", "fp"}),
        .steps = {{{{EVENTS("kmem:mm_page_alloc", "kmem:mm_page_free")}}}},
    },
    {
        .name = "timechart",
        .summary = "tasks on CPUs, and frequencies and idle states of CPUs",
        .readers = "perf timechart",
        .options = OPTIONS(ALL_CPUS, RAW, EACH),
        .steps =
            {
                {{{EVENTS("sched:sched_wakeup", "sched:sched_switch")}}},
                {{{EVENTS("power:cpu_frequency", "power:cpu_idle")},
                  {EVENTS("power:power_start", "power:power_end", "power:power_frequency")}}},
            },
    },
    {
        .name = "timechart-io",
        .summary = "reads, writes, syncs, network transfers and polls of tasks",
        .readers = "perf timechart",
        .options = OPTIONS(ALL_CPUS, RAW, EACH, {"exclude-perf", NULL}),
        .steps = {{.choices = {{EVENTS(OF_SYSCALL("read"), OF_SYSCALL("pread64"), OF_SYSCALL("readv"),
                                       OF_SYSCALL("preadv"), OF_SYSCALL("write"), OF_SYSCALL("pwrite64"),
                                       OF_SYSCALL("writev"), OF_SYSCALL("pwritev"), OF_SYSCALL("sync"),
                                       OF_SYSCALL("sync_file_range"), OF_SYSCALL("fsync"), OF_SYSCALL("msync"),
                                       OF_SYSCALL("recvfrom"), OF_SYSCALL("recvmmsg"), OF_SYSCALL("recvmsg"),
                                       OF_SYSCALL("sendto"), OF_SYSCALL("sendmsg"), OF_SYSCALL("sendmmsg"),
                                       OF_SYSCALL("epoll_pwait"), OF_SYSCALL("epoll_wait"), OF_SYSCALL("poll"),
                                       OF_SYSCALL("ppoll"), OF_SYSCALL("pselect6"), OF_SYSCALL("select"))}},
                   .each = true}},
    },
    {
        .name = "trace",
        .summary = "system calls, but for those of weir",
        .readers = "perf trace -i FILE",
        .options = OPTIONS(RAW, RINGS, EACH, {"exclude-perf", NULL}),
        .steps = {{{{EVENTS("raw_syscalls:sys_enter,raw_syscalls:sys_exit")},
                    {EVENTS("syscalls:sys_enter,syscalls:sys_exit")}}}},
    },
    {
        .name = "kwork",
        .summary = "interrupts, softirqs and work queues of the kernel",
        .readers = "perf kwork report|latency|timehist",
        .options = OPTIONS(ALL_CPUS, RAW, RINGS, EACH),
        .steps = {{{{EVENTS("irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_raise", "irq:softirq_entry",
                            "irq:softirq_exit", "workqueue:workqueue_activate_work",
                            "workqueue:workqueue_execute_start", "workqueue:workqueue_execute_end")}}}},
    },
    {
        .name = "kvm",
        .summary = "exits of virtual machines",
        .readers = "perf kvm -i FILE stat report",
        .options = OPTIONS(RAW, RINGS, EACH),
        .steps = {{{{EVENTS("kvm:kvm_entry", "kvm:kvm_exit", "kvm:kvm_mmio", "kvm:kvm_pio", "kvm:kvm_msr")},
                    {EVENTS("kvm:kvm_s390_sie_enter", "kvm:kvm_s390_sie_exit", "kvm:kvm_s390_intercept_instruction",
                            "kvm:kvm_s390_handle_sigp", "kvm:kvm_s390_handle_diag", "kvm:kvm_s390_intercept_prog")},
                    {EVENTS("kvm_hv:kvm_guest_enter", "kvm_hv:kvm_guest_exit", "kvm_hv:kvm_hcall_enter",
                            "kvm_hv:kvm_hcall_exit")},
                    {EVENTS("kvm:kvm_enter", "kvm:kvm_reenter", "kvm:kvm_exit", "kvm:kvm_exit_gspr")},
                    {EVENTS("kvm:kvm_entry", "kvm:kvm_exit")}}}},
    },
    {
        .name = "offcpu",
        .summary = "the time that tasks spend off the CPUs, with the stack where they wait",
        .readers = "perf report, perf script",
        .options = OPTIONS({"off-cpu", NULL}),
        .steps = {{{{EVENTS("dummy")}}}},
    },
    {
        .name = "mem",
        .summary = "loads and stores with their addresses, sources and latencies",
        .readers = "perf mem report",
        .options = OPTIONS({"weight", NULL}, {"data", NULL}),
        .needs = MEMORY_NEEDS,
        .steps = {MEMORY_STEP},
    },
    {
        .name = "c2c",
        .summary = "loads and stores, for cache lines that CPUs share",
        .readers = "perf c2c report",
        .options = OPTIONS({"weight", NULL}, {"data", NULL}, {"phys-data", NULL}, {"sample-cpu", NULL}),
        .needs = MEMORY_NEEDS,
        .steps = {MEMORY_STEP},
    },
};

const struct weir_preset *weir_preset_at(size_t index)
{
    return index < WEIR_ARRAY_COUNT(presets) ? &presets[index] : NULL;
}
