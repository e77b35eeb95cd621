/* The queue on one thread: order, emptiness, and when the writer sleeps. Threads: race_chunk_queue.c. */
#include "engine/drain/chunk_queue.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"

#define PARK_MS      20
#define NO_SLEEP_MS  60000 /* a park that should not sleep would run into the time limit of the test */
#define CHUNK_COUNT  3
#define ROUNDS_COUNT 100

static void make_chunks(struct weir_chunk *chunks, unsigned count)
{
    memset(chunks, 0, count * sizeof(*chunks));
    for (unsigned i = 0; i < count; i++) {
        chunks[i].index = i;
        chunks[i].state = WEIR_CHUNK_FILLING;
    }
}

Test(chunk_queue, pop_of_an_empty_queue_gives_null)
{
    struct weir_chunk_queue queue;
    weir_chunk_queue_init(&queue);
    cr_assert(weir_chunk_queue_is_empty(&queue));
    cr_assert_null(weir_chunk_queue_pop(&queue));
    cr_assert_null(weir_chunk_queue_pop(&queue));
    cr_assert(weir_chunk_queue_is_empty(&queue));
}

Test(chunk_queue, push_of_a_chunk_that_nobody_fills_is_a_bug, .signal = SIGABRT)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunk;
    weir_chunk_queue_init(&queue);
    memset(&chunk, 0, sizeof(chunk)); /* state FREE */
    weir_chunk_queue_push(&queue, &chunk);
}

Test(chunk_queue, pair_stays_together_and_counts_twice)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[3];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 3);
    weir_chunk_queue_push(&queue, &chunks[0]);
    weir_chunk_queue_push_pair(&queue, &chunks[1], &chunks[2]);
    cr_assert_eq(weir_chunk_queue_park(&queue, 3, NO_SLEEP_MS), WEIR_PARK_NEEDLESS);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[i]);
        cr_assert_eq(chunks[i].state, WEIR_CHUNK_IN_FLIGHT);
    }
    cr_assert(weir_chunk_queue_is_empty(&queue));
}

Test(chunk_queue, push_that_is_not_linked_yet_is_neither_popped_nor_overlooked)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[2];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 2);
    weir_chunk_queue_push(&queue, &chunks[0]);
    /* A producer that was stopped between the exchange (queue-order) and the link (queue-link). */
    struct weir_chunk *before = atomic_exchange(&queue.last, &chunks[1]);
    chunks[1].state = WEIR_CHUNK_QUEUED;
    cr_assert_eq(before, &chunks[0]);
    cr_assert_null(weir_chunk_queue_pop(&queue));
    cr_assert_not(weir_chunk_queue_is_empty(&queue));
    cr_assert_eq(weir_chunk_queue_park(&queue, 1, NO_SLEEP_MS), WEIR_PARK_NEEDLESS);
    atomic_store(&before->queue_next, &chunks[1]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[0]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[1]);
    cr_assert(weir_chunk_queue_is_empty(&queue));
}

/* ---- whose chunks there are ---- */

Test(chunk_queue, empty_queue_is_of_anybody)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[1];
    const struct weir_chunk *last = chunks;
    weir_chunk_queue_init(&queue);
    cr_assert(weir_chunk_queue_is_of(&queue, 1, &last));
    cr_assert_null(last);
    make_chunks(chunks, 1);
    weir_chunk_queue_push(&queue, &chunks[0]);
    weir_chunk_queue_pop(&queue);
    cr_assert(weir_chunk_queue_is_of(&queue, 1, &last));
    cr_assert_null(last);
}

