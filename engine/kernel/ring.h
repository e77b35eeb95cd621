/*
 * One event ring: the memory that the kernel writes records into and we read them from.
 *
 * This pair of files is the only place where weir touches the words that it shares with the kernel (data_head,
 * data_tail) and where it calls perf_event_open(2). (The simulated kernel, which plays the other side, is the one
 * exception and lives in sim_kernel.c.)
 *
 * Who orders what (include/uapi/linux/perf_event.h on data_head and data_tail; kernel/events/ring_buffer.c,
 * perf_output_put_handle(), Linux 6.12; Documentation/memory-barriers.txt on circular buffers):
 *
 *     kernel, on the ring's CPU                      reader thread
 *     -------------------------                      -------------
 *     READ  data_tail                                READ  data_head, acquire           (C)
 *       control dependency: room?   (A)                READ  records
 *     WRITE records                                    ... copied out ...
 *     write barrier                 (B)              WRITE data_tail, release           (D)
 *     WRITE data_head
 *
 *     (A) pairs with (D): the kernel overwrites a record only after we have copied it.
 *     (B) pairs with (C): we read a record only after the kernel has written all of it.
 *
 * Rings of the newest records (--overwrite) are mapped read-only. The kernel writes them from the end of the memory to
 * its beginning, without a look at data_tail: data_head counts down, and the newest record stands at it. They are read
 * while their output is paused (PERF_EVENT_IOC_PAUSE_OUTPUT) or their events are off, so (B) and (C) hold as above and
 * nothing changes meanwhile. From head upwards stand whole records, newest first, as many bytes as were written since
 * the last look; of a ring that was written over, the last record that begins within its size may be cut, and that
 * shows by its size.
 *
 * Beside the ring of an event whose PMU traces by itself (intel_pt, intel_bts, arm_spe, cs_etm) lies an AUX area, a
 * ring of bytes that are no records. What they are of is told by AUX records in the ring (kernel/events/ring_buffer.c,
 * perf_aux_output_begin() and _end(), Linux 6.12):
 *
 *     kernel                                         reader thread
 *     ------                                         -------------
 *     READ  aux_tail          (A')                   READ  aux_head, acquire            (C')
 *     the PMU writes the area                          READ  data_head, acquire         (C), then the area
 *     WRITE AUX record; data_head                    WRITE aux_tail, release            (D')
 *     WRITE aux_head          (B')
 *
 *     (A') with (D') and (B') with (C') as above. The AUX record is published before aux_head: who reads aux_head first
 *     and data_head then sees the AUX records of all that lies below aux_head.
 *
 * An area that is mapped read-only is overwritten, as a ring of the newest records is. aux_head is then an offset
 * within it, or counts on, as the PMU's driver has it; it stands still, and so does the area, while the event is
 * disabled.
 *
 * The coordinator, a third thread, asks whether a ring is empty without owning it: see weir_ring_is_drained()
 * (ring-drained). The letters (A) to (D) are those of the kernel's ring_buffer.c.
 */
#ifndef WEIR_ENGINE_KERNEL_RING_H
#define WEIR_ENGINE_KERNEL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/kernel/kernel.h"

struct weir_ring {
    struct perf_event_mmap_page *page; /* owned mapping; NULL when not mapped */
    const uint8_t *data;               /* first byte of the data area, behind the control page */
    uint64_t bytes;                    /* of the data area, a power of two */
    uint64_t tail;                     /* reader's own copy of data_tail; only the reader touches it */
    const struct weir_kernel *kernel;  /* borrowed */
    bool newest;                       /* see above; tail is then the head of the last look */
};

/* Of a ring: its reader is woken whenever so much more has been written, by the watermark of its events. */
#define WEIR_RING_WATERMARK_SHARE 4

#define WEIR_RING_INIT         \
    {                          \
        NULL, NULL, 0, 0, NULL \
    }

