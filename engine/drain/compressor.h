/*
 * Compression (-z) between the writer's queue and its output: threads make COMPRESSED records of whole chunks
 * (format/zstd_pack.h), side by side, and the writer appends them in the order in which it took the chunks.
 *
 *     slots, by free-running numbers:   completed <= appended <= submitted <= completed + slot_count
 *     work, the slots that wait:        taken <= offered
 *
 *     writer                                              worker
 *     slot.chunk = ...; state = WAITING
 *     work[n] = slot; offered = n + 1      (S)            n < offered                                   (S)
 *                                                         taken: n -> n + 1 by compare and swap         (T)
 *                                                         slot.data = compressed; state = DONE, release (D)
 *     state of the oldest slot, acquire    (D)
 *     append to the output; reap; completed + 1
 *
 *     (S) the worker sees work[n] and its slot's chunk. (T) one worker has it; and who sees the number that another one
 *     has left there sees that much offered. (D) the writer sees what it made.
 *     work[n] is written again when slot_count more were offered; by then its slot was completed, so it was taken.
 *     (A worker that looked at an old n may read the new one: its exchange fails.)
 *
 *     kick(), stop()                                      worker
 *     offered, or stopping, release        (E)            bell, acquire (B); stopping, acquire          (E)
 *     bell + 1                             (B)            no work, not stopping: sleepers + 1           (B)
 *     sleepers > 0 -> futex wake           (B)            futex wait while the bell is as it was
 *
 *     (B) sequentially consistent on both sides, but for the load: who has read the bell after it was rung sees what it
 *     was rung for. Else the futex finds it rung, or whoever rings it finds the sleeper.
 *     (E) who sees the end sees all that was offered before, and looks for that once more.
 *
 * Round markers and AUX data take a slot as well (of a train the first chunk does), and are DONE from the start: so
 * the order is that of the queue. The raw chunk stays with its slot until its bytes are on file, because a failed
 * write has to be accounted for sample by sample; the number of slots bounds what is held that way. Each slot has a
 * buffer of its own: nothing is allocated while data flows.
 *
 * When the pool is nearly empty and the workers are behind, chunks go to the file as they are: readers of the file take
 * both, and no event is lost because compression is slow.
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
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(enum weir_compressor_state) state; /* (D) */
    struct weir_chunk *chunk; /* borrowed from the queue until completed, then NULL; written by the writer */
    uint8_t *data;            /* constant: the slot's buffer, 4096-aligned; owned by the compressor */
    size_t bytes;             /* compressed; 0: the chunk goes to the file as it is. Written by whoever makes it DONE */
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
    uint64_t raw_bytes;           /* of chunks that went out as they were */
    uint64_t cpu_time_ns;         /* of the workers, once they have ended */
};

struct weir_compressor {
    struct weir_compressor_setup setup;
    struct weir_compressor_slot *slots;           /* owned */
    _Atomic(struct weir_compressor_slot *) *work; /* owned: borrowed slots */
    unsigned slot_count;                          /* a power of two; of work as well */
    struct iovec memory;                          /* owned: the slots' buffers */
    struct weir_compressor_worker *workers;       /* owned; at least one, for its packer */
    unsigned worker_count;

    /* Writer only; readable by others after it was joined. */
    uint64_t submitted, appended, completed;
    struct weir_compressor_totals totals;

    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t offered; /* (S) */
    _Atomic uint32_t bell;                                    /* (B); futex word */
    _Atomic bool stopping;
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t taken; /* (T) */
    _Atomic uint32_t sleepers;
    _Atomic uint32_t started;
};

/* Threads for a machine of so many CPUs: one for each eight, 16 at most; they take CPU from what is measured. */
unsigned weir_compressor_default_workers(unsigned cpus);

/* What one of that setup takes: `least` from the start, `most` when all its slots are full. No memory: zeros. */
struct weir_compressor_memory {
    uint64_t least, most;
};
struct weir_compressor_memory weir_compressor_memory_of(const struct weir_compressor_setup *setup);

/* Takes all memory. 0 or -ENOMEM with err. */
int weir_compressor_init(struct weir_compressor *compressor, const struct weir_compressor_setup *setup,
                         struct weir_error *err);
/* Ends the threads; frees all. NULL-safe; half-built fine. */
void weir_compressor_fini(struct weir_compressor *compressor);

/* Starts the workers, at normal priority, wherever there is room. Signals must be blocked. 0 or -errno with err. */
int weir_compressor_start(struct weir_compressor *compressor, struct weir_error *err);

/* Ends the workers once all that was offered is done. The coordinator, after the writer has ended. */
void weir_compressor_stop(struct weir_compressor *compressor);

/* ---- writer thread ---- */

/* True while submit() has a slot. */
bool weir_compressor_can_submit(const struct weir_compressor *compressor);

/* Gives the next chunk, in the order of the file. pressed: the pool is nearly empty. */
void weir_compressor_submit(struct weir_compressor *compressor, struct weir_chunk *chunk, bool pressed);

/* Wakes workers for what was submitted since; without workers compresses it now. */
void weir_compressor_kick(struct weir_compressor *compressor);

struct weir_compressor_result { /* what goes to the output */
    struct weir_chunk *chunk;
    const uint8_t *data;
    size_t bytes;
    int buffer_index;
};

/* The next in order, if it is done: to be appended now, and given to complete() later. */
bool weir_compressor_next(struct weir_compressor *compressor, struct weir_compressor_result *result);

/* One that was given out is on file, or has failed: its slot is free when those before it are. (Chunks of two outputs,
 * one of which was left, complete independently.) Whether it was compressed. */
bool weir_compressor_complete(struct weir_compressor *compressor, const struct weir_chunk *chunk);

/* Submitted and not yet given out by next(). */
unsigned weir_compressor_backlog(const struct weir_compressor *compressor);

#endif
