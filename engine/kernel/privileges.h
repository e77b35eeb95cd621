/*
 * What weir may do, kept to what it has to.
 *
 *     start             refused: set-user-ID, set-group-ID, file capabilities that are for more than perf events
 *     events are open   the process drops what it will not need; the workload, which was forked before, keeps all of
 *                       what is its own
 *     threads           those of the data path (readers, writer, pool, compression) drop everything, once they have
 *                       their priority
 *
 * Capabilities are a thread's (capabilities(7)); threads made later inherit what is left, and nothing gets any back:
 * the bounding and inheritable sets are not touched, so that what is executed has what its user has.
 */
#ifndef WEIR_ENGINE_KERNEL_PRIVILEGES_H
#define WEIR_ENGINE_KERNEL_PRIVILEGES_H

#include "base/error.h"

/*
 * Whether the program was given rights that its caller does not have and that writing files and running commands in his
 * name would give away. File capabilities as such are not refused: they are how the kernel's documentation hands out
 * perf events (Documentation/admin-guide/perf-security.rst). 0, or -EPERM with err. Main thread, first of all.
 */
int weir_privileges_check(struct weir_error *err);

/* Drops what is needed neither for events of CPUs that come later, nor for /proc, nor for files of other users that
 * root writes. The calling thread. Failures are passed over: what cannot be dropped is kept. */
void weir_privileges_drop_unneeded(void);

/* Drops all capabilities of the calling thread. */
void weir_privileges_drop_all(void);

#endif
