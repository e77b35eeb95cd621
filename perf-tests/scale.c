/*
 * Cost must not grow with the machine. Measures the same bytes through 2 rings and through hundreds, rings in which
 * nothing happens, and the time that a large machine takes to start and to end.
 *
 *     scale [--runs N] [--mb N] [--rate-mb N] [--rings-max N] [--cpus N] [--idle-ms N] [--output PATH]
 *
 * All runs use simulated rings (engine/sim/simulate.h) and the real readers, pool and writer, a reader for each ring.
 * The bytes come at --rate-mb per second in all. So no sample is lost, and the readers sleep in between as in real
 * recordings. Where there are more rings than CPUs in this machine, its CPUs play the others in turn. They do so side
 * by side, so that readers drain from memory, or one after the other, as if each CPU had caches of its own
 * (sim_producer.h, burst). The end of hundreds of threads costs a hundredth of a second, so short runs say little of
 * the rest.
 *
 * Runs interleave the rows. Prints JSON: medians and spread, and "ratio" of each run to the run with 2 rings beside it.
 * "checksum" is the number of samples written, and must equal the number produced. Takes six minutes and 8 GiB by
 * default.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/spread.h"
#include "engine/sim/simulate.h"

#define RUNS_MAX     32u
#define USAGE_EXIT   2
#define RECORD_BYTES 240u /* of the mix, about: header, fields, 24 frames */
#define RING_BYTES   (8ull << 20)
#define POOL_BYTES   (8ull << 20) /* per ring: what a large machine has, bounded by this one's memory */
#define POOL_MAX     (4ull << 30)
#define POOL_SHARE   4 /* of the memory, at most */
#define BYTES_IN_GB  1e9

struct settings {
    unsigned runs, mb, rate_mb, rings_max, cpus, idle_ms; /* cpus: of the idle machine */
    const char *output;
};

struct point {
    unsigned rings;
    bool in_turn; /* one CPU after the other; else side by side */
    double cpu_s_per_gb[RUNS_MAX], open_seconds[RUNS_MAX], end_seconds[RUNS_MAX];
    uint64_t wakeups, lost, written;
};

static uint64_t pool_bytes(unsigned rings)
{
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t most = weir_min_u64(POOL_MAX, memory / POOL_SHARE);
    return weir_min_u64(most, weir_max_u64(rings, 8) * POOL_BYTES);
}

static struct weir_simulate_options options_for(const struct settings *settings, unsigned rings, bool in_turn)
{
    uint64_t records = (uint64_t)settings->mb * 1000000 / RECORD_BYTES / rings;
    uint64_t rate_hz = (uint64_t)settings->rate_mb * 1000000 / RECORD_BYTES / rings;
    return (struct weir_simulate_options){
        .load =
            {
                .cpus = rings,
                .records_per_cpu = weir_max_u64(records, 1),
                .rate_per_cpu_hz = weir_max_u64(rate_hz, 1),
                .burst = in_turn ? weir_max_u64(records, 1) : 0,
                .payload_bytes = 64,
                .mix.parts[WEIR_SIM_CALLCHAIN] = 1,
                .seed = 1,
            },
        .nodes = 1,
        .record.memory.ring_bytes = RING_BYTES,
        .record.memory.buffer_bytes = pool_bytes(rings),
        .record.output.path = settings->output,
    };
}

static int measure(const struct settings *settings, struct point *point, unsigned run)
{
    const struct weir_simulate_options options = options_for(settings, point->rings, point->in_turn);
    struct weir_simulate_result result;
    struct weir_error err = {0};
    int code = weir_simulate_run(&options, &result, &err);
    if (code < 0) {
        fprintf(stderr, "scale: %u rings: %s\n", point->rings, err.what);
    } else if (result.produced != result.record.samples + result.record.lost_samples) {
        fprintf(stderr, "scale: %u rings: the ledger does not balance\n", point->rings);
        code = -1;
    } else {
        point->cpu_s_per_gb[run] = result.recorder_cpu_seconds / ((double)result.record.file_bytes / BYTES_IN_GB);
        point->open_seconds[run] = result.open_seconds;
        point->end_seconds[run] = result.seconds - result.produce_seconds;
        point->wakeups += result.record.wakeups;
        point->lost += result.record.lost_samples;
        point->written += result.record.samples;
    }
    weir_simulate_result_fini(&result);
    return code;
}

