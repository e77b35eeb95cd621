/*
 * A writer and compression threads: what goes in by thousands, of all sizes, now and then with a pause in which the
 * threads fall asleep, comes out in the same order and is the same when it is decompressed. And a thread that falls
 * asleep while all are to end. A plain program, so that it also runs under ThreadSanitizer. How little of the memory
 * order of x86-64 the protocol rests on: model_compressor.c.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/compressor.h"
#include "tests/engine/parking.h"
#include "tests/format/expand.h"

#define WORKERS     3u
#define CHUNK_BYTES (128u * 1024)
#define SUBMITS     3000u
#define CHUNKS      64u /* more than there are slots */
#define PAUSE_EVERY 500u

struct race {
    struct weir_compressor compressor;
    struct weir_chunk chunks[CHUNKS];
    uint8_t *data;
    uint64_t submitted, completed;
    unsigned failures;
};

/* Numbers that tell which chunk it is. */
static void fill(struct weir_chunk *chunk, uint64_t number)
{
    chunk->kind = number % 17 == 3 ? WEIR_CHUNK_ROUND : WEIR_CHUNK_DATA;
    chunk->used = chunk->kind == WEIR_CHUNK_ROUND ? 8
                  : number % 8 == 1               ? CHUNK_BYTES /* keeps a worker awake while more is offered */
                                                  : 64 + 8 * (uint32_t)(number * 7919 % 2000);
    struct perf_event_header header = {.type = 9, .size = 8};
    for (uint32_t at = 0; at < chunk->used; at += 8) {
        header.misc = (uint16_t)(number + (at * 2654435761u >> 24));
        memcpy(chunk->data + at, &header, sizeof(header));
    }
}

static void take(struct race *race, const struct weir_compressor_result *result)
{
    const struct weir_chunk *wanted = &race->chunks[race->completed % CHUNKS];
    struct weir_buf out = WEIR_BUF_INIT;
    const char *failure = "another chunk";
    bool good = result->chunk == wanted &&
                expand_records(result->data, result->bytes, CHUNK_BYTES, &out, NULL, 0, &failure) &&
                out.used == wanted->used && memcmp(out.data, wanted->data, wanted->used) == 0;
    if (!good && race->failures++ == 0)
        printf("chunk %llu: %s\n", (unsigned long long)race->completed, failure ? failure : "other bytes");
    weir_buf_fini(&out);
    weir_compressor_complete(&race->compressor, result->chunk);
    race->completed++;
}

static void submit_all(struct race *race)
{
    struct weir_compressor_result result;
    while (race->completed < SUBMITS) {
        while (race->submitted < SUBMITS && race->submitted - race->completed < CHUNKS &&
               weir_compressor_can_submit(&race->compressor)) {
            struct weir_chunk *chunk = &race->chunks[race->submitted % CHUNKS];
            fill(chunk, race->submitted);
            weir_compressor_submit(&race->compressor, chunk, race->submitted % 5 == 0);
            race->submitted++;
            if (race->submitted % 4 == 2)
                weir_compressor_kick(&race->compressor);
        }
        weir_compressor_kick(&race->compressor);
        bool any = false;
        while (weir_compressor_next(&race->compressor, &result)) {
            take(race, &result);
            any = true;
        }
        if (any && race->completed % PAUSE_EVERY < 8) {
            const struct timespec pause = {.tv_nsec = WEIR_NS_PER_MS};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        } else if (!any) {
            sched_yield();
        }
    }
}

static bool start(struct race *race, unsigned workers)
{
    memset(race, 0, sizeof(*race));
    struct weir_error err = {0};
    const struct weir_compressor_setup setup = {.level = 1, .workers = workers, .chunk_bytes = CHUNK_BYTES};
    race->data = calloc(CHUNKS, CHUNK_BYTES);
    for (unsigned i = 0; race->data && i < CHUNKS; i++)
        race->chunks[i].data = race->data + (size_t)i * CHUNK_BYTES;
    bool started = race->data && weir_compressor_init(&race->compressor, &setup, &err) == 0 &&
                   weir_compressor_start(&race->compressor, &err) == 0;
    if (!started)
        printf("cannot set up: %s\n", err.what);
    /* As who excludes weir's own threads: each has told its id by now. */
    for (unsigned i = 0; started && i < workers; i++)
        started = race->compressor.workers[i].tid > 0;
    return started;
}

