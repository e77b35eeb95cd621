/*
 * Owns the files of a recording, one after another. The writer writes to the current file; a rotation opens the next
 * file; the ended file is on its way to the finisher. Owns also the losses that the files have reported so far.
 *
 * A rotation puts the next file in the place of the current one while data flows:
 *
 *     coordinator   hides the current file (file_finisher.h), opens the next file, asks for a cut of the rounds
 *     at the cut    sends the rotation and the losses so far to the writer; gives the name to the next file
 *     writer        changes outputs between two chunks (writer_rotation.h), unnoticed by readers
 *     coordinator   asks the sideband thread for the beginning (beginning.h)
 *     sideband      writes the beginning, closed by FINISHED_INIT
 *     coordinator   lets rounds go on; hands the ended file to the finisher once the writer has handed it back
 *
 * Synthesized records have time 0, so consumers deliver them before all other records of their round. Hence synthesized
 * records may stand behind samples, as long as no FINISHED_ROUND stands before FINISHED_INIT.
 *
 * With -M and --overwrite each rotation is also a snapshot. With --snapshot-keep each snapshot is also a rotation. A
 * snapshot of the pair in a recording into one file is a rotation, too, and replaces the snapshot before it
 * (weir_modes_pair_ends_files()). Such a recording has no other rotations and refuses the command "switch".
 *
 * A rotation that cannot open the next file fails, and recording goes on in the current file. The timer asks again for
 * a rotation by time, and weir repeats a failed rotation by size four times a second.
 *
 * One rotation runs at a time, and the dispatcher of triggers remembers a request that comes meanwhile. While the
 * finisher has no room, the rotation does not end, so the next rotation waits. One warning says so.
 *
 * The coordinator calls all functions and writes the struct, except the fields marked with another thread. While data
 * flows, calls block only to open and name files, and to remove files where the file system is full.
 */
#ifndef WEIR_ENGINE_FILES_FILE_SERIES_H
#define WEIR_ENGINE_FILES_FILE_SERIES_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/control/trigger.h"
#include "engine/drain/pipeline.h"
#include "engine/drain/writer_rotation.h"
#include "engine/events/event_set.h"
#include "engine/files/append.h"
#include "engine/files/beginning.h"
#include "engine/files/file_facts.h"
#include "engine/files/file_finisher.h"
#include "engine/files/ledger.h"
#include "engine/files/record_file.h"
#include "engine/files/sideband_host.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/record_result.h"
#include "engine/plan/record_watch.h"
#include "engine/plan/recording_plan.h"
#include "engine/tasks/proc_reader.h"
#include "engine/tasks/sideband.h"
#include "io/io_ops.h"

/* Calls from the series to its owner; each may be NULL. */
struct weir_file_series_hooks {
    void (*file_ends)(void *ctx);        /* at a cut: records that are pushed now are the last of the ending file */
    void (*later_file_began)(void *ctx); /* a later file has its beginning, which names the CPUs of the start */
    void (*losses_counted)(void *ctx);   /* the ledger has its rows; the writer still takes records for the last file */
    void (*snapshot_ended)(void *ctx);   /* a rotation that a snapshot began is over */
    bool (*is_hurried)(void *ctx);       /* a signal asks for a quick end */
    void (*enter_step)(void *ctx, enum weir_ending_step step);
    void *ctx; /* borrowed */
};

struct weir_file_series_setup { /* all pointers are borrowed until close() */
    const struct weir_recording_plan *plan;
    const struct weir_kernel_limits *limits; /* for advice on losses */
    const struct weir_file_facts *facts;
    const struct weir_beginning *beginning;
    const struct weir_event_set *events;
    struct weir_pipeline *pipeline;
    struct weir_sideband_host *sideband;
    struct weir_append *append; /* NULL: no -A */
    struct weir_record_result *result;
    const struct weir_clock *clock; /* monotonic */
    const struct weir_clock *day;   /* the time of day, which an administrator may set */
    const struct weir_io_ops *io;   /* of the first file; NULL: the real system calls */
    struct weir_poll_set *sources;  /* of the coordinator; NULL: no rotations */
    struct weir_triggers *triggers; /* NULL: no rotations */
    const sigset_t *child_mask;     /* signal mask of the commands of --on-rotate */
    struct weir_file_series_hooks hooks;
};

enum weir_rotation_step {
    WEIR_ROTATION_IDLE,
    WEIR_ROTATION_CUTTING,      /* the last round of the file is still open */
    WEIR_ROTATION_SENT,         /* the request is on its way to the writer */
    WEIR_ROTATION_ANSWERING,    /* the sideband thread writes the beginning of the new file */
    WEIR_ROTATION_HANDING_OVER, /* the writer still uses the ended file, or the finisher has no room for it */
};

struct weir_file_series {
    struct weir_file_series_setup setup;
    struct weir_record_file *current;    /* owned; the writer writes to this file */
    struct weir_record_file *next;       /* owned; open while a rotation waits for its cut */
    struct weir_record_file *ended;      /* owned; replaced by a rotation, and not pushed to the finisher yet */
    struct weir_file_finisher *finisher; /* owned; NULL: the recording has one file, which keeps its name */
    /* Losses that earlier files have reported. The writer writes this from the push of a request until the request has
     * begun (rotation-begun), else the coordinator. */
    struct weir_told_losses told_losses;
    bool consumer_gone; /* the recording is a stream, and its consumer has closed the other end; set by finish() */
    bool given_up;      /* a signal came before recording began, while the consumer of the stream did not read */

