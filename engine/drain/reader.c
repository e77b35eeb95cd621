/*
 * A reader: its steps, its sleep, and how it is woken. step(), wait() and run() are called on the reader's own thread;
 * the coordinator calls the others. The protocol and its edges: reader.h.
 */
#include "engine/drain/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/probe.h"
#include "engine/kernel/test_point.h"

/* A reader that waits for a chunk comes again after so long. Hundreds of readers that came each millisecond would use
 * more CPU time than their copying. */
#define STARVED_POLL_MS     1 /* a ring is half full or more, or at first */
#define STARVED_POLL_MS_MAX 8 /* otherwise: doubled each time up to here */

/* ---- making and taking apart ---- */

static int init_retention(struct weir_reader *reader)
{
    const struct weir_reader_setup *setup = &reader->setup;
    if (setup->retained_chunks == 0)
        return 0;
    reader->retention = calloc(1, sizeof(*reader->retention));
    if (!reader->retention)
        return -ENOMEM;
    return weir_retention_init(reader->retention, &(struct weir_retention_setup){
                                                      .pool = setup->sink.pool,
                                                      .room = setup->retained_chunks,
                                                      .span_ns = setup->retained_span_ns,
                                                      .counters = (size_t)setup->ring_count * setup->event_count,
                                                      .sink = &reader->sink,
                                                      .rings = &reader->rings,
                                                  });
}

static int init_aux(struct weir_reader *reader)
{
    const struct weir_aux_hooks *hooks = reader->setup.aux;
    if (!hooks)
        return 0;
    int result = hooks->init(&reader->aux, &reader->sink, &reader->rings, reader->setup.aux_fd);
    reader->sink.aux = hooks;
    reader->sink.aux_ctx = reader->aux;
    return result;
}

static int init_parts(struct weir_reader *reader)
{
    const struct weir_reader_setup *setup = &reader->setup;
    const struct weir_shedder_setup shedder = {
        .plan = setup->shed,
        .layout = &setup->layout,
        .set = setup->set,
        .sink = &reader->sink,
        .rings = &reader->rings,
        .reader_count = setup->reader_count,
    };
    weir_chunk_sink_init(&reader->sink, &setup->sink);
    weir_mark_maker_init(&reader->marks, &reader->sink, &reader->rings);
    int result = weir_reader_rings_init(&reader->rings, setup->ring_count, setup->event_count);
    if (result == 0)
        result = init_aux(reader);
    if (result == 0)
        result = init_retention(reader);
    if (result == 0)
        result = weir_shedder_init(&reader->shedder, &shedder);
    reader->drainer = (struct weir_drainer){
        .sink = &reader->sink,
        .retention = reader->retention,
        .shedder = &reader->shedder,
        .marks = &reader->marks,
        .layout = &setup->layout,
        .set = setup->set,
        .off_cpu_event = setup->set ? (unsigned)(1 + weir_event_set_off_cpu_event(setup->set)) : 0,
    };
    return result;
}

int weir_reader_init(struct weir_reader *reader, const struct weir_reader_setup *setup)
{
    memset(reader, 0, sizeof(*reader));
    reader->setup = *setup;
    reader->wake_fds[0] = reader->wake_fds[1] = -1;
    for (int i = 0; i < 2; i++) {
        reader->wake_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (reader->wake_fds[i] < 0)
            return -errno;
    }
    reader->polls = calloc(setup->ring_count + 1, sizeof(*reader->polls));
    return reader->polls ? init_parts(reader) : -ENOMEM;
}

void weir_reader_drop_ring(struct weir_reader *reader, struct weir_reader_ring *r)
{
    if (reader->setup.aux)
        reader->setup.aux->drop_ring(reader->aux, r);
    weir_reader_rings_drop(&reader->rings, r);
}

void weir_reader_fini(struct weir_reader *reader)
{
    if (!reader)
        return;
    weir_chunk_sink_fini(&reader->sink);
    weir_retention_fini(reader->retention);
    free(reader->retention);
    if (reader->setup.aux)
        reader->setup.aux->fini(reader->aux);
    weir_reader_rings_fini(&reader->rings);
    free(reader->polls);
    for (int i = 0; i < 2; i++) {
        if (reader->wake_fds[i] >= 0)
            close(reader->wake_fds[i]);
    }
    memset(reader, 0, sizeof(*reader));
    reader->wake_fds[0] = reader->wake_fds[1] = -1;
}

/* ---- steps ---- */

