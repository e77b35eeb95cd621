/*
 * The sideband thread: keeps the task map and the table of mapped files while recording goes on, and reads the code of
 * BPF programs; a second thread reads build ids.
 *
 *     reader ── side_tee (one per reader) ──┐
 *     reader ── side_tee ───────────────────┼──► sideband thread ──► mapped files ──► build-id thread
 *     synthesis ── feed (blocks) ───────────┘                   ├──► task map
 *                                                               └──► BPF programs
 *
 * The thread looks at the tees every 20 ms while something comes and ten times a second when nothing does; nobody wakes
 * it, nobody waits for it while data flows. Both run at nice 10.
 *
 * Files are read by a thread of their own because that may take any time: a file on a dead server would otherwise keep
 * records waiting, and outputs that are switched without their beginning. Of what may hang the sideband thread does
 * nothing: bpf(2) and the list of processes ask the kernel only. Who waits for build ids has a bound, and what is
 * missing then is told.
 *
 * A map enters the table of files as soon as it is seen, so that its file is likely to be there still. The task map
 * needs records in order of time, and readers drain CPUs at different times: records are kept back until every reader
 * has passed an epoch that was opened after they were seen (the rule of rounds.h, read off the epoch alone).
 * Synthesised records come first, whatever the kernel has reported meanwhile.
 *
 *     (N) The epoch is read, acquire, before the tees. Epoch e + 1 is opened after every reader has passed e, and
 *         readers fill their tees before they pass: who reads e + 1 here sees all that was drained before e was passed.
 *
 * An output that begins in the middle of a recording has to tell what a reader of the file must know. Its coordinator
 * asks for that with a question, while rounds are cut (rounds.h) and thus no epoch is opened: what the task map has
 * taken in by then is older than the cut's epoch, so older than all that is in the new output. What is kept back and
 * stands before the switch comes behind the map, as it was recorded but for the id, which is 0; so a task that ended
 * just before the switch is still known when samples of it from another CPU follow.
 *
 * Bounds: a tee of 1 MiB per reader, 512 KiB beyond 128 readers; 8 MiB of records kept back, beyond that the oldest
 * half is taken as it is (their order is then what is known, not proven); 64 MiB of synthesised records that are not
 * taken in yet, beyond that they are missed. After anything was missed, here or by the kernel (LOST records), the task
 * map knows that it is not complete.
 * Tables: see task_map.h, mapped_files.h and bpf_images.h.
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

struct weir_sideband; /* on the heap: a thread that is stuck in a file system must be able to outlive its recording */

struct weir_sideband_setup {
    const struct perf_event_attr *attr; /* borrowed during new() only: for the layout of trailers */
    unsigned tee_count;                 /* readers */
    const _Atomic uint64_t *epoch;      /* of the readers' control; borrowed until stop() has returned */
    bool read_build_ids;
    bool read_bpf_programs;
    bool keeps_files; /* all that were mapped are wanted at the end, also those that nobody maps any more */
    bool is_doubtful; /* the task map does not see all that is wanted of processes: they are to be read from /proc */
    struct weir_mapped_file_roots roots; /* begin_s is set by new() */
    /* Reads a build id; may block. NULL: weir_mapped_file_read_id(). */
    int (*read_id)(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots,
                   struct weir_build_id *id);
};

struct weir_sideband_counts {
    uint64_t records;           /* side records taken in */
    uint64_t tasks;             /* in the map at the end */
    uint64_t files;             /* objects seen */
    bool lacks_files;           /* more were mapped than the table has room for */
    uint64_t build_ids;         /* of these, known */
    uint64_t programs;          /* BPF programs that were read */
    uint64_t programs_left_out; /* for want of room */
    uint64_t unread;            /* build ids that could not be read in time */
    uint64_t missed;            /* blocks of records that found no room in a tee or in the feed */
    uint64_t lost;              /* records that the kernel had no room for */
    uint64_t reordered;         /* records whose order was not proven */
    uint64_t cpu_time_ns;       /* of the thread */
    uint64_t ids_cpu_time_ns;   /* of the one that reads build ids, as of the last of them */
};

/* 0, -ENOMEM. */
int weir_sideband_new(struct weir_sideband **sideband, const struct weir_sideband_setup *setup);

/* The size of each of so many tees. */
size_t weir_sideband_tee_bytes(unsigned tee_count);

/* The tee of reader number `reader`, to be given to it before it starts. Borrowed until free. */
struct weir_side_tee *weir_sideband_tee(struct weir_sideband *sideband, unsigned reader);

/* 0 or the errno of pthread_create(3). Signals must be blocked. */
int weir_sideband_start(struct weir_sideband *sideband);

#define WEIR_SIDEBAND_THREADS 2

