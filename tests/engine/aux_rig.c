/* Builds the rig; what the fake machine has is in fake_sysfs.c. */
#include "tests/engine/aux_rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static void take_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    struct aux_rig *rig = ctx;
    cr_expect_eq(level, WEIR_NOTICE_WARNING);
    size_t used = strlen(rig->notices);
    format_text(rig->notices + used, sizeof(rig->notices) - used, "%s\n", line);
}

void aux_rig_init(struct aux_rig *rig, const char *events)
{
    *rig = (struct aux_rig){
        .list = WEIR_EVENT_LIST_INIT,
        .cpus = WEIR_CPUSET_INIT,
        .limits = {.has_perf_events = true,
                   .mlock_kb = 516,
                   .page_bytes = 4096,
                   .cap_perfmon = true,
                   .cap_ipc_lock = true,
                   .perf_event_paranoid = 2},
        .sink = {.emit = take_notice, .ctx = rig},
    };
    cr_assert_eq(weir_cpuset_parse(&rig->cpus, "0-1", NULL), 0);
    fake_sysfs_init(&rig->tree, FAKE_TRACE);
    rig->setting = (struct weir_aux_setting){
        .limits = &rig->limits,
        .cpus = &rig->cpus,
        .system_wide = true,
        .notices = &rig->sink,
        .sysfs_root = rig->tree.root,
    };
    const struct weir_event_sources sources = {.tracefs_root = rig->tree.root, .sysfs_root = rig->tree.root};
    int result = weir_event_list_parse(&rig->list, events, &sources, &rig->err);
    cr_assert_eq(result, 0, "%s: %s", events, rig->err.what);
}

void aux_rig_fini(struct aux_rig *rig)
{
    weir_event_list_fini(&rig->list);
    weir_cpuset_fini(&rig->cpus);
    temp_tree_fini(&rig->tree);
}

void aux_rig_prepare(struct aux_rig *rig)
{
    int result = weir_aux_events_prepare(&rig->list, &rig->options, &rig->setting, &rig->plan, &rig->err);
    cr_assert_eq(result, 0, "%s", rig->err.what);
    struct weir_event_config config = {.freq_hz = 4000, .inherit = true, .watermark_bytes = 1 << 18};
    weir_aux_plan_apply(&rig->plan, &config);
    weir_event_list_configure(&rig->list, &config);
}

void aux_rig_refuse(struct aux_rig *rig, const char *what, const char *hint)
{
    int result = weir_aux_events_prepare(&rig->list, &rig->options, &rig->setting, &rig->plan, &rig->err);
    cr_expect_eq(result, -EINVAL, "'%s' is not refused", what);
    cr_expect_str_eq(rig->err.what, what, "%s", rig->err.what);
    cr_expect_str_eq(rig->err.hint, hint, "%s", rig->err.hint);
}
