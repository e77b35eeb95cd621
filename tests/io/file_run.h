/*
 * Spans of all kinds through an output into a real file, and the proof that the file holds them byte for byte.
 *
 * Failures are Criterion assertions. One thread.
 */
#ifndef WEIR_TESTS_IO_FILE_RUN_H
#define WEIR_TESTS_IO_FILE_RUN_H

#include <stdint.h>

#include "io/output.h"

#define FILE_RUN_SPANS      400u
#define FILE_RUN_HEAD_BYTES 8192u
#define FILE_RUN_TAIL_BYTES 5000u

struct file_run_options {
    enum weir_output_engine engine;
    enum weir_output_direct direct;
    bool pressed_at_times;
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
};

struct file_run_result {
    int error;      /* of the output; 0: all spans are on file */
    int finish;     /* of weir_output_finish() */
    unsigned whole; /* spans on file */
    char how[128];  /* weir_output_describe() at the end */
    uint64_t file_bytes;
    struct weir_output_stats stats;
};

/*
 * Writes FILE_RUN_SPANS spans (about 30 MB) to a new file at path, publishes it, finishes it with a tail, and compares
 * it: head, the spans that were reported to be on file with padding between, the tail if finish succeeded, and no more.
 */
struct file_run_result file_run(const char *path, const struct file_run_options *options);

#endif
