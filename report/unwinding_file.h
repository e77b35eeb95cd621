/*
 * The file that `weir unwind` writes: head, records as they come, features. Nothing is written twice but the head,
 * whose size and features are known last. One thread; writes block, in blocks of 1 MiB.
 */
#ifndef WEIR_REPORT_UNWINDING_FILE_H
#define WEIR_REPORT_UNWINDING_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/event_desc.h"
#include "format/perf_input.h"

struct weir_unwinding_file {
    int fd;                         /* borrowed */
    struct weir_event_desc *events; /* owned; names and ids are borrowed from the input */
    size_t event_count;
    struct weir_buf block;     /* owned; not written yet */
    struct weir_buf build_ids; /* owned; BUILD_ID records of a stream, which the caller appends */
    uint64_t head_bytes, data_bytes;
};

/* Writes the first head. input: its events are complete; borrowed until end(). 0, -ENOMEM or -errno of write(2).
 * Release with weir_unwinding_file_fini() in any case. */
int weir_unwinding_file_begin(struct weir_unwinding_file *file, int fd, const struct weir_perf_input *input);

/* Appends a record. 0, -ENOMEM or -errno of write(2). */
int weir_unwinding_file_append(struct weir_unwinding_file *file, const uint8_t *record, size_t bytes);

/* Writes the features, which are those of input, and the final head. Results as for begin(). */
int weir_unwinding_file_end(struct weir_unwinding_file *file, const struct weir_perf_input *input);

void weir_unwinding_file_fini(struct weir_unwinding_file *file);

#endif
