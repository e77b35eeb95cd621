/*
 * The memory of a machine: its size, its NUMA nodes, and the hotpluggable blocks of each node. One thread.
 *
 * Source: proc(5) on meminfo, Documentation/ABI/stable/sysfs-devices-node,
 * Documentation/admin-guide/mm/memory-hotplug.rst; write_numa_topology() and write_mem_topology() in
 * tools/perf/util/header.c, Linux 6.12.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine_internal.h"

#define NODE_DIR "sys/devices/system/node"

/* Bounds the bitmap of a node: 2 PiB in blocks of 128 MiB, the smallest that exist. */
#define MEMORY_BLOCK_LIMIT (1u << 24)

#define BITS_PER_WORD 64

/* Returns the number behind the first occurrence of key in meminfo; 0: no such key. "MemTotal:" occurs once in each
 * file. */
static uint64_t meminfo_kb(const char *meminfo, const char *key)
{
    const char *found = strstr(meminfo, key);
    return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* Returns the block number of an entry "memory12" of a node's folder, or -1. */
static int64_t block_number(const char *entry_name)
{
    static const char prefix[] = "memory";
    const char *digits = entry_name + sizeof(prefix) - 1;
    if (strncmp(entry_name, prefix, sizeof(prefix) - 1) != 0 || digits[0] < '0' || digits[0] > '9')
        return -1;
    char *end;
    unsigned long number = strtoul(digits, &end, 10);
    return *end == '\0' && number < MEMORY_BLOCK_LIMIT ? (int64_t)number : -1;
}

/* Returns the greatest block number in the folder, plus one. */
static uint64_t block_limit(DIR *dir)
{
    uint64_t limit = 0;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        int64_t number = block_number(entry->d_name);
        if (number >= 0 && (uint64_t)number >= limit)
            limit = (uint64_t)number + 1;
    }
    return limit;
}

/* Leaves out a block that goes online between the two passes and lies beyond the bitmap. */
static void collect_blocks(struct weir_machine_node *node, struct weir_sysroot *root)
{
    DIR *dir = weir_sysroot_opendir(root, NODE_DIR "/node%u", node->id);
    if (!dir)
        return;
    uint64_t bits = block_limit(dir);
    node->memory_blocks = weir_sysroot_alloc(root, (bits + BITS_PER_WORD - 1) / BITS_PER_WORD, sizeof(uint64_t));
    if (node->memory_blocks) {
        node->memory_block_bits = bits;
        rewinddir(dir);
        struct dirent *entry;
        while ((entry = readdir(dir))) {
            int64_t number = block_number(entry->d_name);
            if (number >= 0 && (uint64_t)number < bits)
                node->memory_blocks[number / BITS_PER_WORD] |= 1ull << (number % BITS_PER_WORD);
        }
    }
    closedir(dir);
}

static void collect_node(struct weir_machine_node *node, struct weir_sysroot *root, unsigned id)
{
    node->id = id;
    const char *meminfo = weir_sysroot_read(root, NODE_DIR "/node%u/meminfo", id);
    if (meminfo) {
        node->mem_total_kb = meminfo_kb(meminfo, " MemTotal:");
        node->mem_free_kb = meminfo_kb(meminfo, " MemFree:");
    }
    node->cpus = weir_sysroot_read_copy(root, NODE_DIR "/node%u/cpulist", id);
    collect_blocks(node, root);
}

/* Node lists have the grammar of CPU lists, and no machine has more nodes than WEIR_CPU_LIMIT. */
static void collect_nodes(struct weir_machine *machine, struct weir_sysroot *root)
{
    struct weir_cpuset nodes = WEIR_CPUSET_INIT;
    if (weir_sysroot_read_list(root, &nodes, NODE_DIR "/online"))
        machine->nodes = weir_sysroot_alloc(root, weir_cpuset_count(&nodes), sizeof(*machine->nodes));
    if (machine->nodes) {
        WEIR_CPUSET_FOREACH(id, &nodes) {
            collect_node(&machine->nodes[machine->node_count++], root, (unsigned)id);
        }
    }
    weir_cpuset_fini(&nodes);
}

void weir_machine_collect_memory(struct weir_machine *machine, struct weir_sysroot *root)
{
    const char *meminfo = weir_sysroot_read(root, "proc/meminfo");
    if (meminfo)
        machine->mem_total_kb = meminfo_kb(meminfo, "MemTotal:");

    int64_t block_bytes;
    if (weir_sysroot_read_number(root, 16, &block_bytes, "sys/devices/system/memory/block_size_bytes") &&
        block_bytes > 0)
        machine->memory_block_bytes = (uint64_t)block_bytes;
    collect_nodes(machine, root);
}
