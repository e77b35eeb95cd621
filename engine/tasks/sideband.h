/*
 * The sideband thread keeps the task map and the table of mapped files while recording goes on, and reads the code of
 * BPF programs. A second thread reads build ids. Both run at nice 10, but for the first one where stacks are unwound.
 *
 *     reader ── side_tee (one per reader) ──┐
 *     reader ── side_tee ───────────────────┼──► sideband thread ──► mapped files ──► build-id thread
 *     synthesis ── feed (blocks) ───────────┘                   ├──► task map
 *                                                               └──► BPF programs
 *
 * The sideband thread looks at the tees every 20 ms while records come, and every 100 ms otherwise. No reader wakes it,
 * and none waits for it. Workers that unwind stacks do both, with a bound (unwind_supply.h).
 *
 * The second thread reads files because a read may take any time. A file on a dead server would delay the records, and
 * the beginning of the next output. The sideband thread calls nothing that may hang: bpf(2) and the list of processes
 * ask only the kernel. Every wait for build ids has a bound, and weir reports the ids that are missing then.
 *
 * A mapping enters the table of files as soon as its record comes, while its file is likely to be there still. The task
 * map needs records in order of time, but readers drain CPUs at different times. So the thread keeps records back until
 * every reader has passed an epoch that was opened after the thread saw the records. (That is the rule of rounds.h, for
 * the epoch alone.) Synthesized records go first, whatever the kernel has reported meanwhile.
 *
 *     (tees-filled) The thread reads the epoch, acquire, before the tees. Epoch e + 1 is opened after every reader has
 *         passed e, and a reader fills its tee before it passes an epoch. So a thread that reads e + 1 finds in the
 *         tees all records that were drained before e was passed.
 *
 * An output that begins in the middle of a recording has to repeat the state that a consumer must know. The coordinator
 * asks for that state by a question. Rounds are cut meanwhile (rounds.h), so no epoch is opened. The records in the
 * task map are then older than the epoch of the cut, and so older than all records of the new output. Records from
 * before the rotation that are still kept back follow the map, unchanged but for their id, which is 0. So a task that
 * ended just before the rotation is known when samples of it follow from another CPU.
 *
 * Bounds:
 *   - a tee is 1 MiB, beyond 128 readers 512 KiB;
 *   - 8 MiB of records are kept back; beyond that the oldest half is applied in the order known so far, unproven;
 *   - 64 MiB of synthesized records wait to be taken in; beyond that they are missed;
 *   - tables: task_map.h, mapped_files.h, bpf_images.h.
 * After a record was missed, here or by the kernel (LOST records), the task map counts as incomplete.
 */
#ifndef WEIR_ENGINE_TASKS_SIDEBAND_H
#define WEIR_ENGINE_TASKS_SIDEBAND_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/drain/side_tee.h"
#include "engine/tasks/bpf_images.h"
#include "engine/tasks/mapped_file_id.h"
#include "engine/tasks/mapped_files.h"
#include "engine/tasks/task_map.h"
#include "engine/tasks/unwind_supply.h"

struct weir_sideband; /* on the heap: a thread that hangs in a file system may outlive its recording */

struct weir_sideband_setup {
    const struct perf_event_attr *attr; /* for the layout of trailers; borrowed during new() only */
    unsigned tee_count;                 /* number of readers */
    const _Atomic uint64_t *epoch;      /* of the readers' control; borrowed until stop() has returned */
    bool read_build_ids;
    bool read_bpf_programs;
    bool keeps_files; /* the end of the recording needs all files that were mapped, also those that no task maps any
                         more */
    bool is_doubtful; /* side records do not tell all about the processes: read them from /proc for each output */
    struct weir_unwind_supply *supply;   /* borrowed until stop() has returned; NULL: nobody unwinds */
    struct weir_mapped_file_roots roots; /* begin_s is set by new() */
    /* Reads a build id; may block. NULL: weir_mapped_file_read_id(). */
    int (*read_id)(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots,
                   struct weir_build_id *id);
};

struct weir_sideband_counts {
    uint64_t records;           /* side records taken in */
    uint64_t tasks;             /* in the map at the end */
    uint64_t files;             /* objects seen */
    bool lacks_memory;          /* memory ran out for some mapped files */
    bool lacks_files;           /* more files were mapped than the table has room for */
    uint64_t build_ids;         /* objects whose build id is known */
    uint64_t programs;          /* BPF programs that were read */
    uint64_t programs_left_out; /* BPF programs that found no room */
    uint64_t unread;            /* build ids that could not be read in time */
    uint64_t missed;            /* blocks of records that found no room in a tee or in the feed */
    uint64_t lost;              /* records that the kernel had no room for */
    uint64_t reordered;         /* records whose order was not proven */
    uint64_t cpu_time_ns;       /* of the sideband thread */
    uint64_t ids_cpu_time_ns;   /* of the build-id thread, up to its last id */
};

/* Makes the object, with its tees. 0 or -ENOMEM. */
int weir_sideband_new(struct weir_sideband **sideband, const struct weir_sideband_setup *setup);

/* The size of each tee when there are tee_count of them. */
size_t weir_sideband_tee_bytes(unsigned tee_count);

