/*
 * Functions that comments and documents name, "weir_ring_map()": each is one that there is, so that who follows the
 * name finds it, and a function that is renamed or goes takes its mentions along. Names are those that code, or CMake,
 * has before a parenthesis. One thread.
 */
#ifndef WEIR_TESTS_TIDY_MENTIONS_H
#define WEIR_TESTS_TIDY_MENTIONS_H

#include <stddef.h>

#include "tests/tidy/rules.h"

struct mentions {
    struct mention *all; /* owned */
    size_t count, capacity;
    char **names; /* owned, as is each; of functions that there are, some of them more than once */
    size_t name_count, name_capacity;
};

#define MENTIONS_INIT          \
    {                          \
        NULL, 0, 0, NULL, 0, 0 \
    }

void mentions_fini(struct mentions *mentions);

/* Adds what a file names and what it has, but for these rules' own tests, which name what there is not. 0 or -ENOMEM.
 */
int mentions_collect(struct mentions *mentions, const struct source *source);

/* Reports each mention of a function that no file has. After all files were added. */
void mentions_check(struct mentions *mentions, const struct finding_sink *sink);

#endif
