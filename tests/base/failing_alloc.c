/* Allocators that fail when told to. Each Criterion test runs in a process of its own, so the state is per test.
 * Relaxed atomics: threads only have to agree on who is the N-th. */
#include "tests/base/failing_alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h, Linux 5.14 */
#endif

#define NEVER UINT_MAX

static atomic_uint seen;                  /* calls */
static atomic_uint first_failure = NEVER; /* the number of the call, as seen counts */
static atomic_bool all_behind_fail;
static bool *told; /* borrowed; NULL: nobody wants to know. Set while there is one thread */

/* Names and signatures are those of ld's --wrap, see ld(1). */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *data, size_t bytes);
void *__real_reallocarray(void *data, size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_madvise(void *address, size_t bytes, int advice);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *data, size_t bytes);
void *__wrap_reallocarray(void *data, size_t count, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_madvise(void *address, size_t bytes, int advice);
int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail_at(unsigned successes, bool sticky)
{
    atomic_store_explicit(&all_behind_fail, sticky, memory_order_relaxed);
    atomic_store_explicit(&first_failure, atomic_load_explicit(&seen, memory_order_relaxed) + successes,
                          memory_order_relaxed);
}

void failing_alloc_after(unsigned successes)
{
    fail_at(successes, false);
}

void failing_alloc_from(unsigned successes)
{
    fail_at(successes, true);
}

unsigned failing_alloc_seen(void)
{
    return atomic_load_explicit(&seen, memory_order_relaxed);
}

void failing_alloc_tell(bool *failed)
{
    told = failed;
}

void failing_alloc_never(void)
{
    atomic_store_explicit(&first_failure, NEVER, memory_order_relaxed);
}

static bool is_turn_to_fail(void)
{
    unsigned number = atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed);
    unsigned first = atomic_load_explicit(&first_failure, memory_order_relaxed);
    bool sticky = atomic_load_explicit(&all_behind_fail, memory_order_relaxed);
    if (first == NEVER || number < first || (number > first && !sticky))
        return false;
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

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_turn_to_fail() ? NULL : __real_aligned_alloc(alignment, bytes);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool fails = (flags & MAP_ANONYMOUS) && is_turn_to_fail();
    return fails ? MAP_FAILED : __real_mmap(address, bytes, protection, flags, fd, offset);
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    bool fails = advice == MADV_POPULATE_WRITE && is_turn_to_fail();
    return fails ? -1 : __real_madvise(address, bytes, advice);
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
