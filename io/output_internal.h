/*
 * The inside of an output, for io/ and its tests. Its parts, each of which knows only the parts above it in this list:
 *
 *     output_writes.c   the writes of the file: submitted, retried, retired in order
 *     output_append.c   the spans: staged or in place, completed in order
 *     output_reserve.c  room for the end of the file
 *     output_kept.c     whether the file still holds its bytes
 *     output.c          open, head, finish, close
 */
#ifndef WEIR_IO_OUTPUT_INTERNAL_H
#define WEIR_IO_OUTPUT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/io_ops.h"
#include "io/output.h"
#include "io/output_file_internal.h"

#define WEIR_OUTPUT_BLOCK_BYTES ((uint64_t)WEIR_OUTPUT_ALIGN_BYTES)
#define WEIR_OUTPUT_SPAN_MAX    1024u         /* spans appended and not reaped; a power of two */
#define WEIR_OUTPUT_STAGE_COUNT 4u            /* staging buffers */
#define WEIR_OUTPUT_STAGE_BYTES (256u * 1024) /* each, unless the options want less */
#define WEIR_OUTPUT_STAGE_LEAST (16u * 1024)
#define WEIR_OUTPUT_COPY_SHARE  4u /* of a stage: shorter spans are copied */

/* ---- output_writes.c ---- */

enum weir_output_write_state {
    WEIR_OUTPUT_WRITE_QUEUED, /* not with the queue: new, or to be submitted again */
    WEIR_OUTPUT_WRITE_HELD,   /* the queue's, data belongs to the kernel */
    WEIR_OUTPUT_WRITE_OVER,   /* on file whole, or given up */
};

/* One write. It begins in the file where the write before it ends. */
struct weir_output_write {
    const uint8_t *data; /* borrowed until over */
    uint64_t offset;     /* of its first byte in the file */
    size_t bytes;
    int buffer_index; /* registered buffer that holds data, -1: none */
    bool direct;      /* O_DIRECT is wanted; address, offset and length are multiples of the block */
    bool staged;      /* data is a staging buffer, free again when the write is retired */

    uint64_t number; /* from here on set by weir_output_writes_add() and after */
    size_t written;  /* bytes on file */
    unsigned retries;
    enum weir_io_file file; /* of the last submission */
    enum weir_output_write_state state;
};

struct weir_output_writes {
    const struct weir_io_file_ops *file_ops;
    const struct weir_io_queue_ops *queue_ops;
    void *ctx;                   /* of file_ops; borrowed */
    void *queue;                 /* owned; NULL after it failed itself */
    int fds[WEIR_IO_FILE_COUNT]; /* borrowed */
    unsigned depth;

    struct weir_output_write *ring; /* owned; ring_size entries, a power of two */
    unsigned ring_size;
    uint64_t added, retired; /* free running: writes [retired, added) are in the ring */
    unsigned queued, held;   /* writes in the ring, by state */
    uint64_t stages_retired; /* staged writes retired so far */

    uint64_t written_end; /* file offset up to which everything is on file */
    uint64_t failed_from; /* number of the first write that failed; UINT64_MAX: none */
    int error;            /* of that write */

    bool syncing;    /* an fdatasync is with the queue; the address of this field is its tag */
    int sync_result; /* of the last fdatasync that completed: 0, -EAGAIN (unknown) or another -errno */

    bool waits_for_space; /* want of room is no failure */
    bool full;            /* a write found no room, and no write has found any since */
    bool held_back;       /* nothing is submitted until try_again() */

    bool direct;             /* O_DIRECT works as far as is known */
    bool preallocates;       /* fallocate(2) works as far as is known */
    uint64_t allocated_end;  /* file offset up to which space was asked for */
    uint64_t allocate_bytes; /* so many more are asked for next */
    struct weir_output_stats stats;
};

/* Takes file_ops, queue_ops, ctx, queue, fds, depth and direct as set by the caller. 0 or -ENOMEM. */
int weir_output_writes_init(struct weir_output_writes *writes);

/* Waits until the kernel holds nothing, closes the queue (NULL: never opened). */
void weir_output_writes_fini(struct weir_output_writes *writes);

/* Writes that may still be added. */
unsigned weir_output_writes_room(const struct weir_output_writes *writes);

/* Adds a write behind all others; no system call. Needs room and no error. */
void weir_output_writes_add(struct weir_output_writes *writes, const struct weir_output_write *write);

/* True when the queue does not have the newest write, and no byte of the write is on file: its data may still change.
 */
bool weir_output_writes_newest_is_new(const struct weir_output_writes *writes);

/* Submits an fdatasync(2) of fd, see weir_output_begin_sync(). One at a time; no system call. 0, -EBUSY or the error.
 * If it fails later, all writes that are not over fail. */
int weir_output_writes_sync(struct weir_output_writes *writes, int fd);

