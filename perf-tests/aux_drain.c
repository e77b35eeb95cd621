/*
 * What draining an AUX area costs beyond the copying. Runs in turn a reader's steps over an area that is half full each
 * time, and memcpy(3) of the same halves into the same kind of memory.
 *
 *     aux_drain [--runs N] [--mb N] [--area-kb N]
 *
 * The program writes the area before each step, as a PMU would, and does not count that time. One thread, nothing
 * written to a disk. Prints JSON: medians of the runs, in MB per second of CPU time. "checksum" is the sum of the bytes
 * that AUXTRACE records describe, and must equal the bytes written.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "base/spread.h"
#include "engine/aux/aux_drain.h"
#include "engine/drain/reader.h"
#include "format/aux_records.h"
#include "tests/engine/raw_kernel.h"

#define RUNS_MAX    32u
#define USAGE_EXIT  2
#define RING_BYTES  (64u << 10)
#define CHUNK_BYTES (1u << 20)
#define KIB         1024u
#define BYTES_IN_MB 1e6

struct settings {
    unsigned runs, mb, area_kb;
};

struct bench {
    struct raw_kernel raw;
    struct weir_pool pool;
    struct weir_chunk_queue queue;
    struct weir_reader_control control;
    struct weir_id_map ids;
    struct weir_reader reader;
    _Atomic unsigned live;
    int fd;
    uint64_t area_bytes, position, seen;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void init(struct bench *bench, uint64_t area_bytes)
{
    const struct weir_pool_share share = {.node = -1, .readers = 1};
    memset(bench, 0, sizeof(*bench));
    bench->area_bytes = area_bytes;
    raw_kernel_init(&bench->raw);
    weir_assert(weir_pool_init(&bench->pool, 2 * area_bytes + 4 * CHUNK_BYTES, WEIR_POOL_ALL_READY, CHUNK_BYTES, 0,
                               &share, 1, NULL) == 0);
    weir_chunk_queue_init(&bench->queue);
    bench->control.stop_epoch = UINT64_MAX;
    weir_assert(weir_id_map_init(&bench->ids, 1) == 0);
    atomic_init(&bench->live, 1);
    bench->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const struct weir_reader_setup setup = {
        .kernel = &bench->raw.kernel,
        .control = &bench->control,
        .sink = {.pool = &bench->pool, .queue = &bench->queue},
        .layout = {.ids = &bench->ids, .id_offset = 8, .time_offset = 16},
        .event_count = 1,
        .reader_count = 1,
        .ring_count = 1,
        .live_readers = &bench->live,
        .ended_fd = bench->fd,
        .aux = &weir_aux_drain_hooks,
        .aux_fd = bench->fd,
    };
    weir_assert(bench->fd >= 0 && weir_reader_init(&bench->reader, &setup) == 0);
    struct weir_reader_ring *r = &bench->reader.rings.at[0];
    weir_assert(weir_ring_map(&r->ring, &bench->raw.kernel, 0, RING_BYTES) == 0);
    weir_assert(weir_aux_area_map(&r->aux->area, &r->ring, 0, area_bytes, false) == 0);
    r->aux->entry_bytes = 1;
}

static void fini(struct bench *bench)
{
    weir_reader_fini(&bench->reader);
    weir_pool_fini(&bench->pool);
    weir_id_map_fini(&bench->ids);
    close(bench->fd);
}

/* The half of the area that the PMU writes next. */
static uint8_t *write_half(struct bench *bench)
{
    uint8_t *half = bench->raw.rings[0].area + (bench->position & (bench->area_bytes - 1));
    memset(half, (int)(bench->position / (bench->area_bytes / 2)), bench->area_bytes / 2);
    return half;
}

/* As the writer. */
static void consume(struct bench *bench)
{
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&bench->queue))) {
        if (chunk->opaque)
            bench->seen += weir_auxtrace_read(chunk->data).bytes;
        weir_pool_put_train(&bench->pool, chunk);
    }
}

