/*
 * How fast one core of this machine copies memory: the bound of any drain path, to compare it with in the same run.
 * Any thread; allocates, takes a tenth of a second.
 *
 * It is asked for what a reader does: a core writes some of a ring, as it does while it plays the kernel, and copies it
 * out of its caches into memory that lies as chunks do. Only the copying counts.
 */
#ifndef WEIR_ENGINE_DRAIN_COPY_SPEED_H
#define WEIR_ENGINE_DRAIN_COPY_SPEED_H

#include <stdint.h>

/* Bytes per second of CPU time that memcpy(3) moves in pieces of 24 KiB, the best of some passes: what else runs on the
 * machine takes caches and bandwidth from single ones. 0 when there was no memory. */
struct weir_copy_speed {
    double aligned; /* source and target begin at cache lines */
    double records; /* the source begins 8 bytes behind a line, as records do */
};

/* ring_bytes: of the source, a quarter of which is written and then copied, again and again; target_bytes: of the
 * memory that is filled from one end to the other. */
struct weir_copy_speed weir_copy_speed_measure(uint64_t ring_bytes, uint64_t target_bytes);

#endif
