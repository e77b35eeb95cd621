/*
 * Compression (-z) between the writer's queue and its output: threads make COMPRESSED records of whole chunks
 * (format/zstd_pack.h) in parallel, and the writer appends the records in the order in which it took the chunks.
 *
 *     slots, by free-running numbers:   completed <= appended <= submitted <= completed + slot_count
 *     work, the waiting slots:          taken <= offered
 *
 *     writer                                                 worker
 *     slot.chunk = ...; state = WAITING
 *     work[n] = slot; offered = n + 1     (work-offered)     n < offered                            (work-offered)
 *                                                            taken: n -> n + 1 by compare and swap  (work-taken)
 *                                                            slot.data = compressed; state = DONE   (work-done)
 *     state of the oldest slot            (work-done)
 *     append to the output; reap; completed + 1
 *
 *     (work-offered) Release and acquire: the worker sees work[n] and the chunk of that slot.
 *     (work-taken)   Acquire-release: one worker has the slot. A worker that reads a number which another one has left
 *                    in taken sees that much offered.
 *     (work-done)    Release and acquire: the writer sees the compressed bytes.
 *
 * The writer reuses work[n] once slot_count more slots were offered. By then slot n was completed, so it was taken. (A
 * worker that read an old n may read the new entry: its exchange then fails.)
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
 * Round markers and trains take a slot as well (the first chunk of a train does), and are DONE from the start: so the
 * output has the order of the queue. The raw chunk stays with its slot until its bytes are on file, because a failed
 * write is accounted sample by sample; the number of slots bounds the chunks held that way. Each slot has its own
 * buffer: nothing is allocated while data flows.
 *
 * When the pool is nearly empty and the workers are behind, chunks go to the file uncompressed: consumers take both,
 * and no event is lost because compression is slow.
 */
#ifndef WEIR_ENGINE_DRAIN_COMPRESSOR_H
#define WEIR_ENGINE_DRAIN_COMPRESSOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/error.h"
#include "engine/drain/chunk.h"

struct weir_compressor;
struct weir_zstd_packer;

enum weir_compressor_state {
    WEIR_COMPRESSOR_WAITING,
    WEIR_COMPRESSOR_DONE,
};

struct weir_compressor_slot {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(enum weir_compressor_state) state; /* (work-done) */
    struct weir_chunk *chunk; /* borrowed from the queue until completed, then NULL; written by the writer */
    uint8_t *data;            /* constant: the slot's buffer, 4096-aligned; owned by the compressor */
    uint32_t *raw_ends;       /* constant: room for weir_zstd_pack(), which fills it; owned by the compressor */
    size_t bytes;             /* compressed; 0: the chunk goes to the file uncompressed. By the thread that sets DONE */
};

struct weir_compressor_setup {
    int level;            /* 1 .. WEIR_ZSTD_LEVEL_MAX */
    unsigned workers;     /* threads; 0: kick() compresses (tests, simulated runs) */
    uint32_t chunk_bytes; /* of the pool: the largest input */
    int buffer_index;     /* under which the output knows the memory of the slots */
};

struct weir_compressor_worker {
    struct weir_compressor *compressor; /* borrowed */
    struct weir_zstd_packer *packer;    /* owned */
    pthread_t thread;
    bool started;
    pid_t tid;            /* once start() has returned */
    uint64_t cpu_time_ns; /* once it has ended */
};

struct weir_compressor_totals {
    uint64_t in_bytes, out_bytes; /* of chunks that were compressed */
    uint64_t raw_bytes;           /* of chunks that went out uncompressed */
    uint64_t cpu_time_ns;         /* of the workers, once they have ended */
};

struct weir_compressor {
    struct weir_compressor_setup setup;
    struct weir_compressor_slot *slots;           /* owned */
    _Atomic(struct weir_compressor_slot *) *work; /* owned: borrowed slots */
    unsigned slot_count;                          /* a power of two; of work as well */
    struct iovec memory;                          /* owned: the slots' buffers */
    uint32_t *raw_ends;                           /* owned: those of all slots */
    struct weir_compressor_worker *workers;       /* owned; at least one, for its packer */
    unsigned worker_count;

    /* Writer only; readable by others after it was joined. */
    uint64_t submitted, appended, completed;
    struct weir_compressor_totals totals;

    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t offered; /* (work-offered) */
    _Atomic uint32_t bell;                                    /* (worker-bell); futex word */
    _Atomic bool stopping;
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t taken; /* (work-taken) */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t started;
};

/* Threads for a machine of so many CPUs: one for each eight, 16 at most, because they take CPU from the workload. */
unsigned weir_compressor_default_workers(unsigned cpus);

/* The memory of a compressor of that setup: `least` from the start, `most` when all slots are full. Zeros when there is
 * no memory. */
struct weir_compressor_memory {
    uint64_t least, most;
};
struct weir_compressor_memory weir_compressor_memory_of(const struct weir_compressor_setup *setup);

/* Reserves all memory. 0 or -ENOMEM with err. */
int weir_compressor_init(struct weir_compressor *compressor, const struct weir_compressor_setup *setup,
                         struct weir_error *err);
/* Ends the threads; frees all. NULL-safe; half-built fine. */
void weir_compressor_fini(struct weir_compressor *compressor);

/* Starts the workers, at normal priority, wherever there is room. Signals must be blocked. 0 or -errno with err. */
int weir_compressor_start(struct weir_compressor *compressor, struct weir_error *err);

/* Ends the workers once all offered work is done. The coordinator, after the writer has ended. */
void weir_compressor_stop(struct weir_compressor *compressor);

/* ---- writer thread ---- */

/* Whether submit() has a slot. */
bool weir_compressor_can_submit(const struct weir_compressor *compressor);

/* Gives the next chunk, in the order of the file. pressed: the pool is nearly empty. */
void weir_compressor_submit(struct weir_compressor *compressor, struct weir_chunk *chunk, bool pressed);

/* Wakes workers for the chunks submitted since the last kick; without workers compresses them now. */
void weir_compressor_kick(struct weir_compressor *compressor);

struct weir_compressor_result { /* the next bytes of the output */
    struct weir_chunk *chunk;
    const uint8_t *data;
    size_t bytes;
    int buffer_index;
};

/* The next result in order, if it is done. The caller appends it now, and gives the chunk to complete() later. */
bool weir_compressor_next(struct weir_compressor *compressor, struct weir_compressor_result *result);

/* What a chunk was compressed to; valid until the next submit(). Empty: it was not compressed. */
struct weir_compressor_bytes {
    const uint8_t *data;
    size_t count;
    const uint32_t *raw_ends; /* as of weir_zstd_pack() */
};

/* Notes that a chunk of a result is on file or has failed. Its slot is free when all earlier slots are. (Around a
 * rotation the chunks of two outputs complete independently.) */
struct weir_compressor_bytes weir_compressor_complete(struct weir_compressor *compressor,
                                                      const struct weir_chunk *chunk);

/* Chunks submitted and not yet returned by next(). */
unsigned weir_compressor_backlog(const struct weir_compressor *compressor);

#endif
