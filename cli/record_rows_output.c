/* Rows of `weir record`: the output, and what is said about it. Main thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define SECTION "Output"

static int apply_output(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (text[0] == '\0')
        return weir_error_set(err, -EINVAL, "option '--output': the argument is empty");
    arguments->options.output_path = text;
    arguments->options.output_kind =
        strcmp(text, WEIR_RECORD_OUTPUT_STDOUT) == 0 ? WEIR_RECORD_OUTPUT_STREAM : WEIR_RECORD_OUTPUT_FILE;
    arguments->output_given = true;
    return 0;
}

/* Without a number, or with 0, the default; both as perf has it. */
static int apply_compression(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    uint64_t level = 0;
    if (text && (weir_value_parse_number(text, &level) < 0 || level > WEIR_RECORD_COMPRESSION_MAX)) {
        weir_error_set(err, -EINVAL, "option '--compression-level': '%s' is no level of compression", text);
        weir_error_hint(err, "1 (fastest) to %d (smallest file)", WEIR_RECORD_COMPRESSION_MAX);
        return -EINVAL;
    }
    arguments->options.compression_level = level > 0 ? (int)level : WEIR_RECORD_COMPRESSION_DEFAULT;
    return 0;
}

static void clear_compression(void *object)
{
    ((struct weir_record_arguments *)object)->options.compression_level = 0;
}

/* The option is the negative: perf fills the cache unless it is given. */
static int leave_cache(void *object, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    ((struct weir_record_arguments *)object)->options.fill_build_id_cache = false;
    return 0;
}

static void fill_cache(void *object)
{
    ((struct weir_record_arguments *)object)->options.fill_build_id_cache = true;
}

