/*
 * Events of PMUs, and what else the machine's sysfs and the kinds of its cores decide, on fake machines. The attrs are
 * those that perf 6.1 was seen to open on the same trees.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_parse.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_sysfs.h"

struct rig {
    struct temp_tree tree;
    struct weir_event_list list;
    struct weir_error err;
    int result;
};

static void rig_init(struct rig *rig, enum fake_machine machine, const char *text)
{
    *rig = (struct rig){.list = WEIR_EVENT_LIST_INIT};
    fake_sysfs_init(&rig->tree, machine);
    const struct weir_event_sources sources = {.tracefs_root = rig->tree.root, .sysfs_root = rig->tree.root};
    rig->result = weir_event_list_parse(&rig->list, text, &sources, &rig->err);
}

static void rig_fini(struct rig *rig)
{
    weir_event_list_fini(&rig->list);
    temp_tree_fini(&rig->tree);
}

/* ---- refusals ---- */

static const struct {
    const char *text;
    int code;
    const char *what, *hint;
} refusals[] = {
    {"cpu/nosuch/", -EINVAL, "unknown term 'nosuch' at column 5 for PMU cpu", "'weir list pmu' shows what cpu has"},
    {"cpu/evnt=1/", -EINVAL, "unknown term 'evnt' at column 5 for PMU cpu", "did you mean 'event'?"},
    {"cpu/mem-load/", -EINVAL, "unknown term 'mem-load' at column 5 for PMU cpu", "did you mean 'mem-loads'?"},
    {"cpu/event=0x100/", -EINVAL, "value 0x100 of term 'event' at column 11 is not 0 to 255", ""},
    {"cpu/event=foo/", -EINVAL, "value 'foo' of term 'event' at column 11 is not a number", ""},
    {"cpu/edge=2/", -EINVAL, "value 2 of term 'edge' at column 10 is not 0 to 1", ""},
    {"cpu/split=0x1000/", -EINVAL, "value 0x1000 of term 'split' at column 11 is not 0 to 4095", ""},
    {"cpu/0x3c/", -EINVAL, "unknown term '0x3c' at column 5 for PMU cpu", "'weir list pmu' shows what cpu has"},
    {"cpu/parametrized/", -EINVAL, "an alias of cpu needs term 'umask' to be given", "cpu/ALIAS,umask=VALUE/"},
    {"cpu/topdown-slots,other-slots/", -EINVAL, "aliases at columns 5 and 19 both have a unit or scale", ""},
    {"cpu/broken/", -EINVAL, "alias 'broken' of PMU cpu: a value expected at column 7, at the end of 'event='", ""},
    {"cpu/unknown/", -EINVAL, "unknown term 'evnt' at column 1 for PMU cpu", "did you mean 'event'?"},
    {"cpu/event=1,cpu=x/", -EINVAL, "value 'x' of term 'cpu' at column 17 is no list of CPUs and no PMU",
     "cpu=0, cpu=0-3, cpu='0,2', or the name of a PMU as cpu=cpu_atom"},
    {"cs/cpu/", -EINVAL, "term 'cpu' at column 4 needs a value", ""},
    {"cs/aux-action=stop/", -EINVAL,
     "value 'stop' of term 'aux-action' at column 15 is not pause, resume or start-paused", ""},
    {"cs/aux-action=1/", -EINVAL, "term 'aux-action' at column 4 needs a value, a word", ""},
    {"cpu/event=1", -EINVAL, "',' or '/' expected at column 12, at the end of 'cpu/event=1'", ""},
    {"cpu_", -ENOENT, "unknown event 'cpu_' at column 1", NULL},
    {"cppu/event=1/", -ENOENT, "this machine has no PMU 'cppu' (column 1)", "did you mean 'cpu'?"},
    {"software/cs/", -EINVAL, "unknown term 'cs' at column 10 for PMU software", NULL},
    {"cs,mem-lods", -ENOENT, "unknown event 'mem-lods' at column 4", "did you mean 'mem-loads'?"},
    {"mem-lods:u", -ENOENT, "unknown event 'mem-lods' at column 1", "did you mean 'mem-loads'?"},
    {"cs_etm/@tmc_etr1/u", -EINVAL, "PMU cs_etm has no sink 'tmc_etr1' (column 8)", ""},
};

