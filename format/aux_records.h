/*
 * Records and index of AUX areas. AUXTRACE_INFO has the parameters of the decoder. An AUXTRACE record describes a
 * stretch of an area's bytes, which follow the record. The feature AUXTRACE is the index: the places of these stretches
 * in the file.
 *
 * The size of an AUXTRACE record does not count the bytes behind it, so a consumer that does not know the type cannot
 * skip them. None of these records has a sample_id trailer.
 *
 * Source: struct perf_record_auxtrace_info and perf_record_auxtrace in tools/lib/perf/include/perf/event.h, enum
 * auxtrace_type and struct auxtrace_index_entry in tools/perf/util/auxtrace.h, Linux 6.1.
 */
#ifndef WEIR_FORMAT_AUX_RECORDS_H
#define WEIR_FORMAT_AUX_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/perf_file.h"

#define WEIR_AUXTRACE_RECORD_BYTES 48u /* the record without the bytes behind it */
#define WEIR_AUXTRACE_ALIGN        8u  /* the bytes behind the record are padded with zeros to a multiple of this */

enum weir_aux_type { /* PERF_AUXTRACE_*: the decoder */
    WEIR_AUX_INTEL_PT = 1,
    WEIR_AUX_INTEL_BTS = 2,
    WEIR_AUX_CS_ETM = 3,
    WEIR_AUX_ARM_SPE = 4,
};

struct weir_auxtrace { /* a stretch of the bytes of one AUX area; the body of an AUXTRACE record */
    uint64_t bytes;    /* behind the record, with padding: a multiple of WEIR_AUXTRACE_ALIGN */
    uint64_t
        offset; /* of the first byte, counted over all bytes that the area has ever held; in snapshots: in the area */
    uint64_t reference; /* orders the stretches of all areas: a TSC or a random number, as the decoder expects */
    uint32_t index;     /* of the area */
    int32_t task;       /* -1: any; the area belongs to a CPU */
    int32_t cpu;        /* -1: any; the area belongs to a task */
    uint32_t reserved;  /* 0 */
};

_Static_assert(sizeof(struct perf_event_header) + sizeof(struct weir_auxtrace) == WEIR_AUXTRACE_RECORD_BYTES,
               "struct perf_record_auxtrace");
WEIR_FIELD_AT(struct weir_auxtrace, bytes, 0);
WEIR_FIELD_AT(struct weir_auxtrace, offset, 8);
WEIR_FIELD_AT(struct weir_auxtrace, reference, 16);
WEIR_FIELD_AT(struct weir_auxtrace, index, 24);
WEIR_FIELD_AT(struct weir_auxtrace, task, 28);
WEIR_FIELD_AT(struct weir_auxtrace, cpu, 32);
WEIR_FIELD_AT(struct weir_auxtrace, reserved, 36);

struct weir_aux_index_entry { /* struct auxtrace_index_entry */
    uint64_t file_offset;     /* of an AUXTRACE record, from the file's start */
    uint64_t bytes;           /* of that record: always WEIR_AUXTRACE_RECORD_BYTES */
};

_Static_assert(sizeof(struct weir_aux_index_entry) == 16, "struct auxtrace_index_entry");
WEIR_FIELD_AT(struct weir_aux_index_entry, file_offset, 0);
WEIR_FIELD_AT(struct weir_aux_index_entry, bytes, 8);

/* The most words that one AUXTRACE_INFO record has room for. */
#define WEIR_AUXTRACE_INFO_WORDS_MAX 8189u

/* Writes a record of WEIR_AUXTRACE_RECORD_BYTES at `to`, of any alignment. Any thread, does not allocate. */
void weir_auxtrace_write(void *to, const struct weir_auxtrace *auxtrace);

/* Reads an AUXTRACE record of at least WEIR_AUXTRACE_RECORD_BYTES. Any thread. */
struct weir_auxtrace weir_auxtrace_read(const void *record);

/* Appends an AUXTRACE_INFO record. type: enum weir_aux_type. words: the parameters of this type's decoder; count: at
 * most WEIR_AUXTRACE_INFO_WORDS_MAX. 0 or -ENOMEM. */
int weir_auxtrace_info_append(struct weir_buf *out, uint32_t type, const uint64_t *words, size_t count);

#endif
