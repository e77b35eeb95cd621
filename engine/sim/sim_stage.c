/* The CPUs of this machine, in the order of the simulated ones. Set-up only. */
#include "engine/sim/sim_stage.h"

#include <errno.h>
#include <stdlib.h>

#include "topology/thread_affinity.h"

int weir_sim_stage_init(struct weir_sim_stage *stage)
{
    struct weir_cpuset allowed = WEIR_CPUSET_INIT;
    *stage = (struct weir_sim_stage){0};
    int result = weir_thread_affinity(&allowed);
    if (result == 0) {
        stage->cpus = calloc(weir_cpuset_count(&allowed), sizeof(*stage->cpus));
        result = stage->cpus ? 0 : -ENOMEM;
    }
    if (result == 0) {
        WEIR_CPUSET_FOREACH(cpu, &allowed) {
            stage->cpus[stage->count++] = (unsigned)cpu;
        }
    }
    weir_cpuset_fini(&allowed);
    return result;
}

void weir_sim_stage_fini(struct weir_sim_stage *stage)
{
    if (!stage)
        return;
    free(stage->cpus);
    *stage = (struct weir_sim_stage){0};
}

unsigned weir_sim_stage_cpu(const struct weir_sim_stage *stage, unsigned simulated)
{
    return stage->cpus[simulated % stage->count];
}

int weir_sim_stage_translate(const struct weir_sim_stage *stage, struct weir_cpuset *set)
{
    struct weir_cpuset real = WEIR_CPUSET_INIT;
    int result = 0;
    WEIR_CPUSET_FOREACH(cpu, set) {
        if (result == 0)
            result = weir_cpuset_add(&real, weir_sim_stage_cpu(stage, (unsigned)cpu));
    }
    if (result == 0) {
        weir_cpuset_fini(set);
        *set = real;
    } else {
        weir_cpuset_fini(&real);
    }
    return result;
}
