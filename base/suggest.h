/* The nearest name to a mistyped one. */
#ifndef WEIR_BASE_SUGGEST_H
#define WEIR_BASE_SUGGEST_H

#include <stddef.h>

struct weir_suggest {
    const char *word;   /* borrowed: what was typed */
    char best[128];     /* nearest candidate so far, empty while none is near enough */
    unsigned best_cost; /* its edit distance */
};

/* Starts a search for names near word (borrowed until the last offer). */
void weir_suggest_init(struct weir_suggest *suggest, const char *word);

/* Offers one candidate; kept when nearer than all before and within a third of the word's length (at least 2 edits). */
void weir_suggest_offer(struct weir_suggest *suggest, const char *candidate);

/* The nearest name, or NULL. Borrowed from suggest. */
const char *weir_suggest_best(const struct weir_suggest *suggest);

#endif
