/*
 * The stage between the writer's queue and its output. Threads work on whole chunks in parallel. The writer appends the
 * results in the order in which it took the chunks from the queue. A worker does two things with a chunk:
 *
 *     rewrite   each step of the setup in turn changes the records where they lie (chunk_rewriter.h)
 *     pack      with -z, COMPRESSED records of the chunk go to the slot's buffer (format/zstd_pack.h)
 *
 *     slots, by free-running numbers:   completed <= appended <= submitted <= completed + slot_count
 *     work, the waiting slots:          taken <= offered
 *
 *     writer                                                 worker
 *     slot.chunk = ...; state = WAITING
 *     work[n] = slot; offered = n + 1     (work-offered)     n < offered                            (work-offered)
 *                                                            taken: n -> n + 1 by compare and swap  (work-taken)
 *                                                            chunk rewritten, slot.data packed
 *                                                            state = DONE                           (work-done)
 *     state of the oldest slot            (work-done)
 *     append to the output; reap; completed + 1
 *
 *     (work-offered) Release and acquire: the worker sees work[n] and the chunk of that slot.
 *     (work-taken)   Acquire-release: one worker has the slot. A worker that reads a number which another one has left
 *                    in taken sees that much offered.
 *     (work-done)    Release and acquire: the writer sees the bytes of chunk and slot.
 *
 * The writer reuses work[n] once slot_count more slots were offered. By then slot n was completed, so it was taken. (A
 * worker that has read an old n may read the new entry. Its compare and swap then fails.)
 *
 *     kick(), stop()                                         worker
 *     offered, or stopping                (work-end)         bell  (worker-bell);  stopping         (work-end)
 *     bell + 1                            (worker-bell)      no work, not stopping: sleepers + 1    (worker-bell)
 *     sleepers > 0 -> futex wake          (worker-bell)      futex wait while the bell is as it was
 *
 *     (worker-bell)  Sequentially consistent on both sides, but for the worker's load of the bell: a worker that reads
 *                    the bell after a ring sees the work that it was rung for. Otherwise the futex finds the bell
 *                    changed, or the thread that rings finds the sleeper.
 *     (work-end)     Release and acquire: a worker that sees the end sees all work that was offered before, and looks
 *                    for work once more.
 *
 * A round marker takes a slot as well, and so does the first chunk of a train. Both are DONE from the start, so the
 * output has the order of the queue. The chunk stays with its slot until its bytes are on file, because the writer
 * accounts a failed write sample by sample. The number of slots bounds the chunks held that way. With a compression
 * level each slot has a buffer of its own, so the stage allocates nothing while data flows.
 *
 * For a step that needs side records of other readers, the stage holds chunks. It offers them once the writer submits a
 * round marker or a rotation behind them. By then all readers have drained what their rings held when the round's epoch
 * was opened (rounds.h). So the tees have the side records before nearly all samples of the chunks. (A side record from
 * between the opening of the epoch and the hand-over of a chunk may still be in a ring.) The stage does not hold chunks
 * when half of the pool is in use, when all slots are taken, and at the end.
 *
 * When the pool is nearly empty and the workers are behind, chunks go to the file uncompressed. Consumers read
 * compressed and uncompressed records, and no event is lost because compression is slow. No chunk bypasses a rewriting
 * step, because the file's attrs describe the rewritten records.
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_STAGE_H
#define WEIR_ENGINE_DRAIN_CHUNK_STAGE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_rewriter.h"

struct weir_chunk_stage;
struct weir_zstd_packer;

enum weir_chunk_stage_state {
    WEIR_CHUNK_STAGE_WAITING,
    WEIR_CHUNK_STAGE_DONE,
};

struct weir_chunk_stage_slot {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(enum weir_chunk_stage_state) state; /* (work-done) */
    struct weir_chunk *chunk; /* borrowed from the queue until completed, then NULL; written by the writer */
    bool is_hurried;          /* by the writer: the pool was nearly empty, and the workers behind */
    bool packs;               /* likewise: the worker compresses the chunk */
    uint8_t *data;            /* constant: the slot's buffer, 4096-aligned; owned by the stage. NULL without a level */
    uint32_t *raw_ends;       /* constant: room for weir_zstd_pack(), which fills it; owned by the stage */
    size_t bytes;             /* compressed; 0: the chunk goes to the file uncompressed. By the thread that sets DONE */
};

struct weir_chunk_stage_setup {
    struct weir_chunk_rewriter rewriters[WEIR_CHUNK_REWRITERS_MAX]; /* in their order */
    unsigned rewriter_count;
    bool holds;           /* chunks wait for the end of their round: the steps need side records of other readers */
    int level;            /* of zstd, 1 .. WEIR_ZSTD_LEVEL_MAX; 0: chunks are not packed */
    unsigned workers;     /* threads; 0: kick() works (tests, simulated runs) */
    uint32_t chunk_bytes; /* of the pool: the largest input */
    int buffer_index;     /* under which the output knows the memory of the slots */
};

