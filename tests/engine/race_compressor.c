/*
 * A writer and compression threads: what goes in by thousands, of all sizes, now and then with a pause in which the
 * threads fall asleep, comes out in the same order and is the same when it is decompressed. A plain program, so that it
 * also runs under ThreadSanitizer.
 */
#include <linux/perf_event.h>
#include <sched.h>
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

static int run(void *ctx)
{
    (void)ctx;
    static struct race race;
    memset(&race, 0, sizeof(race));
    struct weir_error err = {0};
    const struct weir_compressor_setup setup = {.level = 1, .workers = WORKERS, .chunk_bytes = CHUNK_BYTES};
    race.data = calloc(CHUNKS, CHUNK_BYTES);
    for (unsigned i = 0; race.data && i < CHUNKS; i++)
        race.chunks[i].data = race.data + (size_t)i * CHUNK_BYTES;
    if (!race.data || weir_compressor_init(&race.compressor, &setup, &err) < 0 ||
        weir_compressor_start(&race.compressor, &err) < 0) {
        printf("cannot set up: %s\n", err.what);
        return 1;
    }
    submit_all(&race);
    weir_compressor_stop(&race.compressor);
    printf("%llu bytes compressed to %llu, %llu as they were; %u failures\n",
           (unsigned long long)race.compressor.totals.in_bytes, (unsigned long long)race.compressor.totals.out_bytes,
           (unsigned long long)race.compressor.totals.raw_bytes, race.failures);
    weir_compressor_fini(&race.compressor);
    free(race.data);
    return race.failures ? 1 : 0;
}

int main(void)
{
    static const enum weir_test_point points[] = {
        WEIR_AT_COMPRESS_OFFER,
        WEIR_AT_COMPRESS_TAKE,
        WEIR_AT_COMPRESS_DONE,
        WEIR_AT_COMPRESS_SLEEP,
    };
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, NULL) ? 1 : 0;
}
