/*
 * ftrace's own snapshot (Documentation/trace/ftrace.rst, "Snapshot"), taken with weir's: "1" is written to the file
 * `snapshot` of tracefs, where the kernel was built with it (CONFIG_TRACER_SNAPSHOT). Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_FTRACE_SNAPSHOT_H
#define WEIR_ENGINE_SESSION_FTRACE_SNAPSHOT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_ftrace_snapshot {
    bool open;
    int fd;        /* owned, when open */
    bool has_told; /* of a failure */
};

/* root: of tracefs; NULL: where it is mounted. 0, -ENOENT (the kernel has no such file: err says so, and what it
 * takes), or another error of open(2), with err. */
int weir_ftrace_snapshot_open(struct weir_ftrace_snapshot *snapshot, const char *root, struct weir_error *err);

/* Takes one; the first failure is a warning. The kernel allocates the first time: may block for that. */
void weir_ftrace_snapshot_take(struct weir_ftrace_snapshot *snapshot, const struct weir_notice_sink *notices);

/* NULL-safe, idempotent; zeroed is fine. */
void weir_ftrace_snapshot_close(struct weir_ftrace_snapshot *snapshot);

#endif
