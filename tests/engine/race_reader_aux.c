/*
 * A PMU that writes an AUX area, its reader, and coordinator with writer, each on a thread of its own. The words are
 * written in the kernel's order (ring.h). Three things are proved:
 *
 *     bytes     What comes out of the queue is what was written, byte for byte, however it is cut; and nothing is read
 *               that the kernel may write to at that moment (ThreadSanitizer).
 *     barrier   A marker that is opened behind an AUX record in the ring leaves the queue behind the bytes that the
 *               record tells of.
 *     stop      A PMU that stops because its area is full is let go on in the end.
 *
 * A plain program, so that it also runs under ThreadSanitizer. The argument is the number of traces.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "engine/aux/aux_drain.h"
#include "engine/drain/reader.h"
#include "engine/drain/rounds.h"
#include "format/aux_records.h"
#include "tests/engine/parking.h"
#include "tests/engine/raw_kernel.h"

#define RING_BYTES (16u << 10)
#define AREA_BYTES (64u << 10)
#define TRACES     3000u
#define PARKED     300u
#define TRACE_MAX  40000u
#define CHUNKS     6u
#define SAMPLE_ID  7u
#define LIMIT_NS   (60 * WEIR_NS_PER_S)

struct record { /* PERF_RECORD_AUX with an id */
    struct perf_event_header header;
    uint64_t offset, bytes, flags, id;
};

struct race {
    struct raw_kernel raw; /* first: its functions get the race for it */
    const struct weir_kernel_ops *raw_ops;
    struct weir_kernel_ops ops; /* of raw, but for poll */
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_reader_control control;
    struct weir_id_map ids;
    struct weir_reader reader;
    struct weir_reader *readers[1];
    struct weir_rounds rounds;
    _Atomic unsigned live;
    unsigned traces;
    uint64_t written;           /* by the PMU: bytes of the area, once it has ended */
    _Atomic uint64_t announced; /* by the PMU: what the records in the ring tell of */
    _Atomic bool enabled, ended;
    uint64_t stops;
    uint64_t announced_at[WEIR_ROUND_MARKERS]; /* when the epoch of the marker of that number was opened */
    uint64_t seen, markers, early, wrong;
    uint64_t now_ns;
    int fd; /* owned: what would wake the coordinator, who never sleeps here */
};

struct run {
    struct race race;
    unsigned traces;
};

static uint8_t byte_at(uint64_t position)
{
    return (uint8_t)(position * 2654435761u >> 24);
}

/* ---- the kernel ---- */

/* Not sched_yield(2): who records all system calls beside us would have nothing else in memory. */
static void rest(void)
{
    weir_clock_pause_ns(20000);
}

