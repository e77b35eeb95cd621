/*
 * The second pass over a recording parses and folds every sample. The calling thread reads. As many threads as there
 * are CPUs parse, resolve and fold, each into a fold of its own; the caller merges the folds at the end.
 *
 * Batches of samples go to the threads and come back empty through one queue with a lock. A batch holds 1 MiB, so a
 * thread takes the lock about once in ten thousand samples. Memory: two batches per thread and the bounds of the folds;
 * for copied user stacks also 8 MiB per thread, and WEIR_COPIED_STACKS_TABLES_BYTES.
 */
#ifndef WEIR_REPORT_SAMPLING_H
#define WEIR_REPORT_SAMPLING_H

#include "base/error.h"
#include "format/perf_input.h"
#include "report/copied_stacks.h"
#include "report/fold.h"
#include "report/survey.h"

struct weir_sampling_result {
    uint64_t samples;                  /* folded */
    uint64_t malformed;                /* a field lies outside of the record: not folded */
    uint64_t unknown;                  /* of no event in the header: not folded */
    struct weir_unwound_counts stacks; /* copied user stacks */
};

/*
 * Reads all of input, the recording that was surveyed, opened a second time, up to the same damage. threads: 0 for as
 * many as there are CPUs. fold: to be initialized; release it with weir_fold_fini() in any case. 0; -ENOMEM, or -errno
 * of reading or of starting a thread, with err.
 */
int weir_sampling_run(struct weir_fold *fold, struct weir_sampling_result *result, struct weir_survey *survey,
                      struct weir_perf_input *input, unsigned threads, struct weir_error *err);

#endif