static void print_point(const struct settings *settings, struct point *point, const struct point *first)
{
    double costs[RUNS_MAX], ratios[RUNS_MAX]; /* weir_spread_of() sorts */
    for (unsigned run = 0; run < settings->runs; run++) {
        costs[run] = point->cpu_s_per_gb[run];
        ratios[run] = costs[run] / first->cpu_s_per_gb[run];
    }
    const struct weir_spread cost = weir_spread_of(costs, settings->runs);
    const struct weir_spread ratio = weir_spread_of(ratios, settings->runs);
    printf("{\"rings\": %u, \"played\": \"%s\", \"cpu_s_per_gb\": %.4f, \"min\": %.4f, \"max\": %.4f, "
           "\"ratio\": %.3f, \"ratio_min\": %.3f, \"ratio_max\": %.3f, "
           "\"wakeups\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"start_s\": %.3f, \"end_s\": %.3f, \"checksum\": %" PRIu64
           "}",
           point->rings, point->in_turn ? "one after the other" : "side by side", cost.median, cost.min, cost.max,
           ratio.median, ratio.min, ratio.max, point->wakeups / weir_max_u64(settings->runs, 1), point->lost,
           weir_spread_of(point->open_seconds, settings->runs).median,
           weir_spread_of(point->end_seconds, settings->runs).median, point->written);
}

/* Rings in which nothing happens but one record at the end. */
static int measure_idle(const struct settings *settings)
{
    struct weir_simulate_options options = options_for(settings, settings->cpus, false);
    options.load.records_per_cpu = 1;
    options.idle_ns = settings->idle_ms * WEIR_NS_PER_MS;
    struct weir_simulate_result result;
    struct weir_error err = {0};
    int code = weir_simulate_run(&options, &result, &err);
    if (code < 0)
        fprintf(stderr, "scale: idle: %s\n", err.what);
    else
        printf("  \"idle\": {\"rings\": %u, \"ms\": %u, \"switches\": %" PRIu64 ", \"cpu_percent\": %.4f, "
               "\"start_s\": %.3f, \"end_s\": %.3f}\n",
               settings->cpus, settings->idle_ms, result.idle_switches,
               100 * result.idle_cpu_seconds / ((double)settings->idle_ms / 1000), result.open_seconds,
               result.seconds - result.produce_seconds);
    weir_simulate_result_fini(&result);
    return code;
}

static bool parse_option(struct settings *settings, const char *name, const char *value)
{
    const struct {
        const char *name;
        unsigned *number;
    } numbers[] = {
        {"--runs", &settings->runs}, {"--mb", &settings->mb},           {"--rate-mb", &settings->rate_mb},
        {"--cpus", &settings->cpus}, {"--idle-ms", &settings->idle_ms}, {"--rings-max", &settings->rings_max},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(numbers); i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            *numbers[i].number = (unsigned)strtoul(value, NULL, 10);
            return *numbers[i].number > 0;
        }
    }
    settings->output = value;
    return strcmp(name, "--output") == 0;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .runs = 3, .mb = 7200, .rate_mb = 300, .rings_max = 512, .cpus = 1024, .idle_ms = 5000, .output = "/dev/null"};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || !parse_option(&settings, argv[i], argv[i + 1]) || settings.runs > RUNS_MAX ||
            settings.rings_max < 2 || settings.cpus > WEIR_SIMULATE_CPUS_MAX) {
            fprintf(stderr, "usage: scale [--runs N] [--mb N] [--rate-mb N] [--rings-max N] [--cpus N] [--idle-ms N] "
                            "[--output PATH]\n");
            return USAGE_EXIT;
        }
    }

    static struct point points[] = {{.rings = 2}, {.rings = 64}, {.rings = 512}, {.rings = 512, .in_turn = true}};
    for (unsigned run = 0; run < settings.runs; run++) {
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(points) && points[i].rings <= settings.rings_max; i++) {
            if (measure(&settings, &points[i], run) < 0)
                return 1;
        }
    }
    struct utsname kernel;
    uname(&kernel);
    printf("{\n  \"benchmark\": \"scale\",\n  \"kernel\": \"%s\",\n  \"cpus\": %ld,\n", kernel.release,
           sysconf(_SC_NPROCESSORS_ONLN));
    printf("  \"runs\": %u, \"mb\": %u, \"rate_mb\": %u, \"output\": \"%s\",\n  \"rings\": [", settings.runs,
           settings.mb, settings.rate_mb, settings.output);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(points) && points[i].rings <= settings.rings_max; i++) {
        printf("%s\n    ", i ? "," : "");
        print_point(&settings, &points[i], &points[0]);
    }
    printf("\n  ],\n");
    int code = measure_idle(&settings);
    printf("}\n");
    return code < 0 ? 1 : 0;
}
