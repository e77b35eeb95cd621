/* Disks by seed; see sim_disks.h. */
#include "tests/engine/sim_disks.h"

#include <errno.h>

#include "base/bits.h"
#include "tests/base/random.h"

/* splitmix64 (Vigna, 2015), uniform enough for small bounds. */
uint64_t sim_chance(struct sim_random *random, uint64_t bound)
{
    return test_random(&random->state) % bound;
}

struct fake_io *sim_disk_choose(struct sim_random *random, uint64_t seed, bool *pwritev_queue)
{
    struct fake_io_options options = {
        .seed = seed,
        .no_direct = sim_chance(random, 4) == 0,
        .refuses_direct = sim_chance(random, 8) == 0,
        .reorders = sim_chance(random, 2) == 0,
        .pwritev_queue = sim_chance(random, 8) == 0,
        .short_per_mille = (unsigned)(sim_chance(random, 2) * sim_chance(random, 300)),
        .refuse_per_mille = (unsigned)(sim_chance(random, 2) * sim_chance(random, 300)),
        .buffers_taken_max = (unsigned)sim_chance(random, 3),
    };
    if (sim_chance(random, 8) == 0) {
        options.space_bytes = SIM_HEAD_BYTES + sim_chance(random, 2u << 20);
        options.is_quota = options.space_bytes % 2;
    }
    *pwritev_queue = options.pwritev_queue;
    return fake_io_new(&options);
}

void sim_disk_break(struct sim_random *random, struct fake_io *disk, bool pwritev_queue)
{
    const struct {
        enum fake_io_call call;
        bool sticky;
        int error;
        uint64_t calls_most;
    } faults[] = {
        {pwritev_queue ? FAKE_IO_PWRITEV : FAKE_IO_WRITE, true, -EIO, 40},
        {pwritev_queue ? FAKE_IO_PWRITEV : FAKE_IO_WRITE, false, -ENOSPC, 40},
        {FAKE_IO_FLUSH, true, -EIO, 80},
        {FAKE_IO_REAP, true, -EIO, 80},
    };
    uint64_t choice = sim_chance(random, 2 * WEIR_ARRAY_COUNT(faults));
    if (choice >= WEIR_ARRAY_COUNT(faults))
        return;
    struct fake_io_fault fault = {
        .nth = fake_io_calls(disk, faults[choice].call) + 1 + sim_chance(random, faults[choice].calls_most),
        .sticky = faults[choice].sticky,
        .error = faults[choice].error,
    };
    fake_io_set_fault(disk, faults[choice].call, &fault);
}
