/* What the files of the pipeline share: pipeline.c and pipeline_threads.c. */
#ifndef WEIR_ENGINE_DRAIN_PIPELINE_INTERNAL_H
#define WEIR_ENGINE_DRAIN_PIPELINE_INTERNAL_H

#include "engine/drain/pipeline.h"

/* To be called now and then by who waits for the output: asks setup.is_hurried(), and lets go of a stream's reader. Any
 * thread; does not wait. */
void weir_pipeline_keep_patience(struct weir_pipeline *pipeline);

#endif
