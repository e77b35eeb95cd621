/*
 * A recording with two AUX areas, made with weir's own writers: branches of the PMU intel_bts, which perf decodes on
 * any machine. What the test knows of it is listed here, so that it can say exactly what a consumer has to print.
 *
 * Tasks 4242 and 4243 of process 4242 "weirtest" have an area each. The first one's bytes come in two stretches of 150
 * and 100 branches, the second one's in one of 120; each stretch has its AUX record, and ends with an entry of zeros,
 * which is no branch: perf does not look at the last entry of a stretch (intel_bts_process_buffer()). Behind each
 * stands a round, in a stream behind the last one only: perf has no index there, and gives up an area whose bytes were
 * all decoded when a round came (intel_bts_process_queue()). Branch i of all goes from instruction i modulo
 * AUX_RECORDING_CODE_BYTES of some code to AUX_RECORDING_TARGET + i; the code is in the running program's file.
 */
#ifndef WEIR_TESTS_FORMAT_AUX_RECORDING_H
#define WEIR_TESTS_FORMAT_AUX_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/aux_records.h"

#define AUX_RECORDING_STRETCHES   3u
#define AUX_RECORDING_BRANCHES    (150u + 100u + 120u)
#define AUX_RECORDING_CODE        0x400000ull /* address of the first instruction */
#define AUX_RECORDING_CODE_BYTES  64u         /* instructions of a byte each: all return */
#define AUX_RECORDING_TARGET      0x500000ull
#define AUX_RECORDING_PMU         77u /* type of the PMU; its config is 0 */
#define AUX_RECORDING_ENTRY_BYTES 24u /* of a branch */

struct aux_recording_options {
    bool features;  /* false: no feature bits and nothing behind the data, as after a kill */
    bool stream;    /* a stream; no features at its end */
    bool truncated; /* so says the last AUX record */
    bool snapshot;  /* so say AUXTRACE_INFO and AUX records */
};

struct aux_recording { /* what was made */
    struct weir_buf bytes;
    uint64_t data_offset, data_end;
    struct weir_aux_index_entry index[AUX_RECORDING_STRETCHES]; /* of a file */
    uint64_t payload_bytes[AUX_RECORDING_STRETCHES];            /* behind each of these */
    uint64_t records;                                           /* of the data */
};

/* To be freed with aux_recording_fini(). Failures are Criterion assertions. */
void aux_recording_build(struct aux_recording *recording, const struct aux_recording_options *options);
void aux_recording_fini(struct aux_recording *recording);

/* The task and the addresses of branch i. */
struct aux_branch {
    unsigned task;
    uint64_t from, to;
};
struct aux_branch aux_recording_branch(unsigned i);

#endif
