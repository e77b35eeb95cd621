/*
 * Hints: each text that tells a user what to do has a test that names it. A hint is made of literals: those in a call
 * of weir_error_hint(), in a call of a function of the same file with a parameter `const char *hint`, and those that
 * initialise something whose name has "hint" in it. Of each the longest run between conversions must stand in some file
 * under tests/, where literals may be cut into pieces as they may here. One thread.
 */
#ifndef WEIR_TESTS_TIDY_HINTS_H
#define WEIR_TESTS_TIDY_HINTS_H

#include "base/buf.h"
#include "tests/tidy/rules.h"

struct hints {
    struct hint *all; /* owned */
    size_t count, capacity;
    struct weir_buf tests; /* what the tests hold, literals joined and without escapes */
};

#define HINTS_INIT                \
    {                             \
        NULL, 0, 0, WEIR_BUF_INIT \
    }

void hints_fini(struct hints *hints);

/* Adds the hints of a C file of the layers; other files have none. 0 or -ENOMEM. */
int hints_collect(struct hints *hints, const struct source *source);

/* Adds the text of a file under tests/, but for these rules' own. 0 or -ENOMEM. */
int hints_add_test(struct hints *hints, const char *path, const char *text);

/* Reports each hint that no test names. After all files were added. 0 or -ENOMEM. */
int hints_check(struct hints *hints, const struct finding_sink *sink);

#endif
