/*
 * How fast one core of this machine copies memory: the bound of any drain path, to compare it with in the same run.
 * Any thread; allocates, takes a tenth of a second, half a second where a core plays many rings.
 *
 * It is asked for what a reader does: a core writes some of a ring, as it does while it plays the kernel, and copies it
 * out of its caches into memory that lies as chunks do. Only the copying counts. A core that plays many rings has
 * written to all of them before the first is full enough to be read, and then most of it is in its caches no more.
 */
#ifndef WEIR_ENGINE_DRAIN_COPY_SPEED_H
#define WEIR_ENGINE_DRAIN_COPY_SPEED_H

#include <stdint.h>

/* Bytes per second of CPU time that memcpy(3) moves in pieces of 24 KiB, the best of some passes: what else runs on the
 * machine takes caches and bandwidth from single ones. 0 when there was no memory. */
struct weir_copy_speed {
    double aligned; /* source and target begin at cache lines */
    double records; /* the source begins 8 bytes behind a line, as records do */
    double rings;   /* as aligned, after a quarter of each ring has been written */
};

/* ring_bytes: of the source, a quarter of which is written and then copied, again and again; rings: that a core plays,
 * 1 at least; target_bytes: of the memory that is filled from one end to the other. At most 256 MiB are written before
 * they are copied: no cache holds more. */
struct weir_copy_speed weir_copy_speed_measure(uint64_t ring_bytes, unsigned rings, uint64_t target_bytes);

#endif
