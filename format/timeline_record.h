/*
 * The timeline of a recording: records that say how much readers drained, lost and waited, and when. They also say what
 * the output did meanwhile. Each record covers an interval, usually of a second. Layout: docs/format.md, "Timeline".
 *
 * A timeline record is an EVENT_UPDATE of a type that consumers do not know, and so skip. It names no event: perf takes
 * id 0 for the first one, and looks at the type then. Pure.
 */
#ifndef WEIR_FORMAT_TIMELINE_RECORD_H
#define WEIR_FORMAT_TIMELINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/perf_file.h"
#include "format/record_stream.h"

#define WEIR_TIMELINE_UPDATE      0x454d495452494557ull /* the type of the update: "WEIRTIME" */
#define WEIR_TIMELINE_READERS_MAX 1000u                 /* in one record */
#define WEIR_TIMELINE_NO_CPU      UINT16_MAX

/* One interval. Of an interval with several records, the figures of pool and output stand in the first record. */
struct weir_timeline_interval {
    uint64_t begin_ns, end_ns;  /* monotonic clock */
    uint64_t newest_sample_ns;  /* the newest sample that readers drained so far, by the samples' clock; 0: none */
    uint64_t output_bytes;      /* appended to the output */
    uint64_t lost_write_failed; /* samples that failed writes took */
    uint32_t latency_mean_us;   /* from the hand-over of a chunk to the file, over chunks that got there */
    uint32_t latency_max_us;
    uint32_t pool_per_mille; /* of the pool's chunks, in use at end_ns */
    uint32_t continues;      /* 1: tells of further readers in the interval of the record before; else 0 */
};

/* What one reader did in the interval. */
struct weir_timeline_reader {
    uint16_t reader;
    uint16_t first_cpu;         /* of the CPUs whose rings the reader drains; WEIR_TIMELINE_NO_CPU: rings of tasks */
    uint16_t cpu_count;         /* 0: rings of tasks */
    uint16_t fullest_per_mille; /* of the fullest of its rings, when the reader came to drain that ring */
    uint32_t wakeups;           /* from sleep, by rings with data */
    uint32_t waits;             /* steps that left records in rings, because no chunk of the pool was free */
    uint64_t bytes;             /* of records drained from its rings */
    uint64_t samples;           /* in these bytes */
    uint64_t lost_ring_full;    /* samples for which rings had no room */
    uint64_t lost_waiting;      /* of lost_ring_full, while the reader waited for a chunk */
    uint64_t lost_side;         /* side records for which rings had no room */
    uint64_t shed;              /* samples dropped under pressure */
};

_Static_assert(sizeof(struct weir_timeline_interval) == 56, "the record's fixed part, without its counts");
WEIR_FIELD_AT(struct weir_timeline_interval, newest_sample_ns, 16);
WEIR_FIELD_AT(struct weir_timeline_interval, latency_mean_us, 40);
WEIR_FIELD_AT(struct weir_timeline_interval, continues, 52);
_Static_assert(sizeof(struct weir_timeline_reader) == 64, "an entry of the record");
WEIR_FIELD_AT(struct weir_timeline_reader, wakeups, 8);
WEIR_FIELD_AT(struct weir_timeline_reader, bytes, 16);
WEIR_FIELD_AT(struct weir_timeline_reader, shed, 56);

/* Appends a record with `count` readers, WEIR_TIMELINE_READERS_MAX at most. Allocation errors stay in the buffer. */
void weir_record_timeline(struct weir_buf *out, const struct weir_timeline_interval *interval,
                          const struct weir_timeline_reader *readers, size_t count);

/* A timeline record as it was read. */
struct weir_timeline_view {
    struct weir_timeline_interval interval;
    size_t reader_count;
    const uint8_t *readers; /* borrowed from the record */
    size_t reader_bytes;    /* of each entry: sizeof(struct weir_timeline_reader), or more in later versions */
};

/* Returns whether the record is one of the timeline, and fills view, whose readers are inside the record. */
bool weir_timeline_parse(const struct weir_record_view *record, struct weir_timeline_view *view);

/* The entry at `index`, below reader_count. */
struct weir_timeline_reader weir_timeline_reader_at(const struct weir_timeline_view *view, size_t index);

#endif
