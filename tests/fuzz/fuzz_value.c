/*
 * Numbers, sizes and frequencies of the command line (cli/value.h). Input: the text of one.
 *
 * Each parser agrees with one formula: digits in 128 bits, shifted by the suffix, must fit into 64; what is written out
 * reads the same; a ring is the least power of two of pages that holds what was asked for.
 */
#include "cli/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/size_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

#define UNTOUCHED      0x5a5a5a5a5a5a5a5aull
#define PAGE_BYTES     4096ull
#define RING_BYTES_MAX (1ull << 32)

/* What the text should be taken for. */
struct expected {
    int result;
    uint64_t number;
};

/* suffixes: those that are allowed, each worth ten bits more than the one before; lower case too. */
static struct expected expect(const char *text, const char *suffixes)
{
    size_t digits = strspn(text, "0123456789");
    unsigned shift = 0;
    if (digits == 0)
        return (struct expected){.result = -EINVAL};
    if (text[digits] != '\0') {
        char upper = text[digits] >= 'a' && text[digits] <= 'z' ? (char)(text[digits] - 'a' + 'A') : text[digits];
        const char *found = strchr(suffixes, upper);
        if (!found || text[digits + 1] != '\0')
            return (struct expected){.result = -EINVAL};
        shift = 10 * (unsigned)(found - suffixes);
    }
    unsigned __int128 number = 0;
    for (size_t i = 0; i < digits && number <= UINT64_MAX; i++)
        number = number * 10 + (unsigned)(text[i] - '0');
    if (number > UINT64_MAX || number << shift > UINT64_MAX)
        return (struct expected){.result = -ERANGE};
    return (struct expected){.number = (uint64_t)(number << shift)};
}

static void check(struct expected expected, int result, uint64_t number)
{
    weir_assert(result == expected.result);
    weir_assert(number == (result == 0 ? expected.number : UNTOUCHED));
}

static void check_format(uint64_t bytes)
{
    char text[WEIR_SIZE_TEXT_BYTES];
    uint64_t again = UNTOUCHED;
    weir_size_format(bytes, text);
    weir_assert(weir_value_parse_size(text, &again) == 0 && again == bytes);
}

static void check_resolved(const struct weir_ring_size *size)
{
    uint64_t ring_bytes = UNTOUCHED;
    bool rounded = false;
    int result = weir_value_resolve_ring_size(size, PAGE_BYTES, RING_BYTES_MAX, &ring_bytes, &rounded);
    unsigned __int128 asked_bytes = (unsigned __int128)size->number * (size->in_bytes ? 1 : PAGE_BYTES);
    if (asked_bytes > RING_BYTES_MAX) {
        weir_assert(result == -ERANGE && ring_bytes == UNTOUCHED);
        return;
    }
    weir_assert(result == 0 && weir_is_power_of_two(ring_bytes));
    weir_assert(ring_bytes >= PAGE_BYTES && ring_bytes >= asked_bytes);
    weir_assert(ring_bytes == PAGE_BYTES || ring_bytes / 2 < asked_bytes);
    uint64_t asked_pages = (uint64_t)((asked_bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    weir_assert(rounded == (asked_pages * PAGE_BYTES != ring_bytes));
}

/* A text without comma is a pair without AUX; any pair is two parts that are each understood, or one behind a comma. */
static void check_pair(const char *text)
{
    struct weir_ring_size_pair pair = {.data = {.number = UNTOUCHED}, .aux = {.number = UNTOUCHED}};
    struct weir_ring_size size = {.number = UNTOUCHED};
    int result = weir_value_parse_ring_size_pair(text, &pair);
    const char *comma = strchr(text, ',');
    if (!comma) {
        weir_assert(result == weir_value_parse_ring_size(text, &size) && pair.data.number == size.number);
        return;
    }
    if (result != 0) {
        weir_assert(pair.data.number == UNTOUCHED && pair.aux.number == UNTOUCHED);
        return;
    }
    weir_assert(weir_value_parse_ring_size(comma + 1, &size) == 0 && pair.aux.given && pair.aux.number == size.number);
    weir_assert(pair.data.given == (comma != text));
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    char *text = fuzz_text(data, bytes);
    uint64_t number = UNTOUCHED, size_bytes = UNTOUCHED, freq_hz = UNTOUCHED;

    int result = weir_value_parse_number(text, &number);
    check(expect(text, ""), result, number);

    result = weir_value_parse_size(text, &size_bytes);
    check(expect(text, "BKMG"), result, size_bytes);
    if (result == 0)
        check_format(size_bytes);

    struct expected expected = expect(text, "");
    if (strcasecmp(text, "max") == 0) /* as perf */
        expected = (struct expected){.number = WEIR_VALUE_FREQ_MAX};
    else if (expected.result == 0 && expected.number == WEIR_VALUE_FREQ_MAX)
        expected = (struct expected){.result = -ERANGE}; /* the number itself is not that word */
    result = weir_value_parse_frequency(text, &freq_hz);
    check(expected, result, freq_hz);

    struct weir_ring_size ring_size = {.number = UNTOUCHED};
    result = weir_value_parse_ring_size(text, &ring_size);
    check(expect(text, "BKMG"), result, ring_size.number);
    weir_assert(ring_size.given == (result == 0));
    if (result == 0) {
        weir_assert(ring_size.in_bytes == (expect(text, "").result != 0));
        check_resolved(&ring_size);
    }
    check_pair(text);
    free(text);
}

const struct fuzz_target fuzz_target = {.run = run};
