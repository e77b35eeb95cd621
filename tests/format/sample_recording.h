/*
 * A tiny finished recording: head, a handful of records, features. What the test knows of it is listed here, so that
 * it can say exactly what a consumer has to print.
 *
 * One process, 4242 "weirtest", with one map. cpu-clock sampled it at 1.000001000 s on CPU 0 and at 1.000003000 s on
 * CPU 1; sched:sched_switch from it to "other" (4343) at 1.000002000 s on CPU 1. Between the records stands one of
 * padding, behind the second and the last sample a FINISHED_ROUND.
 */
#ifndef WEIR_TESTS_FORMAT_SAMPLE_RECORDING_H
#define WEIR_TESTS_FORMAT_SAMPLE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "tests/format/temp_tree.h"

struct sample_recording_options {
    bool tracepoint;       /* also the tracepoint and its sample */
    bool features;         /* false: no feature bits and nothing behind the data, as after a kill */
    bool of_day;           /* -k realtime */
    bool early;            /* the head holds a copy of the features (format/early_features.h) */
    bool stream;           /* a stream, with all of its features, and build id 0102..14 for the map at the end */
    uint64_t lost;         /* of cpu-clock: a LOST record; 0: none */
    uint64_t lost_samples; /* of cpu-clock: a LOST_SAMPLES record at the end; 0: none */
};

/* Appends the file's bytes. tree: gets a fixture tracefs below "tracing". */
void sample_recording_build(struct weir_buf *out, const struct temp_tree *tree,
                            const struct sample_recording_options *options);

#endif
