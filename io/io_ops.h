/*
 * The system calls of an output, behind two structs of functions: the real calls and, in tests, a faulty disk.
 *
 * An output holds its file open twice: once through the page cache (WEIR_IO_BUFFERED) and, where the file system
 * has it, once with O_DIRECT (WEIR_IO_DIRECT).
 */
#ifndef WEIR_IO_IO_OPS_H
#define WEIR_IO_IO_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum weir_io_file { /* index into weir_io_queue_config.fds */
    WEIR_IO_BUFFERED,
    WEIR_IO_DIRECT,
    WEIR_IO_FILE_COUNT,
};

/*
 * File operations as in their man pages, returning -errno instead of errno; EINTR is passed on, except by fallocate,
 * fsync and fdatasync, which retry. Blocking; any thread.
 */
struct weir_io_file_ops {
    /* Opens the file of fd once more, with O_DIRECT. -EOPNOTSUPP where O_DIRECT gains nothing (files in memory). */
    int (*open_direct)(void *ctx, int fd);
    bool (*is_sink)(void *ctx, int fd); /* a device, that is /dev/null: nobody reads its bytes */
    ssize_t (*pwritev)(void *ctx, int fd, const struct iovec *parts, int part_count, off_t offset);
    /* copy_file_range(2); both offsets move. After any -errno the caller copies with pwritev(). */
    ssize_t (*copy_range)(void *ctx, int from, off_t *from_at, int to, off_t *to_at, size_t bytes);
    int (*fallocate)(void *ctx, int fd, off_t offset, off_t bytes); /* mode 0: the file grows */
    int (*ftruncate)(void *ctx, int fd, off_t bytes);               /* 0 for devices */
    int (*fsync)(void *ctx, int fd);                                /* 0 for devices */
    int (*fdatasync)(void *ctx, int fd);                            /* 0 for devices */
    void (*close)(void *ctx, int fd);
    /* Streams: writev(2), and poll(2) for room. wait_for_room: 1: there is room, or an error that the next write
     * returns; 0: neither within wait_ms. */
    ssize_t (*writev)(void *ctx, int fd, const struct iovec *parts, int part_count);
    int (*wait_for_room)(void *ctx, int fd, unsigned wait_ms);
};

/* One positioned write. */
struct weir_io_write {
    enum weir_io_file file;
    int buffer_index; /* registered buffer that holds data, or -1 */
    const void *data; /* the kernel's until the completion is reaped */
    size_t bytes;     /* <= WEIR_IO_WRITE_MAX_BYTES */
    uint64_t offset;  /* in the file */
    void *tag;        /* handed back */
};

#define WEIR_IO_WRITE_MAX_BYTES (1u << 30) /* below the kernel's MAX_RW_COUNT, a multiple of every block size */

struct weir_io_completion {
    void *tag;
    int64_t result; /* bytes written, perhaps fewer than submitted; or -errno */
};

struct weir_io_queue_config {
    unsigned depth;              /* writes held at most, 1..WEIR_IO_DEPTH_MAX */
    int fds[WEIR_IO_FILE_COUNT]; /* borrowed; [WEIR_IO_DIRECT] is -1 when there is none */
    const struct iovec *buffers; /* borrowed during open, the memory until close; each at most 1 GiB */
    unsigned buffer_count;       /* 0: none */
    const struct weir_io_file_ops *file;
    void *ctx;           /* of file */
    size_t stream_piece; /* streams only: bytes per call at most, with wait_for_room() before each call; 0: writev()
                          * does not block for long */
};

#define WEIR_IO_DEPTH_MAX 1024u

/* An asynchronous write queue. All functions of one queue run on one thread at a time. */
struct weir_io_queue_ops {
    const char *name; /* "io_uring", "pwritev", "stream" */
    /* Makes the queue. *registered: how many buffers the kernel took, all or 0 (no error). 0 or -errno. */
    int (*open)(void **queue, const struct weir_io_queue_config *config, unsigned *registered);
    /* Takes one write, without a system call. 0, or -EBUSY when depth writes are held. */
    int (*submit)(void *queue, const struct weir_io_write *write);
    /* Takes an fdatasync(2) of fd, borrowed for the call. It covers all writes whose completions were reaped, and
     * completes as a write does, with 0 or -errno. 0, or -EBUSY as submit. NULL: for streams. */
    int (*sync)(void *queue, int fd, void *tag);
    /* Makes the kernel start the submitted writes. 0 or -errno; EINTR, EAGAIN and EBUSY are retried within. */
    int (*flush)(void *queue);
    /* Flushes and fills done, waiting up to wait_ms for the first completion. Their number or -errno. */
    int (*reap)(void *queue, struct weir_io_completion *done, unsigned max, unsigned wait_ms);
    /* Makes all writes, present and later, complete with that error; NULL: not a stream. */
    void (*fail)(void *queue, int error);
    uint64_t (*enters)(const void *queue); /* system calls made to start writes and to wait for completions */
    void (*close)(void *queue);            /* waits until the kernel holds no buffer of ours */
};

struct weir_io_ops {
    const struct weir_io_file_ops *file;
    const struct weir_io_queue_ops *queue; /* NULL: io_uring where granted, else pwritev */
    void *ctx;                             /* passed to the file operations; borrowed */
};

extern const struct weir_io_file_ops weir_io_file_real;
extern const struct weir_io_queue_ops weir_io_queue_uring;   /* uring_queue.c */
extern const struct weir_io_queue_ops weir_io_queue_pwritev; /* pwritev_queue.c */
extern const struct weir_io_queue_ops weir_io_queue_stream;  /* stream_queue.c */

#endif
