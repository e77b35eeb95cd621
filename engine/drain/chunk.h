/*
 * Chunks: the memory that carries whole records from a reader to the writer, and the bounded pool of them.
 *
 * Life of a chunk, one owner at a time:
 *
 *     FREE ──take──► FILLING ──push──► QUEUED ──pop──► IN_FLIGHT ──put──► FREE
 *     (pool)         (one reader)      (queue)         (writer, kernel)   (pool)
 *
 * weir asserts the state at every step. weir reserves all memory before the recording starts, on the NUMA node of the
 * readers that will use it. The part that is always in use is faulted in then. The rest is there for a stalled disk.
 * weir_pool_grow() faults these chunks in and puts them on the free list, on a thread for which no reader waits
 * (pool_grower.h). So a short recording does not pay for zeroing memory that it never uses. When all chunks of a node
 * are in use the pool lends a chunk of another node. When none is left, take() returns NULL, and the reader leaves the
 * records in its ring.
 *
 * A record that is larger than a chunk travels in a train: chunks that are linked by `follower`, all full but the last.
 * Such a record is AUXTRACE, whose data is a piece of an AUX area. The queue carries the first chunk of the train, and
 * the others go with it through the same states. Each chunk goes back to the pool by itself.
 *
 * The free list is a stack (Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986) whose top is
 * one 64-bit word, {tag, index + 1}. The tag grows with every push: a top that was popped and pushed again meanwhile
 * differs from the old one. Last in, first out also keeps the few chunks that a slow recording needs in the cache.
 */
#ifndef WEIR_ENGINE_DRAIN_CHUNK_H
#define WEIR_ENGINE_DRAIN_CHUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/bits.h"
#include "base/error.h"
#include "format/records.h"

enum weir_chunk_state {
    WEIR_CHUNK_FREE,
    WEIR_CHUNK_FILLING,
    WEIR_CHUNK_QUEUED,
    WEIR_CHUNK_IN_FLIGHT,
};

enum weir_chunk_kind {
    WEIR_CHUNK_DATA,     /* whole records */
    WEIR_CHUNK_ROUND,    /* no data: the writer places a FINISHED_ROUND record here */
    WEIR_CHUNK_ROTATION, /* no data: the items behind it go to another output (struct weir_writer_rotation) */
};

/* A record in a chunk of data that may become a round marker: round_mark.h. */
struct weir_round_mark {
    uint32_t at;        /* of the chunk's bytes */
    uint64_t began_ns;  /* all that the reader's rings held then stands before the mark; 0: they are not drained */
    uint64_t ended_ns;  /* all records before the mark were published before that */
    uint64_t alone_ns;  /* all rings were drained then, and only one has had records since; 0: not known */
    uint64_t sample_ns; /* with alone_ns: newest sample of that ring, by the clock of the recording */
};

#define WEIR_CHUNK_MARKS 8u

struct weir_chunk {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic(struct weir_chunk *) queue_next; /* chunk_queue.c */
    _Atomic uint32_t free_next;           /* chunk.c: index + 1 of the next free chunk, 0 at the end */
    _Atomic(enum weir_chunk_state) state; /* written by the owner */
    enum weir_chunk_kind kind;            /* constant */
    bool awaited;                         /* by the owner, before the push: a thread waits for its write */
    uint32_t index;                       /* constant: position in the pool */
    uint32_t capacity;                    /* constant: bytes, a multiple of 4096 */
    uint32_t used;                        /* bytes of whole records; written by the owner */
    uint32_t reader;                      /* by its reader: 1 + number of the reader; 0: no reader filled it */
    uint32_t tee;                         /* by its reader: 1 + number of the reader; 0: side_bytes is not set */
    uint64_t side_bytes;                  /* by its reader: bytes of its side tee up to the end of this chunk */
    uint64_t lost_reported;               /* by its reader: sum of the LOST records in it */
    uint64_t first_sample_ns;             /* by its reader: oldest and newest sample of it, by the clock of the */
    uint64_t last_sample_ns;              /* recording; both 0: no sample, or samples without time */
    int buffer_index;                     /* constant: which of the pool's buffers holds data */
    uint8_t *data;                        /* constant; 4096-aligned; owned by the pool */
    _Atomic uint64_t *returned;           /* counter of the reader that filled it; may be NULL */
    uint64_t handed_ns;                   /* when its reader handed it over; 0: not known; written by the owner */
    struct weir_chunk *follower;          /* by its reader: the next chunk of its train; NULL: none */
    bool follows;                         /* by its reader: not the first chunk of its train */
    bool opaque;                          /* by its reader: part of a train, whose data no one walks */
    uint32_t share;                       /* constant: which of the pool's shares (nodes) its memory belongs to */
    uint32_t mark_count;                  /* by its reader */
    uint32_t marker_count;                /* by the writer: marks that became markers */
    struct weir_round_mark marks[WEIR_CHUNK_MARKS]; /* by its reader, ascending; then those that became markers */
};

/* Returns the bytes that records may still take: a full chunk keeps room for padding, so that it can be written with
 * O_DIRECT. Owner only. */
static inline uint32_t weir_chunk_room(const struct weir_chunk *chunk)
{
    uint32_t end = chunk->capacity - WEIR_RECORD_PADDING_LEAST;
    return chunk->used < end ? end - chunk->used : 0;
}

/* Moves a chunk from one state to the next and asserts that it was in the first. Owner only. */
void weir_chunk_advance(struct weir_chunk *chunk, enum weir_chunk_state from, enum weir_chunk_state to);

