/* The options of `weir info` and `weir verify`: those of format/info.h and format/verify.h. Main thread. */
#include "cli/inspect_options.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"
#include "cli/surroundings.h"

#define OTHER "Other options"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_inspect_arguments, name, type)

static const char *const usages[] = {"[OPTION...] [FILE]", NULL};

/* ---- weir info ---- */

static int apply_timeline(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_inspect_arguments *inspect = arguments;
    if (text && strcmp(text, "json") != 0)
        return weir_error_set(err, -EINVAL, "--timeline: expected json or nothing, not '%s'", text);
    inspect->timeline = true;
    inspect->json |= text != NULL;
    return 0;
}

#define JSON_ROW                                                                                                     \
    {                                                                                                                \
        .short_name = 'j', .long_name = "json", .negatable = true, .kind = WEIR_OPTION_FLAG,                         \
        .field = FIELD(json, bool), .section = OTHER, .help = "one JSON object", .details = WEIR_INPUT_JSON_DETAILS, \
    }

static const struct weir_option info_options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        WEIR_OPTION_CUSTOM_OF(0, "timeline", "json", apply_timeline),
        .argument_optional = true,
        .section = OTHER,
        .help = "show instead, for each second: bytes, samples, losses, fullest ring, waits and the output",
        .details = "weir record writes the timeline once a second. An interval is longer where the recording has "
                   "little data, or where no memory was free. Columns: time from the first interval, its length, bytes "
                   "drained from rings, samples, samples lost in full rings (of these, while weir waited for the "
                   "output), shed samples, lost side records, the fullest ring, waits for memory, bytes written, "
                   "mean and longest time from reader to file, and the part of the pool in use. With json: a "
                   "list, with each reader apart.",
    },
    JSON_ROW,
    WEIR_OPTION_HELP_ROW,
};

static const char *const info_description[] = {
    "Shows header, features, events with their samples and losses, records per type and per CPU, and "
    "the span of time of a recording. Reads the whole file once.",
    NULL,
};

static const struct weir_example info_examples[] = {
    {"weir info", "The content of perf.data."},
    {"weir info --json perf.data | jq .samples", "The number of samples, for a script."},
    {"weir info --timeline", "When samples were lost, and what readers and output did then."},
    {NULL, NULL},
};

const struct weir_command weir_info_command = {
    .name = "info",
    .summary = "show the header, the features and the counts of a recording",
    .usages = usages,
    .description = info_description,
    .exits = weir_exit_meanings_of_reading,
    .examples = info_examples,
    .files = weir_files_of_reading,
    .options = {.command = "weir info", WEIR_OPTION_ONE_PART(info_options)},
};

/* ---- weir verify ---- */

static const struct weir_option verify_options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    JSON_ROW,
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "print nothing; only the exit status tells",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const verify_description[] = {
    "Checks whether a recording keeps the rules on which consumers rely, one line each: ok or FAIL, "
    "with the finding and its place.",
    "boundaries: records follow each other without a gap up to the end of the data. finished: the "
    "header has the end of the data. features: each is inside the file, in bytes of its own, and "
    "readable to its end; tracepoints are described. types: every record has a type that perf knows, "
    "or perf refuses the file. shapes: every field is inside its record. ids: every sample is of an "
    "event in the header. raw: samples of tracepoints have the id of their event. order: the records "
    "of an event and CPU stand in the order of their making. events: EVENT_DESC and the head agree on "
    "the events. rounds: no record comes later than the FINISHED_ROUND records before it allow. "
    "balance: LOST records report no more losses than the kernel counted.",
    "For a recording with AUX areas: areas: each area's stretches follow one another, and are of one "
    "CPU or task. index: the feature AUXTRACE, by which perf's decoders go, lists the AUXTRACE records "
    "of the file.",
    "Lines that begin with note report gaps: throttled events, CPUs without a record, CPUs that were "
    "offline for a while, with times; and bytes of AUX areas that are not in the file.",
    NULL,
};

static const struct weir_example verify_examples[] = {
    {"weir verify perf.data", "Checks the file."},
    {"weir verify -q perf.data || weir recover --in-place perf.data", "Repairs the file if necessary."},
    {NULL, NULL},
};

static const struct weir_exit_meaning verify_exits[] = {
    {"0", "All rules are kept."},
    {"1", "A rule is not kept, or the file is no recording."},
    {"125", "weir itself failed, or there is no file that it may read; a line on standard error says why."},
    {"129", "An option or an argument is wrong; nothing was touched."},
    {NULL, NULL},
};

const struct weir_command weir_verify_command = {
    .name = "verify",
    .summary = "check whether a recording keeps the rules on which consumers rely",
    .usages = usages,
    .description = verify_description,
    .exits = verify_exits,
    .examples = verify_examples,
    .files = weir_files_of_reading,
    .options = {.command = "weir verify", WEIR_OPTION_ONE_PART(verify_options)},
};

int weir_inspect_arguments_parse(const struct weir_command *command, struct weir_inspect_arguments *arguments,
                                 char *const *argv, struct weir_error *err)
{
    *arguments = (struct weir_inspect_arguments){0};
    return weir_input_options_parse(&command->options, arguments, &arguments->input_path, argv, err);
}
