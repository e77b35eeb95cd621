/*
 * The rings of one reader, each with its counts and its reader's state.
 *
 * The ring of an offline CPU is dormant: not mapped. When the CPU comes, the coordinator maps the ring, gives it its
 * descriptors and ends its dormancy (weir_reader_end_dormancy()).
 *
 *     (ring-awake) A reader that sees the ring awake sees it mapped. The reader looks before each step and each sleep.
 *                  Sequentially consistent, like (reader-wake) of reader.h: the coordinator ends the dormancy and then
 *                  looks whether its last wake was taken; the reader takes a wake and then looks at the dormancy.
 *     (cpu-return) A reader that sees a return sees its records. The coordinator stores the return before it enables
 *                  the events. So a reader that has read a head beyond the return (C of ring.h) sees the return.
 *
 * The ring of a CPU that comes back goes on as output of events that are opened anew. The reader puts their records
 * under the ids of the file (record_rename.h). The reader drains the ring up to the position of the return and writes
 * the records of the return there. So these stand between the last record from before the return and the first one
 * since.
 */
#ifndef WEIR_ENGINE_DRAIN_READER_RING_H
#define WEIR_ENGINE_DRAIN_READER_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/drain/record_walk.h"
#include "engine/kernel/ring.h"

struct weir_aux_drain;
struct weir_shed_gap;

/* The CPU of a ring has come back: records behind that position are of events that were opened anew. */
struct weir_reader_return {
    struct weir_reader_return *before; /* owned; the previous return: for fini() and for a reader that lags */
    uint64_t at;
    size_t bytes;      /* WEIR_CHUNK_MIN_BYTES at most; further records are in the next return, of the same position */
    uint8_t records[]; /* state the return in the file, at that position */
};

/* The reader writes all fields once its thread runs, but for those that name another writer. */
struct weir_reader_ring {
    struct weir_ring ring;
    struct weir_aux_drain *aux; /* owned; only data rings of a recording with AUX areas have one; else NULL */
    unsigned place;             /* index into the recording's places */
    bool sideband;
    _Atomic bool dormant; /* (ring-awake) by the coordinator */
    _Atomic bool renames; /* by the coordinator: events were opened anew; stored before they are enabled */
    _Atomic(struct weir_reader_return *) returned; /* (cpu-return) by the coordinator; owned; the newest; NULL: none */
    const struct weir_reader_return *passed;       /* the newest return that is in the file */
    const int *poll_fds; /* borrowed: descriptors that report this ring's wake-ups, tried in order */
    unsigned poll_fd_count;
    unsigned poll_fd; /* the one in use; those before it have hung up (their task is gone) */
    bool starved;     /* was left nearly full because no chunk was free; until the next LOST record */
    uint64_t lost_while_starved;
    uint64_t drained_bytes;
    uint64_t newest_ns;         /* time of the newest drained sample; 0: none was drained */
    bool reading_newest;        /* a ring of the newest records is being read; resumes after a wait for a chunk */
    uint64_t newest_head;       /* the read began here ... */
    uint64_t newest_end;        /* ... and ends here */
    uint64_t overwritten_bytes; /* the kernel overwrote them before a snapshot */
    uint64_t discarded_bytes;   /* [tail, head) without a valid record, or AUX bytes that never came: a kernel bug */
    struct weir_walk_counts counts; /* its times are those of the last block */
    struct weir_shed_gap *gaps;     /* owned; [event]: dropped samples; NULL: the ring never drops */
    bool untold;                    /* gaps holds samples that no record of the file reports yet */
    /* As of the last step of the reader that handed over a chunk or passed an epoch, for status and timeline. By the
     * reader, relaxed: each number stands for itself. */
    _Atomic uint64_t told_samples;
    _Atomic uint64_t told_lost; /* sum of the LOST records */
};

/* All rings of one reader. */
struct weir_reader_rings {
    struct weir_reader_ring *at; /* owned */
    unsigned count;
    unsigned event_count; /* entries of counts.samples and gaps */
};

/* 0 or -ENOMEM; half-built is for fini(). The caller fills in ring, place, sideband and poll_fds. */
int weir_reader_rings_init(struct weir_reader_rings *rings, unsigned count, unsigned event_count);

/* Unmaps all rings. The reader's thread must have ended, and the AUX areas must be unmapped. */
void weir_reader_rings_fini(struct weir_reader_rings *rings);

/* Takes out a ring, which is not mapped; those behind it move up. Before the thread runs. */
void weir_reader_rings_drop(struct weir_reader_rings *rings, struct weir_reader_ring *r);

/* Number of mapped rings. Coordinator. */
unsigned weir_reader_rings_mapped(const struct weir_reader_rings *rings);

/* Samples drained so far, of all events. Reader thread. */
uint64_t weir_reader_rings_samples(const struct weir_reader_rings *rings);

/* Publishes told_samples and told_lost of all rings. Reader thread. */
void weir_reader_rings_tell(struct weir_reader_rings *rings);

/* Names the descriptors that report a ring's wake-ups; -1 entries are skipped. Before the thread runs, or of a dormant
 * ring. */
void weir_reader_ring_set_poll_fds(struct weir_reader_ring *r, const int *fds, unsigned count);

/* Has the reader put the records of events that are opened anew, and not enabled yet, under the ids of the file. Any
 * time. Coordinator. */
void weir_reader_ring_rename(struct weir_reader_ring *r);

/* Notes that the CPU of a mapped ring has come back. Events that were opened anew, and are not enabled yet, write to
 * the ring from its present head on. records: whole records, copied, which state the return in the file. 0 or -ENOMEM.
 * After -ENOMEM the file does not state the return, or not of all events. Coordinator; allocates. */
int weir_reader_ring_note_return(struct weir_reader_ring *r, const void *records, size_t bytes);

/* The oldest return that is not in the file yet; NULL: none. Reader thread, after it has read the ring's head. */
const struct weir_reader_return *weir_reader_ring_next_return(const struct weir_reader_ring *r);

/* (ring-awake) Any thread. */
static inline bool weir_reader_ring_is_dormant(const struct weir_reader_ring *r)
{
    return atomic_load_explicit(&r->dormant, memory_order_seq_cst);
}

/* Whether the reader has to put records under the ids of the file. Relaxed: the coordinator sets the word before it
 * enables the events, so a reader that has read one of their records (C of ring.h) sees it. */
static inline bool weir_reader_ring_renames(const struct weir_reader_ring *r)
{
    return atomic_load_explicit(&r->renames, memory_order_relaxed);
}

#endif
