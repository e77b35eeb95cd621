/*
 * How readers sleep, are woken, and notice that their tasks are gone. poll(2) answers as the test says; the two wake
 * descriptors are real.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "engine/drain/reader.h"
#include "tests/engine/reader_rig.h"

static void wait_drained(struct reader_rig *rig)
{
    weir_reader_wait(&rig->readers[0], WEIR_READER_DRAINED);
}

/* The sum of what was written to an eventfd since the last look; 0: nothing. */
static uint64_t written(int fd)
{
    eventfd_t count = 0;
    return eventfd_read(fd, &count) == 0 ? count : 0;
}

/* Without taking anything. */
static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

/* ---- sleeping ---- */

Test(reader_wait, drained_reader_sleeps_without_end_on_wake_and_rings)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    wait_drained(&rig);
    cr_assert_eq(rig.raw.polled_timeout_ms, -1);
    cr_assert_eq(rig.raw.polled_count, 3);
    cr_assert_eq(rig.raw.polled[0].fd, rig.readers[0].wake_fds[0]);
    cr_assert_eq(rig.raw.polled[1].fd, rig.poll_fds[0]);
    cr_assert_eq(rig.raw.polled[2].fd, rig.poll_fds[1]);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(rig.raw.polled[i].events, POLLIN);
    cr_assert_eq(rig.readers[0].wakeups, 0);
    rig_fini(&rig);
}

/* Takes all chunks, so that a record has to stay in its ring. */
static unsigned take_all(struct reader_rig *rig, struct weir_chunk **taken)
{
    unsigned count = 0;
    while ((taken[count] = weir_pool_take(&rig->pool, 0, true)))
        count++;
    return count;
}

static int starved_wait_ms(struct reader_rig *rig)
{
    cr_assert_eq(weir_reader_step(&rig->readers[0]), WEIR_READER_STARVED);
    weir_reader_wait(&rig->readers[0], WEIR_READER_STARVED);
    return rig->raw.polled_timeout_ms;
}

Test(reader_wait, starved_reader_comes_again_soon_and_then_more_rarely)
{
    struct reader_rig rig;
    struct weir_chunk *taken[8];
    rig_init(&rig, &(struct rig_options){.ring_bytes = 4096});
    unsigned count = take_all(&rig, taken);
    rig_put_sample(&rig, 0, 0, 64);
    const int waits_ms[] = {1, 2, 4, 8, 8};
    for (unsigned i = 0; i < 5; i++)
        cr_assert_eq(starved_wait_ms(&rig), waits_ms[i]);

    for (unsigned n = 1; n < 32; n++) /* half of the ring */
        rig_put_sample(&rig, 0, n, 64);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(starved_wait_ms(&rig), 1);

    while (count > 0)
        weir_pool_put(&rig.pool, taken[--count]);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    cr_assert_eq(rig.readers[0].starved_wait_ms, 0);
    rig_fini(&rig);
}

Test(reader_wait, wake_ups_with_data_are_counted_once_however_many_rings)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 3});
    rig.raw.revents[0] = rig.raw.revents[2] = POLLIN;
    wait_drained(&rig);
    cr_assert_eq(rig.readers[0].wakeups, 1);
    weir_reader_wake(&rig.readers[0]); /* no data: not one of them */
    rig.raw.revents[0] = rig.raw.revents[2] = 0;
    wait_drained(&rig);
    cr_assert_eq(rig.readers[0].wakeups, 1);
    rig_fini(&rig);
}

/* ---- waking ---- */

Test(reader_wait, at_most_one_wake_is_under_way)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    for (unsigned i = 0; i < 3; i++)
        weir_reader_wake(&rig.readers[0]);
    cr_assert_eq(rig.readers[0].wakes_sent, 1);
    cr_assert_eq(written(rig.readers[0].wake_fds[0]), 1);
    cr_assert_eq(written(rig.readers[0].wake_fds[1]), 0);
    rig_fini(&rig);
}

Test(reader_wait, wake_descriptors_alternate_and_the_reader_reads_neither)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    struct weir_reader *reader = &rig.readers[0];
    for (uint64_t n = 0; n < 7; n++) {
        weir_reader_wake(reader);
        cr_assert_eq(reader->wakes_sent, n + 1);
        cr_assert(is_readable(reader->wake_fds[n % 2]));
        cr_assert_not(is_readable(reader->wake_fds[(n + 1) % 2]), "the used one was emptied");
        wait_drained(&rig);
        cr_assert_eq(rig.raw.polled[0].fd, reader->wake_fds[n % 2]);
        cr_assert_eq(reader->wakes_taken, n + 1);
        cr_assert(is_readable(reader->wake_fds[n % 2]), "the reader left it as it was");
        wait_drained(&rig); /* on the other one: it sleeps again */
        cr_assert_eq(rig.raw.polled[0].fd, reader->wake_fds[(n + 1) % 2]);
        cr_assert_eq(reader->wakes_taken, n + 1);
    }
    rig_fini(&rig);
}

