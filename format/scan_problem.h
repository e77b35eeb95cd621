/* A kind of contradiction in a recording: its number, and the place of the first. Pure; one thread. */
#ifndef WEIR_FORMAT_SCAN_PROBLEM_H
#define WEIR_FORMAT_SCAN_PROBLEM_H

#include <stdint.h>

struct weir_scan_problem {
    uint64_t count;
    uint64_t first_offset; /* offset in its file */
};

static inline void weir_scan_problem_note(struct weir_scan_problem *problem, uint64_t offset)
{
    if (problem->count++ == 0)
        problem->first_offset = offset;
}

#endif
