/* Descriptors and their callbacks: who is called, in which order, and what callbacks may do to the set. */
#include "engine/kernel/poll_set.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/base/failing_alloc.h"

#define SOURCES 20 /* the arrays grow twice */

struct fixture;

struct source {
    struct fixture *fixture;
    int fd;
    unsigned calls;
    short revents;
    unsigned turn; /* of the last call, among all */
};

struct fixture {
    struct weir_poll_set set;
    struct source sources[SOURCES];
    unsigned turns;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.set = WEIR_POLL_SET_INIT};
    for (int i = 0; i < SOURCES; i++)
        f->sources[i] = (struct source){.fixture = f, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

static void fixture_fini(struct fixture *f)
{
    weir_poll_set_fini(&f->set);
    for (int i = 0; i < SOURCES; i++)
        close(f->sources[i].fd);
}

static void note(void *ctx, short revents)
{
    struct source *source = ctx;
    source->calls++;
    source->revents = revents;
    source->turn = ++source->fixture->turns;
}

static void add(struct fixture *f, int i, weir_poll_ready ready)
{
    cr_assert_eq(weir_poll_set_add(&f->set, f->sources[i].fd, POLLIN, ready, &f->sources[i]), 0);
}

Test(poll_set, fini_takes_null)
{
    weir_poll_set_fini(NULL);
}

Test(poll_set, descriptor_that_is_not_in_it_is_passed_over)
{
    struct weir_poll_set set = WEIR_POLL_SET_INIT;
    weir_poll_set_remove(&set, 3);
    weir_poll_set_remove(&set, -1);
    cr_assert_eq(weir_poll_set_wait(&set, 0), 0);
    weir_poll_set_fini(&set);
}

Test(poll_set, no_memory_is_told_and_the_others_stay)
{
    struct fixture f;
    fixture_init(&f);
    failing_alloc_after(0);
    cr_assert_eq(weir_poll_set_add(&f.set, f.sources[0].fd, POLLIN, note, &f.sources[0]), -ENOMEM);
    failing_alloc_after(1);
    cr_assert_eq(weir_poll_set_add(&f.set, f.sources[0].fd, POLLIN, note, &f.sources[0]), -ENOMEM);
    failing_alloc_never();
    for (int i = 0; i < 8; i++)
        add(&f, i, note);
    failing_alloc_after(1);
    cr_assert_eq(weir_poll_set_add(&f.set, f.sources[8].fd, POLLIN, note, &f.sources[8]), -ENOMEM);
    failing_alloc_never();
    eventfd_write(f.sources[7].fd, 1);
    eventfd_write(f.sources[8].fd, 1);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 1);
    cr_assert_eq(f.sources[7].calls, 1);
    fixture_fini(&f);
}

Test(poll_set, only_ready_ones_are_called_in_the_order_of_adding)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < SOURCES; i++)
        add(&f, i, note);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 0);
    eventfd_write(f.sources[17].fd, 1);
    eventfd_write(f.sources[3].fd, 1);
    cr_assert_eq(weir_poll_set_wait(&f.set, -1), 2);
    cr_assert_eq(f.sources[3].turn, 1);
    cr_assert_eq(f.sources[17].turn, 2);
    cr_assert_eq(f.sources[3].revents, POLLIN);
    cr_assert_eq(f.turns, 2);
    fixture_fini(&f);
}

Test(poll_set, removed_one_is_not_called_and_may_come_back)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 0, note);
    add(&f, 1, note);
    eventfd_write(f.sources[0].fd, 1);
    eventfd_write(f.sources[1].fd, 1);
    weir_poll_set_remove(&f.set, f.sources[0].fd);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 1);
    cr_assert_eq(f.sources[0].calls, 0);
    add(&f, 0, note);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 2);
    cr_assert_eq(f.sources[0].turn, 3); /* behind number 1 now */
    fixture_fini(&f);
}

