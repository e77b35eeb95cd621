/*
 * A recording opened for reading: a perf.data file (header, attrs, ids, features, data), the pipe form (a stream, or a
 * file that a stream was saved to) or perf's directory form (DIR/data, and DIR/data.N without headers).
 *
 * Never trusts a byte: every offset, size and count is checked against what is there before it is used, memory is
 * bounded (65536 events, 16 M ids, 64 MiB per feature), and what is wrong is told with its offset. One thread; reads
 * block, opening allocates. Source: tools/perf/util/header.c of Linux 6.12 (perf_session__read_header(),
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

#define WEIR_PIPE_HEADER_BYTES 16u /* magic and size: all that a pipe begins with */
#define WEIR_FEATURE_BITS      256u
#define WEIR_FEATURES_KNOWN    32u /* features whose contents readers know are below this */
#define WEIR_FEATURE_MAX_BYTES (64ull << 20)

struct weir_perf_input {
    struct weir_byte_source source; /* the file, the stream, or DIR/data */
    struct weir_byte_source part;   /* DIR/data.N while it is read; fd -1 otherwise */
    char directory[PATH_MAX];       /* "" unless the directory form */
    int *parts;                     /* owned, as the descriptors: DIR/data.N, from 0 on; -1: went to part */
    size_t part_count, part_capacity, next_part;
    bool is_pipe;
    uint64_t attrs_end; /* of a file: behind its attrs and all that they say of ids */
    bool is_unfinished; /* the recorder never finished it: no data.size, or neither features nor an end behind the data
                         */

    bool has_early_features; /* features, or those that were cut off, are of the copy in the head: see
                              * format/early_features.h */

    struct weir_perf_header header; /* of a pipe: magic and size only */
    uint64_t data_end;              /* where the data ends in the file: data.offset + data.size, or the file's end */

    struct weir_input_events events;

    uint64_t features[4]; /* of a pipe: those that were met so far */
    struct weir_perf_section sections[WEIR_FEATURE_BITS];
    struct weir_error features_error;              /* code 0: the table can be used */
    struct weir_buf payloads[WEIR_FEATURES_KNOWN]; /* of a pipe */

    struct weir_record_stream stream;
};

/* What is to be done between the opening of the recording and the reading of its first byte. */
struct weir_input_gate {
    /* Everything that will be read is open: nothing has to be opened, nor anything but read, from here on. 0; -errno
     * with err ends the opening with it. Called once, on the thread that opens. */
    int (*opened)(void *ctx, struct weir_error *err);
    void *ctx; /* borrowed */
};

/*
 * Opens path: a file, a FIFO, a directory, or "-". A pipe's attrs and features come with its first records.
 * A file without data.size is read up to its end (is_unfinished). 0, or with err, which names the offset: -EBADMSG (no
 * perf.data, or damaged), -ENOTSUP (version 1, big endian, or a file's form in a stream), -E2BIG (more events or ids
 * than the limits), -EINVAL (a directory with what is no file), -errno of open(2) and read(2), -ENOMEM. *input needs no
 * weir_perf_input_close() then.
 */
int weir_perf_input_open(struct weir_perf_input *input, const char *path, struct weir_error *err);

/* The same with a gate (NULL: none), which is asked as soon as the descriptors are open. */
int weir_perf_input_open_gated(struct weir_perf_input *input, const char *path, const struct weir_input_gate *gate,
                               struct weir_error *err);

void weir_perf_input_close(struct weir_perf_input *input);

/*
 * The next record of the data, of a directory file after file; what records of a pipe say of events and features is
 * in *input when they are returned. Results as weir_record_stream_next().
 */
int weir_perf_input_next(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err);

/* As weir_perf_input_next(), but of the file that is being read: 0 at its end. */
int weir_perf_input_next_here(struct weir_perf_input *input, struct weir_record_view *record, struct weir_error *err);

/* Goes on to the directory's next file, also from the middle of one that is damaged. 1; 0: there is none, or this is no
 * directory; -errno of open(2) with err. */
int weir_perf_input_next_part(struct weir_perf_input *input, struct weir_error *err);

bool weir_perf_input_has_feature(const struct weir_perf_input *input, unsigned bit);

/* Appends a feature's payload to out. 1; 0: it is not there; -EBADMSG (outside of the file), -EFBIG, -ENOMEM or -errno
 * of read(2), with err. */
int weir_perf_input_feature(const struct weir_perf_input *input, unsigned bit, struct weir_buf *out,
                            struct weir_error *err);

#endif
