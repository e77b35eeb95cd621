#include "engine/files/record_sink.h"

#include <linux/perf_event.h>
#include <string.h>

void weir_record_sink_init(struct weir_record_sink *sink, struct weir_pipeline *pipeline, struct weir_sideband *feeds)
{
    *sink = (struct weir_record_sink){.pipeline = pipeline, .feeds = feeds, .batch = WEIR_BUF_INIT};
    pthread_mutex_init(&sink->lock, NULL);
}

/* The caller holds the lock. */
static int flush(struct weir_record_sink *sink)
{
    int result = weir_buf_error(&sink->batch);
    if (result == 0 && sink->batch.used > 0) {
        if (sink->feeds)
            weir_sideband_feed(sink->feeds, sink->batch.data, sink->batch.used);
        result = weir_pipeline_emit(sink->pipeline, sink->batch.data, sink->batch.used);
    }
    weir_buf_reset(&sink->batch);
    return result;
}

int weir_record_sink_put(void *ctx, const void *records, size_t bytes)
{
    struct weir_record_sink *sink = ctx;
    pthread_mutex_lock(&sink->lock);
    int result = sink->batch.used + bytes > WEIR_CHUNK_MIN_BYTES ? flush(sink) : 0;
    if (result == 0) {
        weir_buf_append(&sink->batch, records, bytes);
        result = weir_buf_error(&sink->batch);
    }
    pthread_mutex_unlock(&sink->lock);
    return result;
}

int weir_record_sink_put_all(struct weir_record_sink *sink, const struct weir_buf *records)
{
    int result = weir_buf_error(records);
    for (size_t at = 0; result == 0 && at < records->used;) {
        struct perf_event_header header;
        memcpy(&header, records->data + at, sizeof(header));
        result = weir_record_sink_put(sink, records->data + at, header.size);
        at += header.size;
    }
    return result;
}

int weir_record_sink_flush(struct weir_record_sink *sink)
{
    pthread_mutex_lock(&sink->lock);
    int result = flush(sink);
    pthread_mutex_unlock(&sink->lock);
    return result;
}

void weir_record_sink_fini(struct weir_record_sink *sink)
{
    weir_buf_fini(&sink->batch);
    pthread_mutex_destroy(&sink->lock);
}

int weir_record_sink_send(struct weir_pipeline *pipeline, const struct weir_buf *records)
{
    struct weir_record_sink sink;
    weir_record_sink_init(&sink, pipeline, NULL);
    int result = weir_record_sink_put_all(&sink, records);
    if (result == 0)
        result = weir_record_sink_flush(&sink);
    weir_record_sink_fini(&sink);
    return result;
}