/* Publishes the reader's counts of its rings. Relaxed: the numbers are read for their own sake. */
static void publish_rings(struct weir_reader *reader)
{
    uint64_t starved = 0, bytes = 0, newest_ns = 0;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        starved += r->lost_while_starved;
        bytes += r->drained_bytes;
        newest_ns = weir_max_u64(newest_ns, r->newest_ns);
    }
    atomic_store_explicit(&reader->handed_starved, starved, memory_order_relaxed);
    atomic_store_explicit(&reader->drained_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&reader->drained_newest_ns, newest_ns, memory_order_relaxed);
}

/* Publishes how far the reader is. */
static void publish_counts(struct weir_reader *reader)
{
    reader->told_handed = reader->sink.handed;
    weir_reader_rings_tell(&reader->rings);
    publish_rings(reader);
    /* Relaxed: the numbers are read for their own sake. */
    atomic_store_explicit(&reader->handed_samples, weir_reader_rings_samples(&reader->rings), memory_order_relaxed);
    atomic_store_explicit(&reader->handed_wakeups, reader->wakeups, memory_order_relaxed);
}

/* Relaxed: the word hands nothing over. */
static void note_fullest(struct weir_reader *reader)
{
    uint32_t fill = reader->drainer.fill_per_mille;
    if (fill > atomic_load_explicit(&reader->fullest_per_mille, memory_order_relaxed))
        atomic_store_explicit(&reader->fullest_per_mille, fill, memory_order_relaxed);
}

/* Whether one of the epochs after `passed`, up to `epoch`, is a snapshot. */
static bool is_snapshot(const struct weir_reader *reader, uint64_t passed, uint64_t epoch)
{
    /* Relaxed: (epoch-open) publishes it. */
    uint64_t snapshot = atomic_load_explicit(&reader->setup.control->snapshot_epoch, memory_order_relaxed);
    return snapshot > passed && snapshot <= epoch;
}

static bool is_last(const struct weir_reader *reader, uint64_t epoch)
{
    /* Relaxed: (epoch-open) publishes it. */
    return epoch >= atomic_load_explicit(&reader->setup.control->stop_epoch, memory_order_relaxed);
}

/* Drains a ring, and its AUX area up to the AUX records seen. False: come again. */
static bool drain_ring(struct weir_reader *reader, struct weir_reader_ring *r)
{
    const struct weir_aux_hooks *aux = reader->setup.aux;
    if (!aux)
        return weir_drainer_drain(&reader->drainer, r);
    uint64_t published = aux->published(reader->aux, r);
    bool all = weir_drainer_drain(&reader->drainer, r);
    return aux->drain(reader->aux, r, published, reader->drainer.stopping) && all;
}

/* Also drains the rings behind one that has to wait: each is to know that its losses from now on are the pool's fault.
 * False: come again. */
static bool drain_all(struct weir_reader *reader)
{
    bool all = true;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        if (!weir_reader_ring_is_dormant(&reader->rings.at[i]))
            all &= drain_ring(reader, &reader->rings.at[i]);
    }
    return all;
}

/* Reads the rings and AUX areas of the newest records. False: come again. */
static bool read_all_newest(struct weir_reader *reader)
{
    const struct weir_aux_hooks *aux = reader->setup.aux;
    bool all = true;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        struct weir_reader_ring *r = &reader->rings.at[i];
        if (weir_reader_ring_is_dormant(r))
            continue;
        if (r->ring.newest)
            all &= weir_drainer_read_newest(&reader->drainer, r);
        if (aux)
            all &= aux->read_newest(reader->aux, r);
    }
    if (all && aux)
        aux->end_newest(reader->aux);
    return all;
}

/* Hands over the retained chunks for a snapshot, or evicts them at the end. False: come again. */
static bool pass_retained(struct weir_reader *reader, uint64_t epoch, bool snapshot)
{
    /* Relaxed: (epoch-open) publishes it. */
    uint64_t newest_ns = atomic_load_explicit(&reader->setup.control->newest_ns, memory_order_relaxed);
    if (snapshot)
        return weir_retention_hand_over(reader->retention, newest_ns);
    return !is_last(reader, epoch) || weir_retention_evict_all(reader->retention, newest_ns);
}

/* Publishes the samples handed over so far: nothing is retained. Relaxed: (epoch-passed) publishes it. */
static void note_snapshot(struct weir_reader *reader)
{
    uint64_t evicted = reader->retention ? weir_retention_evicted(reader->retention) : 0;
    uint64_t samples = weir_reader_rings_samples(&reader->rings) - evicted;
    atomic_store_explicit(&reader->snapshot_samples, samples, memory_order_relaxed);
    if (reader->retention)
        atomic_store_explicit(&reader->snapshot_first_ns, reader->retention->handed_first_ns, memory_order_relaxed);
}

