/*
 * Debug files from a server of debuginfod. The process that makes a report is confined and cannot ask a server; its
 * parent can. So the child writes a build id, and the parent answers with the path of a file.
 *
 * The parent runs debuginfod-find(1), which asks the servers of DEBUGINFOD_URLS and keeps the files that they send.
 * Nothing but the hex digits of a build id goes from the recording to that program. The child checks the file as any
 * other.
 *
 *     child   "HEX\n"          at most 40 digits
 *     parent  "PATH\n" or "\n"
 */
#ifndef WEIR_REPORT_DEBUG_FINDER_H
#define WEIR_REPORT_DEBUG_FINDER_H

#include "base/error.h"
#include "format/build_id.h"

struct weir_debug_finder {
    int questions[2], answers[2]; /* ends of two pipes, to read and to write; -1: closed */
};

/* Opens the pipes, which serve() closes. 0 or -errno with err. */
int weir_debug_finder_open(struct weir_debug_finder *finder, struct weir_error *err);

/* In the child, as weir_object_places.fetch: ctx is the finder. A descriptor, -ENOENT or -errno. Blocks. */
int weir_debug_finder_fetch(void *ctx, const struct weir_build_id *id);

/* In the parent, behind fork(2): answers until the child has closed its end. Main thread. */
void weir_debug_finder_serve(struct weir_debug_finder *finder);

#endif
