/* A set of CPU numbers. Each set belongs to one thread at a time. */
#include "base/cpuset.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void weir_cpuset_fini(struct weir_cpuset *set)
{
    if (!set)
        return;
    free(set->words);
    *set = (struct weir_cpuset)WEIR_CPUSET_INIT;
}

static uint64_t word_at(const struct weir_cpuset *set, unsigned index)
{
    return index < set->word_count ? set->words[index] : 0;
}

static int grow(struct weir_cpuset *set, unsigned word_count)
{
    if (word_count <= set->word_count)
        return 0;
    uint64_t *words = realloc(set->words, word_count * sizeof(*words));
    if (!words)
        return -ENOMEM;
    memset(words + set->word_count, 0, (word_count - set->word_count) * sizeof(*words));
    set->words = words;
    set->word_count = word_count;
    return 0;
}

int weir_cpuset_add(struct weir_cpuset *set, unsigned cpu)
{
    if (cpu >= WEIR_CPU_LIMIT)
        return -EINVAL;
    if (grow(set, cpu / 64 + 1) < 0)
        return -ENOMEM;
    set->words[cpu / 64] |= 1ull << (cpu % 64); /* NOLINT(clang-analyzer-core.NullDereference): grow() made it */
    return 0;
}

void weir_cpuset_remove(struct weir_cpuset *set, unsigned cpu)
{
    if (cpu / 64 < set->word_count)
        set->words[cpu / 64] &= ~(1ull << (cpu % 64));
}

bool weir_cpuset_has(const struct weir_cpuset *set, unsigned cpu)
{
    return word_at(set, cpu / 64) >> (cpu % 64) & 1;
}

unsigned weir_cpuset_count(const struct weir_cpuset *set)
{
    unsigned count = 0;
    for (unsigned i = 0; i < set->word_count; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}

bool weir_cpuset_is_empty(const struct weir_cpuset *set)
{
    return weir_cpuset_next(set, 0) < 0;
}

bool weir_cpuset_equal(const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    return weir_cpuset_is_subset(a, b) && weir_cpuset_is_subset(b, a);
}

bool weir_cpuset_is_subset(const struct weir_cpuset *inner, const struct weir_cpuset *outer)
{
    for (unsigned i = 0; i < inner->word_count; i++) {
        if (inner->words[i] & ~word_at(outer, i))
            return false;
    }
    return true;
}

bool weir_cpuset_intersects(const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    for (unsigned i = 0; i < a->word_count; i++) {
        if (a->words[i] & word_at(b, i))
            return true;
    }
    return false;
}

int weir_cpuset_next(const struct weir_cpuset *set, unsigned from)
{
    for (unsigned i = from / 64; i < set->word_count; i++) {
        uint64_t word = set->words[i];
        if (i == from / 64)
            word &= ~0ull << (from % 64);
        if (word)
            return (int)(i * 64 + (unsigned)__builtin_ctzll(word));
    }
    return -1;
}

enum set_operation {
    SET_AND,
    SET_OR,
    SET_WITHOUT,
};

static int combine(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b,
                   enum set_operation operation)
{
    unsigned count = a->word_count > b->word_count ? a->word_count : b->word_count;
    struct weir_cpuset result = WEIR_CPUSET_INIT;
    if (grow(&result, count) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        uint64_t x = word_at(a, i), y = word_at(b, i);
        result.words[i] = operation == SET_AND ? x & y : operation == SET_OR ? x | y : x & ~y;
    }
    weir_cpuset_fini(dst);
    *dst = result;
    return 0;
}

int weir_cpuset_copy(struct weir_cpuset *dst, const struct weir_cpuset *src)
{
    return combine(dst, src, src, SET_AND);
}

int weir_cpuset_and(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    return combine(dst, a, b, SET_AND);
}

int weir_cpuset_or(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    return combine(dst, a, b, SET_OR);
}

int weir_cpuset_without(struct weir_cpuset *dst, const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    return combine(dst, a, b, SET_WITHOUT);
}

/* Reads a CPU number >= least at *cursor and moves past it. Returns the number, or -EINVAL with *cursor unmoved. */
static long parse_cpu(const char **cursor, long least)
{
    const char *digit = *cursor;
    long value = 0;
    while (isdigit((unsigned char)*digit) && value < (long)WEIR_CPU_LIMIT)
        value = value * 10 + (*digit++ - '0');
    if (digit == *cursor || value < least || value >= (long)WEIR_CPU_LIMIT)
        return -EINVAL;
    *cursor = digit;
    return value;
}

/* Parses the list. On -EINVAL *cursor is at the first character that the grammar does not allow. */
static int parse_into(struct weir_cpuset *set, const char **cursor, const char *end)
{
    while (*cursor < end) {
        long first = parse_cpu(cursor, 0);
        long last = first;
        if (first >= 0 && **cursor == '-') {
            (*cursor)++;
            last = parse_cpu(cursor, first);
        }
        if (last < 0)
            return -EINVAL;
        for (long cpu = first; cpu <= last; cpu++) {
            int result = weir_cpuset_add(set, (unsigned)cpu);
            if (result < 0)
                return result;
        }
        bool more = *cursor < end;
        if (more && (**cursor != ',' || ++*cursor == end))
            return -EINVAL;
    }
    return 0;
}

int weir_cpuset_parse(struct weir_cpuset *set, const char *list, struct weir_error *err)
{
    const char *start = list;
    while (isspace((unsigned char)*start))
        start++;
    const char *end = start + strlen(start);
    while (end > start && isspace((unsigned char)end[-1]))
        end--;

    const char *cursor = start;
    struct weir_cpuset parsed = WEIR_CPUSET_INIT;
    int result = parse_into(&parsed, &cursor, end);
    if (result < 0) {
        weir_cpuset_fini(&parsed);
        if (result == -ENOMEM)
            return weir_error_set_errno(err, result, "cannot parse CPU list");
        return weir_error_set(err, result, "bad CPU list '%.*s' at column %td", (int)(end - start), start,
                              cursor - start + 1);
    }
    weir_cpuset_fini(set);
    *set = parsed;
    return 0;
}

size_t weir_cpuset_format(const struct weir_cpuset *set, char *text, size_t bytes)
{
    size_t length = 0;
    if (bytes > 0)
        text[0] = '\0';
    for (int first = weir_cpuset_next(set, 0); first >= 0;) {
        int last = first;
        while (weir_cpuset_has(set, (unsigned)last + 1))
            last++;

        char range[32];
        int n = first == last ? snprintf(range, sizeof(range), "%s%d", length ? "," : "", first)
                              : snprintf(range, sizeof(range), "%s%d-%d", length ? "," : "", first, last);
        if (length < bytes)
            snprintf(text + length, bytes - length, "%s", range);
        length += (size_t)n;
        first = weir_cpuset_next(set, (unsigned)last + 1);
    }
    return length;
}
