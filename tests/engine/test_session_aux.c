/*
 * The memory that snapshots of AUX areas need, on this machine's topology and on a described one; what is done with the
 * areas: test_reader_aux.c and, on the kernel of an emulated machine, tests/record/aux.sh.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "engine/session/session.h"

#define MIB (1ull << 20)

static struct weir_record_options options;
static struct weir_session session = {.options = &options};

static void set_up(void)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_topology_load(&session.topology, &err), 0);
    cr_assert_eq(weir_cpuset_parse(&session.cpus, "0-1", &err), 0);
    session.memory_limit.bytes = 4096 * MIB;
    session.plan.reader_count = 2;
    session.buffer_bytes = 16 * MIB;
    session.aux.mode = WEIR_AUX_SNAPSHOT;
    session.aux.snapshot_bytes = session.aux.area_bytes = 4 * MIB;
}

static void tear_down(void)
{
    weir_cpuset_fini(&session.cpus);
    weir_topology_free(session.topology);
}

TestSuite(session_aux, .init = set_up, .fini = tear_down);

Test(session_aux, pool_gets_room_for_a_snapshot_of_all_areas_at_once)
{
    struct weir_error err = {0};
    session.aux.snapshot_bytes = 64 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    cr_assert_eq(session.buffer_bytes, (2 * 66 + 2 * 8) * MIB);
}

Test(session_aux, pool_that_is_larger_anyhow_stays)
{
    struct weir_error err = {0};
    session.buffer_bytes = 500 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    cr_assert_eq(session.buffer_bytes, 500 * MIB);
    session.buffer_bytes = 16 * MIB;
    session.aux.mode = WEIR_AUX_FULL; /* pieces of which may be cut */
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    cr_assert_eq(session.buffer_bytes, 16 * MIB);
}

Test(session_aux, each_task_has_an_area_where_rings_are_of_tasks)
{
    struct weir_error err = {0};
    session.per_thread = true;
    session.targets.count = 40;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    cr_assert_eq(session.buffer_bytes, (40 * 6 + 2 * 8) * MIB);
}

Test(session_aux, pool_for_snapshots_does_not_shrink_for_the_sake_of_a_small_disk)
{
    struct weir_error err = {0};
    options.on_full = WEIR_RECORD_ON_FULL_ROTATE;
    options.output_path = "/dev/shm/x";
    session.aux.snapshot_bytes = 256 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    session.buffer_bytes = UINT64_MAX; /* more than any disk has */
    weir_disk_guard_fit_pool(&session);
    cr_assert_eq(session.buffer_bytes, UINT64_MAX);
    session.aux.mode = WEIR_AUX_FULL;
    weir_disk_guard_fit_pool(&session);
    cr_assert_lt(session.buffer_bytes, UINT64_MAX);
}

Test(session_aux, size_that_was_named_and_is_too_small_is_refused)
{
    struct weir_error err = {0};
    options.buffer_bytes = session.buffer_bytes = 8 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), -EINVAL);
    cr_assert_str_eq(err.what, "the buffer takes no snapshot of all AUX areas: that is 28 MiB");
    cr_assert_str_eq(err.hint, "-S with a size below 4096 KiB, smaller areas (-m ,SIZE), fewer CPUs (-C), or "
                               "--buffer-size 29M");
    options.buffer_bytes = session.buffer_bytes = 28 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), 0);
    options.buffer_bytes = 0;
}

Test(session_aux, more_than_the_machine_can_spare_is_refused)
{
    struct weir_error err = {0};
    session.aux.snapshot_bytes = 1024 * MIB;
    cr_assert_eq(weir_session_choose_aux_memory(&session, &err), -EINVAL);
}
