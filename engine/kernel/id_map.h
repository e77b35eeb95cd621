/*
 * From the id in a record to the event that wrote it: open-addressing tables, at most half full, whose entries never
 * change.
 *
 * The first table is built when the events are open; the creation of the threads publishes it. A CPU that comes online
 * while recording brings new ids. The coordinator puts them into free slots of the table. When these do not suffice, it
 * builds a table of at least twice the size with all ids, and swaps the pointer:
 *
 *     coordinator                                    reader, writer
 *     -----------                                    --------------
 *     an entry, then its id, release                 data_head, acquire (C in ring.h): records of the new ids
 *     or: a table, then map.table, release           map.table, acquire; the id of a slot, acquire
 *     enable the events (ioctl)                      look the id up
 *
 *     (ids-published) A thread that reads the pointer sees all of the table; a thread that reads an id sees its entry.
 *
 * The kernel writes a record of a new id only after the event was enabled, which is after the release. So a thread that
 * has read the record (C) finds its id.
 *
 * Replaced tables stay until fini(), for a lookup may still use them; together they are smaller than the last table.
 * Ids stay for the same reason: up to 64 bytes for each event each time that a CPU comes. Lookups take no lock and
 * write nothing.
 */
#ifndef WEIR_ENGINE_KERNEL_ID_MAP_H
#define WEIR_ENGINE_KERNEL_ID_MAP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel/test_point.h"

struct weir_id_entry {
    uint64_t id;    /* PERF_EVENT_IOC_ID; 0: empty slot (the kernel's ids begin at 1) */
    uint32_t event; /* index into the recording's events */
    uint32_t place; /* index into the recording's places */
};

struct weir_id_table {
    struct weir_id_table *replaced; /* owned; the table before, for fini() */
    size_t slot_count;              /* a power of two, at least twice the entries */
    size_t used;                    /* entries; only the adding thread reads and writes it */
    unsigned shift;                 /* 64 - log2(slot_count) */
    struct weir_id_entry slots[];
};

struct weir_id_map {
    struct weir_id_table *_Atomic table; /* owned; NULL: not initialized */
};

#define WEIR_ID_MAP_INIT \
    {                    \
        NULL             \
    }

/* Makes a table with room for `count` ids. 0 or -ENOMEM. */
int weir_id_map_init(struct weir_id_map *map, size_t count);

/* Frees all tables, which no thread uses any more. Idempotent. */
void weir_id_map_fini(struct weir_id_map *map);

/* Adds one id, which is not 0 and not in the map. Before the map is shared. */
void weir_id_map_add(struct weir_id_map *map, uint64_t id, uint32_t event, uint32_t place);

/* Adds ids to a shared map, before their events are enabled. Coordinator. 0; or -ENOMEM, and the map is unchanged.
 * (ids-published) */
int weir_id_map_extend(struct weir_id_map *map, const struct weir_id_entry *entries, size_t count);

/* The present table. (ids-published) */
static inline const struct weir_id_table *weir_id_map_table(const struct weir_id_map *map)
{
    return atomic_load_explicit(&map->table, memory_order_acquire); /* (ids-published) */
}

/* The entry of an id, valid until fini(); NULL: there is none, as for 0. Any thread. */
static inline const struct weir_id_entry *weir_id_map_find(const struct weir_id_map *map, uint64_t id)
{
    const struct weir_id_table *table = weir_id_map_table(map);
    weir_test_point(WEIR_AT_IDS_LOOK_UP);
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): ids of one CPU are a fixed stride apart. */
    size_t slot = (size_t)((id * 0x9e3779b97f4a7c15ull) >> table->shift);
    for (;; slot = (slot + 1) & (table->slot_count - 1)) {
        uint64_t found = __atomic_load_n(&table->slots[slot].id, __ATOMIC_ACQUIRE); /* (ids-published) */
        if (found == id)
            return id ? &table->slots[slot] : NULL;
        if (found == 0)
            return NULL;
    }
}

#endif
