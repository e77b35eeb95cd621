/* Rows of `weir record`: the output, and messages about it. Main thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

static int apply_output(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0')
        return weir_error_set(err, -EINVAL, "option '--output': the argument is empty");
    arguments->options.output.path = text;
    arguments->options.output.kind =
        strcmp(text, WEIR_RECORD_OUTPUT_STDOUT) == 0 ? WEIR_RECORD_OUTPUT_STREAM : WEIR_RECORD_OUTPUT_FILE;
    arguments->output_given = true;
    return 0;
}

static int apply_status(void *object, const char *text, struct weir_error *err)
{
    return weir_status_choice_parse(&((struct weir_record_arguments *)object)->status, text, err);
}

static int apply_metrics(void *object, const char *text, struct weir_error *err)
{
    struct weir_error below = {0};
    int result = weir_metrics_spec_parse(&((struct weir_record_arguments *)object)->options.metrics, text, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--metrics': %s", below.what);
        weir_error_hint(err, "%s", below.hint);
    }
    return result;
}

/* Without a number, or with 0, the default; both as perf has it. */
static int apply_compression(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    uint64_t level = 0;
    if (text && (weir_value_parse_number(text, &level) < 0 || level > WEIR_RECORD_COMPRESSION_MAX)) {
        weir_error_set(err, -EINVAL, "option '--compression-level': '%s' is not a compression level", text);
        weir_error_hint(err, "1 (fastest) to %d (smallest file)", WEIR_RECORD_COMPRESSION_MAX);
        return -EINVAL;
    }
    arguments->options.output.compression_level = level > 0 ? (int)level : WEIR_RECORD_COMPRESSION_DEFAULT;
    return 0;
}

static void clear_compression(void *object)
{
    ((struct weir_record_arguments *)object)->options.output.compression_level = 0;
}

/* The option is the negative: perf fills the cache unless it is given. */
static int leave_cache(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    (void)text, (void)err;
    arguments->options.build_ids.fill_cache = false;
    arguments->leaves_cache = true;
    return 0;
}

