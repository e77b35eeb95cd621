/* Plans for machines of which only some CPUs are to do the reading, on synthetic machines. */
#include "topology/plan_housekeeping.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/base/failing_alloc.h"
#include "tests/topology/fixture.h"

struct housekeeping_case {
    const char *machine;
    const char *recorded;    /* NULL: all */
    const char *spec;        /* NULL: no --threads */
    const char *reader_cpus; /* NULL: not given */
    const char *quiet;
};

struct made {
    struct weir_topology *topology;
    struct weir_cpuset cpus, reader_cpus, quiet, housekeeping_cpus;
    struct weir_plan plan;
    unsigned notices;
    enum weir_notice_level level; /* of the last one */
    char line[512];
};

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    struct made *made = ctx;
    made->notices++;
    made->level = level;
    snprintf(made->line, sizeof(made->line), "%s", line);
}

static void parse(struct weir_cpuset *set, const char *list)
{
    cr_assert_eq(weir_cpuset_parse(set, list, NULL), 0);
}

static void prepare(struct made *made, const struct housekeeping_case *asked)
{
    memset(made, 0, sizeof(*made));
    cr_assert_eq(weir_topology_load_synthetic(&made->topology, asked->machine, NULL), 0);
    if (asked->recorded)
        parse(&made->cpus, asked->recorded);
    else
        cr_assert_eq(weir_cpuset_copy(&made->cpus, weir_topology_online(made->topology)), 0);
    if (asked->reader_cpus)
        parse(&made->reader_cpus, asked->reader_cpus);
    if (asked->quiet)
        parse(&made->quiet, asked->quiet);
}

static int make(struct made *made, const struct housekeeping_case *asked, struct weir_error *err)
{
    const struct weir_plan_housekeeping housekeeping = {
        .reader_cpus = asked->reader_cpus ? &made->reader_cpus : NULL,
        .quiet = asked->quiet ? &made->quiet : NULL,
    };
    const struct weir_notice_sink sink = {keep_notice, made};
    return weir_plan_make_with_housekeeping(&made->plan, &made->housekeeping_cpus, made->topology, &made->cpus,
                                            asked->spec, &housekeeping, &sink, err);
}

static void release(struct made *made)
{
    weir_plan_fini(&made->plan);
    weir_cpuset_fini(&made->cpus);
    weir_cpuset_fini(&made->reader_cpus);
    weir_cpuset_fini(&made->quiet);
    weir_cpuset_fini(&made->housekeeping_cpus);
    weir_topology_free(made->topology);
}

static void expect_plan(const struct housekeeping_case *asked, const char *housekeeping_cpus, const char *description)
{
    struct made made;
    struct weir_error err = {0};
    prepare(&made, asked);
    cr_assert_eq(make(&made, asked, &err), 0, "%s", err.what);
    char list[128];
    weir_cpuset_format(&made.housekeeping_cpus, list, sizeof(list));
    cr_expect_str_eq(list, housekeeping_cpus);
    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&made.plan, &text);
    cr_expect_str_eq(weir_buf_str(&text), description);
    weir_buf_fini(&text);
    release(&made);
}

static void expect_refusal(const struct housekeeping_case *asked, const char *what, const char *hint)
{
    struct made made;
    struct weir_error err = {0};
    prepare(&made, asked);
    cr_expect_eq(make(&made, asked, &err), -EINVAL);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    cr_expect_eq(made.plan.reader_count, 0);
    release(&made);
}

/* ---- refusals ---- */

Test(plan_housekeeping, reader_cpu_that_is_not_online_is_refused)
{
    expect_refusal(&(struct housekeeping_case){.machine = "pu:4", .reader_cpus = "1,9"},
                   "--reader-cpus: CPU 9 is not online", "online are CPUs 0-3");
}

Test(plan_housekeeping, reader_cpus_beside_masks_are_refused)
{
    expect_refusal(&(struct housekeeping_case){.machine = "pu:4", .spec = "0-3/0", .reader_cpus = "1"},
                   "--reader-cpus cannot be combined with the masks of --threads",
                   "each mask names its reader's CPUs behind the slash");
}

