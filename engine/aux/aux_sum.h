/* The AUX areas of a recording in numbers, for its result. */
#ifndef WEIR_ENGINE_AUX_AUX_SUM_H
#define WEIR_ENGINE_AUX_AUX_SUM_H

#include <stdbool.h>
#include <stdint.h>

struct weir_aux_sum {
    uint64_t areas, area_bytes; /* number of areas, and size of each */
    bool kept_newest;           /* -S: only snapshots of the areas were taken */
    uint64_t failed_bytes;      /* of AUXTRACE records with their data that are in no file: by failure, or max_bytes */
    uint64_t records;           /* AUX records */
    uint64_t truncated;         /* of these, where trace is missing because the area was full */
};

#endif
