/*
 * `weir unwind`: a recording whose samples hold copied user stacks becomes one whose samples hold call chains.
 *
 * The recording is read twice, as by a report: first all side records, then everything, which goes to the output in
 * the same order. Samples are unwound (unwind/unwinder.h) with the mappings as of their times. Attrs and EVENT_DESC
 * change with them; all other records and features stay, but those of compression. The calling thread blocks.
 */
#ifndef WEIR_REPORT_UNWINDING_H
#define WEIR_REPORT_UNWINDING_H

#include "base/error.h"
#include "format/perf_input.h"
#include "report/objects.h"
#include "unwind/unwound_sample.h"

struct weir_unwinding_options {
    const char *path;  /* borrowed, as all pointers here; a file */
    const char *shown; /* the recording's name as the user gave it */
    struct weir_object_places places;
    const struct weir_input_gate *gate; /* NULL: none */
};

struct weir_unwinding_result {
    uint64_t records, samples; /* of the output */
    struct weir_unwound_counts counts;
    uint64_t left_out; /* samples that are malformed, or of no event */
    uint64_t read_bytes, written_bytes;
    struct weir_error damage; /* where the input ends early; code 0: nowhere */
};

/*
 * Writes the new recording to fd, a regular file without contents. 0; or with err: -ENODATA (no event has user
 * stacks), -ENOTSUP (a directory, a recording with AUX areas, an unfinished one, another machine), -EINVAL (fd is no
 * regular file), the errors of weir_perf_input_open(), -ENOMEM, or -errno of reading and writing.
 */
int weir_unwinding_run(const struct weir_unwinding_options *options, int fd, struct weir_unwinding_result *result,
                       struct weir_error *err);

#endif
