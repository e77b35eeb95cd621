/*
 * The samples that a reader keeps in memory (-M): a bounded list of chunks, oldest first, instead of the writer's
 * queue.
 *
 *     data ring ──copy──► open chunk ──seal──► [ oldest ... newest ] ──evict──► the same chunk, filled again
 *                                                    └─── at a snapshot: all of it, in order, to the writer
 *
 * Whole chunks are evicted, and so whole records. The records of a chunk that are not samples (LOST, THROTTLE, READ
 * ...) are copied to the sink before its eviction: only samples are evicted.
 *
 * No second walk counts the samples of a chunk: when a chunk is sealed, the reader's counters are copied to its entry.
 * The difference from the entry before is the chunk's own count.
 *
 * The list is bounded by chunks (room) and, with a span, by the time of records. The reader evicts a chunk once the
 * chunk's newest sample is older than the newest sample seen, by more than the span. With a span, a reader seals a
 * chunk when the chunk covers an eighth of the span. So the list covers at least the span and at most an eighth more.
 *
 * One reader owns the list; reader thread only. Except for init(), no function takes a lock, allocates, or makes a
 * system call other than a futex wake (by way of the sink).
 */
#ifndef WEIR_ENGINE_DRAIN_RETENTION_H
#define WEIR_ENGINE_DRAIN_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/chunk.h"
#include "engine/drain/chunk_sink.h"
#include "engine/drain/reader_ring.h"

#define WEIR_RETENTION_CHUNKS_MIN      2u  /* one to fill, one to evict */
#define WEIR_RETENTION_SPAN_CHUNKS_MIN 12u /* with a span: nine slices, and their overlap */

/* How memory is dealt out to readers. */
struct weir_retention_plan {
    uint32_t chunk_bytes; /* of the pool, at most */
    uint32_t chunks_per_reader;
    uint64_t bytes; /* of all readers, in whole chunks */
};

struct weir_retained {
    struct weir_chunk *chunk; /* FILLING, owned by the reader; has the times of its samples */
    uint64_t side_bytes;      /* of the records in it that are not samples */
    uint64_t *drained;        /* owned by the list; [counter]: samples drained when it was sealed */
};

struct weir_retention_setup {
    struct weir_pool *pool;                /* borrowed */
    struct weir_chunk_sink *sink;          /* borrowed: chunks come from it and go to it */
    const struct weir_reader_rings *rings; /* borrowed: whose samples are retained; as they are before any is dropped */
    uint32_t room;    /* chunks at most, with the one being filled; at least WEIR_RETENTION_CHUNKS_MIN */
    uint64_t span_ns; /* 0: bounded by room alone */
    size_t counters;  /* rings x events */
};

struct weir_retention {
    struct weir_retention_setup setup;

    struct weir_retained *list; /* owned; a ring of `room` entries */
    uint32_t first, count;      /* sealed ones */
    struct weir_retained open;  /* being filled; chunk NULL: none */
    uint64_t newest_ns;         /* of all samples seen */

    uint64_t *left;           /* owned; [counter]: samples in chunks that have left, either way */
    uint64_t *evicted;        /* owned; [counter]: of these, evicted */
    uint64_t *counts;         /* owned: all counters of the list, in one piece */
    uint64_t handed_first_ns; /* of the last snapshot: its oldest sample; 0: none, or samples without time */
    uint64_t left_samples;    /* evicted at the end of the recording: no snapshot has asked for them */
};

/* bytes: to retain in all, > 0; the plan may have more, because each reader needs a few chunks. A chunk is at most an
 * eighth of what its reader retains, where WEIR_CHUNK_MIN_BYTES allows: so much is evicted at a time. Pure. */
struct weir_retention_plan weir_retention_plan(uint64_t bytes, uint64_t span_ns, unsigned readers);

/* Bytes to retain with a span when the user names none, for a machine of that memory. */
uint64_t weir_retention_default_bytes(uint64_t memory_bytes, unsigned readers);

/* 0 or -ENOMEM; half-built is for fini(). */
int weir_retention_init(struct weir_retention *retention, const struct weir_retention_setup *setup);

/* Gives all chunks back to the pool. NULL-safe. */
void weir_retention_fini(struct weir_retention *retention);

/* Notes a block that was added to the open chunk; side_bytes of it are not of samples. True when the chunk covers its
 * share of the span and should be sealed. */
bool weir_retention_note(struct weir_retention *retention, uint64_t side_bytes);

/* Whether a sample of that time should not join the open chunk, which would then cover too long a time. */
bool weir_retention_begins_slice(const struct weir_retention *retention, uint64_t time_ns);

/* Samples evicted so far. */
uint64_t weir_retention_evicted(const struct weir_retention *retention);

/* ---- between the list and the sink ---- */

/* Opens another chunk: from the pool, or the evicted oldest one. NULL: come again, records that may not be evicted have
 * no room in the sink. No chunk is open. */
struct weir_chunk *weir_retention_open_next(struct weir_retention *retention);

/* Moves the open chunk, with the counts of all rings, to the end of the list, which has room for it. */
void weir_retention_seal(struct weir_retention *retention);

/* Seals the open chunk, which covers its share of the span, and evicts the chunks that are older than the span. */
void weir_retention_end_slice(struct weir_retention *retention);

/* A block was added to the open chunk; side_bytes of it are not of samples. */
static inline void weir_retention_note_block(struct weir_retention *retention, uint64_t side_bytes)
{
    if (weir_retention_note(retention, side_bytes))
        weir_retention_end_slice(retention);
}

/* Hands over the retained chunks for a snapshot, and evicts those whose samples are all older than the span. newest_ns:
 * of the samples of all readers; 0: not known. False: come again. */
bool weir_retention_hand_over(struct weir_retention *retention, uint64_t newest_ns);

/* Evicts all retained chunks at the end of the recording. newest_ns as for hand_over(). False: come again. */
bool weir_retention_evict_all(struct weir_retention *retention, uint64_t newest_ns);

#endif