Test(event_parse_pmu, bad_terms_are_refused_with_their_column)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        struct rig rig;
        rig_init(&rig, FAKE_INTEL, refusals[i].text);
        cr_expect_eq(rig.result, refusals[i].code, "%s", refusals[i].text);
        cr_expect_str_eq(rig.err.what, refusals[i].what, "%s: %s", refusals[i].text, rig.err.what);
        if (refusals[i].hint)
            cr_expect_str_eq(rig.err.hint, refusals[i].hint, "%s: %s", refusals[i].text, rig.err.hint);
        cr_expect_eq(rig.list.count, 0);
        rig_fini(&rig);
    }
}

Test(event_parse_pmu, every_failing_allocation_leaves_the_list_as_it_was)
{
    static const struct {
        enum fake_machine machine;
        const char *text;
    } rows[] = {
        {FAKE_INTEL, "cpu/topdown-slots,name=a,event=1/u"},
        {FAKE_INTEL, "uncore_imc/cas_count_read/"},
        {FAKE_INTEL, "grp{mem-loads,cs}:S"},
        {FAKE_HYBRID, "cycles/name=a/"},
        {FAKE_HYBRID, "g{cycles,instructions}"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct temp_tree tree;
        fake_sysfs_init(&tree, rows[i].machine);
        const struct weir_event_sources sources = {.tracefs_root = tree.root, .sysfs_root = tree.root};
        unsigned failures = 0;
        for (int result = -1; result != 0; failures++) {
            struct weir_event_list list = WEIR_EVENT_LIST_INIT;
            failing_alloc_after(failures);
            result = weir_event_list_parse(&list, rows[i].text, &sources, NULL);
            failing_alloc_never();
            cr_assert(result == 0 || (result == -ENOMEM && list.count == 0), "%s: allocation %u", rows[i].text,
                      failures);
            weir_event_list_fini(&list);
        }
        cr_expect_gt(failures, 10);
        temp_tree_fini(&tree);
    }
}

/* ---- attrs ---- */

/* One event; name NULL: the text. */
static const struct {
    enum fake_machine machine;
    const char *text, *name;
    uint32_t type;
    uint64_t config, config1, config2;
} attrs[] = {
    {FAKE_INTEL, "cpu/event=0x3c,umask=1/", NULL, 4, 0x13c, 0, 0},
    {FAKE_INTEL, "cpu/event=60,edge/", NULL, 4, 0x4003c, 0, 0},
    {FAKE_INTEL, "cpu/event=0x3c,edge=0,cmask=255/", NULL, 4, 0xff00003c, 0, 0},
    {FAKE_INTEL, "cpu/split=0x1ff/", NULL, 4, 0x1000000ff, 0, 0},
    {FAKE_INTEL, "cpu/far=0xab,config1=5/", NULL, 4, 0, 5, 0xab0},
    {FAKE_INTEL, "cpu/config=0x77,config1=1,config2=2,name=foo/", "foo", 4, 0x77, 1, 2},
    {FAKE_INTEL, "cpu/event=1,config=0x1234/", NULL, 4, 0x1235, 0, 0},
    {FAKE_INTEL, "cpu/event=0x3c,event=0x81/", NULL, 4, 0xbd, 0, 0},
    {FAKE_INTEL, "cpu//", NULL, 4, 0, 0, 0},
    {FAKE_INTEL, "cpu/r3c/", NULL, 4, 0x3c, 0, 0},
    {FAKE_INTEL, "cpu/r0x3c,umask=1/", NULL, 4, 0x13c, 0, 0},
    {FAKE_INTEL, "cpu/cpu-cycles/", NULL, 4, 0x3c, 0, 0},
    {FAKE_INTEL, "cpu/CPU-CYCLES/", NULL, 4, 0x3c, 0, 0},
    {FAKE_INTEL, "cpu/event=cpu-cycles/", NULL, 4, 0x3c, 0, 0},
    {FAKE_INTEL, "cpu/mem-loads,ldlat=30/P", NULL, 4, 0x1cd, 0x1f, 0},
    {FAKE_INTEL, "cpu/parametrized,umask=3/", NULL, 4, 0x310, 0, 0},
    {FAKE_INTEL, "mem-loads", NULL, 4, 0x1cd, 3, 0},
    {FAKE_INTEL, "MEM-LOADS:u", NULL, 4, 0x1cd, 3, 0},
    {FAKE_INTEL, "mem-loads/ldlat=5/", NULL, 4, 0x1cd, 7, 0},
    {FAKE_INTEL, "cpu-cycles", NULL, 0, 0, 0, 0},
    {FAKE_INTEL, "cpu/cycles/", NULL, 0, 0, 0, 0},
    {FAKE_INTEL, "cpu/LLC-load-misses/u", NULL, 3, 0x10002, 0, 0},
    {FAKE_INTEL, "uncore_imc_10/event=3/", NULL, 40, 3, 0, 0},
    {FAKE_INTEL, "uncore_cha/event=3/", NULL, 41, 3, 0, 0},
    {FAKE_INTEL, "software/config=3,config1=1/u", NULL, 1, 3, 1, 0},
    {FAKE_INTEL, "cs_etm/cycacc,@tmc_etr0/u", NULL, 70, 0x1000, 0, 0x1234},
    {FAKE_ARM, "armv8_pmuv3_0/l1d_cache,long/", NULL, 60, 4, 1, 0},
    {FAKE_ARM, "armv8_pmuv3/event=0x11/", NULL, 60, 0x11, 0, 0},
    {FAKE_ARM, "l1d_cache", NULL, 60, 4, 0, 0},
    {FAKE_ARM, "cycles", NULL, 0, 0, 0, 0},
    {FAKE_HYBRID, "cpu_core/event=0x3c/", NULL, 50, 0x3c, 0, 0},
    {FAKE_HYBRID, "cpu_atom/cycles/", NULL, 0, 51ull << 32, 0, 0},
    {FAKE_HYBRID, "cpu_core/LLC-loads/", NULL, 3, 50ull << 32 | 2, 0, 0},
    {FAKE_HYBRID, "cs", NULL, 1, 3, 0, 0},
};

Test(event_parse_pmu, terms_give_the_attr_that_perf_opens)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(attrs); i++) {
        struct rig rig;
        rig_init(&rig, attrs[i].machine, attrs[i].text);
        cr_assert_eq(rig.result, 0, "%s: %s", attrs[i].text, rig.err.what);
        cr_assert_eq(rig.list.count, 1, "%s", attrs[i].text);
        const struct weir_event *event = &rig.list.events[0];
        cr_expect_str_eq(event->name, attrs[i].name ? attrs[i].name : attrs[i].text);
        cr_expect_eq(event->attr.type, attrs[i].type, "%s", attrs[i].text);
        cr_expect_eq(event->attr.config, attrs[i].config, "%s: %llx", attrs[i].text,
                     (unsigned long long)event->attr.config);
        cr_expect_eq(event->attr.config1, attrs[i].config1, "%s", attrs[i].text);
        cr_expect_eq(event->attr.config2, attrs[i].config2, "%s", attrs[i].text);
        rig_fini(&rig);
    }
}

