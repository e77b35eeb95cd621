/*
 * Maps the CPUs of a simulated machine to CPUs of this machine. Simulated CPU n is the n-th CPU that this process may
 * run on, counted round and round. The producer and the reader of its rings both run on that CPU, as on a real machine.
 * So the reader copies from the cache of its own core, and takes CPU time from the load that it records. Set-up only.
 */
#ifndef WEIR_ENGINE_SIM_SIM_STAGE_H
#define WEIR_ENGINE_SIM_SIM_STAGE_H

#include "base/cpuset.h"

struct weir_sim_stage {
    unsigned *cpus; /* owned; of this machine */
    unsigned count;
};

/* Takes the CPUs that the calling thread may run on. 0 or -errno. */
int weir_sim_stage_init(struct weir_sim_stage *stage);

/* Releases the CPUs. NULL is allowed. */
void weir_sim_stage_fini(struct weir_sim_stage *stage);

/* Returns the CPU of this machine for a simulated one. */
unsigned weir_sim_stage_cpu(const struct weir_sim_stage *stage, unsigned simulated);

/* Replaces the simulated CPUs in set by their CPUs of this machine. 0 or -ENOMEM. */
int weir_sim_stage_translate(const struct weir_sim_stage *stage, struct weir_cpuset *set);

#endif
