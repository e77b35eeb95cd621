/*
 * A writer and the threads of the stage: what goes in by thousands, of all sizes, now and then with a pause in which
 * the threads fall asleep, comes out in the same order, rewritten by the steps, and compressed in one of the runs. And
 * a thread that falls asleep while all are to end. A plain program, so that it also runs under ThreadSanitizer. How
 * little of the memory order of x86-64 the protocol rests on: model_chunk_stage.c.
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
#include "engine/drain/chunk_stage.h"
#include "tests/engine/parking.h"
#include "tests/format/expand.h"

#define WORKERS     3u
#define CHUNK_BYTES (128u * 1024)
#define SUBMITS     1500u
#define CHUNKS      64u /* more than there are slots */
#define PAUSE_EVERY 500u

struct race {
    struct weir_chunk_stage stage;
    struct weir_chunk chunks[CHUNKS];
    uint8_t *data;
    uint32_t filled[CHUNKS]; /* bytes of each chunk when it went in */
    uint64_t submitted, completed, dropped;
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

/* A step that drops the second half of a chunk, but for one record, and counts what it drops in its state. */
static size_t state_bytes(const void *plan, uint32_t chunk_bytes)
{
    (void)plan;
    (void)chunk_bytes;
    return sizeof(uint64_t);
}

static void *begin_step(const void *plan, uint32_t chunk_bytes)
{
    (void)plan;
    (void)chunk_bytes;
    return calloc(1, sizeof(uint64_t));
}

static uint32_t kept_of(uint32_t bytes)
{
    return bytes / 16 * 8 + 8;
}

static void halve(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    (void)is_hurried;
    uint32_t kept = kept_of(chunk->used);
    *(uint64_t *)state += chunk->used - kept;
    chunk->used = kept;
}

static const struct weir_chunk_rewriter halving = {NULL, state_bytes, begin_step, free, halve};

static void take(struct race *race, const struct weir_chunk_stage_result *result)
{
    const struct weir_chunk *wanted = &race->chunks[race->completed % CHUNKS];
    struct weir_buf out = WEIR_BUF_INIT;
    const char *failure = "another chunk";
    uint32_t filled = race->filled[race->completed % CHUNKS];
    bool is_rewritten = race->stage.setup.rewriter_count > 0 && wanted->kind == WEIR_CHUNK_DATA;
    uint32_t used = is_rewritten ? kept_of(kept_of(filled)) : filled;
    bool good = result->chunk == wanted &&
                expand_records(result->data, result->bytes, CHUNK_BYTES, &out, NULL, 0, &failure) &&
                wanted->used == used && out.used == used && memcmp(out.data, wanted->data, used) == 0;
    race->dropped += filled - used;
    if (!good && race->failures++ == 0)
        printf("chunk %llu: %s\n", (unsigned long long)race->completed, failure ? failure : "other bytes");
    weir_buf_fini(&out);
    weir_chunk_stage_complete(&race->stage, result->chunk);
    race->completed++;
}

static void submit_all(struct race *race)
{
    struct weir_chunk_stage_result result;
    while (race->completed < SUBMITS) {
        while (race->submitted < SUBMITS && race->submitted - race->completed < CHUNKS &&
               weir_chunk_stage_can_submit(&race->stage)) {
            struct weir_chunk *chunk = &race->chunks[race->submitted % CHUNKS];
            fill(chunk, race->submitted);
            race->filled[race->submitted % CHUNKS] = chunk->used;
            weir_chunk_stage_submit(&race->stage, chunk, race->submitted % 5 == 0);
            race->submitted++;
            if (race->submitted % 4 == 2)
                weir_chunk_stage_kick(&race->stage);
        }
        if (race->submitted == SUBMITS)
            weir_chunk_stage_let_go(&race->stage);
        weir_chunk_stage_kick(&race->stage);
        bool any = false;
        while (weir_chunk_stage_next(&race->stage, &result)) {
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

/* steps: how often the rewriting step is set up; their states add up. */
static bool start(struct race *race, unsigned workers, int level, unsigned steps, bool holds)
{
    memset(race, 0, sizeof(*race));
    struct weir_error err = {0};
    const struct weir_chunk_stage_setup setup = {
        .rewriters = {halving, halving},
        .rewriter_count = steps,
        .holds = holds,
        .level = level,
        .workers = workers,
        .chunk_bytes = CHUNK_BYTES,
    };
    race->data = calloc(CHUNKS, CHUNK_BYTES);
    for (unsigned i = 0; race->data && i < CHUNKS; i++)
        race->chunks[i].data = race->data + (size_t)i * CHUNK_BYTES;
    bool started = race->data && weir_chunk_stage_init(&race->stage, &setup, &err) == 0 &&
                   weir_chunk_stage_start(&race->stage, &err) == 0;
    if (!started)
        printf("cannot set up: %s\n", err.what);
    /* As who excludes weir's own threads: each has told its id by now. */
    for (unsigned i = 0; started && i < workers; i++)
        started = race->stage.workers[i].tid > 0;
    return started;
}

static int run_with(int level, unsigned steps, bool holds)
{
    static struct race race;
    if (!start(&race, WORKERS, level, steps, holds))
        return 1;
    submit_all(&race);
    weir_chunk_stage_stop(&race.stage);
    for (unsigned i = 0; i < WORKERS * steps; i++)
        race.dropped -= *(const uint64_t *)race.stage.workers[i / steps].states[i % steps];
    if (race.dropped != 0 && race.failures++ == 0)
        printf("the states of the workers do not count what was dropped\n");
    printf("%llu bytes compressed to %llu, %llu as they were; %u failures\n",
           (unsigned long long)race.stage.totals.in_bytes, (unsigned long long)race.stage.totals.out_bytes,
           (unsigned long long)race.stage.totals.raw_bytes, race.failures);
    weir_chunk_stage_fini(&race.stage);
    free(race.data);
    return race.failures ? 1 : 0;
}

static int run(void *ctx)
{
    (void)ctx;
    return run_with(1, 0, false) + run_with(0, 2, true) + run_with(1, 2, false) ? 1 : 0;
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
    struct weir_chunk_stage *stage = &end->race.stage;
    struct weir_chunk_stage_result result;
    while (!is_held(end)) {
        struct weir_chunk *chunk = &end->race.chunks[end->race.submitted % CHUNKS];
        fill(chunk, end->race.submitted++);
        weir_chunk_stage_submit(stage, chunk, false);
        weir_chunk_stage_kick(stage);
        bool done = false;
        while (!done && !is_held(end)) {
            done = weir_chunk_stage_next(stage, &result);
            sched_yield();
        }
        if (done)
            weir_chunk_stage_complete(stage, chunk);
        weir_clock_pause_ns(5 * WEIR_NS_PER_MS); /* in which the worker goes to sleep */
    }
    weir_chunk_stage_stop(stage);
    atomic_store_explicit(&end->stopped, true, memory_order_release);
    return NULL;
}

/* It has seen that there is nothing to do, and is not asleep yet, when the end comes. */
static int end_while_one_falls_asleep(void)
{
    static struct end end;
    pthread_t thread;
    if (!start(&end.race, 1, 1, 0, false) || pthread_create(&thread, NULL, end_worker, &end) != 0)
        return 1;
    bool held = parking_hold(WEIR_AT_STAGE_SLEEP);
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
    weir_chunk_stage_fini(&end.race.stage);
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
        WEIR_AT_STAGE_OFFER,
        WEIR_AT_STAGE_TAKE,
        WEIR_AT_STAGE_DONE,
        WEIR_AT_STAGE_SLEEP,
    };
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, NULL) + end_while_one_falls_asleep() ? 1 : 0;
}
