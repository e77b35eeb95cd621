/*
 * Completes the files of a recording: finishes and syncs each file, gives it its final name, and runs the command of
 * --on-rotate with it. Where the number of files has a limit, removes the oldest files.
 *
 *     coordinator ── push (at most WEIR_FINISHER_FILES) ──► thread: features, head, fsync, name, command
 *
 * A thread of its own finishes each file that a rotation has ended, so that nobody waits for the disk. The thread takes
 * files in the order of push(). After this thread has ended, the coordinator finishes the last file, which is kept by
 * the same rules.
 *
 * Where snapshots of the pair replace one another (weir_modes_pair_ends_files()), one file of such a snapshot stays,
 * and so does each file that also holds dumps. If the last file of the recording is empty, the snapshot's file takes
 * over its name PATH.
 *
 * The final name is PATH.<UTC time as perf writes it, YYYYmmddHHMMSScc>. Where that name is taken, weir appends "-001"
 * and so on; weir never replaces a file. A file gets its final name only when it is whole. Before that, it is hidden in
 * the same folder as ".NAME.<time>".
 *
 * The command gets its arguments as they are, without a shell, and the path of the file as its last argument. At most
 * WEIR_KEPT_COMMANDS commands run at a time: beyond that the thread waits until one ends. A failed command is one
 * warning. Commands have no time limit: weir waits for them until a signal asks for a quick end.
 *
 * The thread that learns of a problem or of a finished file sends the warning or the line "Dump PATH" to the
 * recording's notices.
 */
#ifndef WEIR_ENGINE_FILES_FILE_FINISHER_H
#define WEIR_ENGINE_FILES_FILE_FINISHER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/drain/drain_watch.h"
#include "engine/files/kept_files.h"
#include "engine/files/record_file.h"
#include "engine/plan/recording_plan.h"
#include "engine/tasks/sideband.h"

#define WEIR_FINISHER_FILES 8u /* files that may wait for the thread, besides the file under way */

struct weir_file_finisher; /* on the heap, because its thread refers to it */

struct weir_file_finisher_setup {
    const struct weir_recording_plan *plan; /* borrowed until free, as all pointers here */
    const struct weir_file_facts *facts;
    struct weir_sideband *sideband;        /* source of build ids and BPF programs; NULL: files get none */
    const sigset_t *child_mask;            /* signal mask of the commands */
    int room_fd;                           /* borrowed eventfd; written when the thread takes a file; -1: none */
    struct weir_rotation_count *rotations; /* one rotation ends with each pushed file that is finished */
};

struct weir_finished_files {
    uint64_t files;
    uint64_t bytes;
    struct weir_error err; /* of the first file that could not be finished or named; code 0: none */
};

/* Makes a finisher without its thread. 0 or -ENOMEM. */
int weir_file_finisher_new(struct weir_file_finisher **finisher, const struct weir_file_finisher_setup *setup);

/* Starts the thread, which push() needs. Call this before recording starts, so that a failure costs no data; signals
 * must be blocked. 0 or -errno of pthread_create(3). Coordinator. */
int weir_file_finisher_start(struct weir_file_finisher *finisher);

/* Returns the id of the thread. Call this after start(). */
pid_t weir_file_finisher_tid(const struct weir_file_finisher *finisher);

/* Queues a file and takes ownership of it. False: the queue is full, and the file stays the caller's. Coordinator; does
 * not block. */
bool weir_file_finisher_push(struct weir_file_finisher *finisher, struct weir_record_file *file);

/* Asks the thread to remove the oldest finished file, with on_full ROTATE. False: no file is finished. Coordinator;
 * does not block. */
bool weir_file_finisher_drop_oldest(struct weir_file_finisher *finisher);

enum weir_finisher_work {
    WEIR_FINISHER_RESTS,    /* or waits for commands */
    WEIR_FINISHER_FINISHES, /* finishes a file, which can be removed once it has its name */
    WEIR_FINISHER_DROPS,    /* has files to remove for drop_oldest(), perhaps after it finishes the file under way */
};

/* Returns the present work of the thread. A slow disk may delay its end for any time. Coordinator; does not block. */
enum weir_finisher_work weir_file_finisher_work(struct weir_file_finisher *finisher);

/* Removes the oldest finished file with on_full ROTATE, for a write that found no room. False: no file is finished, or
 * finisher is NULL. Blocks until the thread has finished the file under way and removed the oldest one. Call this
 * before stop(). Coordinator. */
bool weir_file_finisher_make_room(struct weir_file_finisher *finisher);

/* Waits until the thread has finished the file under way and removed all files for drop_oldest(). Call this before
 * stop(). Coordinator. */
void weir_file_finisher_await_drops(struct weir_file_finisher *finisher);

/*
 * Waits until the thread has finished all pushed files, and ends the thread. Calls hurried(ctx) ten times a second.
 * Once hurried() returns true, the thread syncs no further file and waits for no command, but a sync under way still
 * completes. Coordinator. NULL-safe.
 */
void weir_file_finisher_stop(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx);

/* Names a finished file, removes the files beyond the limit, runs the command, and adds the file to the sums. The file
 * stays the caller's. Calls hurried(ctx) while too many commands run. Call this after stop(). Coordinator. */
void weir_file_finisher_keep(struct weir_file_finisher *finisher, struct weir_record_file *file,
                             bool (*hurried)(void *ctx), void *ctx);

/* ---- the last file of a recording whose snapshots of the pair replace one another ---- */

/* Moves the newest earlier file to the name of `file` in one step. file: finished; stays the caller's. False: this
 * failed, a notice says why, and `file` keeps its name. Call this after stop(). Coordinator. */
bool weir_file_finisher_pass_name(struct weir_file_finisher *finisher, struct weir_record_file *file);

/* Keeps `file` under its present name and adds it to the sums. file: finished; stays the caller's. replaces: `file`
 * replaces the file before it, if `file` is whole. Otherwise the file before it stays, and a notice names that file.
 * Call this after stop(). Coordinator. */
void weir_file_finisher_keep_named(struct weir_file_finisher *finisher, const struct weir_record_file *file,
                                   bool replaces);

/* Waits for running commands, until hurried(ctx) returns true, which is called ten times a second. Call this after
 * stop(). Coordinator. */
void weir_file_finisher_await_commands(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx);

/* Returns the sums, borrowed until free. Call this after stop(). */
const struct weir_finished_files *weir_file_finisher_sums(const struct weir_file_finisher *finisher);

/* Returns how many of the finished files have been removed. Call this after stop(). */
struct weir_removed_files weir_file_finisher_removed(const struct weir_file_finisher *finisher);

/* Stops and frees the finisher. Closes unfinished files as they are. NULL-safe. */
void weir_file_finisher_free(struct weir_file_finisher *finisher);

#endif
