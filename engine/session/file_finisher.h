/*
 * What becomes of a recording's files: each is finished, synced and given the name under which it is kept; the oldest
 * are removed when there are to be no more than so many; and a command is told of it.
 *
 *     coordinator ── push (at most WEIR_FINISHER_FILES) ──► thread: features, head, fsync, name, command
 *
 * A file that is switched away is finished by a thread of its own, so that nobody waits for the disk; the last one is
 * finished by the coordinator when that thread has ended, and kept by the same rules. Files are finished in the order
 * in which they were pushed.
 *
 * Where snapshots of the pair replace one another (weir_modes_pair_ends_files()) one file of them stays, those
 * in which there are dumps not counted, and it takes the name PATH from the last file when nothing is in that.
 *
 * The name: PATH.<UTC time as perf writes it, YYYYmmddHHMMSScc>, with "-001" and so on behind it where that is taken;
 * nothing is ever replaced. A file has its name only when it is whole: while it is finished it is hidden, as
 * ".NAME.<time>" in the same folder.
 *
 * The command's arguments are given as they are, without a shell, with the path of the file as the last one. At most
 * WEIR_KEPT_COMMANDS run at a time: beyond that the thread waits until one has ended. Its failure is one warning.
 * How long a command takes is nobody's business here: it is waited for until the recording is hurried to its end.
 *
 * Warnings and the line "Dump PATH" go to the recording's notices, from the thread that found out.
 */
#ifndef WEIR_ENGINE_SESSION_FILE_FINISHER_H
#define WEIR_ENGINE_SESSION_FILE_FINISHER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/drain/drain_watch.h"
#include "engine/session/kept_files.h"
#include "engine/session/record_file.h"
#include "engine/session/recording_plan.h"
#include "engine/tasks/sideband.h"

#define WEIR_FINISHER_FILES 8u /* that wait for the thread, the one that it has in hand not among them */

struct weir_file_finisher; /* on the heap: it has a thread */

struct weir_file_finisher_setup {
    const struct weir_recording_plan *plan; /* borrowed until free, as all pointers here */
    const struct weir_file_facts *facts;
    struct weir_sideband *sideband;        /* what files are told of build ids and BPF programs; NULL: nothing */
    const sigset_t *child_mask;            /* of the commands; borrowed until free */
    int room_fd;                           /* borrowed eventfd, told when a file was taken from the queue; -1: none */
    struct weir_rotation_count *rotations; /* borrowed; one ends with each file that was pushed and finished */
};

struct weir_finished_files {
    uint64_t files;
    uint64_t bytes;
    struct weir_error err; /* of the first that could not be finished or named; code 0: none */
};

/* 0 or -ENOMEM. */
int weir_file_finisher_new(struct weir_file_finisher **finisher, const struct weir_file_finisher_setup *setup);

/* Starts the thread, without which there is no push(): where there is none to be had is known before anything is
 * recorded. 0 or -errno of pthread_create(3). Signals must be blocked. Coordinator. */
int weir_file_finisher_start(struct weir_file_finisher *finisher);

/* The id of its thread. After start(). */
pid_t weir_file_finisher_tid(const struct weir_file_finisher *finisher);

/* Queues a file, which is the finisher's then. False: the queue is full. Coordinator; does not block. */
bool weir_file_finisher_push(struct weir_file_finisher *finisher, struct weir_record_file *file);

/* Has the oldest finished file removed, with on_full ROTATE. False: there is none. Coordinator; does not block. */
bool weir_file_finisher_drop_oldest(struct weir_file_finisher *finisher);

enum weir_finisher_work {
    WEIR_FINISHER_RESTS,    /* or waits for commands */
    WEIR_FINISHER_FINISHES, /* a file, which may be removed when it has its name */
    WEIR_FINISHER_DROPS,    /* what drop_oldest() was asked for, behind the file that it may have in hand */
};

/* What is under way, any of which may take as long as the disk does. Coordinator; does not block. */
enum weir_finisher_work weir_file_finisher_work(struct weir_file_finisher *finisher);

/* With on_full ROTATE removes the oldest finished file, for a write that found no room. False: there is none, or
 * finisher is NULL. Blocks until the file is gone, behind what the thread has in hand. Before stop(). Coordinator. */
bool weir_file_finisher_make_room(struct weir_file_finisher *finisher);

/* Waits until those are removed that drop_oldest() was asked for, behind what the thread has in hand. Before stop().
 * Coordinator. */
void weir_file_finisher_await_drops(struct weir_file_finisher *finisher);

/* Waits until all that was pushed is done with, and ends the thread. hurried: asked ten times a second; from then on
 * files are not synced, and no command is waited for. One that is being synced is waited for. Coordinator. NULL-safe.
 */
void weir_file_finisher_stop(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx);

/* Names a file that was finished already, removes what is too many and runs the command, as for the others; after
 * stop(). Adds it to the sums. The file stays the caller's. hurried: asked while too many commands run. Coordinator. */
void weir_file_finisher_keep(struct weir_file_finisher *finisher, struct weir_record_file *file,
                             bool (*hurried)(void *ctx), void *ctx);

/* Where each file replaces the one before, what becomes of the last one, which was finished already; after stop(). It
 * stays the caller's. Coordinator. */

/* Has the newest of the others take its name, in one step. False: that cannot be, which is told, and it stays. */
bool weir_file_finisher_pass_name(struct weir_file_finisher *finisher, struct weir_record_file *file);

/* Keeps it under the name that it has, and adds it to the sums. replaces: it replaces the one before as the others do,
 * if it is whole; else that one stays, which is told. */
void weir_file_finisher_keep_named(struct weir_file_finisher *finisher, const struct weir_record_file *file,
                                   bool replaces);

/* Waits for the commands that still run, unless hurried(ctx) says that it is to end (asked ten times a second). After
 * stop(). */
void weir_file_finisher_await_commands(struct weir_file_finisher *finisher, bool (*hurried)(void *ctx), void *ctx);

/* After stop(); borrowed until free. */
const struct weir_finished_files *weir_file_finisher_sums(const struct weir_file_finisher *finisher);

/* What of these was removed again. After stop(). */
struct weir_removed_files weir_file_finisher_removed(const struct weir_file_finisher *finisher);

/* NULL-safe; stops first. Files that were not finished are closed as they are. */
void weir_file_finisher_free(struct weir_file_finisher *finisher);

#endif
