/*
 * Reads a recording in one of three forms: a perf.data file (header, attrs, ids, features, data); the pipe form (a
 * stream, or a file to which a stream was saved); perf's directory form (DIR/data, and DIR/data.N without headers).
 *
 * Nothing here trusts a byte. The module checks every offset, size and count against the available bytes before use.
 * Memory is bounded (65536 events, 16 M ids, 64 MiB per feature). Errors name the offset. One thread; reads block,
 * opening allocates. Source: tools/perf/util/header.c of Linux 6.12 (perf_session__read_header(),
 * perf_event__process_attr() and following), docs/format.md.
 */
#ifndef WEIR_FORMAT_PERF_INPUT_H
#define WEIR_FORMAT_PERF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "format/byte_source.h"
#include "format/input_events.h"
#include "format/perf_file.h"
#include "format/record_stream.h"

#define WEIR_PIPE_HEADER_BYTES 16u /* magic and size, the whole header of a pipe */
#define WEIR_FEATURE_BITS      256u
#define WEIR_FEATURES_KNOWN    35u /* features with known contents are below this */
#define WEIR_FEATURE_MAX_BYTES (64ull << 20)

/* Hears how far the reading is: the offset of a record in its file, about each mebibyte, and the size of the file (0: a
 * stream). tell NULL: nobody wants to know. Called by the thread that reads; must not block. */
struct weir_input_progress {
    void (*tell)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
    void *ctx; /* borrowed */
};

struct weir_perf_input {
    struct weir_byte_source source; /* the file, the stream, or DIR/data */
    struct weir_byte_source part;   /* DIR/data.N while it is being read; fd -1 otherwise */
    char directory[PATH_MAX];       /* "" unless the recording is a directory */
    int *parts;                     /* owned: descriptors of DIR/data.N, N from 0 on, owned too; -1: moved to part */
    size_t part_count, part_capacity, next_part;
    bool is_pipe;
    bool is_foreign;    /* of the other byte order: what is read from it is turned (format/byte_order.h) */
    uint64_t attrs_end; /* of a file: the end of its attrs and ids */
    bool is_unfinished; /* the recorder has not finished the file: data.size is 0, or there are neither features nor an
                           end behind the data */

    bool has_early_features; /* features, or those of them that are cut off, come from the copy in the head: see
                                format/early_features.h */

    struct weir_perf_header header; /* of a pipe: magic and size only */
    uint64_t data_end;              /* end of the data in the file: data.offset + data.size, or the file's end */

    struct weir_input_events events;

    uint64_t features[4]; /* of a pipe: those read so far */
    struct weir_perf_section sections[WEIR_FEATURE_BITS];
    struct weir_error features_error;              /* code 0: the table is usable */
    struct weir_buf payloads[WEIR_FEATURES_KNOWN]; /* of a pipe */

    struct weir_record_stream stream;
    struct weir_input_progress progress;
    uint64_t progress_at; /* offset of the record with which progress is told next; UINT64_MAX: nobody wants to know */
};

/* A callback between the opening of a recording and the reading of its first byte. */
struct weir_input_gate {
    /* Called once, on the thread that opens, when every file of the recording is open: from here on weir only reads
     * them. 0; -errno with err ends the opening. */
    int (*opened)(void *ctx, struct weir_error *err);
    void *ctx; /* borrowed */
    struct weir_input_progress progress;
};

/*
 * Opens path: a file, a FIFO, a directory, or "-". Attrs and features of a pipe come with its first records. A file
 * without data.size is read up to its end (is_unfinished).
 *
 * 0, or with err, which names the offset: -EBADMSG (not a perf.data file, or damaged), -ENOTSUP (version 1, or the
 * file form in a stream), -E2BIG (more events or ids than the limits), -EINVAL (a directory with an entry that
 * is not a regular file), -errno of open(2) and read(2), -ENOMEM. After a failure *input needs no
 * weir_perf_input_close().
 */
int weir_perf_input_open(struct weir_perf_input *input, const char *path, struct weir_error *err);

/* Opens path as weir_perf_input_open() does, and calls gate (NULL: none) as soon as the descriptors are open. */
int weir_perf_input_open_gated(struct weir_perf_input *input, const char *path, const struct weir_input_gate *gate,
                               struct weir_error *err);

/* Refuses a recording of the other byte order, for who copies bytes of it that are not turned. 0, or -ENOTSUP with err.
 */
int weir_perf_input_check_order(const struct weir_perf_input *input, struct weir_error *err);

void weir_perf_input_close(struct weir_perf_input *input);

/*
 * Reads the next record of the data; of a directory, file after file. Before a record of a pipe is returned, *input has
 * the events and features that it brings. Results as weir_record_stream_next().
 */
int weir_perf_input_next(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err);

/* Reads the next record of the present file only: 0 at its end. Otherwise as weir_perf_input_next(). */
int weir_perf_input_next_here(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err);

/* Moves on to the directory's next file, also from the middle of a damaged one. 1; 0: no further file, or not a
 * directory; -errno of open(2) with err. */
int weir_perf_input_next_part(struct weir_perf_input *input, struct weir_error *err);

bool weir_perf_input_has_feature(const struct weir_perf_input *input, unsigned bit);

/* Appends a feature's payload to out. 1; 0: the recording does not have it; -EBADMSG (outside of the file), -EFBIG,
 * -ENOMEM or -errno of read(2), with err. */
int weir_perf_input_feature(const struct weir_perf_input *input, unsigned bit, struct weir_buf *out,
                            struct weir_error *err);

#endif
