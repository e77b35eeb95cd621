/*
 * The data path as a whole: rings, readers, pool, queue, writer and output, and the threads that run them.
 *
 *     init ──► (map rings into pipeline_ring()) ──► open_output ──► start ──► emit ... ──► stop_readers ──► emit ...
 *          ──► stop_writer ──► (close the output) ──► fini
 *
 * Recording, simulated runs and tests build the same pipeline; tests may leave out start() and call the steps of
 * readers and writer themselves, in any order, on one thread. Owned and driven by the coordinator.
 */
#ifndef WEIR_ENGINE_DRAIN_PIPELINE_H
#define WEIR_ENGINE_DRAIN_PIPELINE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/drain/aggregate.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_queue.h"
#include "engine/drain/chunk_stage.h"
#include "engine/drain/join_step.h"
#include "engine/drain/pool_grower.h"
#include "engine/drain/reader.h"
#include "engine/drain/rounds.h"
#include "engine/drain/unwind_step.h"
#include "engine/drain/writer.h"
#include "engine/kernel/event_place.h"
#include "engine/kernel/kernel.h"
#include "engine/modes/modes.h"
#include "io/output.h"
#include "topology/plan.h"

/* Threads besides the readers: the writer and the pool's grower. */
#define WEIR_PIPELINE_OTHER_THREADS 2u
#define WEIR_PIPELINE_STACK_BYTES   (256ull * 1024) /* of each of its threads */

struct weir_pipeline_thread {
    pthread_t thread;
    pid_t tid;
    bool started;
    sem_t ended;          /* posted as its last act */
    int priority_error;   /* of weir_thread_prioritize() */
    uint64_t cpu_time_ns; /* user + system, once it has ended */
    void *pipeline;       /* borrowed */
    unsigned index;       /* reader number; reader_count for the writer, one more for the pool's grower */
};

/* What the steps of the stage (chunk_stage.h) work with; borrowed. NULL: the recording does not have that step. */
struct weir_stage_steps {
    const struct weir_join_step *join;
    const struct weir_unwind_step *unwind;
    const struct weir_aggregate *aggregate;
};

struct weir_pipeline_setup {
    const struct weir_kernel *kernel;
    const struct weir_clock *clock;
    const struct weir_plan *plan;          /* borrowed until fini */
    const struct weir_event_place *places; /* borrowed */
    unsigned place_count;
    unsigned event_count; /* with the sideband event */
    struct weir_walk_layout layout;
    uint64_t buffer_bytes; /* of the pool */
    uint64_t max_bytes;    /* of data in all outputs; 0: no limit */
    uint64_t size_bytes;   /* the least of the sizes that outputs are to have, max_bytes among them; 0: any */
    bool sync;             /* checkpoints outlive the machine (checkpoint.h) */
    struct weir_chunk_stage_setup stage; /* zeros: none; chunk_bytes and buffer_index are filled in here */
    struct weir_stage_steps steps;       /* those in `stage` */
    uint64_t epoch_ns;                   /* at least, between epochs that nobody wants (rounds.h); 0: as there */
    uint64_t retained_bytes;             /* -M: retained by readers, in addition to buffer_bytes; 0: none */
    uint64_t retained_span_ns;           /* with it: 0, or for how long */
    const struct weir_shed_plan *shed;   /* borrowed until fini; NULL: nothing is shed */
    const struct weir_event_set *set;    /* borrowed until fini; NULL when none is ever opened anew */
    const struct weir_aux_hooks *aux;    /* data rings are to have AUX areas; NULL: none has */
    struct weir_modes modes;             /* marks, copies and snapshots follow from them */
    bool grow_pool;                      /* a thread readies all but the start of the pool when it is needed */
    int realtime_priority;
    bool pin; /* false for synthetic topologies */

    /* Each thread that waits for the output while recording begins or ends calls while_waiting() at least ten times a
     * second. So the caller can end the wait. Any thread, one call at a time. NULL: none. */
    void (*while_waiting)(void *ctx);
    void *waiting_ctx;
    const struct weir_notice_sink *notices;
};

