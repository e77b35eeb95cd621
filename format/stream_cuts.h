/*
 * The records of a stream that a file has in its head or behind its data instead: attrs, features, tracing data, build
 * ids. A file that is made of a stream leaves them out. perf would add the events of such attrs a second time.
 *
 * One thread; allocates.
 */
#ifndef WEIR_FORMAT_STREAM_CUTS_H
#define WEIR_FORMAT_STREAM_CUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/record_stream.h"

#define WEIR_STREAM_CUTS_MAX 65536u

struct weir_stream_range { /* bytes [begin, end) of the stream */
    uint64_t begin, end;
};

struct weir_stream_cuts {           /* all zeros: empty */
    struct weir_stream_range *list; /* owned; ascending, no two adjacent */
    size_t count, room;
    uint64_t records;
    struct weir_buf build_ids; /* owned; the BUILD_ID records, one after another, as the feature has them */
};

/* Returns whether records of that type are such. */
bool weir_stream_cuts_has(uint32_t type);

/* Notes a whole record of a stream if it is to be cut out. 0; -ENOMEM; -E2BIG beyond WEIR_STREAM_CUTS_MAX ranges, or
 * when the build ids are larger than a feature may be. */
int weir_stream_cuts_note(struct weir_stream_cuts *cuts, const struct weir_record_view *record);

/* Makes the list of the ranges of [begin, end) that stay. *kept: owned by the caller. 0 or -ENOMEM. */
int weir_stream_cuts_kept(const struct weir_stream_cuts *cuts, uint64_t begin, uint64_t end,
                          struct weir_stream_range **kept, size_t *count);

void weir_stream_cuts_fini(struct weir_stream_cuts *cuts);

#endif
