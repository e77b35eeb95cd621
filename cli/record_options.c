/*
 * The options of `weir record`. Names, arguments and meanings are those of perf record (perf-record(1), Linux 6.12);
 * what the rules between them do was tried with perf 6.1. Main thread.
 */
#include "cli/record_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/event_options.h"
#include "cli/exit_status.h"
#include "cli/perf_options.h"
#include "cli/ring_options.h"
#include "cli/sample_arguments.h"
#include "cli/target_options.h"

#define TARGET   "What is recorded"
#define SAMPLING "Events and samples"
#define SAMPLES  "What samples and files hold"
#define RINGS    "Buffers and threads"
#define OUTPUT   "Output"
#define OTHER    "Other options"

#define FREQ_HZ_MAX  UINT32_MAX /* perf's type for it; the kernel's limit is far below */
#define PERIOD_MAX   INT64_MAX  /* perf_event_open(2): the top bit of sample_period must be 0 */
#define REALTIME_MIN 1          /* sched(7): SCHED_FIFO priorities */
#define REALTIME_MAX 99

#define SYNTH_THREADS_MAX  256u
#define MAP_TIMEOUT_MS_MAX UINT32_MAX

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_record_arguments, name, type)

static int apply_delay(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    struct weir_error below = {0};
    int result = weir_schedule_parse(&arguments->schedule, text, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--delay': %s", below.what);
        weir_error_hint(err,
                        "milliseconds from the start on, such as 500; -1 for never; or windows, such as 10-20,30-40");
    }
    return result;
}

static void clear_delay(void *object)
{
    struct weir_record_arguments *arguments = object;
    weir_schedule_fini(&arguments->schedule);
}

static int apply_threads(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    return weir_threads_spec_apply(&arguments->threads_spec, text, err);
}

static int apply_output(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0')
        return weir_error_set(err, -EINVAL, "option '--output': the argument is empty");
    if (strcmp(text, "-") == 0) {
        weir_error_set(err, -EINVAL, "option '--output': a recording is written to a file, not to standard output");
        weir_error_hint(err, "for a file of that name: -o ./-");
        return -EINVAL;
    }
    arguments->output_path = text;
    return 0;
}

