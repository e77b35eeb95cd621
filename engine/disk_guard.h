/*
 * Looks ten times a second how much of the output's file system is free, and acts when it is less than is to stay free:
 *
 *     stop      recording ends, with files that are whole
 *     rotate    the oldest finished files of this recording are removed; without any the output is switched first
 *     suspend   the kernel writes no more samples until an eighth more than that is free: what comes meanwhile is
 *               counted as lost by the kernel, and told as such (PERF_EVENT_IOC_PAUSE_OUTPUT, perf_event_open(2)); side
 *               records go on, so what comes later can be resolved
 *
 * An output that fails all the same (ENOSPC: others write too) ends the recording as ever. Coordinator; the look is one
 * statvfs(3), nothing blocks.
 */
#ifndef WEIR_ENGINE_DISK_GUARD_H
#define WEIR_ENGINE_DISK_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct weir_session;

struct weir_disk_guard {
    struct weir_session *session; /* borrowed; NULL: there is nothing to guard */
    char *folder;                 /* owned */
    int timer_fd;                 /* owned */
    bool suspended;
    bool told_rotation;
    bool stopped;
};

/* Begins to look, when the options ask for it. The coordinator was initialised. 0 or -errno with err. */
int weir_disk_guard_init(struct weir_disk_guard *guard, struct weir_session *session, struct weir_error *err);

/* NULL-safe, in any state. The coordinator has ended its loop. */
void weir_disk_guard_fini(struct weir_disk_guard *guard);

#endif
