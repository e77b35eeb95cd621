/*
 * Filters of system calls for the threads of a recording. An attacker may take over a thread through a hostile record,
 * file or name. The thread can then ask the kernel only for calls that its work needs.
 *
 *     data        readers, writer, pool, stage: open descriptors, io_uring, perf's ioctls
 *     sideband    also: open for reading, look at names, read BPF programs
 *     files       build ids and /proc: open for reading, look at names
 *     metrics     also: make, rename and remove files
 *     recorder    coordinator, finisher, and threads that the coordinator starts: all calls but those that execute
 *                 files, control other processes, mount, load code into the kernel, or change users, time or
 *                 the machine
 *
 * A forbidden call fails with EPERM and ends nothing. A recording is worth more than the proof of a fault, and a newer
 * C library may make calls that are not in the lists. The filters leave the processor's speculation as it is
 * (SECCOMP_FILTER_FLAG_SPEC_ALLOW): kernels before 5.16 would slow down the copies of the readers.
 *
 * Builds without libseccomp or with a sanitizer have no filters. Source: seccomp(2), seccomp_export_bpf(3).
 */
#ifndef WEIR_ENGINE_KERNEL_THREAD_FILTER_H
#define WEIR_ENGINE_KERNEL_THREAD_FILTER_H

#include <stdbool.h>

enum weir_thread_filter {
    WEIR_THREAD_FILTER_DATA,
    WEIR_THREAD_FILTER_SIDEBAND,
    WEIR_THREAD_FILTER_FILES,
    WEIR_THREAD_FILTER_METRICS,
    WEIR_THREAD_FILTER_RECORDER,
    WEIR_THREAD_FILTER_COUNT,
};

/* Makes the filters of the process, once; returns whether they are there. Until then, and where it fails,
 * weir_thread_filter_enter() does nothing. Call this before threads start. Allocates. */
bool weir_thread_filters_make(void);

/* Binds the calling thread, and threads that it starts later, for good. The thread must have no_new_privs. Where the
 * kernel refuses, the thread goes on without a filter. Allocates nothing. */
void weir_thread_filter_enter(enum weir_thread_filter filter);

#endif
