/*
 * One pass over a recording: how much of what is in it, and what does not add up. Memory grows with events, CPUs and
 * AUX areas only, and with AUXTRACE records up to 64 MiB. One thread; allocates.
 */
#ifndef WEIR_FORMAT_SCAN_H
#define WEIR_FORMAT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "format/perf_input.h"
#include "format/record_schema.h"
#include "format/scan_aux.h"
#include "format/scan_order.h"
#include "format/scan_problem.h"

struct weir_scan_event { /* of one event */
    uint64_t samples;
    uint64_t lost;         /* sum of its LOST records: what rings had no room for, as readers saw it */
    uint64_t lost_samples; /* sum of its LOST_SAMPLES records: the kernel's own count */
    uint64_t shed;         /* the same of those with WEIR_RECORD_MISC_SHED: dropped by weir */
    uint64_t throttles, unthrottles;
};

/* Records of a CPU between two times that it was away (WEIR_RECORD_MISC_RETURNED). */
struct weir_scan_span {
    size_t opening; /* how often it had come back by then */
    uint64_t first_ns, last_ns;
};

#define WEIR_SCAN_SPANS 64u /* of one CPU that are told apart */

struct weir_scan_cpu { /* of one CPU */
    uint64_t samples, records;
    uint64_t first_ns, last_ns;   /* of its records with a time */
    struct weir_scan_span *spans; /* owned; ascending by opening */
    size_t span_count;
};

struct weir_scan_part { /* a file of a directory besides the main one */
    uint64_t good_end;  /* whole records end here */
    uint64_t file_bytes;
};

struct weir_scan {
    uint64_t records, bytes;
    uint64_t types[WEIR_RECORD_TYPES];
    uint64_t samples, lost, lost_samples, shed;
    uint64_t lost_unnamed; /* by LOST records whose id the header does not name: of side records, where it names one
                            * event only; lost does not have them */
    uint64_t first_sample_ns, last_sample_ns; /* 0 without samples that have a time */
    struct weir_scan_event *events;           /* owned; one per event of the input */
    size_t event_count;
    struct weir_scan_cpu *cpus; /* owned; by number */
    size_t cpu_count;
    uint64_t cpu_changes;         /* EVENT_UPDATE of CPUs: how often any came or went while it was recorded */
    struct weir_cpuset last_cpus; /* owned; what the last of these listed */

    struct weir_scan_problem unknown_type; /* perf refuses the whole file */
    struct weir_scan_problem short_record; /* shorter than its type must be, or a sample's field is outside of it */
    struct weir_scan_problem odd_size;     /* no multiple of 8 */
    struct weir_scan_problem unknown_id;   /* a sample of no event in the header */
    struct weir_scan_problem late_record;  /* older than what the rounds before it promised */
    struct weir_scan_problem disorder;     /* older by more than an interrupt takes than the one before of its id */
    struct weir_scan_problem clock_step;   /* the same, by a clock that may be set: it was */
    uint64_t clock_step_ns;                /* the longest of these */
    struct weir_scan_order order;
    struct weir_scan_problem wrong_raw; /* a tracepoint's sample whose own type is not its event's */

    struct weir_scan_aux aux; /* of AUX areas */

    uint64_t expanded_max; /* most bytes that a COMPRESSED record has expanded to */

    /* Whole records end here; what is behind could not be read. Of the input's own file. */
    uint64_t good_end;
    struct weir_scan_part *parts; /* owned; of a directory DIR/data.0 and following */
    size_t part_count;
    uint64_t cut_records, cut_samples; /* of those that were counted: stand behind good_end */
    struct weir_error end;             /* of the first file that is damaged; code 0: all data ended where it should */

    uint64_t newest_ns, round_ns, barrier_ns; /* the rounds' state, see late_record in scan.c */
};

/* Reads all that input has left, of a directory what each of its files has. stop_at_nonsense: a record of no known
 * type, or shorter than its type must be, is the end as well: for bytes that nobody has said to be records. 0, or
 * -ENOMEM or -errno of read(2) with err; damage is a finding (scan->end), not an error. *scan is to be given to
 * weir_scan_fini() in any case. */
int weir_scan_run(struct weir_scan *scan, struct weir_perf_input *input, bool stop_at_nonsense, struct weir_error *err);
void weir_scan_fini(struct weir_scan *scan);

/* How often a CPU was away: between spans[i] and spans[i + 1] for each i below that. */
size_t weir_scan_gaps(const struct weir_scan *scan, size_t cpu);

/* The CPU had gone when recording ended, after its last record. */
bool weir_scan_is_gone_at_end(const struct weir_scan *scan, size_t cpu);

/* Records of the data came out of COMPRESSED ones. */
bool weir_scan_is_compressed(const struct weir_scan *scan);

#endif
