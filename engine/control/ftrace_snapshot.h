/*
 * Takes a snapshot of ftrace (Documentation/trace/ftrace.rst, "Snapshot") together with a snapshot of weir: writes "1"
 * to the file `snapshot` of tracefs. The kernel has this file with CONFIG_TRACER_SNAPSHOT. Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_FTRACE_SNAPSHOT_H
#define WEIR_ENGINE_CONTROL_FTRACE_SNAPSHOT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_ftrace_snapshot {
    bool open;
    int fd;        /* owned, when open */
    bool has_told; /* the user has been warned of a failure */
};

/* Opens the file `snapshot`. root: root folder of tracefs; NULL: its mount point. 0; or with err: -ENOENT, if the
 * kernel has no such file (the hint names the configuration option); another error of open(2). */
int weir_ftrace_snapshot_open(struct weir_ftrace_snapshot *snapshot, const char *root, struct weir_error *err);

/* Takes a snapshot of ftrace. The first failure is a warning. May block on the first call, when the kernel allocates
 * the snapshot buffer. */
void weir_ftrace_snapshot_take(struct weir_ftrace_snapshot *snapshot, const struct weir_notice_sink *notices);

/* NULL-safe, idempotent. Accepts a struct of all zeros. */
void weir_ftrace_snapshot_close(struct weir_ftrace_snapshot *snapshot);

#endif
