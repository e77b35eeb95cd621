/* The queue: records are passed on in the order of time, no sooner than that order is proven. */
#include "engine/drain/side_queue.h"

#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What was passed on: the first byte of each record, as text. */
struct seen {
    char text[64];
    size_t count;
};

static void see(void *ctx, const uint8_t *record, size_t bytes)
{
    struct seen *seen = ctx;
    cr_assert_eq(bytes, 8);
    if (seen->count < sizeof(seen->text) - 1)
        seen->text[seen->count] = (char)record[0];
    seen->count++;
}

static void push(struct weir_side_queue *queue, char name, uint64_t time_ns)
{
    uint8_t record[8] = {(uint8_t)name};
    weir_side_queue_push(queue, record, sizeof(record), time_ns, &(struct weir_side_origin){.at = time_ns});
}

Test(side_queue, record_without_memory_is_counted_as_lost)
{
    struct weir_side_queue queue;
    struct seen seen = {0};
    weir_side_queue_init(&queue);
    for (unsigned successes = 0; successes < 2; successes++) {
        failing_alloc_after(successes);
        push(&queue, 'x', 1);
        failing_alloc_never();
        weir_side_queue_fini(&queue);
    }
    failing_alloc_after(0);
    push(&queue, 'x', 1);
    failing_alloc_never();
    cr_assert_eq(queue.lost, 1);
    push(&queue, 'a', 1);
    weir_side_queue_apply_all(&queue, see, &seen);
    cr_assert_str_eq(seen.text, "a");
    weir_side_queue_fini(&queue);
}

Test(side_queue, nothing_is_passed_on_before_two_more_epochs)
{
    struct weir_side_queue queue;
    struct seen seen = {0};
    weir_side_queue_init(&queue);
    push(&queue, 'b', 20);
    weir_side_queue_advance(&queue, 3, 4, see, &seen); /* epoch 4 was opened meanwhile: 6 is needed */
    weir_side_queue_advance(&queue, 5, 5, see, &seen);
    cr_assert_eq(seen.count, 0);
    push(&queue, 'a', 10); /* older, and came later */
    push(&queue, 'c', 30);
    weir_side_queue_advance(&queue, 6, 6, see, &seen);
    cr_assert_str_eq(seen.text, "ab");
    weir_side_queue_advance(&queue, 7, 7, see, &seen);
    cr_assert_str_eq(seen.text, "ab", "c was seen in epoch 6");
    weir_side_queue_advance(&queue, 8, 8, see, &seen);
    cr_assert_str_eq(seen.text, "abc");
    cr_assert_eq(queue.records.used, 0);
    weir_side_queue_fini(&queue);
}

Test(side_queue, equal_times_keep_their_order)
{
    struct weir_side_queue queue;
    struct seen seen = {0};
    weir_side_queue_init(&queue);
    for (char name = 'a'; name <= 'p'; name++)
        push(&queue, name, name % 2);
    weir_side_queue_apply_all(&queue, see, &seen);
    cr_assert_str_eq(seen.text, "bdfhjlnpacegikmo");
    weir_side_queue_fini(&queue);
}

/* Bounded: half goes at 8 MiB, all that is newer is lost at 16 MiB when nobody advances. */
Test(side_queue, above_its_bound_the_older_half_goes_without_proof)
{
    struct weir_side_queue queue;
    struct seen seen = {0};
    weir_side_queue_init(&queue);
    size_t full = WEIR_SIDE_QUEUE_BYTES / 8;
    for (size_t i = 0; i <= full; i++)
        push(&queue, 'x', full - i);
    weir_side_queue_advance(&queue, 1, 1, see, &seen);
    cr_assert_eq(seen.count, (full + 1) / 2);
    cr_assert_eq(queue.unproven, (full + 1) / 2);
    for (size_t i = 0; i < 2 * full; i++)
        push(&queue, 'y', full + i);
    cr_assert_eq(queue.count, 2 * full);
    cr_assert_eq(queue.lost, full + 1 - (full + 1) / 2);
    weir_side_queue_fini(&queue);
}

struct origins {
    uint64_t at[8];
    unsigned count;
    unsigned most; /* ends the visit with -E2BIG */
};

static int note_origin(void *ctx, const struct weir_side_origin *origin, const uint8_t *record, size_t bytes)
{
    struct origins *origins = ctx;
    cr_assert_eq(bytes, 8);
    cr_assert_eq(record[0], 'a' + origins->count);
    if (origins->count == origins->most)
        return -E2BIG;
    origins->at[origins->count++] = origin->at;
    return 0;
}

Test(side_queue, what_is_kept_back_is_shown_as_it_came_with_its_origin)
{
    struct weir_side_queue queue;
    struct origins origins = {.most = 8};
    weir_side_queue_init(&queue);
    push(&queue, 'a', 30);
    push(&queue, 'b', 10);
    push(&queue, 'c', 20);
    cr_assert_eq(weir_side_queue_visit(&queue, note_origin, &origins), 0);
    const uint64_t expected[] = {30, 10, 20};
    cr_assert_eq(origins.count, 3);
    cr_assert_arr_eq(origins.at, expected, sizeof(expected));
    origins = (struct origins){.most = 1};
    cr_assert_eq(weir_side_queue_visit(&queue, note_origin, &origins), -E2BIG);
    cr_assert_eq(origins.count, 1);
    weir_side_queue_fini(&queue);
}
