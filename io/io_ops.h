/*
 * The system calls that an output makes, behind a struct of functions: the real ones and, in tests, a faulty disk.
 */
#ifndef WEIR_IO_IO_OPS_H
#define WEIR_IO_IO_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* One positioned write, owned by the caller until its completion is reaped. */
struct weir_io_write {
    int fd;
    int buffer_index; /* registered buffer that holds data, or -1 */
    const void *data;
    size_t bytes;
    uint64_t offset;
    void *tag;
};

struct weir_io_completion {
    void *tag;
    int64_t result; /* bytes written, or -errno */
};

/*
 * An asynchronous write queue. All functions of one queue run on one thread at a time.
 * open: makes the queue; buffers may be registered (failure to register is not an error: *registered says how many).
 * submit: queues one write; returns 0, or -EBUSY when depth writes are already held.
 * flush: makes the kernel start what is queued; 0 or -errno, retrying EINTR, EAGAIN and EBUSY itself.
 * reap: returns completions, waiting up to wait_ms for the first; their number, or -errno.
 */
struct weir_io_queue_ops {
    const char *name; /* "io_uring", "pwritev" */
    int (*open)(void **queue, unsigned depth, const int *fds, unsigned fd_count, const struct iovec *buffers,
                unsigned buffer_count, unsigned *registered, void *ctx);
    int (*submit)(void *queue, const struct weir_io_write *write);
    int (*flush)(void *queue);
    int (*reap)(void *queue, struct weir_io_completion *done, unsigned max, unsigned wait_ms);
    uint64_t (*enters)(const void *queue); /* system calls made so far */
    void (*close)(void *queue);            /* waits until the kernel holds no buffer of ours */
};

/* File operations as in their man pages, returning -errno instead of errno. */
struct weir_io_file_ops {
    ssize_t (*pwrite)(void *ctx, int fd, const void *data, size_t bytes, off_t offset);
    int (*fallocate)(void *ctx, int fd, int mode, off_t offset, off_t bytes);
    int (*ftruncate)(void *ctx, int fd, off_t bytes);
    int (*fsync)(void *ctx, int fd);
};

struct weir_io_ops {
    const struct weir_io_file_ops *file;
    const struct weir_io_queue_ops *queue; /* NULL: io_uring where granted, else pwritev */
    void *ctx;                             /* passed to all; borrowed */
};

extern const struct weir_io_file_ops weir_io_file_real;
extern const struct weir_io_queue_ops weir_io_queue_uring;
extern const struct weir_io_queue_ops weir_io_queue_pwritev;

#endif
