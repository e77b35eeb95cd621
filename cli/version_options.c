/* The options of `weir version`. Constant data. */
#include "cli/version_options.h"

#include "base/bits.h"
#include "cli/exit_status.h"

#define FIELD(name) WEIR_OPTION_FIELD(struct weir_version_arguments, name, bool)
#define OUTPUT      "Output"

static const struct weir_option options[] = {
    {
        .long_name = "build-options",
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(build_options),
        .section = OUTPUT,
        .help = "show also the optional parts, built in or not",
    },
    {
        .short_name = 'j',
        .long_name = "json",
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(json),
        .section = OUTPUT,
        .help = "print one JSON object, with the optional parts",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...]", NULL};

static const char *const description[] = {
    "Prints the version, and the commit that the program was built from if the build knew it.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir version --build-options", "Whether this weir was built with BPF programs, a sandbox, a screen for top."},
    {NULL, NULL},
};

const struct weir_command weir_version_command = {
    .name = "version",
    .summary = "show the version, the commit and the optional parts of this program",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings,
    .examples = examples,
    .options = {.command = "weir version", WEIR_OPTION_ONE_PART(options)},
};
