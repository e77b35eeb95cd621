/*
 * Checks ten times a second how much of the output's file system is free, and acts when the file system is full. Full
 * means that less is free than --keep-free asks for, or that a write has failed for lack of space.
 *
 *     stop      ends the recording and leaves whole files; the workload runs on
 *     rotate    removes the oldest finished files of this recording; if none is finished, rotates the output first
 *     suspend   pauses the data rings until there is room again: an eighth more than --keep-free, and a MiB at least.
 *               The kernel counts the samples of the pause as lost, and weir reports their number
 *               (PERF_EVENT_IOC_PAUSE_OUTPUT, perf_event_open(2)). The kernel still writes side records, so that
 *               consumers can resolve later samples
 *
 * With "rotate" and "suspend" the writer loses no drained data: ten times a second it repeats the write that lacked
 * room (writer.h). With "stop" a write without room ends the recording, like any failed write. "rotate" ends the
 * recording as well when no file can be removed and none is being finished.
 *
 * A file that is finished without room for its features is whole without them. With "rotate" weir removes older files
 * first, to make room for the features. With "suspend" a file that a rotation has ended waits until there is room.
 *
 * When a file ends, the data in the pool and in the rings may still go to this file. So "rotate" needs room for one
 * file and for that data. So the pool takes at most a quarter of the space that is free at the start, unless
 * --buffer-size sets its size. If the space may still not suffice, one warning gives the numbers.
 *
 * An exhausted quota counts as a full file system. Nobody can read how many bytes a quota has left, so only a write
 * shows whether there is room.
 *
 * The guard owns its state, and calls the recording only through the callbacks of its setup. A check costs one
 * statvfs(3) and does not block.
 */
#ifndef WEIR_ENGINE_SESSION_DISK_GUARD_H
#define WEIR_ENGINE_SESSION_DISK_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/drain/writer.h"
#include "engine/files/file_finisher.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/record_options.h"

/* The guard's object and its means. All pointers are borrowed until fini(). Const. */
struct weir_disk_guard_setup {
    const char *output_path;
    enum weir_record_on_full on_full;
    uint64_t keep_free_bytes;
    uint64_t file_bytes;   /* --switch-output=SIZE */
    uint64_t memory_bytes; /* of the pool and of retained samples: an ending file may get all of it */
    uint64_t rings_bytes;  /* of all rings: an ending file may get all of it */
    int (*probe_space)(const char *folder, uint64_t *free_bytes); /* NULL: weir_io_probe_space() */
    const struct weir_notice_sink *notices;
    const struct weir_clock *clock;      /* monotonic */
    struct weir_writer *writer;          /* the guard reads `full`, and sets whether the writer waits for space */
    struct weir_file_finisher *finisher; /* removes files; not NULL with "rotate" */

    void *ctx;                         /* of the callbacks; the coordinator's thread calls all of them */
    void (*end_recording)(void *ctx);  /* with "stop" */
    void (*rotate_output)(void *ctx);  /* with "rotate": asks for a rotation, which may already be under way */
    void (*pause_samples)(void *ctx);  /* with "suspend": `suspended` has changed */
    uint64_t (*count_lost)(void *ctx); /* with "suspend": samples that the kernel has counted as lost until now */
    void (*find_room)(void *ctx);      /* a check has found room, so a rotation that lacked room may be repeated */
    bool (*is_hurried)(void *ctx);     /* a signal has asked for a quick end; called only after begin_tending() */
};

/* Written by the coordinator, and after begin_tending() by the one thread at a time that calls tend(). */
struct weir_disk_guard {
    struct weir_disk_guard_setup setup;
    bool active;             /* the options ask for a guard; const from init() on */
    char *folder;            /* owned; of the output */
    int timer_fd;            /* owned */
    bool suspended;          /* "suspend" pauses samples; the coordinator reads this for the rings and the status */
    uint64_t lost_before;    /* lost samples when the last suspension began */
    uint64_t lost_suspended; /* samples lost during all suspensions; complete after begin_tending() */
    bool told_rotation;      /* the user has been told that weir removes files */
    bool stopped;            /* the guard has ended the recording, or lets the writer's writes fail */
    unsigned helpless;       /* successive checks that found the file system full and no file to remove */
    uint64_t tended_ns;      /* time of the last check by tend() */
    pthread_t coordinator;   /* written by begin_tending(), before `tending` */
    _Atomic bool tending;    /* guard-tending: written by begin_tending(), release; read by tend(), acquire */
};

/*
 * Adds a timer for the checks to sources, if on_full or keep_free_bytes asks for a guard. Copies setup. The guard must
 * stay where it is until fini(). 0 or -errno with err. Coordinator.
 */
int weir_disk_guard_init(struct weir_disk_guard *guard, const struct weir_disk_guard_setup *setup,
                         struct weir_poll_set *sources, struct weir_error *err);

/* Makes the writer wait for space from now on, except with "stop". Call this when the file has its beginning and events
 * are about to be enabled: until then a write without room is a failure. Coordinator. */
void weir_disk_guard_start(const struct weir_disk_guard *guard);

/* Hands the checks from the timer, whose loop has ended, to tend(). Call this when events are disabled. From now on a
 * write without room is a failure, except with "rotate", where tend() removes files for it. Coordinator. */
void weir_disk_guard_begin_tending(struct weir_disk_guard *guard);

/*
 * Checks the file system, at most ten times a second, while the caller waits for the writer. Does nothing before
 * begin_tending(). When the coordinator calls this and a signal asks for a quick end, the writer no longer waits for
 * space. Any thread, one at a time.
 */
void weir_disk_guard_tend(struct weir_disk_guard *guard);

/* Frees the guard. Call this after the coordinator's loop has ended. NULL-safe, in any state. */
void weir_disk_guard_fini(struct weir_disk_guard *guard);

#endif
