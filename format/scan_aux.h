/*
 * Counts the contents of AUX areas in a recording, and finds contradictions. Part of format/scan.h.
 *
 * An AUXTRACE record describes a stretch of an area: a length, and an offset that counts all bytes that the area has
 * ever held. In a full trace each stretch begins where the previous one ends, or up to 7 bytes before that, which were
 * padding. A stretch that begins later leaves a gap: bytes that are not in the file. (The driver of intel_bts leaves
 * the end of an area unused if an entry of 24 bytes does not fit. So a distance of less than 24 bytes is no gap.) A
 * snapshot holds the newest bytes at its time, so stretches of two snapshots may overlap and are not compared.
 *
 * Memory: 32 bytes for each area up to the greatest index, at most WEIR_SCAN_AREAS. 16 bytes for each AUXTRACE record,
 * at most as many as fit in a feature of WEIR_FEATURE_MAX_BYTES. One thread.
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

#define WEIR_SCAN_AREAS 65536u /* stretches of areas with a greater index are not compared */

struct weir_scan_area {
    uint64_t stretches;
    uint64_t end;       /* end of the last stretch, with padding */
    uint64_t gap_bytes; /* between stretches */
    int32_t task, cpu;  /* of the first stretch */
};

struct weir_scan_aux {
    bool has_info, is_snapshot; /* by AUXTRACE_INFO and AUX records */
    uint32_t type;              /* enum weir_aux_type, of AUXTRACE_INFO */

    uint64_t stretches, bytes;    /* AUXTRACE records, and the bytes behind them */
    uint64_t area_count;          /* areas that have a stretch */
    struct weir_scan_area *areas; /* owned; by index */
    size_t area_room;

    uint64_t told, told_bytes; /* AUX records, and the bytes that they announce */
    uint64_t truncated, partial, collisions;

    uint64_t samples, sampled_bytes; /* samples that contain a piece of an area (PERF_SAMPLE_AUX) */

    struct weir_scan_problem backward; /* a stretch begins before the end of its area's previous one */
    struct weir_scan_problem
        restart; /* a stretch begins at 0 again, as after the CPU was off line, when the area is new */
    struct weir_scan_problem stranger; /* a stretch of another task or CPU than its area: perf refuses the whole file */
    struct weir_scan_problem odd;      /* its length is not a multiple of WEIR_AUXTRACE_ALIGN */
    struct weir_scan_problem far;      /* its area's index is WEIR_SCAN_AREAS or more */
    struct weir_scan_problem packed;   /* inside a COMPRESSED record, where no bytes can follow it */

    struct weir_aux_index_entry *index; /* owned; the records of the main file, ascending */
    size_t index_count, index_room;
    bool is_index_full; /* index is full; further records are not in it */
};

/* Takes a record. in_main_file: its offset is in the file that has the features. 0 or -ENOMEM. */
int weir_scan_aux_note(struct weir_scan_aux *aux, const struct weir_record_view *record, bool in_main_file);
void weir_scan_aux_fini(struct weir_scan_aux *aux);

/* Returns whether records, samples or AUXTRACE_INFO mention AUX areas. */
bool weir_scan_has_aux(const struct weir_scan_aux *aux);

/* Returns whether the payload of a feature AUXTRACE lists exactly the records of the file, in their order. On a
 * mismatch, writes the reason to what (NULL: not wanted). */
bool weir_scan_aux_match_index(const struct weir_scan_aux *aux, const struct weir_buf *payload, char *what,
                               size_t what_bytes);

#endif
