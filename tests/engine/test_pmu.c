/* PMUs of fake machines: what is read, what is left out, and which word stands for which. */
#include "engine/events/pmu.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_sysfs.h"

static struct weir_pmu *find(const struct weir_pmu_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->pmus[i].name, name) == 0)
            return &list->pmus[i];
    }
    cr_assert_fail("no PMU %s", name);
    return NULL;
}

Test(pmu, machine_without_sysfs_has_no_pmus)
{
    struct weir_pmu_list list = WEIR_PMU_LIST_INIT;
    cr_expect_eq(weir_pmu_list_read(&list, "/nowhere"), 0);
    cr_expect_eq(list.count, 0);
    weir_pmu_list_fini(&list);
    weir_pmu_list_fini(NULL);
}

Test(pmu, every_failing_allocation_is_survived)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        struct weir_pmu_list list = WEIR_PMU_LIST_INIT;
        failing_alloc_after(failures);
        result = weir_pmu_list_read(&list, tree.root);
        for (size_t i = 0; result == 0 && i < list.count; i++)
            result = weir_pmu_describe(&list, &list.pmus[i]);
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM);
        weir_pmu_list_fini(&list);
    }
    cr_expect_gt(failures, 40);
    temp_tree_fini(&tree);
}

Test(pmu, list_has_those_with_a_type_in_the_order_of_their_numbers)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_pmu_list list;
    cr_assert_eq(weir_pmu_list_read(&list, tree.root), 0);
    const char *const names[] = {"cpu",        "cs_etm",       "power",        "software",     "tracepoint",
                                 "uncore_cha", "uncore_imc_0", "uncore_imc_1", "uncore_imc_10"};
    cr_assert_eq(list.count, WEIR_ARRAY_COUNT(names));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++)
        cr_expect_str_eq(list.pmus[i].name, names[i]);
    cr_expect_eq(find(&list, "uncore_imc_10")->type, 40);
    weir_pmu_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(pmu, description_has_what_can_be_understood)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_pmu_list list;
    cr_assert_eq(weir_pmu_list_read(&list, tree.root), 0);
    struct weir_pmu *pmu = find(&list, "cpu");
    cr_assert_eq(weir_pmu_describe(&list, pmu), 0);
    cr_assert_eq(weir_pmu_describe(&list, pmu), 0, "once is enough");
    cr_expect_eq(pmu->format_count, 10);
    cr_expect_eq(pmu->alias_count, 10);
    cr_expect(weir_cpuset_is_empty(&pmu->cpus));
    static const char *const bad[] = {"no_colon", "backwards", "too_wide", "other_word", "trailing", "empty"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad); i++)
        cr_expect_null(weir_pmu_find_format(pmu, bad[i], strlen(bad[i])), "%s", bad[i]);
    const struct weir_pmu_format *split = weir_pmu_find_format(pmu, "split", 5);
    cr_assert_not_null(split);
    cr_expect_eq(split->word, 0);
    cr_expect_eq(split->mask, 0xf000000ffull);
    cr_expect_eq(weir_pmu_format_max(split), 0xfff);
    cr_expect_eq(weir_pmu_format_place(split, 0xabc), 0xa000000bcull);
    const struct weir_pmu_format *whole = weir_pmu_find_format(pmu, "offcore_rsp", 11);
    cr_assert_not_null(whole);
    cr_expect_eq(weir_pmu_format_max(whole), UINT64_MAX);
    cr_expect_eq(weir_pmu_format_place(whole, 0x8000000000000001ull), 0x8000000000000001ull);

    const struct weir_pmu_alias *slots = weir_pmu_find_alias(pmu, "TopDown-slots", 13);
    cr_assert_not_null(slots, "aliases are found whatever their case");
    cr_expect_str_eq(slots->terms, "event=0x00,umask=0x4");
    cr_expect_str_eq(slots->unit, "slots");
    cr_expect_eq(slots->scale, 2);
    cr_expect_null(weir_pmu_find_alias(pmu, "topdown-slots.unit", 18));
    cr_expect_null(weir_pmu_find_alias(pmu, "topdown", 7));
    weir_pmu_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(pmu, cpus_come_from_cpumask_or_cpus)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_HYBRID);
    temp_tree_write_text(&tree, "bus/event_source/devices/power/type", "22\n");
    temp_tree_write_text(&tree, "bus/event_source/devices/power/cpumask", "0,4\n");
    struct weir_pmu_list list;
    cr_assert_eq(weir_pmu_list_read(&list, tree.root), 0);
    for (size_t i = 0; i < list.count; i++)
        cr_assert_eq(weir_pmu_describe(&list, &list.pmus[i]), 0);
    cr_expect_eq(weir_cpuset_count(&find(&list, "cpu_atom")->cpus), 4);
    cr_expect(weir_cpuset_has(&find(&list, "power")->cpus, 4));
    cr_expect_eq(weir_cpuset_count(&find(&list, "power")->cpus), 2);
    cr_expect(weir_pmu_is_hybrid_core(find(&list, "cpu_core")));
    cr_expect_not(weir_pmu_is_hybrid_core(find(&list, "power")));
    cr_expect(weir_pmu_is_core(find(&list, "cpu_core")));
    cr_expect_not(weir_pmu_is_core(find(&list, "software")));
    weir_pmu_list_fini(&list);
    temp_tree_fini(&tree);
}

Test(pmu, words_stand_for_names_numbers_and_patterns)
{
    static const struct {
        const char *word, *name;
        bool matches;
    } rows[] = {
        {"cpu", "cpu", true},
        {"cpu", "cpu_core", false},
        {"CPU", "cpu", false},
        {"", "cpu", false},
        {"uncore_imc", "uncore_imc_10", true},
        {"uncore_imc_", "uncore_imc_10", true},
        {"uncore_imc_1", "uncore_imc_10", true},
        {"imc", "uncore_imc_0", true},
        {"im", "uncore_imc_0", false},
        {"uncore", "uncore_cha", false},
        {"cha", "uncore_cha", true},
        {"uncore_imc", "uncore_imc_free_running_0", false},
        {"uncore_imc", "uncore_imc_", false},
        {"uncore_*", "uncore_imc_0", true},
        {"uncore_imc_[01]", "uncore_imc_1", true},
        {"uncore_imc_[01]", "uncore_imc_2", false},
        {"*", "cpu", true},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s", rows[i].name);
        const struct weir_pmu pmu = {.name = name};
        cr_expect_eq(weir_pmu_matches(&pmu, rows[i].word), rows[i].matches, "%s for %s", rows[i].word, rows[i].name);
    }
}

Test(pmu, address_filters_and_sinks_are_numbers_of_files)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    struct weir_pmu_list list;
    cr_assert_eq(weir_pmu_list_read(&list, tree.root), 0);
    cr_expect_eq(weir_pmu_address_filters(&list, 70), 8);
    cr_expect_eq(weir_pmu_address_filters(&list, 4), 0);
    cr_expect_eq(weir_pmu_address_filters(&list, 71), 0);
    uint64_t id = 0;
    cr_expect_not(weir_pmu_sink(&list, find(&list, "cs_etm"), "tmc_etr1", &id));
    cr_expect_not(weir_pmu_sink(&list, find(&list, "cs_etm"), "../type", &id));
    cr_expect(weir_pmu_sink(&list, find(&list, "cs_etm"), "tmc_etr0", &id));
    cr_expect_eq(id, 0x1234);
    weir_pmu_list_fini(&list);
    temp_tree_fini(&tree);
}
