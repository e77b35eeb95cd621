/*
 * The formats of tracepoints in a TRACING_DATA section: listed while the section is read, then parsed by libtraceevent,
 * which crashes on some that are damaged. So none is listed that is too large, too deeply nested or no text, and a
 * child process tries all of them first: those that it does not survive are left out. One thread.
 */
#ifndef WEIR_FORMAT_TRACE_FORMATS_H
#define WEIR_FORMAT_TRACE_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bytes.h"

#define WEIR_TRACE_NESTING_MAX 48u /* libtraceevent's parser and printer are recursive */

struct tep_handle;

/* A format as the section has it; borrowed from there. */
struct weir_trace_format {
    const char *system;
    const uint8_t *text;
    size_t bytes;
    bool is_bad; /* libtraceevent does not survive it */
};

struct weir_trace_formats {
    struct weir_trace_format *items; /* owned */
    size_t count, capacity;
    size_t bytes_max; /* of one */
    char *scratch;    /* owned; where one is parsed, bytes_max and a zero: a child allocates nothing of ours */
    bool failed;      /* no memory */
};

/* Lists the formats of one system at the cursor: their number, and size and text of each. system: borrowed like the
 * texts until parse(); NULL: they are passed over. */
void weir_trace_formats_list(struct weir_trace_formats *list, const char *system, struct weir_cursor *cursor);

/* Gives those that can be parsed to tep. Allocates, forks: the caller has one thread. */
void weir_trace_formats_parse(struct weir_trace_formats *list, struct tep_handle *tep);

/* Frees what the list owns. {0} is fine. */
void weir_trace_formats_fini(struct weir_trace_formats *list);

#endif
