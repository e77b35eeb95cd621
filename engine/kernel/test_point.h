/*
 * Test points: places in the code where one thread hands something to another, or has seen a change by another and not
 * yet acted on it. A race program can hold a thread at a test point while the others run (tests/engine/parking.h). So
 * the program reaches an interleaving that otherwise comes once in a million turns.
 *
 * In builds with a sanitizer (WEIR_TEST_POINTS) a point calls weir_test_point_reached() if the program has that
 * function. In other builds a point is an empty function.
 *
 * docs/races.md lists the shared state, its hand-overs, and the program that races each of them.
 */
#ifndef WEIR_ENGINE_KERNEL_TEST_POINT_H
#define WEIR_ENGINE_KERNEL_TEST_POINT_H

enum weir_test_point {
    WEIR_AT_NO_POINT,

    WEIR_AT_POOL_TAKE,  /* the top of the stack was read, and is not exchanged yet */
    WEIR_AT_POOL_PUT,   /* the same, to push */
    WEIR_AT_POOL_COUNT, /* a chunk was pushed or popped, and not counted yet */
    WEIR_AT_POOL_GROW,  /* chunks are faulted in, and not free yet */
    WEIR_AT_GROWER_SLEEP,

    WEIR_AT_QUEUE_LINK,  /* (queue-order) done, (queue-link) not: the queue is cut in two */
    WEIR_AT_QUEUE_COUNT, /* (queue-link) done: the chunk can be popped, and is not counted */
    WEIR_AT_QUEUE_WAKE,  /* counted (queue-park); whether the writer is parked was not looked at */
    WEIR_AT_QUEUE_REST,  /* the queue is empty, and the writer is not marked as parked */
    WEIR_AT_QUEUE_PARK,  /* the writer says that it is parked, and is not */

    WEIR_AT_READER_EPOCH,   /* (epoch-open) the epoch was read, the heads were not */
    WEIR_AT_READER_RELEASE, /* holding is set, data_tail not moved */
    WEIR_AT_AUX_HEAD,       /* (C') aux_head was read, data_head was not */
    WEIR_AT_AUX_RELEASE,    /* a train is pushed, aux_tail not moved (D') */
    WEIR_AT_READER_HELD,    /* the chunk is pushed, holding still set (holding-clear) */
    WEIR_AT_READER_PASS,    /* all is handed over, the epoch not passed (epoch-passed) */
    WEIR_AT_READER_SLEEP,   /* before poll(2) */
    WEIR_AT_READER_WOKEN,   /* the wake was seen, and not taken (reader-wake) */

    WEIR_AT_ROUND_OPEN, /* what a snapshot needs is stored, its epoch not */
    WEIR_AT_ROUND_MARK, /* all readers are past, the marker not pushed */

    WEIR_AT_SNAPSHOT_PAUSED, /* rings are paused, the epoch not open */
    WEIR_AT_SNAPSHOT_PUSH,   /* a chunk has left the list of what is retained, and is not pushed */
    WEIR_AT_SNAPSHOT_READ,   /* between two blocks of a ring of the newest records */

    WEIR_AT_TEE_PUSH,  /* (tee-head) bytes are there, the head is not moved */
    WEIR_AT_TEE_DRAIN, /* (tee-tail) bytes are read, the tail is not moved */

    WEIR_AT_IDS_PUBLISH, /* (ids-published) the table with new ids is built, and not the map's */
    WEIR_AT_IDS_ADD,     /* (ids-published) a new id is not in the table, in which there is room */
    WEIR_AT_IDS_LOOK_UP, /* (ids-published) the table was read, nothing in it was looked up */
    WEIR_AT_RING_BEGUN,  /* (ring-awake) the ring is no longer dormant, its reader not woken */
    WEIR_AT_RING_RETURN, /* (cpu-return) that its CPU has come back is noted, and not the ring's */

    WEIR_AT_SIDE_QUESTION, /* a question was seen, the tees were not looked at for it */
    WEIR_AT_SIDE_EPOCH,    /* (tees-filled) the epoch was read, the tees were not */
    WEIR_AT_SIDE_DRAINED,  /* the tees were read, the epoch was not looked at again */
    WEIR_AT_SIDE_UNLOCKED, /* a file was read without the lock, its id is not in the table */

    WEIR_AT_HISTORY_PUT,  /* (history-shard) a change is in the log, the lock is held */
    WEIR_AT_HISTORY_FOLD, /* (history-shard) changes have moved into the maps, the lock is held */
    WEIR_AT_HISTORY_FIND, /* (history-shard) a process was searched, the lock is held */

    WEIR_AT_OPENER_OPENED, /* a file was opened without the lock, and nobody was told */
    WEIR_AT_SUPPLY_ASKED,  /* a look was asked for, and the bell not rung */
    WEIR_AT_SUPPLY_LOOKED, /* a look has ended, and nobody was told */

    WEIR_AT_FINISHER_TAKEN, /* a file has left the queue, and no thread was told of the room */
    WEIR_AT_FINISHER_DONE,  /* a file has its name, and is not counted */
    WEIR_AT_FINISHER_DROP,  /* without the lock, what is to be removed is there */

    WEIR_AT_STAGE_OFFER, /* (work-offered) the slot is in the list, the number is not */
    WEIR_AT_STAGE_TAKE,  /* (work-taken) the slot was read, and is not exchanged */
    WEIR_AT_STAGE_DONE,  /* (work-done) worked on, and not said so */
    WEIR_AT_STAGE_SLEEP, /* (worker-bell) there was nothing to do: counted as asleep, and not asleep */

    WEIR_AT_ROTATION_BEGIN, /* (rotation-begun) the output is changed, begun is not stored */
    WEIR_AT_ROTATION_DONE,  /* (rotation-done) the old output has nothing pending, FREE is not stored */

    WEIR_AT_WORKLOAD_WAIT, /* signals were taken, whether the workload has ended was not looked at */
};

#ifdef WEIR_TEST_POINTS
__attribute__((weak)) void weir_test_point_reached(enum weir_test_point point);

static inline void weir_test_point(enum weir_test_point point)
{
    if (weir_test_point_reached)
        weir_test_point_reached(point);
}
#else
static inline void weir_test_point(enum weir_test_point point)
{
    (void)point;
}
#endif

#endif
