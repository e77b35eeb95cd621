/*
 * A simulated kernel: perf events and rings in memory, behind engine/kernel/kernel.h.
 *
 * Rings have the real layout (perf_event_mmap_page, then data) and the real write order (ring.h: read data_tail, write
 * records, publish data_head). A full ring follows the kernel's own rules: the kernel drops the record and counts it
 * per event (PERF_FORMAT_LOST) and per ring. A LOST record precedes the next record that fits
 * (kernel/events/ring_buffer.c, __perf_output_begin(), Linux 6.12). A crossed watermark makes poll(2) report the ring
 * once. sim_record.h makes the records.
 *
 * Descriptors are real eventfds, so that poll(2) works on them together with others. One thread makes all set-up calls
 * (open, map, redirect, close, CPUs going on and off line), also while others produce and read. Each ring has one
 * producer and one reader, which may be different threads.
 */
#ifndef WEIR_ENGINE_SIM_SIM_KERNEL_H
#define WEIR_ENGINE_SIM_SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel/kernel.h"
#include "engine/sim/sim_record.h"

struct weir_sim_kernel; /* opaque */

/* Makes a kernel without events. The caller owns *out. 0 or -ENOMEM. */
int weir_sim_kernel_new(struct weir_sim_kernel **out);

/* Frees everything, also events and rings that are still open. NULL is allowed. */
void weir_sim_kernel_free(struct weir_sim_kernel *sim);

/* Returns whether every event is closed and every ring unmapped. Set-up thread. */
bool weir_sim_kernel_is_released(const struct weir_sim_kernel *sim);

/* Returns the interface for the pipeline; valid as long as sim. */
struct weir_kernel weir_sim_kernel_interface(struct weir_sim_kernel *sim);

/* Makes the event of descriptor fd overflow once: writes a sample into its ring. True: written. False: the event is
 * disabled (not counted), has no ring (counted, but not as lost), or its ring is full or paused (counted as lost). Only
 * the ring's producer calls it. */
bool weir_sim_kernel_sample(struct weir_sim_kernel *sim, int fd, const struct weir_sim_sample *sample);

/* Returns whether a record of so many bytes would find room in the ring of descriptor fd, or never can. Only the ring's
 * producer calls it. */
bool weir_sim_kernel_has_room(struct weir_sim_kernel *sim, int fd, size_t bytes);

/* Writes a CALLCHAIN_DEFERRED record, for events that take them. Otherwise as weir_sim_kernel_sample(). */
bool weir_sim_kernel_user_part(struct weir_sim_kernel *sim, int fd, const struct weir_sim_user_part *part);

/* Writes a COMM record with a sample_id trailer, for sideband events. Otherwise as weir_sim_kernel_sample(). */
bool weir_sim_kernel_comm(struct weir_sim_kernel *sim, int fd, uint32_t pid, const char *comm, uint64_t time_ns);

/*
 * Takes a CPU off line, or brings it back, as Linux does (perf_event_exit_cpu()). Events of all tasks on an offline CPU
 * are dead; their rings and counts stay. Opening an event there fails with -ENODEV until the CPU is back. Not while a
 * producer of that CPU runs.
 */
void weir_sim_kernel_set_cpu(struct weir_sim_kernel *sim, int cpu, bool online);

/* Counts the samples and records that the enabled event was asked to write, and those that found no room. */
void weir_sim_kernel_totals(const struct weir_sim_kernel *sim, int fd, uint64_t *produced, uint64_t *lost);

#endif
