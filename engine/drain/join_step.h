/*
 * Joining of call chains that the kernel writes in two records (--call-graph fp,defer), as a step of the stage
 * (chunk_rewriter.h). A sample holds the kernel's part, PERF_CONTEXT_USER_DEFERRED and a cookie. When the task returns
 * to user space, the kernel writes a CALLCHAIN_DEFERRED record with that cookie and the user's frames. One record
 * serves all samples of one stay in the kernel; it can also stand before a sample that comes late in that stay.
 *
 *     the record is in the same chunk    the sample's chain becomes kernel's part, PERF_CONTEXT_USER, user's frames
 *     it is not, or has no frames, or    mark and cookie go, and the kernel's part stays. A sample that was taken in
 *     the joined sample has no room      user space gets PERF_CONTEXT_USER and its own address
 *
 * The records go. So consumers that know neither the mark nor the record can read the file. perf before 6.19 throws
 * away a chain with a mark that it does not know. Every sample that goes in comes out, and the counts say how.
 *
 * Samples that share a record may need more bytes than their chunk had. So each worker writes to a buffer of a chunk's
 * size and copies the result back. A sample is joined if the rest of the chunk has room behind it in any case.
 *
 * Source: get_perf_callchain() in kernel/events/callchain.c, perf_callchain_deferred_output() in kernel/events/core.c
 * and kernel/unwind/deferred.c of Linux 6.19.
 */
#ifndef WEIR_ENGINE_DRAIN_JOIN_STEP_H
#define WEIR_ENGINE_DRAIN_JOIN_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_rewriter.h"
#include "engine/drain/record_walk.h"
#include "engine/drain/step_counts.h"
#include "engine/events/event_list.h"
#include "format/joined_sum.h"
#include "format/sample_layout.h"

struct weir_join_step_setup {
    struct weir_walk_layout layout;
    const struct weir_event_list *list; /* borrowed for the call; the attrs are complete */
};

struct weir_join_step_event {
    struct weir_sample_layout layout;
    bool is_deferred; /* the kernel may defer the user part of its chains */
};

struct weir_join_step {
    struct weir_walk_layout layout;
    struct weir_sample_layout record_layout; /* of the event that the records come from: their trailer */
    unsigned event_count;
    struct weir_join_step_event *events; /* owned; by event */
    WEIR_STEP_COUNTS(struct weir_joined_sum, counts);
};

/* 0 or -ENOMEM. fini() takes a struct of zeros. */
int weir_join_step_init(struct weir_join_step *step, const struct weir_join_step_setup *setup);
void weir_join_step_fini(struct weir_join_step *step);

/* Returns the rewriting step, which borrows `step`. NULL: the step's memory can be asked for, and nothing else. */
struct weir_chunk_rewriter weir_join_step_rewriter(const struct weir_join_step *step);

/* Returns all counts. Any thread. */
struct weir_joined_sum weir_join_step_sum(const struct weir_join_step *step);

#endif