struct weir_pipeline {
    struct weir_pipeline_setup setup;
    struct weir_pool pool;
    struct weir_retention_plan retention; /* zeros: none */
    struct weir_chunk_queue queue;
    struct weir_reader_control control;
    struct weir_reader **readers; /* owned */
    unsigned reader_count;
    _Atomic unsigned live_readers; /* engine/drain/reader.h */
    struct weir_rounds rounds;
    struct weir_writer writer;
    struct weir_pool_grower grower;
    bool staging;                  /* stage was initialized */
    struct weir_chunk_stage stage; /* its setup is complete, unlike setup.stage */
    struct iovec *output_buffers;  /* owned: the pool's, and the stage's as the last one; NULL: the pool's only */
    struct weir_pipeline_thread *threads; /* owned; readers, then the writer, then the grower */
    sem_t *started;                       /* owned */
    int kick_fd;                          /* owned eventfd: the writer wants a round or has failed */
    uint64_t full_bytes;                  /* set between init and start; 0: none: writer.h */
    int full_fd;                          /* borrowed; set with it */
    int aux_fd;                           /* owned eventfd: an AUX event may have to be enabled; reader.h */
    int ended_fd;                         /* owned eventfd: the targets of all rings are gone */
    pthread_mutex_t patience;             /* around setup.while_waiting() */
};

/* 0, -ENOMEM or the errno of eventfd(2), with err. On failure everything is released. */
int weir_pipeline_init(struct weir_pipeline *pipeline, const struct weir_pipeline_setup *setup, struct weir_error *err);

/* Stops the threads that still run. The caller may then close the pipeline's outputs. NULL-safe, in any state. */
void weir_pipeline_stop(struct weir_pipeline *pipeline);

/* Stops, unmaps the rings, frees the pool. No output may refer to the pool any more. NULL-safe; half-built fine. */
void weir_pipeline_fini(struct weir_pipeline *pipeline);

/* One of the two rings of a place, to be mapped by the caller before start(). */
struct weir_reader_ring *weir_pipeline_ring(struct weir_pipeline *pipeline, unsigned place, bool sideband);

/* weir_ring_time_conversion() of the first data ring that is mapped; zeros when none is. */
void weir_pipeline_time_conversion(const struct weir_pipeline *pipeline, struct weir_time_conversion *conversion);

/* Calls weir_reader_ring_rename() for the rings of a place whose events are opened anew and not enabled yet. */
void weir_pipeline_rename_place(struct weir_pipeline *pipeline, unsigned place);

/* Calls weir_reader_ring_note_return() for a ring whose CPU has come back, if the ring is mapped. Not for a ring of the
 * newest records, which do not stand in the order of time. 0 or -ENOMEM. */
int weir_pipeline_note_return(struct weir_pipeline *pipeline, unsigned place, bool sideband, const void *records,
                              size_t bytes);

/* Begins and ends the mapping of a dormant ring whose events are enabled, wake_place() included. Coordinator. */
void weir_pipeline_note_mapping(struct weir_pipeline *pipeline, bool mapping);

/* Ends the dormancy of the rings of a late place that are mapped and have their descriptors. After start(). */
void weir_pipeline_wake_place(struct weir_pipeline *pipeline, unsigned place);

/* Pins the readers of a CPU that has come back to their CPUs again. No effect where pinning fails. */
void weir_pipeline_pin_again(struct weir_pipeline *pipeline, unsigned cpu);

/* Whether the rings of a place are awake: false for a late place that has never come. */
bool weir_pipeline_has_place(const struct weir_pipeline *pipeline, unsigned place);

/* How many of its rings are mapped. Coordinator. */
unsigned weir_pipeline_mapped_rings(const struct weir_pipeline *pipeline);

/* Takes out a ring for which no event is open. It is not mapped; before start(). */
void weir_pipeline_drop_ring(struct weir_pipeline *pipeline, unsigned place, bool sideband);

