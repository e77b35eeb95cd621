/*
 * Features of a recording that is not finished: a copy, in the head, of those that are known when it begins.
 *
 *     header │ ids │ attrs │ early header │ table │ payloads │ zeros │ data ...
 *
 * The features of perf.data stand behind the data and are written last, so a recording that was killed has none: its
 * tracepoints could be decoded only with the formats of the very kernel that recorded them, its compressed data not at
 * all. So the head holds a copy of all that does not depend on what is recorded, behind the attrs, where readers do not
 * look. Table and payloads are those of the features section (format/features.h), with offsets from the file's start;
 * the early header says which features, how long, and a checksum, because a machine that crashed may have written a
 * part. The copy stays when the file is finished: so a file that was cut can be completed, too, and one whose own
 * features find no room ends with a table of a few hundred bytes, in which each place is that of the copy.
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
    uint64_t bytes;       /* of table and payloads, which follow */
    uint64_t checksum;    /* of them: FNV-1a, 64 bits */
    uint64_t features[4]; /* as those of the file's header */
};

_Static_assert(sizeof(struct weir_early_header) == 56, "early header");
WEIR_FIELD_AT(struct weir_early_header, magic, 0);
WEIR_FIELD_AT(struct weir_early_header, bytes, 8);
WEIR_FIELD_AT(struct weir_early_header, checksum, 16);
WEIR_FIELD_AT(struct weir_early_header, features, 24);

/* Appends header, table and payloads for the place at file offset `offset`. 0 or -ENOMEM. */
int weir_early_features_append(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input);

/* Appends the table of what weir_early_features_append() has written there, for the end of a file: the places that it
 * names do not depend on its own. features: the bits that belong to it. 0 or -ENOMEM. */
int weir_early_features_append_table(struct weir_buf *out, const void *written, uint64_t features[4]);

/* Where they stand in a file whose attrs end there. */
uint64_t weir_early_features_offset(uint64_t attrs_end);

/* True when header has the magic and table and payloads fit into room bytes. */
bool weir_early_header_is_sane(const struct weir_early_header *header, uint64_t room);

/* True when data, header->bytes of table and payloads, is what was written. */
bool weir_early_features_are_whole(const struct weir_early_header *header, const uint8_t *data);

#endif
