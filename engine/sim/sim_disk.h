/*
 * A disk that stands still for a while: the real write queue, which in that time neither starts nor completes anything,
 * through the page cache or past it. For `weir bench drain --stall`.
 *
 * The window is set by the coordinator while the writer thread writes; two words, each atomic, since a pass of the
 * writer that sees one of them late only begins or ends its stall a pass later.
 */
#ifndef WEIR_ENGINE_SIM_SIM_DISK_H
#define WEIR_ENGINE_SIM_SIM_DISK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "io/io_ops.h"

struct weir_sim_disk {
    const struct weir_clock *clock; /* borrowed */
    _Atomic uint64_t from_ns;       /* stands still from here ... */
    _Atomic uint64_t until_ns;      /* ... to here */
};

/* No stall yet. */
void weir_sim_disk_init(struct weir_sim_disk *disk, const struct weir_clock *clock);

/* Any thread, once. */
void weir_sim_disk_stall(struct weir_sim_disk *disk, uint64_t from_ns, uint64_t until_ns);

/* The operations to open an output with; disk must outlive it. */
struct weir_io_ops weir_sim_disk_ops(struct weir_sim_disk *disk);

#endif
