/* Memory and time by seed; see sim_faults.h. */
#include "tests/engine/sim_faults.h"

#include "base/bits.h"
#include "tests/base/failing_alloc.h"

#define SETUP_MOST   150u /* about what the set-up allocates */
#define RUN_MOST     60u  /* what most recordings allocate after it */
#define SCATTER_MOST 16u
#define LEAP_IN      300u
#define LEAP_MOST    (24ull * 3600 * WEIR_NS_PER_S)
#define STAND_IN     40u
#define STAND_MOST   (3 * WEIR_NS_PER_S)
#define TICK_MOST    (20 * WEIR_NS_PER_MS)
#define CREEP_MOST   (50 * WEIR_NS_PER_US)
#define FLOWING      4u /* further chances of a clock that flows */
#define FAULTY       3u /* of EIGHTH */
#define EIGHTH       8u

/* ---- memory ---- */

void sim_memory_choose(struct sim_memory *memory, struct sim_random *random)
{
    uint64_t choice = sim_chance(random, EIGHTH);
    *memory = (struct sim_memory){
        .kind =
            choice < FAULTY ? (enum sim_shortage)(1 + sim_chance(random, SIM_SHORTAGE_SCATTERED)) : SIM_SHORTAGE_NONE,
        .in_setup = choice == 0,
        .random = {sim_chance(random, UINT32_MAX)},
        .before = (unsigned)sim_chance(random, choice == 0 ? SETUP_MOST : RUN_MOST),
    };
}

void sim_memory_begin(struct sim_memory *memory, bool in_setup)
{
    memory->seen_at_begin = failing_alloc_seen();
    memory->counts = memory->kind != SIM_SHORTAGE_NONE && memory->in_setup == in_setup;
    if (!memory->counts)
        return;
    if (memory->kind == SIM_SHORTAGE_LASTING)
        failing_alloc_from(memory->before);
    else if (!memory->has_failed)
        failing_alloc_after(memory->before);
    else if (memory->kind == SIM_SHORTAGE_SCATTERED)
        failing_alloc_after((unsigned)sim_chance(&memory->random, SCATTER_MOST));
}

void sim_memory_end(struct sim_memory *memory)
{
    failing_alloc_never();
    if (!memory->counts)
        return;
    unsigned seen = failing_alloc_seen() - memory->seen_at_begin;
    memory->has_failed |= seen > memory->before;
    memory->before -= (unsigned)weir_min_u64(seen, memory->before);
}

/* ---- time ---- */

void sim_clock_choose(struct sim_clock *clock, struct sim_random *random)
{
    uint64_t kind = sim_chance(random, SIM_TIME_KINDS - 1 + FLOWING);
    *clock = (struct sim_clock){
        .kind = kind < SIM_TIME_KINDS ? (enum sim_time)kind : SIM_TIME_FLOWS,
        .random = {sim_chance(random, UINT32_MAX)},
        .now_ns = WEIR_NS_PER_S,
        .shown_ns = WEIR_NS_PER_S,
        .tick_ns = 1 + sim_chance(random, TICK_MOST),
    };
}

void sim_clock_pass(struct sim_clock *clock, uint64_t ns)
{
    clock->now_ns += ns;
    switch (clock->kind) {
    case SIM_TIME_LEAPS:
        if (sim_chance(&clock->random, LEAP_IN) == 0)
            clock->now_ns += sim_chance(&clock->random, LEAP_MOST);
        break;
    case SIM_TIME_STANDS:
        if (clock->now_ns < clock->stands_until_ns)
            return;
        if (sim_chance(&clock->random, STAND_IN) == 0)
            clock->stands_until_ns = clock->now_ns + sim_chance(&clock->random, STAND_MOST);
        break;
    case SIM_TIME_TICKS:
        clock->shown_ns = weir_max_u64(clock->shown_ns, clock->now_ns - clock->now_ns % clock->tick_ns);
        return;
    default:
        break;
    }
    clock->shown_ns = clock->now_ns;
}

static uint64_t read_clock(void *ctx)
{
    struct sim_clock *clock = ctx;
    if (clock->kind == SIM_TIME_CREEPS)
        sim_clock_pass(clock, sim_chance(&clock->random, CREEP_MOST));
    return clock->shown_ns;
}

struct weir_clock sim_clock_interface(struct sim_clock *clock)
{
    return (struct weir_clock){.now_ns = read_clock, .ctx = clock};
}
