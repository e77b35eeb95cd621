/*
 * Looks ten times a second how much of the output's file system is free, and acts when the file system is full: less is
 * free than --keep-free asks for, or a write has found no room at all.
 *
 *     stop      ends the recording, with files that are whole; the command runs on
 *     rotate    removes the oldest finished files of this recording; when there is none, rotates the output first
 *     suspend   has the kernel write no more samples until there is room again (an eighth more than --keep-free, and a
 *               MiB at least). The kernel counts the samples that come meanwhile as lost, and weir reports that number
 *               (PERF_EVENT_IOC_PAUSE_OUTPUT, perf_event_open(2)). Side records go on, so that later samples can be
 *               resolved
 *
 * With "rotate" and "suspend" the writer keeps what it had drained before the file system was full, and tries again as
 * often (writer.h), so that nothing drained is lost. With "stop" a write without room ends the recording, as any failed
 * write does. "rotate" ends it too when there is no file to remove, and none on its way to be finished.
 *
 * A file that is finished without room for its features is whole without them. With "rotate" older files make room for
 * the features first; with "suspend" a file that a rotation has ended waits until there is room.
 *
 * When a file ends, all of the pool and of the rings may still go to it. So "rotate" needs room for one file and for
 * that memory: the pool takes a quarter of what is free at the start at most, unless --buffer-size names its size. If
 * even that may not fit, one warning gives the numbers.
 *
 * A full quota is a full file system whose free bytes nobody can read: only writes tell whether there is room.
 *
 * The guard owns its state and reaches the recording by the callbacks of its setup only. A look is one statvfs(3) and
 * does not block.
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
#include "engine/kernel/poll_set.h"
#include "engine/session/file_finisher.h"
#include "engine/session/record_options.h"

/* What the guard watches, and how it acts. All of it is borrowed until fini(), and const. */
struct weir_disk_guard_setup {
    const char *output_path;
    enum weir_record_on_full on_full;
    uint64_t keep_free_bytes;
    uint64_t file_bytes;   /* --switch-output=SIZE */
    uint64_t memory_bytes; /* of the pool and of what is retained: may go to a file that ends */
    uint64_t rings_bytes;  /* of all rings: the same */
    int (*probe_space)(const char *folder, uint64_t *free_bytes); /* NULL: weir_io_probe_space() */
    const struct weir_notice_sink *notices;
    const struct weir_clock *clock;      /* monotonic */
    struct weir_writer *writer;          /* its `full` is read; told whether to wait for space */
    struct weir_file_finisher *finisher; /* removes files; not NULL with "rotate" */

    void *ctx;                         /* of the callbacks; the coordinator's thread calls all of them */
    void (*end_recording)(void *ctx);  /* with "stop" */
    void (*rotate_output)(void *ctx);  /* with "rotate": asks for a rotation, which may already be under way */
    void (*pause_samples)(void *ctx);  /* with "suspend": `suspended` has changed */
    uint64_t (*count_lost)(void *ctx); /* with "suspend": samples that the kernel has counted as lost until now */
    void (*find_room)(void *ctx);      /* a look has found room: a rotation that lacked it may be asked for again */
    bool (*is_hurried)(void *ctx);     /* whether a signal has asked for a quick end; after settle() only */
};

/* Written by the coordinator, and after settle() by the one thread at a time that calls tend(). */
struct weir_disk_guard {
    struct weir_disk_guard_setup setup;
    bool active;             /* there is something to guard; const from init() on */
    char *folder;            /* owned; of the output */
    int timer_fd;            /* owned */
    bool suspended;          /* read by the coordinator to pause rings and to tell the state */
    uint64_t lost_before;    /* samples, when the kernel was suspended last */
    uint64_t lost_suspended; /* samples, while it was suspended; complete after settle() */
    bool told_rotation;      /* that files are removed */
    bool stopped;            /* the guard has ended the recording, or let its writes fail */
    unsigned helpless;       /* looks at a full file system in a row, with nothing to remove */
    uint64_t tended_ns;      /* of the last look by tend() */
    pthread_t coordinator;   /* written by settle(), before settling */
    _Atomic bool settling;   /* written by settle(), release; read by tend(), acquire: `coordinator` is set */
};

/*
 * Begins to look by a timer among sources, when on_full or keep_free_bytes asks for it. setup: copied. The guard must
 * stay where it is until fini(). 0 or -errno with err. Coordinator.
 */
int weir_disk_guard_init(struct weir_disk_guard *guard, const struct weir_disk_guard_setup *setup,
                         struct weir_poll_set *sources, struct weir_error *err);

/* Has the writer wait for space from here on: the file has its beginning, and events are about to count. Until then
 * want of room is a failure, as it always is with "stop". Coordinator. */
void weir_disk_guard_start(const struct weir_disk_guard *guard);

/* Ends the looking: events are off. From here on want of room is a failure, but with "rotate", where tend() removes
 * files while somebody waits for the writer. Coordinator. */
void weir_disk_guard_settle(struct weir_disk_guard *guard);

/* Looks once, at most ten times a second, and before settle() not at all. Called by the coordinator it also ends the
 * waiting for space when the recording is hurried to its end. Any thread, one at a time. */
void weir_disk_guard_tend(struct weir_disk_guard *guard);

/* NULL-safe, in any state. The coordinator has ended its loop. */
void weir_disk_guard_fini(struct weir_disk_guard *guard);

#endif
