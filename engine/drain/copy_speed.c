/* One core's copying speed. Caller's thread. */
#include "engine/drain/copy_speed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/clock.h"

#define PIECE_BYTES   (24u * 1024)
#define PASS_BYTES    (32ull << 20)
#define PASSES        5
#define RECORD_OFFSET 8 /* records are multiples of it */
#define AREA_MIN      (4ull * PIECE_BYTES)

struct areas {
    uint8_t *source, *target; /* owned */
    uint64_t source_bytes, target_bytes;
};

/* Copies the pieces of what was just written; returns how much. */
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

static double copy_once(const struct areas *areas, unsigned offset)
{
    uint64_t quarter = areas->source_bytes / 4, from = 0, to = 0, copied = 0;
    uint64_t spent_ns = 0;
    for (uint8_t value = 1; copied < PASS_BYTES; value++) {
        memset(areas->source + from, value, quarter);
        uint64_t started_ns = weir_clock_thread_cpu_ns();
        copied += copy_pieces(areas->source + from + offset, quarter - offset, areas, &to);
        spent_ns += weir_clock_thread_cpu_ns() - started_ns;
        from = from + 2 * quarter > areas->source_bytes ? 0 : from + quarter;
    }
    return spent_ns > 0 ? (double)copied * (double)WEIR_NS_PER_S / (double)spent_ns : 0;
}

static uint8_t *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct weir_copy_speed weir_copy_speed_measure(uint64_t ring_bytes, uint64_t target_bytes)
{
    struct areas areas = {
        .source_bytes = weir_max_u64(ring_bytes, 2 * AREA_MIN),
        .target_bytes = weir_max_u64(target_bytes, AREA_MIN),
    };
    struct weir_copy_speed best = {0};
    areas.source = map(areas.source_bytes);
    areas.target = map(areas.target_bytes);
    if (areas.source && areas.target) {
        madvise(areas.target, areas.target_bytes, MADV_HUGEPAGE); /* as chunks lie; rings do not */
        memset(areas.target, 1, areas.target_bytes);
        for (unsigned pass = 0; pass < PASSES; pass++) {
            double aligned = copy_once(&areas, 0), records = copy_once(&areas, RECORD_OFFSET);
            best.aligned = aligned > best.aligned ? aligned : best.aligned;
            best.records = records > best.records ? records : best.records;
        }
    }
    if (areas.source)
        munmap(areas.source, areas.source_bytes);
    if (areas.target)
        munmap(areas.target, areas.target_bytes);
    return best;
}
