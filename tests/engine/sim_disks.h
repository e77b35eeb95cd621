/*
 * Disks of a simulated recording, chosen by seed: some are late, short, refuse what they are asked for, run full or
 * fail for good. One thread.
 */
#ifndef WEIR_TESTS_ENGINE_SIM_DISKS_H
#define WEIR_TESTS_ENGINE_SIM_DISKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/io/fake_io.h"

#define SIM_HEAD_BYTES 4096u /* at the beginning of each output */

struct sim_random {
    uint64_t state; /* the seed at first */
};

/* A number in [0, bound), for small bounds. */
uint64_t sim_chance(struct sim_random *random, uint64_t bound);

/* A disk, owned by the caller; whether it has to be written with pwritev(2). Half of them get by in the end. */
struct fake_io *sim_disk_choose(struct sim_random *random, uint64_t seed, bool *pwritev_queue);

/* Half of the disks fail at one of their next calls. */
void sim_disk_break(struct sim_random *random, struct fake_io *disk, bool pwritev_queue);

#endif
