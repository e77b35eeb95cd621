/*
 * How fast one core of this machine copies memory: the bound of any drain path, to compare it with in the same run.
 * Any thread; allocates, takes some tens of milliseconds.
 */
#ifndef WEIR_ENGINE_COPY_SPEED_H
#define WEIR_ENGINE_COPY_SPEED_H

#include <stdint.h>

/*
 * Bytes per second of CPU time that memcpy(3) moves from an area of source_bytes to one of target_bytes, round and
 * round, in pieces of 24 KiB (what a reader copies at a time). The best of some passes: what else runs on the machine
 * takes caches and bandwidth from single ones. 0 when there is no memory for the areas.
 */
double weir_copy_speed_measure(uint64_t source_bytes, uint64_t target_bytes);

#endif
