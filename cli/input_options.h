/* The option that all commands that read a recording share: its file. Pure but for the parser's lists; any thread. */
#ifndef WEIR_CLI_INPUT_OPTIONS_H
#define WEIR_CLI_INPUT_OPTIONS_H

#include "base/error.h"
#include "cli/option.h"

#define WEIR_INPUT_DEFAULT "perf.data"

#define WEIR_INPUT_HELP "read FILE; - is standard input" /* of those that read streams, too */

/* Of --json. */
#define WEIR_INPUT_JSON_DETAILS                                                                                       \
    "Numbers have up to 64 bits: programs that keep them as doubles, as jq does, round whole ones beyond 2^53, such " \
    "as times of -k realtime."

/* The row of -i for a `const char *` at field. */
#define WEIR_INPUT_ROW(offset, words)                                                                             \
    {                                                                                                             \
        .short_name = 'i', .long_name = "input", .argument = "FILE", .kind = WEIR_OPTION_TEXT, .field = (offset), \
        .default_text = WEIR_INPUT_DEFAULT, .section = "Input", .help = (words),                                  \
        .details = "Same as the file as an argument.",                                                            \
    }

/*
 * Parses argv: options of table, and at most one other word, the recording. *path is the field of arguments that -i
 * sets; afterwards it names the recording: that word, the argument of -i, or perf.data. Results as
 * weir_options_parse(); -EINVAL with err also for more than one word, or a word as well as -i.
 */
int weir_input_options_parse(const struct weir_option_table *table, void *arguments, const char **path,
                             char *const *argv, struct weir_error *err);

#endif
