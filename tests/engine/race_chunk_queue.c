/*
 * Producers that push chunks, a coordinator that pushes markers, and a writer that pops and parks, for one chunk or for
 * several. The writer finds the chunks of each producer in the order of its pushes, and a marker that was pushed after
 * a producer had published "I am past" behind all chunks of that producer from before: what rounds rest on. The last
 * wake comes without a push. A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/chunk_queue.h"
#include "tests/engine/parking.h"

#define PRODUCERS       3
#define PUSHES          20000u
#define PRODUCER_CHUNKS 4
#define MARKERS         4
#define BATCH           4     /* what the writer parks for, in turn with 1; any thread alone can push so many */
#define PARK_MS         60000 /* longer than the test may take: a lost wake shows as its time limit */

struct producer {
    struct weir_chunk_queue *queue; /* borrowed */
    struct weir_chunk chunks[PRODUCER_CHUNKS];
    unsigned number;
    _Atomic uint32_t pushed; /* published after the push, with release: the reader's passed_epoch */
    pthread_t thread;
};

struct marker {
    struct weir_chunk chunk;
    uint32_t pushed[PRODUCERS]; /* what each producer had published before this marker was pushed */
};

struct race {
    struct weir_chunk_queue queue;
    struct producer producers[PRODUCERS];
    struct marker markers[MARKERS];
    _Atomic bool finished; /* before the last wake */
    uint32_t popped[PRODUCERS];
    uint64_t markers_popped;
    unsigned failures;
};

/* A chunk carries its producer in index and its number in used. */
static void *produce(void *argument)
{
    struct producer *producer = argument;
    for (uint32_t n = 0; n < PUSHES; n++) {
        struct weir_chunk *chunk = &producer->chunks[n % PRODUCER_CHUNKS];
        while (atomic_load_explicit(&chunk->state, memory_order_acquire) != WEIR_CHUNK_FREE)
            sched_yield();
        weir_chunk_advance(chunk, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
        chunk->index = producer->number;
        chunk->used = n;
        weir_chunk_queue_push(producer->queue, chunk);
        atomic_store_explicit(&producer->pushed, n + 1, memory_order_release);
        if (n % 1000 == 0)
            sched_yield(); /* lets the writer park now and then */
    }
    return NULL;
}

static bool all_pushed(const struct marker *marker)
{
    for (unsigned i = 0; i < PRODUCERS; i++) {
        if (marker->pushed[i] != PUSHES)
            return false;
    }
    return true;
}

static void *push_markers(void *argument)
{
    struct race *race = argument;
    bool last = false;
    for (unsigned n = 0; !last; n++) {
        struct marker *marker = &race->markers[n % MARKERS];
        while (atomic_load_explicit(&marker->chunk.state, memory_order_acquire) != WEIR_CHUNK_FREE)
            sched_yield();
        for (unsigned i = 0; i < PRODUCERS; i++)
            marker->pushed[i] = atomic_load_explicit(&race->producers[i].pushed, memory_order_acquire);
        last = all_pushed(marker);
        weir_chunk_advance(&marker->chunk, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
        marker->chunk.awaited = n % 2; /* some wake the writer by themselves */
        weir_chunk_queue_push(&race->queue, &marker->chunk);
        sched_yield();
    }
    atomic_store_explicit(&race->finished, true, memory_order_release);
    weir_chunk_queue_wake(&race->queue);
    return NULL;
}

static void take(struct race *race, struct weir_chunk *chunk)
{
    if (chunk->kind == WEIR_CHUNK_ROUND) {
        const struct marker *marker = (const struct marker *)(const void *)chunk;
        for (unsigned i = 0; i < PRODUCERS; i++)
            race->failures += race->popped[i] < marker->pushed[i];
        race->markers_popped++;
    } else {
        race->failures += chunk->used != race->popped[chunk->index];
        race->popped[chunk->index]++;
    }
    weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
}

static void consume(struct race *race)
{
    for (unsigned parks = 0;;) {
        bool finished = atomic_load_explicit(&race->finished, memory_order_acquire);
        struct weir_chunk *chunk = weir_chunk_queue_pop(&race->queue);
        if (chunk) {
            take(race, chunk);
            continue;
        }
        if (finished && weir_chunk_queue_is_empty(&race->queue))
            return;
        if (weir_chunk_queue_park(&race->queue, parks++ % 2 ? BATCH : 1, PARK_MS) == WEIR_PARK_NEEDLESS)
            sched_yield(); /* those that count may stand behind one that is not linked yet */
    }
}

static int report(const struct race *race)
{
    unsigned failures = race->failures;
    for (unsigned i = 0; i < PRODUCERS; i++) {
        printf("producer %u: popped %u of %u\n", i, race->popped[i], PUSHES);
        failures += race->popped[i] != PUSHES;
    }
    printf("markers popped: %llu, out of order: %u\n", (unsigned long long)race->markers_popped, race->failures);
    return failures ? 1 : 0;
}

static int run(void *ctx)
{
    (void)ctx;
    static struct race race;
    memset(&race, 0, sizeof(race));
    pthread_t marker_thread;
    weir_chunk_queue_init(&race.queue);
    for (unsigned i = 0; i < MARKERS; i++)
        race.markers[i].chunk.kind = WEIR_CHUNK_ROUND;
    for (unsigned i = 0; i < PRODUCERS; i++) {
        race.producers[i].queue = &race.queue;
        race.producers[i].number = i;
        if (pthread_create(&race.producers[i].thread, NULL, produce, &race.producers[i]))
            return 1;
    }
    if (pthread_create(&marker_thread, NULL, push_markers, &race))
        return 1;
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    consume(&race);
    for (unsigned i = 0; i < PRODUCERS; i++)
        pthread_join(race.producers[i].thread, NULL);
    pthread_join(marker_thread, NULL);
    if (weir_clock_now_ns(&weir_clock_monotonic) - started_ns >= PARK_MS * WEIR_NS_PER_MS) {
        printf("a wake was lost: the writer slept to the end of a park\n");
        return 1;
    }
    return report(&race);
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_QUEUE_LINK, WEIR_AT_QUEUE_COUNT, WEIR_AT_QUEUE_WAKE,
                                                  WEIR_AT_QUEUE_REST, WEIR_AT_QUEUE_PARK};
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, NULL) ? 1 : 0;
}
