/*
 * A reader: drains the rings of its CPUs into chunks and hands these to the writer.
 *
 * One step, which the reader's thread repeats and which tests call in any order on one thread:
 *
 *     epoch = control.epoch, acquire                                        (J)
 *     for each ring:  copy [tail, head) into the chunk, block by block, walking the records of each block while it is
 *                     in the cache (in the ring, if the copy went past the caches, and some of the next block is copied
 *                     on the way); a full chunk is pushed and another taken; holding = 1 before the tail is released
 *     if all rings were drained and epoch is new:
 *         with a retention, if a snapshot was asked for since: push all that is retained
 *         push the chunk if it holds anything; holding = 0, release         (K)
 *         passed_epoch = epoch, release                                     (L)
 *
 *     (J) pairs with the coordinator's release of a new epoch: heads read after it are at least those of that moment.
 *     (K) pairs with the coordinator's acquire: who sees holding = 0 also sees the push, so a round marker pushed later
 *         stands behind it. holding = 1 is ordered by the release of data_tail (D, ring.h), see weir_ring_is_drained().
 *     (L) as (K): who sees the epoch passed sees the push.
 *     (M) sequentially consistent on both sides: the coordinator stores the epoch, then looks at wakes_taken; the
 *         reader stores wakes_taken, then looks at the epoch. So either the coordinator sees the wake taken and sends
 *         another, or the reader sees the epoch; it cannot sleep on with neither.
 *
 * While data flows a step makes no system call but for futex wakes (of the writer: chunk_queue.h; of the thread that
 * grows the pool, where that is asleep and a chunk is taken that leaves less than half of what is ready free), takes no
 * lock and allocates nothing; between steps the thread sleeps in
 * poll(2) on its rings and one of two wake descriptors. There are two so that the reader need never read(2) one: the
 * coordinator writes to number wakes_sent % 2, the reader polls number wakes_taken % 2 and only counts; the
 * coordinator empties the used one before it uses it again.
 *
 * The ring of a CPU that is offline is dormant: there, but not mapped. When the CPU comes, the coordinator maps it and
 * ends that (N): the reader, which looks before each step and each sleep, sees a whole ring or none.
 *
 * The ring of a CPU that comes back goes on as output of events that are opened anew. Their ids become those of the
 * file (record_rename.h), and where their records begin the reader puts what says that the CPU was away (R): it drains
 * up to there first, so it stands between the last record from before and the first one since, for each event.
 *
 * With a retention (-M) the records of data rings go to chunks that stay in memory (retention.h), those of sideband
 * rings to the file as ever. An epoch then closes nothing of what is retained, unless it is control.snapshot_epoch:
 * who passes that one has pushed all that it retained, so it must be passed, by every reader, and is_past() is not
 * asked. At the stop epoch what is still retained is evicted.
 *
 * Rings of the newest records (ring.h) are read when a snapshot is passed, and not looked at otherwise.
 *
 * When the pool is empty the records stay in the ring (the step returns STARVED and is repeated after 1 to 8
 * milliseconds, each millisecond while a ring is half full); what the kernel then has no room for is counted by the
 * kernel and told apart as lost_while_starved.
 *
 * An AUX area (ring.h) is drained behind its ring, up to where the AUX records end that were seen: so these and what
 * they are of stand in the same file, whatever is switched. Its bytes go into trains of chunks (chunk.h), each one
 * AUXTRACE record; when the pool is empty a train ends where it is. The kernel disables an event whose area is full.
 * The reader that may have seen that says so (wants_enable, then aux_fd), and the coordinator enables it, who alone
 * knows whether it is to be on. An area of the newest bytes is read when a snapshot is passed, its event being off.
 *
 * Before that, under pressure, samples may be shed (shed.h). A reader that has dropped some holds something until it
 * has told of them: holding = 1 before the tail is released, as with records that it has copied.
 */
#ifndef WEIR_ENGINE_DRAIN_READER_H
#define WEIR_ENGINE_DRAIN_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/drain_watch.h"
#include "engine/drain/pool_grower.h"
#include "engine/drain/pressure.h"
#include "engine/drain/record_walk.h"
#include "engine/drain/retention.h"
#include "engine/drain/shed.h"
#include "engine/drain/side_tee.h"
#include "engine/kernel/ring.h"

