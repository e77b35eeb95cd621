/* Open addressing with linear probing, at most half full. */
#include "report/row_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 1024u
#define ROWS_MAX    (1u << 31)

void weir_row_table_init(struct weir_row_table *table, unsigned key_words, unsigned row_words, uint64_t seed)
{
    *table = (struct weir_row_table){.key_words = key_words, .row_words = row_words, .seed = seed};
}

void weir_row_table_fini(struct weir_row_table *table)
{
    free(table->rows);
    free(table->slots);
    table->rows = NULL;
    table->slots = NULL;
    table->count = table->capacity = table->slot_count = 0;
}

static uint64_t hash_of(const struct weir_row_table *table, const uint64_t *key)
{
    uint64_t hash = table->seed;
    for (unsigned i = 0; i < table->key_words; i++)
        hash = weir_mix(hash ^ key[i]);
    return hash;
}

static bool has_key(const struct weir_row_table *table, uint32_t number, const uint64_t *key)
{
    const uint64_t *row = weir_row(table, number);
    for (unsigned i = 0; i < table->key_words; i++) {
        if (row[i] != key[i])
            return false;
    }
    return true;
}

/* The slot of a key: its own, or the empty one at which the search ends. There is one, as half of them are empty. */
static size_t slot_of(const struct weir_row_table *table, const uint64_t *key)
{
    size_t mask = table->slot_count - 1;
    size_t slot = hash_of(table, key) & mask;
    while (table->slots[slot] != 0 && !has_key(table, table->slots[slot] - 1, key))
        slot = (slot + 1) & mask;
    return slot;
}

uint32_t weir_row_table_find(const struct weir_row_table *table, const uint64_t *key)
{
    return table->slot_count == 0 ? WEIR_ROW_NONE : table->slots[slot_of(table, key)] - 1; /* 0 - 1: none */
}

static bool grow_slots(struct weir_row_table *table)
{
    size_t wanted = table->slot_count ? 2 * table->slot_count : SLOTS_FIRST;
    uint32_t *slots = calloc(wanted, sizeof(*slots));
    if (!slots)
        return false;
    free(table->slots);
    table->slots = slots;
    table->slot_count = wanted;
    for (size_t i = 0; i < table->count; i++)
        slots[slot_of(table, weir_row(table, (uint32_t)i))] = (uint32_t)i + 1;
    return true;
}

static bool grow_rows(struct weir_row_table *table)
{
    size_t wanted = table->capacity ? table->capacity + table->capacity / 2 : SLOTS_FIRST / 2;
    uint64_t *rows = reallocarray(table->rows, wanted, table->row_words * sizeof(*rows));
    if (!rows)
        return false;
    table->rows = rows;
    table->capacity = wanted;
    return true;
}

uint32_t weir_row_table_add(struct weir_row_table *table, const uint64_t *key)
{
    if (table->slot_count < 2 * (table->count + 1) && !grow_slots(table))
        return WEIR_ROW_NONE;
    size_t slot = slot_of(table, key);
    if (table->slots[slot] != 0)
        return table->slots[slot] - 1;
    if (table->count >= ROWS_MAX || (table->count == table->capacity && !grow_rows(table)))
        return WEIR_ROW_NONE;
    uint64_t *row = weir_row(table, (uint32_t)table->count);
    memset(row, 0, table->row_words * sizeof(*row));
    memcpy(row, key, table->key_words * sizeof(*row));
    table->slots[slot] = (uint32_t)++table->count;
    return (uint32_t)table->count - 1;
}
