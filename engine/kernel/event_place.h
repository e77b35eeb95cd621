/*
 * Where the records of a recording arise, and so where it has a data ring and a sideband ring: a CPU, or with
 * --per-thread a task. What is counted, drained and lost is told by place.
 */
#ifndef WEIR_ENGINE_KERNEL_EVENT_PLACE_H
#define WEIR_ENGINE_KERNEL_EVENT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct weir_event_place {
    int cpu;    /* number of the CPU; -1: wherever the task runs */
    pid_t task; /* the only task that is recorded here; -1: all targets are, on this CPU */
    bool late;  /* a CPU that was offline at the start: it has no ring until it comes, and of all tasks no event */
};

#endif
