/* What building a pipeline (pipeline.c) and its threads (pipeline_threads.c) share: which thread is which. */
#ifndef WEIR_ENGINE_DRAIN_PIPELINE_INTERNAL_H
#define WEIR_ENGINE_DRAIN_PIPELINE_INTERNAL_H

#include "engine/drain/pipeline.h"

/* The readers' threads stand first, each at its reader's index. */
static inline struct weir_pipeline_thread *weir_pipeline_writer_thread(const struct weir_pipeline *pipeline)
{
    return &pipeline->threads[pipeline->reader_count];
}

static inline struct weir_pipeline_thread *weir_pipeline_grower_thread(const struct weir_pipeline *pipeline)
{
    return &pipeline->threads[pipeline->reader_count + 1];
}

/* Whether the writer runs, and so has an output. */
static inline bool weir_pipeline_has_started(const struct weir_pipeline *pipeline)
{
    return pipeline->threads && weir_pipeline_writer_thread(pipeline)->started;
}

#endif