/* What the coordinator tells all readers. One writer (the coordinator), many readers. */
struct weir_reader_control {
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t epoch; /* grows by one; 0: none opened yet */
    _Atomic uint64_t stop_epoch; /* after passing this one a reader ends; UINT64_MAX: go on */
    /* The newest epoch that is a snapshot; 0: none. Both published by the release of that epoch (J). */
    _Atomic uint64_t snapshot_epoch;
    _Atomic uint64_t newest_ns; /* time of the newest sample that any reader had retained when it was opened */
    _Atomic bool mapping;       /* a dormant ring is being mapped whose events are on: round_mark.h */
    struct weir_rotation_count rotations; /* of the output. The coordinator begins them, the finisher may end them */
};

/* Its CPU has come back: what the ring holds from that position on is of events that were opened anew. */
struct weir_reader_return {
    struct weir_reader_return *before; /* owned; the one before, for fini() and for a reader that is late */
    uint64_t at;
    size_t bytes;      /* WEIR_CHUNK_MIN_BYTES at most; what is more is in another one, of the same position */
    uint8_t records[]; /* what says so, for the file: between what stands before and behind that position */
};

/* The AUX area beside a ring, and the piece of it that is being copied: reader_aux.c. */
struct weir_reader_aux {
    struct weir_aux_area area; /* not mapped: there is none */
    uint32_t index;            /* of the area, as AUXTRACE records call it; set with the next two by who maps it */
    int task, cpu;             /* as they call these */
    uint32_t entry_bytes;      /* what stands before the wrap is cut to whole entries of that size; 1: as it is */
    uint64_t snapshot_bytes;   /* of a newest area: at most so many of its newest bytes */
    bool sampled;              /* the kernel puts its bytes into samples: nobody reads it */

    uint64_t from, before_wrap, behind_wrap; /* the piece: a position of the area, and its bytes */
    uint64_t left_out;                       /* bytes between these two that are no whole entry */
    uint64_t copied;                         /* bytes of it */
    struct weir_chunk *train, *last;         /* that they were copied to; NULL: none yet */
    bool reading;                            /* a snapshot is being copied; it goes on after a wait for a chunk */
    bool was_read;                           /* in the snapshot that is being passed, which others still wait in */
    bool was_full;                           /* of a newest area: it has been written to its end once */
    unsigned waits;                          /* steps in a row in which bytes that a record told of were not there */
    uint64_t truncated_seen;                 /* AUX records that said so, when its event was last to be enabled */
    uint64_t pieces, bytes;                  /* handed over, and bytes of the area in them */
    uint64_t cut_pieces;                     /* of these, because the pool had nothing more */
    _Atomic bool wants_enable;               /* its event may have been disabled for want of room: by the reader, taken
                                              * by the coordinator */
    uint64_t enable_at_ns, enable_step_ns;   /* coordinator only: when it enables that once more; 0: it does not */
    uint64_t head_then;                      /* coordinator only: where the area's head was when it last did */
};

struct weir_reader_ring {
    struct weir_ring ring;
    struct weir_reader_aux *aux; /* owned; of data rings, where an event has an AUX area; else NULL or not mapped */
    unsigned place;              /* index into the recording's places */
    bool sideband;
    _Atomic bool dormant; /* (N) not mapped (yet). Before the threads run, then cleared by the coordinator */
    _Atomic bool renames; /* events were opened anew: record_rename.h. Set by the coordinator, before they are on */
    /* Owned; the newest; NULL: none. By the coordinator before the events are on. (R) */
    _Atomic(struct weir_reader_return *) returned;
    const struct weir_reader_return *passed; /* the last that the file has */
    const int *poll_fds; /* borrowed: descriptors that report this ring's wake-ups, tried in order */
    unsigned poll_fd_count;
    unsigned poll_fd; /* the one in use; those before it have hung up (their task is gone) */
    bool starved;     /* was left nearly full because no chunk was free; until the next LOST record */
    uint64_t lost_while_starved;
    uint64_t drained_bytes;
    uint64_t newest_ns;         /* time of the newest sample that was drained; 0: of none */
    bool reading_newest;        /* a ring of the newest records is being read; it goes on after a wait for a chunk */
    uint64_t newest_head;       /* where that began ... */
    uint64_t newest_end;        /* ... and where it ends */
    uint64_t overwritten_bytes; /* by the kernel, before anybody asked for them */
    uint64_t discarded_bytes; /* [tail, head) of a ring that held no valid record, bytes of an AUX area that never came:
                                 a kernel bug, told at the end */
    struct weir_walk_counts counts; /* times: of the block that was walked last */
    struct weir_shed_gap *gaps;     /* owned; by event: what was dropped; NULL: nothing may be */
    bool untold;                    /* the file does not tell of all of that yet */
};

enum weir_reader_state {
    WEIR_READER_DRAINED, /* everything read: sleep until a watermark or a wake */
    WEIR_READER_STARVED, /* records left behind for want of a chunk: come again soon */
    WEIR_READER_STOPPED, /* passed the stop epoch */
};

