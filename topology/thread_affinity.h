/* The CPUs that threads may run on. Any thread; set-up only. */
#ifndef WEIR_TOPOLOGY_THREAD_AFFINITY_H
#define WEIR_TOPOLOGY_THREAD_AFFINITY_H

#include <sys/types.h>

#include "base/cpuset.h"

/*
 * Binds the calling thread to the CPUs of set (sched_setaffinity(2)). The kernel leaves out CPUs that are offline or
 * outside of the thread's cpuset(7). An empty set changes nothing.
 * 0, -EINVAL (no CPU was left: the thread keeps its mask) or another errno of the call (a seccomp filter's).
 */
int weir_thread_pin(const struct weir_cpuset *set);

/* Binds thread tid of this process to the CPUs of set. Results as weir_thread_pin(); -ESRCH: the thread has ended. */
int weir_thread_pin_other(pid_t tid, const struct weir_cpuset *set);

/*
 * Replaces set by the CPUs that the calling thread may run on (sched_getaffinity(2): its mask within its cpuset).
 * 0, -ENOMEM or another errno of the call; set is unchanged on failure.
 */
int weir_thread_affinity(struct weir_cpuset *set);

#endif
