/*
 * Which CPUs of this machine play those of a simulated one. Simulated CPU n is played by the n-th CPU that this process
 * may run on, counted round and round: the producer that writes its rings and the reader that empties them run there,
 * as both do on a real machine. So what a reader copies comes out of the cache of its own core, and it takes its CPU
 * from the load that it records. Set-up only.
 */
#ifndef WEIR_ENGINE_SIM_SIM_STAGE_H
#define WEIR_ENGINE_SIM_SIM_STAGE_H

#include "base/cpuset.h"

struct weir_sim_stage {
    unsigned *cpus; /* owned; of this machine */
    unsigned count;
};

/* Of the CPUs that the calling thread may run on. 0 or -errno. */
int weir_sim_stage_init(struct weir_sim_stage *stage);

/* NULL-safe. */
void weir_sim_stage_fini(struct weir_sim_stage *stage);

/* The CPU of this machine that plays a simulated one. */
unsigned weir_sim_stage_cpu(const struct weir_sim_stage *stage, unsigned simulated);

/* Replaces simulated CPUs by those of this machine. 0 or -ENOMEM. */
int weir_sim_stage_translate(const struct weir_sim_stage *stage, struct weir_cpuset *set);

#endif
