/*
 * The tree has a leaf per span between two neighboring ends. Node 1 is the root; the children of node n are 2n and
 * 2n + 1; leaf i is node i + leaves.
 */
#include "report/map_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

int weir_map_index_add(struct weir_map_index *index, const struct weir_mapping *map)
{
    if (map->start >= map->end || index->count >= UINT32_MAX / 2)
        return 0;
    struct weir_mapping *maps = weir_array_grow(index->maps, sizeof(*maps), index->count, 1, &index->capacity);
    if (!maps)
        return -ENOMEM;
    index->maps = maps;
    maps[index->count++] = *map;
    return 0;
}

void weir_map_index_fini(struct weir_map_index *index)
{
    free(index->maps);
    free(index->ends);
    free(index->lists);
    free(index->firsts);
    *index = (struct weir_map_index){0};
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int collect_ends(struct weir_map_index *index)
{
    index->ends = calloc(2 * index->count, sizeof(*index->ends));
    if (!index->ends)
        return -ENOMEM;
    for (size_t i = 0; i < index->count; i++) {
        index->ends[2 * i] = index->maps[i].start;
        index->ends[2 * i + 1] = index->maps[i].end;
    }
    qsort(index->ends, 2 * index->count, sizeof(*index->ends), compare_numbers);
    size_t kept = 0;
    for (size_t i = 0; i < 2 * index->count; i++) {
        if (kept == 0 || index->ends[i] != index->ends[kept - 1])
            index->ends[kept++] = index->ends[i];
    }
    index->end_count = kept;
    return 0;
}

/* The number of ends at or below an address. */
static size_t ends_up_to(const struct weir_map_index *index, uint64_t address)
{
    return weir_array_count_up_to(index->ends, sizeof(*index->ends), 0, index->end_count, address);
}

/* Counts the mapping in each of its nodes (lists NULL), or appends it to their lists. */
static void place(struct weir_map_index *index, uint32_t number, uint32_t *counts, uint32_t *lists)
{
    const struct weir_mapping *map = &index->maps[number];
    size_t leaves = index->end_count - 1;
    size_t low = ends_up_to(index, map->start) - 1 + leaves, high = ends_up_to(index, map->end) - 1 + leaves;
    for (; low < high; low /= 2, high /= 2) {
        size_t nodes[2], count = 0;
        if (low % 2)
            nodes[count++] = low++;
        if (high % 2)
            nodes[count++] = --high;
        for (size_t i = 0; i < count; i++) {
            if (lists)
                lists[index->firsts[nodes[i]] + counts[nodes[i]]] = number;
            counts[nodes[i]]++;
        }
    }
}

int weir_map_index_build(struct weir_map_index *index)
{
    if (index->count == 0)
        return 0;
    if (collect_ends(index) < 0)
        return -ENOMEM;
    size_t nodes = 2 * (index->end_count - 1);
    uint32_t *counts = calloc(nodes + 1, sizeof(*counts));
    index->firsts = calloc(nodes + 1, sizeof(*index->firsts));
    if (!counts || !index->firsts) {
        free(counts);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < index->count; i++)
        place(index, i, counts, NULL);
    for (size_t i = 0; i < nodes; i++) {
        index->firsts[i + 1] = index->firsts[i] + counts[i];
        counts[i] = 0;
    }
    index->lists = calloc(index->firsts[nodes] + 1, sizeof(*index->lists));
    for (uint32_t i = 0; index->lists && i < index->count; i++)
        place(index, i, counts, index->lists);
    free(counts);
    return index->lists ? 0 : -ENOMEM;
}

/* Looks into one node: found becomes the mapping of the node that is newer, and its span is cut by the next one. */
static void look(const struct weir_map_index *index, size_t node, uint64_t time, struct weir_map_found *found)
{
    uint32_t first = index->firsts[node], low = first, high = index->firsts[node + 1];
    uint32_t end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->maps[index->lists[middle]].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < end && index->maps[index->lists[low]].time < found->until)
        found->until = index->maps[index->lists[low]].time;
    const struct weir_mapping *map = low > first ? &index->maps[index->lists[low - 1]] : NULL;
    if (map && (!found->map || map > found->map)) /* they lie in order of time */
        found->map = map;
}

struct weir_map_found weir_map_index_find(const struct weir_map_index *index, uint64_t address, uint64_t time)
{
    struct weir_map_found found = {.map = NULL, .since = 0, .until = UINT64_MAX};
    size_t below = index->end_count > 0 ? ends_up_to(index, address) : 0;
    if (below == 0 || below == index->end_count)
        return found;
    for (size_t node = below - 1 + index->end_count - 1; node > 0; node /= 2)
        look(index, node, time, &found);
    found.since = found.map ? found.map->time : 0;
    return found;
}
