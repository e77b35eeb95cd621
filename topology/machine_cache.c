/*
 * The caches of a machine, each listed once. One thread.
 *
 * sysfs describes a cache under each CPU that shares it. perf reads all descriptions and drops equal ones. weir takes a
 * cache only from the first CPU of the cache's own list. That gives the same caches without comparing some 4000
 * descriptions of 1024 CPUs. The order is perf's: by level, then by CPU, then by index.
 *
 * Source: Documentation/ABI/testing/sysfs-devices-system-cpu; build_caches() in tools/perf/util/header.c, Linux 6.12.
 */
#include <errno.h>
#include <stdlib.h>

#include "topology/machine_internal.h"

#define CACHE_PATH        "sys/devices/system/cpu/cpu%u/cache/index%u/"
#define CACHE_INDEX_LIMIT 16 /* descriptions per CPU; hardware has 3 to 5 */
#define CACHE_LEVEL_LIMIT 16

static uint32_t cache_number(struct weir_sysroot *root, unsigned cpu, unsigned index, const char *name)
{
    int64_t value;
    if (!weir_sysroot_read_number(root, 10, &value, CACHE_PATH "%s", cpu, index, name) || value < 0 ||
        value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static void free_cache(struct weir_machine_cache *cache)
{
    free(cache->type);
    free(cache->size);
    free(cache->cpus);
}

/* Appends the cache to caches, unless sysfs does not describe it. */
static void collect_cache(struct weir_buf *caches, struct weir_sysroot *root, unsigned cpu, unsigned index)
{
    struct weir_machine_cache cache = {
        .level = cache_number(root, cpu, index, "level"),
        .line_bytes = cache_number(root, cpu, index, "coherency_line_size"),
        .sets = cache_number(root, cpu, index, "number_of_sets"),
        .ways = cache_number(root, cpu, index, "ways_of_associativity"),
        .type = weir_sysroot_read_copy(root, CACHE_PATH "type", cpu, index),
        .size = weir_sysroot_read_copy(root, CACHE_PATH "size", cpu, index),
        .cpus = weir_sysroot_read_copy(root, CACHE_PATH "shared_cpu_list", cpu, index),
    };
    bool is_told = cache.level > 0 && cache.level < CACHE_LEVEL_LIMIT && cache.type && cache.type[0] && cache.size &&
                   cache.size[0];
    if (root->error == 0 && is_told) {
        weir_buf_append(caches, &cache, sizeof(cache));
        if (weir_buf_error(caches) == 0)
            return;
        root->error = -ENOMEM;
    }
    free_cache(&cache);
}

/* Collects the caches whose first sharing CPU is cpu. shared: a set to reuse. */
static void collect_of_cpu(struct weir_buf *caches, struct weir_sysroot *root, unsigned cpu, struct weir_cpuset *shared)
{
    for (unsigned index = 0; index < CACHE_INDEX_LIMIT && root->error == 0; index++) {
        if (!weir_sysroot_read_list(root, shared, CACHE_PATH "shared_cpu_list", cpu, index))
            return;
        /* A list without its own CPU (broken virtual machines) still describes a cache of that CPU. */
        if (!weir_cpuset_has(shared, cpu) || weir_cpuset_next(shared, 0) == (int)cpu)
            collect_cache(caches, root, cpu, index);
    }
}

/* Moves count caches to *machine, level after level, because qsort(3) is not stable. False: no memory, and nothing has
 * moved. */
static bool move_by_level(struct weir_machine *machine, struct weir_sysroot *root,
                          const struct weir_machine_cache *caches, size_t count)
{
    machine->caches = weir_sysroot_alloc(root, count, sizeof(*machine->caches));
    if (!machine->caches)
        return false;
    for (uint32_t level = 1; level < CACHE_LEVEL_LIMIT; level++) {
        for (size_t i = 0; i < count; i++) {
            if (caches[i].level == level)
                machine->caches[machine->cache_count++] = caches[i];
        }
    }
    return true;
}

void weir_machine_collect_caches(struct weir_machine *machine, struct weir_sysroot *root)
{
    struct weir_buf found = WEIR_BUF_INIT;
    struct weir_cpuset shared = WEIR_CPUSET_INIT;
    for (size_t i = 0; i < machine->cpu_count && root->error == 0; i++)
        collect_of_cpu(&found, root, machine->cpus[i].id, &shared);
    weir_cpuset_fini(&shared);

    struct weir_machine_cache *caches = (struct weir_machine_cache *)(void *)found.data;
    size_t count = found.used / sizeof(*caches);
    if (!move_by_level(machine, root, caches, count)) {
        for (size_t i = 0; i < count; i++)
            free_cache(&caches[i]);
    }
    weir_buf_fini(&found);
}
