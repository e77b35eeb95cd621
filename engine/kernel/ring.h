/*
 * One event ring: the kernel writes records into its memory, and one reader takes them out.
 *
 * Only ring.h and ring.c touch the words that weir shares with the kernel (data_head, data_tail and their AUX twins).
 * Only they call perf_event_open(2). (engine/sim/sim_kernel.c plays the kernel's side.)
 *
 * Memory order (include/uapi/linux/perf_event.h on data_head and data_tail; kernel/events/ring_buffer.c,
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
 *     (A) pairs with (D): the kernel overwrites a record only after the reader has copied it.
 *     (B) pairs with (C): the reader reads a record only after the kernel has written all of it.
 *
 *     (ring-drained) The coordinator asks whether a ring is empty: it reads data_tail, acquire, then data_head. The
 *                    acquire pairs with (D), so the coordinator sees all that the reader stored before its release.
 *
 * The letters (A) to (D) are those of the kernel's ring_buffer.c.
 *
 * A ring of the newest records (--overwrite) is mapped read-only. The kernel writes it from the end of the memory to
 * the beginning and ignores data_tail. data_head counts down, and the newest record stands at data_head. weir reads
 * such a ring only while its output is paused (PERF_EVENT_IOC_PAUSE_OUTPUT) or its events are disabled. So the ring
 * does not change meanwhile; (B) and (C) hold. From data_head upwards there are whole records, newest first, as many
 * bytes as the kernel has written since the last look. In a ring that the kernel has written over, the last record may
 * be cut, which its size shows.
 *
 * An event whose PMU traces by itself (intel_pt, intel_bts, arm_spe, cs_etm) has an AUX area beside its ring: a ring of
 * trace bytes. AUX records in the event's ring describe what the bytes belong to (kernel/events/ring_buffer.c,
 * perf_aux_output_begin() and _end(), Linux 6.12):
 *
 *     kernel                                         reader thread
 *     ------                                         -------------
 *     READ  aux_tail          (A')                   READ  aux_head, acquire            (C')
 *     the PMU writes the area                          READ  data_head, acquire         (C), then the area
 *     WRITE AUX record; data_head                    WRITE aux_tail, release            (D')
 *     WRITE aux_head          (B')
 *
 *     (A') pairs with (D'): the PMU overwrites trace only after the reader has copied it.
 *     (B') pairs with (C'): the reader reads trace only after the PMU has written it.
 *
 * The kernel publishes an AUX record before aux_head. So a reader that reads aux_head and then data_head sees the AUX
 * records of all trace below aux_head.
 *
 * An AUX area that is mapped read-only is overwritten, like a ring of the newest records. Its aux_head is an offset in
 * the area or counts on, depending on the PMU's driver. While the event is disabled, area and aux_head do not change.
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
    uint64_t tail;                     /* the reader's own copy of data_tail; newest: the head of its last look */
    const struct weir_kernel *kernel;  /* borrowed */
    bool newest;                       /* a ring of the newest records */
};

/* The watermark of a ring's events: the kernel wakes the reader whenever bytes / 4 more have been written. */
#define WEIR_RING_WATERMARK_SHARE 4

#define WEIR_RING_INIT         \
    {                          \
        NULL, NULL, 0, 0, NULL \
    }

/* Maps the ring of descriptor fd. bytes: a power of two, a multiple of the page size. 0; -EPERM: over the mlock budget
 * (perf_event_open(2) on perf_event_mlock_kb); -ENOMEM; -EINVAL. Set-up only. */
int weir_ring_map(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes);

/* Maps a ring of the newest records. As weir_ring_map(). */
int weir_ring_map_newest(struct weir_ring *ring, const struct weir_kernel *kernel, int fd, uint64_t bytes);

/* Unmaps the ring, which no thread reads any more. NULL-safe and idempotent. */
void weir_ring_unmap(struct weir_ring *ring);

/* The kernel's position, which never wraps; [tail, head) has whole records. Reader thread. (C) */
uint64_t weir_ring_head(const struct weir_ring *ring);

/* Gives [ring->tail, tail), which was copied out, back to the kernel. Reader thread. (D) */
void weir_ring_release(struct weir_ring *ring, uint64_t tail);

/* Copies bytes from position on, across the wrap. bytes <= ring->bytes. Reader thread. */
void weir_ring_copy(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes);

/* Copies like weir_ring_copy(), by weir_copy_past_caches(). */
void weir_ring_copy_past_caches(const struct weir_ring *ring, uint64_t position, void *to, uint64_t bytes);

/* Points to the bytes from position on; NULL: they wrap. bytes <= ring->bytes. Valid until they are released. Reader
 * thread. */
const uint8_t *weir_ring_at(const struct weir_ring *ring, uint64_t position, uint64_t bytes);

/*
 * Whether the reader has given back (D) everything that the kernel had published by now. A caller that sees the ring
 * drained also sees all stores of the reader before its release of data_tail. So the caller sees that the reader holds
 * a chunk (chunk_sink.h). A ring of the newest records counts as drained: between snapshots nobody takes records from
 * it. Any thread. (ring-drained)
 */
bool weir_ring_is_drained(const struct weir_ring *ring);

/* The bytes that the kernel has published and the reader has not given back. 0: as weir_ring_is_drained(). When it
 * returns, the reader may have given back some of them, and the kernel may have published more. Any thread. */
uint64_t weir_ring_fill(const struct weir_ring *ring);

/* The conversion of the CPU's counter to the time of records: time_* of struct perf_event_mmap_page. */
struct weir_time_conversion {
    uint64_t shift, multiplier, zero, cycles, mask;
    bool has_zero;  /* cap_user_time_zero: `zero` is valid, and gives absolute times; false: there is no conversion */
    bool has_short; /* cap_user_time_short: the counter has no more bits than mask */
};

/* Reads the conversion from a mapped ring. Any thread. */
void weir_ring_time_conversion(const struct weir_ring *ring, struct weir_time_conversion *conversion);

/* The AUX area beside a ring. */
struct weir_aux_area {
    struct perf_event_mmap_page *page; /* borrowed from the ring, which is unmapped later; NULL: no area */
    const uint8_t *data;               /* owned mapping */
    uint64_t bytes;                    /* a power of two */
    uint64_t tail;                     /* the reader's own copy of aux_tail; newest: the head of its last look */
    const struct weir_kernel *kernel;  /* borrowed */
    bool newest;                       /* the kernel overwrites the oldest bytes */
};

/* Maps the AUX area of event fd. ring: the event's own, or the one that it outputs to; mapped writable. bytes: a power
 * of two, a multiple of the page size. 0; -EOPNOTSUPP: the event's PMU has no AUX area; -EPERM: over the mlock budget;
 * -ENOMEM; -EINVAL. On failure the ring is unchanged. Set-up only. */
int weir_aux_area_map(struct weir_aux_area *area, const struct weir_ring *ring, int fd, uint64_t bytes, bool newest);

/* Unmaps the area, which no thread reads any more. NULL-safe and idempotent. */
void weir_aux_area_unmap(struct weir_aux_area *area);

/* The kernel's position; the trace in [tail, head) is written. Reader thread. (C') */
uint64_t weir_aux_area_head(const struct weir_aux_area *area);

/* Gives [area->tail, tail) back to the kernel. The area is not newest. Reader thread. (D') */
void weir_aux_area_release(struct weir_aux_area *area, uint64_t tail);

#endif
