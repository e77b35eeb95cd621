/*
 * The formats of tracepoints in a TRACING_DATA section: listed while the section is read, then parsed by libtraceevent,
 * which crashes on some damaged ones. So formats that are too large, too deeply nested or not text are not listed. A
 * child process tries the others first, and those that it does not survive are left out. One thread.
 */
#ifndef WEIR_FORMAT_TRACE_FORMATS_H
#define WEIR_FORMAT_TRACE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"

#define WEIR_TRACE_NESTING_MAX 48u /* libtraceevent's parser and printer are recursive */

struct tep_handle;

/* A format in the section; borrowed from there. */
struct weir_trace_format {
    const char *system;
    const uint8_t *text;
    size_t bytes;
    bool is_bad; /* libtraceevent crashes on it */
};

struct weir_trace_formats {
    struct weir_trace_format *items; /* owned */
    size_t count, capacity;
    size_t bytes_max; /* of the longest format */
    char *scratch;    /* owned; bytes_max and a zero, for the format being parsed: the child need not allocate */
    bool is_foreign;  /* the section's numbers are of the other byte order */
    bool failed;      /* memory ran out */
};

/* Reads a number of the section. 0: it is cut. */
static inline uint32_t weir_trace_formats_u32(const struct weir_trace_formats *list, struct weir_cursor *cursor)
{
    uint32_t value = weir_cursor_u32(cursor);
    return list->is_foreign ? __builtin_bswap32(value) : value;
}

static inline uint64_t weir_trace_formats_u64(const struct weir_trace_formats *list, struct weir_cursor *cursor)
{
    uint64_t value = weir_cursor_u64(cursor);
    return list->is_foreign ? __builtin_bswap64(value) : value;
}

/* Lists the formats of one system at the cursor: their number, and size and text of each. system: borrowed like the
 * texts until weir_trace_formats_parse(); NULL: skips them. */
void weir_trace_formats_list(struct weir_trace_formats *list, const char *system, struct weir_cursor *cursor);

/* Gives the formats that can be parsed to tep. Allocates, forks: the caller has one thread. */
void weir_trace_formats_parse(struct weir_trace_formats *list, struct tep_handle *tep);

/* Releases the list. A zeroed list is allowed. */
void weir_trace_formats_fini(struct weir_trace_formats *list);

#endif