Test(event_parse_pmu, fields_and_terms_reach_the_newest_config_words)
{
    struct rig rig;
    rig_init(&rig, FAKE_INTEL, "cpu/farther=5,farthest=0xff/,cpu/config3=7,config4=8/,cycles/config4=9/");
    cr_assert_eq(rig.list.count, 3, "%s", rig.err.what);
    cr_expect_eq(rig.list.events[0].attr.config3, 5);
    cr_expect_eq(rig.list.events[0].attr.config4, 0xff00);
    cr_expect_eq(rig.list.events[1].attr.config3, 7);
    cr_expect_eq(rig.list.events[1].attr.config4, 8);
    cr_expect_eq(rig.list.events[2].attr.config4, 9);
    rig_fini(&rig);
}

Test(event_parse_pmu, term_cpu_names_cpus_or_the_pmu_that_counts_there)
{
    static const struct {
        const char *text, *cpus;
    } rows[] = {
        {"cs/cpu=1/", "1"},
        {"cycles/cpu=2/", "2"},
        {"cpu/event=1,cpu=0-2/", "0-2"},
        {"cs/cpu='0,2-3'/", "0,2-3"},
        {"uncore_imc_0/event=1,cpu=4/", "4"},
        {"cs/cpu=uncore_imc_0/", "0,4"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct rig rig;
        char cpus[64];
        rig_init(&rig, FAKE_INTEL, rows[i].text);
        cr_assert_eq(rig.list.count, 1, "%s: %s", rows[i].text, rig.err.what);
        weir_cpuset_format(&rig.list.events[0].pmu_cpus, cpus, sizeof(cpus));
        cr_expect_str_eq(cpus, rows[i].cpus, "%s: %s", rows[i].text, cpus);
        rig_fini(&rig);
    }
}

Test(event_parse_pmu, modifiers_stand_behind_the_slash_with_or_without_a_colon)
{
    static const char *const texts[] = {"cpu/event=1/pp", "cpu/event=1/:pp"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct rig rig;
        rig_init(&rig, FAKE_INTEL, texts[i]);
        cr_assert_eq(rig.list.count, 1, "%s", texts[i]);
        cr_expect_eq(rig.list.events[0].attr.precise_ip, 2);
        cr_expect_str_eq(rig.list.events[0].name, texts[i]);
        rig_fini(&rig);
    }
}

Test(event_parse_pmu, alias_may_have_generic_terms)
{
    struct rig rig;
    rig_init(&rig, FAKE_INTEL, "cpu/slow/");
    cr_assert_eq(rig.list.count, 1, "%s", rig.err.what);
    cr_expect_eq(rig.list.events[0].terms.given, WEIR_TERM_PERIOD);
    cr_expect_eq(rig.list.events[0].terms.period, 100000);
    rig_fini(&rig);
}

Test(event_parse_pmu, event_knows_pmu_cpus_unit_and_scale)
{
    struct rig rig;
    rig_init(&rig, FAKE_INTEL, "energy-pkg,cs,uncore_imc_1/cas_count_read/");
    cr_assert_eq(rig.list.count, 3, "%s", rig.err.what);
    const struct weir_event *event = &rig.list.events[0];
    cr_expect_str_eq(event->pmu_name, "power");
    cr_expect_str_eq(event->unit, "Joules");
    cr_expect_eq(event->scale, 2.3283064365386962890625e-10);
    cr_expect_eq(weir_cpuset_count(&event->pmu_cpus), 1);
    event = &rig.list.events[1];
    cr_expect_null(event->pmu_name);
    cr_expect_null(event->unit);
    cr_expect_eq(event->scale, 1);
    cr_expect(weir_cpuset_is_empty(&event->pmu_cpus));
    event = &rig.list.events[2];
    cr_expect_null(event->unit);
    cr_expect(weir_cpuset_has(&event->pmu_cpus, 4));
    rig_fini(&rig);
}

/* ---- several PMUs at once ---- */

static void expect_types(const struct rig *rig, const char *text, const uint32_t *types, size_t count)
{
    cr_assert_eq(rig->list.count, count, "%s: %zu events %s", text, rig->list.count, rig->err.what);
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(rig->list.events[i].attr.type, types[i], "%s: event %zu", text, i);
        cr_expect_eq(rig->list.events[i].attr.config, 0x304, "%s: event %zu", text, i);
        cr_expect_str_eq(rig->list.events[i].name, text);
        cr_expect_eq(rig->list.events[i].leader, i);
    }
}