static const struct weir_option options[] = {
    {
        .short_name = 'o',
        .long_name = "output",
        .argument = "FILE",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_output,
        .default_text = WEIR_RECORD_OUTPUT_DEFAULT,
        .section = SECTION,
        .help = "write the recording to FILE; a file of that name becomes FILE.old. -: to standard output",
        .details =
            "To standard output goes a stream for a reader such as perf report -i - or weir dump -i -. So it does "
            "without -o when standard output is a pipe, as with perf record, unless another option asks for files. The "
            "command's own output then goes to standard error. When the reader ends, the recording ends, and the "
            "command runs on.",
    },
    {
        .long_name = "kcore",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.kcore, bool),
        .section = SECTION,
        .help = "copy the kernel's code from /proc/kcore into a directory with the recording",
        .details =
            "FILE becomes a directory with data, which is the recording, and kcore_dir, in which perf annotate finds "
            "the kernel as it ran, with all that it had patched in its own code; later changes are recorded as they "
            "happen (TEXT_POKE, Linux 5.8). Takes root, and as much room as the kernel has code.",
    },
    {
        .short_name = 'A',
        .long_name = "append",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.append, bool),
        .section = SECTION,
        .help = "continue the recording that is in the output file, if it has the same events",
        .details =
            "What is recorded is added when recording has ended: until then, and whatever goes wrong, the file is "
            "as it was. A file that is missing or empty is made. The recording has to be of the same boot, "
            "finished, and not compressed.",
    },
    {
        .short_name = 'f',
        .long_name = "force",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(force, bool),
        .section = SECTION,
        .help = "as perf record of old: an existing file becomes FILE.old anyway; not with -A",
    },
    {
        .long_name = "sync",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.sync, bool),
        .section = SECTION,
        .help = "once a second, make what is in the file outlive the machine, too",
        .details =
            "A file opens up to its last checkpoint when weir is killed; with this it also does after a power cut, for "
            "two flushes of the disk a second. Without it the kernel writes when it likes, until the file is synced at "
            "the end. Nothing waits for the disk, but the disk has more to do at once. What perf needs a feature for "
            "(tracepoints, -z) takes weir recover first, as ever. With -A what is there and what is added "
            "stand in FILE.appending until recording ends. No option of perf record.",
    },
    {
        .short_name = 'B',
        .long_name = "no-buildid",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.no_build_ids, bool),
        .section = SECTION,
        .help = "leave the build ids of what was mapped out of the recording",
        .details = "They are read while recording, by a thread of low priority, and cost no time at the end.",
    },
    {
        .long_name = "buildid-mmap",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.build_ids_in_maps, bool),
        .section = SECTION,
        .help = "let the kernel write build ids into the records of mappings (Linux 5.12)",
        .details = "weir then need not open the mapped files. Their table is written all the same, unless -B is given: "
                   "some readers know no other place.",
    },
    {
        .long_name = "buildid-all",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(buildid_all, bool),
        .section = SECTION,
        .help = "as perf record; weir records the build ids of all executable mappings anyway",
    },
    {
        .short_name = 'N',
        .long_name = "no-buildid-cache",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = leave_cache,
        .clear = fill_cache,
        .default_text = "on",
        .section = SECTION,
        .help = "copy nothing into perf's cache of files by build id",
        .details =
            "With --buildid-cache what was mapped is copied there when recording has ended, so that the recording "
            "can be read when these files have been replaced. perf record copies unless told not to.",
    },
    {
        .long_name = "buildid-dir",
        .argument = "DIR",
        .kind = WEIR_OPTION_TEXT,
        .field = FIELD(options.build_id_dir, const char *),
        .default_text = "~/.debug",
        .section = SECTION,
        .help = "the cache that --buildid-cache copies into",
    },
    {
        .short_name = 'z',
        .long_name = "compression-level",
        .argument = "LEVEL",
        .argument_optional = true,
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_compression,
        .clear = clear_compression,
        .default_text = "none; 1 for -z alone",
        .section = SECTION,
        .help = "compress the recording with zstd, from level 1 (fastest) to 22 (smallest file)",
        .details = "By threads of their own, one for each eight CPUs. When they are behind and the memory of "
                   "--buffer-size is nearly used up, records are written as they are, and nothing is lost.",
    },
    {
        .long_name = "max-size",
        .argument = "SIZE",
        .kind = WEIR_OPTION_SIZE,
        .field = FIELD(options.max_bytes, uint64_t),
        .unit = "bytes",
        .min = 1,
        .max = INT64_MAX,
        .default_text = "no limit",
        .section = SECTION,
        .help = "end the recording before its data takes more than SIZE (suffix B, K, M or G)",
        .details =
            "What is in the kernel's rings then is not written; -v counts it. The records with which a recording "
            "begins are written whatever SIZE is, and its header and description come on top. Several files count "
            "together, also those that were removed since.",
    },
    {
        .long_name = "timestamp-boundary",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(timestamp_boundary, bool),
        .section = SECTION,
        .help = "as perf record; weir records the times of the first and the last sample anyway",
    },
    {
        .short_name = 'v',
        .long_name = "verbose",
        .negatable = true,
        .repeatable = true,
        .kind = WEIR_OPTION_COUNTER,
        .field = FIELD(verbosity, unsigned),
        .section = SECTION,
        .help = "show the plan, and at the end the counts and losses of each CPU; -vv: all decisions",
        .details =
            "For events that are all sampled (-c 1), COUNTED, which is the kernel's own count, is the sum of "
            "the columns before it. CUT OFF is what was counted in the very moment in which the event was "
            "disabled, or of sched:sched_waking and sched:sched_wakeup* while the recorded task slept: the kernel "
            "makes no sample of it, and does not call it lost. Clocks and sched:sched_stat_* count nanoseconds, and "
            "outputs of BPF programs nothing.",
    },
    {
        .short_name = 'q',
        .long_name = "quiet",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(quiet, bool),
        .section = SECTION,
        .help = "show nothing but errors; goes before -v",
    },
};

const struct weir_option_rows weir_record_output_rows = WEIR_OPTION_ROWS(options);
