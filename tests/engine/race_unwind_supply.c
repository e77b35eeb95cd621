/*
 * The supply of unwinding workers: a reader that fills a tee and then says so, workers that ask for a look and then for
 * the mapping and its file, and the sideband thread with its threads that open files. What must hold:
 *
 *     a worker that has caught up finds each mapping whose record was in the tee before
 *     each request for a file gets a descriptor of its own
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "engine/kernel/test_point.h"
#include "engine/tasks/sideband.h"
#include "engine/tasks/unwind_supply.h"
#include "tests/engine/parking.h"
#include "tests/engine/side_records.h"

#define WORKERS     3u
#define RECORDS     400u
#define FILES       8u
#define PAGE        0x1000ull
#define PID         77
#define PATIENCE_MS 60000u

struct race {
    struct weir_unwind_supply *supply;
    struct weir_sideband *sideband;
    _Atomic uint64_t epoch, pushed; /* records in the tee. Release and acquire */
    _Atomic uint64_t caught_up, found, wrong, opened, unopened;
};

static int open_null(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots)
{
    (void)name, (void)roots;
    weir_assert(file->inode > 0);
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void push(struct race *race)
{
    struct weir_buf records = WEIR_BUF_INIT;
    for (uint64_t i = 1; i <= RECORDS; i++) {
        weir_buf_reset(&records);
        side_map(&records, i, PID, i * PAGE, (i + 1) * PAGE, 1 + i % FILES, "/bin/x");
        weir_side_tee_push(weir_sideband_tee(race->sideband, 0), records.data, records.used);
        atomic_store_explicit(&race->pushed, i, memory_order_release);
        if (i % 4 == 0)
            weir_clock_pause_ns(100000);
    }
    weir_buf_fini(&records);
}

static void work_on(struct race *race, const struct weir_unwind_source *source, uint64_t number, bool is_caught_up)
{
    struct weir_unwind_mapping mapping;
    bool is_found = source->find(source->ctx, PID, number, number * PAGE, &mapping);
    /* Relaxed: counts, read after the threads were joined. */
    atomic_fetch_add_explicit(&race->found, is_found, memory_order_relaxed);
    atomic_fetch_add_explicit(&race->wrong, is_found ? mapping.offset != number * PAGE : is_caught_up,
                              memory_order_relaxed);
    if (!is_found)
        return;
    int fd = source->open(source->ctx, mapping.key);
    atomic_fetch_add_explicit(fd >= 0 ? &race->opened : &race->unopened, 1, memory_order_relaxed);
    if (fd >= 0) /* -1 and EBADF: it was somebody else's, too */
        atomic_fetch_add_explicit(&race->wrong, close(fd) < 0, memory_order_relaxed);
}

static void *work(void *argument)
{
    struct race *race = argument;
    const struct weir_unwind_source source = weir_unwind_supply_source(race->supply);
    for (uint64_t done = 0; done < RECORDS;) {
        uint64_t number = atomic_load_explicit(&race->pushed, memory_order_acquire);
        if (number == done) {
            sched_yield();
            continue;
        }
        done = number;
        bool is_caught_up = source.catch_up(source.ctx);
        atomic_fetch_add_explicit(&race->caught_up, is_caught_up, memory_order_relaxed);
        work_on(race, &source, number, is_caught_up);
    }
    return NULL;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    const struct weir_file_opener_setup opener = {.open = open_null};
    struct weir_sideband_counts counts;
    pthread_t threads[WORKERS];
    memset(race, 0, sizeof(*race));
    if (weir_unwind_supply_new(&race->supply, &opener) < 0 || weir_unwind_supply_start(race->supply) < 0)
        return 1;
    const struct weir_sideband_setup setup = {
        .attr = &side_attr, .tee_count = 1, .epoch = &race->epoch, .supply = race->supply};
    if (weir_sideband_new(&race->sideband, &setup) < 0 || weir_sideband_start(race->sideband) < 0)
        return 1;
    for (unsigned i = 0; i < WORKERS; i++)
        weir_assert(pthread_create(&threads[i], NULL, work, race) == 0);
    push(race);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    weir_sideband_stop(race->sideband, PATIENCE_MS, &counts);
    weir_sideband_free(race->sideband);
    weir_unwind_supply_free(race->supply);
    printf("%llu times caught up, %llu mappings found, %llu wrong; %llu files opened, %llu not\n",
           (unsigned long long)race->caught_up, (unsigned long long)race->found, (unsigned long long)race->wrong,
           (unsigned long long)race->opened, (unsigned long long)race->unopened);
    return race->wrong > 0 || race->caught_up == 0 || race->opened == 0 || counts.records != RECORDS;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_SUPPLY_ASKED, WEIR_AT_SUPPLY_LOOKED, WEIR_AT_OPENER_OPENED};
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}
