/*
 * What the rules of modules.h do not refuse, by name and with the reason. Constant data. There are three at most: an
 * exception is for a circle that is natural, as a parser's recursion is, not for one that is laborious to break.
 */
#include "base/bits.h"
#include "tests/tidy/modules.h"

#define EXCEPTIONS_MAX 3

static const struct module_exception circles[] = {
    {NULL, NULL, NULL},
};

static const struct module_exception declarations[] = {
    {NULL, NULL, NULL},
};

_Static_assert(WEIR_ARRAY_COUNT(circles) + WEIR_ARRAY_COUNT(declarations) - 2 <= EXCEPTIONS_MAX, "too many exceptions");

const struct module_exceptions tree_exceptions = {.circles = circles, .declarations = declarations};
