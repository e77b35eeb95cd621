/* One core's copying speed. Caller's thread. */
#include "engine/drain/copy_speed.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/clock.h"

#define PIECE_BYTES   (24u * 1024)
#define SUM_BYTES     (320ull << 20) /* a sixtieth of a second, and as long to write them before */
#define RINGS_BYTES   (256ull << 20)
#define RECORD_OFFSET 8 /* records are multiples of it */
#define AREA_MIN      (4ull * PIECE_BYTES)

struct areas {
    uint8_t *source, *target; /* owned */
    uint64_t source_bytes, target_bytes;
};

/* Copies the bytes just written, piece by piece; returns their number. */
static uint64_t copy_pieces(const uint8_t *source, uint64_t bytes, const struct areas *areas, uint64_t *to)
{
    uint64_t copied = 0;
    for (; copied + PIECE_BYTES <= bytes; copied += PIECE_BYTES) {
        *to = *to + PIECE_BYTES > areas->target_bytes ? 0 : *to;
        memcpy(areas->target + *to, source + copied, PIECE_BYTES);
        *to += PIECE_BYTES;
    }
    return copied;
}

/* Writes part of the source and copies it from the offset on, part by part. */
static void copy_parts(const struct areas *areas, uint64_t part, unsigned offset, struct weir_copy_sum *sum)
{
    uint64_t from = 0, to = 0, copied = 0;
    for (uint8_t value = 1; copied < SUM_BYTES; value++) {
        memset(areas->source + from, value, part);
        uint64_t started_ns = weir_clock_thread_cpu_ns();
        copied += copy_pieces(areas->source + from + offset, part - offset, areas, &to);
        sum->cpu_ns += weir_clock_thread_cpu_ns() - started_ns;
        from = from + 2 * part > areas->source_bytes ? 0 : from + part;
    }
    sum->bytes += copied;
}

static uint8_t *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void weir_copy_speed_measure(struct weir_copy_speed *speed, uint64_t ring_bytes, unsigned rings, uint64_t target_bytes)
{
    ring_bytes = weir_max_u64(ring_bytes, 2 * AREA_MIN);
    uint64_t quarter = ring_bytes / 4;
    uint64_t all_quarters = weir_max_u64(weir_min_u64(quarter * rings, RINGS_BYTES), quarter);
    struct areas areas = {
        .source_bytes = weir_max_u64(ring_bytes, all_quarters),
        .target_bytes = weir_max_u64(target_bytes, AREA_MIN),
    };
    areas.source = map(areas.source_bytes);
    areas.target = map(areas.target_bytes);
    if (areas.source && areas.target) {
        madvise(areas.target, areas.target_bytes, MADV_HUGEPAGE); /* as chunks lie; rings do not */
        memset(areas.target, 1, areas.target_bytes);
        const struct areas ring = {areas.source, areas.target, ring_bytes, areas.target_bytes};
        copy_parts(&ring, quarter, 0, &speed->aligned);
        copy_parts(&ring, quarter, RECORD_OFFSET, &speed->records);
        if (all_quarters > quarter)
            copy_parts(&areas, all_quarters, 0, &speed->rings);
        else
            speed->rings = speed->aligned;
    }
    if (areas.source)
        munmap(areas.source, areas.source_bytes);
    if (areas.target)
        munmap(areas.target, areas.target_bytes);
}

double weir_copy_sum_per_s(const struct weir_copy_sum *sum)
{
    return sum->cpu_ns > 0 ? (double)sum->bytes * (double)WEIR_NS_PER_S / (double)sum->cpu_ns : 0;
}
