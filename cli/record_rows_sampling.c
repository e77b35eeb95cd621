/* Rows of `weir record`: which events are recorded, how often and when. Main thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>

#include "cli/event_options.h"
#include "cli/preset_apply.h"
#include "cli/sample_arguments.h"

#define FREQ_HZ_MAX UINT32_MAX /* perf's type for it; the kernel's limit is far below */
#define PERIOD_MAX  INT64_MAX  /* perf_event_open(2): the top bit of sample_period must be 0 */

static int apply_delay(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    struct weir_error below = {0};
    int result = weir_schedule_parse(&arguments->options.schedule, text, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--delay': %s", below.what);
        weir_error_hint(err, "milliseconds after the start, such as 500; -1: never; or windows, such as 10-20,30-40");
    }
    return result;
}

static void clear_delay(void *object)
{
    struct weir_record_arguments *arguments = object;
    weir_schedule_fini(&arguments->options.schedule);
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_VALUE_OF('e', "event", "EVENT[,EVENT...]", WEIR_OPTION_TEXT_LIST,
                             FIELD(events, struct weir_text_list)),
        .repeatable = true,
        .default_text = "cycles",
        .help = "record this event: a hardware, software or cache event, rNNN, PMU/TERMS/, a tracepoint SYSTEM:NAME or "
                "mem:ADDRESS[/LENGTH][:rwx]",
        .details = "Names, terms and modifiers are those of perf-list(1) and perf-record(1), such as cycles:u, "
                   "cpu/event=0x3c,umask=1/, cs/call-graph=no/, {cycles,instructions}:S or 'sched:*'. A pattern "
                   "stands for all tracepoints or PMUs that match it. FILE.c and FILE.o are BPF programs. Each "
                   "tracepoint to which a section attaches a program is an event; weir records the hits for which the "
                   "program does not return 0. Each map of type BPF_MAP_TYPE_PERF_EVENT_ARRAY is another event, with "
                   "-a or -C: the data that programs send by bpf_perf_event_output(). The programs run while weir "
                   "records.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "preset", "PRESET", weir_preset_apply_name),
        .repeatable = true,
        .help = "record what 'perf PRESET record' does: sched, lock, kmem, kmem-page, timechart, timechart-io, trace, "
                "kwork, kvm, offcpu, mem or c2c; 'weir list presets' shows the options and events of each",
        .details =
            "A preset stands in front of the command line, wherever it is typed. An option of the command line "
            "replaces that of the preset, also -F its -c, and -p, -t, -u and --per-thread its -a. Events of -e "
            "are added to those of the preset. Several presets are joined. perf has no command for offcpu, which is "
            "--off-cpu alone.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "filter", "FILTER", weir_event_options_apply_filter),
        .repeatable = true,
        .help = "record only samples that match, such as 'period > 1000, cpu == 1', of the -e before it",
        .details = "For tracepoints: the kernel's filter grammar (Documentation/trace/events.rst), over the fields of "
                   "events/SYSTEM/NAME/format in tracefs. Of several filters all must match. For PMUs that trace "
                   "instructions: filter|start|stop|tracestop FUNCTION|ADDRESS [/ FUNCTION|SIZE] [@FILE], with blanks "
                   "around functions of FILE or of the kernel; 'NAME #2' is the second of that name. For all other "
                   "events: TERM OPERATOR VALUE [, or || TERM OPERATOR VALUE]..., where ',' means and, and '||' binds "
                   "closer. Operators: == != > >= < <= & (bits in common). Terms: ip, id, tid, pid, cpu, time, addr, "
                   "period, txn, weight, weight1, weight2 (ins_lat), weight3 (retire_lat, p_stage_cyc), phys_addr, "
                   "code_pgsz, data_pgsz, uid, gid, cgroup (its path), mem_op (na load store pfetch exec), mem_lvl (l1 "
                   "l2 l3 l4 cxl io any_cache lfb ram pmem), mem_snoop (na none hit miss hitm fwd peer), mem_remote "
                   "(remote), mem_lock (na locked), mem_dtlb (na l1_hit l1_miss l2_hit l2_miss any_hit any_miss walk "
                   "fault), mem_blk (na by_data by_addr), mem_hops (hops0 to hops3). A BPF program of weir's drops the "
                   "other samples in the kernel, and the ledger counts them as filtered. This takes Linux 6.2, and "
                   "root or --setup-filter.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "pfm-events", "PFM-EVENTS", weir_event_options_apply_pfm),
        .repeatable = true,
        .help = "record these events by libpfm4's names, such as inst_retired:any_p:u or {EVENT,EVENT}",
        .details = "'weir list pfm' shows those of this machine's CPU. Modifiers are libpfm4's: u, k, precise=N, "
                   "period=N, c=N (threshold) and others. -e takes these names, too, where nothing else has the name: "
                   "in any case, with a point before the unit mask, and with modifiers of perf-list(1) behind a colon.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "group", FIELD(group, bool)),
        .help = "make all events one group, which counts only as a whole",
        .details = "As braces around them: -e '{EVENT,EVENT}'.",
    },
    {
        WEIR_OPTION_VALUE_OF('F', "freq", "HZ|max", WEIR_OPTION_FREQUENCY, FIELD(options.rate.freq_hz, uint64_t)),
        .unit = "Hz",
        .min = 1,
        .max = FREQ_HZ_MAX,
        .default_text = "4000",
        .help = "sample about HZ times per second and CPU",
        .details = "A rate above kernel.perf_event_max_sample_rate is lowered to that limit, with a warning; max asks "
                   "for the limit. Tracepoints are sampled each time unless -F or -c is given.",
    },
    {
        WEIR_OPTION_VALUE_OF('c', "count", "N", WEIR_OPTION_NUMBER, FIELD(options.rate.period, uint64_t)),
        .min = 1,
        .max = PERIOD_MAX,
        .help = "sample every Nth occurrence; not together with -F",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "strict-freq", FIELD(options.rate.strict, bool)),
        .help = "fail where -F is above the kernel's limit, rather than sample less often",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "all-kernel", FIELD(options.all_kernel, bool)),
        .help = "of every event, look at the kernel only",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "all-user", FIELD(options.all_user, bool)),
        .help = "of every event, look at user space only; not together with --all-kernel",
    },
    {
        WEIR_OPTION_FLAG_OF('n', "no-samples", FIELD(options.samples.no_samples, bool)),
        .help = "do not sample: the file then holds processes and mappings only",
    },
    {
        WEIR_OPTION_CUSTOM_OF('k', "clockid", "CLOCK", weir_apply_clock),
        .default_text = "the kernel's own",
        .help = "stamp samples with this clock: monotonic, monotonic_raw, realtime, boottime, tai, or a number",
        .details = "With or without CLOCK_ before the name, in any case. Other clocks than monotonic and "
                   "monotonic_raw stamp software events only, such as cpu-clock.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('D', "delay", "MS|-1|MS-MS[,MS-MS...]", apply_delay),
        .negatable = true,
        .clear = clear_delay,
        .help = "start counting MS milliseconds after the start, never (-1), or in these windows",
        .details =
            "The start is that of the command or, without one, of the recording. Mappings and names of tasks are "
            "recorded all the time. With windows recording ends with the last one, and the command is terminated.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "exclude-perf", FIELD(options.targets.exclude_self, bool)),
        .help = "leave out the events of weir itself, all its threads",
        .details = "Together with --filter both must match. The kernel can leave tasks out of tracepoints only; "
                   "samples of other events by weir stay, with a warning.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "clang-path", "COMMAND", WEIR_OPTION_TEXT, FIELD(bpf_build.clang, const char *)),
        .default_text = "clang",
        .help = "the compiler of BPF programs in C (-e FILE.c)",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "clang-opt", "ARGUMENTS", WEIR_OPTION_TEXT, FIELD(bpf_build.options, const char *)),
        .help = "more arguments for that compiler, such as -I DIR",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "vmlinux", "FILE", WEIR_OPTION_TEXT, FIELD(bpf_build.vmlinux, const char *)),
        .default_text = "those of the running kernel",
        .help = "take the kernel's types (BTF) for BPF programs from this file",
    },
};

const struct weir_option_rows weir_record_sampling_rows = WEIR_OPTION_ROWS_OF("Events and samples", options);
