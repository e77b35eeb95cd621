/* Finds the name that is nearest to a mistyped one. */
#ifndef WEIR_BASE_SUGGEST_H
#define WEIR_BASE_SUGGEST_H

#include <stddef.h>

struct weir_suggest {
    const char *word;   /* borrowed: what was typed */
    char best[128];     /* the nearest candidate so far; "": none is near enough */
    unsigned best_cost; /* edit distance of best */
};

/* Starts a search for names near word (borrowed until the last offer). */
void weir_suggest_init(struct weir_suggest *suggest, const char *word);

/* Offers one candidate. Keeps the candidate if it is nearer than all earlier ones and near enough: two edits away at
 * most, or a third of the word's length. */
void weir_suggest_offer(struct weir_suggest *suggest, const char *candidate);

/* Returns the nearest name, borrowed from suggest, or NULL. */
const char *weir_suggest_best(const struct weir_suggest *suggest);

#endif
