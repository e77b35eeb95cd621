/*
 * The timeline of a recording: records in the current file that say how much readers drained, lost and waited, and when
 * (format/timeline_record.h). They also say what the output did meanwhile.
 *
 *     once a second   (or once in the pipeline's epoch_ns, if that is longer) asks for an epoch, so that all readers
 *                     publish their counters. A little later reads the counters, and pushes a record with the changes
 *                     into the writer's queue
 *     at a rotation   pushes a record with the changes, as the end of the file's part
 *     at the end      pushes the last record, with the losses that no LOST record of a ring has told
 *
 * The writer takes a record like any chunk of data: checkpoints cover it, and a stream has it, too. The sum over all
 * records is the ledger's (ledger.h).
 *
 * A second in which nothing has changed gets no record. Nor does a second without a free chunk of the pool, or a second
 * in which an output waits for space. The next record then covers the longer interval.
 *
 * Memory: 192 bytes for each reader, and a record of at most 64 KiB. In a file the timeline takes at most
 * WEIR_TIMELINE_FREE_BYTES and one part in WEIR_TIMELINE_SHARE of the other data, and the last record. A recording with
 * so little data that seconds would take more gets longer intervals.
 *
 * Coordinator thread. The readers' step pays nothing for it: each counter is the reader's own.
 */
#ifndef WEIR_ENGINE_FILES_TIMELINE_H
#define WEIR_ENGINE_FILES_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/record_result.h"
#include "format/timeline_record.h"

#define WEIR_TIMELINE_PERIOD_NS  WEIR_NS_PER_S
#define WEIR_TIMELINE_FREE_BYTES (4ull << 20)
#define WEIR_TIMELINE_SHARE      100u

struct weir_timeline_setup { /* all borrowed until fini() */
    struct weir_pipeline *pipeline;
    const struct weir_clock *clock; /* monotonic */
    struct weir_poll_set *sources;  /* of the coordinator; NULL: the caller calls tick() */
};

struct weir_timeline {
    struct weir_timeline_setup setup;
    int timer_fd;                          /* owned; -1: none */
    bool is_asked;                         /* for the epoch of this second; the next tick is a look */
    uint64_t asking_ns;                    /* when the last epoch was asked for, or the next is */
    uint64_t due_ns;                       /* when the timer expires */
    uint64_t longest_delay_ns;             /* from then to the callback */
    struct weir_timeline_reader *told;     /* owned; [reader]: sums over all records so far */
    struct weir_timeline_reader *now;      /* owned; [reader]: what has come since */
    struct weir_timeline_reader *entries;  /* owned; of the record that is being made */
    uint64_t *begun_ns;                    /* owned; [record of an interval]: when the next one begins */
    struct weir_timeline_interval written; /* sums over all records so far */
    uint64_t told_latencies;               /* likewise: number of latencies, */
    uint64_t told_latency_ns;              /* and their sum */
    uint64_t latencies, latency_ns;        /* the present number and sum */
    uint64_t longest_latency_ns;           /* since the last record */
    uint64_t timeline_bytes;               /* of records in the current file */
    uint64_t file_begun_bytes;             /* of all outputs when the current file began */
    struct weir_buf record;                /* owned */
};

#define WEIR_TIMELINE_INIT \
    {                      \
        .timer_fd = -1     \
    }

/* Starts the timeline, when the pipeline's threads run. timeline: as WEIR_TIMELINE_INIT. 0 or -errno with err; fini()
 * in any case. */
int weir_timeline_start(struct weir_timeline *timeline, const struct weir_timeline_setup *setup,
                        struct weir_error *err);

/* Writes a record with the changes, if there is room for it. The timer calls this. */
void weir_timeline_tick(struct weir_timeline *timeline);

/* Writes a record with the changes as the end of the file's part. Data goes to another file from then on. Call this at
 * the cut of a rotation, before the writer gets the rotation. */
void weir_timeline_end_file(struct weir_timeline *timeline);

/* Writes the last record. Call this after the readers have ended and the ledger has its rows, while the writer runs.
 * No effect on a timeline that was not started. Waits for a free chunk. */
void weir_timeline_end(struct weir_timeline *timeline, const struct weir_record_result *result);

/* NULL-safe. */
void weir_timeline_fini(struct weir_timeline *timeline);

#endif
