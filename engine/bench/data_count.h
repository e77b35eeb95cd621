/* Counts what a perf.data file, or a directory of perf record --threads, holds. Any thread; maps the files. */
#ifndef WEIR_ENGINE_BENCH_DATA_COUNT_H
#define WEIR_ENGINE_BENCH_DATA_COUNT_H

#include <stdint.h>

struct weir_data_count {
    uint64_t bytes; /* of the data sections, as before compression */
    uint64_t samples;
    uint64_t lost_samples; /* sum of PERF_RECORD_LOST_SAMPLES: PERF_FORMAT_LOST at the end of the recording */
    uint64_t lost_records; /* sum of PERF_RECORD_LOST */
};

/* Walks the records of path (data sections of <path>/data and <path>/data.N where path is a directory).
 * 0 or -errno; -EBADMSG when a record header cannot be. */
int weir_data_count(const char *path, struct weir_data_count *count);

#endif
