/* Which CPUs play simulated ones. */
#include "engine/sim/sim_stage.h"

#include <criterion/criterion.h>

#include "base/bits.h"
#include "topology/thread_affinity.h"

static void translates(const struct weir_sim_stage *stage, const char *simulated, const char *wanted)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    char text[64];
    cr_assert_eq(weir_cpuset_parse(&set, simulated, NULL), 0);
    cr_assert_eq(weir_sim_stage_translate(stage, &set), 0);
    weir_cpuset_format(&set, text, sizeof(text));
    cr_expect_str_eq(text, wanted, "CPUs %s", simulated);
    weir_cpuset_fini(&set);
}

Test(sim_stage, nothing_stays_nothing)
{
    unsigned cpus[] = {4};
    translates(&(struct weir_sim_stage){cpus, 1}, "", "");
}

Test(sim_stage, fini_takes_null_and_is_idempotent)
{
    weir_sim_stage_fini(NULL);
    struct weir_sim_stage stage;
    cr_assert_eq(weir_sim_stage_init(&stage), 0);
    weir_sim_stage_fini(&stage);
    weir_sim_stage_fini(&stage);
    cr_expect_null(stage.cpus);
}

Test(sim_stage, cpus_are_played_round_and_round)
{
    unsigned cpus[] = {2, 5, 7};
    const struct weir_sim_stage stage = {cpus, WEIR_ARRAY_COUNT(cpus)};
    const unsigned wanted[] = {2, 5, 7, 2, 5, 7};
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(wanted); i++)
        cr_expect_eq(weir_sim_stage_cpu(&stage, i), wanted[i]);
    cr_expect_eq(weir_sim_stage_cpu(&stage, 1023), 2);
    translates(&stage, "0", "2");
    translates(&stage, "4", "5");
    translates(&stage, "0,3,6-7", "2,5");
    translates(&stage, "0-1023", "2,5,7");
}

Test(sim_stage, stage_is_where_this_process_may_run)
{
    struct weir_cpuset first = WEIR_CPUSET_INIT, allowed = WEIR_CPUSET_INIT;
    struct weir_sim_stage stage;
    cr_assert_eq(weir_thread_affinity(&allowed), 0);
    int cpu = weir_cpuset_next(&allowed, 0);
    cr_assert_eq(weir_sim_stage_init(&stage), 0);
    cr_expect_eq(stage.count, weir_cpuset_count(&allowed));
    weir_sim_stage_fini(&stage);

    cr_assert_eq(weir_cpuset_add(&first, (unsigned)cpu), 0);
    cr_assert_eq(weir_thread_pin(&first), 0);
    cr_assert_eq(weir_sim_stage_init(&stage), 0);
    cr_expect_eq(stage.count, 1);
    cr_expect_eq(stage.cpus[0], (unsigned)cpu);
    weir_sim_stage_fini(&stage);
    weir_cpuset_fini(&first);
    weir_cpuset_fini(&allowed);
}
