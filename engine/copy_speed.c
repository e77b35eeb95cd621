/* One core's copying speed. Caller's thread. */
#include "engine/copy_speed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/bits.h"
#include "base/clock.h"

#define PIECE_BYTES (24u * 1024)
#define PASS_BYTES  (64ull << 20)
#define PASSES      5

static double thread_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / (double)WEIR_NS_PER_S;
}

static double copy_once(const uint8_t *source, uint64_t source_bytes, uint8_t *target, uint64_t target_bytes)
{
    uint64_t from = 0, to = 0, copied = 0;
    double started = thread_seconds();
    for (; copied < PASS_BYTES; copied += PIECE_BYTES) {
        from = from + PIECE_BYTES > source_bytes ? 0 : from;
        to = to + PIECE_BYTES > target_bytes ? 0 : to;
        memcpy(target + to, source + from, PIECE_BYTES);
        from += PIECE_BYTES;
        to += PIECE_BYTES;
    }
    double seconds = thread_seconds() - started;
    return seconds > 0 ? (double)copied / seconds : 0;
}

static uint8_t *map(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

double weir_copy_speed_measure(uint64_t source_bytes, uint64_t target_bytes)
{
    uint64_t source_size = weir_max_u64(source_bytes, PIECE_BYTES),
             target_size = weir_max_u64(target_bytes, PIECE_BYTES);
    uint8_t *source = map(source_size), *target = map(target_size);
    double best = 0;
    if (source && target) {
        madvise(target, target_size, MADV_HUGEPAGE); /* as chunks lie; rings do not */
        memset(source, 1, source_size);              /* each page is one of its own: the zero page stays in the cache */
        memset(target, 1, target_size);
        for (unsigned pass = 0; pass < PASSES; pass++) {
            double speed = copy_once(source, source_size, target, target_size);
            best = speed > best ? speed : best;
        }
    }
    if (source)
        munmap(source, source_size);
    if (target)
        munmap(target, target_size);
    return best;
}
