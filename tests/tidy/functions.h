/*
 * Functions at file level of C code, in their order: declarations and definitions. The scanner goes by the layout that
 * all compilers need (names, parentheses, braces), without preprocessing; lines of the preprocessor are skipped. One
 * thread.
 */
#ifndef WEIR_TESTS_TIDY_FUNCTIONS_H
#define WEIR_TESTS_TIDY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct function {
    const char *name; /* borrowed from the code, not terminated */
    size_t length;    /* bytes of name */
    unsigned line;    /* of the name, from 1 */
    bool is_definition;
    bool is_static;
};

struct function_scan {
    const char *at; /* borrowed; the code that is left, comments and literals blanked (source.h) */
    unsigned line;  /* of at, from 1 */
};

/* Finds the next function of the code. False at the end. */
bool function_next(struct function_scan *scan, struct function *function);

#endif
