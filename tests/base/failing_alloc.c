/* Allocators that fail when told to. Each Criterion test runs in a process of its own, so the state is per test. */
#include "tests/base/failing_alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define NEVER UINT_MAX

static unsigned calls_until_failure = NEVER;
static bool *told; /* borrowed; NULL: nobody wants to know */

/* Names and signatures are those of ld's --wrap, see ld(1). */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *data, size_t bytes);
void *__real_reallocarray(void *data, size_t count, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes);
void *__wrap_reallocarray(void *data, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

void failing_alloc_after(unsigned successes)
{
    calls_until_failure = successes;
}

void failing_alloc_tell(bool *failed)
{
    told = failed;
}

void failing_alloc_never(void)
{
    calls_until_failure = NEVER;
}

static bool is_turn_to_fail(void)
{
    if (calls_until_failure == NEVER || calls_until_failure-- > 0)
        return false;
    calls_until_failure = NEVER;
    if (told)
        *told = true;
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

void *__wrap_reallocarray(void *data, size_t count, size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_reallocarray(data, count, bytes);
}

char *__wrap_strdup(const char *text)
{
    return is_turn_to_fail() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_strndup(text, bytes);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    if (is_turn_to_fail())
        return -1; /* and *text stays as it is: glibc does not promise NULL */
    va_list args;
    va_start(args, format);
    int length = vasprintf(text, format, args);
    va_end(args);
    return length;
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
