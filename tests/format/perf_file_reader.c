/* Reads a perf.data image back, see perf_file_reader.h. Layout: tools/perf/Documentation/perf.data-file-format.txt. */
#include "tests/format/perf_file_reader.h"

#include <string.h>

#define STRING_ALIGN 64
#define FEATURE_BITS 256

static bool fits(const struct perf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->bytes && size <= file->bytes - offset;
}

static bool overlap(struct weir_perf_section a, struct weir_perf_section b)
{
    return a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

const char *perf_file_open(struct perf_file *file, const void *data, size_t bytes)
{
    *file = (struct perf_file){.data = data, .bytes = bytes};
    if (bytes < sizeof(file->header))
        return "shorter than its header";
    memcpy(&file->header, data, sizeof(file->header));
    const struct weir_perf_header *header = &file->header;
    if (header->magic != WEIR_PERF_MAGIC2 || header->size != sizeof(*header))
        return "magic or header size";
    if (header->attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct weir_perf_section))
        return "attr_size";
    if (!fits(file, header->attrs.offset, header->attrs.size) || !fits(file, header->data.offset, header->data.size))
        return "section out of bounds";
    if (overlap(header->attrs, header->data))
        return "attrs and data overlap";
    if (header->attrs.size % header->attr_size != 0)
        return "attrs are not a multiple of attr_size";
    file->attr_count = header->attrs.size / header->attr_size;
    return NULL;
}

bool perf_file_event(const struct perf_file *file, size_t index, struct perf_file_event *event)
{
    uint64_t attr_bytes = file->header.attr_size - sizeof(struct weir_perf_section);
    const uint8_t *entry = file->data + file->header.attrs.offset + index * file->header.attr_size;
    if (index >= file->attr_count || attr_bytes > sizeof(event->attr))
        return false;

    struct weir_perf_section ids;
    *event = (struct perf_file_event){0};
    memcpy(&event->attr, entry, attr_bytes);
    memcpy(&ids, entry + attr_bytes, sizeof(ids));
    if (event->attr.size != attr_bytes || !fits(file, ids.offset, ids.size) || ids.size % sizeof(uint64_t) != 0)
        return false;
    event->ids = (const uint64_t *)(file->data + ids.offset);
    event->id_count = ids.size / sizeof(uint64_t);
    return true;
}

bool perf_file_has_feature(const struct perf_file *file, unsigned bit)
{
    return bit < FEATURE_BITS && (file->header.features[bit / 64] >> (bit % 64) & 1);
}

bool perf_file_feature(const struct perf_file *file, unsigned bit, struct perf_file_cursor *payload)
{
    if (!perf_file_has_feature(file, bit))
        return false;
    uint64_t entry_at = file->header.data.offset + file->header.data.size;
    for (unsigned before = 0; before < bit; before++)
        entry_at += perf_file_has_feature(file, before) ? sizeof(struct weir_perf_section) : 0;

    struct weir_perf_section section;
    if (!fits(file, entry_at, sizeof(section)))
        return false;
    memcpy(&section, file->data + entry_at, sizeof(section));
    if (!fits(file, section.offset, section.size))
        return false;
    *payload = (struct perf_file_cursor){.data = file->data + section.offset, .bytes = section.size};
    return true;
}

const struct perf_event_header *perf_file_next_record(const struct perf_file *file,
                                                      const struct perf_event_header *previous)
{
    const uint8_t *end = file->data + file->header.data.offset + file->header.data.size;
    const uint8_t *at = previous ? (const uint8_t *)previous + previous->size : file->data + file->header.data.offset;
    size_t left = (size_t)(end - at);
    if (left < sizeof(struct perf_event_header))
        return NULL;
    const struct perf_event_header *record = (const struct perf_event_header *)at;
    return record->size >= sizeof(*record) && record->size <= left ? record : NULL;
}

const void *perf_file_bytes(struct perf_file_cursor *cursor, size_t bytes)
{
    if (cursor->failed || bytes > cursor->bytes) {
        cursor->failed = true;
        return NULL;
    }
    const void *data = cursor->data;
    cursor->data += bytes;
    cursor->bytes -= bytes;
    return data;
}

uint32_t perf_file_u32(struct perf_file_cursor *cursor)
{
    uint32_t value = 0;
    const void *data = perf_file_bytes(cursor, sizeof(value));
    if (data)
        memcpy(&value, data, sizeof(value));
    return value;
}

uint64_t perf_file_u64(struct perf_file_cursor *cursor)
{
    uint64_t value = 0;
    const void *data = perf_file_bytes(cursor, sizeof(value));
    if (data)
        memcpy(&value, data, sizeof(value));
    return value;
}

const char *perf_file_string(struct perf_file_cursor *cursor)
{
    uint32_t length = perf_file_u32(cursor);
    const char *text = perf_file_bytes(cursor, length);
    if (!text || length == 0 || length % STRING_ALIGN != 0 || text[length - 1] != '\0') {
        cursor->failed = true;
        return "";
    }
    return text;
}

bool perf_file_desc_event(struct perf_file_cursor *cursor, size_t attr_bytes, struct perf_file_event *event)
{
    *event = (struct perf_file_event){0};
    const void *attr = perf_file_bytes(cursor, attr_bytes);
    if (!attr || attr_bytes > sizeof(event->attr))
        return false;
    memcpy(&event->attr, attr, attr_bytes);
    event->id_count = perf_file_u32(cursor);
    event->name = perf_file_string(cursor);
    event->ids = perf_file_bytes(cursor, event->id_count * sizeof(uint64_t));
    return !cursor->failed;
}
