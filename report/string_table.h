/*
 * Strings with numbers; equal strings have the same number, and the empty one is 0. One thread adds; any number of
 * threads may read a table to which nobody adds.
 */
#ifndef WEIR_REPORT_STRING_TABLE_H
#define WEIR_REPORT_STRING_TABLE_H

#include "base/buf.h"
#include "base/hash.h"
#include "report/row_table.h"

struct weir_string_table {
    struct weir_row_table rows; /* keyed hash of the text; offset in bytes */
    struct weir_buf bytes;      /* owned; each string with its zero */
    struct weir_hash_key key;
};

/* Makes a table that holds the empty string. 0 or -ENOMEM. Release with weir_string_table_fini() in any case. */
int weir_string_table_init(struct weir_string_table *table);
void weir_string_table_fini(struct weir_string_table *table);

/* Returns the number of a text; WEIR_ROW_NONE: no memory. */
uint32_t weir_string_table_add(struct weir_string_table *table, const char *text);

/* Returns the text with that number, valid until the next one is added. */
const char *weir_string(const struct weir_string_table *table, uint32_t number);

#endif
