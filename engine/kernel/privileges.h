/*
 * weir keeps only the privileges that it needs.
 *
 *     start             weir refuses to run set-user-ID, set-group-ID, or with file capabilities beyond perf events
 *     events are open   the process drops the capabilities that it no longer needs. It executes no more files, unless
 *                       it is to execute the command of --on-rotate. The workload, which was forked before, keeps its
 *                       capabilities
 *     threads           each keeps the capabilities and the system calls of its class (engine/kernel/thread_filter.h),
 *                       and has no_new_privs
 *
 * Capabilities and no_new_privs belong to a thread (capabilities(7), prctl(2)). Threads made later inherit both, and no
 * thread gets anything back. weir does not change the bounding and inheritable sets, so that an executed command has
 * the rights of its user.
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
 * files of other users that root writes; and those that it fails to drop. Makes the filters that the two functions
 * below load. */
void weir_privileges_drop_unneeded(void);

/* Sets no_new_privs, and forbids system calls that the recorder never makes (WEIR_THREAD_FILTER_RECORDER). Binds the
 * calling thread and threads that it starts later. */
void weir_privileges_execute_nothing(void);

enum weir_privileges_class {   /* of threads, each with what it keeps */
    WEIR_PRIVILEGES_DATA,      /* readers, writer, pool, stage: nothing */
    WEIR_PRIVILEGES_SIDEBAND,  /* BPF programs, the kernel's addresses, cgroups, its own priority */
    WEIR_PRIVILEGES_BUILD_IDS, /* files that other processes have mapped, its own priority */
    WEIR_PRIVILEGES_PROC,      /* /proc of other processes */
    WEIR_PRIVILEGES_METRICS,   /* a file in a directory of another user, by root */
    WEIR_PRIVILEGES_FINISHER,  /* files of other users that root writes, room set aside for root; runs commands */
};

/* Drops the capabilities that the class of the calling thread does not need. But for the finisher, sets no_new_privs
 * and loads the class's filter. Call this once its priority is set. */
void weir_privileges_limit(enum weir_privileges_class class);

#endif
