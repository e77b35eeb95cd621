/*
 * The timeline of a recording as a table or as JSON (docs/json.md): for `weir info --timeline`, and for programs that
 * want the timeline's JSON. One thread; allocates.
 */
#ifndef WEIR_FORMAT_TIMELINE_TEXT_H
#define WEIR_FORMAT_TIMELINE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/notice.h"
#include "format/perf_input.h"
#include "format/timeline_record.h"

/* Text of a timeline, made record by record. All zero but for json: nothing was taken yet. */
struct weir_timeline_text {
    bool json;
    bool is_open;                           /* an interval is: further records may tell of more readers */
    uint64_t intervals;                     /* taken */
    uint64_t first_ns;                      /* beginning of the recording's first interval; a file of -A has several */
    struct weir_timeline_interval interval; /* the last one; of a table also the next three */
    struct weir_timeline_reader sum;        /* of all readers of the interval */
    struct weir_timeline_reader fullest;    /* the reader with the fullest ring */
    size_t readers;                         /* of the interval, so far */
};

/* Appends the text of a record; a record that is not of the timeline has none. Returns whether it was of the timeline.
 */
bool weir_timeline_text_take(struct weir_timeline_text *text, const struct weir_record_view *record,
                             struct weir_buf *out);

/* Appends the end of the text: of JSON a whole list, empty without intervals. */
void weir_timeline_text_end(struct weir_timeline_text *text, struct weir_buf *out);

struct weir_timeline_options {
    const char *path;                       /* borrowed; "-": standard input */
    bool json;                              /* else a table */
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
    const struct weir_input_gate *gate;     /* borrowed; may be NULL */
    /* Takes text in order; borrowed until return. 0, or -errno with err, which ends the work. */
    int (*write)(void *ctx, const char *text, size_t bytes, struct weir_error *err);
    void *ctx; /* borrowed */
};

/* Shows the timeline. A recording without one is no error: a notice says so. Of a damaged recording, shows the readable
 * part before it fails. 0, or -errno with err: of weir_perf_input_open(), weir_perf_input_next() or the sink. Memory:
 * one interval. */
int weir_timeline_show(const struct weir_timeline_options *options, struct weir_error *err);

#endif
