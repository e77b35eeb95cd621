/*
 * The record types of perf.data: their names, and their fields at fixed offsets. JSON shows these fields, and a record
 * must be long enough for them. Constant data; any thread.
 *
 * Source: include/uapi/linux/perf_event.h of Linux 7.1 (enum perf_event_type), tools/lib/perf/include/perf/event.h and
 * perf_event__names[] in tools/perf/util/event.c.
 */
#ifndef WEIR_FORMAT_RECORD_SCHEMA_H
#define WEIR_FORMAT_RECORD_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

enum weir_field_kind {
    WEIR_FIELD_U16,
    WEIR_FIELD_U32,
    WEIR_FIELD_S32,
    WEIR_FIELD_U64,
    WEIR_FIELD_S64,
    WEIR_FIELD_ADDRESS, /* u64, shown in hex */
    WEIR_FIELD_TEXT,    /* up to its zero, or to the record's end without the trailer; the last field */
};

struct weir_field {
    const char *name; /* NULL ends a list */
    uint16_t offset;  /* from the record's start */
    enum weir_field_kind kind;
};

struct weir_record_schema {
    const char *name;                /* perf's, without PERF_RECORD_ */
    uint16_t least_bytes;            /* header and fixed part, without the trailer */
    const struct weir_field *fields; /* NULL: none */
};

/* Returns the schema of a type. NULL: perf 7.1 has no record of that type. */
const struct weir_record_schema *weir_record_schema(uint32_t type);

/* Returns the type with that name, as perf spells it, in any case, with or without PERF_RECORD_; -1: none. */
int weir_record_type_of(const char *name);

#define WEIR_RECORD_TYPES 87u /* types are below this */

#endif
