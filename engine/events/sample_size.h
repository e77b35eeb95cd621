/*
 * How long samples are at least, for the question whether a ring can hold any. Pure; any thread.
 * Source: the layout of PERF_RECORD_SAMPLE, include/uapi/linux/perf_event.h; perf_sample_ustack_size() and
 * perf_prepare_sample(), kernel/events/core.c; __perf_output_begin(), kernel/events/ring_buffer.c, Linux 6.12.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_SIZE_H
#define WEIR_ENGINE_EVENTS_SAMPLE_SIZE_H

#include <stdint.h>

#include "base/error.h"
#include "engine/events/event_list.h"

/* Bytes that every sample of a user task has: what varies (call chains, raw data, branches) is counted as empty, copies
 * of the user stack, which the kernel pads, and of an AUX area, which it does not cut where nothing was written, as
 * full. At most WEIR_RECORD_MAX_BYTES. */
uint64_t weir_sample_bytes_least(const struct perf_event_attr *attr);

/*
 * Whether rings of that size can take samples of each event, with a LOST record before them as the kernel wants it
 * once anything was lost. 0, or -EINVAL with err: which event cannot, and the hint has the size that can.
 */
int weir_sample_check_ring(const struct weir_event_list *list, uint64_t ring_bytes, struct weir_error *err);

#endif
