/*
 * A disk in memory, behind the functions of io/io_ops.h, that does what disks do on a bad day: completes writes late,
 * in any order and in part, refuses some for the moment, runs full, fails for good. All by a seed.
 *
 * It also holds its caller to the rules, and aborts with the seed when one is broken: at most `depth` writes in flight;
 * no two of them in the same bytes, nor one of them direct and in the same block as another; direct writes on blocks,
 * in the file, in memory and in length; registered buffers that hold what is written from them; data unchanged until
 * its completion; space allocated ahead never behind a write in flight that has none; every descriptor closed once.
 *
 * No Criterion here: race programs use it too. All on the thread that owns the output, but for fake_io_stall().
 */
#ifndef WEIR_TESTS_IO_FAKE_IO_H
#define WEIR_TESTS_IO_FAKE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/io_ops.h"

/* What can be made to fail. Calls are counted from 1, each kind for itself. */
enum fake_io_call {
    FAKE_IO_WRITE,   /* writes taken by the queue; the completion carries the error */
    FAKE_IO_PWRITEV, /* the synchronous ones: the head; with pwritev_queue all */
    FAKE_IO_OPEN_DIRECT,
    FAKE_IO_FALLOCATE,
    FAKE_IO_FTRUNCATE,
    FAKE_IO_FSYNC,
    FAKE_IO_FDATASYNC, /* of either queue */
    FAKE_IO_QUEUE_OPEN,
    FAKE_IO_FLUSH,
    FAKE_IO_REAP,
    FAKE_IO_CALL_COUNT,
};

struct fake_io_fault {
    uint64_t nth; /* which call fails; 0: none */
    bool sticky;  /* all after it fail too */
    int error;    /* -errno */
};

/* All zero: a disk without end that completes every write at the next reap, whole and in order. */
struct fake_io_options {
    uint64_t seed;
    bool no_direct;             /* open_direct says -EOPNOTSUPP */
    bool refuses_direct;        /* every direct write completes with -EINVAL, as file systems with larger blocks do */
    bool reorders;              /* a reap completes any number of writes, in any order */
    bool pwritev_queue;         /* the real pwritev queue over this file, instead of the queue of this fake */
    bool waits;                 /* a reap without completions sleeps for its wait_ms: for tests with threads */
    unsigned short_per_mille;   /* writes that end early, at any byte */
    unsigned refuse_per_mille;  /* writes that complete with -EINTR or -EAGAIN, submissions that get -EBUSY */
    unsigned buffers_taken_max; /* buffers that "the kernel" registers at most; more than that: none at all. 0: any */
    uint64_t space_bytes;       /* what the disk holds; behind it -ENOSPC. 0: no end */
    bool is_quota;              /* it holds more, but not for us: -EDQUOT */
    struct fake_io_fault faults[FAKE_IO_CALL_COUNT];
};

struct fake_io; /* opaque */

/* Never NULL: aborts without memory. */
struct fake_io *fake_io_new(const struct fake_io_options *options);

/* Aborts when an output has left a queue or a descriptor open. NULL is allowed. */
void fake_io_free(struct fake_io *fake);

/*
 * For weir_output_options.io. Borrowed from fake. One output at a time; its path is best /dev/null: whatever file
 * is there, it gets none of the bytes.
 */
const struct weir_io_ops *fake_io_ops(struct fake_io *fake);

/* The file as it is now. Valid until free; it outlives the output. */
const uint8_t *fake_io_bytes(const struct fake_io *fake);
uint64_t fake_io_size(const struct fake_io *fake);

/* The file as it was when the last fdatasync began that has succeeded: what the worst power cut would leave of it, but
 * for what got to the disk by itself. NULL: none has. Valid until the next one. */
const uint8_t *fake_io_durable(const struct fake_io *fake, uint64_t *bytes);

/* Calls so far, failed ones included. */
uint64_t fake_io_calls(const struct fake_io *fake, enum fake_io_call call);

/* The least file offset at which a write of the queue failed for good; UINT64_MAX: none did. */
uint64_t fake_io_failed_from(const struct fake_io *fake);

/* Changes what fails from the next call on (nth counts from the first call of all). */
void fake_io_set_fault(struct fake_io *fake, enum fake_io_call call, const struct fake_io_fault *fault);

/* While stalled no write completes, but those that were done by pwritev. Any thread. */
void fake_io_stall(struct fake_io *fake, bool stalled);

/* Uniform in [0, bound), bound > 0, from the seed's sequence; for tests that want one source of chance. */
uint64_t fake_io_random(struct fake_io *fake, uint64_t bound);

#endif
