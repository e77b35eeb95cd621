/*
 * The scheduling of readers and writer, and of the coordinator where the events leave little CPU time. A reader that
 * shares its CPU with the load that it records must run before the rest of its ring fills. The kernel offers, strongest
 * first:
 *
 *     SCHED_FIFO (-r)            runs at once, and may slow the workload down
 *     nice -20 (CAP_SYS_NICE)    gets its CPU within a tick
 *     EEVDF slice of 0.1 ms      an earlier deadline, hence a quicker turn. sched_runtime of sched_setattr(2) for
 *                                SCHED_OTHER (kernel/sched/syscalls.c, Linux 6.12); older kernels ignore it
 *
 * Figures: docs/performance.md.
 */
#ifndef WEIR_ENGINE_KERNEL_THREAD_PRIORITY_H
#define WEIR_ENGINE_KERNEL_THREAD_PRIORITY_H

/*
 * Gives the calling thread SCHED_FIFO of priority `realtime` (1 to 99). With realtime 0, or when SCHED_FIFO is refused,
 * it gets nice -20 and a short slice; without the privilege for nice only the short slice. 0; or -errno (-EPERM) when
 * SCHED_FIFO was refused.
 */
int weir_thread_prioritize(int realtime);

#endif
