/* The options of `weir info` and `weir verify`: those of format/info.h and format/verify.h. Main thread. */
#include "cli/inspect_options.h"

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"

#define OTHER "Other options"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_inspect_arguments, name, type)

static const char *const usages[] = {"[OPTION...] [FILE]", NULL};

/* ---- weir info ---- */

static const struct weir_option info_options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        .long_name = "json",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(json, bool),
        .section = OTHER,
        .help = "one JSON object",
        .details = WEIR_INPUT_JSON_DETAILS,
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const info_description[] = {
    "Shows what a recording says of itself and how much of what is in it: header, features, events with their samples "
    "and losses, records per type and per CPU, the span of time. Reads all of it once.",
    NULL,
};

static const struct weir_example info_examples[] = {
    {"weir info", "What is in perf.data."},
    {"weir info --json perf.data | jq .samples", "The number of samples, for a script."},
    {NULL, NULL},
};

const struct weir_command weir_info_command = {
    .name = "info",
    .summary = "show the header, the features and the counts of a recording",
    .usages = usages,
    .description = info_description,
    .exits = weir_exit_meanings_of_reading,
    .examples = info_examples,
    .options = {.command = "weir info", WEIR_OPTION_ONE_PART(info_options)},
};

/* ---- weir verify ---- */

static const struct weir_option verify_options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        .short_name = 'q',
        .long_name = "quiet",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(quiet, bool),
        .section = OTHER,
        .help = "nothing but the exit status",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const verify_description[] = {
    "Checks whether a recording keeps the rules that its readers rely on, one line each: ok or FAIL, and what was "
    "found where.",
    "boundaries: records follow each other without a gap up to the end of the data. finished: the header says where "
    "that is. features: each is inside the file, in bytes of its own, and can be read to its end; tracepoints are "
    "described. types: perf refuses a file with a record that it does not know. shapes: every field is inside its "
    "record. ids: every sample is of an event in the header. raw: samples of tracepoints say the id of their event. "
    "order: the records of an event and CPU come as they were made. events: EVENT_DESC says the same of the events as "
    "the head. rounds: no record comes later than the FINISHED_ROUND records before it allow. balance: what LOST "
    "records tell is not more than what the kernel counted.",
    "Of a recording with AUX areas: areas: each area's stretches follow one another, and are of one CPU or task. "
    "index: AUXTRACE lists the AUXTRACE records of the file, which perf's decoders go by.",
    "Lines that begin with note tell of gaps: events that were throttled, CPUs without a record or that were offline "
    "for a while, and when; and bytes of AUX areas that are not in the file.",
    NULL,
};

static const struct weir_example verify_examples[] = {
    {"weir verify perf.data", "Checks the file."},
    {"weir verify -q perf.data || weir recover --in-place perf.data", "Repairs it when it has to be."},
    {NULL, NULL},
};

static const struct weir_exit_meaning verify_exits[] = {
    {"0", "All rules are kept."},
    {"1", "A rule is not kept, or the file is no recording."},
    {"125", "weir itself failed, or there is no file that it may read; a line on standard error says at what."},
    {"129", "An option or an argument is wrong; nothing was touched."},
    {NULL, NULL},
};

const struct weir_command weir_verify_command = {
    .name = "verify",
    .summary = "check whether a recording keeps the rules that its readers rely on",
    .usages = usages,
    .description = verify_description,
    .exits = verify_exits,
    .examples = verify_examples,
    .options = {.command = "weir verify", WEIR_OPTION_ONE_PART(verify_options)},
};

int weir_inspect_arguments_parse(const struct weir_command *command, struct weir_inspect_arguments *arguments,
                                 char *const *argv, struct weir_error *err)
{
    *arguments = (struct weir_inspect_arguments){0};
    return weir_input_options_parse(&command->options, arguments, &arguments->input_path, argv, err);
}
