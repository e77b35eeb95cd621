/*
 * The kernel's perf interface behind a struct of functions: the real one (ring.c) and the simulated one (sim_kernel.c).
 * Functions return 0 or a result >= 0, or the -errno of perf_event_open(2), ioctl(2), mmap(2), read(2) or poll(2).
 * event_open() retries after EINTR. Any thread.
 */
#ifndef WEIR_ENGINE_KERNEL_KERNEL_H
#define WEIR_ENGINE_KERNEL_KERNEL_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The counts of one event, by read(2). Fields that read_format does not ask for are 0. */
struct weir_event_count {
    uint64_t value;
    uint64_t time_enabled_ns;
    uint64_t time_running_ns;
    uint64_t id;
    uint64_t lost;     /* 0 from kernels before 6.0, which lack PERF_FORMAT_LOST */
    uint64_t filtered; /* rejected by the event's sample filter; not of read(2) but of the filter's program */
};

struct weir_kernel_ops {
    /* Returns a descriptor for event_close(). It is close-on-exec: from its birth with PERF_FLAG_FD_CLOEXEC. Without
     * that flag (Linux 3.13) a child that another thread starts at that moment inherits it. */
    int (*event_open)(void *ctx, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
    void (*event_close)(void *ctx, int fd);
    int (*event_id)(void *ctx, int fd, uint64_t *id);               /* PERF_EVENT_IOC_ID */
    int (*event_enable)(void *ctx, int fd);                         /* PERF_EVENT_IOC_ENABLE */
    int (*event_disable)(void *ctx, int fd);                        /* PERF_EVENT_IOC_DISABLE */
    int (*event_set_output)(void *ctx, int fd, int ring_fd);        /* PERF_EVENT_IOC_SET_OUTPUT */
    int (*event_set_filter)(void *ctx, int fd, const char *filter); /* PERF_EVENT_IOC_SET_FILTER */
    int (*event_set_program)(void *ctx, int fd, int program_fd);    /* PERF_EVENT_IOC_SET_BPF */
    /* Counts the BPF programs on the event's tracepoint, whoever attached them: PERF_EVENT_IOC_QUERY_BPF. -EINVAL: it
     * is no tracepoint; -EPERM: the caller lacks CAP_PERFMON. */
    int (*event_programs)(void *ctx, int fd, unsigned *count);
    /* id: of the event behind fd, to find its counts in those of its group; unused without PERF_FORMAT_GROUP. */
    int (*event_read)(void *ctx, int fd, uint64_t read_format, uint64_t id, struct weir_event_count *count);
    /* Maps a ring for reading and writing: one control page and data_bytes, a power of two of pages. */
    int (*ring_map)(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page);
    /* Maps a ring read-only, of an event with attr.write_backward: the kernel overwrites the oldest records. */
    int (*ring_map_newest)(void *ctx, int fd, size_t data_bytes, struct perf_event_mmap_page **page);
    int (*ring_pause)(void *ctx, int fd, bool paused); /* PERF_EVENT_IOC_PAUSE_OUTPUT */
    void (*ring_unmap)(void *ctx, struct perf_event_mmap_page *page, size_t data_bytes);
    /* Maps the AUX area of an event; the control page of its ring has aux_offset and aux_size. writable: the kernel
     * stops at aux_tail; else it overwrites the oldest bytes. -EOPNOTSUPP: the event's PMU has no AUX area. */
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
