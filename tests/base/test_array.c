/* Arrays that grow: what they hold stays, room doubles, and a refusal changes nothing. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "tests/base/failing_alloc.h"

Test(array, refusal_leaves_everything_as_it_was)
{
    size_t capacity = 0;
    int *items = weir_array_grow(NULL, sizeof(*items), 0, 1, &capacity);
    cr_assert_not_null(items);
    size_t before = capacity;
    items[0] = 4711;
    failing_alloc_after(0);
    cr_expect_null(weir_array_grow(items, sizeof(*items), 1, before, &capacity));
    failing_alloc_never();
    cr_expect_eq(capacity, before);
    cr_expect_eq(items[0], 4711);
    free(items);
}

Test(array, size_that_no_memory_holds_is_refused)
{
    size_t capacity = 0;
    cr_expect_null(weir_array_grow(NULL, 16, 0, SIZE_MAX, &capacity));
    cr_expect_null(weir_array_grow(NULL, 16, 0, SIZE_MAX / 4, &capacity));
    cr_expect_eq(capacity, 0);
}

Test(array, nothing_moves_while_there_is_room)
{
    size_t capacity = 0;
    int *items = weir_array_grow(NULL, sizeof(*items), 0, 3, &capacity);
    cr_assert_geq(capacity, 3);
    cr_expect_eq(weir_array_grow(items, sizeof(*items), 1, capacity - 1, &capacity), items);
    free(items);
}

Test(array, room_doubles_and_items_stay)
{
    size_t capacity = 0, count = 0;
    int *items = NULL;
    unsigned moves = 0;
    for (; count < 10000; count++) {
        size_t before = capacity;
        int *grown = weir_array_grow(items, sizeof(*items), count, 1, &capacity);
        cr_assert_not_null(grown);
        items = grown;
        moves += capacity != before;
        cr_assert(capacity == before || before == 0 || capacity == 2 * before);
        items[count] = (int)count;
    }
    cr_expect_leq(moves, 14);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(items[i], (int)i);
    free(items);
}

Test(array, large_step_is_served_at_once)
{
    size_t capacity = 0;
    char *items = weir_array_grow(NULL, 1, 0, 100000, &capacity);
    cr_assert_not_null(items);
    cr_expect_eq(capacity, 100000);
    free(items);
}

Test(array, count_up_to_a_key_ends_before_the_first_greater_one)
{
    struct {
        uint32_t number;
        uint64_t key;
    } items[] = {{0, 10}, {1, 20}, {2, 20}, {3, 30}, {4, UINT64_MAX}};
    const size_t key_at = (size_t)((char *)&items[0].key - (char *)&items[0]);
    const struct {
        uint64_t most;
        size_t count;
    } cases[] = {{0, 0}, {9, 0}, {10, 1}, {19, 1}, {20, 3}, {21, 3}, {30, 4}, {UINT64_MAX - 1, 4}, {UINT64_MAX, 5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_expect_eq(weir_array_count_up_to(items, sizeof(items[0]), key_at, 5, cases[i].most), cases[i].count,
                     "up to %llu", (unsigned long long)cases[i].most);
    cr_expect_eq(weir_array_count_up_to(items, sizeof(items[0]), key_at, 2, 20), 2);
    cr_expect_eq(weir_array_count_up_to(NULL, sizeof(items[0]), key_at, 0, 20), 0);
}
