/*
 * Records and index of AUX areas: what a decoder is told of them (AUXTRACE_INFO), a stretch of an area's bytes
 * (AUXTRACE, with the bytes behind it), and where in a file these stretches are (feature AUXTRACE).
 *
 * The bytes behind an AUXTRACE record are no part of its size; a reader that does not know the type cannot skip them.
 * No record of these has a sample_id trailer.
 *
 * Source: struct perf_record_auxtrace_info and perf_record_auxtrace in tools/lib/perf/include/perf/event.h,
 * enum auxtrace_type and struct auxtrace_index_entry in tools/perf/util/auxtrace.h, Linux 6.1.
 */
#ifndef WEIR_FORMAT_AUX_RECORDS_H
#define WEIR_FORMAT_AUX_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/perf_file.h"

#define WEIR_AUXTRACE_RECORD_BYTES 48u /* of the record alone */
#define WEIR_AUXTRACE_ALIGN        8u  /* the bytes behind it are padded with zeros to a multiple of this */

enum weir_aux_type { /* PERF_AUXTRACE_*: who decodes */
    WEIR_AUX_INTEL_PT = 1,
    WEIR_AUX_INTEL_BTS = 2,
    WEIR_AUX_CS_ETM = 3,
    WEIR_AUX_ARM_SPE = 4,
};

struct weir_auxtrace {  /* a stretch of the bytes of one AUX area */
    uint64_t bytes;     /* behind the record, padding included: a multiple of WEIR_AUXTRACE_ALIGN */
    uint64_t offset;    /* of the first of them, in all that the area has ever held; in snapshots: in the area */
    uint64_t reference; /* orders the stretches of all areas: a TSC or a random number, as the decoder wants it */
    uint32_t index;     /* of the area */
    int32_t task;       /* -1: of a CPU's area, any */
    int32_t cpu;        /* -1: of a task's area, any */
};

struct weir_aux_index_entry { /* struct auxtrace_index_entry */
    uint64_t file_offset;     /* of an AUXTRACE record, from the file's start */
    uint64_t bytes;           /* of that record: WEIR_AUXTRACE_RECORD_BYTES */
};

_Static_assert(sizeof(struct weir_aux_index_entry) == 16, "struct auxtrace_index_entry");
WEIR_FIELD_AT(struct weir_aux_index_entry, file_offset, 0);
WEIR_FIELD_AT(struct weir_aux_index_entry, bytes, 8);

/* The most words that weir_auxtrace_info_append() takes: what a record has room for. */
#define WEIR_AUXTRACE_INFO_WORDS_MAX 8189u

/* Fills WEIR_AUXTRACE_RECORD_BYTES bytes at `to`, of any alignment. Any thread, does not allocate. */
void weir_auxtrace_write(void *to, const struct weir_auxtrace *auxtrace);

/* The stretch that an AUXTRACE record of at least WEIR_AUXTRACE_RECORD_BYTES tells of. Any thread. */
struct weir_auxtrace weir_auxtrace_read(const void *record);

/* Appends an AUXTRACE_INFO record. type: enum weir_aux_type. words: what this type's decoder needs to know; count: at
 * most WEIR_AUXTRACE_INFO_WORDS_MAX. 0 or -ENOMEM. */
int weir_auxtrace_info_append(struct weir_buf *out, uint32_t type, const uint64_t *words, size_t count);

#endif
