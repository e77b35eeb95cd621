/*
 * The nearest name to a mistyped one: optimal string alignment distance (Damerau-Levenshtein without overlapping
 * transpositions; Boytsov, "Indexing methods for approximate dictionary searching", 2011, section 2.1).
 */
#include "base/suggest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 127

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;
    return m < c ? m : c;
}

/* a and b are at most WORD_MAX long. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;

    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned substitute = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, substitute);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

void weir_suggest_init(struct weir_suggest *suggest, const char *word)
{
    suggest->word = word;
    suggest->best[0] = '\0';
    size_t length = strlen(word);
    suggest->best_cost = (unsigned)(length / 3 < 2 ? 2 : length / 3) + 1;
}

void weir_suggest_offer(struct weir_suggest *suggest, const char *candidate)
{
    size_t word_length = strlen(suggest->word), length = strlen(candidate);
    if (word_length > WORD_MAX || length > WORD_MAX || length == 0)
        return;
    unsigned cost = edit_distance(suggest->word, word_length, candidate, length);
    if (cost < suggest->best_cost && cost < length) {
        suggest->best_cost = cost;
        snprintf(suggest->best, sizeof(suggest->best), "%s", candidate);
    }
}

const char *weir_suggest_best(const struct weir_suggest *suggest)
{
    return suggest->best[0] ? suggest->best : NULL;
}
