/*
 * A simulated kernel: perf events and rings in memory, behind engine/kernel/kernel.h.
 *
 * Rings have the real layout (perf_event_mmap_page, then data) and are written in the real order (ring.h: read
 * data_tail, write records, publish data_head), with the kernel's own rules for what happens when one is full: the
 * record is dropped and counted per event (PERF_FORMAT_LOST) and per ring, and a LOST record precedes the next one that
 * fits (kernel/events/ring_buffer.c, __perf_output_begin(), Linux 6.12). A crossed watermark makes poll(2) report the
 * ring once. What stands in the records: sim_record.h.
 *
 * Descriptors are real eventfds, so that poll(2) works on them together with others. Set-up calls (open, map, redirect,
 * close, CPUs that come and go) come from one thread, also while others produce and read; each ring has one producer
 * and one reader, which may be different threads.
 */
#ifndef WEIR_ENGINE_SIM_SIM_KERNEL_H
#define WEIR_ENGINE_SIM_SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel/kernel.h"
#include "engine/sim/sim_record.h"

struct weir_sim_kernel; /* opaque */

/* *out is owned by the caller. 0 or -ENOMEM. */
int weir_sim_kernel_new(struct weir_sim_kernel **out);

/* Frees all, also what was left open. NULL is allowed. */
void weir_sim_kernel_free(struct weir_sim_kernel *sim);

/* Whether every event was closed and every ring unmapped again. Set-up thread. */
bool weir_sim_kernel_is_released(const struct weir_sim_kernel *sim);

/* The interface to give to the pipeline; valid as long as sim. */
struct weir_kernel weir_sim_kernel_interface(struct weir_sim_kernel *sim);

/* The event of descriptor fd overflows once: writes a sample into its ring. True when it was written; false when it is
 * disabled (not counted), has no ring (counted, but not as lost) or the ring was full or paused (counted as lost). The
 * ring's producer. */
bool weir_sim_kernel_sample(struct weir_sim_kernel *sim, int fd, const struct weir_sim_sample *sample);

/* The same with a COMM record with a sample_id trailer, for sideband events. */
bool weir_sim_kernel_comm(struct weir_sim_kernel *sim, int fd, uint32_t pid, const char *comm, uint64_t time_ns);

/*
 * Takes a CPU off the simulated machine, or brings it back: as Linux does (perf_event_exit_cpu()), its events of all
 * tasks are dead from then on, while their rings and counts stay, and no others can be opened there (-ENODEV) until it
 * is back. Not while a producer of that CPU runs.
 */
void weir_sim_kernel_set_cpu(struct weir_sim_kernel *sim, int cpu, bool online);

/* Samples and records that were asked of that event while it was enabled, and how many of them found no room. */
void weir_sim_kernel_totals(const struct weir_sim_kernel *sim, int fd, uint64_t *produced, uint64_t *lost);

#endif