/* True when no write is in the ring and no fdatasync on its way: the kernel holds none of our memory. */
bool weir_output_writes_idle(const struct weir_output_writes *writes);

/* Makes the kernel start as many writes as may be in flight. 0 or -errno when the queue itself failed. */
int weir_output_writes_flush(struct weir_output_writes *writes);

/* Takes completions, waiting up to wait_ms for the first, submits writes again where needed, and moves written_end. */
void weir_output_writes_collect(struct weir_output_writes *writes, unsigned wait_ms);

/*
 * Call after a write has failed for lack of room, with nothing in flight. Cuts the file behind written_end, which frees
 * the room of later writes. Then writes as much of the failed write and of the later writes as there is room for, and
 * moves written_end. The data of these writes must still be there. Synchronous, through the page cache.
 */
void weir_output_writes_fill(struct weir_output_writes *writes);

/* Fails all writes by that error and closes the queue. Only where the kernel holds none of our memory (the queue of a
 * stream), or the queue itself has failed. */
void weir_output_writes_abandon(struct weir_output_writes *writes, int error);

/* Fills in the counts of the writes; the other fields become 0. */
void weir_output_writes_get_stats(const struct weir_output_writes *writes, struct weir_output_stats *stats);

/* ---- output_append.c ---- */

struct weir_output_span {
    void *token;  /* the caller's */
    uint64_t end; /* file offset behind its last byte, padding not included; UINT64_MAX: will never be on file */
    size_t bytes;
    bool goes_on; /* the span is part of a whole, and not its last one */
};

/* The staging buffer that is being filled. */
struct weir_output_stage {
    bool open;
    uint8_t *data;   /* borrowed from stage_memory */
    uint64_t offset; /* in the file, of data[0] */
    size_t used;     /* bytes */
};

/* The padding behind the newest write. */
struct weir_output_slack {
    uint8_t *data; /* lent with the span before it */
    size_t bytes;  /* 0: there is none */
};

struct weir_output {
    struct weir_output_file file;
    int direct_fd;  /* owned; -1: none */
    int reserve_fd; /* owned; the room set aside; -1: none */
    struct weir_output_writes writes;
    void (*fill_padding)(void *data, size_t bytes);
    size_t padding_least;        /* bytes: 8 or more */
    const struct iovec *buffers; /* borrowed from the options */
    unsigned buffer_count;
    unsigned late_count;

    size_t stream_piece; /* streams: see struct weir_io_queue_config */
    void *stream_head;   /* owned; a copy of a stream's head, which is written like the data behind it */
    bool begun;          /* write_head() was called */
    uint64_t head_bytes;
    uint64_t end;               /* file offset where the next span goes */
    uint64_t stable_end;        /* file offset behind the last span on file that is no part of a whole, or ends one */
    bool filled;                /* after a failure: what still found room was written */
    uint64_t begun_at;          /* file offset of the failed span that is in the file in part; read by keep() */
    size_t begun_bytes;         /* of this span in the file; 0: there is none */
    uint64_t tail_least;        /* bytes that the tail needs, by set_aside() */
    uint64_t tail_least_beyond; /* of these, bytes that could not be set aside */
    bool in_whole;              /* between begin_whole() and end_whole() */
    bool whole_begun;           /* a span of a whole was appended, and its last one was not */
    bool finished;
    bool keeps_zeros;    /* by note_file_system(): blocks of zeros never become holes */
    bool looked_named;   /* a look has found the file with a name */
    bool told_taken;     /* a look has found it removed or cut */
    uint64_t looked_end; /* stable_end at the last look */

    struct weir_output_span spans[WEIR_OUTPUT_SPAN_MAX];
    uint64_t span_added, span_on_file, span_reaped; /* free running */

    uint8_t *stage_memory;  /* owned; STAGE_COUNT buffers one behind the other */
    size_t stage_bytes;     /* of each */
    size_t copy_bytes;      /* shorter spans are copied */
    int stage_buffer_index; /* index of stage_memory among registered buffers, -1: none */
    uint64_t stages_opened; /* free running: the n-th one opened is buffer n % STAGE_COUNT */
    struct weir_output_stage stage;
    struct weir_output_slack slack;
    struct {
        uint64_t appended_bytes, padding_bytes, copied_bytes;
    } stats;

    char direct_text[96], buffered_text[96]; /* for weir_output_describe() */
};

/* ---- output_reserve.c ---- */

/* Frees the room that was set aside. False: there is none. */
bool weir_output_give_back(struct weir_output *output);

/* ---- output_kept.c ---- */

/* Asks the file's file system, once for all looks. */
void weir_output_note_file_system(struct weir_output *output);

/* ---- output.c ---- */

/* Whether that -errno means that the file cannot grow here: want of room, or RLIMIT_FSIZE and its kin. */
bool weir_output_cannot_grow(int result);

/* Moves span_on_file and stable_end over the spans that are on file by now. */
void weir_output_pass_written_spans(struct weir_output *output);

#endif
