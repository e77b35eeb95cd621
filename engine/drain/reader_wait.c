/*
 * How a reader sleeps and is woken: poll(2) on the rings and a wake descriptor, the end of what the rings belong to,
 * rings that are mapped later. wait() runs on the reader's thread, the others on the coordinator. Protocol: (M) and (N)
 * of reader.h.
 */
#include "engine/drain/reader_internal.h"

#include <sys/eventfd.h>

#include "base/assert.h"
#include "engine/kernel/test_point.h"

void weir_reader_set_poll_fds(struct weir_reader_ring *r, const int *fds, unsigned count)
{
    r->poll_fds = fds;
    r->poll_fd_count = count;
    r->poll_fd = 0;
    while (r->poll_fd < count && fds[r->poll_fd] < 0)
        r->poll_fd++;
}

/* A dormant ring is of a CPU that has another ring, and its tasks are that one's. */
static bool all_ended(const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        if (!weir_reader_is_dormant(r) && r->poll_fd < r->poll_fd_count)
            return false;
    }
    return true;
}

/* The descriptor in use has hung up: its task is gone. Takes the next one; after the last one of the last ring of the
 * last reader the coordinator is told. */
static void next_poll_fd(struct weir_reader *reader, struct weir_reader_ring *r)
{
    do {
        r->poll_fd++;
    } while (r->poll_fd < r->poll_fd_count && r->poll_fds[r->poll_fd] < 0);
    if (reader->ended || reader->ended_fd < 0 || !all_ended(reader))
        return;
    reader->ended = true;
    /* Relaxed: nothing but the number itself is told. */
    if (atomic_fetch_sub_explicit(reader->live_readers, 1, memory_order_relaxed) == 1)
        eventfd_write(reader->ended_fd, 1);
}

void weir_reader_wait(struct weir_reader *reader, enum weir_reader_state state)
{
    uint64_t taken = atomic_load_explicit(&reader->wakes_taken, memory_order_relaxed); /* our own word */
    reader->polls[0] = (struct pollfd){.fd = reader->wake_fds[taken % 2], .events = POLLIN};
    for (unsigned i = 0; i < reader->ring_count; i++) {
        const struct weir_reader_ring *r = &reader->rings[i];
        bool dormant =
            weir_reader_is_dormant(r); /* then the coordinator may be mapping it: nothing of it is looked at */
        /* A negative descriptor is passed over by poll(2). */
        int fd = !dormant && r->poll_fd < r->poll_fd_count ? r->poll_fds[r->poll_fd] : -1;
        /* A ring of the newest records is read on demand: of its descriptors only the end matters. */
        reader->polls[i + 1] = (struct pollfd){.fd = fd, .events = !dormant && !r->ring.newest ? POLLIN : 0};
    }

    int timeout_ms = state == WEIR_READER_STARVED ? (int)reader->starved_wait_ms : -1;
    weir_test_point(WEIR_AT_READER_SLEEP);
    int ready = reader->kernel->ops->poll(reader->kernel->ctx, reader->polls, reader->ring_count + 1, timeout_ms);
    if (ready <= 0)
        return;

    bool data = false;
    for (unsigned i = 0; i < reader->ring_count; i++) {
        short events = reader->polls[i + 1].revents;
        data |= (events & POLLIN) != 0;
        if (events & (POLLHUP | POLLERR | POLLNVAL))
            next_poll_fd(reader, &reader->rings[i]);
    }
    reader->wakeups += data;
    if (reader->polls[0].revents & POLLIN) {
        weir_test_point(WEIR_AT_READER_WOKEN);
        /* (M); and release: the coordinator's next use of this descriptor comes after our poll of it. */
        atomic_store_explicit(&reader->wakes_taken, taken + 1, memory_order_seq_cst);
    }
}

void weir_reader_wake(struct weir_reader *reader)
{
    /* (M); and acquire pairs with the release in wait(): the reader polls the other descriptor by now. */
    if (reader->wakes_sent != atomic_load_explicit(&reader->wakes_taken, memory_order_seq_cst))
        return;
    if (reader->wakes_sent > 0) {
        eventfd_t used;
        eventfd_read(reader->wake_fds[(reader->wakes_sent - 1) % 2], &used);
    }
    eventfd_write(reader->wake_fds[reader->wakes_sent % 2], 1);
    reader->wakes_sent++;
}

void weir_reader_end_dormancy(struct weir_reader *reader, struct weir_reader_ring *r)
{
    weir_assert(r->ring.page && r->poll_fd_count > 0);
    atomic_store_explicit(&r->dormant, false, memory_order_seq_cst); /* (N) */
    weir_test_point(WEIR_AT_RING_BEGUN);
    weir_reader_wake(reader);
}
