/* The term ratio-to-prev on a made-up machine whose cores reload counters. What perf makes of the same events is read
 * in its source (Linux 6.18). */
#include "engine/events/event_ratio.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_config.h"
#include "engine/events/event_parse.h"
#include "tests/engine/fake_sysfs.h"

struct rig {
    struct temp_tree tree;
    struct weir_event_list list;
    struct weir_error err;
    int result;
};

/* cpu_atom has the field, cpu_core has not. */
static void rig_init(struct rig *rig, const char *text)
{
    *rig = (struct rig){.list = WEIR_EVENT_LIST_INIT};
    fake_sysfs_init(&rig->tree, FAKE_HYBRID);
    temp_tree_write_text(&rig->tree, "bus/event_source/devices/cpu_atom/format/acr_mask", "config2:0-63\n");
    const struct weir_event_sources sources = {.tracefs_root = rig->tree.root, .sysfs_root = rig->tree.root};
    rig->result = weir_event_list_parse(&rig->list, text, &sources, &rig->err);
}

static void rig_fini(struct rig *rig)
{
    weir_event_list_fini(&rig->list);
    temp_tree_fini(&rig->tree);
}

static const struct {
    const char *text;
    uint64_t count; /* -c; 0: -F 4000 */
    size_t events;
    uint64_t masks[3], periods[3];
} rows[] = {
    /* Those of perf's Documentation/intel-acr.txt. */
    {"{cpu_atom/instructions/,cpu_atom/cycles,period=100000,ratio-to-prev=0.5/}", 0, 2, {2, 3}, {200000, 100000}},
    {"{cpu_atom/cycles/,cpu_atom/instructions,period=200000,ratio-to-prev=2.0/}", 0, 2, {2, 3}, {100000, 200000}},
    {"{cpu_atom/cycles,period=1000/,cpu_atom/instructions,ratio-to-prev=2/}", 0, 2, {2, 3}, {1000, 2000}},
    {"{cpu_atom/cycles/,cpu_atom/instructions,ratio-to-prev=1.5/}", 100, 2, {2, 3}, {100, 150}},
    {"{cpu_atom/cycles/,cpu_atom/event=1/,cpu_atom/event=2,ratio-to-prev=3/}", 50, 3, {0, 4, 6}, {50, 50, 150}},
    {"{cpu_atom/cycles/,cpu_atom/event=1,ratio-to-prev=0.001/}", 50, 2, {2, 3}, {50, 1}},
};

Test(event_ratio, periods_and_masks_are_those_of_perf)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct rig rig;
        const struct weir_event_config config = {
            .freq_hz = rows[i].count ? 0 : 4000,
            .period = rows[i].count,
            .system_wide = true,
        };
        rig_init(&rig, rows[i].text);
        cr_assert_eq(rig.list.count, rows[i].events, "%s: %s", rows[i].text, rig.err.what);
        cr_expect_eq(weir_event_ratios_check(&rig.list, rows[i].count != 0, &rig.err), 0, "%s", rig.err.what);
        weir_event_list_configure(&rig.list, &config);
        for (size_t event = 0; event < rig.list.count; event++) {
            const struct perf_event_attr *attr = &rig.list.events[event].attr;
            cr_expect_eq(attr->config2, rows[i].masks[event], "%s: event %zu", rows[i].text, event);
            cr_expect_eq(attr->sample_period, rows[i].periods[event], "%s: event %zu: %u", rows[i].text, event,
                         (unsigned)attr->sample_period);
            cr_expect_eq(attr->freq, 0);
            cr_expect_eq(attr->sample_type & PERF_SAMPLE_PERIOD, 0);
        }
        rig_fini(&rig);
    }
}

static const struct {
    const char *text, *what;
} refusals[] = {
    {"cpu_atom/cycles/,cpu_atom/instructions,ratio-to-prev=2/",
     "event cpu_atom/instructions,ratio-to-prev=2/: ratio-to-prev needs an event before it in its group"},
    {"{cpu_atom/cycles,ratio-to-prev=2/}",
     "event cpu_atom/cycles,ratio-to-prev=2/: ratio-to-prev needs an event before it in its group"},
    {"{cpu_atom/cycles/,dummy,cpu_atom/event=1,ratio-to-prev=2/}",
     "events dummy and cpu_atom/event=1,ratio-to-prev=2/: ratio-to-prev compares events of one core PMU"},
    {"{cpu_core/cycles/,cpu_atom/event=1,ratio-to-prev=2/}",
     "events cpu_core/cycles/ and cpu_atom/event=1,ratio-to-prev=2/: ratio-to-prev compares events of one core PMU"},
    {"{cpu-clock,cs/ratio-to-prev=2/}",
     "events cpu-clock and cs/ratio-to-prev=2/: ratio-to-prev compares events of one core PMU"},
    {"{cpu_core/cycles/,cpu_core/instructions,ratio-to-prev=2/}",
     "event cpu_core/instructions,ratio-to-prev=2/: ratio-to-prev needs auto counter reload, which PMU cpu_core does "
     "not have"},
    {"{cpu_atom/cycles,acr_mask=2/,cpu_atom/event=1,ratio-to-prev=2/}",
     "events cpu_atom/cycles,acr_mask=2/ and cpu_atom/event=1,ratio-to-prev=2/: ratio-to-prev sets acr_mask, which is "
     "set already"},
    {"{cpu_atom/cycles/,cpu_atom/event=1,ratio-to-prev=2/,cpu_atom/event=2,ratio-to-prev=2/}",
     "events cpu_atom/event=1,ratio-to-prev=2/ and cpu_atom/event=2,ratio-to-prev=2/: ratio-to-prev sets acr_mask, "
     "which is set already"},
    {"{cpu_atom/cycles/,cpu_atom/event=1,ratio-to-prev=0/}",
     "value '0' of term 'ratio-to-prev' at column 50 is not a number above 0"},
    {"{cpu_atom/cycles/,cpu_atom/event=1,ratio-to-prev=2x/}",
     "value '2x' of term 'ratio-to-prev' at column 50 is not a number above 0"},
};

Test(event_ratio, what_has_no_meaning_is_refused)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        struct rig rig;
        rig_init(&rig, refusals[i].text);
        cr_expect_eq(rig.result, -EINVAL, "%s", refusals[i].text);
        cr_expect_str_eq(rig.err.what, refusals[i].what, "%s", rig.err.what);
        cr_expect_eq(rig.list.count, 0);
        rig_fini(&rig);
    }
}

Test(event_ratio, without_a_fixed_period_there_is_nothing_to_derive)
{
    struct rig rig;
    rig_init(&rig, "{cpu_atom/cycles/,cpu_atom/instructions,ratio-to-prev=2/}");
    cr_assert_eq(rig.list.count, 2, "%s", rig.err.what);
    cr_expect_eq(weir_event_ratios_check(&rig.list, false, &rig.err), -EINVAL);
    cr_expect_str_eq(rig.err.what,
                     "event cpu_atom/instructions,ratio-to-prev=2/: ratio-to-prev needs a period, by -c or "
                     "the term period");
    rig_fini(&rig);
}
