/*
 * Why the kernel refused an event or a ring, in words: one line, and one hint that names the knob, its value now and
 * the command. Main thread; no allocation, no system call.
 */
#ifndef WEIR_ENGINE_EVENTS_OPEN_ERROR_H
#define WEIR_ENGINE_EVENTS_OPEN_ERROR_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/kernel/event_place.h"
#include "engine/kernel/kernel_limits.h"

/* One call of perf_event_open(2) that failed. */
struct weir_open_attempt {
    const char *name;                   /* of the event; borrowed */
    const struct perf_event_attr *attr; /* as it was tried; borrowed */
    pid_t pid;                          /* -1: all tasks */
    int cpu;                            /* -1: any CPU */
    uint64_t fds_needed;                /* descriptors that all events need; 0: not known */
    bool has_aux;                       /* it is of a PMU that traces (engine/events/aux_events.h) */
    bool is_refused_in_group;           /* by its leader's group: alone it can be opened */
};

/* Fills err and returns code, which is the -errno of perf_event_open(2). */
int weir_open_error_explain(struct weir_error *err, int code, const struct weir_open_attempt *attempt,
                            const struct weir_kernel_limits *limits);

/* Fills err and returns code, which is the -errno of mmap(2) of a ring of that place. sizes: of its two rings;
 * ring_bytes: of the one that failed. */
int weir_ring_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                                uint64_t ring_bytes, const struct weir_ring_sizes *sizes,
                                const struct weir_kernel_limits *limits);

/* The same of the AUX area beside the data ring of that place, with sizes->aux_bytes. */
int weir_aux_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                               const struct weir_ring_sizes *sizes, const struct weir_kernel_limits *limits);

/* Hints at the limit behind an -EMFILE of anything that a recording opens: what it is, and that `needed` is needed. */
void weir_open_error_hint_files(struct weir_error *err, uint64_t needed, const struct weir_kernel_limits *limits);

#endif
