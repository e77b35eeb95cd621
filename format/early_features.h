/*
 * Early features: a copy, in the head of a file, of the features that are known when the recording begins.
 *
 *     header │ ids │ attrs │ early header │ table │ payloads │ zeros │ data ...
 *
 * A perf.data file has its features behind the data, written last, so a killed recording has none. Its tracepoints
 * could then be decoded only on the kernel that recorded them, and its compressed data not at all. So the head holds a
 * copy of all features that do not depend on the data. The copy is behind the attrs, where consumers do not look.
 *
 * Table and payloads have the form of the features section (format/features.h), with offsets from the file's start. The
 * early header holds the feature bits, the length, and a checksum, because a machine that crashed may have written a
 * part only.
 *
 * The copy stays when the file is finished. So a file that was cut can be completed. And a file whose own features find
 * no room ends with a table of a few hundred bytes that points to the copy.
 */
#ifndef WEIR_FORMAT_EARLY_FEATURES_H
#define WEIR_FORMAT_EARLY_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/features.h"

#define WEIR_EARLY_MAGIC 0x594c524145524957ull /* "WIREARLY" */

struct weir_early_header {
    uint64_t magic;
    uint64_t bytes;       /* of table and payloads, which follow the header */
    uint64_t checksum;    /* of table and payloads: FNV-1a, 64 bits */
    uint64_t features[4]; /* in the form of the file's header */
};

_Static_assert(sizeof(struct weir_early_header) == 56, "early header");
WEIR_FIELD_AT(struct weir_early_header, magic, 0);
WEIR_FIELD_AT(struct weir_early_header, bytes, 8);
WEIR_FIELD_AT(struct weir_early_header, checksum, 16);
WEIR_FIELD_AT(struct weir_early_header, features, 24);

/* Appends header, table and payloads for file offset `offset`. 0 or -ENOMEM. */
int weir_early_features_append(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input);

/* Appends, for the end of a file, the table that weir_early_features_append() has written at `written`. The places in
 * it are valid anywhere in the file. features: set to its feature bits. 0 or -ENOMEM. */
int weir_early_features_append_table(struct weir_buf *out, const void *written, uint64_t features[4]);

/* Returns the offset of the early header in a file whose attrs end at attrs_end. */
uint64_t weir_early_features_offset(uint64_t attrs_end);

/* Returns whether header has the magic, and table and payloads fit into room bytes. */
bool weir_early_header_is_sane(const struct weir_early_header *header, uint64_t room);

/* Returns whether data (header->bytes of table and payloads) matches the checksum. */
bool weir_early_features_are_whole(const struct weir_early_header *header, const uint8_t *data);

#endif
