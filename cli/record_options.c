/*
 * The options of `weir record` as a whole: the table put together from its rows, and the rules between options, which
 * were tried with perf 6.1. Main thread.
 */
#include "cli/record_options.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/perf_options.h"
#include "cli/record_rows.h"
#include "cli/ring_options.h"
#include "cli/surroundings.h"
#include "cli/target_options.h"
#include "engine/aux/aux_events.h"
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"
#include "engine/events/event_ratio.h"
#include "engine/plan/record_modes.h"

/* In the order of help. */
static const struct weir_option_rows *const parts[] = {
    &weir_record_target_rows, &weir_record_sampling_rows, &weir_record_sample_rows,
    &weir_ring_option_rows,   &weir_record_ring_rows,     &weir_record_output_rows,
    &weir_record_switch_rows, &weir_record_trigger_rows,  &weir_record_other_rows,
};

static const struct weir_removed_option removed[] = {
    {"affinity-cpus", "leave it out: it lost samples by design; -m makes rings smaller"},
    {"output-format", "leave it out: one file is written, which perf report reads in order, whatever --threads says"},
    {"snapshot-on-once", "--snapshot-hold-off 4294967295 ignores all occurrences but the first for 49 days"},
};

static const char *const usages[] = {"[OPTION...]", "[OPTION...] [--] COMMAND [ARGUMENT...]", NULL};

static const char *const description[] = {
    "Records Linux perf events into one file that perf report, perf script and every other consumer of "
    "perf.data understands. One thread per CPU drains the kernel's rings; the output is one seekable "
    "file in rounds.",
    "Recording lasts until COMMAND ends, until the processes of -p are gone, or until a signal "
    "(SIGINT, SIGTERM, SIGHUP, SIGQUIT). It ends with the closing lines of perf record. After a loss, "
    "a line has its size, place, cause and remedy.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir record -a -g sleep 10", "Call chains of the whole machine for ten seconds."},
    {"weir record -F 99 -p 4242", "99 samples per second of one process, until it ends or Ctrl-C."},
    {"weir record -a -e raw_syscalls:sys_enter -c 1 -m 4M make", "Every system call while make runs."},
    {"weir record -a -z -o - sleep 10 | perf report -i -", "A stream, compressed, into a program that reads it."},
    {"weir record -a --kcore -o kernel.dir sleep 10", "A directory, with a copy of the kernel's code."},
    {"weir record -e cpu-clock --append -o perf.data make", "Continues a recording of the same events."},
    {"weir record -f -o perf.data make", "Overwrites perf.data also if it is of another user."},
    {"weir record -a --sync --max-size 1G sleep 60", "Survives a power cut, and takes 1 GiB at most."},
    {"weir record -a --switch-output=1m --switch-max-files 60 --on-rotate ./upload",
     "A file per minute, of which the last hour stays; ./upload gets the name of each."},
    {"weir record -a --timestamp-filename sleep 10", "One file that has the time in its name."},
    {"weir record -a --switch-output=1G --keep-free=5G --on-full=rotate",
     "Files of 1 GiB; the oldest goes when less than 5 GiB are free."},
    {"weir record --switch-output-event oom:mark_victim -a -e cpu-clock",
     "The next file begins when the kernel kills for want of memory."},
    {"weir record -a -g -M 30s --snapshot-keep 4",
     "A flight recorder: the last 30 seconds reach a file of their own at each SIGUSR2."},
    {"weir record -a --overwrite --tail-synthesize sleep 60",
     "The kernel's rings keep the newest samples, which reach the file at the end."},
    {"weir record -M 64M --snapshot-on sched:sched_process_exit --snapshot-on-exit make",
     "Snapshots by an event, and one at the end."},
    {"weir record -e cpu-clock -M 64M --snapshot-on crash --ftrace-snapshot make",
     "A snapshot when the command crashes, and one of ftrace beside it."},
    {"weir record -e intel_pt//u -S -p 4242", "An instruction trace, of which SIGUSR2 takes a snapshot."},
    {"weir record -e intel_pt//u --aux-sample -e cycles:u make", "A piece of instruction trace in each sample."},
    {"weir record --per-thread -s -p 4242", "A ring for each thread of the process, and its counts."},
    {"weir record -a --threads=package --shed=stacks sleep 60",
     "A reader per package; stacks are cut before samples are lost to a slow disk."},
    {"weir record -D 1000 --sample-identifier make", "Without the first second, with ids in each record."},
    {"weir record -a -g -F 99 --aggregate=10s sleep 600", "Equal samples of ten seconds become one."},
    {"weir record -a -F 99 --call-graph dwarf,unwind sleep 60",
     "Call chains without frame pointers, made of copied stacks while recording."},
    {"weir record -a --call-graph fp,defer sleep 10", "User call chains, made when tasks return to user space."},
    {"weir record --off-cpu -g -p 4242", "Where a process waits, beside where it runs."},
    {"weir record --preset sched make", "The events of perf sched, for perf sched timehist."},
    {"weir record -a -e cpu-clock --filter 'period > 1000' sleep 1", "Some samples only."},
    {"weir record -a --metrics weir.prom --lease 60 --control fifo:ctl,ack",
     "Metrics for Prometheus; the recording ends when its controller is silent for a minute."},
    {"weir record -a -e cpu-clock --dry-run -v", "The plan, memory and descriptors; records nothing."},
    {NULL, NULL},
};

