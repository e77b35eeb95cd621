/*
 * The history of mappings between its writer and threads that search it, while changes move from logs into maps, and
 * processes come and go. What must hold:
 *
 *     a thread that knows of a change finds what the change says
 *     a child that was forked at that time has the same, also once its parent has changed, or its fork has been folded
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/kernel/test_point.h"
#include "engine/tasks/mapping_history.h"
#include "tests/engine/parking.h"

#define SEARCHERS 3u
#define TURNS     4000u
#define STEP_NS   50000000ull
#define PARENT    1
#define CHILD     100 /* of turn 0 */
#define CHILDREN  64u
#define PAGE      0x1000ull

#define TURNS_KNOWN (WEIR_MAPPING_HISTORY_SPAN_NS / STEP_NS - 32)

struct race {
    struct weir_mapping_history *history;
    _Atomic uint64_t turn; /* is taken in. Release and acquire */
    _Atomic bool done;
    _Atomic uint64_t found, wrong;
};

static void apply(struct race *race, uint32_t type, uint64_t turn, pid_t pid, uint32_t file)
{
    const struct weir_side_record record = {
        .type = type,
        .time_ns = turn * STEP_NS,
        .pid = pid,
        .tid = pid,
        .ppid = PARENT,
        .map = {.start = PAGE, .bytes = PAGE, .cpumode = PERF_RECORD_MISC_USER},
    };
    weir_mapping_history_apply(race->history, &record, file);
}

static pid_t child_of(uint64_t turn)
{
    return CHILD + (pid_t)(turn % CHILDREN);
}

/* In each turn the parent maps another file, and forks; an older child ends. */
static void write_changes(struct race *race)
{
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        if (turn > CHILDREN / 2)
            apply(race, PERF_RECORD_EXIT, turn, child_of(turn + CHILDREN / 2), 0);
        apply(race, PERF_RECORD_MMAP2, turn, PARENT, (uint32_t)turn);
        apply(race, PERF_RECORD_FORK, turn, child_of(turn), 0);
        atomic_store_explicit(&race->turn, turn, memory_order_release);
    }
    atomic_store_explicit(&race->done, true, memory_order_release);
}

static void *search(void *argument)
{
    struct race *race = argument;
    uint64_t found = 0, wrong = 0;
    for (uint64_t i = 0; !atomic_load_explicit(&race->done, memory_order_acquire); i++) {
        uint64_t newest = atomic_load_explicit(&race->turn, memory_order_acquire);
        uint64_t turn = newest - (newest > 16 ? i % 16 : 0);
        struct weir_unwind_mapping mapping;
        if (turn == 0)
            continue;
        pid_t pid = i % 2 ? PARENT : child_of(turn);
        uint64_t time_ns = i % 4 == 0 ? newest * STEP_NS : turn * STEP_NS;
        bool is_found = weir_mapping_history_find(race->history, pid, time_ns, PAGE, &mapping);
        /* A thread that slept over a span may find nothing. */
        bool is_late = atomic_load_explicit(&race->turn, memory_order_acquire) - newest > TURNS_KNOWN;
        found += is_found;
        wrong += is_found ? mapping.key != (pid == PARENT ? time_ns / STEP_NS : turn) : !is_late;
    }
    /* Relaxed: read after the threads were joined. */
    atomic_fetch_add_explicit(&race->found, found, memory_order_relaxed);
    atomic_fetch_add_explicit(&race->wrong, wrong, memory_order_relaxed);
    return NULL;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    pthread_t threads[SEARCHERS];
    memset(race, 0, sizeof(*race));
    if (weir_mapping_history_new(&race->history) < 0)
        return 1;
    for (unsigned i = 0; i < SEARCHERS; i++)
        weir_assert(pthread_create(&threads[i], NULL, search, race) == 0);
    write_changes(race);
    for (unsigned i = 0; i < SEARCHERS; i++)
        pthread_join(threads[i], NULL);
    const struct weir_mapping_history_counts counts = weir_mapping_history_count(race->history);
    weir_mapping_history_free(race->history);
    printf("%llu found, %llu wrong; %llu changes, %llu refused, %llu processes\n", (unsigned long long)race->found,
           (unsigned long long)race->wrong, (unsigned long long)counts.changes, (unsigned long long)counts.refused,
           (unsigned long long)counts.processes);
    return race->found == 0 || race->wrong > 0 || counts.refused > 0 || counts.processes != 1 + CHILDREN;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_HISTORY_PUT, WEIR_AT_HISTORY_FOLD, WEIR_AT_HISTORY_FIND};
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}
