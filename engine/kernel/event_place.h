/*
 * A place of a recording: a CPU or, with --per-thread, a task. Each place has a data ring and a sideband ring. Counts
 * and losses are kept by place.
 *
 * A place that is side_only has no data ring: nobody asked for its samples. Its side records are needed all the same. A
 * task that maps a library on a CPU outside of -C may run on a recorded CPU next.
 */
#ifndef WEIR_ENGINE_KERNEL_EVENT_PLACE_H
#define WEIR_ENGINE_KERNEL_EVENT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct weir_event_place {
    int cpu;        /* -1: any CPU that the task runs on */
    pid_t task;     /* the only recorded task; -1: all targets, on this CPU */
    bool late;      /* a CPU that was offline at the start: until it comes it has no ring, and no event of all tasks */
    bool side_only; /* a CPU outside of -C, or a thread whose sibling is recorded: side events only */
};

#endif