    struct weir_file_rotation {
        enum weir_rotation_step step;
        struct weir_writer_rotation request; /* to the writer */
        struct weir_buf losses;              /* owned; LOST_SAMPLES records that the request carries */
        struct weir_buf first_records;       /* owned; records that consumers expect first in each later file */
        uint64_t *side_bytes;                /* owned; [reader]; as in struct weir_writer_rotation */
        struct weir_sideband_question question;
        struct weir_proc_reader *proc_reader; /* owned; used by the sideband thread while it answers */
        _Atomic bool answered; /* by the sideband thread, release (rotation-answered): result and gaps are set */
        int answer_result;     /* by the sideband thread, before `answered` */
        struct weir_beginning_gaps gaps; /* by the sideband thread, before `answered` */
        int progress_fd;    /* owned eventfd, written by writer, sideband thread and finisher; -1: no rotations */
        int full_fd;        /* owned eventfd; the writer writes to it when the file has reached its size limit */
        int timer_fd;       /* owned timerfd; -1: no rotation by time */
        int again_fd;       /* owned timerfd: the next attempt to rotate a full file; -1: no rotation by size */
        bool full;          /* the current file has reached its size limit, which the writer reports once */
        bool told_wait;     /* the user has been told that rotations wait for the finisher */
        bool put_off;       /* the rotation found no room for the next file, and is repeated once there is room */
        bool taken_back;    /* recording ended before the cut of a rotation that is a snapshot: the end takes it */
        uint64_t count;     /* number of rotations that have reached the cut */
        uint64_t snapshots; /* number of snapshots before the last cut; the current file has none of them */
        uint64_t samples;   /* number of samples in these snapshots */
    } rotation;
};

/* ---- life ---- */

/* Opens nothing yet. The series must stay where it is. */
void weir_file_series_init(struct weir_file_series *series, const struct weir_file_series_setup *setup);

/* Opens the first file at options->output.path and writes its head. Call this once facts are gathered. 0 or -errno with
 * err. */
int weir_file_series_open(struct weir_file_series *series, struct weir_error *err);

/* Makes the finisher and the descriptors of rotations, registers the trigger "switch", and watches for size and time.
 * Call this after open(), before the pipeline starts. 0 or -errno with err. */
int weir_file_series_prepare(struct weir_file_series *series, struct weir_error *err);

/* Starts the thread that reads processes from /proc, and the finisher's thread. Call this before any question goes to
 * the sideband thread. 0 or -errno with err. */
int weir_file_series_start(struct weir_file_series *series, struct weir_error *err);

/* Writes the ids of the series' threads to tids, at most WEIR_FILE_SERIES_THREADS, and returns their number. Call this
 * after start(). */
#define WEIR_FILE_SERIES_THREADS 2u
unsigned weir_file_series_tids(const struct weir_file_series *series, pid_t *tids);

/* Gives the first file its name. With -A and --sync the name gets WEIR_APPEND_SUFFIX; with -A alone the file stays
 * without a name. 0 or -errno with err. */
int weir_file_series_name(struct weir_file_series *series, struct weir_error *err);

/* Warns of new findings of the writer about its output: the file was removed or truncated, or its head cannot be
 * written.
 */
void weir_file_series_tell_output(const struct weir_file_series *series);

/* Closes all files, also unfinished ones. Call this after the writer has ended, and before the pipeline's memory is
 * freed. In any state. */
void weir_file_series_close(struct weir_file_series *series);

/* ---- rotation ---- */

/* Begins a rotation, for the trigger "switch" and for snapshots (snapshot.h). The end of the rotation completes the
 * trigger under way. Call this when no rotation is under way. 0 or -errno with err. */
int weir_file_series_rotate(struct weir_file_series *series, struct weir_error *err);

/* Repeats the rotation that found no room for its next file, if there was one. Call this when there is room again. */
void weir_file_series_ask_again(struct weir_file_series *series);

/* ---- end ---- */

/*
 * Concludes the rotation that is under way when recording ends. Takes the rotation back before its cut. After the cut,
 * waits until the rotation is complete, but at most a second for the answer of the sideband thread. Call this when
 * events are disabled, while readers and writer still run. Blocks.
 */
void weir_file_series_conclude_rotation(struct weir_file_series *series);

/*
 * Ends the recording's data and finishes its last file. This covers ledger, LOST_SAMPLES, the end of the sideband
 * thread and of the writer, features, head, fsync, and name. Call this after the readers have ended. keeps_snapshot:
 * the last file ends with a permanent snapshot of the pair, which replaces the snapshot before it. Fills the result,
 * except its figures of rings and AUX areas. 0 or -errno with err; on failure the file keeps its good data. Blocks.
 */
int weir_file_series_finish(struct weir_file_series *series, bool keeps_snapshot, struct weir_error *err);

#endif