struct weir_chunk_stage_worker {
    struct weir_chunk_stage *stage;         /* borrowed */
    struct weir_zstd_packer *packer;        /* owned; NULL without a level */
    void *states[WEIR_CHUNK_REWRITERS_MAX]; /* owned: of the rewriting steps */
    pthread_t thread;
    bool started;
    pid_t tid;            /* once start() has returned */
    uint64_t cpu_time_ns; /* once it has ended */
};

struct weir_chunk_stage_totals {
    uint64_t in_bytes, out_bytes; /* of chunks that were compressed */
    uint64_t raw_bytes;           /* with a level: of chunks that went out uncompressed */
    uint64_t cpu_time_ns;         /* of the workers, once they have ended */
};

struct weir_chunk_stage {
    struct weir_chunk_stage_setup setup;
    struct weir_chunk_stage_slot *slots;           /* owned */
    _Atomic(struct weir_chunk_stage_slot *) *work; /* owned: borrowed slots */
    unsigned slot_count;                           /* a power of two; of work as well */
    struct iovec memory;                           /* owned: the slots' buffers; empty without a level */
    uint32_t *raw_ends;                            /* owned: those of all slots */
    struct weir_chunk_stage_worker *workers;       /* owned; at least one, for its packer and states */
    unsigned worker_count;

    /* Writer only; readable by others after it was joined. */
    uint64_t submitted, appended, completed;
    uint64_t let_go; /* slots before this one are held no more */
    uint32_t listed; /* slots in work, offered or held */
    struct weir_chunk_stage_totals totals;

    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t offered; /* (work-offered) */
    _Atomic uint32_t bell;                                    /* (worker-bell); futex word */
    _Atomic bool stopping;
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t taken; /* (work-taken) */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t started;
};

/* Threads for a machine of so many CPUs: one for each eight, 16 at most, because they take CPU from the workload. */
unsigned weir_chunk_stage_default_workers(unsigned cpus);

/* Whether a setup gives a stage anything to do. */
bool weir_chunk_stage_is_needed(const struct weir_chunk_stage_setup *setup);

/* The memory of a stage of that setup: `least` from the start, `most` when all slots are full. Zeros when there is
 * no memory. */
struct weir_chunk_stage_memory {
    uint64_t least, most;
};
struct weir_chunk_stage_memory weir_chunk_stage_memory_of(const struct weir_chunk_stage_setup *setup);

/* Reserves all memory. 0 or -ENOMEM with err. */
int weir_chunk_stage_init(struct weir_chunk_stage *stage, const struct weir_chunk_stage_setup *setup,
                          struct weir_error *err);
/* Ends the threads; frees all. NULL-safe; half-built fine. */
void weir_chunk_stage_fini(struct weir_chunk_stage *stage);

/* Starts the workers, at normal priority, wherever there is room. Signals must be blocked. 0 or -errno with err. */
int weir_chunk_stage_start(struct weir_chunk_stage *stage, struct weir_error *err);

/* Ends the workers once all offered work is done. The coordinator, after the writer has ended. */
void weir_chunk_stage_stop(struct weir_chunk_stage *stage);

/* ---- writer thread ---- */

/* Whether submit() has a slot. */
bool weir_chunk_stage_can_submit(const struct weir_chunk_stage *stage);

/* Gives the next chunk, in the order of the file. pressed: the pool is nearly empty. Until next() returns the chunk,
 * only the stage looks at its data. */
void weir_chunk_stage_submit(struct weir_chunk_stage *stage, struct weir_chunk *chunk, bool pressed);

/* Offers chunks that are held. */
void weir_chunk_stage_let_go(struct weir_chunk_stage *stage);

/* Wakes workers for the chunks offered since the last kick; without workers works on them now. */
void weir_chunk_stage_kick(struct weir_chunk_stage *stage);

struct weir_chunk_stage_result { /* the next bytes of the output */
    struct weir_chunk *chunk;
    const uint8_t *data;
    size_t bytes;
    int buffer_index;
};

/* The next result in order, if it is done. The caller appends it now, and gives the chunk to complete() later. */
bool weir_chunk_stage_next(struct weir_chunk_stage *stage, struct weir_chunk_stage_result *result);

/* What a chunk was packed to; valid until the next submit(). Empty: it was not packed. */
struct weir_chunk_stage_bytes {
    const uint8_t *data;
    size_t count;
    const uint32_t *raw_ends; /* as of weir_zstd_pack() */
};

/* Notes that a chunk of a result is on file or has failed. Its slot is free when all earlier slots are. (Around a
 * rotation the chunks of two outputs complete independently.) */
struct weir_chunk_stage_bytes weir_chunk_stage_complete(struct weir_chunk_stage *stage, const struct weir_chunk *chunk);

/* Has the steps take back their counts for records that did not reach their file; see take_back() of
 * chunk_rewriter.h. */
void weir_chunk_stage_take_back(const struct weir_chunk_stage *stage, const uint8_t *records, uint64_t bytes,
                                uint64_t *const samples[], unsigned count);

/* Whether next() is to have a result without another submit(). */
bool weir_chunk_stage_is_busy(const struct weir_chunk_stage *stage);

/* Chunks submitted and not yet returned by next(). */
unsigned weir_chunk_stage_backlog(const struct weir_chunk_stage *stage);

#endif
