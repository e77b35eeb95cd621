/*
 * The sideband thread between those who use it: two readers that fill their tees and pass epochs, the coordinator that
 * opens epochs and asks for the beginning of a new output while rounds are cut, synthesis that feeds, the thread that
 * reads build ids, and a finisher that copies lists. A task is forked on one reader's CPUs and ends on the other's, so
 * its two records come in either order, at most two rounds apart. What must hold:
 *
 *     the task map takes no exit in before its fork: at the end it holds what was synthesized, and nothing else
 *     an answer knows exactly the tasks that were there at the switch: forked before, and not ended before
 *
 * A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/tasks/sideband.h"
#include "format/event_desc.h"
#include "format/records.h"
#include "tests/engine/parking.h"
#include "tests/engine/side_records.h"

#define READERS     2u
#define TASKS       500u /* of each reader */
#define FED         200u /* tasks that were there before */
#define FED_FIRST   100000u
#define HELD_MOST   5u /* records that a reader keeps back, as if they were in its ring */
#define MAP_EACH    5u /* a task that maps a file and loads a program: the thread looks again when it has read that */
#define NO_PROGRAM  0x70000000u
#define EPOCH_US    100u /* in which the thread looks more than once */
#define EPOCHS_EACH 8u   /* epochs between two questions */
#define PATIENCE_MS 60000u

struct race;

struct noted { /* a record in a tee */
    uint32_t task;
    bool is_exit;
    uint64_t end; /* of its bytes in the tee */
};

struct reader {
    struct race *race; /* borrowed */
    unsigned number;
    struct weir_side_tee *tee; /* borrowed */
    pthread_t thread;
    struct weir_buf held;
    uint32_t held_tasks[3 * HELD_MOST];
    bool held_exits[3 * HELD_MOST];
    uint64_t held_ends[3 * HELD_MOST];
    unsigned held_count;
    struct noted noted[2 * TASKS];
    uint64_t noted_count;
    _Atomic uint64_t published; /* of noted: they are in the tee */
    _Atomic uint64_t forked;    /* tasks that the other one may end */
    _Atomic uint64_t passed;    /* epoch */
    _Atomic bool done;
};

struct race {
    _Atomic uint64_t epoch, time_ns;
    struct weir_sideband *sideband;
    struct reader readers[READERS];
    _Atomic bool answered, stop;
    uint64_t side_bytes[READERS];
    struct weir_buf answer;
    int answer_result;
    uint64_t questions, wrong;
};

/* ---- readers ---- */

static uint32_t task_of(unsigned reader, uint64_t number)
{
    return 1000 + reader * TASKS + (uint32_t)number;
}

static void hold(struct reader *reader, uint32_t task, bool is_exit)
{
    static const uint8_t no_tag[8];
    /* Relaxed: the number is all that is wanted; who learns of a fork (forked) takes a later one. */
    uint64_t time_ns = 1 + atomic_fetch_add_explicit(&reader->race->time_ns, 1, memory_order_relaxed);
    if (is_exit)
        side_exit(&reader->held, time_ns, (pid_t)task, (pid_t)task);
    else
        side_fork(&reader->held, time_ns, (pid_t)task, 1, (pid_t)task, 1);
    if (!is_exit && task % MAP_EACH == 0) {
        weir_record_bpf_event(&reader->held, NO_PROGRAM + task, no_tag, weir_attr_sample_id_bytes(&side_attr));
        side_map(&reader->held, time_ns, (pid_t)task, 0x1000, 0x2000, task, "/there/is/no/such/file");
    }
    reader->held_tasks[reader->held_count] = task;
    reader->held_exits[reader->held_count] = is_exit;
    reader->held_ends[reader->held_count++] = reader->held.used;
}

/* What its rings hold goes to the tee, and the epoch that was read before is passed (L in reader.h). */
static void drain(struct reader *reader)
{
    uint64_t epoch = atomic_load_explicit(&reader->race->epoch, memory_order_seq_cst);
    uint64_t before = weir_side_tee_pushed(reader->tee);
    if (reader->held.used > 0)
        weir_side_tee_push(reader->tee, reader->held.data, reader->held.used);
    for (unsigned i = 0; i < reader->held_count; i++)
        reader->noted[reader->noted_count++] =
            (struct noted){reader->held_tasks[i], reader->held_exits[i], before + reader->held_ends[i]};
    weir_buf_reset(&reader->held);
    reader->held_count = 0;
    atomic_store_explicit(&reader->published, reader->noted_count, memory_order_release);
    atomic_store_explicit(&reader->passed, epoch, memory_order_release);
}

static void await_next_epoch(const struct reader *reader)
{
    uint64_t passed = atomic_load_explicit(&reader->passed, memory_order_relaxed); /* our own word */
    while (atomic_load_explicit(&reader->race->epoch, memory_order_relaxed) == passed)
        usleep(20);
}

