/*
 * The files of a recording, one after another: which one is written to now, how the next takes its place, what becomes
 * of each. Sole owner of them, and of the losses that the files have told so far.
 *
 * A rotation puts the next file in the place of the current one while data flows:
 *
 *     coordinator   hides the current file (file_finisher.h), opens the next, asks for a cut of the rounds
 *         cut       sends the rotation to the writer, with the losses up to here; gives the name to the next file
 *     writer        changes outputs between two chunks (writer_rotation.h); readers do not notice
 *     coordinator   asks the sideband thread for the beginning (beginning.h)
 *     sideband      writes it, closed by FINISHED_INIT
 *     coordinator   lets rounds go on; hands the file that ended to the finisher once the writer has handed it back
 *
 * Synthesized records have time 0: consumers deliver them before anything that is queued for their round. So they may
 * stand behind samples; no round stands before FINISHED_INIT.
 *
 * With -M and --overwrite a rotation is a snapshot as well; with --snapshot-keep a snapshot is a rotation as well. So
 * is a snapshot of the pair, which replaces the one before, in a recording into one file
 * (weir_modes_pair_ends_files()): nothing else asks for a rotation there, and the command "switch" is refused.
 *
 * A rotation that finds no next file fails, and recording goes on in the current one. A rotation by time comes again by
 * itself; a rotation by size is tried again four times a second.
 *
 * One rotation at a time: the dispatcher of triggers remembers one that is asked for meanwhile. Where the finisher has
 * no room, the rotation is over only when it has, so that the next one waits (told once).
 *
 * The coordinator calls and writes all of this, with two exceptions, which are marked. Nothing blocks while data flows
 * but opening and naming files, and removing them where the file system is full.
 */
#ifndef WEIR_ENGINE_SESSION_FILE_SERIES_H
#define WEIR_ENGINE_SESSION_FILE_SERIES_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/drain/writer_rotation.h"
#include "engine/events/event_set.h"
#include "engine/kernel/poll_set.h"
#include "engine/session/append.h"
#include "engine/session/beginning.h"
#include "engine/session/file_facts.h"
#include "engine/session/file_finisher.h"
#include "engine/session/ledger.h"
#include "engine/session/record_file.h"
#include "engine/session/record_result.h"
#include "engine/session/recording_plan.h"
#include "engine/session/sideband_host.h"
#include "engine/session/trigger.h"
#include "engine/tasks/proc_reader.h"
#include "engine/tasks/sideband.h"
#include "io/io_ops.h"

/* What a series has others do; each may be NULL. */
struct weir_file_series_hooks {
    void (*later_file_began)(void *ctx); /* a later file has its beginning, with the CPUs of the start */
    void (*snapshot_ended)(void *ctx);   /* a rotation that was not asked for by its own trigger is over */
    bool (*is_hurried)(void *ctx);       /* a signal asks for a quick end */
    void *ctx;                           /* borrowed */
};

struct weir_file_series_setup { /* all pointers are borrowed until close() */
    const struct weir_recording_plan *plan;
    const struct weir_file_facts *facts;
    const struct weir_beginning *beginning;
    const struct weir_event_set *events;
    struct weir_pipeline *pipeline;
    struct weir_sideband_host *sideband;
    struct weir_append *append; /* NULL: nothing is continued */
    struct weir_record_result *result;
    const struct weir_clock *clock; /* monotonic */
    const struct weir_clock *day;   /* the time of day, which may be set */
    const struct weir_io_ops *io;   /* of the first file; NULL: the real system calls */
    struct weir_poll_set *sources;  /* the coordinator's; NULL: no file is rotated */
    struct weir_triggers *triggers; /* likewise */
    const sigset_t *child_mask;     /* of the commands of --on-rotate */
    bool guard_asks_again;          /* who watches the disk asks again for a rotation that found no room */
    struct weir_file_series_hooks hooks;
};

enum weir_rotation_step {
    WEIR_ROTATION_IDLE,
    WEIR_ROTATION_CUTTING,   /* the round that ends the file is not closed yet */
    WEIR_ROTATION_CHANGING,  /* the rotation is on its way to the writer */
    WEIR_ROTATION_ANSWERING, /* the sideband thread writes what the next file must begin with */
    WEIR_ROTATION_DRAINING,  /* the writer still has the file that ended, or the finisher no room for it */
};

