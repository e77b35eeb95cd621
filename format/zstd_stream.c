/* libzstd's decoder, which returns its output piece by piece. One thread per stream. */
#include "format/zstd_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

struct weir_zstd_stream {
    ZSTD_DStream *decoder; /* owned */
    ZSTD_inBuffer input;   /* borrowed bytes */
    int result;            /* -EBADMSG once the input was bad: the decoder must not be asked again */
};

struct weir_zstd_stream *weir_zstd_stream_new(void)
{
    struct weir_zstd_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    stream->decoder = ZSTD_createDStream();
    if (!stream->decoder) {
        free(stream);
        return NULL;
    }
    return stream;
}

void weir_zstd_stream_free(struct weir_zstd_stream *stream)
{
    if (!stream)
        return;
    ZSTD_freeDStream(stream->decoder);
    free(stream);
}

void weir_zstd_stream_feed(struct weir_zstd_stream *stream, const uint8_t *data, size_t bytes)
{
    stream->input = (ZSTD_inBuffer){.src = data, .size = bytes};
}

int weir_zstd_stream_take(struct weir_zstd_stream *stream, uint8_t *data, size_t bytes, size_t *written,
                          const char **reason)
{
    ZSTD_outBuffer output = {.dst = data, .size = bytes};
    *written = 0;
    *reason = "its zstd stream is damaged";
    if (stream->result < 0)
        return stream->result;
    /* Output may also be left inside the decoder after the last input byte: asked until it gives none. */
    size_t before_in, before_out;
    do {
        before_in = stream->input.pos;
        before_out = output.pos;
        size_t hint = ZSTD_decompressStream(stream->decoder, &output, &stream->input);
        if (ZSTD_isError(hint)) {
            *reason = ZSTD_getErrorName(hint);
            stream->result = -EBADMSG;
            return stream->result;
        }
    } while (output.pos < output.size && (stream->input.pos > before_in || output.pos > before_out));
    *written = output.pos;
    return 0;
}