static void fill_cache(void *object)
{
    struct weir_record_arguments *arguments = object;
    arguments->options.build_ids.fill_cache = true;
    arguments->leaves_cache = false;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_CUSTOM_OF('o', "output", "FILE", apply_output),
        .default_text = WEIR_RECORD_OUTPUT_DEFAULT,
        .help = "write the recording to FILE; a file of that name becomes FILE.old. -: to standard output",
        .details = "Standard output gets a stream for a consumer such as perf report -i - or weir dump -i -; also "
                   "without -o when standard output is a pipe, as with perf record, unless another option asks for "
                   "files. The command's own output then goes to standard error. When the consumer ends, the "
                   "recording ends, and the command runs on.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "kcore", FIELD(options.output.kcore, bool)),
        .help = "copy the kernel's code from /proc/kcore into a directory with the recording",
        .details = "FILE becomes a directory with data, which is the recording, and kcore_dir, in which perf annotate "
                   "finds the running kernel with its patched code; later changes are recorded as they happen "
                   "(TEXT_POKE, Linux 5.8). Needs root, and disk space for the kernel's code.",
    },
    {
        WEIR_OPTION_FLAG_OF('A', "append", FIELD(options.output.append, bool)),
        .help = "continue the recording in the output file, if it has the same events",
        .details = "The new records are added when recording has ended: until then, and after any failure, the file "
                   "is unchanged. A missing or empty file is made anew. The old recording has to be of the same boot, "
                   "finished, and not compressed.",
    },
    {
        WEIR_OPTION_FLAG_OF('f', "force", FIELD(force, bool)),
        .help = "for command lines of perf record: an existing file becomes FILE.old anyway; not with -A",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "sync", FIELD(options.output.sync, bool)),
        .help = "once a second, sync the file, so that it outlives the machine, too",
        .details = "After a kill a file opens up to its last checkpoint; with this option also after a power cut, at "
                   "the cost of two flushes of the disk a second. Without it the kernel writes at its own pace until "
                   "the file is synced at the end. No thread of weir waits for the flushes. Recordings for which perf "
                   "needs a feature (tracepoints, -z) need weir recover first. With -A the old and the new records "
                   "stand in FILE.appending until recording ends. No option of perf record.",
    },
    {
        WEIR_OPTION_FLAG_OF('B', "no-buildid", FIELD(options.build_ids.left_out, bool)),
        .help = "leave the build ids of mapped files out of the recording",
        .details = "A thread of low priority reads build ids while recording; they cost no time at the end.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "buildid-mmap", FIELD(options.build_ids.in_maps, bool)),
        .help = "let the kernel write build ids into the records of mappings (Linux 5.12)",
        .details = "weir then need not open the mapped files. The table of build ids is written all the same, unless "
                   "-B is given: some consumers know no other place. Up to Linux 6.18 at least, perf record beside it "
                   "may crash.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "buildid-all", FIELD(anyway, bool)),
        .help = "as perf record; weir records the build ids of all executable mappings anyway",
    },
    {
        WEIR_OPTION_CUSTOM_OF('N', "no-buildid-cache", NULL, leave_cache),
        .negatable = true,
        .clear = fill_cache,
        .default_text = "on",
        .help = "copy nothing into perf's cache of files by build id",
        .details = "With --buildid-cache weir copies mapped files there when recording has ended, so that the "
                   "recording can be read after the files were replaced. perf record copies unless told not to.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "buildid-dir", "DIR", WEIR_OPTION_TEXT,
                             FIELD(options.build_ids.cache_dir, const char *)),
        .default_text = "~/.debug",
        .help = "fill this cache, as --buildid-cache does",
        .details = "weir follows no link there, and refuses a directory of another user. perf --buildid-dir DIR report "
                   "and perf --buildid-dir DIR archive read it. Also: weir --buildid-dir DIR record.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('z', "compression-level", "LEVEL", apply_compression),
        .argument_optional = true,
        .negatable = true,
        .clear = clear_compression,
        .default_text = "none; 1 for -z alone",
        .help = "compress the recording with zstd, from level 1 (fastest) to 22 (smallest file)",
        .details = "Threads of their own compress, one for each eight CPUs. When they are behind and the memory of "
                   "--buffer-size is nearly used up, records are written uncompressed, and none is lost.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "max-size", "SIZE", WEIR_OPTION_SIZE, FIELD(options.output.max_bytes, uint64_t)),
        .unit = "bytes",
        .min = 1,
        .max = INT64_MAX,
        .default_text = "no limit",
        .help = "end the recording before its data takes more than SIZE (suffix B, K, M or G)",
        .details = "Records in the kernel's rings at that moment are not written; -v counts them. The records with "
                   "which a recording begins are written for any SIZE, and header and features come on top. Several "
                   "files count together, removed ones included.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "report", "FILE", WEIR_OPTION_TEXT, FIELD(report_path, const char *)),
        .help = "write the outcome to FILE as JSON: samples and losses by CPU, event and cause, with hints",
        .details = "FILE appears in one step when recording has ended, also when it has failed; a report of an earlier "
                   "recording is replaced. The recording keeps the same ledger: weir info --json shows it. No option "
                   "of perf record.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "timestamp-boundary", FIELD(anyway, bool)),
        .help = "as perf record; weir records the times of the first and the last sample anyway",
    },
    {
        WEIR_OPTION_VALUE_OF('v', "verbose", NULL, WEIR_OPTION_COUNTER, FIELD(verbosity, unsigned)),
        .negatable = true,
        .repeatable = true,
        .help = "show the plan, and at the end the counts and losses of each CPU",
        .details = "With -c 1, COUNTED, the kernel's own count, is the sum of the columns before it. LEFT OUT has the "
                   "samples behind --max-size. CUT OFF has the occurrences in the moment in which the event was "
                   "disabled, and those of sched:sched_waking and sched:sched_wakeup* while the recorded task slept: "
                   "the kernel makes no sample of them, and does not call them lost. Clocks and sched:sched_stat_* "
                   "count nanoseconds, and outputs of BPF programs nothing.",
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .help = "show errors only; overrides -v",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "status", "never|auto|always|json[:FD]", apply_status),
        .default_text = "auto",
        .help = "show the state of the recording while it runs; auto: a line on a terminal, unless -q",
        .details = "The line has time, samples and megabytes a second, megabytes so far, the fullest ring, the memory "
                   "in use between readers and writer, losses so far, and files if there are several. It stands below "
                   "the cursor, only while weir is in the terminal's foreground, and not before others have left the "
                   "terminal alone for two seconds. A command that then writes three lines at once may keep a part of "
                   "the line behind the third. An end that takes longer than 0.3 s shows its steps. always: where "
                   "no line can be drawn (standard error is a file, TERM is dumb), a new line each second. json: a "
                   "line a second with the answer to the control command status, to standard error or descriptor FD.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "metrics", "FILE.prom[,per-cpu]", apply_metrics),
        .help = "write metrics of the recording to FILE.prom, now, every 10 s and at the end",
        .details =
            "The text is OpenMetrics, for the textfile collector of node_exporter: samples produced, written "
            "and lost by cause, bytes, rotations, latency of the disk, fullness of the rings. Each metric has "
            "the label recording, which is the name of FILE, and by default a value for each NUMA node. per-cpu: "
            "a value for each CPU. docs/metrics.md lists all metrics. A new file replaces the old one as a "
            "whole. If it cannot be written, weir warns once, and records on.",
    },
};

const struct weir_option_rows weir_record_output_rows = WEIR_OPTION_ROWS_OF("Output", options);
