/* The options of `weir help`, and those before any command. Constant data. */
#include "cli/help_options.h"

#include "base/bits.h"
#include "cli/exit_status.h"

static const struct weir_option help_options[] = {
    {
        .long_name = "man",
        .kind = WEIR_OPTION_FLAG,
        .field = WEIR_OPTION_FIELD(struct weir_help_arguments, man, bool),
        .section = "Other options",
        .help = "print the man page, in roff",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[--man] [COMMAND]", NULL};

static const char *const description[] = {
    "Without COMMAND, lists the commands; with it, shows what COMMAND --help shows.",
    "Man pages and help come from the same tables.",
    NULL,
};

const struct weir_command weir_help_command = {
    .name = "help",
    .summary = "describe a command, or print its man page",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings,
    .options = {.command = "weir help", .options = help_options, .count = WEIR_ARRAY_COUNT(help_options)},
};

static const struct weir_option top_options[] = {
    {
        .short_name = 'v',
        .long_name = "version",
        .kind = WEIR_OPTION_FLAG,
        .field = WEIR_OPTION_FIELD(struct weir_top_arguments, version, bool),
        .section = "Other options",
        .help = "print the version",
    },
    WEIR_OPTION_HELP_ROW,
};

const struct weir_option_table weir_top_options = {
    .command = "weir",
    .options = top_options,
    .count = WEIR_ARRAY_COUNT(top_options),
};
