/*
 * The options of `weir record` as a whole: the table put together from its rows, and the rules between options, which
 * were tried with perf 6.1. Main thread.
 */
#include "cli/record_options.h"
#include "cli/aux_arguments.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/perf_options.h"
#include "cli/record_rows.h"
#include "cli/ring_options.h"
#include "cli/target_options.h"
#include "engine/events/event_config.h"
#include "engine/events/event_list.h"

/* In the order of help. */
static const struct weir_option_rows *const parts[] = {
    &weir_record_target_rows, &weir_record_sampling_rows, &weir_record_sample_rows,
    &weir_ring_option_rows,   &weir_record_ring_rows,     &weir_record_output_rows,
    &weir_record_switch_rows, &weir_record_trigger_rows,  &weir_record_other_rows,
};

static const struct weir_removed_option removed[] = {
    {"affinity-cpus", "leave it out: it lost samples by design; -m makes rings smaller"},
    {"output-format", "leave it out: one file is written, which perf report reads in order, whatever --threads says"},
};

static const char *const usages[] = {"[OPTION...]", "[OPTION...] [--] COMMAND [ARGUMENT...]", NULL};

static const char *const description[] = {
    "Records Linux perf events into one file that perf report, perf script and every other reader of perf.data "
    "understands. One thread per CPU drains the kernel's rings; one seekable file in rounds comes out.",
    "Recording lasts until COMMAND ends, until the processes of -p are gone, or until a signal (SIGINT, SIGTERM, "
    "SIGHUP, SIGQUIT). It ends with the lines that perf record ends with; when anything was lost, a line says how "
    "much, where, why, and what would prevent it.",
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
                .parts = parts,
                .part_count = WEIR_ARRAY_COUNT(parts),
                .removed = removed,
                .removed_count = WEIR_ARRAY_COUNT(removed),
                .perf_options = weir_perf_options,
                .perf_option_count = WEIR_PERF_OPTION_COUNT},
};

int weir_record_options_parse(struct weir_record_arguments *arguments, char *const *argv, struct weir_error *err)
{
    return weir_record_options_parse_noted(arguments, argv, NULL, err);
}

int weir_record_options_parse_noted(struct weir_record_arguments *arguments, char *const *argv,
                                    struct weir_settings *settings, struct weir_error *err)
{
    size_t used;
    int result = weir_options_parse_noted(&weir_record_command.options, arguments, argv, &used, settings, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used])
        arguments->options.command = argv + used;
    return result;
}

/* What only one file of all can be. */
static int resolve_folder(const struct weir_record_arguments *arguments, bool to_stdout, struct weir_error *err)
{
    const struct weir_record_options *options = &arguments->options;
    if (options->kcore && to_stdout) {
        weir_error_set(err, -EINVAL, "option '--kcore' cannot be used with '-o -'");
        weir_error_hint(err, "a directory cannot go to standard output: name one with -o");
        return -EINVAL;
    }
    if (options->kcore && options->per_thread) {
        weir_error_set(err, -EINVAL, "option '--kcore' cannot be used with '--per-thread'");
        weir_error_hint(err, "changes of the kernel's code come by CPU: leave out --per-thread");
        return -EINVAL;
    }
    if ((options->kcore || to_stdout) && (options->switching.timestamp || options->switching.command)) {
        weir_error_set(err, -EINVAL, "only files end and go on in others: not %s",
                       to_stdout ? "a stream ('-o -')" : "'--kcore'");
        weir_error_hint(err, "--switch-output, --snapshot-keep, --timestamp-filename and --on-rotate are for -o FILE");
        return -EINVAL;
    }
    return 0;
}

/* Outputs that exclude each other, said before anything is opened. */
static int resolve_output(const struct weir_record_arguments *arguments, struct weir_error *err)
{
    bool to_stdout = arguments->options.output_kind == WEIR_RECORD_OUTPUT_STREAM;
    if (arguments->options.append && arguments->force) {
        weir_error_set(err, -EINVAL, "cannot overwrite and append at the same time");
        weir_error_hint(err, "choose between -f and -A");
        return -EINVAL;
    }
    const char *other = to_stdout                                  ? "-o -"
                        : arguments->options.kcore                 ? "--kcore"
                        : arguments->options.compression_level > 0 ? "-z"
                        : arguments->snapshot_keep > 0             ? "--snapshot-keep"
                        : arguments->switch_on.count > 0           ? "--switch-output-event"
                        : arguments->options.switching.enabled     ? "--switch-output"
                        : arguments->options.switching.timestamp   ? "--timestamp-filename"
                        : arguments->options.switching.command     ? "--on-rotate"
                                                                   : NULL;
    if (arguments->options.append && other) {
        weir_error_set(err, -EINVAL, "option '--append' cannot be used with '%s'", other);
        weir_error_hint(err, "a recording in one file that is not compressed can be continued");
        return -EINVAL;
    }
    if (arguments->options.sync && to_stdout) {
        weir_error_set(err, -EINVAL, "option '--sync' cannot be used with '-o -'");
        weir_error_hint(err, "a stream is on no disk of ours: leave out --sync");
        return -EINVAL;
    }
    if (arguments->options.on_full != WEIR_RECORD_ON_FULL_STOP && to_stdout) {
        weir_error_set(err, -EINVAL, "option '--on-full' cannot be used with '-o -'");
        weir_error_hint(err, "a stream takes no room here; its reader is waited for in any case");
        return -EINVAL;
    }
    if (arguments->options.on_full != WEIR_RECORD_ON_FULL_STOP && arguments->options.kcore &&
        arguments->options.keep_free_bytes == 0) {
        weir_error_set(err, -EINVAL, "option '--on-full' needs --keep-free with '--kcore'");
        weir_error_hint(err, "only a single file can wait for room; what --keep-free 1G leaves is looked at before");
        return -EINVAL;
    }
    if (arguments->options.on_full == WEIR_RECORD_ON_FULL_ROTATE && !arguments->options.switching.enabled) {
        weir_error_set(err, -EINVAL, "option '--on-full=rotate' needs --switch-output: there is one file only");
        weir_error_hint(err, "--switch-output=100M --on-full=rotate --keep-free 1G");
        return -EINVAL;
    }
    if (to_stdout && arguments->options.keep_free_bytes > 0) {
        weir_error_set(err, -EINVAL, "option '--keep-free' cannot be used with '-o -'");
        weir_error_hint(err, "a stream takes no room here");
        return -EINVAL;
    }
    return resolve_folder(arguments, to_stdout, err);
}

