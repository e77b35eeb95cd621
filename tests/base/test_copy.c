/* Copying: every length around the loop's step, wherever source and target begin, and not a byte more; the same past
 * the caches. */
#include "base/copy.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#define LENGTH_MAX  330
#define OFFSET_MAX  17
#define LINE_MAX    (64 + 17)
#define GUARD_BYTES 80

static void copy_and_check(void (*copy)(void *to, const void *from, size_t bytes), size_t from, size_t to, size_t bytes)
{
    uint8_t source[OFFSET_MAX + LENGTH_MAX], wanted[LINE_MAX + LENGTH_MAX + GUARD_BYTES];
    _Alignas(64) uint8_t target[sizeof(wanted)];
    for (size_t i = 0; i < sizeof(source); i++)
        source[i] = (uint8_t)(i * 7 + 1);
    memset(target, 0xee, sizeof(target));
    memset(wanted, 0xee, sizeof(wanted));
    for (size_t i = 0; i < bytes; i++)
        wanted[to + i] = source[from + i];
    copy(target + to, source + from, bytes);
    cr_assert_eq(memcmp(target, wanted, sizeof(target)), 0, "%zu bytes from offset %zu to %zu", bytes, from, to);
}

Test(copy, nothing_is_no_byte)
{
    copy_and_check(weir_copy, 3, 5, 0);
    copy_and_check(weir_copy_past_caches, 3, 5, 0);
}

Test(copy, every_length_at_every_offset)
{
    for (size_t from = 0; from < OFFSET_MAX; from++) {
        for (size_t to = 0; to < OFFSET_MAX; to++) {
            for (size_t bytes = 0; bytes < LENGTH_MAX; bytes++)
                copy_and_check(weir_copy, from, to, bytes);
        }
    }
}

Test(copy, every_length_at_every_offset_in_a_line_goes_past_the_caches)
{
    static const size_t sources[] = {0, 1, 8, 15};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        for (size_t to = 0; to < LINE_MAX; to++) {
            for (size_t bytes = 0; bytes < LENGTH_MAX; bytes++)
                copy_and_check(weir_copy_past_caches, sources[i], to, bytes);
        }
    }
    weir_copy_fence();
}