Test(event_parse_pmu, word_may_stand_for_several_boxes)
{
    static const uint32_t all[] = {30, 31, 40}, two[] = {30, 31};
    static const char *const texts[] = {"uncore_imc/cas_count_read/", "imc/cas_count_read/", "cas_count_read",
                                        "uncore_imc_*/cas_count_read/", "uncore_imc/event=4,umask=3/"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        struct rig rig;
        rig_init(&rig, FAKE_INTEL, texts[i]);
        expect_types(&rig, texts[i], all, WEIR_ARRAY_COUNT(all));
        rig_fini(&rig);
    }
    struct rig rig;
    rig_init(&rig, FAKE_INTEL, "uncore_imc_[01]/cas_count_read/");
    expect_types(&rig, "uncore_imc_[01]/cas_count_read/", two, WEIR_ARRAY_COUNT(two));
    rig_fini(&rig);
}

Test(event_parse_pmu, group_on_several_boxes_is_one_group_for_each)
{
    struct rig rig;
    rig_init(&rig, FAKE_INTEL, "cs,mine{uncore_imc_[01]/cas_count_read/,uncore_imc_[01]/event=9/,faults}:u");
    static const size_t leaders[] = {0, 1, 1, 1, 4, 4};
    static const uint32_t types[] = {1, 30, 30, 1, 31, 31};
    cr_assert_eq(rig.list.count, WEIR_ARRAY_COUNT(leaders), "%s", rig.err.what);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(leaders); i++) {
        const struct weir_event *event = &rig.list.events[i];
        cr_expect_eq(event->leader, leaders[i], "event %zu", i);
        cr_expect_eq(event->attr.type, types[i], "event %zu", i);
        cr_expect_eq(event->attr.exclude_kernel, i > 0, "event %zu", i);
        cr_expect_eq(event->group_name != NULL, i > 0 && leaders[i] == i, "event %zu", i);
    }
    rig_fini(&rig);
}

