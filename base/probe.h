/*
 * Static probes: places at which a tracer may look into a running weir (weir-probes(7) lists them for users).
 *
 * A probe is one instruction without an effect, and a note in the program that says where the arguments lie. A tracer
 * replaces the instruction (a uprobe). All arguments are values that the code has at hand, so an unused probe computes
 * nothing, and needs no semaphore. No probe is on the path of each record: the most frequent ones come once for each
 * look at a ring and each chunk.
 *
 * Any thread. Builds without sys/sdt.h of systemtap have no probes. Source: sys/sdt.h, "DTRACE_PROBE".
 */
#ifndef WEIR_BASE_PROBE_H
#define WEIR_BASE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef WEIR_SDT
#include <sys/sdt.h>
#define WEIR_PROBE1(name, a)       DTRACE_PROBE1(weir, name, a)
#define WEIR_PROBE2(name, a, b)    DTRACE_PROBE2(weir, name, a, b)
#define WEIR_PROBE3(name, a, b, c) DTRACE_PROBE3(weir, name, a, b, c)
#else
#define WEIR_PROBE1(name, a)       ((void)(a))
#define WEIR_PROBE2(name, a, b)    ((void)(a), (void)(b))
#define WEIR_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#define WEIR_PROBE_FUNCTION static inline __attribute__((always_inline)) void

/* A reader comes back from its sleep. by_ring: a ring has called, not the coordinator or the time. */
WEIR_PROBE_FUNCTION weir_probe_wake(unsigned reader, bool by_ring)
{
    WEIR_PROBE2(wake, reader, by_ring);
}

/* A reader looks at a ring, from which it will copy so many bytes, if it finds memory. */
WEIR_PROBE_FUNCTION weir_probe_drain(unsigned place, bool sideband, uint64_t bytes)
{
    WEIR_PROBE3(drain, place, sideband, bytes);
}

/* A reader has found LOST records: the kernel had no room in the ring for so many records. */
WEIR_PROBE_FUNCTION weir_probe_loss(unsigned place, bool sideband, uint64_t records)
{
    WEIR_PROBE3(loss, place, sideband, records);
}

/* A reader hands a chunk over to the writer. */
WEIR_PROBE_FUNCTION weir_probe_hand_over(unsigned reader, uint32_t bytes)
{
    WEIR_PROBE2(hand_over, reader, bytes);
}

/* The writer gives a write to io_uring, or makes it itself. */
WEIR_PROBE_FUNCTION weir_probe_write_submitted(uint64_t offset, uint64_t bytes, bool direct)
{
    WEIR_PROBE3(write_submitted, offset, bytes, direct);
}

/* The write is over. result: bytes, or -errno. */
WEIR_PROBE_FUNCTION weir_probe_write_completed(uint64_t offset, int64_t result)
{
    WEIR_PROBE2(write_completed, offset, result);
}

/* The writer leaves an output that has so many bytes of data for the next one. */
WEIR_PROBE_FUNCTION weir_probe_rotation(uint64_t bytes)
{
    WEIR_PROBE1(rotation, bytes);
}

#endif
