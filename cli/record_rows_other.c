/* Rows of `weir record`: those that do something else than record. Main thread. */
#include <errno.h>
#include <string.h>

#include "cli/record_rows_internal.h"

static int apply_setup_filter(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    arguments->setup_filter = strcmp(text, "pin") == 0     ? WEIR_SETUP_FILTER_PIN
                              : strcmp(text, "unpin") == 0 ? WEIR_SETUP_FILTER_UNPIN
                                                           : WEIR_SETUP_FILTER_NONE;
    if (arguments->setup_filter != WEIR_SETUP_FILTER_NONE)
        return 0;
    weir_error_set(err, -EINVAL, "option '--setup-filter': '%s' is not pin or unpin", text);
    weir_error_hint(err, "--setup-filter pin lets all users filter samples, --setup-filter unpin ends that");
    return -EINVAL;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_FLAG_OF(0, "dry-run", FIELD(options.dry_run, bool)),
        .help = "check all options without recording, and exit; with -v show the plan",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "setup-filter", "pin|unpin", apply_setup_filter),
        .help = "let users without rights filter samples (--filter), or end that, and exit",
        .details = "For root. pin puts the BPF program of sample filters into the BPF file system, at "
                   "/sys/fs/bpf/weir_sample_filter, where it stays until unpin or a restart, and makes the way there "
                   "open to all users. They share its tables: one can disturb filters of another, and nothing else. "
                   "Recordings that run keep their filters. perf's program is another one, at another place.",
    },
    {
        .long_name = "print-config",
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(print_config, bool),
        .help = "print the settings in force, as a configuration file with the origin of each line, and exit",
        .details = "A line KEY = VALUE below [record], in the form of perf-config(1), stands for the option --KEY: in "
                   "SYSCONFDIR/weir/config, then in $XDG_CONFIG_HOME/weir/config or ~/.config/weir/config, or only in "
                   "the file that $WEIR_CONFIG names. The command line overrides these files. call-graph is the "
                   "meaning of -g; build-id is one of cache, no-cache, skip and mmap. These two keys are taken from "
                   "perf's files, too.",
    },
    WEIR_OPTION_HELP_ROW,
};

const struct weir_option_rows weir_record_other_rows = WEIR_OPTION_ROWS_OF("Other options", options);
