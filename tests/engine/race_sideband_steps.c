/*
 * The rule (tees-filled) of the sideband thread, step by step: the thread is held at a test point while the two
 * readers and the coordinator, all played by this program, do the one thing that the rule is there for.
 * race_sideband.c has the same in a storm, by chance; here each run finds each way to break the rule.
 *
 * In each of them a task is forked on CPU 0, whose reader is late with that, and ends on CPU 1. If the end is taken in
 * first, the task is still there when all is over.
 *
 * A plain program, so that it also runs under ThreadSanitizer. Only for builds with test points.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/tasks/sideband.h"
#include "tests/engine/parking.h"
#include "tests/engine/side_records.h"

#define TASK        77
#define FORKED_NS   10
#define ENDED_NS    20
#define PATIENCE_MS 60000u

struct stage {
    _Atomic uint64_t epoch;
    struct weir_sideband *sideband;
};

static void push(const struct stage *stage, unsigned reader, struct weir_buf *records)
{
    weir_side_tee_push(weir_sideband_tee(stage->sideband, reader), records->data, records->used);
    weir_buf_fini(records);
}

static void push_fork(const struct stage *stage)
{
    struct weir_buf records = WEIR_BUF_INIT;
    side_fork(&records, FORKED_NS, TASK, 1, TASK, 1);
    push(stage, 0, &records);
}

static void push_exit(const struct stage *stage)
{
    struct weir_buf records = WEIR_BUF_INIT;
    side_exit(&records, ENDED_NS, TASK, TASK);
    push(stage, 1, &records);
}

/* All readers are past the epochs before: what was in their rings when they passed is in the tees. */
static void open_epoch(struct stage *stage, uint64_t epoch)
{
    atomic_store_explicit(&stage->epoch, epoch, memory_order_seq_cst);
}

/* Lets the thread go on from where it is held, up to the same point of its next look, or that one. */
static bool go_on_to(enum weir_test_point point)
{
    parking_release();
    return parking_hold(point);
}

/* The fork comes after the tees were read and before two epochs are opened. Who reads the epoch behind the tees takes
 * the end for proven. */
static bool epoch_is_read_before_the_tees(struct stage *stage)
{
    bool came = parking_hold(WEIR_AT_SIDE_EPOCH);
    push_exit(stage);
    came &= go_on_to(WEIR_AT_SIDE_EPOCH) && go_on_to(WEIR_AT_SIDE_DRAINED);
    push_fork(stage);
    open_epoch(stage, 3);
    return came && go_on_to(WEIR_AT_SIDE_EPOCH);
}

/* The end comes when the epoch that the thread has read is long over. Who counts from that one, and not from the epoch
 * behind the tees, takes it for proven at the next look. */
static bool proof_begins_with_the_epoch_behind_the_tees(struct stage *stage)
{
    bool came = parking_hold(WEIR_AT_SIDE_EPOCH);
    open_epoch(stage, 5);
    push_exit(stage);
    came &= go_on_to(WEIR_AT_SIDE_EPOCH) && go_on_to(WEIR_AT_SIDE_EPOCH);
    push_fork(stage);
    open_epoch(stage, 7);
    return came && go_on_to(WEIR_AT_SIDE_EPOCH);
}

/* The reader of CPU 0 has passed the first epoch before the fork, and drains it before it passes the next one. */
static bool one_epoch_is_no_proof(struct stage *stage)
{
    bool came = parking_hold(WEIR_AT_SIDE_EPOCH);
    push_exit(stage);
    came &= go_on_to(WEIR_AT_SIDE_EPOCH);
    open_epoch(stage, 2);
    came &= go_on_to(WEIR_AT_SIDE_EPOCH) && go_on_to(WEIR_AT_SIDE_EPOCH);
    push_fork(stage);
    open_epoch(stage, 3);
    return came && go_on_to(WEIR_AT_SIDE_EPOCH);
}

static const struct {
    const char *name;
    bool (*play)(struct stage *stage);
} plays[] = {
    {"the epoch is read before the tees", epoch_is_read_before_the_tees},
    {"proof begins with the epoch behind the tees", proof_begins_with_the_epoch_behind_the_tees},
    {"one epoch is no proof", one_epoch_is_no_proof},
};

static bool holds(const char *name, bool (*play)(struct stage *stage))
{
    struct stage stage = {.epoch = 1};
    const struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = 2, .epoch = &stage.epoch};
    struct weir_sideband_counts counts;
    weir_assert(weir_sideband_new(&stage.sideband, &setup) == 0);
    weir_sideband_end_feed(stage.sideband);
    weir_assert(weir_sideband_start(stage.sideband) == 0);
    bool came = play(&stage);
    parking_release();
    weir_sideband_stop(stage.sideband, PATIENCE_MS, &counts);
    weir_sideband_free(stage.sideband);
    bool is_right = came && counts.records == 2 && counts.tasks == 0 && counts.reordered == 0 && counts.missed == 0;
    printf("%s: %llu records, %llu tasks left: %s\n", name, (unsigned long long)counts.records,
           (unsigned long long)counts.tasks,
           is_right ? "holds"
           : came   ? "FAILED"
                    : "NEVER REACHED");
    return is_right;
}

int main(void)
{
    unsigned failures = 0;
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(plays); i++)
        failures += !holds(plays[i].name, plays[i].play);
    return failures > 0;
}
