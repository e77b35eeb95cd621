/*
 * The tables of docs/format.md that describe structures byte by byte, held against structures that were written.
 *
 * Such a table stands under a title "#### NAME" and has the columns offset, bytes, field and where it comes from; an
 * offset is a sum of numbers and letters, and bytes one of either, a letter being the length of a field that varies.
 * Failures are Criterion assertions that name title and field. One thread.
 */
#ifndef WEIR_TESTS_FORMAT_BYTE_TABLES_H
#define WEIR_TESTS_FORMAT_BYTE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define BYTE_FIELDS_MAX  48u
#define BYTE_LENGTHS_MAX 16u

struct byte_field { /* what is to be found in a field; padding behind it is zero */
    const char *name;
    const void *value; /* NULL: number */
    size_t value_bytes;
    uint64_t number;
    int is_checked; /* 0: a part with a table of its own */
};

/* One structure as it was written, and what was written into it. */
struct byte_sample {
    struct weir_buf bytes;
    struct byte_field fields[BYTE_FIELDS_MAX];
    size_t field_count;
    size_t lengths[26]; /* of what a letter stands for, 'a' first */
};

/* In the order of the fields. Two of the same name are two rows. Values are borrowed until the check. */
void byte_sample_number(struct byte_sample *sample, const char *field, uint64_t number);
void byte_sample_bytes(struct byte_sample *sample, const char *field, const void *value, size_t bytes);
void byte_sample_text(struct byte_sample *sample, const char *field, const char *text);
void byte_sample_part(struct byte_sample *sample, const char *field);
/* Header of a record: all of them begin with one. */
void byte_sample_header(struct byte_sample *sample, uint32_t type, uint16_t misc);
void byte_sample_length(struct byte_sample *sample, char letter, size_t bytes);

struct byte_structure {
    const char *title;
    void (*write)(struct byte_sample *sample);
};

/* The whole document, to be freed by the caller. */
char *byte_tables_read(const char *path);

/* Checks the table of that title: each row's field is there, in this order and without a gap, and has what was written;
 * the last one ends where the structure does. */
void byte_tables_check(const char *document, const struct byte_structure *structure);

/* The name of the first table that `titles` does not have, to be freed by the caller; NULL: it has them all. */
char *byte_tables_unknown(const char *document, int (*is_known)(const char *title));

#endif
