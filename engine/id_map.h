/*
 * From the id in a record to the event that wrote it: an immutable open-addressing table, built when the events are
 * open and then read by every thread without synchronisation (thread creation publishes it).
 */
#ifndef WEIR_ENGINE_ID_MAP_H
#define WEIR_ENGINE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct weir_id_entry {
    uint64_t id;    /* PERF_EVENT_IOC_ID; 0: empty slot (the kernel's ids begin at 1) */
    uint32_t event; /* index into the recording's events */
    uint32_t place; /* index into the recording's places */
};

struct weir_id_map {
    struct weir_id_entry *slots; /* owned */
    size_t slot_count;           /* a power of two, at least twice the entries */
    unsigned shift;              /* 64 - log2(slot_count) */
};

#define WEIR_ID_MAP_INIT \
    {                    \
        NULL, 0, 0       \
    }

/* Room for `count` ids. 0 or -ENOMEM. */
int weir_id_map_init(struct weir_id_map *map, size_t count);
void weir_id_map_fini(struct weir_id_map *map);

/* Adds one id (not 0, not there yet). Before the map is shared. */
void weir_id_map_add(struct weir_id_map *map, uint64_t id, uint32_t event, uint32_t place);

/* The entry of id, or NULL (always for 0). Any thread. */
static inline const struct weir_id_entry *weir_id_map_find(const struct weir_id_map *map, uint64_t id)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): ids of one CPU are a fixed stride apart. */
    size_t slot = (size_t)((id * 0x9e3779b97f4a7c15ull) >> map->shift);
    for (;; slot = (slot + 1) & (map->slot_count - 1)) {
        if (map->slots[slot].id == id)
            return id ? &map->slots[slot] : NULL;
        if (map->slots[slot].id == 0)
            return NULL;
    }
}

#endif
