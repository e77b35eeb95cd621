/*
 * Which mapping covered an address at a time. A later mapping covers what an earlier one had there, as in the kernel.
 *
 * Build once, then any thread may search. A segment tree over the mappings' ends keeps each mapping in O(log n) nodes.
 * So no order of mappings, however hostile, needs more than n log n memory, or more than log(n)^2 steps.
 * Source: Bentley, "Algorithms for Klee's rectangle problems", 1977.
 */
#ifndef WEIR_REPORT_MAP_INDEX_H
#define WEIR_REPORT_MAP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_mapping {
    uint64_t start, end; /* addresses; end is behind the last */
    uint64_t time;       /* of the recording's clock; 0: from the beginning */
    uint64_t offset;     /* of start, in the mapped object */
    uint32_t object;
};

struct weir_map_index {
    struct weir_mapping *maps; /* owned; ascending by time */
    size_t count, capacity;
    uint64_t *ends; /* owned; the addresses at which a mapping starts or ends; ascending, each once */
    size_t end_count;
    uint32_t *lists;  /* owned; per node the mappings that cover it, in order of time */
    uint32_t *firsts; /* owned; the start of each node's list; one more than there are nodes */
};

/* The answer of a search: the mapping, and the span of time for which it holds: since <= time < until. */
struct weir_map_found {
    const struct weir_mapping *map; /* NULL: nothing was mapped there */
    uint64_t since, until;
};

/* Adds a mapping, which must not be older than the last one; an empty one is left out. 0 or -ENOMEM. Only before
 * weir_map_index_build(). */
int weir_map_index_add(struct weir_map_index *index, const struct weir_mapping *map);

/* Builds. 0 or -ENOMEM. */
int weir_map_index_build(struct weir_map_index *index);

/* Searches an index that is built. */
struct weir_map_found weir_map_index_find(const struct weir_map_index *index, uint64_t address, uint64_t time);

void weir_map_index_fini(struct weir_map_index *index);

#endif