Test(poll_set, source_is_called_again_once_without_being_ready_and_without_sleep, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 0, note);
    add(&f, 1, note);
    weir_poll_set_call_again(&f.set, f.sources[1].fd);
    cr_assert_eq(weir_poll_set_wait(&f.set, -1), 1);
    cr_assert_eq(f.sources[1].calls, 1);
    cr_assert_eq(f.sources[1].revents, 0);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 0);
    weir_poll_set_change(&f.set, f.sources[1].fd, 0);
    weir_poll_set_call_again(&f.set, f.sources[1].fd);
    cr_assert_eq(weir_poll_set_wait(&f.set, -1), 1); /* also a source that waits for nothing */
    cr_assert_eq(f.sources[1].calls, 2);
    fixture_fini(&f);
}

static void go_last(void *ctx, short revents)
{
    struct source *source = ctx;
    note(ctx, revents);
    weir_poll_set_move_last(&source->fixture->set, source->fd);
}

Test(poll_set, sources_that_go_last_take_turns)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < SOURCES; i++) {
        add(&f, i, go_last);
        eventfd_write(f.sources[i].fd, 1);
    }
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), SOURCES); /* each once, though each moves */
    weir_poll_set_move_last(&f.set, f.sources[0].fd);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), SOURCES);
    cr_assert_eq(f.sources[1].turn, SOURCES + 1);
    cr_assert_eq(f.sources[0].turn, 2 * SOURCES);
    for (int i = 0; i < SOURCES; i++)
        cr_assert_eq(f.sources[i].calls, 2);
    fixture_fini(&f);
}

static void remove_all(void *ctx, short revents)
{
    struct source *source = ctx;
    note(ctx, revents);
    for (int i = 0; i < SOURCES; i++)
        weir_poll_set_remove(&source->fixture->set, source->fixture->sources[i].fd);
}

Test(poll_set, callback_may_remove_itself_and_others)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 0, remove_all);
    add(&f, 1, note);
    eventfd_write(f.sources[0].fd, 1);
    eventfd_write(f.sources[1].fd, 1);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 1);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 0);
    cr_assert_eq(f.sources[0].calls, 1);
    cr_assert_eq(f.sources[1].calls, 0);
    fixture_fini(&f);
}

static void add_the_rest(void *ctx, short revents)
{
    struct source *source = ctx;
    note(ctx, revents);
    for (int i = 2; i < SOURCES && source->calls == 1; i++)
        add(source->fixture, i, note);
}

Test(poll_set, callback_may_add_others_that_are_called_from_the_next_time_on)
{
    struct fixture f;
    fixture_init(&f);
    add(&f, 0, add_the_rest);
    add(&f, 1, note);
    for (int i = 0; i < SOURCES; i++)
        eventfd_write(f.sources[i].fd, 1);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 2);
    cr_assert_eq(f.sources[1].calls, 1);
    cr_assert_eq(f.sources[SOURCES - 1].calls, 0);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), SOURCES);
    cr_assert_eq(f.sources[SOURCES - 1].calls, 1);
    fixture_fini(&f);
}

Test(poll_set, hang_up_is_told)
{
    struct fixture f;
    int ends[2];
    fixture_init(&f);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_eq(weir_poll_set_add(&f.set, ends[0], POLLIN, note, &f.sources[0]), 0);
    close(ends[1]);
    cr_assert_eq(weir_poll_set_wait(&f.set, -1), 1);
    cr_assert_eq(f.sources[0].revents, POLLHUP);
    close(ends[0]);
    fixture_fini(&f);
}

Test(poll_set, source_that_waits_for_nothing_is_not_called_even_for_a_hang_up)
{
    struct fixture f;
    int ends[2];
    fixture_init(&f);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_eq(weir_poll_set_add(&f.set, ends[0], POLLIN, note, &f.sources[0]), 0);
    weir_poll_set_change(&f.set, ends[0], 0);
    close(ends[1]);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 0);
    weir_poll_set_change(&f.set, ends[0], POLLIN);
    cr_assert_eq(weir_poll_set_wait(&f.set, 0), 1);
    close(ends[0]);
    fixture_fini(&f);
}