/* CPU time of the reader for one half. */
static uint64_t drain_half(struct bench *bench)
{
    const uint64_t bytes = bench->area_bytes / 2;
    write_half(bench);
    const struct {
        struct perf_event_header header;
        uint64_t offset, bytes, flags;
    } record = {{.type = PERF_RECORD_AUX, .size = sizeof(record)}, bench->position, bytes, 0};
    raw_ring_put(&bench->raw, 0, &record, sizeof(record));
    raw_aux_publish(&bench->raw, 0, bytes);
    bench->position += bytes;
    uint64_t began_ns = cpu_ns();
    weir_reader_step(&bench->reader);
    uint64_t took_ns = cpu_ns() - began_ns;
    consume(bench);
    return took_ns;
}

/* The same of memcpy(3), into chunks that are taken and given back in the same way. */
static uint64_t copy_half(struct bench *bench)
{
    const uint8_t *half = write_half(bench);
    struct weir_chunk *train = NULL;
    uint64_t took_ns = 0;
    for (uint64_t at = 0; at < bench->area_bytes / 2; at += CHUNK_BYTES) {
        struct weir_chunk *chunk = weir_pool_take(&bench->pool, 0, true);
        uint64_t began_ns = cpu_ns();
        memcpy(chunk->data, half + at, weir_min_u64(CHUNK_BYTES, bench->area_bytes / 2 - at));
        took_ns += cpu_ns() - began_ns;
        chunk->follower = train;
        train = chunk;
    }
    weir_pool_put_train(&bench->pool, train);
    return took_ns;
}

static int run(const struct settings *settings)
{
    double drained[RUNS_MAX], copied[RUNS_MAX];
    struct bench bench;
    init(&bench, (uint64_t)settings->area_kb * KIB);
    uint64_t halves = weir_max_u64((uint64_t)settings->mb * 1000000 / (bench.area_bytes / 2), 2);
    double mb = (double)(halves * (bench.area_bytes / 2)) / BYTES_IN_MB;
    for (unsigned n = 0; n < settings->runs; n++) {
        uint64_t drain_ns = 0, copy_ns = 0;
        for (uint64_t half = 0; half < halves; half++) {
            drain_ns += drain_half(&bench);
            copy_ns += copy_half(&bench);
        }
        drained[n] = mb * (double)WEIR_NS_PER_S / (double)drain_ns;
        copied[n] = mb * (double)WEIR_NS_PER_S / (double)copy_ns;
    }
    bool whole = bench.seen == bench.position;
    double drain = weir_spread_of(drained, settings->runs).median, copy = weir_spread_of(copied, settings->runs).median;
    printf("{\"area_kb\": %u, \"runs\": %u, \"drain_mb_per_cpu_s\": %.0f, \"memcpy_mb_per_cpu_s\": %.0f, "
           "\"ratio\": %.3f, \"checksum\": %" PRIu64 "}\n",
           settings->area_kb, settings->runs, drain, copy, drain / copy, bench.seen);
    fini(&bench);
    return whole ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct settings settings = {.runs = 5, .mb = 2000, .area_kb = 4096};
    bool good = argc % 2 == 1;
    for (int i = 1; good && i < argc; i += 2) {
        unsigned *value = strcmp(argv[i], "--runs") == 0      ? &settings.runs
                          : strcmp(argv[i], "--mb") == 0      ? &settings.mb
                          : strcmp(argv[i], "--area-kb") == 0 ? &settings.area_kb
                                                              : NULL;
        good = value != NULL;
        if (value)
            *value = (unsigned)strtoul(argv[i + 1], NULL, 10);
    }
    if (!good || settings.runs == 0 || settings.runs > RUNS_MAX || !weir_is_power_of_two(settings.area_kb) ||
        settings.area_kb < 8) {
        fprintf(stderr, "usage: %s [--runs N] [--mb N] [--area-kb N]\n", argv[0]);
        return USAGE_EXIT;
    }
    return run(&settings);
}