Test(chunk_queue, queue_is_of_the_reader_that_has_filled_all_of_it)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[4];
    const struct weir_chunk *last;
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 4);
    for (unsigned i = 0; i < 2; i++) {
        chunks[i].reader = 7;
        weir_chunk_queue_push(&queue, &chunks[i]);
    }
    cr_assert(weir_chunk_queue_is_of(&queue, 7, &last));
    cr_assert_eq(last, &chunks[1]);
    cr_assert_not(weir_chunk_queue_is_of(&queue, 6, &last));
    cr_assert_null(last);

    chunks[2].kind = WEIR_CHUNK_ROUND; /* of nobody, and nothing in it */
    weir_chunk_queue_push(&queue, &chunks[2]);
    cr_assert(weir_chunk_queue_is_of(&queue, 7, &last));
    cr_assert_eq(last, &chunks[1]);

    chunks[3].reader = 6;
    weir_chunk_queue_push(&queue, &chunks[3]);
    cr_assert_not(weir_chunk_queue_is_of(&queue, 7, &last));
    cr_assert_null(last);
    for (unsigned i = 0; i < 3; i++)
        weir_chunk_queue_pop(&queue);
    cr_assert(weir_chunk_queue_is_of(&queue, 6, &last));
    cr_assert_eq(last, &chunks[3]);
}

Test(chunk_queue, queue_with_a_switch_is_of_nobody)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[1];
    const struct weir_chunk *last;
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 1);
    chunks[0].kind = WEIR_CHUNK_ROTATION;
    weir_chunk_queue_push(&queue, &chunks[0]);
    cr_assert_not(weir_chunk_queue_is_of(&queue, 0, &last));
}

Test(chunk_queue, queue_is_of_nobody_while_a_push_is_under_way)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[2];
    const struct weir_chunk *last;
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 2);
    weir_chunk_queue_push(&queue, &chunks[0]);
    struct weir_chunk *before = atomic_exchange(&queue.last, &chunks[1]); /* between (queue-order) and (queue-link) */
    cr_assert_not(weir_chunk_queue_is_of(&queue, 0, &last));
    cr_assert_null(last);
    atomic_store(&before->queue_next, &chunks[1]);
    cr_assert(weir_chunk_queue_is_of(&queue, 0, &last));
    cr_assert_eq(last, &chunks[1]);
}

Test(chunk_queue, more_than_a_few_chunks_are_not_looked_at)
{
    struct weir_chunk_queue queue;
    static struct weir_chunk chunks[64];
    const struct weir_chunk *last;
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 64);
    for (unsigned i = 0; i < 64; i++) /* the stub is looked at, too */
        weir_chunk_queue_push(&queue, &chunks[i]);
    cr_assert_not(weir_chunk_queue_is_of(&queue, 0, &last));
    weir_chunk_queue_pop(&queue);
    cr_assert(weir_chunk_queue_is_of(&queue, 0, &last));
    cr_assert_eq(last, &chunks[63]);
}

/* ---- order ---- */

Test(chunk_queue, chunks_leave_in_the_order_of_their_pushes)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[CHUNK_COUNT];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, CHUNK_COUNT);
    /* Over and over with the same chunks, in batches of 1 to 3: the stub comes to lie in every place. */
    for (unsigned round = 0; round < ROUNDS_COUNT; round++) {
        unsigned batch = round % CHUNK_COUNT + 1;
        for (unsigned i = 0; i < batch; i++) {
            weir_chunk_queue_push(&queue, &chunks[i]);
            cr_assert_eq(chunks[i].state, WEIR_CHUNK_QUEUED);
        }
        cr_assert_not(weir_chunk_queue_is_empty(&queue));
        for (unsigned i = 0; i < batch; i++) {
            cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[i], "round %u", round);
            cr_assert_eq(chunks[i].state, WEIR_CHUNK_IN_FLIGHT);
            chunks[i].state = WEIR_CHUNK_FILLING;
        }
        cr_assert_null(weir_chunk_queue_pop(&queue));
        cr_assert(weir_chunk_queue_is_empty(&queue));
    }
}

Test(chunk_queue, push_between_pops_keeps_the_order)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[CHUNK_COUNT];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, CHUNK_COUNT);
    weir_chunk_queue_push(&queue, &chunks[0]);
    weir_chunk_queue_push(&queue, &chunks[1]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[0]);
    weir_chunk_queue_push(&queue, &chunks[2]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[1]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[2]);
    cr_assert(weir_chunk_queue_is_empty(&queue));
}

/* ---- sleeping ---- */

