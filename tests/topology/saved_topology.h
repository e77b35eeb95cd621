/* Machines that hwloc's synthetic grammar cannot describe, saved as the XML files that HWLOC_XMLFILE names. */
#ifndef WEIR_TESTS_TOPOLOGY_SAVED_TOPOLOGY_H
#define WEIR_TESTS_TOPOLOGY_SAVED_TOPOLOGY_H

#include <stdbool.h>

struct saved_topology {
    const char *description;   /* hwloc's synthetic grammar: what to start from */
    unsigned memoryless_nodes; /* bit n: NUMA node n loses its memory */
    unsigned cpuless_nodes;    /* bit n: NUMA node n loses its CPUs, which leave the machine */
    const unsigned *distances; /* row by row, one value per pair of nodes; NULL: none are saved */
    unsigned distance_rows;
};

/* Writes it to path and makes HWLOC_XMLFILE name that file. */
void saved_topology_use(const struct saved_topology *saved, const char *path);

#endif
