/*
 * Which branches a branch stack holds: the argument of -j and of the term branch_type=. Any thread; no allocation.
 *
 * Grammar: names with commas between them, in any case. Source: perf-record(1) on --branch-filter; enum
 * perf_branch_sample_type, include/uapi/linux/perf_event.h.
 */
#ifndef WEIR_ENGINE_EVENTS_BRANCH_FILTER_H
#define WEIR_ENGINE_EVENTS_BRANCH_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Turns text into PERF_SAMPLE_BRANCH_* bits, at least one. Where text has only u, k or hv, and no kind of branch, every
 * kind is meant. 0; or -EINVAL with err (the hint names the nearest word), and *filter is unchanged.
 */
int weir_branch_filter_parse(const char *text, uint64_t *filter, struct weir_error *err);

/* Returns the word of that number, for completions; NULL behind the last one. */
const char *weir_branch_filter_word(size_t index);

#endif
