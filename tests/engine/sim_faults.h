/*
 * Memory and time of a simulated recording, which fail by seed. One thread; the failing allocator is the process's
 * (tests/base/failing_alloc.h).
 *
 * Memory: what weir allocates is counted from sim_memory_begin() to sim_memory_end(), and not what the test does in
 * between. One of these allocations fails; or it and all that follow; or it, and later one here and there, so that what
 * is half done when memory fails is different each time.
 *
 * Time: the monotonic clock never goes back, and that is all that can be relied on. It may stand still for seconds, go
 * in ticks, be a day ahead at the next reading (a virtual machine that was stopped), or go on while weir makes a step.
 */
#ifndef WEIR_TESTS_ENGINE_SIM_FAULTS_H
#define WEIR_TESTS_ENGINE_SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "tests/engine/sim_disks.h"

enum sim_shortage {
    SIM_SHORTAGE_NONE,
    SIM_SHORTAGE_ONCE,
    SIM_SHORTAGE_LASTING,
    SIM_SHORTAGE_SCATTERED,
};

struct sim_memory {
    enum sim_shortage kind;
    bool in_setup; /* what fails is of the set-up; else of what follows */
    struct sim_random random;
    unsigned before; /* allocations that succeed before it */
    bool counts;     /* between begin() and end(): what is allocated is of the phase in which something fails */
    unsigned seen_at_begin;
    bool has_failed;
};

/* Three eighths of the seeds have one. */
void sim_memory_choose(struct sim_memory *memory, struct sim_random *random);

/* Around what weir does; they nest not. in_setup: it belongs to the set-up. */
void sim_memory_begin(struct sim_memory *memory, bool in_setup);
void sim_memory_end(struct sim_memory *memory);

enum sim_time {
    SIM_TIME_FLOWS,
    SIM_TIME_STANDS,
    SIM_TIME_TICKS,
    SIM_TIME_LEAPS,
    SIM_TIME_CREEPS,
    SIM_TIME_KINDS,
};

struct sim_clock {
    enum sim_time kind;
    struct sim_random random;
    uint64_t now_ns;   /* by the kernel's clock, which stamps samples */
    uint64_t shown_ns; /* to weir */
    uint64_t tick_ns;
    uint64_t stands_until_ns;
};

/* Half of the seeds have a clock that flows. */
void sim_clock_choose(struct sim_clock *clock, struct sim_random *random);

/* So much time passes. */
void sim_clock_pass(struct sim_clock *clock, uint64_t ns);

/* The interface to give away; valid as long as clock. */
struct weir_clock sim_clock_interface(struct sim_clock *clock);

#endif