struct weir_file_series {
    struct weir_file_series_setup setup;
    struct weir_record_file *current;    /* owned; written to now */
    struct weir_record_file *next;       /* owned; opened, while cutting */
    struct weir_record_file *ended;      /* owned; replaced, not the finisher's yet */
    struct weir_file_finisher *finisher; /* owned; NULL: there is one file, and it keeps its name */
    struct weir_told_losses
        told_losses;  /* of the files before this one; the writer's from the push until it has begun */
    bool reader_gone; /* the recording is a stream that nobody reads any more; set by finish() */
    bool given_up;    /* it is a stream whose reader did not read when a signal came, before anything was recorded */

    struct weir_file_rotation {
        enum weir_rotation_step step;
        struct weir_writer_rotation order; /* what the writer is sent */
        struct weir_buf losses;            /* owned; records that the order carries */
        struct weir_buf first_records;     /* owned; of each later file: what consumers want to see first */
        uint64_t *side_bytes;              /* owned; for each reader */
        struct weir_sideband_question question;
        struct weir_proc_reader *proc_reader; /* owned; the sideband thread's while it answers */
        _Atomic bool answered; /* by the sideband thread, release (rotation-answered); then these two are set: */
        int answer_result;
        struct weir_beginning_gaps gaps;
        int progress_fd; /* owned eventfd: the writer, the answer, the finisher; -1: files are not rotated */
        int full_fd;     /* owned eventfd: the writer has written as much as a file may have */
        int timer_fd;    /* owned timerfd; -1: no rotation by time */
        int again_fd;    /* owned timerfd: the next try to end a file that is full; -1: no rotation by size */
        bool full;       /* the file is as large as it may be; the writer says so once */
        bool told_wait;
        bool put_off;       /* there was no room for the next file: asked for again when there is */
        bool taken_back;    /* recording ended before the file did: it ends as it would have, with a snapshot */
        uint64_t count;     /* of rotations that were done, or are under way beyond the cut */
        uint64_t snapshots; /* taken when the last of these was cut: none of them is in the current file */
        uint64_t samples;   /* in these snapshots */
    } rotation;
};

/* ---- life ---- */

/* Opens nothing yet. The series must stay where it is. */
void weir_file_series_init(struct weir_file_series *series, const struct weir_file_series_setup *setup);

/* Opens the first file at options->output_path, head written. Once facts are gathered. 0 or -errno with err. */
int weir_file_series_open(struct weir_file_series *series, struct weir_error *err);

/* Makes what rotations and the naming of files need, takes the trigger "switch", and watches for size and time. After
 * open(), before the pipeline starts. 0 or -errno with err. */
int weir_file_series_prepare(struct weir_file_series *series, struct weir_error *err);

/* Starts the thread that reads processes from /proc, and the finisher's. Before the sideband thread is asked anything.
 * 0 or -errno with err. */
int weir_file_series_start(struct weir_file_series *series, struct weir_error *err);

/* Fills in the ids of its threads, WEIR_FILE_SERIES_THREADS at most; returns how many. After start(). */
#define WEIR_FILE_SERIES_THREADS 2u
unsigned weir_file_series_tids(const struct weir_file_series *series, pid_t *tids);

/* Gives the first file its name, or where it continues another one the name beside that. 0 or -errno with err. */
int weir_file_series_name(struct weir_file_series *series, struct weir_error *err);

/* Tells what the writer has found out about its output since the last call: removed, cut, a head that stays as it is.
 */
void weir_file_series_tell_output(const struct weir_file_series *series);

/* Closes all files, finished or not. The writer has ended; the pipeline's memory is still there. In any state. */
void weir_file_series_close(struct weir_file_series *series);

/* ---- rotation ---- */

/* Begins a rotation, as the trigger does and as snapshots may (snapshot.h); its end completes the trigger under way. No
 * rotation must be under way. 0 or -errno with err. */
int weir_file_series_rotate(struct weir_file_series *series, struct weir_error *err);

/* There is room again for a next file: begins a rotation that found none. */
void weir_file_series_ask_again(struct weir_file_series *series);

/* ---- end ---- */

/* Ends a rotation that is under way when recording ends: takes it back, or sees it through, but for an answer that does
 * not come within a second. Events are disabled, readers and writer still run. Blocks. */
void weir_file_series_settle(struct weir_file_series *series);

/*
 * Ends the recording's data and finishes its last file: ledger, LOST_SAMPLES, end of the sideband thread and of the
 * writer, features, head, fsync, name. The readers have ended. keeps_snapshot: the end has a snapshot that must not
 * replace one of the pair. Fills the result, but for what it says of rings and AUX areas. 0 or -errno with err; the
 * file keeps what was good. Blocks.
 */
int weir_file_series_finish(struct weir_file_series *series, bool keeps_snapshot, struct weir_error *err);

#endif
