/*
 * Inside of an output; for io/ and its tests. The story is told in output.c.
 */
#ifndef WEIR_IO_OUTPUT_INTERNAL_H
#define WEIR_IO_OUTPUT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "io/io_ops.h"
#include "io/output.h"
#include "io/output_file_internal.h"

#define WEIR_OUTPUT_SPAN_MAX    1024u         /* spans appended and not reaped; a power of two */
#define WEIR_OUTPUT_STAGE_COUNT 4u            /* staging buffers */
#define WEIR_OUTPUT_STAGE_BYTES (256u * 1024) /* each */
#define WEIR_OUTPUT_COPY_BYTES  (64u * 1024)  /* shorter spans are copied */

struct weir_output_span {
    void *token;
    uint64_t end; /* file offset behind its last byte, without padding */
    int result;
};

enum weir_output_write_state {
    WEIR_OUTPUT_WRITE_QUEUED, /* not given to the queue yet */
    WEIR_OUTPUT_WRITE_HELD,   /* the kernel's */
    WEIR_OUTPUT_WRITE_DONE,
};

/* One write of the file, in the order of file offsets. */
struct weir_output_write {
    struct weir_output *output; /* borrowed: the tag of the completion leads here */
    const uint8_t *data;
    uint64_t offset; /* of its first byte in the file */
    uint64_t bytes;
    uint64_t valid;   /* bytes that are not the zeros behind a pushed tail */
    uint64_t written; /* bytes of it on file */
    int buffer_index;
    int stage;     /* staging buffer to be freed, -1: none */
    bool rewrites; /* begins in a block of the write before it: must wait for that one */
    bool buffered; /* through the page cache even when there is O_DIRECT */
    unsigned retries;
    enum weir_output_write_state state;
};

struct weir_output_stage { /* a staging buffer that is being filled */
    int index;             /* -1: none yet */
    uint64_t offset;       /* file offset of its first byte; a multiple of the block when aligned */
    uint64_t filled;       /* bytes */
    uint64_t pushed;       /* bytes of it that an earlier write has already brought to the file */
};

struct weir_output {
    struct weir_output_file file;
    int direct_fd; /* owned; -1: none */
    const struct weir_io_file_ops *file_ops;
    const struct weir_io_queue_ops *queue_ops;
    void *io_ctx;
    void *queue; /* owned */
    void (*fill_padding)(void *data, size_t bytes);
    unsigned depth;
    bool aligned;      /* offsets and lengths of writes are multiples of the block: O_DIRECT was to be had */
    bool direct_works; /* no direct write was refused */
    bool preallocates;
    bool finished;

    uint64_t head_bytes;
    uint64_t end;         /* file offset where the next span goes */
    uint64_t allocated;   /* file offset up to which space was asked for */
    uint64_t written_end; /* file offset up to which everything is on file */
    uint64_t stable_end;  /* file offset behind the last span that is on file */
    int error;

    struct weir_output_span spans[WEIR_OUTPUT_SPAN_MAX];
    uint64_t span_appended, span_completed, span_reaped; /* free running */

    struct weir_output_write *writes; /* owned; write_max entries, a power of two */
    unsigned write_max;
    uint64_t write_added, write_submitted, write_finished; /* free running; finished: all before it are done */
    unsigned held;

    uint8_t *stage_memory; /* owned */
    bool stage_busy[WEIR_OUTPUT_STAGE_COUNT];
    struct weir_output_stage stage;

    struct weir_output_stats stats;
    char description[128];
};

#endif