/* All rings are drained: hands over their records, and passes the epoch. False: come again. */
static bool pass_epoch(struct weir_reader *reader, uint64_t passed, uint64_t epoch, uint64_t began_ns)
{
    struct weir_chunk_sink *sink = &reader->sink;
    bool snapshot = is_snapshot(reader, passed, epoch);
    if (sink->untold_rings > 0 && !weir_shedder_tell_all(&reader->shedder))
        return false;
    if (reader->retention && !pass_retained(reader, epoch, snapshot))
        return false;
    if (snapshot && !read_all_newest(reader))
        return false;
    if (sink->chunk && sink->chunk->used > 0)
        weir_chunk_sink_hand_over(sink);
    if (snapshot)
        note_snapshot(reader);
    publish_counts(reader); /* (epoch-passed): the timeline of a file that ends at this epoch is exact */
    weir_test_point(WEIR_AT_READER_PASS);
    atomic_store_explicit(&reader->passed_ns, began_ns, memory_order_relaxed); /* a hint, for who wakes the reader */
    atomic_store_explicit(&reader->passed_epoch, epoch, memory_order_release); /* (epoch-passed) */
    return true;
}

static void note_look(struct weir_reader *reader, uint64_t began_ns, bool leaves_behind)
{
    if (began_ns == 0)
        return;
    weir_drain_watch_look(&reader->drain_watch,
                          &(struct weir_drain_look){
                              .at_ns = began_ns,
                              .rotations = &reader->setup.control->rotations,
                              .due = reader->wakeups != reader->looked_wakeups || reader->starved_wait_ms > 0,
                              .leaves_behind = leaves_behind,
                              .fill_per_mille = reader->drainer.fill_per_mille,
                          });
    reader->looked_wakeups = reader->wakeups;
}

/* False: come again. */
static bool step(struct weir_reader *reader, uint64_t epoch, uint64_t began_ns)
{
    uint64_t passed = atomic_load_explicit(&reader->passed_epoch, memory_order_relaxed); /* our own word */
    weir_test_point(WEIR_AT_READER_EPOCH);
    weir_drainer_begin(&reader->drainer, is_last(reader, epoch));
    if (weir_chunk_sink_pressure(&reader->sink) > WEIR_PRESSURE_NONE)
        weir_chunk_sink_note_pressure(&reader->sink);

    bool all = drain_all(reader);
    note_fullest(reader);
    note_look(reader, began_ns, !all);
    if (!all)
        return false;
    reader->starved_wait_ms = 0;
    if (reader->retention) /* relaxed: a hint, for the span of other readers */
        atomic_store_explicit(&reader->newest_ns, reader->retention->newest_ns, memory_order_relaxed);
    weir_mark_maker_drained(&reader->marks, began_ns);
    return epoch == passed || pass_epoch(reader, passed, epoch, began_ns);
}

/* The pool is empty: sets the time until the next step. */
static void wait_for_chunk(struct weir_reader *reader)
{
    uint64_t steps = atomic_load_explicit(&reader->starved_steps, memory_order_relaxed); /* our own word */
    atomic_store_explicit(&reader->starved_steps, steps + 1, memory_order_relaxed);
    reader->starved_wait_ms = reader->drainer.half_full || reader->starved_wait_ms == 0
                                  ? STARVED_POLL_MS
                                  : (unsigned)weir_min_u64(2ull * reader->starved_wait_ms, STARVED_POLL_MS_MAX);
}

enum weir_reader_state weir_reader_step(struct weir_reader *reader)
{
    const struct weir_clock *clock = reader->setup.sink.clock;
    uint64_t began_ns = clock ? weir_clock_now_ns(clock) : 0;
    /* (epoch-open), (reader-wake) */
    uint64_t epoch = atomic_load_explicit(&reader->setup.control->epoch, memory_order_seq_cst);
    bool all = step(reader, epoch, began_ns);
    if (reader->told_handed != reader->sink.handed)
        publish_counts(reader);
    if (!all) {
        wait_for_chunk(reader);
        return WEIR_READER_STARVED;
    }
    return is_last(reader, epoch) ? WEIR_READER_STOPPED : WEIR_READER_DRAINED;
}

/* ---- sleeping and waking ---- */

/* Whether the descriptors of all awake rings have hung up. No target depends on a dormant ring. */
static bool all_ended(const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        if (!weir_reader_ring_is_dormant(r) && r->poll_fd < r->poll_fd_count)
            return false;
    }
    return true;
}

/* Turns to the next descriptor of a ring: the current one has hung up, because its task is gone. Tells the coordinator
 * after the last descriptor of the last ring of the last reader. */
