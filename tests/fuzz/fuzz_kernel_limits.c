/*
 * The knobs of the kernel (engine/kernel/kernel_limits.h). Input: the files in the order of the table below, parted by
 * FUZZ_SEPARATOR.
 *
 * A knob is what strtoll(3) makes of its file when that is an int, or what the kernel boots with; whatever it is, the
 * ring sizes that follow are powers of two of whole pages, and pay for themselves from the knob where that is enough
 * for the least.
 */
#include "engine/kernel/kernel_limits.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define MIB            (UINT64_C(1) << 20)
#define GIB            (UINT64_C(1) << 30)
#define MEMORY_BYTES   (16 * GIB)
#define DATA_BYTES_MAX (8 * MIB)
#define CPUS_MAX       1024u

static const char *const files[] = {
    "sys/kernel/perf_event_paranoid",
    "sys/kernel/perf_event_mlock_kb",
    "sys/kernel/perf_event_max_sample_rate",
    "self/uid_map",
};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

static void *init(void)
{
    return fuzz_tree_new(files, FILE_COUNT);
}

static void check_amount(struct fuzz_part file, uint64_t at_boot, uint64_t amount)
{
    char *text = fuzz_part_text(file), *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool is_amount = errno == 0 && end != text && number >= 0 && number <= INT_MAX;
    weir_assert(amount == (is_amount ? (uint64_t)number : at_boot));
    free(text);
}

static void check_sizes(const struct weir_kernel_limits *limits, unsigned cpus)
{
    struct weir_ring_sizes sizes = weir_ring_bytes_choose(limits, MEMORY_BYTES, cpus);
    weir_assert(weir_is_power_of_two(sizes.data_bytes) && weir_is_power_of_two(sizes.sideband_bytes));
    weir_assert(sizes.data_bytes >= limits->page_bytes && sizes.data_bytes <= DATA_BYTES_MAX);
    weir_assert(sizes.sideband_bytes >= limits->page_bytes && sizes.sideband_bytes <= sizes.data_bytes);

    struct weir_kernel_limits unlimited = *limits;
    unlimited.perf_event_paranoid = -1;
    struct weir_ring_sizes wish = weir_ring_bytes_choose(&unlimited, MEMORY_BYTES, cpus);
    if (limits->mlock_kb / 2 >= weir_ring_sizes_mlock_kb(limits, &wish)) /* half of it: sizes are powers of two */
        weir_assert(sizes.data_bytes == wish.data_bytes);

    struct weir_ring_sizes least = {limits->page_bytes, limits->page_bytes};
    bool can_pay = limits->mlock_kb >= weir_ring_sizes_mlock_kb(limits, &least);
    if (!weir_kernel_limits_rings_are_free(limits) && can_pay)
        weir_assert(weir_ring_sizes_mlock_kb(limits, &sizes) <= limits->mlock_kb);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fuzz_tree *tree = object;
    struct fuzz_part parts[FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILE_COUNT);
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(tree->fds[i], parts[i]);

    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, tree->root);
    check_amount(parts[1], 512 + limits.page_bytes / 1024, limits.mlock_kb);
    check_amount(parts[2], 100000, limits.max_sample_rate_hz);
    weir_assert(!limits.in_user_namespace || (!limits.cap_perfmon && !limits.cap_ipc_lock));
    limits.cap_ipc_lock = false; /* whatever this process has: the knob shall decide */
    for (unsigned cpus = 1; cpus <= CPUS_MAX; cpus *= 2)
        check_sizes(&limits, cpus);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fuzz_tree_free};
