/*
 * The differences between the events of perf and those of weir that are on purpose. Each has a name here, and a row of
 * that name in docs/compatibility.md, which says why; tests/parity/run holds the two lists against each other
 * (compare --rules prints this one).
 *
 * A rule changes both lists of calls so that what is deliberately different is equal, and only that. What weir promises
 * instead is checked: a call that does not keep it is printed, and the comparison fails. One thread.
 */
#ifndef WEIR_TESTS_PARITY_RULES_H
#define WEIR_TESTS_PARITY_RULES_H

#include <stdbool.h>

#include "tests/parity/call.h"

/*
 * Makes both lists comparable: descriptors and process ids, which differ from run to run, become descriptions; then the
 * rules that always hold are applied, and those of chosen (NULL-terminated names).
 * False, with a line on stdout: a name is unknown, or weir does not keep a promise.
 */
bool rules_apply(struct calls *perf, struct calls *weir, char *const *chosen);

/* Prints the names of the rules, one a line. */
void rules_print(void);

#endif