/* A reader sleeps, if only for a moment: nothing wakes it for what is written. */
static int poll_slowly(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct race *race = ctx;
    (void)timeout_ms;
    rest();
    return race->raw_ops->poll(ctx, fds, count, 0);
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Waits for room in the ring, which is never lost here. */
static void put_record(struct race *race, uint64_t offset, uint64_t bytes, uint64_t flags)
{
    struct raw_ring *ring = &race->raw.rings[0];
    const struct record record = {{.type = PERF_RECORD_AUX, .size = sizeof(record)}, offset, bytes, flags, SAMPLE_ID};
    uint64_t head = ring->page->data_head; /* our own word */
    while (ring->bytes - (head - load((const uint64_t *)&ring->page->data_tail)) < sizeof(record))
        rest();
    for (size_t i = 0; i < sizeof(record); i++)
        ring->data[(head + i) & (ring->bytes - 1)] = ((const uint8_t *)&record)[i];
    __atomic_store_n(&ring->page->data_head, head + sizeof(record), __ATOMIC_RELEASE);
}

/* perf_aux_output_begin() to _end(): as much as there is room for, and a stop when there is none. */
static void trace(struct race *race, uint64_t wanted)
{
    struct raw_ring *ring = &race->raw.rings[0];
    uint64_t head = race->written, tail = load((const uint64_t *)&ring->page->aux_tail);
    uint64_t bytes = weir_min_u64(wanted, AREA_BYTES - (head - tail));
    for (uint64_t i = 0; i < bytes; i++)
        ring->area[(head + i) & (AREA_BYTES - 1)] = byte_at(head + i);
    if (bytes < wanted) {
        race->stops++;
        atomic_store_explicit(&race->enabled, false, memory_order_relaxed);
    }
    put_record(race, head, bytes, bytes < wanted ? PERF_AUX_FLAG_TRUNCATED : 0);
    atomic_store_explicit(&race->announced, head + bytes, memory_order_release);
    if (head % 7 == 0)
        rest(); /* the reader sees the record, and not yet what it is of */
    race->written = head + bytes;
    __atomic_store_n(&ring->page->aux_head, race->written, __ATOMIC_RELEASE);
}

static void *run_pmu(void *argument)
{
    struct race *race = argument;
    for (unsigned n = 0; n < race->traces; n++) {
        while (!atomic_load_explicit(&race->enabled, memory_order_acquire))
            rest();
        trace(race, 8 * (1 + n * 7919u % (TRACE_MAX / 8)));
    }
    atomic_store_explicit(&race->ended, true, memory_order_release);
    return NULL;
}

static void *run_reader(void *argument)
{
    weir_reader_run(argument);
    return NULL;
}

/* ---- coordinator and writer ---- */

static void look_at_train(struct race *race, const struct weir_chunk *train)
{
    struct weir_auxtrace record = weir_auxtrace_read(train->data);
    race->wrong += record.offset != race->seen;
    uint64_t at = record.offset;
    for (const struct weir_chunk *chunk = train; chunk; chunk = chunk->follower) {
        for (uint32_t i = chunk == train ? WEIR_AUXTRACE_RECORD_BYTES : 0; i < chunk->used; i++, at++)
            race->wrong += chunk->data[i] != byte_at(at);
    }
    race->wrong += at != record.offset + record.bytes; /* all traces are multiples of 8: there is no padding */
    race->seen = at;
}

static void consume(struct race *race)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&race->queue))) {
        if (chunk->kind == WEIR_CHUNK_ROUND) {
            race->early += race->seen < race->announced_at[race->markers++ % WEIR_ROUND_MARKERS];
            weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
            continue;
        }
        if (chunk->opaque)
            look_at_train(race, chunk);
        weir_pool_put_train(&race->pool, chunk);
    }
}

/* One step with an epoch wanted at all times. */
static void advance(struct race *race)
{
    struct weir_rounds *rounds = &race->rounds;
    struct weir_aux_drain *aux = race->reader.rings.at[0].aux;
    if (atomic_exchange_explicit(&aux->wants_enable, false, memory_order_acquire))
        atomic_store_explicit(&race->enabled, true, memory_order_release);
    if (!rounds->open)
        race->announced_at[rounds->pushed % WEIR_ROUND_MARKERS] =
            atomic_load_explicit(&race->announced, memory_order_acquire);
    race->now_ns += WEIR_ROUND_GRACE_NS;
    weir_rounds_want(rounds, true);
    weir_rounds_advance(rounds, race->now_ns);
}

