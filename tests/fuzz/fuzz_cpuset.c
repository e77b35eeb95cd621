/*
 * CPU lists (base/cpuset.h). Input: a list, or two lists with a zero byte between them.
 *
 * A list is taken exactly when it is one by a second reading of the grammar, and holds just the CPUs of that; its
 * canonical form is a fixed point; a refused one leaves the set alone. Two sets obey the laws of set algebra.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cpuset.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

#define DIGITS "0123456789"

/* What a list means, read word by word where the parser goes character by character. */
struct reading {
    bool is_list;
    unsigned limit;           /* the greatest CPU plus one */
    bool has[WEIR_CPU_LIMIT]; /* up to limit */
};

static void *init(void)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    weir_assert(reading);
    return reading;
}

/* The number at text, which ends at end or at stop. False when it is none, or no CPU's. */
static bool read_number(const char *text, const char *end, unsigned long *number)
{
    if (text == end || strspn(text, DIGITS) < (size_t)(end - text))
        return false;
    *number = strtoul(text, NULL, 10); /* too large a number becomes ULONG_MAX */
    return *number < WEIR_CPU_LIMIT;
}

/* "N" or "N-M" in [text, end). */
static bool read_range(struct reading *reading, const char *text, const char *end)
{
    const char *dash = memchr(text, '-', (size_t)(end - text));
    unsigned long first, last;
    if (!read_number(text, dash ? dash : end, &first))
        return false;
    last = first;
    if (dash && (!read_number(dash + 1, end, &last) || last < first))
        return false;
    memset(reading->has + first, 1, last - first + 1);
    if (last >= reading->limit)
        reading->limit = (unsigned)last + 1;
    return true;
}

static void read_list(struct reading *reading, const char *text)
{
    memset(reading->has, 0, reading->limit);
    reading->limit = 0;
    reading->is_list = true;

    while (isspace((unsigned char)*text))
        text++;
    const char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    bool more = text < end;
    while (more && reading->is_list) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        more = comma != NULL;
        reading->is_list = read_range(reading, text, comma ? comma : end);
        text = comma ? comma + 1 : end;
    }
}

static void check_members(const struct weir_cpuset *set, const struct reading *reading)
{
    unsigned count = 0;
    for (unsigned cpu = 0; cpu < reading->limit; cpu++)
        count += reading->has[cpu];
    weir_assert(weir_cpuset_count(set) == count);
    weir_assert(weir_cpuset_is_empty(set) == (count == 0));
    WEIR_CPUSET_FOREACH(cpu, set) {
        weir_assert((unsigned)cpu < reading->limit && reading->has[cpu] && weir_cpuset_has(set, (unsigned)cpu));
        count--;
    }
    weir_assert(count == 0);
}

static void check_format(const struct weir_cpuset *set)
{
    size_t length = weir_cpuset_format(set, NULL, 0);
    char *text = malloc(length + 1), *cut = malloc(length / 2 + 1);
    weir_assert(text && cut);
    weir_assert(weir_cpuset_format(set, text, length + 1) == length && strlen(text) == length);
    weir_assert(weir_cpuset_format(set, cut, length / 2 + 1) == length);
    weir_assert(strlen(cut) == length / 2 && strncmp(text, cut, length / 2) == 0);

    struct weir_cpuset again = WEIR_CPUSET_INIT;
    weir_assert(weir_cpuset_parse(&again, text, NULL) == 0 && weir_cpuset_equal(&again, set));
    weir_assert(weir_cpuset_format(&again, NULL, 0) == length);
    weir_cpuset_fini(&again);
    free(text);
    free(cut);
}

/* Parses text into set, which stays empty when that is no list. */
static void check_parse(struct weir_cpuset *set, const char *text, struct reading *reading)
{
    read_list(reading, text);
    struct weir_error err = {0};
    struct weir_cpuset before = WEIR_CPUSET_INIT;
    weir_assert(weir_cpuset_add(&before, 1) == 0 && weir_cpuset_add(&before, WEIR_CPU_LIMIT - 1) == 0);
    weir_assert(weir_cpuset_copy(set, &before) == 0);

    int result = weir_cpuset_parse(set, text, &err);
    weir_assert(result == (reading->is_list ? 0 : -EINVAL));
    if (result == 0) {
        check_members(set, reading);
        check_format(set);
    } else {
        fuzz_check_error(&err, result);
        weir_assert(weir_cpuset_equal(set, &before));
        weir_cpuset_fini(set);
    }
    weir_cpuset_fini(&before);
}

static void check_algebra(const struct weir_cpuset *a, const struct weir_cpuset *b)
{
    struct weir_cpuset both = WEIR_CPUSET_INIT, either = WEIR_CPUSET_INIT, rest = WEIR_CPUSET_INIT;
    weir_assert(weir_cpuset_and(&both, a, b) == 0);
    weir_assert(weir_cpuset_or(&either, a, b) == 0);
    weir_assert(weir_cpuset_without(&rest, a, b) == 0);
    weir_assert(weir_cpuset_count(a) + weir_cpuset_count(b) == weir_cpuset_count(&both) + weir_cpuset_count(&either));
    weir_assert(weir_cpuset_count(a) == weir_cpuset_count(&both) + weir_cpuset_count(&rest));
    weir_assert(weir_cpuset_is_subset(&both, a) && weir_cpuset_is_subset(&both, b));
    weir_assert(weir_cpuset_is_subset(a, &either) && weir_cpuset_is_subset(b, &either));
    weir_assert(weir_cpuset_intersects(a, b) == !weir_cpuset_is_empty(&both));
    weir_assert(!weir_cpuset_intersects(&rest, b));
    weir_assert(weir_cpuset_is_subset(a, b) == weir_cpuset_is_empty(&rest));

    weir_assert(weir_cpuset_or(&rest, &rest, &both) == 0); /* the result is one of the operands */
    weir_assert(weir_cpuset_equal(&rest, a));
    weir_cpuset_fini(&both);
    weir_cpuset_fini(&either);
    weir_cpuset_fini(&rest);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    char *a_text = fuzz_text(data, bytes);
    size_t a_bytes = strlen(a_text) < bytes ? strlen(a_text) + 1 : bytes;
    char *b_text = fuzz_text(data + a_bytes, bytes - a_bytes);
    struct weir_cpuset a = WEIR_CPUSET_INIT, b = WEIR_CPUSET_INIT;
    check_parse(&a, a_text, fixture);
    check_parse(&b, b_text, fixture);
    check_algebra(&a, &b);
    weir_cpuset_fini(&a);
    weir_cpuset_fini(&b);
    free(a_text);
    free(b_text);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = free};
