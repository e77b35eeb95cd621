/*
 * The head of a perf.data file: header, attrs with their ids, and the table of features behind the data. One thread.
 *
 * Layout: docs/format.md. perf steps from one attr to the next by the attr's own size, other consumers by
 * header.attr_size. If the two differ, weir uses header.attr_size, as the format's description says.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/read_whole.h"
#include "format/byte_order.h"
#include "format/bytes.h"
#include "format/early_features.h"
#include "format/features.h"
#include "format/perf_input_internal.h"

#define ATTR_STRIDE_MIN (PERF_ATTR_SIZE_VER0 + sizeof(struct weir_perf_section))
#define ATTR_STRIDE_MAX 4096u
#define ID_BYTES        sizeof(uint64_t)
#define EARLY_MAX_BYTES WEIR_FEATURE_MAX_BYTES

static int fail_read(const struct weir_perf_input *input, int code, struct weir_error *err)
{
    return weir_error_set_errno(err, code, "cannot read %s", input->source.path);
}

/* Reads exactly bytes that were checked to be inside the file. */
static int read_exactly(const struct weir_perf_input *input, uint64_t offset, void *data, size_t bytes,
                        struct weir_error *err)
{
    ssize_t count = weir_read_whole_at(input->source.fd, data, bytes, offset);
    if (count < 0)
        return fail_read(input, (int)count, err);
    if ((size_t)count < bytes)
        return weir_error_set(err, -EBADMSG, "%s: cut off at %#" PRIx64, input->source.path, offset + (uint64_t)count);
    return 0;
}

static int fail_section(const struct weir_perf_input *input, const char *name, uint64_t at,
                        const struct weir_perf_section *section, const char *what, struct weir_error *err)
{
    return weir_error_set(err, -EBADMSG,
                          "%s: the header's %s at %#" PRIx64 " (offset %#" PRIx64 ", size %#" PRIx64 ") %s",
                          input->source.path, name, at, section->offset, section->size, what);
}

/* Data whose size no recorder has written yet reaches to the end of the file. */
static bool overlaps_data(const struct weir_perf_section *section, const struct weir_perf_section *data)
{
    uint64_t data_bytes = data->size ? data->size : INT64_MAX - data->offset;
    return section->size > 0 && section->offset < data->offset + data_bytes &&
           data->offset < section->offset + section->size;
}

/* ---- header ---- */

static int check_header(const struct weir_perf_input *input, struct weir_error *err)
{
    const struct weir_perf_header *header = &input->header;
    const char *path = input->source.path;
    uint64_t attr_at = offsetof(struct weir_perf_header, attr_size);
    uint64_t attrs_at = offsetof(struct weir_perf_header, attrs), data_at = offsetof(struct weir_perf_header, data);
    if (header->size != sizeof(*header))
        return weir_error_set(err, -EBADMSG, "%s: the header's size at 0x8 is %" PRIu64 ", neither 104 nor 16", path,
                              header->size);
    if (header->attr_size < ATTR_STRIDE_MIN || header->attr_size > ATTR_STRIDE_MAX)
        return weir_error_set(err, -EBADMSG,
                              "%s: the header's attr_size at %#" PRIx64 " is %" PRIu64 ", not in %zu to %u", path,
                              attr_at, header->attr_size, ATTR_STRIDE_MIN, ATTR_STRIDE_MAX);
    if (!weir_perf_section_is_inside(&header->attrs, input->source.file_bytes))
        return fail_section(input, "attrs", attrs_at, &header->attrs, "are not inside the file", err);
    if (header->attrs.size > 0 && header->attrs.offset < sizeof(*header))
        return fail_section(input, "attrs", attrs_at, &header->attrs, "are inside the header", err);
    if (header->attrs.size % header->attr_size != 0)
        return fail_section(input, "attrs", attrs_at, &header->attrs, "are no multiple of its attr_size", err);
    if (header->data.offset < sizeof(*header) || header->data.offset > INT64_MAX ||
        header->data.size > INT64_MAX - header->data.offset)
        return fail_section(input, "data", data_at, &header->data, "cannot be", err);
    if (overlaps_data(&header->attrs, &header->data))
        return fail_section(input, "data", data_at, &header->data, "overlaps the attrs", err);
    return 0;
}

