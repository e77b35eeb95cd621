/* What a machine offers, on fake machines with a kernel that refuses what the test names. */
#include "engine/events/event_catalog.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_sysfs.h"
#include "tests/engine/faulty_kernel.h"

/* ---- a visitor that writes entries down ---- */

static int write_entry(void *ctx, const struct weir_catalog_entry *entry)
{
    struct weir_buf *text = ctx;
    weir_buf_printf(text, "%s%s%s%s%s%s\n", entry->name, entry->other ? " OR " : "", entry->other ? entry->other : "",
                    entry->unit ? " in " : "", entry->unit ? entry->unit : "", entry->is_form ? " form" : "");
    if (entry->dynamic)
        weir_buf_printf(text, "  %s\n", entry->dynamic);
    return 0;
}

static int stop_at_second(void *ctx, const struct weir_catalog_entry *entry)
{
    (void)entry;
    unsigned *count = ctx;
    return ++*count == 2 ? 7 : 0;
}

/* Hardware but for cycles, cache but for LLC loads, and software but for faults, which is forbidden. */
static int refuse_most(const struct faulty_open *attempt)
{
    const struct perf_event_attr *attr = attempt->attr;
    if (attr->type == PERF_TYPE_HARDWARE)
        return attr->config == PERF_COUNT_HW_CPU_CYCLES ? 0 : -ENOENT;
    if (attr->type == PERF_TYPE_HW_CACHE)
        return attr->config == PERF_COUNT_HW_CACHE_LL ? 0 : -ENOENT;
    if (attr->config == PERF_COUNT_SW_PAGE_FAULTS)
        return attr->exclude_kernel ? 0 : -EACCES;
    return attr->config == PERF_COUNT_SW_CPU_CLOCK ? -EACCES : -EINVAL;
}

static int visit(struct temp_tree *tree, unsigned sections, int (*visitor)(void *, const struct weir_catalog_entry *),
                 void *ctx, struct weir_error *err)
{
    struct faulty_kernel faulty;
    faulty_kernel_init(&faulty);
    faulty.refuse = refuse_most;
    const struct weir_event_sources sources = {.tracefs_root = tree->root, .sysfs_root = tree->root};
    const struct weir_catalog_setup setup = {.kernel = &faulty.kernel, .sources = &sources, .sections = sections};
    int result = weir_catalog_visit(&setup, visitor, ctx, err);
    cr_expect_eq(faulty.open_now, 0, "descriptors left open");
    faulty_kernel_fini(&faulty);
    return result;
}

static void expect_text(enum fake_machine machine, unsigned sections, const char *expected)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, machine);
    temp_tree_write_text(&tree, "events/sched/sched_switch/id", "316\n");
    temp_tree_write_text(&tree, "events/mine/b_open/id", "900\n");
    temp_tree_write_text(&tree, "events/mine/a_main/id", "901\n");
    temp_tree_write_text(&tree, "events/ftrace/no_id/format", "");
    temp_tree_write_text(&tree, "kprobe_events", "p:mine/b_open do_sys_openat2\n");
    temp_tree_write_text(&tree, "uprobe_events", "r64:mine/a_main /bin/true:0x1000\n");
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    cr_assert_eq(visit(&tree, sections, write_entry, &text, &err), 0, "%s", err.what);
    cr_expect_str_eq(weir_buf_str(&text), expected, "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
    temp_tree_fini(&tree);
}

/* ---- refusals ---- */

Test(event_catalog, closed_tracefs_is_said_after_all_else_was_visited)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_ARM); /* without events/ */
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    cr_expect_eq(visit(&tree, WEIR_CATALOG_SOFTWARE | WEIR_CATALOG_TRACEPOINT, write_entry, &text, &err), -ENOENT);
    cr_expect_not_null(strstr(err.what, "cannot list the tracepoints in "), "%s", err.what);
    cr_expect_str_eq(weir_buf_str(&text), "cpu-clock\npage-faults OR faults\n", "%s", weir_buf_str(&text));
    weir_buf_fini(&text);
    temp_tree_fini(&tree);
}

Test(event_catalog, visitor_can_end_the_visit)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_INTEL);
    unsigned count = 0;
    cr_expect_eq(visit(&tree, WEIR_CATALOG_ALL, stop_at_second, &count, NULL), 7);
    cr_expect_eq(count, 2);
    temp_tree_fini(&tree);
}

Test(event_catalog, every_failing_allocation_is_survived)
{
    struct temp_tree tree;
    fake_sysfs_init(&tree, FAKE_HYBRID);
    temp_tree_write_text(&tree, "events/sched/sched_switch/id", "316\n");
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        struct weir_error err = {0};
        struct faulty_kernel faulty;
        faulty_kernel_init(&faulty);
        faulty.refuse = refuse_most;
        const struct weir_event_sources sources = {.tracefs_root = tree.root, .sysfs_root = tree.root};
        const struct weir_catalog_setup setup = {.kernel = &faulty.kernel,
                                                 .sources = &sources,
                                                 .sections =
                                                     WEIR_CATALOG_PMU | WEIR_CATALOG_RAW | WEIR_CATALOG_TRACEPOINT};
        unsigned count = 100; /* past the one that would end it */
        failing_alloc_after(failures);
        result = weir_catalog_visit(&setup, stop_at_second, &count, &err);
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM, "allocation %u: %d", failures, result);
        cr_expect(result == 0 || strcmp(err.what, "out of memory") == 0, "allocation %u: %s", failures, err.what);
        faulty_kernel_fini(&faulty);
    }
    cr_expect_gt(failures, 10);
    temp_tree_fini(&tree);
}

