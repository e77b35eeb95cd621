/*
 * Threads that play the CPUs of a simulated machine. Each thread has a share of the CPUs. It writes samples and side
 * records into their simulated rings, at a set rate or as fast as it can. There are six kinds of samples:
 *
 *     tracepoint   a raw payload of up to payload_bytes, as of bpf-output or a tracepoint
 *     callchain    8 to 40 user frames
 *     dwarf        user registers and 8 KiB of user stack, as of --call-graph dwarf
 *     aggregate    call chains, of which there are 512 in all. The run merges equal samples, as by --aggregate
 *     unwind       as dwarf, with a real stack of some 20 frames. The run unwinds all copied stacks, as by
 *                  --call-graph dwarf,unwind
 *     deferred     6 frames of the kernel, and 8 to 40 user frames in a record of their own. The run joins both, as by
 *                  --call-graph fp,defer
 *
 * Each kind is an event of its own, as in a recording with several -e. There is at most one producer thread per CPU of
 * the real machine. Producers compete with the readers for these CPUs, so the simulation itself may cause losses. With
 * more rings than CPUs, CPU time per byte says more than bytes per second.
 */
#ifndef WEIR_ENGINE_SIM_SIM_PRODUCER_H
#define WEIR_ENGINE_SIM_SIM_PRODUCER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/events/event_list.h"
#include "engine/events/event_set.h"
#include "engine/sim/sim_kernel.h"
#include "engine/sim/sim_stack.h"
#include "engine/sim/sim_stage.h"

enum weir_sim_kind {
    WEIR_SIM_TRACEPOINT,
    WEIR_SIM_CALLCHAIN,
    WEIR_SIM_DWARF,
    WEIR_SIM_AGGREGATE,
    WEIR_SIM_UNWIND,
    WEIR_SIM_DEFERRED,
    WEIR_SIM_KIND_COUNT,
};

/* The names of the kinds in a record mix. */
extern const char *const weir_sim_kind_names[WEIR_SIM_KIND_COUNT];

struct weir_sim_mix {
    unsigned parts[WEIR_SIM_KIND_COUNT]; /* of all samples; their sum is at least 1 */
};

struct weir_sim_load {
    unsigned cpus;
    uint64_t records_per_cpu;
    uint64_t rate_per_cpu_hz; /* samples; 0: as fast as possible */
    uint64_t burst;   /* samples of one CPU before the thread's next CPU gets its turn; 0: few, so that all CPUs go on
                         side by side. A rate is kept on average. */
    bool closed_loop; /* a thread waits until the ring has room for its next sample: it makes no loss itself */
    uint32_t payload_bytes; /* of tracepoints, at least 8 */
    struct weir_sim_mix mix;
    uint64_t seed;
};

/* Adds the events that the mix needs, in the order of the kinds. 0 or -errno with err. */
int weir_sim_mix_add_events(const struct weir_sim_mix *mix, struct weir_event_list *events, struct weir_error *err);

struct weir_sim_producers; /* opaque */

struct weir_sim_producers_setup {
    struct weir_sim_load load;
    const struct weir_event_set *events; /* borrowed; open and mapped, the events of the mix first */
    struct weir_sim_kernel *sim;         /* borrowed */
    const struct weir_sim_stage *stage;  /* borrowed */
    const struct weir_sim_stack *stack;  /* borrowed; of the kind unwind */
    const struct weir_clock *clock;      /* borrowed */
    int done_fd;                         /* borrowed eventfd: each thread adds one when it has produced everything */
};

/* Starts the threads, at most one on each CPU of the stage. The caller owns *out, also after a failure. 0 or -errno
 * with err. */
int weir_sim_producers_start(struct weir_sim_producers **out, const struct weir_sim_producers_setup *setup,
                             struct weir_error *err);

unsigned weir_sim_producers_count(const struct weir_sim_producers *producers);

struct weir_sim_produced {
    double seconds;     /* until the last thread had produced everything, or was stopped */
    double cpu_seconds; /* of all producer threads */
};

/* Stops the threads that still run and frees everything. producers and produced may be NULL. */
void weir_sim_producers_stop(struct weir_sim_producers *producers, struct weir_sim_produced *produced);

/* Returns the next random number; the state is never 0. xorshift64* (Vigna, 2016). */
uint64_t weir_sim_random(uint64_t *state);

#endif