static void init(struct race *race, unsigned traces)
{
    memset(race, 0, sizeof(*race));
    race->traces = traces;
    raw_kernel_init(&race->raw);
    race->raw_ops = race->raw.kernel.ops;
    race->ops = *race->raw_ops;
    race->ops.poll = poll_slowly;
    race->raw.kernel.ops = &race->ops;
    struct weir_pool_share share = {.node = -1, .readers = 1};
    weir_assert(weir_pool_init(&race->pool, CHUNKS * WEIR_CHUNK_MIN_BYTES, WEIR_POOL_ALL_READY, WEIR_CHUNK_MIN_BYTES, 0,
                               &share, 1, NULL) == 0);
    weir_chunk_queue_init(&race->queue);
    race->control.stop_epoch = UINT64_MAX;
    weir_assert(weir_id_map_init(&race->ids, 1) == 0);
    atomic_init(&race->live, 1);
    race->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    weir_assert(race->fd >= 0);
    const struct weir_reader_setup setup = {
        .kernel = &race->raw.kernel,
        .control = &race->control,
        .sink = {.pool = &race->pool, .queue = &race->queue},
        .layout = {.ids = &race->ids, .id_offset = 8, .time_offset = 16},
        .event_count = 1,
        .reader_count = 1,
        .ring_count = 1,
        .live_readers = &race->live,
        .ended_fd = race->fd,
        .aux = &weir_aux_drain_hooks,
        .aux_fd = race->fd,
    };
    weir_assert(weir_reader_init(&race->reader, &setup) == 0);
    struct weir_reader_ring *r = &race->reader.rings.at[0];
    weir_assert(weir_ring_map(&r->ring, &race->raw.kernel, 0, RING_BYTES) == 0);
    weir_assert(weir_aux_area_map(&r->aux->area, &r->ring, 0, AREA_BYTES, false) == 0);
    r->aux->entry_bytes = 1;
    static const int poll_fd = 1000;
    weir_reader_ring_set_poll_fds(r, &poll_fd, 1);
    race->readers[0] = &race->reader;
    weir_rounds_init(&race->rounds, &race->control, race->readers, 1, &race->queue, 0);
    atomic_init(&race->enabled, true);
}

static void fini(struct race *race)
{
    weir_reader_fini(&race->reader);
    weir_assert(weir_pool_free_count(&race->pool) == CHUNKS);
    weir_pool_fini(&race->pool);
    weir_id_map_fini(&race->ids);
    close(race->fd);
}

static int run(void *ctx)
{
    struct run *run = ctx;
    struct race *race = &run->race;
    pthread_t pmu, reader;
    init(race, run->traces);
    weir_assert(pthread_create(&reader, NULL, run_reader, &race->reader) == 0);
    weir_assert(pthread_create(&pmu, NULL, run_pmu, race) == 0);
    uint64_t began_ns = weir_clock_now_ns(&weir_clock_monotonic);
    bool ended = false;
    while (!ended && weir_clock_now_ns(&weir_clock_monotonic) - began_ns < LIMIT_NS) {
        ended = atomic_load_explicit(&race->ended, memory_order_acquire);
        advance(race);
        consume(race);
        rest();
    }
    if (!ended) { /* it would wait for ever */
        printf("the PMU was never let go on\n");
        exit(1);
    }
    pthread_join(pmu, NULL);
    weir_rounds_stop(&race->rounds, false);
    while (!weir_reader_has_passed(&race->reader, race->control.stop_epoch)) {
        consume(race); /* it may wait for chunks */
        rest();
    }
    pthread_join(reader, NULL);
    consume(race);
    printf("%llu bytes in %llu pieces, %llu cut; area full %llu times; markers %llu, early %llu; wrong %llu\n",
           (unsigned long long)race->seen, (unsigned long long)race->reader.rings.at[0].aux->pieces,
           (unsigned long long)race->reader.rings.at[0].aux->cut_pieces, (unsigned long long)race->stops,
           (unsigned long long)race->markers, (unsigned long long)race->early, (unsigned long long)race->wrong);
    int failures = race->early || race->wrong || race->seen != race->written || race->markers == 0;
    fini(race);
    run->traces = PARKED;
    return failures;
}

int main(int argc, char **argv)
{
    static const enum weir_test_point points[] = {WEIR_AT_AUX_HEAD, WEIR_AT_AUX_RELEASE, WEIR_AT_READER_RELEASE,
                                                  WEIR_AT_READER_PASS};
    static struct run state;
    state.traces = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : TRACES;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &state) ? 1 : 0;
}