static bool wants_snapshots(const struct weir_record_arguments *arguments)
{
    return arguments->snapshot_on.count > 0 || arguments->options.snapshot_on.crash;
}

/* What is kept in memory, and what wants something of it. */
static int resolve_memory(const struct weir_record_arguments *arguments, struct weir_error *err)
{
    bool has_memory = arguments->options.retained_bytes || arguments->options.retained_span_ns;
    if (has_memory && arguments->options.overwrite) {
        weir_error_set(err, -EINVAL, "option '--overwrite' cannot be used with '--memory'");
        weir_error_hint(err, "--overwrite keeps samples in the kernel's rings (-m), -M in weir's memory");
        return -EINVAL;
    }
    bool has_newest = has_memory || arguments->options.overwrite || arguments->options.aux.snapshot;
    if (wants_snapshots(arguments) && !has_newest && !arguments->options.ftrace_snapshot) {
        weir_error_set(err, -EINVAL,
                       "option '--snapshot-on' needs -M, --overwrite or -S: nothing else is kept in memory");
        weir_error_hint(err, "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute");
        return -EINVAL;
    }
    if (arguments->options.snapshot_on_exit && !has_newest && !arguments->options.ftrace_snapshot) {
        weir_error_set(err, -EINVAL, "option '--snapshot-on-exit' needs -M or -S: nothing else is kept in memory");
        weir_error_hint(err, "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute");
        return -EINVAL;
    }
    if (arguments->snapshot_keep > 0 && !has_newest) {
        weir_error_set(err, -EINVAL, "option '--snapshot-keep' needs -M, --overwrite or -S: there are no snapshots");
        weir_error_hint(err, "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute");
        return -EINVAL;
    }
    if (arguments->snapshot_keep > 0 && arguments->options.switching.max_files > 0) {
        weir_error_set(err, -EINVAL, "option '--snapshot-keep' cannot be used with '--switch-max-files'");
        weir_error_hint(err, "both say how many files stay; with --snapshot-keep each file ends with a snapshot");
        return -EINVAL;
    }
    return 0;
}

/* What follows from options without being typed. */
static void resolve_implied(struct weir_record_arguments *arguments)
{
    struct weir_record_options *options = &arguments->options;
    options->switching.each_snapshot = arguments->snapshot_keep > 0;
    options->switching.enabled |= arguments->switch_on.count > 0 || options->switching.each_snapshot;
    options->switching.timestamp |= options->switching.enabled;
}

int weir_record_options_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                const struct weir_notice_sink *notices, struct weir_error *err)
{
    if (arguments->options.freq_hz != 0 && arguments->options.period != 0) {
        weir_error_set(err, -EINVAL, "cannot set frequency and period at the same time");
        weir_error_hint(err, "choose -F (so many samples per second) or -c (every Nth occurrence)");
        return -EINVAL;
    }
    if (arguments->options.all_kernel && arguments->options.all_user) {
        weir_error_set(err, -EINVAL, "option '--all-user' cannot be used with '--all-kernel'");
        weir_error_hint(err, "without either, both sides are recorded");
        return -EINVAL;
    }
    resolve_implied(arguments);
    int result = weir_aux_arguments_check(arguments, err);
    if (result == 0)
        result = resolve_memory(arguments, err);
    if (result == 0)
        result = resolve_output(arguments, err);
    if (result < 0)
        return result;
    if (arguments->snapshot_keep > 0) /* --switch-max-files was not given */
        arguments->options.switching.max_files = (unsigned)arguments->snapshot_keep;
    if (!arguments->timestamp)
        weir_notice(notices, WEIR_NOTICE_WARNING, "samples keep their times: the file is put in order by them");
    result = weir_ring_sizes_resolve(&arguments->ring_sizes, page_bytes, notices, &arguments->options, err);
    if (result < 0)
        return result;
    return weir_target_options_resolve(arguments, notices, err);
}

int weir_record_options_resolve_terms(struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                      struct weir_error *err)
{
    int overwrites = weir_event_list_overwrites(events, arguments->options.overwrite, NULL);
    if (overwrites < 0) /* which the engine refuses, and says of which event */
        return 0;
    arguments->options.overwrite = overwrites;
    return resolve_memory(arguments, err);
}
