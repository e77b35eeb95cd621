/*
 * The least size of samples, and whether a ring can hold one. Any thread; no allocation.
 * Source: the layout of PERF_RECORD_SAMPLE, include/uapi/linux/perf_event.h; perf_sample_ustack_size() and
 * perf_prepare_sample(), kernel/events/core.c; __perf_output_begin(), kernel/events/ring_buffer.c, Linux 6.12.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_SIZE_H
#define WEIR_ENGINE_EVENTS_SAMPLE_SIZE_H

#include <stdint.h>

#include "base/error.h"
#include "engine/events/event_list.h"

/* The least bytes of a sample of a user task, at most WEIR_RECORD_MAX_BYTES. Parts that vary (call chains, raw data,
 * branches) count as empty. Copies of the user stack and of an AUX area count as
 * full: the kernel makes room for all of them, used or not. */
uint64_t weir_sample_bytes_least(const struct perf_event_attr *attr);

/*
 * Checks that a ring of that size can take a sample of each event. After a loss the kernel writes a LOST record before
 * the sample, for which there must be room as well. 0; or -EINVAL with err: it names an event whose samples do not fit,
 * and the hint has a size that fits.
 */
int weir_sample_check_ring(const struct weir_event_list *list, uint64_t ring_bytes, struct weir_error *err);

#endif
