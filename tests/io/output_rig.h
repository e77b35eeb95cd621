/*
 * One output on the disk in memory, driven by chance, with everything that output.h promises checked after each step.
 * Broken promises end the test with the seed. Criterion tests only; one thread.
 */
#ifndef WEIR_TESTS_IO_OUTPUT_RIG_H
#define WEIR_TESTS_IO_OUTPUT_RIG_H

#include "io/output.h"
#include "tests/io/fake_io.h"

#define OUTPUT_RIG_SPAN_MAX   2048u /* per run */
#define OUTPUT_RIG_HEAD_BYTES 4096u
#define OUTPUT_RIG_TAIL_BYTES 1000u

struct output_rig_profile {
    struct fake_io_options disk; /* seed included */
    enum weir_output_direct direct;
    unsigned queue_depth;
    size_t stage_bytes;        /* 0: the default */
    unsigned late_count;       /* of the four buffers that large spans lie in */
    unsigned steps;            /* each an append (mostly), push_tail, flush, reap or patch_head */
    unsigned large_per_mille;  /* spans of up to 1 MiB */
    unsigned middle_per_mille; /* spans around the size up to which they are copied; all others are small */
    bool never_reaps;          /* until finish */
    bool wholes;               /* some spans are parts of wholes of one to five; the last may never be ended */
};

/* What came out, after all of it was found to be as promised. */
struct output_rig_result {
    int open;       /* of weir_output_open() and weir_output_write_head(); nothing below is set when negative */
    int error;      /* weir_output_error() at the end */
    int finish;     /* of weir_output_finish() */
    unsigned spans; /* appended */
    unsigned whole; /* of those, completed with 0 */
    uint64_t stable_bytes;
    struct weir_output_stats stats;
    uint64_t calls[FAKE_IO_CALL_COUNT]; /* that the disk was asked for, by kind */
};

struct output_rig_result output_rig_run(const struct output_rig_profile *profile);

#endif