/* Where the data ends, and whether a recorder finished the file. */
static void find_data_end(struct weir_perf_input *input)
{
    const struct weir_perf_header *header = &input->header;
    uint64_t said = header->data.offset + header->data.size;
    uint64_t features = header->features[0] | header->features[1] | header->features[2] | header->features[3];
    input->is_unfinished =
        header->data.size == 0 || said > input->source.file_bytes || (!features && said < input->source.file_bytes);
    input->data_end = header->data.size == 0 ? weir_max_u64(input->source.file_bytes, header->data.offset) : said;
}

/* ---- attrs ---- */

static int read_event(struct weir_perf_input *input, uint8_t *entry, uint64_t at, struct weir_error *err)
{
    size_t attr_bytes = input->header.attr_size - sizeof(struct weir_perf_section);
    struct weir_perf_section ids;
    if (input->is_foreign) {
        weir_byte_order_turn_attr(entry, attr_bytes);
        weir_byte_order_turn_words(entry + attr_bytes, sizeof(ids));
    }
    memcpy(&ids, entry + attr_bytes, sizeof(ids));
    bool is_in_header = ids.size > 0 && ids.offset < sizeof(input->header);
    if (!weir_perf_section_is_inside(&ids, input->source.file_bytes) || is_in_header || ids.size % ID_BYTES != 0)
        return weir_error_set(err, -EBADMSG,
                              "%s: attr at %#" PRIx64 ": its ids (offset %#" PRIx64 ", size %#" PRIx64
                              ") are not inside the file",
                              input->source.path, at, ids.offset, ids.size);
    /* No id is of two events, so all of them together are no more than the file: else sections would overlap. */
    if (ids.size / ID_BYTES >
        input->source.file_bytes / ID_BYTES - weir_min_u64(input->events.id_count, input->source.file_bytes / ID_BYTES))
        return weir_error_set(err, -EBADMSG, "%s: attr at %#" PRIx64 ": its ids overlap those of other attrs",
                              input->source.path, at);
    input->attrs_end = weir_max_u64(input->attrs_end, ids.offset + ids.size);
    uint8_t *bytes = malloc(ids.size ? ids.size : 1);
    int result = bytes ? read_exactly(input, ids.offset, bytes, ids.size, err) : fail_read(input, -ENOMEM, err);
    if (result == 0 && input->is_foreign)
        weir_byte_order_turn_words(bytes, ids.size);
    if (result == 0) {
        const struct weir_input_attr attr = {
            .attr = entry,
            .attr_bytes = attr_bytes,
            .ids = bytes,
            .id_count = ids.size / ID_BYTES,
            .path = input->source.path,
            .offset = at,
        };
        result = weir_input_events_add(&input->events, &attr, err);
    }
    free(bytes);
    return result;
}

static int read_events(struct weir_perf_input *input, struct weir_error *err)
{
    uint8_t entry[ATTR_STRIDE_MAX];
    size_t stride = input->header.attr_size;
    input->attrs_end = input->header.attrs.offset + input->header.attrs.size;
    for (uint64_t done = 0; done < input->header.attrs.size; done += stride) {
        uint64_t at = input->header.attrs.offset + done;
        int result = read_exactly(input, at, entry, stride, err);
        if (result == 0)
            result = read_event(input, entry, at, err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- features ---- */

/* Takes features and their places from a table; those of the header, or the early ones. */
static void take_table(struct weir_perf_input *input, const uint64_t features[4],
                       const struct weir_perf_section table[WEIR_FEATURE_BITS])
{
    size_t next = 0;
    memcpy(input->features, features, sizeof(input->features));
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        if (weir_feature_bit(features, bit))
            input->sections[bit] = table[next++];
    }
}

/* A feature whose payload is not where the header says, because the file was cut there. */
static bool is_cut(const struct weir_perf_input *input, unsigned bit)
{
    return weir_feature_bit(input->features, bit) &&
           !weir_perf_section_is_inside(&input->sections[bit], input->source.file_bytes);
}

static bool has_cut_feature(const struct weir_perf_input *input)
{
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        if (is_cut(input, bit))
            return true;
    }
    return false;
}

/* Of an early table what stands for the features that are cut. */
static void take_cut_ones(struct weir_perf_input *input, const uint64_t features[4],
                          const struct weir_perf_section table[WEIR_FEATURE_BITS])
{
    size_t next = 0;
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        if (!weir_feature_bit(features, bit))
            continue;
        if (is_cut(input, bit)) {
            input->sections[bit] = table[next];
            input->has_early_features = true;
        }
        next++;
    }
}

