/*
 * How soon a thread runs after it was woken. A reader that shares its CPU with the storm it records must run before the
 * rest of its ring fills; what the kernel offers for that, strongest first:
 *
 *     SCHED_FIFO (-r)            runs at once, and may slow the workload down
 *     nice -20 (CAP_SYS_NICE)    gets its CPU within a tick
 *     EEVDF slice of 0.1 ms      an earlier deadline, hence a quicker turn (sched_setattr(2) sched_runtime for
 *                                SCHED_OTHER, kernel/sched/syscalls.c, Linux 6.12; ignored by older kernels)
 *
 * Figures: docs/performance.md.
 */
#ifndef WEIR_ENGINE_KERNEL_THREAD_PRIORITY_H
#define WEIR_ENGINE_KERNEL_THREAD_PRIORITY_H

/*
 * Applies to the calling thread: SCHED_FIFO of `realtime` (1..99) when that is not 0, else nice -20 with a short slice,
 * else (without the privilege) the short slice alone. Returns 0 when what was asked for was granted (for realtime 0
 * always), or -errno (-EPERM: SCHED_FIFO refused, the thread has the next best).
 */
int weir_thread_prioritize(int realtime);

#endif