Test(event_parse_pmu, generic_events_are_one_for_each_kind_of_core)
{
    static const struct {
        const char *text, *atom_name, *core_name;
        uint32_t type;
        uint64_t config;
    } rows[] = {
        {"cycles", "cpu_atom/cycles/", "cpu_core/cycles/", 0, 0},
        {"cycles:P", "cpu_atom/cycles:P/", "cpu_core/cycles:P/", 0, 0},
        {"instructions/name=a/u", "a", "a", 0, 1},
        {"LLC-load-misses", "cpu_atom/LLC-load-misses/", "cpu_core/LLC-load-misses/", 3, 0x10002},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct rig rig;
        rig_init(&rig, FAKE_HYBRID, rows[i].text);
        cr_assert_eq(rig.list.count, 2, "%s: %s", rows[i].text, rig.err.what);
        const struct weir_event *atom = &rig.list.events[0], *core = &rig.list.events[1];
        cr_expect_str_eq(atom->name, rows[i].atom_name);
        cr_expect_str_eq(core->name, rows[i].core_name);
        cr_expect_eq(atom->attr.type, rows[i].type);
        cr_expect_eq(atom->attr.config, 51ull << 32 | rows[i].config);
        cr_expect_eq(core->attr.config, 50ull << 32 | rows[i].config);
        cr_expect(weir_cpuset_has(&atom->pmu_cpus, 4));
        cr_expect(weir_cpuset_has(&core->pmu_cpus, 0));
        cr_expect_eq(core->leader, 1);
        rig_fini(&rig);
    }
    struct rig rig;
    rig_init(&rig, FAKE_HYBRID, "r1a8");
    cr_assert_eq(rig.list.count, 2);
    cr_expect_eq(rig.list.events[0].attr.type, 51);
    cr_expect_eq(rig.list.events[1].attr.type, 50);
    cr_expect_eq(rig.list.events[1].attr.config, 0x1a8);
    rig_fini(&rig);
}
