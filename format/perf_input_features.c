/*
 * Which features a recording has, and their payloads: from the sections of a file, or from the records that a pipe has
 * brought so far. One thread.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/read_whole.h"
#include "format/byte_order.h"
#include "format/perf_input_internal.h"

#define FEATURE_WORD 64u

bool weir_feature_bit(const uint64_t features[4], unsigned bit)
{
    return features[bit / FEATURE_WORD] >> (bit % FEATURE_WORD) & 1;
}

bool weir_perf_input_has_feature(const struct weir_perf_input *input, unsigned bit)
{
    return weir_feature_bit(input->features, bit);
}

int weir_perf_input_feature(const struct weir_perf_input *input, unsigned bit, struct weir_buf *out,
                            struct weir_error *err)
{
    if (!weir_perf_input_has_feature(input, bit))
        return 0;
    if (input->is_pipe) {
        if (bit >= WEIR_FEATURES_KNOWN)
            return 0; /* its contents were not kept */
        const struct weir_buf *payload = &input->payloads[bit];
        weir_buf_append(out, payload->data, payload->used);
        int result = weir_buf_error(out);
        return result < 0 ? weir_error_set_errno(err, result, "cannot read %s", input->source.path) : 1;
    }
    if (input->features_error.code < 0) {
        if (err)
            *err = input->features_error;
        return input->features_error.code;
    }
    const struct weir_perf_section *section = &input->sections[bit];
    if (!weir_perf_section_is_inside(section, input->source.file_bytes))
        return weir_error_set(err, -EBADMSG,
                              "%s: feature %u: its section (offset %#" PRIx64 ", size %#" PRIx64
                              ") is not inside the file of %#" PRIx64 " bytes",
                              input->source.path, bit, section->offset, section->size, input->source.file_bytes);
    if (section->size > WEIR_FEATURE_MAX_BYTES)
        return weir_error_set(err, -EFBIG, "%s: feature %u at %#" PRIx64 ": %" PRIu64 " bytes are above the limit",
                              input->source.path, bit, section->offset, section->size);
    void *data = weir_buf_extend(out, section->size);
    ssize_t count =
        data ? weir_read_whole_at(input->source.fd, data, section->size, section->offset) : weir_buf_error(out);
    if (count < 0)
        return weir_error_set_errno(err, (int)count, "cannot read feature %u of %s", bit, input->source.path);
    if ((uint64_t)count < section->size)
        return weir_error_set(err, -EBADMSG, "%s: feature %u at %#" PRIx64 " is cut off", input->source.path, bit,
                              section->offset);
    if (input->is_foreign)
        weir_byte_order_turn_feature(bit, data, section->size);
    return 1;
}