/* ---- sections ---- */

Test(event_catalog, generic_events_are_those_that_the_kernel_has_or_forbids)
{
    expect_text(FAKE_ARM, WEIR_CATALOG_HARDWARE, "cpu-cycles OR cycles\n");
    expect_text(FAKE_ARM, WEIR_CATALOG_SOFTWARE, "cpu-clock\npage-faults OR faults\n");
    expect_text(FAKE_ARM, WEIR_CATALOG_CACHE, "LLC-loads\n");
}

Test(event_catalog, aliases_have_pmu_unit_and_for_cores_a_short_form)
{
    expect_text(FAKE_ARM, WEIR_CATALOG_PMU, "l1d_cache OR armv8_pmuv3_0/l1d_cache/\n");
    expect_text(FAKE_INTEL, WEIR_CATALOG_PMU,
                "broken OR cpu/broken/\n"
                "cpu/cpu-cycles/\n"
                "cpu/instructions/\n"
                "mem-loads OR cpu/mem-loads/\n"
                "mem-stores OR cpu/mem-stores/\n"
                "other-slots OR cpu/other-slots/\n"
                "parametrized OR cpu/parametrized/\n"
                "slow OR cpu/slow/\n"
                "topdown-slots OR cpu/topdown-slots/ in slots\n"
                "unknown OR cpu/unknown/\n"
                "cs_etm//\n"
                "power/energy-pkg/ in Joules\n"
                "uncore_imc_0/cas_count_read/ in MiB\n"
                "uncore_imc_1/cas_count_read/\n"
                "uncore_imc_10/cas_count_read/\n");
}

Test(event_catalog, pmus_that_trace_are_events)
{
    expect_text(FAKE_TRACE, WEIR_CATALOG_PMU, "arm_spe_0//\narm_spe_1//\ncs_etm//\nintel_bts//\nintel_pt//\n");
}

Test(event_catalog, forms_show_the_range_of_each_field)
{
    expect_text(FAKE_ARM, WEIR_CATALOG_RAW | WEIR_CATALOG_BREAKPOINT,
                "rNNN form\n"
                "armv8_pmuv3_0/event=0..0xffff,long/modifiers form\n"
                "mem:<addr>[/len][:access] form\n");
}

Test(event_catalog, tracepoints_with_an_id_come_by_name_and_probes_are_told)
{
    expect_text(FAKE_ARM, WEIR_CATALOG_TRACEPOINT,
                "mine:a_main\n  uprobe\nmine:b_open\n  kprobe\nsched:sched_switch\n");
}

/* ---- words of the user ---- */

Test(event_catalog, patterns_match_whole_tracepoints_and_parts_of_other_names)
{
    static const struct {
        const char *word, *name, *other;
        bool matches;
    } rows[] = {
        {"sched:*", "sched:sched_switch", NULL, true},
        {"sched:", "sched:sched_switch", NULL, false},
        {"*:sched_s*", "sched:sched_switch", NULL, true},
        {"switch", "sched:sched_switch", NULL, true},
        {"clock", "cpu-clock", NULL, true},
        {"CLOCK", "cpu-clock", NULL, true},
        {"faults", "page-faults", "faults", true},
        {"cs", "context-switches", "cs", true},
        {"c?s", "context-switches", "cs", false},
        {"nothing", "cpu-clock", NULL, false},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        const struct weir_catalog_entry entry = {.name = rows[i].name, .other = rows[i].other};
        cr_expect_eq(weir_catalog_matches(&entry, rows[i].word), rows[i].matches, "%s: %s", rows[i].word, rows[i].name);
    }
}

Test(event_catalog, sections_have_perfs_names)
{
    cr_expect_eq(weir_catalog_section("hw"), WEIR_CATALOG_HARDWARE);
    cr_expect_eq(weir_catalog_section("software"), WEIR_CATALOG_SOFTWARE);
    cr_expect_eq(weir_catalog_section("cache"), WEIR_CATALOG_CACHE);
    cr_expect_eq(weir_catalog_section("tracepoint"), WEIR_CATALOG_TRACEPOINT);
    cr_expect_eq(weir_catalog_section("HW"), 0);
    cr_expect_eq(weir_catalog_sections_of_pattern("sched:*"), WEIR_CATALOG_TRACEPOINT);
    cr_expect_eq(weir_catalog_sections_of_pattern("clock") & WEIR_CATALOG_SOFTWARE, WEIR_CATALOG_SOFTWARE);
    cr_expect_eq(weir_catalog_sections_of_pattern("clock") & WEIR_CATALOG_RAW, 0);
}
