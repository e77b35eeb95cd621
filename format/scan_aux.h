/*
 * What a recording holds of AUX areas: how much of each, and what does not add up. Part of format/scan.h.
 *
 * An AUXTRACE record tells of a stretch of an area: so many bytes, from an offset on that counts all that the area has
 * ever held. In a full trace each begins where the one before ends, up to 7 bytes before that, which were padding, or
 * behind it: then what lies between is not in the file. (The driver of intel_bts leaves the end of an area unused where
 * it has no room for an entry of 24 bytes; less than that is no gap.) A snapshot is of what was newest then, so
 * stretches of two may have bytes in common, and nothing is said of how they follow.
 *
 * Memory: 32 bytes for each area up to the greatest index, of WEIR_SCAN_AREAS at most, and 16 for each AUXTRACE record,
 * of as many as an index may have that is read again (WEIR_FEATURE_MAX_BYTES). One thread.
 */
#ifndef WEIR_FORMAT_SCAN_AUX_H
#define WEIR_FORMAT_SCAN_AUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/aux_records.h"
#include "format/record_stream.h"
#include "format/scan_problem.h"

#define WEIR_SCAN_AREAS 65536u /* indices are below this, or stretches are not compared */

struct weir_scan_area {
    uint64_t stretches;
    uint64_t end;       /* of the last one, padding included */
    uint64_t gap_bytes; /* between stretches */
    int32_t task, cpu;  /* of the first one */
};

struct weir_scan_aux {
    bool has_info, is_snapshot; /* as AUXTRACE_INFO and AUX records say */
    uint32_t type;              /* enum weir_aux_type, of AUXTRACE_INFO */

    uint64_t stretches, bytes;    /* AUXTRACE records, and what is behind them */
    uint64_t area_count;          /* that have a stretch */
    struct weir_scan_area *areas; /* owned; by index */
    size_t area_room;

    uint64_t told, told_bytes; /* AUX records, and the bytes that they tell of */
    uint64_t truncated, partial, collisions;

    uint64_t samples, sampled_bytes; /* samples with a piece of an area (PERF_SAMPLE_AUX) */

    struct weir_scan_problem backward; /* a stretch begins before the one before of its area ends */
    struct weir_scan_problem restart;  /* so, but at 0: as when the CPU was away, and the area is a new one */
    struct weir_scan_problem stranger; /* is of another task or CPU: perf refuses the whole file */
    struct weir_scan_problem odd;      /* its bytes are no multiple of WEIR_AUXTRACE_ALIGN */
    struct weir_scan_problem far;      /* its area's index is WEIR_SCAN_AREAS or more */
    struct weir_scan_problem packed;   /* came out of a COMPRESSED record, where no bytes can be behind it */

    struct weir_aux_index_entry *index; /* owned; the records of the main file, ascending */
    size_t index_count, index_room;
    bool is_index_full; /* there were more */
};

/* Notes a record. in_main_file: its offset is one in the file that the features are in. 0 or -ENOMEM. */
int weir_scan_aux_note(struct weir_scan_aux *aux, const struct weir_record_view *record, bool in_main_file);
void weir_scan_aux_fini(struct weir_scan_aux *aux);

/* Whether records, samples or AUXTRACE_INFO tell of AUX areas. */
bool weir_scan_has_aux(const struct weir_scan_aux *aux);

/* Whether the payload of a feature AUXTRACE has the records that there are, in their order. Where it does not, says so
 * in what (NULL: does not). */
bool weir_scan_aux_match_index(const struct weir_scan_aux *aux, const struct weir_buf *payload, char *what,
                               size_t what_bytes);

#endif
