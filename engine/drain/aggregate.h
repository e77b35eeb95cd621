/*
 * Aggregation (--aggregate): equal samples in a chunk become one sample, as a step of the stage (chunk_rewriter.h).
 *
 *     two samples are equal when
 *         all of their bytes are equal, but for TIME, PERIOD and WEIGHT. With by_process the thread may differ, too:
 *         each sample then names its process instead
 *         their times are less than an interval apart
 *         the thread has taken no other name between them (COMM records of the same chunk)
 *
 *     the first one stays where it is, with its time     PERIOD = sum of their periods     WEIGHT = their number
 *
 * Reports that add up periods show the same sums as without the step. A sample that stays alone has WEIGHT 1. The attrs
 * have to ask for PERIOD and WEIGHT; the step overwrites the kernel's WEIGHT.
 *
 * The step keeps nothing from one chunk to the next. So the order of the file, its rounds and the account of failed
 * writes are as without the step. A reader hands its chunk over at each epoch. An interval longer than a second needs
 * longer epochs (weir_pipeline_setup.epoch_ns).
 *
 * Each worker has one table of fixed size. A sample without a place in the table goes out unmerged, with WEIGHT 1, and
 * the worker counts it.
 *
 * Workers and writer share the counts of merged samples. When the write of a chunk fails, the writer takes the chunk's
 * merged samples out of the counts: a lost sample takes all samples merged into it along. Everything else is const
 * while workers run.
 */
#ifndef WEIR_ENGINE_DRAIN_AGGREGATE_H
#define WEIR_ENGINE_DRAIN_AGGREGATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/drain/chunk_rewriter.h"
#include "engine/drain/record_walk.h"
#include "engine/events/event_list.h"

struct weir_aggregate_setup {
    struct weir_walk_layout layout;     /* place_stride: events per place */
    const struct weir_event_list *list; /* borrowed for the call; the attrs are complete */
    unsigned place_count;
    uint64_t interval_ns;
    bool by_process;
    bool are_unwound; /* samples with copied stacks have been unwound by an earlier step */
};

struct weir_aggregate_event {   /* places in the samples of one event, in bytes */
    uint16_t tid, time, period; /* from the start */
    uint16_t weight_back;       /* from the end; 0: samples of this event pass as they are */
    uint16_t least;             /* size of a sample at least */
};

struct weir_aggregate {
    struct weir_walk_layout layout;
    uint64_t interval_ns;
    bool by_process;
    unsigned event_count;
    uint64_t counter_count;
    struct weir_aggregate_event *events; /* owned */
    uint16_t comm_time_back;             /* time in a COMM record, from the end; 0: none */

    /* Relaxed: each number stands for itself. Written by workers and writer. */
    _Atomic uint64_t *merged; /* owned; [place * place_stride + event]: samples for which another one stands */
    _Atomic uint64_t merged_sum;
    _Atomic uint64_t unplaced; /* samples that found no place in the table */
};

/* 0 or -ENOMEM. fini() takes a struct of zeros. */
int weir_aggregate_init(struct weir_aggregate *aggregate, const struct weir_aggregate_setup *setup);
void weir_aggregate_fini(struct weir_aggregate *aggregate);

/* Returns the step, which borrows aggregate. NULL: the step's memory can be asked for, and nothing else. */
struct weir_chunk_rewriter weir_aggregate_rewriter(const struct weir_aggregate *aggregate);

/* Samples of an event at a place for which another one stands. Any thread. */
uint64_t weir_aggregate_merged(const struct weir_aggregate *aggregate, unsigned place, unsigned event);

#endif
