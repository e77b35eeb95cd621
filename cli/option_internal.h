/* The shared parts of the parser (option.c) and of the search for rows (option_find.c). */
#ifndef WEIR_CLI_OPTION_INTERNAL_H
#define WEIR_CLI_OPTION_INTERNAL_H

#include "cli/option.h"

/* An option as found in argv. */
struct weir_option_match {
    const struct weir_option *option;
    bool negated;
    const char *value;                  /* attached or following text; NULL: none */
    char typed[WEIR_OPTION_TEXT_BYTES]; /* "-F", "--freq" */
};

/* Fills option, negated and typed of match for the `length` bytes of name; false with err. A whole name, also of an
 * option that only perf has, is preferred to names that begin with it. */
bool weir_option_match_long(const struct weir_option_table *table, const char *name, size_t length,
                            struct weir_option_match *match, struct weir_error *err);

/* Returns -EINVAL with err: no row has this letter of a bundle (behind the dash). */
int weir_option_fail_short(const struct weir_option_table *table, const char *bundle, char letter,
                           struct weir_error *err);

/* Sets the fallback hint, which names --help. */
void weir_option_hint_help(const struct weir_option_table *table, struct weir_error *err);

#endif