/* Maps the ring of descriptor fd. bytes: a power of two, a multiple of the page size. 0 or -errno: -EPERM (over the
 * mlock budget, perf_event_open(2) on perf_event_mlock_kb), -ENOMEM, -EINVAL. Set-up only. */
int weir_ring_map(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes);

/* The same for a ring of the newest records. */
int weir_ring_map_newest(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes);

/* NULL-safe and idempotent. No thread may read the ring any more. */
void weir_ring_unmap(struct weir_ring *ring);

/* The producer's position, free running; all bytes in [tail, head) are whole records. Reader thread. (C) */
uint64_t weir_ring_head(const struct weir_ring *ring);

/* Gives [ring->tail, tail) back to the kernel. Everything below tail must have been copied out. Reader thread. (D) */
void weir_ring_release(struct weir_ring *ring, uint64_t tail);

/* Copies bytes from position on, across the wrap. bytes <= ring->bytes. Reader thread. */
void weir_ring_copy(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes);

/* The same by weir_copy_past_caches(). */
void weir_ring_copy_past_caches(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes);

/* The bytes from position on where they lie; NULL when they go on behind the wrap. bytes <= ring->bytes; valid until
 * they are released. Reader thread. */
const uint8_t *weir_ring_at(const struct weir_ring *ring, uint64_t position, uint64_t bytes);

/*
 * True when all that the kernel had published was given back (D) at the time of the call. Any thread. (ring-drained)
 * data_tail is read with acquire: it pairs with (D), so that what the reader stored before its release (that it holds a
 * chunk: chunk_sink.h) is visible to the caller that saw the ring drained.
 * A ring of the newest records counts as drained: between snapshots nobody takes anything from it.
 */
bool weir_ring_is_drained(const struct weir_ring *ring);

/* Bytes that the kernel has published and nobody has given back: that many or fewer are left when it returns, but for
 * what was published since. 0 says what is_drained() does. Any thread. */
uint64_t weir_ring_fill(const struct weir_ring *ring);

/* How the time of records follows from the CPU's own counter: time_* of struct perf_event_mmap_page. */
struct weir_time_conversion {
    uint64_t shift, multiplier, zero, cycles, mask;
    bool has_zero;  /* cap_user_time_zero: the counter gives the time itself; false: the kernel tells nothing of it */
    bool has_short; /* cap_user_time_short: the counter has no more bits than mask */
};

/* Reads it from a ring that is mapped. Any thread. */
void weir_ring_time_conversion(const struct weir_ring *ring, struct weir_time_conversion *conversion);

/* The AUX area beside a ring. */
struct weir_aux_area {
    struct perf_event_mmap_page *page; /* borrowed from the ring, whose mapping is to outlive this one; NULL: none */
    const uint8_t *data;               /* owned mapping */
    uint64_t bytes;                    /* a power of two */
    uint64_t tail;                     /* reader's own copy of aux_tail; of a newest one: the head of the last look */
    const struct weir_kernel *kernel;  /* borrowed */
    bool newest;                       /* the kernel overwrites the oldest bytes */
};

/* Maps the AUX area of event fd, whose ring that is (mapped writable) or which outputs to it. bytes: a power of two, a
 * multiple of the page size. 0 or -errno: -EOPNOTSUPP (its PMU has none), -EPERM (over the mlock budget), -ENOMEM,
 * -EINVAL; and then the ring is as before. Set-up only. */
int weir_aux_area_map(struct weir_aux_area *area, const struct weir_ring *ring, int fd, uint64_t bytes, bool newest);

/* NULL-safe and idempotent. No thread may read the area any more. */
void weir_aux_area_unmap(struct weir_aux_area *area);

/* The kernel's position; bytes in [tail, head) are whole. Reader thread. (C') */
uint64_t weir_aux_area_head(const struct weir_aux_area *area);

/* Gives [area->tail, tail) back. Of an area that is not newest; reader thread. (D') */
void weir_aux_area_release(struct weir_aux_area *area, uint64_t tail);

#endif