Test(chunk_queue, park_of_an_empty_queue_sleeps_for_the_timeout)
{
    struct weir_chunk_queue queue;
    weir_chunk_queue_init(&queue);
    uint64_t before_ns = weir_clock_now_ns(&weir_clock_monotonic);
    weir_chunk_queue_park(&queue, 1, PARK_MS);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - before_ns, PARK_MS * WEIR_NS_PER_MS);
    cr_assert_eq(queue.parked, 0);
}

Test(chunk_queue, park_for_more_chunks_than_there_are_sleeps_for_the_timeout)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[2];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 2);
    for (unsigned n = 0; n < 2; n++) /* what was popped does not count */
        weir_chunk_queue_push(&queue, &chunks[n]);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunks[0]);
    uint64_t before_ns = weir_clock_now_ns(&weir_clock_monotonic);
    cr_assert_eq(weir_chunk_queue_park(&queue, 2, PARK_MS), WEIR_PARK_TIMED_OUT);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - before_ns, PARK_MS * WEIR_NS_PER_MS);
    cr_assert_eq(weir_chunk_queue_park(&queue, 1, NO_SLEEP_MS), WEIR_PARK_NEEDLESS);
}

/* The word of a writer that sleeps until so many chunks stand in the queue; nobody does. */
static void play_parked_writer(struct weir_chunk_queue *queue, uint64_t wake_at)
{
    queue->parked = 1;
    queue->wake_at = wake_at;
}

Test(chunk_queue, push_wakes_only_when_it_completes_the_number_that_the_writer_parked_for)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[CHUNK_COUNT];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, CHUNK_COUNT);
    play_parked_writer(&queue, 2);
    weir_chunk_queue_push(&queue, &chunks[0]);
    cr_assert_eq(queue.parked, 1);
    weir_chunk_queue_push(&queue, &chunks[1]);
    cr_assert_eq(queue.parked, 2);
    queue.parked = 0; /* awake: nobody is to be woken, however many there are */
    weir_chunk_queue_push(&queue, &chunks[2]);
    cr_assert_eq(queue.parked, 0);
}

/* Also one that comes when the writer has looked at the queue and is not parked yet. */
Test(chunk_queue, push_of_what_is_awaited_ends_the_park_and_the_next_one, .timeout = 30)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunks[2];
    weir_chunk_queue_init(&queue);
    make_chunks(chunks, 2);
    chunks[0].awaited = chunks[1].awaited = true;
    play_parked_writer(&queue, 8);
    weir_chunk_queue_push(&queue, &chunks[0]);
    cr_assert_eq(queue.parked, 2);
    queue.parked = 0;
    weir_chunk_queue_push(&queue, &chunks[1]);
    cr_assert_eq(weir_chunk_queue_park(&queue, 8, NO_SLEEP_MS), WEIR_PARK_WOKEN);
}

Test(chunk_queue, park_of_a_filled_queue_returns_at_once, .timeout = 30)
{
    struct weir_chunk_queue queue;
    struct weir_chunk chunk;
    weir_chunk_queue_init(&queue);
    make_chunks(&chunk, 1);
    weir_chunk_queue_push(&queue, &chunk);
    weir_chunk_queue_park(&queue, 1, NO_SLEEP_MS);
    cr_assert_eq(weir_chunk_queue_pop(&queue), &chunk);
}

/* Otherwise a stop that comes between the writer's look at its flag and its park would be slept through. */
Test(chunk_queue, wake_before_the_park_is_not_lost_and_counts_once, .timeout = 30)
{
    struct weir_chunk_queue queue;
    weir_chunk_queue_init(&queue);
    weir_chunk_queue_wake(&queue);
    weir_chunk_queue_wake(&queue);
    cr_assert_eq(weir_chunk_queue_park(&queue, 1, NO_SLEEP_MS), WEIR_PARK_WOKEN);
    uint64_t before_ns = weir_clock_now_ns(&weir_clock_monotonic);
    weir_chunk_queue_park(&queue, 1, PARK_MS);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - before_ns, PARK_MS * WEIR_NS_PER_MS);
}