static void next_poll_fd(struct weir_reader *reader, struct weir_reader_ring *r)
{
    do {
        r->poll_fd++;
    } while (r->poll_fd < r->poll_fd_count && r->poll_fds[r->poll_fd] < 0);
    if (reader->ended || reader->setup.ended_fd < 0 || !all_ended(reader))
        return;
    reader->ended = true;
    /* Relaxed: only the number matters. */
    if (atomic_fetch_sub_explicit(reader->setup.live_readers, 1, memory_order_relaxed) == 1)
        eventfd_write(reader->setup.ended_fd, 1);
}

void weir_reader_wait(struct weir_reader *reader, enum weir_reader_state state)
{
    uint64_t taken = atomic_load_explicit(&reader->wakes_taken, memory_order_relaxed); /* our own word */
    reader->polls[0] = (struct pollfd){.fd = reader->wake_fds[taken % 2], .events = POLLIN};
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        bool dormant = weir_reader_ring_is_dormant(r); /* the coordinator may be mapping it: leave the rest alone */
        /* poll(2) skips a negative descriptor. */
        int fd = !dormant && r->poll_fd < r->poll_fd_count ? r->poll_fds[r->poll_fd] : -1;
        /* A ring of the newest records is read on demand: only the hang-up of its descriptors matters. */
        reader->polls[i + 1] = (struct pollfd){.fd = fd, .events = !dormant && !r->ring.newest ? POLLIN : 0};
    }

    int timeout_ms = state == WEIR_READER_STARVED ? (int)reader->starved_wait_ms : -1;
    weir_test_point(WEIR_AT_READER_SLEEP);
    const struct weir_kernel *kernel = reader->setup.kernel;
    int ready = kernel->ops->poll(kernel->ctx, reader->polls, reader->rings.count + 1, timeout_ms);
    if (ready <= 0)
        return;

    bool data = false;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        short events = reader->polls[i + 1].revents;
        data |= (events & POLLIN) != 0;
        if (events & (POLLHUP | POLLERR | POLLNVAL))
            next_poll_fd(reader, &reader->rings.at[i]);
    }
    reader->wakeups += data;
    weir_probe_wake(reader->setup.sink.number, data);
    if (reader->polls[0].revents & POLLIN) {
        weir_test_point(WEIR_AT_READER_WOKEN);
        /* (reader-wake); and release: the coordinator's next use of this descriptor comes after our poll of it. */
        atomic_store_explicit(&reader->wakes_taken, taken + 1, memory_order_seq_cst);
    }
}

void weir_reader_wake(struct weir_reader *reader)
{
    /* (reader-wake); and acquire pairs with the release in wait(): the reader polls the other descriptor by now. */
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
    atomic_store_explicit(&r->dormant, false, memory_order_seq_cst); /* (ring-awake) */
    weir_test_point(WEIR_AT_RING_BEGUN);
    weir_reader_wake(reader);
}

void weir_reader_run(struct weir_reader *reader)
{
    for (;;) {
        enum weir_reader_state state = weir_reader_step(reader);
        if (state == WEIR_READER_STOPPED)
            return;
        weir_reader_wait(reader, state);
    }
}

/* ---- questions ---- */

uint64_t weir_reader_evicted(const struct weir_reader *reader, unsigned ring, unsigned event)
{
    return reader->retention ? reader->retention->evicted[(size_t)ring * reader->rings.event_count + event] : 0;
}

bool weir_reader_has_passed(const struct weir_reader *reader, uint64_t epoch)
{
    return atomic_load_explicit(&reader->passed_epoch, memory_order_acquire) >= epoch; /* (epoch-passed) */
}

bool weir_reader_is_past(const struct weir_reader *reader, uint64_t epoch)
{
    return weir_reader_has_passed(reader, epoch) || weir_reader_is_idle(reader);
}

bool weir_reader_is_idle(const struct weir_reader *reader)
{
    /* The rings first: a thread that sees a ring drained (ring-drained) sees holding as stored before the release. */
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        if (!weir_reader_ring_is_dormant(r) && !weir_ring_is_drained(&r->ring))
            return false;
    }
    return !atomic_load_explicit(&reader->sink.holding, memory_order_acquire); /* (holding-clear) */
}

uint32_t weir_reader_take_fullest(struct weir_reader *reader)
{
    return atomic_exchange_explicit(&reader->fullest_per_mille, 0, memory_order_relaxed); /* see note_fullest() */
}

bool weir_reader_wakes_soon(const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        if (!weir_reader_ring_is_dormant(r) &&
            weir_ring_fill(&r->ring) >= r->ring.bytes / WEIR_RING_WATERMARK_SHARE / 2)
            return true;
    }
    return false;
}