/* The tee of a reader, by number, which needs it before it starts. Borrowed until weir_sideband_free(). */
struct weir_side_tee *weir_sideband_tee(struct weir_sideband *sideband, unsigned reader);

/* Starts the threads. Signals must be blocked. 0 or -errno of pthread_create(3). */
int weir_sideband_start(struct weir_sideband *sideband);

#define WEIR_SIDEBAND_THREADS 2

/* Fills in the ids of the threads, and returns their number. After start(). */
unsigned weir_sideband_tids(const struct weir_sideband *sideband, pid_t tids[WEIR_SIDEBAND_THREADS]);

/* Queues a copy of whole synthesized records. Any thread; allocates; waits for no other thread. */
void weir_sideband_feed(struct weir_sideband *sideband, const void *records, size_t bytes);

/* Says that synthesis is complete: the thread applies the kernel's records from now on. Any thread. */
void weir_sideband_end_feed(struct weir_sideband *sideband);

/* The state from which the thread answers a question; valid during answer() only. */
struct weir_sideband_view;

struct weir_sideband_question {
    const uint64_t *side_bytes; /* [tee]; its bytes from before the rotation; borrowed until the answer */
    /* Called once, on the sideband thread, when the thread has taken in side_bytes of each tee. If the thread does not
     * get to the question, stop() calls it with a NULL view. May block; the sideband thread does nothing else
     * meanwhile. */
    void (*answer)(void *ctx, const struct weir_sideband_view *view);
    void *ctx; /* borrowed until the answer */
};

/* Asks a question, borrowed until its answer. One at a time, while rounds are cut. Coordinator; does not block for
 * long.
 */
void weir_sideband_ask(struct weir_sideband *sideband, struct weir_sideband_question *question);

/* Emits the state before the rotation: the task map by weir_task_map_emit(), then the side records that are kept back.
 * 0, -ENOMEM or the sink's result. From answer(). */
int weir_sideband_view_emit(const struct weir_sideband_view *view, const struct weir_task_map_sink *sink);

/* Emits the known maps of a process for which weir_task_map_sink.incomplete() was called. 0, -ENOMEM or the sink's
 * result. From answer(). */
int weir_sideband_view_emit_maps(const struct weir_sideband_view *view, pid_t pid,
                                 const struct weir_task_map_sink *sink);

/* Whether the task map may lack processes: records were missed, or tasks found no room. From answer(). */
bool weir_sideband_view_misses_tasks(const struct weir_sideband_view *view);

/* Whether the task map knows process pid. From answer(). */
bool weir_sideband_view_knows(const struct weir_sideband_view *view, pid_t pid);

/* Takes in the files of mappings that come from elsewhere (/proc), in whole records of the new output's beginning. From
 * answer(). */
void weir_sideband_view_note_maps(const struct weir_sideband_view *view, const void *records, size_t bytes);

/* Work for a thread that waits while a question is answered. The answer may wait for chunks, these for room on the
 * disk, and the waiting thread may be the one that makes the room. */
struct weir_sideband_patience {
    void (*meanwhile)(void *ctx); /* called again and again, on the waiting thread */
    void *ctx;                    /* borrowed for the call */
};

/*
 * Lists the objects of an output whose build id is known by now, as weir_mapped_files_list() does. The list has copies
 * of the names and is one block, which the caller frees. output: the number of questions asked before the output began.
 * Waits up to timeout_ms for ids still to be read, but not for a file whose read has already taken that long. Waits for
 * an answer under way without a bound. patience NULL: nothing to do meanwhile. 0 or -ENOMEM. Any thread but the
 * sideband's.
 */
int weir_sideband_copy_build_ids(struct weir_sideband *sideband, uint32_t output, unsigned timeout_ms,
                                 const struct weir_sideband_patience *patience, struct weir_build_id_entry **entries,
                                 size_t *count);

/* Lists the BPF programs that were read, and were loaded in this output or the one before. Waits for no program. The
 * images are borrowed until WEIR_MAPPED_OUTPUTS_KEPT more outputs have begun. 0 or -ENOMEM. Any thread but the
 * sideband's. */
int weir_sideband_list_bpf_programs(struct weir_sideband *sideband, uint32_t output,
                                    const struct weir_sideband_patience *patience, struct weir_bpf_list *list);

/*
 * Takes in the remaining records, reads the remaining build ids, and ends the threads, within timeout_ms. A thread that
 * hangs on a file is left behind, and its file has no build id. Call once, after the readers have stopped. Coordinator.
 */
void weir_sideband_stop(struct weir_sideband *sideband, unsigned timeout_ms, struct weir_sideband_counts *counts);

/* Ends the threads of a recording that failed, if they run. Call it before the epoch is freed; readers may still fill
 * the tees. NULL-safe. Coordinator. */
void weir_sideband_halt(struct weir_sideband *sideband);

/* The table of files, after stop(). Borrowed until weir_sideband_free(). */
const struct weir_mapped_files *weir_sideband_files(const struct weir_sideband *sideband);

const struct weir_mapped_file_roots *weir_sideband_roots(const struct weir_sideband *sideband);

/* Frees all; ends the threads first if they run. NULL-safe. If a thread was left behind, the last such thread frees
 * when it ends. */
void weir_sideband_free(struct weir_sideband *sideband);

#endif