struct weir_reader {
    /* Constant once the thread runs; all borrowed. */
    const struct weir_kernel *kernel;
    struct weir_pool *pool;
    struct weir_pool_grower *grower; /* NULL: all of the pool is ready */
    unsigned number;                 /* of the pipeline's readers */
    unsigned pool_share;
    struct weir_chunk_queue *queue;
    const struct weir_reader_control *control;
    struct weir_walk_layout layout;
    struct weir_reader_ring *rings; /* owned */
    unsigned ring_count;
    unsigned event_count;
    struct weir_retention *retention;  /* owned; NULL: everything goes to the file */
    int wake_fds[2];                   /* owned; eventfd(2) */
    const struct weir_clock *clock;    /* borrowed; tells when chunks are handed over; NULL: nobody wants to know */
    struct weir_side_tee *tee;         /* borrowed: gets a copy of all side records; NULL: nobody wants them */
    const struct weir_shed_plan *shed; /* borrowed; NULL: nothing is shed */
    const struct weir_event_set *set;  /* borrowed; for ids that are renamed; may be NULL */
    uint32_t share_chunks; /* half of what it would have of the pool if all readers had the same, at least one */
    /* What it copies from data rings is next looked at by the device that writes the chunk, so it goes past the caches
     * (base/copy.h). Set before the thread runs. */
    bool past_caches;
    /* Makes marks for rounds (round_mark.h), so many bytes apart at least; 0: none. Needs a clock; as above. */
    uint64_t mark_bytes;

    /* Readers with a ring whose descriptors have not all hung up. Borrowed; the reader that takes it to 0 writes to
     * ended_fd, a borrowed eventfd: every target is gone. */
    _Atomic unsigned *live_readers;
    int ended_fd; /* -1: nobody wants to know */
    int aux_fd;   /* borrowed eventfd: see above; -1: no ring has an AUX area */

    /* Reader thread only (readable by others after it was joined). */
    struct weir_chunk *chunk; /* being filled; NULL: none */
    uint64_t handed;          /* chunks pushed */
    uint64_t wakeups;         /* poll(2) returns with data */
    uint64_t starved_steps;
    uint64_t left_samples;         /* evicted at the stop epoch: no snapshot has asked for them */
    unsigned starved_wait_ms;      /* until the next step, when this one was starved; 0: it was not */
    bool half_full;                /* a ring had to be left so in this step */
    uint32_t fill_per_mille;       /* of its fullest ring when this step came to it */
    uint64_t looked_wakeups;       /* wakeups when it last looked at its rings */
    uint64_t lent_bytes;           /* handed over in chunks that lie on another node than the reader's own */
    struct pollfd *polls;          /* owned; wake descriptor, then one per ring */
    bool ended;                    /* the descriptors of all rings have hung up, and ended_fd was told */
    bool stopping;                 /* what is drained now is the last of the recording */
    uint64_t marked_bytes;         /* handed over or in the chunk when it last made, or might have made, a mark while it
                                    * drained a ring, */
    uint64_t marked_drained_bytes; /* and when it made its last one after it had drained all of them */
    uint64_t drained_ns;           /* when the last step began that drained all rings */
    const struct weir_reader_ring *alone; /* no other ring of its has had records since alone_ns; NULL: not known */
    uint64_t alone_ns, alone_bytes;       /* and the bytes that were drained of the others until then */
    unsigned untold_rings;                /* that have something untold */
    /* How often each level was entered from below. */
    uint64_t pressure_rises[WEIR_PRESSURE_COUNT];

    /* Written by the reader, read by the coordinator. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t passed_epoch;
    _Atomic uint64_t passed_ns; /* when it came to its rings to pass that; needs a clock */
    _Atomic uint64_t wakes_taken;
    _Atomic uint64_t handed_bytes;
    _Atomic bool holding;       /* chunk holds records */
    _Atomic uint64_t newest_ns; /* of all samples retained */
    /* Samples handed over up to the end of the last snapshot; who sees its epoch passed sees this (L). */
    _Atomic uint64_t snapshot_samples;
    /* As of the last chunk that was handed over, for who asks meanwhile. */
    _Atomic uint64_t handed_samples;
    _Atomic uint64_t handed_wakeups;
    _Atomic uint64_t handed_starved; /* lost_while_starved of its rings */
    /* As of now. */
    _Atomic(enum weir_pressure) pressure; /* as it saw it last */
    _Atomic uint64_t shed_samples, trimmed_samples, trimmed_bytes;

