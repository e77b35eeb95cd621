/* The end of a process that has broken one of its own invariants. Any thread. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void weir_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "weir: bug: %s:%d: %s: %s does not hold\n", file, line, function, condition);
    abort();
}
