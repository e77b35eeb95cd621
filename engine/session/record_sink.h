/*
 * Where synthesised records gather on their way to the pipeline: a chunk costs the writer as much for one record as for
 * thousands.
 *
 * A mutex guards the batch, for synthesis puts records from several threads; the order of records is kept per thread.
 * Whoever fills the batch waits for a free chunk, and for the others behind the mutex. No reader and no writer puts.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_SINK_H
#define WEIR_ENGINE_SESSION_RECORD_SINK_H

#include <pthread.h>
#include <stddef.h>

#include "base/buf.h"
#include "engine/drain/pipeline.h"
#include "engine/tasks/sideband.h"

struct weir_record_sink {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_sideband *feeds;    /* borrowed; gets a copy of each record; NULL: nobody does */
    pthread_mutex_t lock;
    struct weir_buf batch; /* owned; whole records */
};

void weir_record_sink_init(struct weir_record_sink *sink, struct weir_pipeline *pipeline, struct weir_sideband *feeds);

/* Takes whole records, at most WEIR_CHUNK_MIN_BYTES. 0, -ENOMEM, or the error of a failed output. Any thread; blocks.
 * ctx: the sink; the signature is that of weir_synth_options.emit. */
int weir_record_sink_put(void *ctx, const void *records, size_t bytes);

/* The same for any number of whole records. */
int weir_record_sink_put_all(struct weir_record_sink *sink, const struct weir_buf *records);

/* Sends what has gathered. 0 or as put(). */
int weir_record_sink_flush(struct weir_record_sink *sink);

/* Drops what has gathered. */
void weir_record_sink_fini(struct weir_record_sink *sink);

/* Sends these records at once, with nothing behind them. 0 or as put(). */
int weir_record_sink_send(struct weir_pipeline *pipeline, const struct weir_buf *records);

#endif
