#include "unwind/table_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NONE    UINT32_MAX
#define BUCKETS 16384u

int weir_table_cache_init(struct weir_table_cache *cache, const struct weir_unwind_machine *machine,
                          const struct weir_table_source *source, size_t max_bytes)
{
    *cache = (struct weir_table_cache){.source = *source, .machine = machine, .max_bytes = max_bytes};
    cache->hash_key = weir_hash_key_random();
    cache->slots = calloc(WEIR_TABLE_CACHE_FILES, sizeof(*cache->slots));
    cache->buckets = malloc(BUCKETS * sizeof(*cache->buckets));
    if (!cache->slots || !cache->buckets) {
        weir_table_cache_fini(cache);
        return -ENOMEM;
    }
    memset(cache->buckets, 0xff, BUCKETS * sizeof(*cache->buckets));
    return 0;
}

void weir_table_cache_fini(struct weir_table_cache *cache)
{
    for (uint32_t i = 0; i < cache->slot_count; i++)
        weir_unwind_table_fini(&cache->slots[i].table);
    free(cache->slots);
    free(cache->buckets);
    *cache = (struct weir_table_cache){.slots = NULL};
}

size_t weir_table_cache_own_bytes(void)
{
    return WEIR_TABLE_CACHE_FILES * sizeof(struct weir_table_slot) + BUCKETS * sizeof(uint32_t);
}

static uint32_t *bucket_of(struct weir_table_cache *cache, uint64_t key)
{
    return &cache->buckets[weir_hash(&cache->hash_key, &key, sizeof(key)) % BUCKETS];
}

/* Removes the slot that was used the longest ago, other than kept. Returns its number; NONE: there is none. */
static uint32_t evict(struct weir_table_cache *cache, uint32_t kept, bool only_with_memory)
{
    uint32_t oldest = NONE;
    for (uint32_t i = 0; i < cache->slot_count; i++) {
        const struct weir_table_slot *slot = &cache->slots[i];
        bool is_candidate = i != kept && slot->last_use != 0 && (slot->is_usable || !only_with_memory);
        if (is_candidate && (oldest == NONE || slot->last_use < cache->slots[oldest].last_use))
            oldest = i;
    }
    if (oldest == NONE)
        return NONE;
    struct weir_table_slot *slot = &cache->slots[oldest];
    uint32_t *link = bucket_of(cache, slot->key);
    while (*link != oldest)
        link = &cache->slots[*link].next;
    *link = slot->next;
    cache->bytes -= weir_unwind_table_bytes(&slot->table);
    cache->evictions++;
    weir_unwind_table_fini(&slot->table);
    slot->last_use = 0;
    slot->is_usable = false;
    return oldest;
}

static uint32_t take_slot(struct weir_table_cache *cache)
{
    if (cache->slot_count < WEIR_TABLE_CACHE_FILES)
        return cache->slot_count++;
    for (uint32_t i = 0; i < cache->slot_count; i++) {
        if (cache->slots[i].last_use == 0)
            return i;
    }
    return evict(cache, NONE, false);
}

/* False: the file may be opened later. */
static bool load(struct weir_table_cache *cache, struct weir_table_slot *slot)
{
    int fd = cache->source.open(cache->source.ctx, slot->key);
    cache->loads++;
    if (fd < 0)
        return fd != -ETIMEDOUT;
    slot->is_usable = weir_unwind_table_load(&slot->table, fd, cache->machine) == 0;
    close(fd);
    if (!slot->is_usable)
        return true;
    size_t bytes = weir_unwind_table_bytes(&slot->table);
    if (bytes > cache->max_bytes) {
        weir_unwind_table_fini(&slot->table);
        slot->is_usable = false;
        return true;
    }
    cache->bytes += bytes;
    while (cache->bytes > cache->max_bytes && evict(cache, (uint32_t)(slot - cache->slots), true) != NONE)
        ;
    return true;
}

const struct weir_table_slot *weir_table_cache_find(struct weir_table_cache *cache, uint64_t key, bool may_load)
{
    uint32_t number = *bucket_of(cache, key);
    while (number != NONE && cache->slots[number].key != key)
        number = cache->slots[number].next;
    if (number == NONE && !may_load)
        return NULL;
    if (number == NONE) {
        number = take_slot(cache);
        uint32_t *bucket = bucket_of(cache, key);
        struct weir_table_slot *slot = &cache->slots[number];
        *slot = (struct weir_table_slot){.key = key, .serial = ++cache->serial, .next = *bucket};
        *bucket = number;
        slot->last_use = ++cache->now;
        if (!load(cache, slot)) {
            *bucket = slot->next;
            slot->last_use = 0;
            return NULL;
        }
    }
    cache->slots[number].last_use = ++cache->now;
    return &cache->slots[number];
}
