/*
 * weir keeps only the privileges that it needs.
 *
 *     start             weir refuses to run set-user-ID, set-group-ID, or with file capabilities beyond perf events
 *     events are open   the process drops the capabilities that it no longer needs; the workload, which was forked
 * before, keeps its own threads           the threads of the data path (readers, writer, pool, compression) drop all
 * capabilities, once they have their priority
 *
 * Capabilities belong to a thread (capabilities(7)). Threads made later inherit the remaining ones, and no thread gets
 * any back. The bounding and inheritable sets stay as they are, so that an executed command has the rights of its user.
 */
#ifndef WEIR_ENGINE_KERNEL_PRIVILEGES_H
#define WEIR_ENGINE_KERNEL_PRIVILEGES_H

#include "base/error.h"

/*
 * Refuses rights that the caller does not have, and could use through the files that weir writes and the commands that
 * it runs. File capabilities for perf events are allowed: the kernel's documentation recommends them
 * (Documentation/admin-guide/perf-security.rst). 0; or -EPERM with err. Main thread, before anything else.
 */
int weir_privileges_check(struct weir_error *err);

/* Drops the capabilities of the calling thread. It keeps those for events on CPUs that come later, for /proc, and for
 * files of other users that root writes; and those that it fails to drop. */
void weir_privileges_drop_unneeded(void);

/* Drops all capabilities of the calling thread. */
void weir_privileges_drop_all(void);

#endif