/* Opens an output with the pool's memory as registered buffers. directory_fd: as the option of that name (io/output.h).
 * io: NULL for the real system calls. *output is owned by the caller, to be closed between stop() and fini(), or before
 * if the writer has handed it back. */
int weir_pipeline_open_output(const struct weir_pipeline *pipeline, const char *path, const int *directory_fd,
                              const struct weir_io_ops *io, struct weir_output **output, struct weir_error *err);

/* Opens a stream likewise; fd is borrowed for the call. */
int weir_pipeline_open_stream(const struct weir_pipeline *pipeline, int fd, const struct weir_io_ops *io,
                              struct weir_output **output, struct weir_error *err);

/* Makes the writer and the rounds. output: the first output, borrowed, with its head written. start() calls this; tests
 * without threads call it themselves, and may take the writer's place (output NULL). */
int weir_pipeline_prepare(struct weir_pipeline *pipeline, struct weir_output *output, struct weir_error *err);

/* Creates the threads and waits until each has pinned itself and taken its priority. Signals must be blocked. output as
 * for prepare(). */
int weir_pipeline_start(struct weir_pipeline *pipeline, struct weir_output *output, struct weir_error *err);

/* Takes the writer's kick, if there is one, and asks for an epoch (weir_rounds_want()). Coordinator. */
void weir_pipeline_take_kick(struct weir_pipeline *pipeline);

/* The thread ids of readers, writer, grower and stage; returns their number, weir_pipeline_tids_max() at most.
 * After start(). */
unsigned weir_pipeline_tids(const struct weir_pipeline *pipeline, pid_t *tids);
unsigned weir_pipeline_tids_max(const struct weir_pipeline *pipeline);

/* As weir_pipeline_emit(), but never blocks: false when no chunk is free. */
bool weir_pipeline_try_emit(struct weir_pipeline *pipeline, const void *records, size_t bytes);

/* Calls setup.while_waiting(). For threads that wait for the output. */
void weir_pipeline_keep_patience(struct weir_pipeline *pipeline);

/* Sends whole records (at most WEIR_CHUNK_MIN_BYTES) down the queue, in order for one thread. Waits for a free chunk.
 * Any thread that is not a reader nor the writer. 0, or the error of a failed output. */
int weir_pipeline_emit(struct weir_pipeline *pipeline, const void *records, size_t bytes);

/*
 * Makes spare memory, as much as the readers retain, so that they can go on retaining while a snapshot is written. 0
 * (also when the spare memory exists already), -EOPNOTSUPP (readers retain nothing) or -ENOMEM. Blocks while the kernel
 * zeroes the memory.
 */
int weir_pipeline_make_spare(struct weir_pipeline *pipeline);
bool weir_pipeline_has_spare(const struct weir_pipeline *pipeline);

/* Samples that all snapshots so far have handed to the writer, once the last of them is closed (rounds.h). Coordinator.
 */
uint64_t weir_pipeline_snapshot_samples(const struct weir_pipeline *pipeline);

/* From the oldest sample of the last snapshot to the newest one that a reader has retained. 0: not known, as without
 * -M. As weir_pipeline_snapshot_samples(). */
uint64_t weir_pipeline_snapshot_span_ns(const struct weir_pipeline *pipeline);

/* How all readers kept up so far. Any thread. */
void weir_pipeline_summarize_drains(const struct weir_pipeline *pipeline, enum weir_drain_moment moment,
                                    struct weir_drain_summary *summary);

/* The last drain: every reader empties its rings and ends. Events should be disabled by now. With snapshot readers hand
 * over retained chunks, without snapshot they evict them. */
void weir_pipeline_stop_readers(struct weir_pipeline *pipeline, bool snapshot);

/* The last round marker, then the writer ends once all is on file or failed. */
void weir_pipeline_stop_writer(struct weir_pipeline *pipeline);

#endif
