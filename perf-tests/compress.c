/*
 * Speed and ratio of compression threads: `compress FILE [--level N] [--runs N] [--mb N] [--threads N]`.
 *
 * FILE is a recording that is not compressed. The program cuts its data into chunks as readers make them. The chunks go
 * through the stage in a loop, with 1 to N threads by turns, without disk. JSON: MB/s by the clock and per second of
 * CPU time of the threads, medians over the runs, and the ratio.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "engine/drain/chunk_stage.h"
#include "format/perf_file.h"

#define CHUNK_BYTES (1u << 20)
#define CHUNKS_MAX  256u
#define RUNS_MAX    16
#define MB          1e6
#define USAGE_EXIT  2

static struct weir_chunk chunks[CHUNKS_MAX];
static unsigned chunk_count;

/* A file of less than a chunk is repeated up to one: single records would measure how often threads are asked. */
static bool fill_chunk(struct weir_chunk *chunk)
{
    uint32_t once = chunk->used;
    uint8_t *data = realloc(chunk->data, CHUNK_BYTES);
    if (!data)
        return false;
    chunk->data = data;
    for (; chunk->used + once <= CHUNK_BYTES; chunk->used += once)
        memcpy(data + chunk->used, data, once);
    return true;
}

/* Whole records, up to a chunk's size. False: not a recording, or nothing in it. */
static bool read_chunks(const char *path)
{
    struct weir_perf_header header;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool good = fread(&header, sizeof(header), 1, file) == 1 && header.magic == WEIR_PERF_MAGIC2 &&
                fseek(file, (long)header.data.offset, SEEK_SET) == 0;
    uint64_t left = good ? header.data.size : 0;
    static uint8_t room[CHUNK_BYTES];
    size_t held = 0;
    while (left > 0 && chunk_count < CHUNKS_MAX) {
        size_t wanted = sizeof(room) - held < left ? sizeof(room) - held : (size_t)left;
        size_t got = fread(room + held, 1, wanted, file), whole = 0;
        struct perf_event_header record;
        if (got == 0)
            break;
        left -= got;
        held += got;
        while (held - whole >= sizeof(record)) {
            memcpy(&record, room + whole, sizeof(record));
            if (record.size < sizeof(record) || record.size > held - whole)
                break;
            whole += record.size;
        }
        struct weir_chunk *chunk = &chunks[chunk_count++];
        chunk->data = malloc(whole ? whole : 1);
        chunk->used = (uint32_t)whole;
        if (!chunk->data || whole == 0)
            return fclose(file), false;
        memcpy(chunk->data, room, whole);
        memmove(room, room + whole, held -= whole);
    }
    fclose(file);
    return chunk_count == 1 ? fill_chunk(&chunks[0]) : chunk_count > 0;
}

struct figure {
    double wall, cpu; /* MB/s */
    double ratio;
};

static int run(unsigned threads, int level, uint64_t bytes, struct figure *figure)
{
    struct weir_chunk_stage stage;
    struct weir_error err = {0};
    const struct weir_chunk_stage_setup setup = {.level = level, .workers = threads, .chunk_bytes = CHUNK_BYTES};
    int result = weir_chunk_stage_init(&stage, &setup, &err);
    if (result == 0)
        result = weir_chunk_stage_start(&stage, &err);
    if (result < 0) {
        fprintf(stderr, "compress: %s\n", err.what);
        return result;
    }
    uint64_t from = weir_clock_now_ns(&weir_clock_monotonic), given = 0, in_flight = 0;
    struct weir_chunk_stage_result done;
    for (unsigned next = 0; given < bytes || in_flight > 0;) {
        while (given < bytes && in_flight < chunk_count && weir_chunk_stage_can_submit(&stage)) {
            given += chunks[next].used;
            in_flight++;
            weir_chunk_stage_submit(&stage, &chunks[next], false);
            next = (next + 1) % chunk_count;
        }
        weir_chunk_stage_kick(&stage);
        while (weir_chunk_stage_next(&stage, &done)) {
            weir_chunk_stage_complete(&stage, done.chunk);
            in_flight--;
        }
        const struct timespec pause = {.tv_nsec = (long)(WEIR_NS_PER_MS / 2)};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    double seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - from) / (double)WEIR_NS_PER_S;
    weir_chunk_stage_stop(&stage);
    const struct weir_chunk_stage_totals *totals = &stage.totals;
    figure->wall = (double)totals->in_bytes / MB / seconds;
    figure->cpu = (double)totals->in_bytes / MB / ((double)totals->cpu_time_ns / (double)WEIR_NS_PER_S);
    figure->ratio = (double)totals->in_bytes / (double)totals->out_bytes;
    weir_chunk_stage_fini(&stage);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct figure *x = a, *y = b;
    return (x->wall > y->wall) - (x->wall < y->wall);
}

int main(int argc, char **argv)
{
    unsigned long long level = 1, runs = 5, mb = 500, threads = 2;
    bool good = argc >= 2 && argc % 2 == 0;
    for (int i = 2; good && i + 1 < argc; i += 2) {
        unsigned long long *value = strcmp(argv[i], "--level") == 0     ? &level
                                    : strcmp(argv[i], "--runs") == 0    ? &runs
                                    : strcmp(argv[i], "--mb") == 0      ? &mb
                                    : strcmp(argv[i], "--threads") == 0 ? &threads
                                                                        : NULL;
        good = value != NULL;
        if (value)
            *value = strtoull(argv[i + 1], NULL, 10);
    }
    if (!good || level < 1 || level > 22 || runs < 1 || runs > RUNS_MAX || threads < 1) {
        fprintf(stderr, "usage: compress FILE [--level N] [--runs N] [--mb N] [--threads N]\n");
        return USAGE_EXIT;
    }
    if (!read_chunks(argv[1])) {
        fprintf(stderr, "compress: %s holds no records\n", argv[1]);
        return 1;
    }
    for (unsigned n = 1; n <= threads; n++) {
        struct figure figures[RUNS_MAX];
        for (unsigned i = 0; i < runs; i++) {
            if (run(n, (int)level, mb * 1000000, &figures[i]) < 0)
                return 1;
        }
        qsort(figures, runs, sizeof(figures[0]), compare);
        const struct figure *middle = &figures[runs / 2];
        printf("{\"level\": %llu, \"threads\": %u, \"chunks\": %u, \"runs\": %llu, \"mb_per_s\": %.0f, "
               "\"mb_per_s_min\": %.0f, \"mb_per_s_max\": %.0f, \"mb_per_cpu_s\": %.0f, \"ratio\": %.2f}\n",
               level, n, chunk_count, runs, middle->wall, figures[0].wall, figures[runs - 1].wall, middle->cpu,
               middle->ratio);
    }
    return 0;
}