    struct weir_drain_watch drain_watch; /* how it keeps up; needs a clock */

    /* Written by the writer, read by the reader. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t returned; /* chunks back in the pool */

    /* Coordinator only. */
    _Alignas(WEIR_CACHE_LINE_BYTES) uint64_t wakes_sent;
    uint64_t woken_epoch; /* the last one that it was woken for */
};

struct weir_reader_setup {
    const struct weir_kernel *kernel;
    struct weir_pool *pool;
    struct weir_pool_grower *grower; /* may be NULL, see struct weir_reader */
    unsigned number;
    unsigned pool_share;
    struct weir_chunk_queue *queue;
    const struct weir_reader_control *control;
    struct weir_walk_layout layout;
    const struct weir_clock *clock; /* may be NULL, see struct weir_reader */
    unsigned event_count;
    uint32_t retained_chunks;          /* what its retention may hold; 0: none */
    uint64_t retained_span_ns;         /* with it: 0, or for how long */
    const struct weir_shed_plan *shed; /* may be NULL */
    const struct weir_event_set *set;  /* may be NULL when no ids are ever renamed */
    unsigned reader_count;             /* with shed: that have the pool */
    unsigned ring_count;               /* rings are then filled in by the caller (ring, place, sideband, poll_fds) */
    _Atomic unsigned *live_readers;    /* may be NULL without an ended_fd */
    int ended_fd;
    bool has_aux; /* data rings are to have AUX areas, mapped by who maps these */
    int aux_fd;   /* with it */
};

/* 0, -ENOMEM or the errno of eventfd(2). */
int weir_reader_init(struct weir_reader *reader, const struct weir_reader_setup *setup);

/* Names the descriptors that report a ring's wake-ups; -1 entries are passed over. Before the thread runs. */
void weir_reader_set_poll_fds(struct weir_reader_ring *r, const int *fds, unsigned count);

/* Takes out one of its rings, which is not mapped; those behind it move up. Before the thread runs. */
void weir_reader_drop_ring(struct weir_reader *reader, struct weir_reader_ring *r);

/* How many of its rings are mapped. Coordinator. */
unsigned weir_reader_mapped_rings(const struct weir_reader *reader);

/* Lets a dormant ring be read, which is mapped and has its descriptors now, and wakes its reader. Coordinator. */
void weir_reader_end_dormancy(struct weir_reader *reader, struct weir_reader_ring *r);

/* From here on records of that ring are put under the ids of the file, those of events that are opened anew, which are
 * not on yet. Any time. Coordinator. */
void weir_reader_rename(struct weir_reader_ring *r);

/* The CPU of that ring, which is mapped, has come back: from where the ring ends now, events that were opened anew
 * write to it, which are not on yet. records: whole ones, copied; what says so in the file. 0 or -ENOMEM: then the file
 * does not say it, or not of all events. Coordinator; allocates. */
int weir_reader_note_return(struct weir_reader_ring *r, const void *records, size_t bytes);

/* Unmaps the rings and gives back the chunk. The thread must have ended. NULL-safe, half-built is fine. */
void weir_reader_fini(struct weir_reader *reader);

/* Samples of an event from one of its rings that were evicted. The thread must have ended. */
uint64_t weir_reader_evicted(const struct weir_reader *reader, unsigned ring, unsigned event);

/* One step, see above. Reader thread. */
enum weir_reader_state weir_reader_step(struct weir_reader *reader);

/* Sleeps in poll(2) as state asks. Reader thread. */
void weir_reader_wait(struct weir_reader *reader, enum weir_reader_state state);

/* step and wait until stopped: the body of a reader thread. */
void weir_reader_run(struct weir_reader *reader);

/* Makes a sleeping reader take a step. At most one wake is under way at a time: more are not needed, because a reader
 * reads the epoch after it took one (M). Coordinator. */
void weir_reader_wake(struct weir_reader *reader);

/* True when everything that its rings held when the epoch was opened stands in the queue: it has passed the epoch, or
 * its rings are empty and it holds nothing. Coordinator. */
bool weir_reader_is_past(const struct weir_reader *reader, uint64_t epoch);

/* True when everything that its rings held at the time of the call stands in the queue, and nothing else is held. Any
 * thread. */
bool weir_reader_is_idle(const struct weir_reader *reader);

/* One of its rings is half way to the watermark that wakes it, or farther: a hint. Coordinator. */
bool weir_reader_wakes_soon(const struct weir_reader *reader);

/* True when it has passed the epoch itself, with whatever a snapshot asks for. Coordinator. */
bool weir_reader_has_passed(const struct weir_reader *reader, uint64_t epoch);

#endif
