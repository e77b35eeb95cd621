/*
 * A hash table of rows: words of a key, then words that the caller counts in. Rows have numbers, from 0 in the order of
 * their adding, so that other tables can refer to them.
 *
 * A seed that the process chooses keeps a recording from placing its keys in one bucket. One thread adds; any number of
 * threads may find in a table to which nobody adds.
 */
#ifndef WEIR_REPORT_ROW_TABLE_H
#define WEIR_REPORT_ROW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define WEIR_ROW_NONE UINT32_MAX

struct weir_row_table {
    unsigned key_words, row_words; /* row_words: with the key */
    uint64_t *rows;                /* owned */
    size_t count, capacity;        /* rows */
    uint32_t *slots;               /* owned; number of a row plus 1; 0: empty */
    size_t slot_count;             /* a power of two, or 0 */
    uint64_t seed;
};

/* Makes an empty table. Does not allocate. */
void weir_row_table_init(struct weir_row_table *table, unsigned key_words, unsigned row_words, uint64_t seed);
void weir_row_table_fini(struct weir_row_table *table);

/* Returns the number of the row with that key; WEIR_ROW_NONE: no row has it. */
uint32_t weir_row_table_find(const struct weir_row_table *table, const uint64_t *key);

/* Returns the number of the row with that key, which is added with zeros behind its key if it is missing.
 * WEIR_ROW_NONE: no memory, or 2^31 rows. Moves the rows. */
uint32_t weir_row_table_add(struct weir_row_table *table, const uint64_t *key);

/* Returns a row, valid until the next one is added. */
static inline uint64_t *weir_row(const struct weir_row_table *table, uint32_t number)
{
    return table->rows + (size_t)number * table->row_words;
}

/* Mixes a number so that each of its bits changes half of the result's (the finalizer of MurmurHash3). */
static inline uint64_t weir_mix(uint64_t number)
{
    number ^= number >> 33;
    number *= 0xff51afd7ed558ccdull;
    number ^= number >> 33;
    number *= 0xc4ceb9fe1a85ec53ull;
    return number ^ number >> 33;
}

#endif
