/*
 * The tables of the files that samples have needed, within a bound of memory. Beyond the bound, the least recently used
 * table goes. The cache also remembers files that cannot be used.
 *
 * One thread. A search that does not find the file in the cache opens and reads it: it blocks and allocates.
 */
#ifndef WEIR_UNWIND_TABLE_CACHE_H
#define WEIR_UNWIND_TABLE_CACHE_H

#include "base/hash.h"
#include "unwind/table.h"

#define WEIR_TABLE_CACHE_FILES 8192u /* files at most */

/* Where the bytes of a file come from. */
struct weir_table_source {
    /* Opens the file of a key: a descriptor for reading, which the cache closes, or -errno. -ETIMEDOUT: perhaps later,
     * so that the cache does not remember the file as one that cannot be used. */
    int (*open)(void *ctx, uint64_t key);
    void *ctx; /* borrowed */
};

struct weir_table_slot {
    uint64_t key, last_use; /* last_use 0: the slot is free */
    uint32_t serial;        /* never used twice: rules that are kept elsewhere name their table by it */
    uint32_t next;          /* slot of the same bucket; UINT32_MAX: none */
    bool is_usable;         /* table is set */
    struct weir_unwind_table table;
};

struct weir_table_cache {
    struct weir_table_source source;
    const struct weir_unwind_machine *machine; /* borrowed */
    struct weir_hash_key hash_key;
    struct weir_table_slot *slots; /* owned; the first slot_count have been used */
    uint32_t *buckets;             /* owned; slot; UINT32_MAX: none */
    uint32_t slot_count;
    uint32_t serial;
    uint64_t now; /* counts uses */
    size_t bytes, max_bytes;
    uint64_t loads, evictions;
};

/* max_bytes: of all tables together. 0 or -ENOMEM. */
int weir_table_cache_init(struct weir_table_cache *cache, const struct weir_unwind_machine *machine,
                          const struct weir_table_source *source, size_t max_bytes);
void weir_table_cache_fini(struct weir_table_cache *cache);

/* Returns the memory of a cache without tables. */
size_t weir_table_cache_own_bytes(void);

/*
 * Returns the slot of a file, valid until the next call; NULL: it is not in the cache, and may_load is false, or there
 * is no memory. may_load: the file may be read.
 */
const struct weir_table_slot *weir_table_cache_find(struct weir_table_cache *cache, uint64_t key, bool may_load);

#endif