static const struct weir_option options[] = {
    {
        .short_name = 'a',
        .long_name = "all-cpus",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(all_cpus, bool),
        .section = TARGET,
        .help = "record all tasks on all CPUs",
        .details = "This is what happens when neither a target nor a command is given. With a command, recording "
                   "lasts as long as the command runs.",
    },
    {
        .short_name = 'C',
        .long_name = "cpu",
        .argument = "LIST",
        .kind = WEIR_OPTION_CPU_LIST,
        .field = FIELD(cpus, struct weir_cpuset),
        .default_text = "all online CPUs",
        .section = TARGET,
        .help = "record all tasks on these CPUs only, such as 0-3,8",
    },
    {
        .short_name = 'p',
        .long_name = "pid",
        .argument = "PID[,PID...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_pids,
        .section = TARGET,
        .help = "record these running processes, all threads of each",
        .details =
            "Goes before -a, -C, -t and -u. With a command, recording lasts as long as the command runs; without, "
            "until the processes are gone or a signal comes.",
    },
    {
        .short_name = 't',
        .long_name = "tid",
        .argument = "TID[,TID...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_tids,
        .section = TARGET,
        .help = "record these running threads, and nothing that they start unless --inherit is given",
        .details = "Goes before -a, -C and -u.",
    },
    {
        .short_name = 'u',
        .long_name = "uid",
        .argument = "USER",
        .kind = WEIR_OPTION_TEXT,
        .field = FIELD(user, const char *),
        .section = TARGET,
        .help = "record all tasks that run as this user, who is given by name or number",
        .details = "Goes before -a and -C. Those are recorded that run when recording begins, and what they start.",
    },
    {
        .short_name = 'G',
        .long_name = "cgroup",
        .argument = "NAME[,NAME...]",
        .repeatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_cgroups,
        .section = TARGET,
        .help = "let the events of the -e before it count only what runs in these cgroups, on whole CPUs",
        .details =
            "One cgroup is for all events so far; of several, each is for one event, in their order, and an empty "
            "name leaves an event without. Names are paths in the hierarchy of version 1 with the perf_event "
            "controller or, where there is none, in that of version 2.",
    },
    {
        .long_name = "per-thread",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(per_thread, bool),
        .section = TARGET,
        .help = "give each recorded thread a ring of its own instead of one to each CPU; implies -i",
        .details = "For a few threads on a machine of many CPUs. -a and -C go before it.",
    },
    {
        .short_name = 'i',
        .long_name = "no-inherit",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_no_inherit,
        .clear = weir_target_options_clear_no_inherit,
        .section = TARGET,
        .help = "leave out threads and processes that the recorded ones start",
    },
    {
        .short_name = 's',
        .long_name = "stat",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(stat, bool),
        .section = TARGET,
        .help = "record the counts of each thread that ends, for perf report -T",
    },
    {
        .short_name = 'e',
        .long_name = "event",
        .argument = "EVENT[,EVENT...]",
        .repeatable = true,
        .kind = WEIR_OPTION_TEXT_LIST,
        .field = FIELD(events, struct weir_text_list),
        .default_text = "cycles",
        .section = SAMPLING,
        .help = "record this event: a hardware, software or cache event, rNNN, PMU/TERMS/, a tracepoint SYSTEM:NAME or "
                "mem:ADDRESS[/LENGTH][:rwx]",
        .details = "Names, terms and modifiers are those of perf-list(1) and perf-record(1), such as cycles:u, "
                   "cpu/event=0x3c,umask=1/, cs/call-graph=no/, {cycles,instructions}:S or 'sched:*'. A pattern stands "
                   "for all tracepoints or PMUs that match it.",
    },
    {
        .long_name = "filter",
        .argument = "FILTER",
        .repeatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_event_options_apply_filter,
        .section = SAMPLING,
        .help = "record only what matches, such as 'prev_pid > 1 && comm == \"sh\"', of the -e before it",
        .details = "For tracepoints: the kernel's filter grammar (Documentation/trace/events.rst), over the fields of "
                   "events/SYSTEM/NAME/format in tracefs. Of several all must match. For PMUs that trace instructions: "
                   "an address filter of the kernel's grammar, with numbers as addresses.",
    },
    {
        .long_name = "group",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(group, bool),
        .section = SAMPLING,
        .help = "make all events one group, which counts only as a whole",
        .details = "As braces around them: -e '{EVENT,EVENT}'.",
    },
    {
        .short_name = 'F',
        .long_name = "freq",
        .argument = "HZ|max",
        .kind = WEIR_OPTION_FREQUENCY,
        .field = FIELD(freq_hz, uint64_t),
        .unit = "Hz",
        .min = 1,
        .max = FREQ_HZ_MAX,
        .default_text = "4000",
        .section = SAMPLING,
        .help = "sample about so many times per second and CPU",
        .details = "Above kernel.perf_event_max_sample_rate it is lowered to that, with a warning; max asks for just "
                   "that rate. Tracepoints are sampled each time unless -F or -c is given.",
    },
    {
        .short_name = 'c',
        .long_name = "count",
        .argument = "N",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(period, uint64_t),
        .min = 1,
        .max = PERIOD_MAX,
        .section = SAMPLING,
        .help = "sample every Nth occurrence; not together with -F",
    },
    {
        .long_name = "strict-freq",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(strict_freq, bool),
        .section = SAMPLING,
        .help = "fail where -F is above the kernel's limit, rather than sample less often",
    },
    {
        .long_name = "all-kernel",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(all_kernel, bool),
        .section = SAMPLING,
        .help = "of every event, look at the kernel only",
    },
    {
        .long_name = "all-user",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(all_user, bool),
        .section = SAMPLING,
        .help = "of every event, look at user space only; not together with --all-kernel",
    },
    {
        .short_name = 'n',
        .long_name = "no-samples",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.no_samples, bool),
        .section = SAMPLING,
        .help = "do not sample: the file then holds processes, maps and the like",
    },
    {
        .short_name = 'k',
        .long_name = "clockid",
        .argument = "CLOCK",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_clock,
        .default_text = "the kernel's own",
        .section = SAMPLING,
        .help = "stamp samples with this clock: monotonic, monotonic_raw, realtime, boottime, tai, or a number",
        .details = "With or without CLOCK_ before the name, in any case. Other clocks than monotonic and "
                   "monotonic_raw stamp software events only, such as cpu-clock.",
    },
    {
        .short_name = 'D',
        .long_name = "delay",
        .argument = "MS|-1|MS-MS[,MS-MS...]",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_delay,
        .clear = clear_delay,
        .section = SAMPLING,
        .help = "let events count only so many milliseconds after the start, never (-1), or in these windows",
        .details =
            "The start is that of the command or, without one, of the recording. Mappings and names of tasks are "
            "recorded all the time. With windows recording ends with the last one, and the command is terminated.",
    },
    {
        .long_name = "exclude-perf",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(exclude_perf, bool),
        .section = SAMPLING,
        .help = "leave out the events of weir itself, all its threads",
        .details = "Together with --filter both must match. The kernel can do so for tracepoints only; of other events "
                   "weir's own stay, which is said.",
    },
    {
        .short_name = 'g',
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_call_graph_default,
        .section = SAMPLES,
        .help = "record call chains: by frame pointers, or as --call-graph says",
    },
    {
        .long_name = "call-graph",
        .argument = "MODE[,SIZE]",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_call_graph,
        .clear = weir_clear_call_graph,
        .section = SAMPLES,
        .help = "record call chains: fp (frame pointers), dwarf (copies of the user stack, SIZE bytes each) or lbr "
                "(branch registers of the CPU)",
        .details = "SIZE is rounded up to a multiple of 8, 65528 at most, 8192 without it. dwarf also records user "
                   "registers and what -d does. For fp, SIZE is the number of frames at most.",
    },
    {
        .long_name = "kernel-callchains",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.kernel_callchains, bool),
        .section = SAMPLES,
        .help = "of call chains, record the kernel's part only",
    },
    {
        .long_name = "user-callchains",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.user_callchains, bool),
        .section = SAMPLES,
        .help = "of call chains, record the part of user space only",
    },
    {
        .short_name = 'd',
        .long_name = "data",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.addresses, bool),
        .section = SAMPLES,
        .help = "record data addresses, where the data came from, and maps that hold no code",
    },
    {
        .long_name = "phys-data",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.physical_addresses, bool),
        .section = SAMPLES,
        .help = "record the physical addresses of data",
    },
    {
        .long_name = "data-page-size",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.data_page_size, bool),
        .section = SAMPLES,
        .help = "record the page size of data addresses",
    },
    {
        .long_name = "code-page-size",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.code_page_size, bool),
        .section = SAMPLES,
        .help = "record the page size of code addresses",
    },
    {
        .short_name = 'W',
        .long_name = "weight",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.weight, bool),
        .section = SAMPLES,
        .help = "record the weight of samples, such as the latency of a load, where the event has one",
    },
    {
        .long_name = "transaction",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.transaction, bool),
        .section = SAMPLES,
        .help = "record the flags of memory transactions",
    },
    {
        .short_name = 'R',
        .long_name = "raw-samples",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.raw, bool),
        .section = SAMPLES,
        .help = "record the raw data of all events; those of tracepoints always are",
    },
    {
        .short_name = 'T',
        .long_name = "timestamp",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(timestamp, bool),
        .section = SAMPLES,
        .help = "record the time of samples, which is always done",
    },
    {
        .short_name = 'P',
        .long_name = "period",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_period_choice,
        .clear = weir_clear_period_choice,
        .section = SAMPLES,
        .help = "record the period of samples; without the option where it varies",
    },
    {
        .long_name = "sample-cpu",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(sample_cpu, bool),
        .section = SAMPLES,
        .help = "record the CPU of samples, which is always done",
    },
    {
        .long_name = "sample-identifier",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(sample_identifier, bool),
        .section = SAMPLES,
        .help = "record the event of samples at a fixed place, which is always done",
    },
    {
        .short_name = 'b',
        .long_name = "branch-any",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_branch_any,
        .section = SAMPLES,
        .help = "record the last branches before each sample",
    },
    {
        .short_name = 'j',
        .long_name = "branch-filter",
        .argument = "FILTER[,FILTER...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_branch_filter,
        .section = SAMPLES,
        .help = "record those of the last branches that are any, any_call, any_ret, ind_call, ind_jmp, call, cond, "
                "in_tx, no_tx, abort_tx or stack",
        .details = "Of user space (u), the kernel (k) or the hypervisor (hv); also save_type, no_flags, no_cycles and "
                   "priv. Needs a CPU that records branches.",
    },
    {
        .short_name = 'I',
        .long_name = "intr-regs",
        .argument = "REGISTERS",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_intr_regs,
        .section = SAMPLES,
        .help =
            "record these registers at each sample, such as IP,SP; all of them without a list; -I? shows their names",
    },
    {
        .long_name = "user-regs",
        .argument = "REGISTERS",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_user_regs,
        .section = SAMPLES,
        .help = "record these registers of user space at each sample; all of them without a list; --user-regs=? shows "
                "their names",
    },
    {
        .long_name = "running-time",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.running_time, bool),
        .section = SAMPLES,
        .help = "record for how long counters ran, with what is read with samples (:S)",
    },
    {
        .long_name = "no-bpf-event",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.no_bpf_events, bool),
        .section = SAMPLES,
        .help = "leave out the loading and unloading of BPF programs",
    },
    {
        .long_name = "switch-events",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.switch_events, bool),
        .section = SAMPLES,
        .help = "record context switches",
    },
    {
        .long_name = "namespaces",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.namespaces, bool),
        .section = SAMPLES,
        .help = "record the namespaces of tasks",
    },
    {
        .long_name = "all-cgroups",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.cgroups, bool),
        .section = SAMPLES,
        .help = "record cgroups, and of which one each sample is",
    },
    {
        .long_name = "synth",
        .argument = "WHAT[,WHAT...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_synth,
        .default_text = "all",
        .section = SAMPLES,
        .help = "what is recorded of what was there before: task, mmap (task too), cgroup, all or no",
    },
    {
        .long_name = "num-thread-synthesize",
        .argument = "N",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(synth_threads, uint64_t),
        .min = 1,
        .max = SYNTH_THREADS_MAX,
        .default_text = "one per CPU, 16 at most",
        .section = SAMPLES,
        .help = "read /proc with so many threads at the start",
    },
    {
        .long_name = "proc-map-timeout",
        .argument = "MS",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(synth_map_timeout_ms, uint64_t),
        .unit = "ms",
        .min = 1,
        .max = MAP_TIMEOUT_MS_MAX,
        .default_text = "500",
        .section = SAMPLES,
        .help = "give up on reading the maps of a process after so long",
    },
    {
        .short_name = 'm',
        .long_name = "mmap-pages",
        .argument = "PAGES|SIZE",
        .kind = WEIR_OPTION_RING_SIZE,
        .field = FIELD(ring_size, struct weir_ring_size),
        .default_text = "chosen from memory and privileges",
        .section = RINGS,
        .help = "size of each kernel ring: a number of pages, or a size with B, K, M or G",
        .details = "Rounded up to a power of two pages. Without CAP_IPC_LOCK the kernel allows "
                   "kernel.perf_event_mlock_kb per CPU and user, beyond RLIMIT_MEMLOCK.",
    },
    {
        .long_name = "buffer-size",
        .argument = "SIZE",
        .kind = WEIR_OPTION_SIZE,
        .field = FIELD(buffer_bytes, uint64_t),
        .min = WEIR_BUFFER_BYTES_MIN,
        .max = WEIR_BUFFER_BYTES_MAX,
        .default_text = "chosen from memory and CPU count",
        .section = RINGS,
        .help = "memory for what was drained and is not yet written, in all",
        .details = "It bounds how long the disk may stall without loss.",
    },
    {
        .long_name = "threads",
        .argument = "SPEC",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_threads,
        .default_text = "cpu",
        .section = RINGS,
        .help = "which threads drain the rings: one per cpu, core, package or numa node, or masks "
                "CPUS/AFFINITY[:CPUS/AFFINITY...]",
    },
    {
        .long_name = "no-buffering",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.no_buffering, bool),
        .section = RINGS,
        .help = "wake up for each record rather than when a quarter of a ring is filled",
    },
    {
        .short_name = 'r',
        .long_name = "realtime",
        .argument = "PRIO",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(realtime_priority, uint64_t),
        .min = REALTIME_MIN,
        .max = REALTIME_MAX,
        .default_text = "none",
        .section = RINGS,
        .help = "run weir's threads with this SCHED_FIFO priority",
    },
    {
        .short_name = 'o',
        .long_name = "output",
        .argument = "FILE",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_output,
        .default_text = WEIR_RECORD_OUTPUT_DEFAULT,
        .section = OUTPUT,
        .help = "write the recording to FILE; a file of that name becomes FILE.old",
    },
    {
        .short_name = 'B',
        .long_name = "no-buildid",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(no_buildid, bool),
        .section = OUTPUT,
        .help = "leave the build ids of what was mapped out of the recording",
        .details = "They are read while recording, by a thread of low priority, and cost no time at the end.",
    },
    {
        .long_name = "buildid-mmap",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(buildid_mmap, bool),
        .section = OUTPUT,
        .help = "let the kernel write build ids into the records of mappings (Linux 5.12)",
        .details = "weir then need not open the mapped files. Their table is written all the same, unless -B is given: "
                   "some readers know no other place.",
    },
    {
        .long_name = "buildid-all",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(buildid_all, bool),
        .section = OUTPUT,
        .help = "as perf record; weir records the build ids of all executable mappings anyway",
    },
    {
        .short_name = 'N',
        .long_name = "no-buildid-cache",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(no_buildid_cache, bool),
        .default_text = "on",
        .section = OUTPUT,
        .help = "copy nothing into perf's cache of files by build id",
        .details =
            "With --buildid-cache what was mapped is copied there when recording has ended, so that the recording "
            "can be read when these files have been replaced. perf record copies unless told not to.",
    },
    {
        .long_name = "buildid-dir",
        .argument = "DIR",
        .kind = WEIR_OPTION_TEXT,
        .field = FIELD(buildid_dir, const char *),
        .default_text = "~/.debug",
        .section = OUTPUT,
        .help = "the cache that --buildid-cache copies into",
    },
    {
        .short_name = 'v',
        .long_name = "verbose",
        .negatable = true,
        .repeatable = true,
        .kind = WEIR_OPTION_COUNTER,
        .field = FIELD(verbosity, unsigned),
        .section = OUTPUT,
        .help = "show the plan, and at the end the counts and losses of each CPU; -vv: all decisions",
    },
    {
        .short_name = 'q',
        .long_name = "quiet",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(quiet, bool),
        .section = OUTPUT,
        .help = "show nothing but errors; goes before -v",
    },
    {
        .long_name = "dry-run",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(dry_run, bool),
        .section = OTHER,
        .help = "check everything that can be checked without recording, and exit; with -v show the plan",
    },
    {
        .long_name = "print-config",
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(print_config, bool),
        .section = OTHER,
        .help = "print what is in force, as a configuration file with where each line comes from, and exit",
        .details = "A line KEY = VALUE below [record], in the form of perf-config(1), stands for the option --KEY: in "
                   "SYSCONFDIR/weir/config, then in $XDG_CONFIG_HOME/weir/config or ~/.config/weir/config, or only in "
                   "the file that $WEIR_CONFIG names. The command line goes before them. call-graph is what -g stands "
                   "for, build-id one of cache, no-cache, skip and mmap; these two are taken from perf's files, too.",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...]", "[OPTION...] [--] COMMAND [ARGUMENT...]", NULL};

