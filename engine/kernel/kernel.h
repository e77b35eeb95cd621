/*
 * The kernel's perf interface behind a struct of functions: the real one (ring.c) and the simulated one
 * (sim_kernel.c). All return 0 or a result >= 0, or -errno as perf_event_open(2), ioctl(2), mmap(2), poll(2) give it;
 * EINTR of open is retried inside. Every function may be called from any thread.
 */
#ifndef WEIR_ENGINE_KERNEL_KERNEL_H
#define WEIR_ENGINE_KERNEL_KERNEL_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What read(2) gives of one event for read_format ID | LOST, the two times, and GROUP. */
struct weir_event_count {
    uint64_t value;
    uint64_t time_enabled_ns;
    uint64_t time_running_ns;
    uint64_t id;
    uint64_t lost; /* 0 from kernels before 6.0, which lack PERF_FORMAT_LOST */
};

struct weir_kernel_ops {
    /* A descriptor, to be closed with event_close. Close-on-exec: by PERF_FLAG_FD_CLOEXEC from its birth on; without
     * that flag (Linux 3.13) a child that another thread starts in between inherits it. */
    int (*event_open)(void *ctx, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
    void (*event_close)(void *ctx, int fd);
    int (*event_id)(void *ctx, int fd, uint64_t *id);               /* PERF_EVENT_IOC_ID */
    int (*event_enable)(void *ctx, int fd);                         /* PERF_EVENT_IOC_ENABLE */
    int (*event_disable)(void *ctx, int fd);                        /* PERF_EVENT_IOC_DISABLE */
    int (*event_set_output)(void *ctx, int fd, int ring_fd);        /* PERF_EVENT_IOC_SET_OUTPUT */
    int (*event_set_filter)(void *ctx, int fd, const char *filter); /* PERF_EVENT_IOC_SET_FILTER */
    /* How many BPF programs there are on the event's tracepoint, whoever has attached them: PERF_EVENT_IOC_QUERY_BPF.
     * -EINVAL: it is of no tracepoint; -EPERM: without CAP_PERFMON nobody is told. */
    int (*event_programs)(void *ctx, int fd, unsigned *count);
    /* id: of the event behind fd, which picks it out of its group with PERF_FORMAT_GROUP; else not looked at. */
    int (*event_read)(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count);
    /* Maps one control page and data_bytes (a power of two of pages) of ring, readable and writable, shared. */
    int (*ring_map)(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page);
    /* The same, readable only: the kernel then overwrites the oldest records, of events with attr.write_backward. */
    int (*ring_map_newest)(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page);
    int (*ring_pause)(void *ctx, int fd, bool paused); /* PERF_EVENT_IOC_PAUSE_OUTPUT */
    void (*ring_unmap)(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes);
    /* Maps the AUX area that the control page of the event's ring describes (aux_offset, aux_size), which fd outputs
     * to. writable: the kernel stops where aux_tail stands; else it overwrites the oldest. -EOPNOTSUPP: its PMU has
     * none. */
    int (*aux_map)(void *ctx, int fd, uint64_t offset, size_t bytes, bool writable, void **area);
    void (*aux_unmap)(void *ctx, void *area, size_t bytes);
    int (*poll)(void *ctx, struct pollfd *fds, nfds_t count, int timeout_ms);
};

struct weir_kernel {
    const struct weir_kernel_ops *ops;
    void *ctx; /* borrowed; passed to every call */
};

/* Linux itself. */
extern const struct weir_kernel weir_kernel_linux;

#endif
