/*
 * From the id in a record to the event that wrote it: open-addressing tables, at most half full, in which an entry
 * never changes once it is there.
 *
 * The first one is built when the events are open, and thread creation publishes it. A CPU that comes online while
 * recording brings new ids: the coordinator puts them into free slots of the table, or, when these do not do, builds a
 * table of at least twice the size with all ids, old and new, and swaps the pointer:
 *
 *     coordinator                                    reader, writer
 *     -----------                                    --------------
 *     entry; its id, release                         data_head, acquire (C in ring.h): records of the new ids
 *     or: a table; map.table, release                map.table, acquire; a slot's id, acquire
 *     enable the events (ioctl)                      look the id up
 *
 *     (ids-published) A thread that reads the pointer sees all of the table; a thread that reads an id sees its entry.
 *                     The kernel writes a record of a new id only after the event was enabled, and that was after the
 *                     release; so a thread that has read the record (C) finds its id.
 *
 * Tables that were replaced stay until fini(), because nobody knows who still looks at them: together they are smaller
 * than the last one. Ids stay as well, for the same reason: up to 64 bytes for each event each time that a CPU comes.
 * Lookups take no lock and write nothing.
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
    struct weir_id_table *replaced; /* owned; the one before, for fini() */
    size_t slot_count;              /* a power of two, at least twice the entries */
    size_t used;                    /* entries; nobody looks at it but who adds some */
    unsigned shift;                 /* 64 - log2(slot_count) */
    struct weir_id_entry slots[];
};

struct weir_id_map {
    struct weir_id_table *_Atomic table; /* owned; NULL: not initialised */
};

#define WEIR_ID_MAP_INIT \
    {                    \
        NULL             \
    }

/* Room for `count` ids. 0 or -ENOMEM. */
int weir_id_map_init(struct weir_id_map *map, size_t count);

/* No thread may look anything up any more. Idempotent. */
void weir_id_map_fini(struct weir_id_map *map);

/* Adds one id (not 0, not there yet). Before the map is shared. */
void weir_id_map_add(struct weir_id_map *map, uint64_t id, uint32_t event, uint32_t place);

/* Adds ids to a map that is shared (ids-published). Before their events are enabled. Coordinator. 0 or -ENOMEM: then
 * the map is as it was. */
int weir_id_map_extend(struct weir_id_map *map, const struct weir_id_entry *entries, size_t count);

/* The table as it is now (ids-published). */
static inline const struct weir_id_table *weir_id_map_table(const struct weir_id_map *map)
{
    return atomic_load_explicit(&map->table, memory_order_acquire); /* (ids-published) */
}

/* The entry of id, or NULL (always for 0). Any thread; what it points to stays until fini(). */
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
