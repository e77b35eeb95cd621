/*
 * The clock that stamps samples: the argument of -k. Main thread, set-up; no allocation.
 *
 * Source: perf-record(1) on --clockid; clock_gettime(2); perf_event_set_clock(), kernel/events/core.c, Linux 6.12.
 */
#ifndef WEIR_ENGINE_EVENTS_SAMPLE_CLOCK_H
#define WEIR_ENGINE_EVENTS_SAMPLE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct weir_sample_clock {
    bool given;
    int32_t id; /* clockid_t */
};

/* Reads a name (monotonic, monotonic_raw, realtime, boottime, tai; mono, raw, real, boot), with or without CLOCK_, in
 * any case, or a number. 0; or -EINVAL with err (the hint names the clocks), and *id is unchanged. */
int weir_sample_clock_parse(const char *text, int32_t *id, struct weir_error *err);

/* One moment on the clock and in the time of day, for the file. */
struct weir_clock_reference {
    uint64_t resolution_ns;  /* 0: not known */
    uint64_t time_of_day_ns; /* since 1970 */
    uint64_t clock_ns; /* at the same moment, without the offset of a time namespace: the kernel stamps samples so */
};

/* Reads both clocks. 0; or -errno with err: the machine has no such clock. */
int weir_sample_clock_reference(int32_t id, struct weir_clock_reference *reference, struct weir_error *err);

/* Returns the name of that number, for completions; NULL behind the last one. */
const char *weir_sample_clock_name(size_t index);

#endif
