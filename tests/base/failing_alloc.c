/* Allocators that fail when told to. Each Criterion test runs in a process of its own, so the state is per test. */
#include "tests/base/failing_alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define NEVER UINT_MAX

static unsigned calls_until_failure = NEVER;

/* Names and signatures are those of ld's --wrap, see ld(1). */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *data, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes);

void failing_alloc_after(unsigned successes)
{
    calls_until_failure = successes;
}

static bool is_turn_to_fail(void)
{
    if (calls_until_failure == NEVER)
        return false;
    if (calls_until_failure-- > 0)
        return false;
    calls_until_failure = NEVER;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *data, size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_realloc(data, bytes);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