static const char *const description[] = {
    "Records Linux perf events into one file that perf report, perf script and every other reader of perf.data "
    "understands. One thread per CPU drains the kernel's rings; one seekable file in rounds comes out.",
    "Recording lasts until COMMAND ends, until the processes of -p are gone, or until a signal (SIGINT, SIGTERM, "
    "SIGHUP, SIGQUIT). It ends with the lines that perf record ends with; when anything was lost, a line says how "
    "much, "
    "where, why, and what would prevent it.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir record -a -g sleep 10", "Call chains of the whole machine for ten seconds."},
    {"weir record -F 99 -p 4242", "99 samples per second of one process, until it ends or Ctrl-C."},
    {"weir record -a -e raw_syscalls:sys_enter -c 1 -m 4M make", "Every system call while make runs."},
    {NULL, NULL},
};

const struct weir_command weir_record_command = {
    .name = "record",
    .summary = "record perf events of the whole machine, of processes or of a command into a perf.data file",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_recording,
    .examples = examples,
    .options = {.command = "weir record",
                .options = options,
                .count = WEIR_ARRAY_COUNT(options),
                .perf_options = weir_perf_options,
                .perf_option_count = WEIR_PERF_OPTION_COUNT},
};

void weir_record_arguments_init(struct weir_record_arguments *arguments)
{
    *arguments = (struct weir_record_arguments){
        .cpus = WEIR_CPUSET_INIT,
        .output_path = WEIR_RECORD_OUTPUT_DEFAULT,
        .timestamp = true,
        .no_buildid_cache = true,
        .synth = {.tasks = true, .maps = true, .cgroups = true},
    };
}