/* ---- tasks that go away ---- */

Test(reader_wait, descriptors_of_tasks_that_were_gone_at_the_open_are_passed_over)
{
    const int none[] = {-1, -1}, second[] = {-1, 55, -1};
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 2});
    weir_reader_ring_set_poll_fds(&rig.readers[0].rings.at[0], none, 2);
    weir_reader_ring_set_poll_fds(&rig.readers[0].rings.at[1], second, 3);
    wait_drained(&rig);
    cr_assert_eq(rig.raw.polled[1].fd, -1);
    cr_assert_eq(rig.raw.polled[2].fd, 55);
    rig_fini(&rig);
}

static const short hang_ups[] = {POLLHUP, POLLERR, POLLNVAL, POLLIN | POLLHUP};

Test(reader_wait, hang_up_moves_to_the_next_descriptor_and_the_last_one_is_told)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(hang_ups); i++) {
        const int fds[] = {50, -1, 52};
        struct reader_rig rig;
        rig_init(&rig, &(struct rig_options){0});
        weir_reader_ring_set_poll_fds(&rig.readers[0].rings.at[0], fds, 3);
        wait_drained(&rig);
        cr_assert_eq(rig.raw.polled[1].fd, 50);
        rig.raw.revents[0] = hang_ups[i];
        wait_drained(&rig);
        cr_assert_eq(written(rig.ended_fd), 0);
        wait_drained(&rig);
        cr_assert_eq(rig.raw.polled[1].fd, 52);
        cr_assert_eq(written(rig.ended_fd), 1);
        wait_drained(&rig);
        cr_assert_eq(rig.raw.polled[1].fd, -1);
        cr_assert_eq(written(rig.ended_fd), 0);
        rig_fini(&rig);
    }
}

Test(reader_wait, end_is_told_when_all_rings_have_hung_up)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 3});
    rig.raw.revents[1] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 0);
    rig.raw.revents[1] = 0;
    rig.raw.revents[0] = rig.raw.revents[2] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 1);
    rig_fini(&rig);
}

Test(reader_wait, end_is_told_by_the_last_of_several_readers)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.readers = 2});
    rig.raw.revents[0] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 0);
    weir_reader_wait(&rig.readers[1], WEIR_READER_DRAINED);
    cr_assert_eq(written(rig.ended_fd), 1);
    rig_fini(&rig);
}

Test(reader_wait, end_is_told_once_whatever_rings_are_dormant_or_wake_up)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 3});
    struct weir_reader *reader = &rig.readers[0];
    reader->rings.at[1].dormant = true;
    rig.raw.revents[0] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 0);
    rig.raw.revents[0] = 0;
    rig.raw.revents[2] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(rig.raw.polled[2].fd, -1, "nobody polls a dormant ring");
    cr_assert_eq(written(rig.ended_fd), 1);
    weir_reader_end_dormancy(reader, &reader->rings.at[1]);
    rig.raw.revents[1] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 0);
    cr_assert_eq(rig.live_readers, 0);
    rig_fini(&rig);
}

Test(reader_wait, dropped_ring_is_neither_polled_nor_waited_for)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){.rings_per_reader = 3});
    weir_ring_unmap(&rig.readers[0].rings.at[1].ring);
    weir_reader_drop_ring(&rig.readers[0], &rig.readers[0].rings.at[1]);
    cr_assert_eq(rig.readers[0].rings.count, 2);
    wait_drained(&rig);
    cr_assert_eq(rig.raw.polled[1].fd, 1000);
    cr_assert_eq(rig.raw.polled[2].fd, 1002);
    rig.raw.revents[0] = rig.raw.revents[1] = POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(written(rig.ended_fd), 1);
    rig_fini(&rig);
}

Test(reader_wait, data_that_comes_with_the_hang_up_is_still_read)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    rig_put_sample(&rig, 0, 1, 64);
    rig.raw.revents[0] = POLLIN | POLLHUP;
    wait_drained(&rig);
    cr_assert_eq(rig.readers[0].wakeups, 1);
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    rig_expect_samples(&rig, rig_pop(&rig), 1, 1);
    rig_fini(&rig);
}

Test(reader_wait, reader_without_an_ended_descriptor_only_stops_polling)
{
    struct reader_rig rig;
    rig_init(&rig, &(struct rig_options){0});
    rig.readers[0].setup.ended_fd = -1;
    rig.raw.revents[0] = POLLHUP;
    wait_drained(&rig);
    wait_drained(&rig);
    cr_assert_eq(rig.raw.polled[1].fd, -1);
    cr_assert_not(rig.readers[0].ended);
    cr_assert_eq(rig.live_readers, 1);
    rig_fini(&rig);
}
