/* Rows of `weir record`: those that do something else than record. Main thread. */
#include "cli/record_rows_internal.h"

#define SECTION "Other options"

static const struct weir_option options[] = {
    {
        .long_name = "dry-run",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.dry_run, bool),
        .section = SECTION,
        .help = "check all options without recording, and exit; with -v show the plan",
    },
    {
        .long_name = "print-config",
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(print_config, bool),
        .section = SECTION,
        .help = "print the settings in force, as a configuration file with the origin of each line, and exit",
        .details = "A line KEY = VALUE below [record], in the form of perf-config(1), stands for the option --KEY: in "
                   "SYSCONFDIR/weir/config, then in $XDG_CONFIG_HOME/weir/config or ~/.config/weir/config, or only in "
                   "the file that $WEIR_CONFIG names. The command line overrides these files. call-graph is the "
                   "meaning of -g; build-id is one of cache, no-cache, skip and mmap. These two keys are taken from "
                   "perf's files, too.",
    },
    WEIR_OPTION_HELP_ROW,
};

const struct weir_option_rows weir_record_other_rows = WEIR_OPTION_ROWS(options);