Test(plan_housekeeping, bad_layout_and_no_cpu_are_refused_as_without)
{
    expect_refusal(&(struct housekeeping_case){.machine = "pu:4", .spec = "cups", .reader_cpus = "1"},
                   "--threads=cups: unknown layout", "did you mean --threads=cpu?");
    expect_refusal(&(struct housekeeping_case){.machine = "pu:4", .recorded = "", .reader_cpus = "1"},
                   "no CPU to record", "");
}

Test(plan_housekeeping, each_allocation_failing_in_turn_is_reported)
{
    const struct housekeeping_case asked = {.machine = "numa:2 pu:4", .quiet = "1-3,5"};
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        struct made made;
        struct weir_error err = {0};
        prepare(&made, &asked);
        failing_alloc_after(failures);
        result = make(&made, &asked, &err);
        failing_alloc_after(UINT_MAX);
        cr_assert(result == 0 || (result == -ENOMEM && err.code == -ENOMEM && made.plan.reader_count == 0));
        release(&made);
    }
    cr_expect_gt(failures, 8);
}

/* ---- nothing to spare ---- */

Test(plan_housekeeping, without_housekeeping_the_plan_is_the_plain_one)
{
    expect_plan(&(struct housekeeping_case){.machine = "pu:2"}, "",
                "reader 0: cpus 0, runs on 0, node 0\nreader 1: cpus 1, runs on 1, node 0\n");
    expect_plan(&(struct housekeeping_case){.machine = "pu:2", .quiet = "7-9"}, "", /* not online */
                "reader 0: cpus 0, runs on 0, node 0\nreader 1: cpus 1, runs on 1, node 0\n");
}

Test(plan_housekeeping, machine_that_is_isolated_as_a_whole_is_read_from_all_cpus_with_a_warning)
{
    const struct housekeeping_case asked = {.machine = "pu:2", .quiet = "0-1"};
    struct made made;
    prepare(&made, &asked);
    cr_assert_eq(make(&made, &asked, NULL), 0);
    cr_expect_eq(made.notices, 1);
    cr_expect_eq(made.level, WEIR_NOTICE_WARNING);
    cr_expect_eq(made.plan.reader_count, 2);
    cr_expect(weir_cpuset_is_empty(&made.housekeeping_cpus));
    release(&made);
}

/* ---- isolated CPUs ---- */

Test(plan_housekeeping, isolated_cpus_are_dealt_out_to_the_others_of_their_node)
{
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 pu:6", .quiet = "2-5,7-11"}, "0-1,6",
                "reader 0: cpus 0,2-3, runs on 0, node 0\n"
                "reader 1: cpus 1,4-5, runs on 1, node 0\n"
                "reader 2: cpus 6-11, runs on 6, node 1\n");
}

Test(plan_housekeeping, node_without_housekeeping_cpus_is_read_from_all_of_them)
{
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 pu:4", .quiet = "2-7"}, "0-1",
                "reader 0: cpus 0,2,4-5, runs on 0, node 0\n"
                "reader 1: cpus 1,3,6-7, runs on 1, node 0\n");
}

Test(plan_housekeeping, isolated_cpus_alone_are_read_from_those_that_are_not_recorded)
{
    expect_plan(&(struct housekeeping_case){.machine = "pu:4", .recorded = "2-3", .quiet = "2-3"}, "0-1",
                "reader 0: cpus 2, runs on 0, node 0\n"
                "reader 1: cpus 3, runs on 1, node 0\n");
}

Test(plan_housekeeping, masks_of_the_user_stand_above_isolation)
{
    expect_plan(&(struct housekeeping_case){.machine = "pu:4", .spec = "0-3/3", .quiet = "2-3"}, "0-1",
                "reader 0: cpus 0-3, runs on 3, node 0\n");
}

