/*
 * How fast one core of this machine copies memory: the bound of any drain path, to be compared with it in the same run.
 * Any thread; allocates; takes a tenth of a second, or a quarter of a second where a core plays many rings.
 *
 * The measurement does a reader's work. A core plays the kernel and writes a part of a ring. Then it copies that part
 * into memory that is laid out as chunks are. Only the copying counts. A core that plays many rings writes to all of
 * them before the first is full enough to be read. Most bytes of the first ring have then left the core's caches.
 *
 * The figure of a drain path is a mean over its run, and other threads take caches and bandwidth meanwhile. So the copy
 * speed is a mean as well, measured before the run and after it.
 */
#ifndef WEIR_ENGINE_DRAIN_COPY_SPEED_H
#define WEIR_ENGINE_DRAIN_COPY_SPEED_H

#include <stdint.h>

struct weir_copy_sum {
    uint64_t bytes;
    uint64_t cpu_ns; /* of the copying thread */
};

/* Moved by memcpy(3) in pieces of 24 KiB; all 0 when there was no memory. */
struct weir_copy_speed {
    struct weir_copy_sum aligned; /* source and target begin at cache lines */
    struct weir_copy_sum records; /* the source begins 8 bytes behind a line, as records do */
    struct weir_copy_sum rings;   /* as aligned, after a quarter of each ring has been written */
};

/* Adds to the sums. ring_bytes: of the source, a quarter of which is written and then copied, again and again; rings:
 * that a core plays, 1 at least; target_bytes: of the memory that is filled from one end to the other. At most 256 MiB
 * are written before they are copied: no cache holds more. */
void weir_copy_speed_measure(struct weir_copy_speed *speed, uint64_t ring_bytes, unsigned rings, uint64_t target_bytes);

/* Bytes per second of CPU time; 0 when nothing was copied. */
double weir_copy_sum_per_s(const struct weir_copy_sum *sum);

#endif