static int run(void *ctx)
{
    (void)ctx;
    static struct race race;
    if (!start(&race, WORKERS))
        return 1;
    submit_all(&race);
    weir_compressor_stop(&race.compressor);
    printf("%llu bytes compressed to %llu, %llu as they were; %u failures\n",
           (unsigned long long)race.compressor.totals.in_bytes, (unsigned long long)race.compressor.totals.out_bytes,
           (unsigned long long)race.compressor.totals.raw_bytes, race.failures);
    weir_compressor_fini(&race.compressor);
    free(race.data);
    return race.failures ? 1 : 0;
}

#ifdef WEIR_TEST_POINTS
struct end {
    struct race race;
    _Atomic bool held, stopped;
};

static bool is_held(const struct end *end)
{
    return atomic_load_explicit(&end->held, memory_order_acquire);
}

/* Gives the worker something to do until it is held on its way to sleep, and ends it then. */
static void *end_worker(void *argument)
{
    struct end *end = argument;
    struct weir_compressor *compressor = &end->race.compressor;
    struct weir_compressor_result result;
    while (!is_held(end)) {
        struct weir_chunk *chunk = &end->race.chunks[end->race.submitted % CHUNKS];
        fill(chunk, end->race.submitted++);
        weir_compressor_submit(compressor, chunk, false);
        weir_compressor_kick(compressor);
        bool done = false;
        while (!done && !is_held(end)) {
            done = weir_compressor_next(compressor, &result);
            sched_yield();
        }
        if (done)
            weir_compressor_complete(compressor, chunk);
        weir_clock_pause_ns(5 * WEIR_NS_PER_MS); /* in which the worker goes to sleep */
    }
    weir_compressor_stop(compressor);
    atomic_store_explicit(&end->stopped, true, memory_order_release);
    return NULL;
}

/* It has seen that there is nothing to do, and is not asleep yet, when the end comes. */
static int end_while_one_falls_asleep(void)
{
    static struct end end;
    pthread_t thread;
    if (!start(&end.race, 1) || pthread_create(&thread, NULL, end_worker, &end) != 0)
        return 1;
    bool held = parking_hold(WEIR_AT_COMPRESS_SLEEP);
    atomic_store_explicit(&end.held, true, memory_order_release);
    weir_clock_pause_ns(20 * WEIR_NS_PER_MS);
    bool early = atomic_load_explicit(&end.stopped, memory_order_acquire);
    parking_release();
    for (unsigned looks = 0; looks < 2000 && !atomic_load_explicit(&end.stopped, memory_order_acquire); looks++)
        weir_clock_pause_ns(10 * WEIR_NS_PER_MS);
    bool stopped = atomic_load_explicit(&end.stopped, memory_order_acquire);
    printf("ended while one falls asleep: %s\n", !held || early ? "NOT HELD" : stopped ? "holds" : "FAILED");
    if (!stopped) /* it sleeps for ever, and whoever ends it waits for it */
        return 1;
    pthread_join(thread, NULL);
    weir_compressor_fini(&end.race.compressor);
    free(end.race.data);
    return !held || early;
}
#else
static int end_while_one_falls_asleep(void)
{
    return 0;
}
#endif

int main(void)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_COMPRESS_OFFER,
        WEIR_AT_COMPRESS_TAKE,
        WEIR_AT_COMPRESS_DONE,
        WEIR_AT_COMPRESS_SLEEP,
    };
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, NULL) + end_while_one_falls_asleep() ? 1 : 0;
}
