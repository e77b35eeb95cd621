/* The coordinator builds and extends the tables; id_map.h has the memory order. */
#include "engine/kernel/id_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/kernel/test_point.h"

static struct weir_id_table *new_table(size_t count)
{
    size_t slots = weir_round_up_power_of_two(weir_max_u64(count, 1) * 2);
    struct weir_id_table *table = calloc(1, sizeof(*table) + slots * sizeof(table->slots[0]));
    if (!table)
        return NULL;
    table->slot_count = slots;
    table->shift = 64 - (unsigned)__builtin_ctzll(slots);
    return table;
}

static bool has_room(const struct weir_id_table *table, size_t count)
{
    return 2 * (table->used + count) <= table->slot_count;
}

/* Inserts an entry, for which there is room. A lookup meanwhile sees either no entry or the whole entry. */
static void insert(struct weir_id_table *table, const struct weir_id_entry *entry)
{
    size_t slot = (size_t)((entry->id * 0x9e3779b97f4a7c15ull) >> table->shift);
    while (table->slots[slot].id)
        slot = (slot + 1) & (table->slot_count - 1);
    struct weir_id_entry *at = &table->slots[slot];
    at->event = entry->event;
    at->place = entry->place;
    __atomic_store_n(&at->id, entry->id, __ATOMIC_RELEASE); /* (ids-published) */
    table->used++;
}

static struct weir_id_table *own_table(const struct weir_id_map *map)
{
    return atomic_load_explicit(&map->table, memory_order_relaxed); /* relaxed: only the coordinator writes it */
}

int weir_id_map_init(struct weir_id_map *map, size_t count)
{
    struct weir_id_table *table = new_table(count);
    /* Relaxed: the map is shared later, with the creation of threads. */
    atomic_store_explicit(&map->table, table, memory_order_relaxed);
    return table ? 0 : -ENOMEM;
}

void weir_id_map_fini(struct weir_id_map *map)
{
    struct weir_id_table *table = own_table(map);
    while (table) {
        struct weir_id_table *replaced = table->replaced;
        free(table);
        table = replaced;
    }
    atomic_store_explicit(&map->table, NULL, memory_order_relaxed); /* relaxed: no other thread uses the map any more */
}

void weir_id_map_add(struct weir_id_map *map, uint64_t id, uint32_t event, uint32_t place)
{
    struct weir_id_table *table = own_table(map);
    weir_assert(id != 0 && has_room(table, 1) && !weir_id_map_find(map, id));
    insert(table, &(struct weir_id_entry){.id = id, .event = event, .place = place});
}

/* Makes a table with the entries of the old one and room for count more. NULL: out of memory. */
static struct weir_id_table *larger_table(struct weir_id_table *old, size_t count)
{
    struct weir_id_table *table = new_table(weir_max_u64(old->used + count, 2 * old->used));
    if (!table)
        return NULL;
    for (size_t slot = 0; slot < old->slot_count; slot++) {
        if (old->slots[slot].id)
            insert(table, &old->slots[slot]);
    }
    table->replaced = old;
    return table;
}

int weir_id_map_extend(struct weir_id_map *map, const struct weir_id_entry *entries, size_t count)
{
    struct weir_id_table *old = own_table(map);
    struct weir_id_table *table = has_room(old, count) ? old : larger_table(old, count);
    if (!table)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        weir_assert(entries[i].id != 0 && !weir_id_map_find(map, entries[i].id));
        if (table == old)
            weir_test_point(WEIR_AT_IDS_ADD);
        insert(table, &entries[i]);
    }
    if (table != old) {
        weir_test_point(WEIR_AT_IDS_PUBLISH);
        atomic_store_explicit(&map->table, table, memory_order_release); /* (ids-published) */
    }
    return 0;
}
