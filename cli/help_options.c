/* The options of `weir help`, and those before any command. Constant data. */
#include "cli/help_options.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/completion.h"
#include "cli/exit_status.h"

static int apply_completion(void *object, const char *text, struct weir_error *err)
{
    struct weir_help_arguments *arguments = object;
    if (!weir_completion_knows(text)) {
        weir_error_set(err, -EINVAL, "option '--completion': unknown shell '%s'", text);
        weir_error_hint(err, "completions exist for bash, zsh and fish");
        return -EINVAL;
    }
    arguments->completion = text;
    return 0;
}

static const struct weir_option help_options[] = {
    {
        .long_name = "man",
        .kind = WEIR_OPTION_FLAG,
        .field = WEIR_OPTION_FIELD(struct weir_help_arguments, man, bool),
        .section = "Other options",
        .help = "print the man page, in roff",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "completion", "bash|zsh|fish", apply_completion),
        .section = "Other options",
        .help = "print a script with which this shell completes weir's commands and options",
        .details = "Installed with weir. Without installing: source <(weir help --completion bash), in a start-up file "
                   "of the shell.",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[--man] [COMMAND]", "--completion SHELL", NULL};

static const char *const description[] = {
    "Without COMMAND, lists the commands; with COMMAND, shows the text of COMMAND --help.",
    "Man pages, completions and help come from the same tables.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir help record", "All options of weir record."},
    {"weir record -h snapshot", "Only those whose name or sentence has that word."},
    {"weir help --man record | man -l -", "The man page, where none is installed."},
    {"source <(weir help --completion bash)", "The shell completes weir's commands from now on."},
    {NULL, NULL},
};

const struct weir_command weir_help_command = {
    .name = "help",
    .summary = "describe a command, print its man page, or make a shell complete it",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings,
    .examples = examples,
    .options = {.command = "weir help", WEIR_OPTION_ONE_PART(help_options)},
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
    {
        .short_name = 'V',
        .kind = WEIR_OPTION_FLAG,
        .field = WEIR_OPTION_FIELD(struct weir_top_arguments, version, bool),
        .section = "Other options",
        .help = "print the version",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "buildid-dir", "DIR", WEIR_OPTION_TEXT,
                             WEIR_OPTION_FIELD(struct weir_top_arguments, buildid_dir, const char *)),
        .section = "Other options",
        .help = "the build-id cache of weir record, as in perf --buildid-dir DIR record",
    },
    WEIR_OPTION_HELP_ROW,
};

const struct weir_option_table weir_top_options = {
    .command = "weir",
    WEIR_OPTION_ONE_PART(top_options),
};
