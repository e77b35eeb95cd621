/*
 * Why the kernel refused an event or a ring: one line, and one hint with the knob, its present value and the command.
 * Main thread; no allocation, no system call.
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

/* A failed call of perf_event_open(2). */
struct weir_open_attempt {
    const char *name;                   /* of the event; borrowed */
    const struct perf_event_attr *attr; /* as it was tried; borrowed */
    pid_t pid;                          /* -1: all tasks */
    int cpu;                            /* -1: any CPU */
    uint64_t fds_needed;                /* number of descriptors that all events need; 0: unknown */
    bool has_aux;                       /* the event's PMU traces into an AUX area */
    bool is_refused_in_group;           /* the event opens alone, but not in its group */
};

/* Fills err and returns code, the -errno of perf_event_open(2). */
int weir_open_error_explain(struct weir_error *err, int code, const struct weir_open_attempt *attempt,
                            const struct weir_kernel_limits *limits);

/* Fills err and returns code, the -errno of mmap(2) of a ring of that place. sizes: of the place's rings; ring_bytes:
 * of the ring that failed. */
int weir_ring_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                                uint64_t ring_bytes, const struct weir_ring_sizes *sizes,
                                const struct weir_kernel_limits *limits);

/* Fills err and returns code, the -errno of mmap(2) of the AUX area (sizes->aux_bytes) beside that place's data ring.
 */
int weir_aux_map_error_explain(struct weir_error *err, int code, const struct weir_event_place *place,
                               const struct weir_ring_sizes *sizes, const struct weir_kernel_limits *limits);

/* Sets the hint for -EMFILE, of any descriptor of a recording: the limit, and the number of descriptors needed. */
void weir_open_error_hint_files(struct weir_error *err, uint64_t needed, const struct weir_kernel_limits *limits);

#endif
