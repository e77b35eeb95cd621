/* Rows of `weir record`: the contents of samples and files. Main thread. */
#include "cli/record_rows_internal.h"

#include "cli/sample_arguments.h"

#define SYNTH_THREADS_MAX  256u
#define MAP_TIMEOUT_MS_MAX UINT32_MAX

static const struct weir_option options[] = {
    {
        .short_name = 'g',
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_call_graph_default,
        .help = "record call chains: by frame pointers, or as --call-graph says",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "call-graph", "MODE[,SIZE]", weir_apply_call_graph),
        .negatable = true,
        .clear = weir_clear_call_graph,
        .help = "record call chains: fp (frame pointers), dwarf (copies of the user stack, SIZE bytes each), "
                "dwarf,unwind (chains made of such copies) or lbr (branch registers of the CPU)",
        .details = "SIZE is rounded up to a multiple of 8, 65528 at most, 8192 without it. dwarf also records user "
                   "registers and the fields of -d. For fp, SIZE is the greatest number of frames, or the word "
                   "defer: then the kernel makes the user part of a chain when the task returns to user space (Linux "
                   "6.19), and weir joins both parts. dwarf,unwind is no mode of perf: threads of weir unwind each "
                   "copy before it goes to the file, so that samples have "
                   "call chains as with fp, in a twentieth of the room or less. It takes dwarf,unwind,stack=SIZE. A "
                   "chain ends early where weir knows no mapping or no unwind table, or when weir is behind; weir info "
                   "counts such chains by cause.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "kernel-callchains", FIELD(options.samples.kernel_callchains, bool)),
        .help = "of call chains, record the kernel part only",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "user-callchains", FIELD(options.samples.user_callchains, bool)),
        .help = "of call chains, record the user part only",
    },
    {
        WEIR_OPTION_FLAG_OF('d', "data", FIELD(options.samples.addresses, bool)),
        .help = "record data addresses, the source of the data, and mappings without code",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "sample-mem-info", FIELD(options.samples.data_sources, bool)),
        .help = "record the source of the data (which cache, memory or device), without the rest of -d",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "data-mmap", NULL, weir_apply_data_maps),
        .negatable = true,
        .clear = weir_clear_data_maps,
        .help = "record mappings without code; without this option, weir does so with -d and --call-graph=dwarf",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "phys-data", FIELD(options.samples.physical_addresses, bool)),
        .help = "record the physical addresses of data",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "data-page-size", FIELD(options.samples.data_page_size, bool)),
        .help = "record the page size of data addresses",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "code-page-size", FIELD(options.samples.code_page_size, bool)),
        .help = "record the page size of code addresses",
    },
    {
        WEIR_OPTION_FLAG_OF('W', "weight", FIELD(options.samples.weight, bool)),
        .help = "record the weight of samples, such as the latency of a load, where the event has one",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "transaction", FIELD(options.samples.transaction, bool)),
        .help = "record the flags of memory transactions",
    },
    {
        WEIR_OPTION_FLAG_OF('R', "raw-samples", FIELD(options.samples.raw, bool)),
        .help = "record the raw data of all events; raw data of tracepoints is always recorded",
    },
    {
        WEIR_OPTION_FLAG_OF('T', "timestamp", FIELD(timestamp, bool)),
        .help = "record the time of samples; weir always does",
    },
    {
        WEIR_OPTION_CUSTOM_OF('P', "period", NULL, weir_apply_period_choice),
        .negatable = true,
        .clear = weir_clear_period_choice,
        .help = "record the period of samples; without this option, weir does so where it varies",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "aggregate", "INTERVAL[,process]", weir_apply_aggregate),
        .argument_optional = true,
        .negatable = true,
        .clear = weir_clear_aggregate,
        .default_text = "samples stay apart; 1s for --aggregate alone",
        .help = "merge equal samples of an interval of 1ms to 60s into one, for profiles that run for long",
        .details = "Equal are samples of the same event, CPU, thread, address and call chain; with ',process' those of "
                   "all threads of a process, which then name its main thread. The period of the merged sample is the "
                   "sum of theirs, so that reports by period, as perf report's, have the same shares. Its weight is "
                   "their number. Threads merge what readers hand over, which is once a second or more often; an "
                   "interval above a second is also how late samples reach the file. For events with a frequency or "
                   "a fixed period; samples with data of their own are refused. No option of perf record.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "sample-cpu", FIELD(sample_cpu, bool)),
        .help = "record the CPU of samples; weir always does",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "sample-identifier", FIELD(options.samples.identifiers, bool)),
        .help = "record the event of samples also in a recording of a single event of tasks",
    },
    {
        WEIR_OPTION_CUSTOM_OF('b', "branch-any", NULL, weir_apply_branch_any),
        .help = "record the last branches before each sample",
    },
    {
        WEIR_OPTION_CUSTOM_OF('j', "branch-filter", "FILTER[,FILTER...]", weir_apply_branch_filter),
        .help = "record the last branches of these kinds: any, any_call, any_ret, ind_call, ind_jmp, call, cond, "
                "in_tx, no_tx, abort_tx or stack",
        .details =
            "Of user space (u), the kernel (k) or the hypervisor (hv); also save_type, no_flags, no_cycles, hw_index, "
            "priv, and counter (how often the events of the group occurred between branches). Needs a CPU that "
            "records branches.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('I', "intr-regs", "REGISTERS", weir_apply_intr_regs),
        .argument_optional = true,
        .help =
            "record these registers at each sample, such as IP,SP; all of them without a list; -I? shows their names",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "user-regs", "REGISTERS", weir_apply_user_regs),
        .argument_optional = true,
        .help = "record these registers of user space at each sample; all of them without a list; --user-regs=? shows "
                "their names",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "running-time", FIELD(options.samples.running_time, bool)),
        .help = "record the running time of counters that are read with samples (:S)",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "no-bpf-event", FIELD(options.samples.no_bpf_events, bool)),
        .help = "leave out the loading and unloading of BPF programs",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "switch-events", NULL, weir_apply_switch_events),
        .negatable = true,
        .clear = weir_clear_switch_events,
        .help = "record context switches; without this option, weir does so where decoding AUX areas needs them",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "latency", FIELD(latency, bool)),
        .help = "record the context switches from which perf report --latency tells how many CPUs a program kept busy",
        .details = "Implies --switch-events, and is for tasks or a command: not with -a. perf 6.15 and newer have that "
                   "report.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "off-cpu", FIELD(options.off_cpu.wanted, bool)),
        .help = "record the time that tasks spend off the CPUs, with the stack where they wait",
        .details = "The event is offcpu-time: the period of a sample is the duration in nanoseconds, its weight the "
                   "task's state as the kernel numbers it (0: it could run, 1: it slept, 2: it slept "
                   "uninterruptibly). Shorter stretches than --off-cpu-thresh are summed by task and stack, and the "
                   "sums become samples at the end. Needs root, or CAP_BPF and CAP_PERFMON, and a kernel with BTF.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "off-cpu-thresh", "MS", WEIR_OPTION_NUMBER,
                             FIELD(options.off_cpu.threshold_ms, uint64_t)),
        .unit = "ms",
        .max = UINT32_MAX,
        .default_text = "500",
        .help = "with --off-cpu, make a stretch of MS milliseconds or more a sample of its own; 0: each stretch",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "namespaces", FIELD(options.samples.namespaces, bool)),
        .help = "record the namespaces of tasks",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "all-cgroups", FIELD(options.samples.cgroups, bool)),
        .help = "record cgroups, and the cgroup of each sample",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "synth", "WHAT[,WHAT...]", weir_apply_synth),
        .default_text = "all",
        .help = "record the state from before the recording: task, mmap (task too), cgroup, all or no",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "guestkallsyms", "FILE", WEIR_OPTION_TEXT,
                             FIELD(options.guests.kallsyms, const char *)),
        .help = "record a guest, too: FILE is a copy of its /proc/kallsyms",
        .details = "As perf kvm --guest record: the kernel and the modules of the guest are described, so that perf "
                   "kvm --guest report resolves samples in it. With this option, --guestmodules or --guestmount "
                   "events count in guests and in the host; modifiers G and H choose. The hardware has to tell them "
                   "apart.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "guestmodules", "FILE", WEIR_OPTION_TEXT, FIELD(options.guests.modules, const char *)),
        .help = "the modules of the guest of --guestkallsyms: FILE is a copy of its /proc/modules",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "guestmount", "DIR", WEIR_OPTION_TEXT, FIELD(options.guests.mount, const char *)),
        .help = "record the guests below DIR: DIR/PID has the root of the guest whose hypervisor is process PID",
        .details = "Read are DIR/PID/proc/kallsyms, proc/modules, proc/version and lib/modules, as through sshfs.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "num-thread-synthesize", "N", WEIR_OPTION_UNSIGNED,
                             FIELD(options.synth.threads, unsigned)),
        .min = 1,
        .max = SYNTH_THREADS_MAX,
        .default_text = "one per CPU, 16 at most",
        .help = "read /proc with N threads at the start",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "tail-synthesize", FIELD(options.synth.at_end, bool)),
        .help = "describe tasks and mappings as of the end of recording, instead of the start",
        .details = "Tasks from before the recording that end during it are then without names and mappings. "
                   "--overwrite does not imply this option, as it does for perf: side records are never overwritten. "
                   "Where files end before the recording does, the state at the start is described, too.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "proc-map-timeout", "MS", WEIR_OPTION_UNSIGNED,
                             FIELD(options.synth.map_timeout_ms, unsigned)),
        .unit = "ms",
        .min = 1,
        .max = MAP_TIMEOUT_MS_MAX,
        .default_text = "500",
        .help = "give up reading the mappings of a process after MS milliseconds",
    },
};

const struct weir_option_rows weir_record_sample_rows = WEIR_OPTION_ROWS_OF("Samples and files", options);
