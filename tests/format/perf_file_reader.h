/*
 * Reads a perf.data image back: header, attrs, ids, records, features. For tests only; it shares no code with format/.
 *
 * Everything is checked against the image's bounds before it is touched. One thread; no allocation; results are
 * borrowed from the image, which must be aligned to 8 bytes.
 */
#ifndef WEIR_TESTS_FORMAT_PERF_FILE_READER_H
#define WEIR_TESTS_FORMAT_PERF_FILE_READER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/perf_file.h"

struct perf_file {
    const uint8_t *data; /* borrowed */
    size_t bytes;
    struct weir_perf_header header;
    size_t attr_count;
};

struct perf_file_event {
    struct perf_event_attr attr; /* what lies beyond attr.size is zero */
    const char *name;            /* NULL from perf_file_event(): only EVENT_DESC has names */
    const uint64_t *ids;
    size_t id_count;
};

/* A place in a feature's payload. A read beyond its end sets `failed` and returns 0, "" or NULL from then on. */
struct perf_file_cursor {
    const uint8_t *data;
    size_t bytes; /* left */
    bool failed;
};

/* NULL, or what is wrong with the image: magic, header size, a section out of bounds, sections that overlap. */
const char *perf_file_open(struct perf_file *file, const void *data, size_t bytes);

/* Event `index` of the attrs section. false: its attr.size or ids do not fit. */
bool perf_file_event(const struct perf_file *file, size_t index, struct perf_file_event *event);

bool perf_file_has_feature(const struct perf_file *file, unsigned bit);

/* The payload of a feature. false: the bit is not set, or its section is out of bounds. */
bool perf_file_feature(const struct perf_file *file, unsigned bit, struct perf_file_cursor *payload);

/* The record behind `previous`, or the first when NULL. NULL at the end of the data or when its size is bad. */
const struct perf_event_header *perf_file_next_record(const struct perf_file *file,
                                                      const struct perf_event_header *previous);

uint32_t perf_file_u32(struct perf_file_cursor *cursor);
uint64_t perf_file_u64(struct perf_file_cursor *cursor);
const void *perf_file_bytes(struct perf_file_cursor *cursor, size_t bytes);
/* A perf string; fails when its length is no multiple of 64 or it does not end in a zero. */
const char *perf_file_string(struct perf_file_cursor *cursor);
/* One event of EVENT_DESC, whose attrs take attr_bytes each. ids may be unaligned: *event->ids is to be copied out. */
bool perf_file_desc_event(struct perf_file_cursor *cursor, size_t attr_bytes, struct perf_file_event *event);

#endif
