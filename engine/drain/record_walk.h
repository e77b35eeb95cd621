/*
 * Walking whole records: finds boundaries and counts records, without decoding more than a header, an id and a time.
 * Readers walk on the hot path; the writer walks a chunk whose write has failed, to count the lost samples.
 */
#ifndef WEIR_ENGINE_DRAIN_RECORD_WALK_H
#define WEIR_ENGINE_DRAIN_RECORD_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/events/event_set.h"
#include "engine/kernel/id_map.h"
#include "format/bytes.h"

struct weir_walk_layout { /* where samples keep their fields; the same for every event of a recording */
    const struct weir_id_map *ids;
    /* Borrowed, by_cpu_count entries: for records without ids (weir_event_set.by_cpu); NULL: records have ids. */
    const struct weir_id_entry *by_cpu;
    size_t by_cpu_count;
    int id_offset;           /* in a sample, from the record's start: PERF_SAMPLE_IDENTIFIER; with by_cpu the word of
                              * PERF_SAMPLE_CPU, whose other half is 0 */
    int time_offset;         /* -1: samples have no time */
    unsigned trailer_bytes;  /* of the sample_id at the end of side records; 0: they have none */
    unsigned place_stride;   /* counter of a sample: samples[place * place_stride + event]; 0: per event only */
    bool maps_have_no_ids;   /* nobody asked for build ids in MMAP2 records: see weir_record_mend_maps() */
    unsigned sideband_event; /* with a place_stride, the walk counts side records too, all of them for this event. Their
                              * trailers have an id of this event or of a later one, or a CPU */
};

/* The layout of an open set, from which it borrows. place_stride and maps_have_no_ids are 0. */
struct weir_walk_layout weir_walk_layout_of(const struct weir_event_set *set);

/* The event and place of a sample, by the word at layout->id_offset; NULL: of no event of the set. Any thread. */
static inline const struct weir_id_entry *weir_walk_find(const struct weir_walk_layout *layout, uint64_t word)
{
    if (!layout->by_cpu)
        return weir_id_map_find(layout->ids, word);
    return word < layout->by_cpu_count && layout->by_cpu[word].id ? &layout->by_cpu[word] : NULL;
}

/* As weir_walk_find(), of a sample of `size` bytes; NULL also for one that is too short. Any thread. */
static inline const struct weir_id_entry *weir_walk_find_sample(const struct weir_walk_layout *layout,
                                                                const uint8_t *sample, uint32_t size)
{
    if (size < (uint32_t)layout->id_offset + sizeof(uint64_t))
        return NULL;
    return weir_walk_find(layout, weir_load_u64(sample + layout->id_offset));
}

#define WEIR_WALK_IDS 4u /* as many as a vector of 16 bytes has room for */

struct weir_walk_counts {
    uint64_t *samples;        /* see place_stride; owned by the holder of the struct */
    uint64_t other_bytes;     /* of all records but well-formed samples */
    uint64_t other_records;   /* neither samples nor reports of losses */
    uint64_t unknown_samples; /* with an unknown id, or too short for one; counted so that the sum is exact */
    uint64_t lost_reported;   /* sum of PERF_RECORD_LOST.lost */
    uint64_t throttled;       /* PERF_RECORD_THROTTLE */
    uint64_t aux_records;     /* PERF_RECORD_AUX */
    uint64_t aux_truncated;   /* of these, before a gap in the trace: the AUX area was full */
    uint64_t aux_end;         /* end of the last AUX record's bytes, as a position of the area; 0: none yet */
    /* Private to the walk: the first ids that it has met, which it counts on a fast path; the next walk reuses them. */
    uint32_t ids[WEIR_WALK_IDS];
    unsigned id_count;
    /* Of the last walk only. */
    uint64_t first_sample_ns, last_sample_ns; /* times of its first and its last sample; 0: it has none */
    bool ends_with_sample;                    /* a sample is its last record */
};

/*
 * Walks the records in [data, data + bytes), the first of which starts at data. Stops before a record that is not
 * whole, and before an invalid header (size below 8 or not a multiple of 8). Returns the bytes of the walked records;
 * -EBADMSG when the first header is invalid. Any thread; allocates nothing.
 */
int64_t weir_record_walk(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                         struct weir_walk_counts *counts);

/*
 * Bytes that a walk copies on its way, past the caches (base/copy.h), some lines with each sample. The walk waits for
 * one header after the other, the stores wait for memory, and both waits overlap.
 */
struct weir_walk_copy {
    uint8_t *to;         /* at the beginning of a cache line */
    const uint8_t *from; /* behind or beside the walked bytes */
    uint64_t bytes;      /* whole lines */
    uint64_t copied;     /* of these: whole lines, too */
};

/* As weir_record_walk(), and copies some or all of those bytes; none where it walks no sample. */
int64_t weir_record_walk_copying(const struct weir_walk_layout *layout, const uint8_t *data, uint64_t bytes,
                                 struct weir_walk_counts *counts, struct weir_walk_copy *copy);

/* Bytes of the whole records at the beginning of [data, data + bytes), the first of which starts at data. Any thread.
 */
size_t weir_record_whole_bytes(const uint8_t *data, size_t bytes);

/*
 * Clears the flag for a build id in all MMAP2 records of [data, data + bytes), which have been walked: for recordings
 * without build ids. The kernel makes one header of a mapping for all events that want the record. The kernel sets the
 * flag for another recorder's event that asks for build ids, and leaves the flag set for all later events
 * (perf_event_mmap_output() in kernel/events/core.c of Linux 6.18). perf then takes the device number for the length of
 * a build id, and aborts. Any thread.
 */
void weir_record_mend_maps(uint8_t *data, uint64_t bytes);

/*
 * Moves the sample_id of KSYMBOL, BPF_EVENT and TEXT_POKE records of [data, data + bytes), which have been walked, to
 * the end of the record, where consumers look for it. Zeros fill the gap. The kernel makes one header for all events
 * that want such a record. For each event the kernel adds the size of a sample_id to the header's size, and never
 * subtracts the previous one. (perf_event_ksymbol_output(), perf_event_bpf_output() and perf_event_text_poke_output()
 * in kernel/events/core.c of Linux 6.18.) Behind the sample_id of a second recorder's event stand bytes that nobody
 * wrote. Any thread.
 */
void weir_record_mend_trailers(const struct weir_walk_layout *layout, uint8_t *data, uint64_t bytes);

#endif