static void *read_rings(void *argument)
{
    struct reader *reader = argument;
    struct reader *other = &reader->race->readers[1 - reader->number];
    uint64_t forked = 0, ended = 0;
    uint32_t turn = reader->number;
    while (forked < TASKS || ended < TASKS) {
        turn = turn * 1664525u + 1013904223u;
        for (unsigned n = 0; n < 1 + (turn >> 16) % HELD_MOST; n++) {
            if (forked < TASKS) {
                hold(reader, task_of(reader->number, forked), false);
                atomic_store_explicit(&reader->forked, ++forked, memory_order_release);
            }
            /* Two, to be close behind: the fork may still be held by the other one. */
            for (unsigned k = 0; k < 2 && ended < atomic_load_explicit(&other->forked, memory_order_acquire); k++)
                hold(reader, task_of(other->number, ended++), true);
        }
        for (unsigned n = 0; n < (turn >> 24) % 3; n++)
            sched_yield();
        if ((turn >> 20) % 2 == 0) /* as one that sleeps on what is below its watermark */
            await_next_epoch(reader);
        drain(reader);
    }
    atomic_store_explicit(&reader->done, true, memory_order_release);
    while (!atomic_load_explicit(&reader->race->stop, memory_order_acquire)) {
        drain(reader);
        usleep(50);
    }
    return NULL;
}

/* ---- synthesis and finisher ---- */

static void *feed(void *argument)
{
    struct race *race = argument;
    struct weir_buf records = WEIR_BUF_INIT;
    for (uint32_t n = 0; n < FED; n++) {
        weir_buf_reset(&records);
        side_fork(&records, 0, (pid_t)(FED_FIRST + n), 1, (pid_t)(FED_FIRST + n), 1);
        weir_sideband_feed(race->sideband, records.data, records.used);
        if (n % 16 == 0)
            sched_yield();
    }
    weir_sideband_end_feed(race->sideband);
    weir_buf_fini(&records);
    return NULL;
}

static void yield(void *ctx)
{
    (void)ctx;
    sched_yield();
}

/* As the finisher, which has something to do while an answer is under way. */
static void *copy_lists(void *argument)
{
    static const struct weir_sideband_patience patience = {.meanwhile = yield};
    struct race *race = argument;
    while (!atomic_load_explicit(&race->stop, memory_order_acquire)) {
        struct weir_build_id_entry *entries = NULL;
        size_t count;
        struct weir_bpf_list programs = {0};
        weir_assert(weir_sideband_copy_build_ids(race->sideband, 0, 0, &patience, &entries, &count) == 0);
        weir_assert(count == 0); /* the files are not there */
        free(entries);
        weir_assert(weir_sideband_list_bpf_programs(race->sideband, 0, &patience, &programs) == 0);
        weir_bpf_list_fini(&programs);
        usleep(200);
    }
    return NULL;
}

/* ---- questions ---- */

static int keep(void *ctx, const void *records, size_t bytes)
{
    struct race *race = ctx;
    weir_buf_append(&race->answer, records, bytes);
    return weir_buf_error(&race->answer);
}

static int pass_over(void *ctx, pid_t pid)
{
    (void)ctx, (void)pid;
    return 0;
}

static void answer(void *ctx, const struct weir_sideband_view *view)
{
    struct race *race = ctx;
    const struct weir_task_map_sink sink = {.sample_id_bytes = 32, .emit = keep, .incomplete = pass_over, .ctx = race};
    race->answer_result = view ? weir_sideband_view_emit(view, &sink) : -1;
    atomic_store_explicit(&race->answered, true, memory_order_release);
}

/* 1: forked, 2: ended; by task. */
static void read_answer(const struct weir_buf *records, uint8_t *fates)
{
    struct weir_side_record record;
    for (size_t at = 0; at < records->used;) {
        at = side_parse(records, at, &record);
        bool is_ours = record.pid >= 1000 && (uint32_t)record.pid < 1000 + READERS * TASKS;
        if (is_ours && record.type == PERF_RECORD_FORK)
            fates[record.pid - 1000] |= 1;
        if (is_ours && record.type == PERF_RECORD_EXIT)
            fates[record.pid - 1000] |= 2;
    }
}

static void read_notes(const struct race *race, uint8_t *fates)
{
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader *reader = &race->readers[i];
        uint64_t count = atomic_load_explicit(&reader->published, memory_order_acquire);
        for (uint64_t n = 0; n < count && reader->noted[n].end <= race->side_bytes[i]; n++)
            fates[reader->noted[n].task - 1000] |= reader->noted[n].is_exit ? 2 : 1;
    }
}

