/*
 * Looks ten times a second how much of the output's file system is free, and acts when it is full: less is free than is
 * to stay so (--keep-free), or a write has found no room at all.
 *
 *     stop      recording ends, with files that are whole; the command runs on
 *     rotate    the oldest finished files of this recording are removed; without any the output is switched first
 *     suspend   the kernel writes no more samples until there is room again (an eighth more than is to stay free, and a
 *               MiB at least): what comes meanwhile is counted as lost by the kernel, and told as such
 *               (PERF_EVENT_IOC_PAUSE_OUTPUT, perf_event_open(2)); side records go on, so what comes later can be
 *               resolved
 *
 * What was drained before a file system was found full waits in the writer, which tries again as often (writer.h), so
 * nothing of it is lost; but with "stop", where a write without room ends the recording as any failure does. It ends so
 * too when there is nothing left to remove, nor on its way to be finished, and when it is asked to end before there is
 * room. A file that is finished
 * without room for its features is whole without them; with "rotate" older ones make room first, with "suspend" one
 * that was switched away waits until there is some.
 *
 * A file that is to end gets what is in memory by then, so "rotate" needs room for a file and for all of that: the pool
 * takes a quarter of what is free at the start at most, unless it was given a size, and what may still not fit is one
 * warning with its numbers.
 *
 * A quota is a file system that is full, but that nobody can see how much is left of it: what is free is known by
 * writes that find room, or none.
 *
 * Coordinator; the look is one statvfs(3), nothing blocks.
 */
#ifndef WEIR_ENGINE_SESSION_DISK_GUARD_H
#define WEIR_ENGINE_SESSION_DISK_GUARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct weir_session;

struct weir_disk_guard {
    struct weir_session *session; /* borrowed; NULL: there is nothing to guard */
    char *folder;                 /* owned */
    int timer_fd;                 /* owned */
    bool suspended;
    uint64_t lost_before; /* samples, when it was suspended last */
    bool told_rotation;
    bool stopped;
    unsigned helpless;     /* looks at a full file system in a row, with nothing to remove */
    pthread_t coordinator; /* once settling */
    _Atomic bool settling;
    uint64_t tended_ns; /* of the last look by tend() */
};

/* With "rotate" removes the oldest finished file, for what has found no room. False: there is none, or it is not asked
 * for. Blocks until it is gone, behind what the finisher has in hand. */
bool weir_disk_guard_make_room(struct weir_session *session);

/* Begins to look, when the options ask for it. The coordinator was initialised. 0 or -errno with err. */
int weir_disk_guard_init(struct weir_disk_guard *guard, struct weir_session *session, struct weir_error *err);

/* The file has its beginning, and events are about to count: until then a file system without room is a failure, as it
 * is until the end of recording with "stop". */
void weir_disk_guard_start(const struct weir_disk_guard *guard);

/* Events are off. From here on no room is a failure, but with "rotate", where older files make room for what is still
 * on its way: tend() is to be called while that is waited for. */
void weir_disk_guard_settle(struct weir_disk_guard *guard);

/* A look after settle(), at most ten times a second; asked by the coordinator it also ends the waiting for space at a
 * second signal. Before settle() it does nothing. Any thread, one at a time. */
void weir_disk_guard_tend(struct weir_disk_guard *guard);

/* NULL-safe, in any state. The coordinator has ended its loop. */
void weir_disk_guard_fini(struct weir_disk_guard *guard);

#endif