/* Bytes of a chunk and of its followers. Owner only. */
uint64_t weir_chunk_train_bytes(const struct weir_chunk *chunk);

/* Leaves the first `bytes` of a chunk, which are whole records, and the marks in these. Owner only. */
void weir_chunk_cut(struct weir_chunk *chunk, uint32_t bytes);

/* Resets a chunk to its state after take(): no bytes, no times. Owner only. */
void weir_chunk_empty(struct weir_chunk *chunk);

struct weir_pool_node {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t top;        /* tag << 32 | index + 1 */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint32_t free_count; /* lags the stack by the threads inside push and pop */
    int node;                                                    /* NUMA node */
    void *memory;                                                /* owned */
    size_t bytes;
    uint32_t first; /* index of its first chunk */
    uint32_t count; /* its chunks */
    uint32_t ready; /* of these, how many are faulted in; written by weir_pool_grow() */
};

struct weir_pool {
    struct weir_chunk *chunks; /* owned */
    uint32_t chunk_count;
    uint32_t chunk_bytes;
    _Atomic uint32_t ready_count; /* chunks that are faulted in; written by weir_pool_grow() */
    uint32_t reserve;             /* chunks that a reader which already has some in the pipeline must leave */
    struct weir_pool_node *nodes; /* owned */
    unsigned node_count;
    struct iovec *buffers; /* owned: the memory in pieces of at most 1 GiB, for registration with the kernel */
    unsigned buffer_count;
    unsigned late_count; /* the last of them, which were not ready from the start */

    /* Chunks that readers keep (retention.h): in use, but not on their way to the file. Written by readers. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic int32_t retained_count;
};

#define WEIR_CHUNK_MIN_BYTES (128u * 1024)      /* holds any record and a block of the reader's copy loop */
#define WEIR_CHUNK_MAX_BYTES (2048u * 1024)     /* a huge page of x86-64 and of arm64 */
#define WEIR_POOL_GROW_BYTES (4u * 1024 * 1024) /* faulted in at a time: two huge pages of x86-64 */
#define WEIR_POOL_ALL_READY  UINT64_MAX

struct weir_pool_share { /* the part of one NUMA node */
    int node;
    unsigned readers;
};

/*
 * Makes a pool of total_bytes (rounded to chunks; at least two chunks per reader), spread over the nodes by their
 * number of readers. The chunk size follows from total_bytes and readers; it is at most chunk_bytes_max, a power of two
 * of at least WEIR_CHUNK_MIN_BYTES. About ready_bytes of the pool (at least two chunks per reader; WEIR_POOL_ALL_READY:
 * all) are faulted in now. Readers keep up to kept_bytes of them for themselves (weir_pool_retain()), leaving two
 * chunks for each reader. 0 or -ENOMEM with err. Blocks while the kernel zeroes the memory.
 */
int weir_pool_init(struct weir_pool *pool, uint64_t total_bytes, uint64_t ready_bytes, uint32_t chunk_bytes_max,
                   uint64_t kept_bytes, const struct weir_pool_share *shares, unsigned share_count,
                   struct weir_error *err);
void weir_pool_fini(struct weir_pool *pool);

/* Bytes to have ready from the start when the user names no size. */
uint64_t weir_pool_default_ready_bytes(unsigned readers);

/* Whether less than half of the chunks that are ready and not kept by readers is free, and more can be made ready. Any
 * thread. */
bool weir_pool_wants_growth(const struct weir_pool *pool);

/*
 * Faults in WEIR_POOL_GROW_BYTES more (at least a chunk), on the node that has the smallest share of its chunks free,
 * and frees them for use. One thread at a time; blocks while the kernel zeroes the memory. 0, -ENOMEM, or -ENOSPC when
 * all chunks are ready.
 */
int weir_pool_grow(struct weir_pool *pool);

/* Counts `chunks` more chunks (below 0: less) as kept by readers. Any thread. */
void weir_pool_retain(struct weir_pool *pool, int32_t chunks);

/* Chunks that are neither free nor kept by a reader at about this moment. */
uint32_t weir_pool_used_count(const struct weir_pool *pool);

/* The size of a pool of total_bytes for so many readers on one node, in whole chunks, at least two for each reader; and
 * the size of a chunk. */
uint64_t weir_pool_whole_bytes(uint64_t total_bytes, unsigned readers);
uint32_t weir_pool_chunk_bytes(uint64_t total_bytes, unsigned readers);

/* Pool bytes for a machine of that memory and reader count when the user names none. */
uint64_t weir_pool_default_bytes(uint64_t memory_bytes, unsigned readers);

/*
 * Takes a chunk for filling (state FILLING, used 0): from slot `share` (index into shares), else from another slot.
 * use_reserve: also the last pool->reserve chunks. NULL when there is none. Any thread; lock-free, never blocks.
 */
struct weir_chunk *weir_pool_take(struct weir_pool *pool, unsigned share, bool use_reserve);

/* Gives a chunk back (any state but FREE) and counts it to its reader. Any thread; lock-free. */
void weir_pool_put(struct weir_pool *pool, struct weir_chunk *chunk);

/* Gives back a chunk and its followers; NULL: none. Any thread; lock-free. */
void weir_pool_put_train(struct weir_pool *pool, struct weir_chunk *chunk);

/* Free chunks at about this moment. */
uint32_t weir_pool_free_count(const struct weir_pool *pool);

#endif