/* Whether the answer has the tasks that were there at the switch, and only these. */
static bool is_right(const struct race *race)
{
    static uint8_t told[READERS * TASKS], known[READERS * TASKS];
    memset(told, 0, sizeof(told));
    memset(known, 0, sizeof(known));
    read_answer(&race->answer, told);
    read_notes(race, known);
    bool right = race->answer_result == 0;
    for (unsigned n = 0; n < READERS * TASKS; n++)
        right &= (told[n] == 1) == (known[n] == 1);
    return right;
}

/* ---- the coordinator ---- */

static void open_epoch(struct race *race)
{
    uint64_t epoch = 1 + atomic_load_explicit(&race->epoch, memory_order_relaxed); /* our own word */
    atomic_store_explicit(&race->epoch, epoch, memory_order_seq_cst);
    for (unsigned i = 0; i < READERS; i++) {
        while (atomic_load_explicit(&race->readers[i].passed, memory_order_acquire) < epoch)
            sched_yield();
    }
    usleep(EPOCH_US);
}

/* Rounds are cut: no epoch is opened before there is an answer. What the readers fill in goes on. */
static void ask(struct race *race)
{
    struct weir_sideband_question question = {.side_bytes = race->side_bytes, .answer = answer, .ctx = race};
    for (unsigned i = 0; i < READERS; i++) {
        const struct reader *reader = &race->readers[i];
        uint64_t count = atomic_load_explicit(&reader->published, memory_order_acquire);
        race->side_bytes[i] = count > 0 ? reader->noted[count - 1].end : 0;
    }
    weir_buf_reset(&race->answer);
    atomic_store_explicit(&race->answered, false, memory_order_relaxed); /* handed over by the lock of ask() */
    weir_sideband_ask(race->sideband, &question);
    while (!atomic_load_explicit(&race->answered, memory_order_acquire))
        usleep(50);
    race->questions++;
    race->wrong += !is_right(race);
}

static bool all_done(const struct race *race)
{
    bool done = true;
    for (unsigned i = 0; i < READERS; i++)
        done &= atomic_load_explicit(&race->readers[i].done, memory_order_acquire);
    return done;
}

/* ---- the run ---- */

static int start(struct race *race, pthread_t *feeder, pthread_t *finisher)
{
    struct weir_sideband_setup setup = {.attr = &side_attr,
                                        .tee_count = READERS,
                                        .epoch = &race->epoch,
                                        .read_build_ids = true,
                                        .read_bpf_programs = true};
    if (weir_sideband_new(&race->sideband, &setup) < 0 || weir_sideband_start(race->sideband) < 0)
        return -1;
    for (unsigned i = 0; i < READERS; i++) {
        struct reader *reader = &race->readers[i];
        reader->race = race;
        reader->number = i;
        reader->tee = weir_sideband_tee(race->sideband, i);
    }
    for (unsigned i = 0; i < READERS; i++)
        weir_assert(pthread_create(&race->readers[i].thread, NULL, read_rings, &race->readers[i]) == 0);
    weir_assert(pthread_create(feeder, NULL, feed, race) == 0);
    weir_assert(pthread_create(finisher, NULL, copy_lists, race) == 0);
    return 0;
}

static int run(void *ctx)
{
    struct race *race = ctx;
    pthread_t feeder, finisher;
    struct weir_sideband_counts counts;
    memset(race, 0, sizeof(*race));
    if (start(race, &feeder, &finisher) < 0)
        return 1;
    while (!all_done(race)) {
        for (unsigned n = 0; n < EPOCHS_EACH; n++)
            open_epoch(race);
        ask(race);
    }
    atomic_store_explicit(&race->stop, true, memory_order_release);
    for (unsigned i = 0; i < READERS; i++)
        pthread_join(race->readers[i].thread, NULL);
    pthread_join(feeder, NULL);
    pthread_join(finisher, NULL);
    weir_sideband_stop(race->sideband, PATIENCE_MS, &counts);
    printf("%llu questions, %llu answers wrong; %llu records, %llu missed, %llu not in order; %llu tasks left of %u\n",
           (unsigned long long)race->questions, (unsigned long long)race->wrong, (unsigned long long)counts.records,
           (unsigned long long)counts.missed, (unsigned long long)counts.reordered, (unsigned long long)counts.tasks,
           FED);
    for (unsigned i = 0; i < READERS; i++)
        weir_buf_fini(&race->readers[i].held);
    weir_buf_fini(&race->answer);
    weir_sideband_free(race->sideband);
    return race->wrong > 0 || race->questions == 0 || counts.missed > 0 || counts.reordered > 0 || counts.tasks != FED;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_SIDE_QUESTION, WEIR_AT_SIDE_EPOCH, WEIR_AT_SIDE_DRAINED,
                                                  WEIR_AT_SIDE_UNLOCKED};
    static struct race race;
    return parking_run(points, WEIR_ARRAY_COUNT(points), run, &race) ? 1 : 0;
}