/* The ids of its threads; returns how many. After start(). */
unsigned weir_sideband_tids(const struct weir_sideband *sideband, pid_t tids[WEIR_SIDEBAND_THREADS]);

/* Takes a copy of whole synthesised records. Any thread; allocates; waits for nobody. */
void weir_sideband_feed(struct weir_sideband *sideband, const void *records, size_t bytes);

/* What was synthesised is complete: what the kernel has reported is applied from now on. Any thread. */
void weir_sideband_end_feed(struct weir_sideband *sideband);

/* What a question is answered from; valid during answer() only. */
struct weir_sideband_view;

struct weir_sideband_question {
    const uint64_t *side_bytes; /* for each tee, how much of it stands before the switch; borrowed until the answer */
    /* Called once, on the sideband thread, when it has taken in all of that, or on the thread of stop() for one that
     * the thread did not get to. view: NULL then. May block; nothing else of the sideband is done meanwhile. */
    void (*answer)(void *ctx, const struct weir_sideband_view *view);
    void *ctx; /* borrowed until the answer */
};

/* Asks. One question at a time; borrowed until its answer. Rounds are cut. Coordinator; does not block for long. */
void weir_sideband_ask(struct weir_sideband *sideband, struct weir_sideband_question *question);

/* Emits what was known before the switch: weir_task_map_emit(), then side records that are kept back. 0, -ENOMEM or
 * what the sink returned. From answer(). */
int weir_sideband_view_emit(const struct weir_sideband_view *view, const struct weir_task_map_sink *sink);

/* Emits what is known of the maps of one process that emit() has called incomplete. As above. */
int weir_sideband_view_emit_maps(const struct weir_sideband_view *view, pid_t pid,
                                 const struct weir_task_map_sink *sink);

/* Whether records were missed, or tasks found no room: then there may be processes that the map does not know. From
 * answer(). */
bool weir_sideband_view_misses_tasks(const struct weir_sideband_view *view);

/* Whether the map knows process pid. From answer(). */
bool weir_sideband_view_knows(const struct weir_sideband_view *view, pid_t pid);

/* Takes in the files of the maps in whole records that the new output begins with and that come from elsewhere. From
 * answer(). */
void weir_sideband_view_note_maps(const struct weir_sideband_view *view, const void *records, size_t bytes);

/* What somebody has to do who waits while a question is answered: the answer may itself wait for chunks, and so for a
 * disk to have room, which he may be the one to make. */
struct weir_sideband_patience {
    void (*meanwhile)(void *ctx); /* again and again, on his thread */
    void *ctx;                    /* borrowed for the call */
};

/*
 * Lists what of an output has a build id by now, as weir_mapped_files_list(), with names of its own: one block, to be
 * freed by the caller. output: how many questions were asked before it began. Waits up to timeout_ms for ids that are
 * still to be read, but not for a file that has taken as long already; and for an answer that is under way, however
 * long that takes. patience: NULL when there is nothing to do meanwhile. 0 or -ENOMEM. Any thread but the sideband's.
 */
int weir_sideband_copy_build_ids(struct weir_sideband *sideband, uint32_t output, unsigned timeout_ms,
                                 const struct weir_sideband_patience *patience, struct weir_build_id_entry **entries,
                                 size_t *count);

/* The same of the BPF programs that were read and were loaded in this output or in the one before; no program is waited
 * for. The images are the table's, until WEIR_MAPPED_OUTPUTS_KEPT more outputs have begun. 0 or -ENOMEM. */
int weir_sideband_list_bpf_programs(struct weir_sideband *sideband, uint32_t output,
                                    const struct weir_sideband_patience *patience, struct weir_bpf_list *list);

/*
 * Takes in what is left, reads the build ids that are not known yet, and ends the threads: within timeout_ms, whatever
 * file one hangs on (it is left behind then, with what it was about to find). The readers have stopped. Call once.
 * Coordinator.
 */
void weir_sideband_stop(struct weir_sideband *sideband, unsigned timeout_ms, struct weir_sideband_counts *counts);

/* Ends the threads if they still run, for a recording that failed: before what it borrows goes (the epoch, the tees'
 * readers may still write). NULL-safe. Coordinator. */
void weir_sideband_halt(struct weir_sideband *sideband);

/* After stop(): borrowed until free. */
const struct weir_mapped_files *weir_sideband_files(const struct weir_sideband *sideband);
const struct weir_task_map *weir_sideband_tasks(const struct weir_sideband *sideband);

const struct weir_mapped_file_roots *weir_sideband_roots(const struct weir_sideband *sideband);

/* NULL-safe; stops the threads first when that was not done. The last thread that was left behind frees, when it comes
 * to its end. */
void weir_sideband_free(struct weir_sideband *sideband);

#endif
