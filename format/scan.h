/*
 * One pass over a recording: counts its contents and finds contradictions. Memory grows with events, CPUs and AUX areas
 * only, and with AUXTRACE records up to 64 MiB. One thread; allocates.
 */
#ifndef WEIR_FORMAT_SCAN_H
#define WEIR_FORMAT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "format/ledger_record.h"
#include "format/perf_input.h"
#include "format/record_schema.h"
#include "format/scan_aux.h"
#include "format/scan_order.h"
#include "format/scan_problem.h"
#include "format/stream_cuts.h"

struct weir_scan_event { /* counts of one event */
    uint64_t samples;
    uint64_t merged;       /* samples for which these stand beside themselves (format/merge_record.h) */
    uint64_t lost;         /* sum of its LOST records: records that the rings had no room for */
    uint64_t lost_samples; /* sum of its LOST_SAMPLES records: the kernel's own count */
    uint64_t shed;         /* sum of its LOST_SAMPLES records with WEIR_RECORD_MISC_SHED: dropped by weir */
    uint64_t throttles, unthrottles;
};

/* The records of a CPU between two times off line (WEIR_RECORD_MISC_RETURNED). */
struct weir_scan_span {
    size_t opening; /* number of times that the CPU had come back before */
    uint64_t first_ns, last_ns;
};

#define WEIR_SCAN_SPANS 64u /* spans that are distinguished per CPU */

struct weir_scan_cpu { /* counts of one CPU */
    uint64_t samples, records;
    uint64_t lost_samples;        /* by LOST_SAMPLES records that name it; dropped samples (shed) are not in it */
    uint64_t first_ns, last_ns;   /* times of its records, if they have one */
    struct weir_scan_span *spans; /* owned; ascending by opening */
    size_t span_count;
};

struct weir_scan_part { /* a file of a directory other than the main one */
    uint64_t good_end;  /* end of the whole records */
    uint64_t file_bytes;
};

struct weir_scan {
    uint64_t records, bytes;
    uint64_t types[WEIR_RECORD_TYPES];
    uint64_t samples, merged, lost, lost_samples, shed;
    uint64_t lost_unnamed; /* sum of LOST records whose id the header does not name: losses of side records, if the
                              header names one event only. Not part of lost */
    uint64_t first_sample_ns, last_sample_ns; /* 0: no sample has a time */
    struct weir_scan_event *events;           /* owned; one per event of the input */
    size_t event_count;
    struct weir_scan_cpu *cpus; /* owned; by number */
    size_t cpu_count;
    uint64_t cpu_changes;         /* EVENT_UPDATE records of CPUs: changes of the recorded CPUs during the recording */
    struct weir_cpuset last_cpus; /* owned; the list of the last such record */

    struct weir_scan_problem unknown_type; /* perf before 6.16 refuses the whole file, later ones skip the record */
    struct weir_scan_problem short_record; /* shorter than its type requires, or a sample's field lies outside of it */
    struct weir_scan_problem odd_size;     /* not a multiple of 8 */
    struct weir_scan_problem unknown_id;   /* a sample of no event in the header */
    struct weir_scan_problem late_record;  /* older than the time that an earlier round guarantees */
    struct weir_scan_problem disorder;   /* older than the previous record of its id, by more than an interrupt lasts */
    struct weir_scan_problem clock_step; /* older likewise, by a clock that may be set: somebody set it */
    uint64_t clock_step_ns;              /* the longest clock_step */
    struct weir_scan_order order;
    struct weir_scan_problem wrong_raw; /* a sample of a tracepoint whose own type is not its event's */

    struct weir_scan_aux aux;          /* of AUX areas */
    struct weir_ledger_reader ledgers; /* that the recorder has kept in the data */

    struct weir_stream_cuts cuts; /* of a stream */

    uint64_t expanded_max; /* most bytes that a COMPRESSED record has expanded to */

    /* End of the whole records in the input's own file; the bytes behind it cannot be read. */
    uint64_t good_end;
    struct weir_scan_part *parts; /* owned; the files DIR/data.0 and following of a directory */
    size_t part_count;
    uint64_t cut_records, cut_samples; /* of the counted records and samples, those behind good_end */
    struct weir_error end; /* the damage in the first damaged file; code 0: all data ends at a whole record */

    uint64_t newest_ns, round_ns, barrier_ns; /* state of the rounds, see late_record in scan.c */
};

/*
 * Reads the rest of input; of a directory, the rest of each file. stop_at_nonsense: for bytes that may not be records
 * at all. A record of unknown type, or shorter than its type requires, then ends the data as well.
 *
 * 0, or -ENOMEM or -errno of read(2) with err. Damage is a finding (scan->end), not an error. Release *scan with
 * weir_scan_fini() in any case.
 */
int weir_scan_run(struct weir_scan *scan, struct weir_perf_input *input, bool stop_at_nonsense, struct weir_error *err);
void weir_scan_fini(struct weir_scan *scan);

/* Returns how often a CPU was off line: between spans[i] and spans[i + 1] for each i below that number. */
size_t weir_scan_gaps(const struct weir_scan *scan, size_t cpu);

/* Returns whether the CPU was off line at the end of the recording. */
bool weir_scan_is_gone_at_end(const struct weir_scan *scan, size_t cpu);

/* Returns whether records of the data were compressed. */
bool weir_scan_is_compressed(const struct weir_scan *scan);

#endif
