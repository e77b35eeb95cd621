/* Records of untrusted bytes by type: what a step of the stage must neither lose nor make. */
#ifndef WEIR_TESTS_FUZZ_RECORD_COUNTS_H
#define WEIR_TESTS_FUZZ_RECORD_COUNTS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_COUNTS_EXACT 32u /* types below it are counted one by one, others by what is left of them modulo it */

struct record_counts {
    uint64_t of[2 * RECORD_COUNTS_EXACT];
};

/* Counts the whole records at the beginning, and returns their bytes. */
static inline uint32_t record_counts_add(struct record_counts *counts, const uint8_t *data, size_t bytes)
{
    struct perf_event_header header;
    uint32_t at = 0;
    for (; bytes - at >= sizeof(header); at += header.size) {
        memcpy(&header, data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > bytes - at)
            break;
        counts->of[header.type < RECORD_COUNTS_EXACT ? header.type
                                                     : RECORD_COUNTS_EXACT + header.type % RECORD_COUNTS_EXACT]++;
    }
    return at;
}

#endif