Test(plan_housekeeping, layouts_keep_their_readers_off_isolated_cpus)
{
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 core:2 pu:2", .spec = "numa", .quiet = "1-3,6-7"},
                "0,4-5",
                "reader 0: cpus 0-3, runs on 0, node 0\n"
                "reader 1: cpus 4-7, runs on 4-5, node 1\n");
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 core:2 pu:2", .spec = "core", .quiet = "1-3,6-7"},
                "0,4-5",
                "reader 0: cpus 0-1, runs on 0, node 0\n"
                "reader 1: cpus 2-3, runs on 0, node 0\n"
                "reader 2: cpus 4-5, runs on 4-5, node 1\n"
                "reader 3: cpus 6-7, runs on 4-5, node 1\n");
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 pu:2", .spec = "cpu", .quiet = "2-3"}, "0-1",
                "reader 0: cpus 0, runs on 0, node 0\n"
                "reader 1: cpus 1, runs on 1, node 0\n"
                "reader 2: cpus 2, runs on 0-1, node 0\n"
                "reader 3: cpus 3, runs on 0-1, node 0\n");
}

Test(plan_housekeeping, spared_cpus_are_told_once)
{
    const struct housekeeping_case asked = {.machine = "pu:4", .quiet = "2-3,9"};
    struct made made;
    prepare(&made, &asked);
    cr_assert_eq(make(&made, &asked, NULL), 0);
    cr_expect_eq(made.notices, 1);
    cr_expect_eq(made.level, WEIR_NOTICE_VERBOSE);
    cr_expect_str_eq(made.line, "CPUs 2-3 are isolated (isolcpus=, nohz_full=): weir runs on CPUs 0-1");
    release(&made);
}

/* ---- --reader-cpus ---- */

Test(plan_housekeeping, named_cpus_do_all_the_reading_also_isolated_ones)
{
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 pu:4", .reader_cpus = "3,7", .quiet = "3"}, "3,7",
                "reader 0: cpus 0-3, runs on 3, node 0\n"
                "reader 1: cpus 4-7, runs on 7, node 1\n");
    expect_plan(&(struct housekeeping_case){.machine = "numa:2 pu:4", .spec = "numa", .reader_cpus = "3"}, "3",
                "reader 0: cpus 0-3, runs on 3, node 0\n"
                "reader 1: cpus 4-7, runs on 3, node 0\n");
}

Test(plan_housekeeping, large_machine_with_a_housekeeping_core_on_each_node)
{
    struct made made;
    const struct housekeeping_case asked = {
        .machine = "numa:8 core:64 pu:2", .reader_cpus = "0-1,128-129,256-257,384-385,512-513,640-641,768-769,896-897"};
    prepare(&made, &asked);
    cr_assert_eq(make(&made, &asked, NULL), 0);
    cr_assert_eq(made.plan.reader_count, 16);
    for (unsigned i = 0; i < 16; i++) {
        cr_expect_eq(weir_cpuset_count(&made.plan.readers[i].cpus), 64);
        cr_expect_eq(weir_cpuset_count(&made.plan.readers[i].affinity), 1);
        cr_expect_eq(made.plan.readers[i].node, (int)i / 2);
    }
    release(&made);
}

/* ---- what the kernel was told ---- */

Test(plan_housekeeping, isolated_and_nohz_full_cpus_are_read_together)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    struct fixture root;
    char list[64];
    fixture_init(&root);
    cr_assert_eq(weir_quiet_cpus_read(&set, root.path), 0);
    cr_expect(weir_cpuset_is_empty(&set));
    fixture_write(&root, "2-3\n", "sys/devices/system/cpu/isolated");
    fixture_write(&root, "3,5\n", "sys/devices/system/cpu/nohz_full");
    cr_assert_eq(weir_quiet_cpus_read(&set, root.path), 0);
    weir_cpuset_format(&set, list, sizeof(list));
    cr_expect_str_eq(list, "2-3,5");
    fixture_write(&root, "\n", "sys/devices/system/cpu/isolated");
    fixture_write(&root, "(null)\n", "sys/devices/system/cpu/nohz_full");
    cr_assert_eq(weir_quiet_cpus_read(&set, root.path), 0);
    cr_expect(weir_cpuset_is_empty(&set));
    weir_cpuset_fini(&set);
    fixture_fini(&root);
}
