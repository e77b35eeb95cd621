/*
 * The words for a row of the option table, shared by error hints, `--help` and the man page, so that all three say the
 * same. Pure; any thread; texts are cut at their size.
 */
#ifndef WEIR_CLI_OPTION_TEXT_H
#define WEIR_CLI_OPTION_TEXT_H

#include <stdbool.h>

#include "cli/option.h"

#define WEIR_OPTION_TEXT_BYTES 256

/* "--freq", or "-g" for an option without a long name. */
void weir_option_format_name(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* How the option is written: "-F, --freq HZ|max", "    --threads[=SPEC]", "-a, --[no-]all-cpus". */
void weir_option_format_usage(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* What the argument may be: "a whole number from 1 to 99". False, and "" : nothing to say beyond the help sentence. */
bool weir_option_format_expectation(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* What help adds in brackets: "1 to 99; default: none; may be repeated". False and "" when there is nothing. */
bool weir_option_format_facts(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* The spellings of a long option: its name, --no-NAME, and NAME for one that is called no-NAME. */
enum weir_option_spelling {
    WEIR_OPTION_SPELLING_NAME,
    WEIR_OPTION_SPELLING_NEGATED,
    WEIR_OPTION_SPELLING_POSITIVE,
    WEIR_OPTION_SPELLING_COUNT
};

/* Writes one spelling without dashes. False: the row does not have it, or has no long name. */
bool weir_option_format_spelling(const struct weir_option *option, enum weir_option_spelling spelling,
                                 char text[WEIR_OPTION_TEXT_BYTES]);

#endif
