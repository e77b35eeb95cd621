/*
 * The kernel's limits on this process's perf events, and the ring sizes that follow from them.
 *
 * Read once, on the main thread, before anything is opened. Source: perf_event_open(2); perf_mmap() and
 * perf_event_open() in kernel/events/core.c and Documentation/admin-guide/sysctl/kernel.rst, Linux 6.12.
 */
#ifndef WEIR_ENGINE_KERNEL_KERNEL_LIMITS_H
#define WEIR_ENGINE_KERNEL_KERNEL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_LIMIT_NONE UINT64_MAX

struct weir_kernel_limits {
    bool has_perf_events;        /* the kernel has the perf_event_paranoid knob: perf's own test for perf support */
    int perf_event_paranoid;     /* -1 to 2; Debian and Ubuntu know 3 and 4: nothing without privileges */
    uint64_t mlock_kb;           /* kernel.perf_event_mlock_kb, per online CPU, for all rings of a user together */
    uint64_t max_sample_rate_hz; /* kernel.perf_event_max_sample_rate */
    uint64_t memlock_bytes;      /* RLIMIT_MEMLOCK, soft; WEIR_LIMIT_NONE */
    uint64_t nofile;             /* RLIMIT_NOFILE, soft; WEIR_LIMIT_NONE */
    uint64_t nofile_max;         /* RLIMIT_NOFILE, hard; WEIR_LIMIT_NONE */
    uint64_t page_bytes;
    bool in_user_namespace; /* as in a rootless container: perf_event_open(2) ignores its capabilities */
    bool cap_perfmon;       /* CAP_PERFMON or CAP_SYS_ADMIN, effective, outside of user namespaces */
    bool cap_ipc_lock;      /* CAP_IPC_LOCK, effective, outside of user namespaces */
};

/*
 * Reads the limits. proc_root NULL: "/proc". A knob that cannot be read gets the kernel's boot value. Cannot fail.
 * Blocks as reading procfs does; allocates.
 */
void weir_kernel_limits_read(struct weir_kernel_limits *limits, const char *proc_root);

/*
 * Raises the soft RLIMIT_NOFILE of the process to the hard limit, and updates limits. Call it after
 * weir_workload_prepare(): the workload must not inherit it, because select(2) breaks above 1024. 0 or -errno of
 * getrlimit(2) or setrlimit(2).
 */
int weir_kernel_limits_raise_nofile(struct weir_kernel_limits *limits);

struct weir_ring_sizes {
    uint64_t data_bytes;     /* a power of two, whole pages, without the control page */
    uint64_t sideband_bytes; /* a power of two, whole pages, without the control page */
    uint64_t aux_bytes;      /* of the AUX area beside the data ring, under the same limits; 0: none */
};

/*
 * Chooses the default sizes of a data ring and a sideband ring on each of `cpus` (at least 1) CPUs.
 *
 * If the kernel does not limit their memory (CAP_IPC_LOCK, or perf_event_paranoid -1), data is 8 MiB. It is halved
 * until all rings take at most 1/64 of memory_bytes, but not below 512 KiB. Sideband is 1 MiB, at most half of data.
 * Otherwise both fit into mlock_kb on each CPU: RLIMIT_MEMLOCK is left to io_uring's registered buffers.
 */
struct weir_ring_sizes weir_ring_bytes_choose(const struct weir_kernel_limits *limits, uint64_t memory_bytes,
                                              unsigned cpus);

/* Whether the kernel counts rings against no limit of this process. */
bool weir_kernel_limits_rings_are_free(const struct weir_kernel_limits *limits);

/* The mlock_kb that such rings need on every CPU, with their control pages. */
uint64_t weir_ring_sizes_mlock_kb(const struct weir_kernel_limits *limits, const struct weir_ring_sizes *sizes);

#endif
