/*
 * A reader: the thread that drains the rings of its CPUs into chunks and hands the chunks to the writer.
 *
 *     sink ◄── retention, shedder, mark maker ◄── drainer ◄── (hooks of engine/aux/) ◄── reader
 *
 * One step, which the thread repeats and which tests call in any order on one thread:
 *
 *     epoch = control.epoch, acquire                          (epoch-open)
 *     for each ring: drain it (drainer.h); a full chunk is pushed and another one taken
 *     if all rings were drained and the epoch is new:
 *         report what was shed; for a snapshot push all that is retained, and read the rings of the newest records
 *         push the current chunk if it holds records; holding = false, release (holding-clear)
 *         passed_epoch = epoch, release                       (epoch-passed)
 *
 *     (epoch-open)    The reader that reads the epoch then reads heads that are at least those of the moment at which
 *                     the coordinator opened it. The coordinator's store is a release, and publishes stop_epoch,
 *                     snapshot_epoch and newest_ns of struct weir_reader_control, too.
 *     (holding-clear) See chunk_sink.h.
 *     (epoch-passed)  The coordinator that reads the epoch as passed also sees the push: a round marker that it pushes
 *                     later stands behind the chunk. The release publishes snapshot_samples, too.
 *     (reader-wake)   Sequentially consistent on both sides. The coordinator stores the epoch, then reads wakes_taken;
 *                     the reader stores wakes_taken, then reads the epoch. So the coordinator sees that its wake was
 *                     taken and sends another one, or the reader sees the epoch: the reader cannot sleep on.
 *     (ring-awake), (cpu-return) See reader_ring.h.
 *
 * While data flows, a step makes no system call other than futex wakes (chunk_sink.h), takes no lock and allocates
 * nothing. Between steps the thread sleeps in poll(2) on its rings and on one of two wake descriptors. There are two,
 * so that the reader never has to read(2) one: the coordinator writes to number wakes_sent % 2, the reader polls number
 * wakes_taken % 2 and counts. The coordinator empties the used descriptor before it uses that one again.
 *
 * With a retention (-M) records of data rings stay in memory (retention.h); those of sideband rings go to the file. An
 * epoch then hands over no retained chunk, unless it is control.snapshot_epoch. Every reader must pass that epoch
 * itself, because only the reader can push its chunks: weir_reader_is_past() is not asked. At the stop epoch the reader
 * evicts what it still retains.
 *
 * Rings of the newest records (engine/kernel/ring.h) are read when a snapshot is passed, and at no other time.
 *
 * When the pool is empty, the records stay in the ring, and the step returns STARVED. The thread repeats the step after
 * 1 to 8 milliseconds, and every millisecond while a ring is half full. The kernel counts the records for which the
 * ring then has no room; the reader counts them as lost_while_starved. Under pressure the reader may shed samples first
 * (shed.h).
 */
#ifndef WEIR_ENGINE_DRAIN_READER_H
#define WEIR_ENGINE_DRAIN_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/aux_hooks.h"
#include "engine/drain/chunk_sink.h"
#include "engine/drain/drain_watch.h"
#include "engine/drain/drainer.h"
#include "engine/drain/mark_maker.h"
#include "engine/drain/reader_control.h"
#include "engine/drain/reader_ring.h"
#include "engine/drain/retention.h"
#include "engine/drain/shedder.h"

/* All pointers are borrowed until fini(). */
struct weir_reader_setup {
    const struct weir_kernel *kernel;
    const struct weir_reader_control *control;
    struct weir_chunk_sink_setup sink;
    struct weir_walk_layout layout;
    const struct weir_event_set *set; /* may be NULL when no ids are ever renamed */
    unsigned ring_count;              /* the caller then fills in the rings (ring, place, sideband, poll_fds) */
    unsigned event_count;
    uint32_t retained_chunks;          /* room of the retention; 0: everything goes to the file */
    uint64_t retained_span_ns;         /* with it: 0, or for how long */
    const struct weir_shed_plan *shed; /* NULL: nothing is shed */
    unsigned reader_count;             /* with it: readers that share the pool */
    /* Readers with a ring whose descriptors have not all hung up. The reader that takes the count to 0 writes to
     * ended_fd, an eventfd: every target is gone. */
    _Atomic unsigned *live_readers;   /* may be NULL without an ended_fd */
    int ended_fd;                     /* -1: nobody wants to know */
    const struct weir_aux_hooks *aux; /* NULL: no ring has an AUX area */
    int aux_fd;                       /* with it: eventfd, written to when an AUX event may have to be enabled */
};

enum weir_reader_state {
    WEIR_READER_DRAINED, /* everything read: sleep until a watermark or a wake */
    WEIR_READER_STARVED, /* records left behind for want of a chunk: come again soon */
    WEIR_READER_STOPPED, /* passed the stop epoch */
};

