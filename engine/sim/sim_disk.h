/*
 * A disk that stalls once: the real write queue, which neither starts nor completes a write during the stall, whether
 * writes go through the page cache or past it. For `weir bench drain --stall`.
 *
 * The coordinator sets the start and end of the stall while the writer thread writes. Both words are atomic. If a pass
 * of the writer sees one of them late, its stall begins or ends one pass later.
 */
#ifndef WEIR_ENGINE_SIM_SIM_DISK_H
#define WEIR_ENGINE_SIM_SIM_DISK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/io_ops.h"

struct weir_sim_disk {
    const struct weir_clock *clock; /* borrowed */
    _Atomic uint64_t from_ns;       /* start of the stall */
    _Atomic uint64_t until_ns;      /* end of the stall */
};

/* Prepares a disk without a stall. clock is borrowed. */
void weir_sim_disk_init(struct weir_sim_disk *disk, const struct weir_clock *clock);

/* Sets the stall. Any thread, once. */
void weir_sim_disk_stall(struct weir_sim_disk *disk, uint64_t from_ns, uint64_t until_ns);

/* Returns the operations to open an output with; disk must outlive the output. */
struct weir_io_ops weir_sim_disk_ops(struct weir_sim_disk *disk);

#endif
