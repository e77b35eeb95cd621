/*
 * A set of CPU numbers of any size (cpu_set_t stops at 1024), with the kernel's list grammar.
 */
#ifndef WEIR_BASE_CPUSET_H
#define WEIR_BASE_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define WEIR_CPU_LIMIT \
    65536u /* CPU numbers are below this; it bounds the memory that a hostile list can make us allocate */

struct weir_cpuset {
    uint64_t *words;     /* owned; NULL before the first CPU is added */
    unsigned word_count; /* words allocated; CPUs at and above 64 * word_count are not in the set */
};

#define WEIR_CPUSET_INIT \
    {                    \
        NULL, 0          \
    }

void weir_cpuset_fini(struct weir_cpuset *set);

/* Adds one CPU. 0, -EINVAL (cpu >= WEIR_CPU_LIMIT) or -ENOMEM. */
int weir_cpuset_add(struct weir_cpuset *set, unsigned cpu);
void weir_cpuset_remove(struct weir_cpuset *set, unsigned cpu);
bool weir_cpuset_has(const struct weir_cpuset *set, unsigned cpu);
unsigned weir_cpuset_count(const struct weir_cpuset *set);
bool weir_cpuset_is_empty(const struct weir_cpuset *set);
bool weir_cpuset_equal(const struct weir_cpuset *a, const struct weir_cpuset *b);
bool weir_cpuset_is_subset(const struct weir_cpuset *inner, const struct weir_cpuset *outer);
bool weir_cpuset_intersects(const struct weir_cpuset *a, const struct weir_cpuset *b);

/* Least CPU >= from, or -1. */
int weir_cpuset_next(const struct weir_cpuset *set, unsigned from);

#define WEIR_CPUSET_FOREACH(cpu, set) \
    for (int cpu = weir_cpuset_next((set), 0); cpu >= 0; cpu = weir_cpuset_next((set), (unsigned)cpu + 1))

/* dst becomes a copy of src, a & b, a | b, or a without b; dst may be one of them. 0 or -ENOMEM (dst unchanged). */
int weir_cpuset_copy(struct weir_cpuset *dst, const struct weir_cpuset *src);
int weir_cpuset_and(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b);
int weir_cpuset_or(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b);
int weir_cpuset_without(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b);

/*
 * Parses "0-3,8,10-11" (Documentation/admin-guide/cputopology.rst; no strides) and replaces the contents of set. White
 * space may surround the list: sysfs files end in a newline. "" is the empty set. 0, -EINVAL (grammar, range backwards,
 * CPU too large) or -ENOMEM; on failure set is unchanged. err names the list without surrounding white space, and the
 * column, from 1, of the first wrong character or number.
 */
int weir_cpuset_parse(struct weir_cpuset *set, const char *list, struct weir_error *err);

/* Writes the list form into text, cut at bytes - 1 characters. Returns the length of the whole form. */
size_t weir_cpuset_format(const struct weir_cpuset *set, char *text, size_t bytes);

#endif
