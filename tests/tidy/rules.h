/*
 * The rules of docs/STYLE.md that a machine can hold, one file of the tree at a time. One thread.
 */
#ifndef WEIR_TESTS_TIDY_RULES_H
#define WEIR_TESTS_TIDY_RULES_H

#include <stdbool.h>

#include "tests/tidy/source.h"

struct finding {
    const char *rule;    /* its name, static */
    const char *path;    /* borrowed from the source */
    unsigned line;       /* from 1 */
    bool is_advice;      /* told, but fails nothing */
    const char *message; /* borrowed until return */
};

struct finding_sink {
    void (*report)(void *ctx, const struct finding *finding);
    void *ctx; /* borrowed */
};

/* Applies every rule that concerns this kind of file, reporting findings rule by rule, each in line order. */
void rules_check(const struct source *source, const struct finding_sink *sink);

/* The room that a file is in, a folder of the layers: "engine/drain/". NULL: in none, a test for example. */
const char *rules_room_of(const struct source *source);

#endif
