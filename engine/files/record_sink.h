/*
 * Gathers synthesized records on their way to the pipeline. A chunk costs the writer as much for one record as for
 * thousands.
 *
 * A mutex guards the batch, because synthesis puts records from several threads. The records of one thread keep their
 * order. A thread that fills the batch waits for a free chunk, and other threads then wait for the mutex. No reader
 * puts records, and neither does the writer.
 */
#ifndef WEIR_ENGINE_FILES_RECORD_SINK_H
#define WEIR_ENGINE_FILES_RECORD_SINK_H

#include <pthread.h>
#include <stddef.h>

#include "base/buf.h"
#include "engine/drain/pipeline.h"
#include "engine/tasks/sideband.h"

struct weir_record_sink {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_sideband *feeds;    /* borrowed; gets a copy of each record; NULL: no copies */
    pthread_mutex_t lock;
    struct weir_buf batch; /* owned; whole records */
};

void weir_record_sink_init(struct weir_record_sink *sink, struct weir_pipeline *pipeline, struct weir_sideband *feeds);

/* Takes whole records, at most WEIR_CHUNK_MIN_BYTES. Returns 0, -ENOMEM, or the error of a failed output. Any thread;
 * blocks. ctx is the sink, because weir_synth_options.emit has this signature. */
int weir_record_sink_put(void *ctx, const void *records, size_t bytes);

/* Takes any number of whole records. Returns as weir_record_sink_put(). Any thread; blocks. */
int weir_record_sink_put_all(struct weir_record_sink *sink, const struct weir_buf *records);

/* Sends the gathered records. Returns as weir_record_sink_put(). Any thread; blocks. */
int weir_record_sink_flush(struct weir_record_sink *sink);

/* Drops the gathered records and releases the sink. */
void weir_record_sink_fini(struct weir_record_sink *sink);

/* Sends these records at once, in a batch of their own. Returns as weir_record_sink_put(). */
int weir_record_sink_send(struct weir_pipeline *pipeline, const struct weir_buf *records);

#endif
