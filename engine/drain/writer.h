/*
 * The writer: takes chunks and round markers from the queue, in order, and appends them to the output.
 *
 *     step:  while the output takes more and the queue has more: append
 *            (with a stage through its threads: queued chunks go in, finished chunks come out, in the same order)
 *            flush to the kernel; reap completions; give chunks back to the pool
 *            (walk a failed chunk first, and count its samples as lost by a failed write, per CPU and event)
 *            when a checkpoint is due: write data.size = stable bytes into the head (checkpoint.h)
 *
 * An output that waits for space (io/output.h) is tried ten times a second. Meanwhile its chunks stay in the queue, and
 * the pool runs low; the disk guard reads `full` and has less recorded (disk_guard.h).
 *
 * The thread repeats steps. Between two steps it parks in the queue, so that chunks gather and go to the kernel in one
 * call:
 *
 *     while data flows    until the queue has 8 MiB of chunks, an eighth of the pool, or half of the chunks that
 *                         readers may still take, whichever is least; for 40 ms at most. The push that completes the
 *                         number wakes the writer: one wake for a batch
 *     in haste            1 ms, without a wake, when less than half of the ready chunks is free. Every chunk that
 *                         comes back from the disk matters then
 *     for others          10 ms, while work is under way that does not wake the writer: the stage, an output that a
 *                         rotation has left, a snapshot that is awaited
 *     when idle           until the next push, or a checkpoint
 *
 * When the writer wakes, half of the pool is still free for a storm that begins suddenly. After stop() the thread ends
 * when queue and output are empty.
 *
 * A round that is full or overdue (round_due.h) is reported to the coordinator through kick_fd.
 *
 * The writer appends a train (chunk.h) as one whole: nothing comes between its chunks, and no checkpoint ends inside
 * it. The writer neither walks nor compresses the data of a train, nor counts the data for rounds, because consumers
 * need not sort it.
 *
 * A rotation changes the output (writer_rotation.h). Items behind the rotation in the queue go to the next output at
 * once. Chunks in front of it may still be on their way to the old output then.
 */
#ifndef WEIR_ENGINE_DRAIN_WRITER_H
#define WEIR_ENGINE_DRAIN_WRITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "engine/drain/checkpoint.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/chunk_stage.h"
#include "engine/drain/pool_grower.h"
#include "engine/drain/pressure.h"
#include "engine/drain/record_walk.h"
#include "engine/drain/round_due.h"
#include "engine/drain/round_mark.h"
#include "engine/drain/writer_rotation.h"
#include "io/output.h"

struct weir_writer_setup {
    struct weir_chunk_queue *queue;
    struct weir_pool *pool;
    struct weir_output *output; /* the first; head written; the writer thread uses it until a rotation leaves it */
    const struct weir_clock *clock;
    struct weir_walk_layout layout;     /* place_stride: events per CPU in failed.samples */
    unsigned reader_count;              /* that fill chunks */
    uint64_t failed_counters;           /* CPUs x events */
    struct weir_round_due_setup rounds; /* when to kick the coordinator for a round */
    int kick_fd;                        /* borrowed eventfd, -1: none */
    uint64_t full_bytes;                /* write to full_fd, once for each output that has so many; 0: never */
    int full_fd;                        /* borrowed eventfd */
    uint64_t max_bytes;                 /* --max-size: of data in all outputs; 0: no limit */
    bool sync;                          /* --sync: checkpoints outlive the machine */
    struct weir_pool_grower *grower;    /* borrowed; NULL: all of the pool is ready */
    struct weir_chunk_stage *stage;     /* borrowed; NULL: chunks go to the file as they are */

    const struct weir_round_marks_setup *marks; /* copied; NULL: readers make no marks */
};

struct weir_writer {
    struct weir_writer_setup setup;

