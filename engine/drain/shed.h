/*
 * Shedding: while the output is behind, a recording gives up little, in order not to lose more. Each step includes all
 * earlier steps. The user chooses the last step (--shed). The pressure (pressure.h) decides when a step begins, and a
 * step ends when the pressure falls:
 *
 *     step      from pressure   effect
 *     BATCHES   SOME            rounds are four times as far apart: readers hand over fuller chunks, so that the pool
 *                               holds more. No record changes.
 *     STACKS    HIGH            dumps of user stacks are cut to a quarter (1 KiB at least), from the outer end; and
 *                               always to their used part, which loses nothing
 *     CPUS      FULL            a reader with more than its share of the pool on the way to the disk leaves its data
 *                               rings alone; of a ring that is more than half full it drops the oldest samples
 *
 * Side records are never shed: neither those of sideband rings, whose reader goes on taking chunks, nor those between
 * the samples of data rings (LOST, THROTTLE, READ). Samples that are kept in memory (-M, --overwrite) are not shed
 * either, because the oldest ones make room there. Nor are the samples that readers drain at the end, when no more
 * come.
 *
 * The kernel could have written a trimmed dump itself. The dump's size word and the record's size are smaller. The word
 * behind the dump says how much of the dump is used, and all later fields have moved up. The innermost frames stay.
 *
 * Dropped samples are counted for each ring and event. A LOST_SAMPLES record reports them, with the event's id and the
 * time of the last dropped sample. It stands in the file before the next record of that ring, and before the reader
 * passes the epoch. So every consumer, each file of a rotation and each round has the loss where it happened. Its misc
 * field has WEIR_RECORD_MISC_SHED (format/perf_file.h), which tells it from the kernel's own counts.
 *
 * All functions but those of the plan run on the reader's thread, on bytes that it reads anyway: no allocation, no
 * system call. The plan is shared and constant.
 */
#ifndef WEIR_ENGINE_DRAIN_SHED_H
#define WEIR_ENGINE_DRAIN_SHED_H

#include <stdint.h>

#include "engine/drain/record_walk.h"
#include "engine/events/event_list.h"
#include "engine/kernel/ring.h"
#include "format/sample_layout.h"

enum weir_shed { /* --shed: the last step that may be taken */
    WEIR_SHED_BATCHES,
    WEIR_SHED_STACKS,
    WEIR_SHED_CPUS,
    WEIR_SHED_COUNT,
};

/* "batches", "stacks", "cpus". */
const char *weir_shed_word(enum weir_shed shed);

#define WEIR_SHED_ROUND_FACTOR 4u /* rounds are so many times as far apart from BATCHES on */

struct weir_shed_event {
    struct weir_sample_layout layout;
    uint32_t stack_bytes; /* bytes of a trimmed dump, a multiple of 8; 0: samples have no dump */
};

struct weir_shed_plan {
    enum weir_shed most;
    struct weir_shed_event *events; /* owned; by event */
    unsigned event_count;
    bool has_stacks;
};

/* The events' attrs must be complete. 0 or -ENOMEM. */
int weir_shed_plan_init(struct weir_shed_plan *plan, enum weir_shed most, const struct weir_event_list *list);
void weir_shed_plan_fini(struct weir_shed_plan *plan);

struct weir_shed_trimmed {
    uint64_t samples; /* that lost used bytes of their stack */
    uint64_t bytes;   /* removed from the file, unused parts of dumps included */
};

/*
 * Trims the samples in [data, data + bytes), which holds whole records only, and closes the gaps. Returns the bytes
 * that are left; adds to *trimmed.
 */
uint64_t weir_shed_trim(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout, uint8_t *data,
                        uint64_t bytes, struct weir_shed_trimmed *trimmed);

/* The dropped samples of one event in one ring. Reader thread. */
struct weir_shed_gap {
    uint64_t samples;           /* in all */
    uint64_t untold;            /* of these, not reported by a record yet */
    struct weir_sample_id last; /* of the last dropped sample */
};

/*
 * Skips samples from the ring's tail on. Stops when at most `kept` bytes are left below head, or before a record that
 * is no sample of a known event. Returns the position where it stops, and does not move the tail. Adds the skipped
 * samples to gaps[event]. Reads only the fixed fields of each sample.
 */
uint64_t weir_shed_drop(const struct weir_shed_plan *plan, const struct weir_walk_layout *layout,
                        const struct weir_ring *ring, uint64_t head, uint64_t kept, struct weir_shed_gap *gaps);

/* The longest record that reports a gap. */
#define WEIR_SHED_TOLD_BYTES_MAX 64u

/* Writes a LOST_SAMPLES record of the untold samples, which are then told. Returns its bytes; 0: none is untold. */
uint32_t weir_shed_tell(const struct weir_shed_plan *plan, unsigned event, struct weir_shed_gap *gap,
                        uint8_t to[WEIR_SHED_TOLD_BYTES_MAX]);

#endif