const struct weir_command weir_record_command = {
    .name = "record",
    .summary = "record perf events of the whole machine, of processes or of a command into a perf.data file",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_recording,
    .examples = examples,
    .files = weir_files_of_recording,
    .environment = weir_environment_of_recording,
    .options = {.command = "weir record",
                .parts = parts,
                .part_count = WEIR_ARRAY_COUNT(parts),
                .removed = removed,
                .removed_count = WEIR_ARRAY_COUNT(removed),
                .perf_options = weir_perf_options,
                .perf_option_count = WEIR_PERF_OPTION_COUNT},
};

int weir_record_options_parse(struct weir_record_arguments *arguments, char *const *argv,
                              struct weir_settings *settings, struct weir_error *err)
{
    size_t used;
    int result = weir_options_parse_noted(&weir_record_command.options, arguments, argv, &used, settings, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used])
        arguments->options.targets.command = argv + used;
    return result;
}

/* The names in the options, and facts that the command line knows beside them. */
static struct weir_modes modes_of(const struct weir_record_arguments *arguments)
{
    struct weir_modes modes = weir_record_modes(&arguments->options);
    if (arguments->force)
        weir_modes_add(&modes, WEIR_MODE_FORCE);
    if (arguments->snapshot_keep > 0)
        weir_modes_add(&modes, WEIR_MODE_SNAPSHOT_FILES);
    if (arguments->rotate_on.count > 0)
        weir_modes_add(&modes, WEIR_MODE_ROTATION_EVENT);
    if (arguments->snapshot_on.count > 0)
        weir_modes_add(&modes, WEIR_MODE_SNAPSHOT_ON);
    return modes;
}

/* Of modes that no rule refuses: what they imply, for the engine. */
static void apply_modes(struct weir_record_arguments *arguments, const struct weir_modes *modes)
{
    struct weir_rotation_options *rotation = &arguments->options.rotation;
    rotation->enabled = weir_modes_have(modes, WEIR_MODE_ROTATION);
    rotation->timestamp = weir_modes_have(modes, WEIR_MODE_TIME_NAMES);
    rotation->each_snapshot = arguments->snapshot_keep > 0;
    if (rotation->each_snapshot) /* --switch-max-files was not given */
        rotation->max_files = (unsigned)arguments->snapshot_keep;
}

bool weir_record_options_want_files(const struct weir_record_arguments *arguments)
{
    const struct weir_modes modes = modes_of(arguments);
    return arguments->output_given || weir_modes_exclude(&modes, WEIR_MODE_STREAM);
}

int weir_record_options_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                const struct weir_notice_sink *notices, struct weir_error *err)
{
    if (arguments->options.rate.freq_hz != 0 && arguments->options.rate.period != 0) {
        weir_error_set(err, -EINVAL, "cannot set frequency and period at the same time");
        weir_error_hint(err, "choose -F (samples per second) or -c (every Nth occurrence)");
        return -EINVAL;
    }
    if (arguments->options.all_kernel && arguments->options.all_user) {
        weir_error_set(err, -EINVAL, "option '--all-user' cannot be used with '--all-kernel'");
        weir_error_hint(err, "without these options, both kernel and user space are recorded");
        return -EINVAL;
    }
    const struct weir_modes modes = modes_of(arguments);
    int result = weir_modes_check(&modes, NULL, err);
    if (result < 0)
        return result;
    apply_modes(arguments, &modes);
    if (arguments->latency) {
        arguments->options.samples.switch_events = true;
        arguments->options.no_switch_events = false;
    }
    if (arguments->options.build_ids.cache_dir && !arguments->leaves_cache)
        arguments->options.build_ids.fill_cache = true;
    if (!weir_cpuset_is_empty(&arguments->reader_cpus))
        arguments->options.readers.cpus = &arguments->reader_cpus;
    if (!arguments->timestamp)
        weir_notice(notices, WEIR_NOTICE_WARNING, "samples keep their time stamps, which order the file");
    result = weir_ring_sizes_resolve(&arguments->ring_sizes, page_bytes, notices, &arguments->options, err);
    if (result < 0)
        return result;
    return weir_target_options_resolve(arguments, notices, err);
}

int weir_record_options_resolve_events(struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                       struct weir_error *err)
{
    int result = weir_aux_events_check(events, &arguments->options.aux, err);
    if (result == 0)
        result = weir_event_ratios_check(events, arguments->options.rate.period != 0, err);
    if (result < 0)
        return result;
    int overwrites = weir_event_list_overwrites(events, arguments->options.memory.overwrite, NULL);
    if (overwrites >= 0) /* else the engine refuses the list, and says of which event */
        arguments->options.memory.overwrite = overwrites;
    const struct weir_event *aux = weir_aux_events_find(events);
    struct weir_modes modes = modes_of(arguments);
    if (aux)
        weir_modes_add(&modes, WEIR_MODE_AUX);
    return weir_modes_check(&modes, aux ? aux->name : NULL, err);
}
