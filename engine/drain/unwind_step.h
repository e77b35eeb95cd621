/*
 * Unwinding while recording (--call-graph dwarf,unwind), as a step of the stage (chunk_rewriter.h): each sample with
 * copied user registers and user stack becomes one with a call chain (unwind/unwound_sample.h). The room of the copied
 * stack takes the frames; frames for which there is no room are clipped.
 *
 * Every sample that goes in comes out. A sample that cannot be unwound keeps the kernel's part of its chain, and one
 * that is malformed passes as it is. The counts (format/unwound_sum.h) say how many, and why chains end.
 *
 * Bounds of each chunk, beside those of a sample (unwind/unwinder.h):
 *
 *     mappings     the worker waits for them once, at the first stack (source.catch_up), because the history may know
 *                  an older mapping where a newer one counts
 *     files        the worker opens files for WEIR_UNWIND_STEP_OPENING_NS at most, and stops at the first file that is
 *                  late. The next chunk tries again
 *     in a hurry   (the pool is nearly empty, and the workers are behind) the worker waits for nothing, opens no new
 *                  files, and unwinds the innermost WEIR_UNWIND_STEP_HURRIED_FRAMES frames of each stack
 *
 * Each worker has an unwinder with caches of its own, so that workers share nothing but the counts. The limit for the
 * memory of tables is shared out evenly among them.
 */
#ifndef WEIR_ENGINE_DRAIN_UNWIND_STEP_H
#define WEIR_ENGINE_DRAIN_UNWIND_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/drain/chunk_rewriter.h"
#include "engine/drain/record_walk.h"
#include "engine/drain/step_counts.h"
#include "engine/drain/unwind_source.h"
#include "engine/events/event_list.h"
#include "format/sample_layout.h"
#include "format/unwound_sum.h"
#include "unwind/unwinder.h"

#define WEIR_UNWIND_STEP_OPENING_NS     (500 * WEIR_NS_PER_MS)
#define WEIR_UNWIND_STEP_HURRIED_FRAMES 16u

struct weir_unwind_step_setup {
    struct weir_walk_layout layout;
    const struct weir_event_list *list; /* borrowed for the call; the attrs are complete */
    struct weir_unwind_source source;
    const struct weir_unwind_machine *machine; /* borrowed */
    const struct weir_clock *clock;            /* borrowed; monotonic */
    unsigned workers;                          /* threads of the stage; 0 counts as 1 */
    size_t tables_bytes;                       /* limit of the tables of all workers together */
};

struct weir_unwind_step_event {
    struct weir_sample_layout layout;
    bool is_unwound; /* its samples have copied stacks */
};

struct weir_unwind_step {
    struct weir_walk_layout layout;
    struct weir_unwind_source source;
    const struct weir_unwind_machine *machine; /* borrowed */
    const struct weir_clock *clock;            /* borrowed */
    size_t worker_tables_bytes;
    unsigned event_count;
    struct weir_unwind_step_event *events; /* owned; by event */
    WEIR_STEP_COUNTS(struct weir_unwound_sum, counts);
};

/* 0 or -ENOMEM. fini() takes a struct of zeros. */
int weir_unwind_step_init(struct weir_unwind_step *step, const struct weir_unwind_step_setup *setup);
void weir_unwind_step_fini(struct weir_unwind_step *step);

/* Returns the rewriting step, which borrows `step`. NULL: the memory of a worker without tables can be asked for, and
 * nothing else. */
struct weir_chunk_rewriter weir_unwind_step_rewriter(const struct weir_unwind_step *step);

/* Returns all counts. Any thread. */
struct weir_unwound_sum weir_unwind_step_sum(const struct weir_unwind_step *step);

#endif