struct weir_reader {
    /* Constant once the thread runs. */
    struct weir_reader_setup setup;
    struct weir_reader_rings rings;
    struct weir_retention *retention; /* owned; NULL: none */
    int wake_fds[2];                  /* owned; eventfd(2) */

    /* Reader thread only (readable by others after it was joined). */
    struct weir_chunk_sink sink;
    struct weir_shedder shedder;
    struct weir_mark_maker marks;
    struct weir_drainer drainer;
    void *aux;                /* owned context of setup.aux */
    uint64_t wakeups;         /* poll(2) returns with data */
    uint64_t looked_wakeups;  /* wakeups at the last look at the rings */
    unsigned starved_wait_ms; /* until the next step, after a starved one; else 0 */
    uint64_t told_handed;     /* chunks of the sink when the handed_ and drained_ words were written last */
    struct pollfd *polls;     /* owned; wake descriptor, then one per ring */
    bool ended;               /* the descriptors of all rings have hung up, and ended_fd was written to */

    /* Written by the reader, read by the coordinator. */
    _Alignas(WEIR_CACHE_LINE_BYTES) _Atomic uint64_t passed_epoch;
    _Atomic uint64_t passed_ns; /* when the step began that passed it; needs a clock */
    _Atomic uint64_t wakes_taken;
    _Atomic uint64_t newest_ns;         /* of all samples retained */
    _Atomic uint64_t snapshot_samples;  /* handed over up to the end of the last snapshot (epoch-passed) */
    _Atomic uint64_t snapshot_first_ns; /* oldest retained sample of the last snapshot (epoch-passed); 0: not known */
    /* As of the last step that handed over a chunk or passed an epoch, for status and timeline. */
    _Atomic uint64_t handed_samples;
    _Atomic uint64_t handed_wakeups;
    _Atomic uint64_t handed_starved;     /* lost_while_starved of the rings */
    _Atomic uint64_t drained_bytes;      /* of all rings */
    _Atomic uint64_t drained_newest_ns;  /* time of the newest drained sample; 0: none */
    _Atomic uint64_t starved_steps;      /* as of the last step */
    struct weir_drain_watch drain_watch; /* how the reader keeps up; needs a clock */

    /* Of the fullest ring since the last take_fullest(). The reader raises the word, the coordinator takes it and
     * leaves 0. No order of the two loses a value: the reader stores only a value that exceeds the word that it has
     * read. */
    _Atomic uint32_t fullest_per_mille;

    /* Coordinator only. */
    _Alignas(WEIR_CACHE_LINE_BYTES) uint64_t wakes_sent;
    uint64_t woken_epoch; /* the last epoch that the reader was woken for */
};

/* 0, -ENOMEM or the errno of eventfd(2). */
int weir_reader_init(struct weir_reader *reader, const struct weir_reader_setup *setup);

/* Removes a ring that is not mapped; later rings move up. Before the thread runs. */
void weir_reader_drop_ring(struct weir_reader *reader, struct weir_reader_ring *r);

/* Ends the dormancy of a ring, which is mapped and has its descriptors now, and wakes the reader. Coordinator. */
void weir_reader_end_dormancy(struct weir_reader *reader, struct weir_reader_ring *r);

/* Unmaps the rings and gives back the chunk. The thread must have ended. NULL-safe, half-built is fine. */
void weir_reader_fini(struct weir_reader *reader);

/* Evicted samples of one event from one ring. The thread must have ended. */
uint64_t weir_reader_evicted(const struct weir_reader *reader, unsigned ring, unsigned event);

/* One step, see above. Reader thread. */
enum weir_reader_state weir_reader_step(struct weir_reader *reader);

/* Sleeps in poll(2) as state asks. Reader thread. */
void weir_reader_wait(struct weir_reader *reader, enum weir_reader_state state);

/* Steps and waits until stopped: the body of a reader thread. */
void weir_reader_run(struct weir_reader *reader);

/* Makes a sleeping reader take a step. One wake at a time is under way; more are not needed, because a reader reads the
 * epoch after it took a wake (reader-wake). Coordinator. */
void weir_reader_wake(struct weir_reader *reader);

/* Whether everything that the rings held when the epoch was opened stands in the queue: the reader has passed the
 * epoch, or is idle. Coordinator. */
bool weir_reader_is_past(const struct weir_reader *reader, uint64_t epoch);

/* Whether everything that the rings held at the time of the call stands in the queue, and nothing else is held. Any
 * thread. */
bool weir_reader_is_idle(const struct weir_reader *reader);

/* Takes the fill of the fullest ring that the reader has found since the last call, in thousandths. Coordinator. */
uint32_t weir_reader_take_fullest(struct weir_reader *reader);

/* Whether a ring is at least half way to the watermark that wakes the reader: a hint. Coordinator. */
bool weir_reader_wakes_soon(const struct weir_reader *reader);

/* Whether the reader has passed the epoch itself, with all that a snapshot asks for. Coordinator. */
bool weir_reader_has_passed(const struct weir_reader *reader, uint64_t epoch);

#endif