    /* Writer thread only; readable by others after it was joined. */
    struct weir_output *output;                 /* borrowed: the current one */
    struct weir_writer_rotation *rotation;      /* borrowed; its old output has writes pending; NULL: none */
    struct weir_writer_account account;         /* of the current output */
    uint64_t *side_bytes;                       /* owned; [reader]: bytes of its side tee that are appended by now */
    uint64_t lost_reported;                     /* sum of the LOST records appended to all outputs */
    uint64_t packed_in_bytes, packed_out_bytes; /* before and after compression, in all outputs */
    struct weir_chunk first;        /* item of the first records of an output after a rotation; of its kind */
    struct weir_chunk *train;       /* next chunk of the train that is being appended; NULL: none is */
    uint64_t train_bytes;           /* of trains, in all outputs */
    uint64_t failed_train_bytes;    /* of trains that are in no output, as `failed` */
    uint64_t output_bytes;          /* appended to the current output */
    uint64_t left_bytes;            /* appended to earlier outputs */
    bool told_full;                 /* of the current output */
    struct weir_walk_counts failed; /* records that did not reach their file, by failure or by max_bytes */
    uint64_t *failed_of[2];         /* owned: samples of `failed` by output, in turn for one output and the next */
    struct weir_round_due round_due;
    unsigned awaited;            /* awaited chunks that are appended and not complete */
    enum weir_pressure pressure; /* of the pool, at the last step */
    struct weir_checkpoint checkpoint;
    bool told_unsized;
    uint64_t rounds; /* markers on file, in all outputs */
    struct weir_round_marks marks;
    uint64_t sleeps;
    uint64_t tried_ns; /* when an output without space was tried last */

    _Atomic bool stopping; /* written by stop(), read by the writer */
    _Atomic bool given_up; /* written by give_up_stream(), read by the writer */
    _Atomic bool waits;    /* written by wait_for_space(), read by the writer */
    _Atomic bool full;     /* by the writer: an output waits for space on its file system */
    _Atomic bool limited;  /* by the writer: max_bytes was reached; records drained later are not written */
    _Atomic int error;     /* of the output; written by the writer, read by the coordinator */
    _Atomic int taken;     /* result of weir_output_look(); written by the writer, taken by the coordinator */
    _Atomic int unsized;   /* -errno of a failed write of data.size; as taken, but once only */

    /* By the writer, for timeline and metrics. */
    struct weir_shared_histogram latency_us; /* from the hand-over to the file, of each chunk of data that got there */
    _Atomic uint64_t told_bytes;             /* appended to all outputs */
    _Atomic uint64_t told_failed;            /* samples of `failed` that no size limit left out */
    _Atomic uint64_t told_latencies;         /* count and sum of the latencies */
    _Atomic uint64_t told_latency_ns;        /* the sum */
    _Atomic uint64_t longest_latency_ns;     /* the writer raises it, the coordinator takes it: as fullest_per_mille of
                                              * reader.h */
};

/* 0 or -ENOMEM. */
int weir_writer_init(struct weir_writer *writer, const struct weir_writer_setup *setup);
void weir_writer_fini(struct weir_writer *writer);

/* One step that does not sleep, but for wait_ms on completions when any are pending. True when something moved. */
bool weir_writer_step(struct weir_writer *writer, unsigned wait_ms);

/* The body of the writer thread. */
void weir_writer_run(struct weir_writer *writer);

/* Fails an output that is a stream with -ECANCELED: the writer waits no longer for its consumer. No effect on a file.
 * Any thread. */
void weir_writer_give_up_stream(struct weir_writer *writer);

/* Whether files wait for space (weir_output_wait_for_space()); not at first. Any thread. */
void weir_writer_wait_for_space(struct weir_writer *writer, bool waits);

/* Makes run() return once every item pushed before is written or failed. An output without space goes on waiting for
 * it. Any thread. */
void weir_writer_stop(struct weir_writer *writer);

/* Whether nothing is queued or in flight. Writer thread (in tests the thread that steps). */
bool weir_writer_is_idle(struct weir_writer *writer);

#endif