/* Takes the early features where the header has no table, because no recorder has finished the file. */
static void take_early(struct weir_perf_input *input, const uint64_t features[4],
                       const struct weir_perf_section table[WEIR_FEATURE_BITS])
{
    take_table(input, features, table);
    input->features_error = (struct weir_error){0};
    input->has_early_features = true;
    input->is_unfinished = true;
}

/* A table that cannot be read is told when a feature is asked for: the data can be read without. */
static void read_feature_table(struct weir_perf_input *input)
{
    size_t count = weir_features_count(input->header.features);
    struct weir_perf_section table[WEIR_FEATURE_BITS];
    struct weir_perf_section place = {.offset = input->header.data.offset + input->header.data.size,
                                      .size = count * sizeof(table[0])};
    memcpy(input->features, input->header.features, sizeof(input->features));
    struct weir_error *err = &input->features_error;
    if (input->header.data.size == 0 || !weir_perf_section_is_inside(&place, input->source.file_bytes)) {
        weir_error_set(err, -EBADMSG, "%s: the table of %zu features at %#" PRIx64 " is not inside the file",
                       input->source.path, count, place.offset);
        if (count == 0)
            *err = (struct weir_error){0};
        return;
    }
    if (read_exactly(input, place.offset, table, place.size, err) < 0)
        return;
    if (input->is_foreign)
        weir_byte_order_turn_words(table, place.size);
    take_table(input, input->header.features, table);
}

/*
 * Reads the copy of the features in the head (format/early_features.h). It serves a file whose header announces no
 * features, because the recorder never finished the file. It also serves a file that was cut before the table of its
 * features or behind it. A copy that is not whole counts as missing, because no header promises it. A recording of the
 * other byte order is not of weir and has no copy. 0 or -ENOMEM or -errno of read(2) with err.
 */
static int read_early_features(struct weir_perf_input *input, struct weir_error *err)
{
    const struct weir_perf_header *header = &input->header;
    uint64_t at = weir_early_features_offset(header->attrs.offset + header->attrs.size);
    struct weir_early_header early;
    bool has_table = weir_features_count(header->features) > 0 && input->features_error.code == 0;
    if (input->is_foreign || (has_table && !has_cut_feature(input)) || at + sizeof(early) > header->data.offset ||
        header->data.offset > input->source.file_bytes)
        return 0;
    int result = read_exactly(input, at, (uint8_t *)&early, sizeof(early), err);
    if (result < 0)
        return result;
    uint64_t table_bytes = weir_features_count(early.features) * sizeof(struct weir_perf_section);
    if (!weir_early_header_is_sane(&early, header->data.offset - at) || early.bytes > EARLY_MAX_BYTES ||
        table_bytes > early.bytes)
        return 0;
    uint8_t *data = malloc(early.bytes ? early.bytes : 1);
    if (!data)
        return fail_read(input, -ENOMEM, err);
    result = read_exactly(input, at + sizeof(early), data, early.bytes, err);
    if (result == 0 && weir_early_features_are_whole(&early, data)) {
        struct weir_perf_section table[WEIR_FEATURE_BITS];
        memcpy(table, data, table_bytes);
        if (has_table)
            take_cut_ones(input, early.features, table);
        else
            take_early(input, early.features, table);
    }
    free(data);
    return result;
}

static int read_names(struct weir_perf_input *input)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    int result = weir_perf_input_feature(input, WEIR_FEATURE_EVENT_DESC, &payload, NULL);
    if (result == 1)
        result = weir_input_events_describe(&input->events, payload.data, payload.used);
    else if (result != -ENOMEM)
        result = 0; /* a damaged one costs the names */
    weir_buf_fini(&payload);
    return result;
}

int weir_perf_input_read_file(struct weir_perf_input *input, struct weir_error *err)
{
    struct weir_perf_header *header = &input->header;
    int result = read_exactly(input, 0, header, sizeof(*header), err);
    if (result == 0 && input->is_foreign)
        weir_byte_order_turn_header(header);
    if (result == 0)
        result = check_header(input, err);
    if (result < 0)
        return result;
    find_data_end(input);
    result = read_events(input, err);
    if (result < 0)
        return result;
    read_feature_table(input);
    result = read_early_features(input, err);
    if (result < 0)
        return result;
    result = read_names(input);
    return result < 0 ? fail_read(input, result, err) : 0;
}
