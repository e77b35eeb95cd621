/* What the commands that read a recording have in common: which one. Pure; any thread. */
#ifndef WEIR_CLI_INPUT_OPTIONS_H
#define WEIR_CLI_INPUT_OPTIONS_H

#include "base/error.h"
#include "cli/option.h"

#define WEIR_INPUT_DEFAULT "perf.data"

/* The row of -i for a `const char *` at field. */
#define WEIR_INPUT_ROW(offset)                                                                                    \
    {                                                                                                             \
        .short_name = 'i', .long_name = "input", .argument = "FILE", .kind = WEIR_OPTION_TEXT, .field = (offset), \
        .default_text = WEIR_INPUT_DEFAULT, .section = "Input", .help = "read FILE; - is standard input",         \
        .details = "The same as naming the file as an argument.",                                                 \
    }

/*
 * What to read: the one word that may stand behind the options, else what -i has set, else perf.data. 0 and *path
 * (borrowed), or -EINVAL with err: more than one word, or a word as well as -i. given: what -i has set, or NULL.
 */
int weir_input_path_resolve(const char **path, const char *given, char *const *words, const char *command,
                            struct weir_error *err);

#endif