void weir_record_arguments_fini(struct weir_record_arguments *arguments)
{
    if (!arguments)
        return;
    weir_cpuset_fini(&arguments->cpus);
    free(arguments->pids);
    free(arguments->tids);
    free(arguments->cgroups);
    weir_schedule_fini(&arguments->schedule);
    weir_text_list_fini(&arguments->events);
    free(arguments->filters);
    weir_record_arguments_init(arguments);
}

int weir_record_arguments_parse(struct weir_record_arguments *arguments, char *const *argv, struct weir_error *err)
{
    return weir_record_arguments_parse_noted(arguments, argv, NULL, err);
}

int weir_record_arguments_parse_noted(struct weir_record_arguments *arguments, char *const *argv,
                                      struct weir_settings *settings, struct weir_error *err)
{
    size_t used;
    int result = weir_options_parse_noted(&weir_record_command.options, arguments, argv, &used, settings, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used])
        arguments->workload = argv + used;
    return result;
}

int weir_record_arguments_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                  const struct weir_notice_sink *notices, struct weir_error *err)
{
    if (arguments->freq_hz != 0 && arguments->period != 0) {
        weir_error_set(err, -EINVAL, "cannot set frequency and period at the same time");
        weir_error_hint(err, "choose -F (so many samples per second) or -c (every Nth occurrence)");
        return -EINVAL;
    }
    if (arguments->all_kernel && arguments->all_user) {
        weir_error_set(err, -EINVAL, "option '--all-user' cannot be used with '--all-kernel'");
        weir_error_hint(err, "without either, both sides are recorded");
        return -EINVAL;
    }
    if (!arguments->timestamp)
        weir_notice(notices, WEIR_NOTICE_WARNING, "samples keep their times: the file is put in order by them");
    int result = weir_ring_size_resolve(&arguments->ring_size, page_bytes, notices, &arguments->ring_bytes, err);
    if (result < 0)
        return result;
    return weir_target_options_resolve(arguments, notices, err);
}
