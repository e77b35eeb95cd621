/*
 * Presets: which options and events they put in front of the command line, on machines that are made up, and their
 * text, which is docs/presets.md.
 */
#include "cli/presets.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cli/completion_internal.h"
#include "cli/preset_apply.h"
#include "cli/preset_text.h"
#include "cli/record_options.h"
#include "tests/cli/golden.h"
#include "tests/cli/words.h"
#include "tests/format/temp_tree.h"

static struct weir_record_arguments arguments;
static struct weir_settings settings, given;
static struct weir_error err;
static struct temp_tree tree;
static char notice[WEIR_ERROR_TEXT_BYTES];

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_expect_eq(level, WEIR_NOTICE_INFO);
    snprintf(notice, sizeof(notice), "%s", line);
}

static void init(void)
{
    temp_tree_init(&tree);
    weir_record_arguments_init(&arguments);
}

static void fini(void)
{
    weir_record_arguments_fini(&arguments);
    weir_settings_fini(&settings);
    weir_settings_fini(&given);
    temp_tree_fini(&tree);
}

TestSuite(presets, .init = init, .fini = fini);

/* A machine with these tracepoints, "SYSTEM/NAME", and files of PMUs, "FILE TEXT". */
static void make_machine(const char *const *tracepoints, const char *const *pmu_files)
{
    char path[PATH_MAX], text[PATH_MAX];
    temp_tree_make_folder(&tree, "tracing/events");
    for (size_t i = 0; tracepoints && tracepoints[i]; i++) {
        format_text(path, sizeof(path), "tracing/events/%s/id", tracepoints[i]);
        format_text(text, sizeof(text), "%zu\n", i + 1);
        temp_tree_write_text(&tree, path, text);
    }
    temp_tree_make_folder(&tree, "sys/bus/event_source/devices");
    for (size_t i = 0; pmu_files && pmu_files[i]; i++) {
        const char *blank = strchr(pmu_files[i], ' ');
        format_text(path, sizeof(path), "sys/bus/event_source/devices/%.*s", (int)(blank - pmu_files[i]), pmu_files[i]);
        temp_tree_write_text(&tree, path, blank + 1);
    }
}

/* Applies the presets, then the command line. */
static int apply(const char *line)
{
    static struct words words;
    char tracefs[PATH_MAX], sysfs[PATH_MAX];
    temp_tree_path(&tree, "tracing", tracefs);
    temp_tree_path(&tree, "sys", sysfs);
    const struct weir_event_sources sources = {.tracefs_root = tracefs, .sysfs_root = sysfs};
    const struct weir_notice_sink sink = {.emit = keep_notice};
    struct weir_record_arguments first;
    weir_record_arguments_init(&first);
    words_split(&words, line);
    cr_assert_eq(weir_record_options_parse(&first, words.argv, &given, &err), 0, "%s", err.what);
    const struct weir_preset_target target = {.table = &weir_record_command.options,
                                              .given = &given,
                                              .arguments = &arguments,
                                              .settings = &settings,
                                              .sources = &sources,
                                              .notices = &sink};
    int result = weir_presets_apply(&target, &first.presets, &err);
    weir_record_arguments_fini(&first);
    return result < 0 ? result : weir_record_options_parse(&arguments, words.argv, &settings, &err);
}

static void expect_events(const char *wanted)
{
    struct weir_buf events = WEIR_BUF_INIT;
    for (size_t i = 0; i < arguments.events.count; i++)
        weir_buf_printf(&events, "%s%s", i > 0 ? " " : "", arguments.events.items[i]);
    cr_expect_str_eq(weir_buf_str(&events), wanted);
    weir_buf_fini(&events);
}

static const char *const sched_tracepoints[] = {
    "sched/sched_switch",     "sched/sched_stat_runtime", "sched/sched_process_fork",
    "sched/sched_wakeup_new", "sched/sched_migrate_task", "sched/sched_wakeup",
    "power/cpu_frequency",    "power/cpu_idle",           NULL};
#define SCHED_EVENTS                                                                               \
    "sched:sched_switch sched:sched_stat_runtime sched:sched_process_fork sched:sched_wakeup_new " \
    "sched:sched_migrate_task sched:sched_wakeup"

Test(presets, unknown_name_is_refused_with_the_nearest)
{
    struct words words;
    words_split(&words, "--preset timechar");
    cr_expect_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), -EINVAL);
    cr_expect_str_eq(err.what, "option '--preset': unknown preset 'timechar'");
    cr_expect_str_eq(err.hint, "did you mean 'timechart'?");
}

Test(presets, missing_tracepoint_is_an_error_that_names_it)
{
    make_machine(NULL, NULL);
    cr_expect_eq(apply("--preset trace"), -ENOENT);
    cr_expect(strstr(err.what, "preset 'trace': ") && strstr(err.what, "raw_syscalls:sys_enter"), "%s", err.what);
}

Test(presets, machine_without_memory_events_is_told_what_it_takes)
{
    make_machine(NULL, NULL);
    cr_expect_lt(apply("--preset mem"), 0);
    cr_expect(strstr(err.what, "preset 'mem' needs a PMU that samples loads and stores"), "%s", err.what);
}

Test(presets, events_of_the_first_choice_that_the_machine_knows)
{
    make_machine(sched_tracepoints, NULL);
    cr_expect_eq(apply("--preset sched"), 0, "%s", err.what);
    expect_events(SCHED_EVENTS);
    cr_expect(strstr(notice, "preset 'sched': recorded without sched:sched_stat_wait"), "%s", notice);
    cr_expect(arguments.options.targets.system_wide);
    cr_expect_eq(arguments.options.rate.period, 1);
}

Test(presets, option_of_the_command_line_holds_wherever_it_stands)
{
    make_machine(sched_tracepoints, NULL);
    cr_expect_eq(apply("-c 7 -m 8 --preset sched"), 0, "%s", err.what);
    cr_expect_eq(arguments.options.rate.period, 7);
    cr_expect_eq(arguments.ring_sizes.data.number, 8);
}

Test(presets, option_of_the_command_line_removes_those_that_it_excludes)
{
    make_machine(sched_tracepoints, NULL);
    cr_expect_eq(apply("--preset sched -F 99 -p 1"), 0, "%s", err.what);
    cr_expect_eq(arguments.options.rate.period, 0);
    cr_expect_eq(arguments.options.rate.freq_hz, 99);
    cr_expect(!arguments.options.targets.system_wide);
}

Test(presets, events_of_the_command_line_are_added)
{
    make_machine(sched_tracepoints, NULL);
    cr_expect_eq(apply("-e cpu-clock --preset sched"), 0, "%s", err.what);
    expect_events(SCHED_EVENTS " cpu-clock");
}

Test(presets, event_of_two_presets_is_recorded_once)
{
    make_machine(sched_tracepoints, NULL);
    cr_expect_eq(apply("--preset sched --preset timechart"), 0, "%s", err.what);
    expect_events(SCHED_EVENTS " power:cpu_frequency power:cpu_idle");
}

Test(presets, locks_without_lockdep_have_call_chains)
{
    static const char *const tracepoints[] = {"lock/contention_begin", "lock/contention_end", NULL};
    make_machine(tracepoints, NULL);
    cr_expect_eq(apply("--preset lock"), 0, "%s", err.what);
    expect_events("lock:contention_begin lock:contention_end");
    cr_expect_eq(arguments.options.samples.call_graph.mode, WEIR_CALL_GRAPH_FP);
    cr_expect_eq(arguments.options.samples.call_graph.max_stack, 8);
}

Test(presets, events_that_stand_each_for_themselves_are_left_out_alone)
{
    static const char *const tracepoints[] = {"syscalls/sys_enter_read", "syscalls/sys_exit_read", NULL};
    make_machine(tracepoints, NULL);
    cr_expect_eq(apply("--preset timechart-io"), 0, "%s", err.what);
    expect_events("syscalls:sys_enter_read syscalls:sys_exit_read");
    cr_expect(strstr(notice, "recorded without 46 events that this machine lacks, such as syscalls:sys_enter_pread64"),
              "%s", notice);
}

struct memory_machine {
    const char *events;
    const char *files[12];
};

/* What perf mem record of 6.12 makes of each machine (arch/x86/util/mem-events.c and others). */
static const struct memory_machine memory_machines[] = {
    {"cpu/mem-loads,ldlat=30/P cpu/mem-stores/P",
     {"cpu/type 4", "cpu/format/event config:0-7", "cpu/format/ldlat config1:0-15", "cpu/events/mem-loads event=0xcd",
      "cpu/events/mem-stores event=0xd0"}},
    {"{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=30/}:P cpu/mem-stores/P",
     {"cpu/type 4", "cpu/format/event config:0-7", "cpu/format/ldlat config1:0-15", "cpu/events/mem-loads event=0xcd",
      "cpu/events/mem-stores event=0xcd", "cpu/events/mem-loads-aux event=0x03"}},
    {"{cpu_core/mem-loads-aux/,cpu_core/mem-loads,ldlat=30/}:P cpu_core/mem-stores/P cpu_atom/mem-loads,ldlat=30/P "
     "cpu_atom/mem-stores/P",
     {"cpu_core/type 4", "cpu_core/format/event config:0-7", "cpu_core/format/ldlat config1:0-15",
      "cpu_core/events/mem-loads event=0xcd", "cpu_core/events/mem-stores event=0xcd",
      "cpu_core/events/mem-loads-aux event=0x03", "cpu_atom/type 10", "cpu_atom/format/event config:0-7",
      "cpu_atom/format/ldlat config1:0-15", "cpu_atom/events/mem-loads event=0xd0",
      "cpu_atom/events/mem-stores event=0xd0"}},
    {"cpu/mem-loads/ cpu/mem-stores/",
     {"cpu/type 4", "cpu/format/event config:0-59", "cpu/events/mem-loads event=0x34340401e0",
      "cpu/events/mem-stores event=0x343c0401e0"}},
    {"ibs_op//", {"ibs_op/type 9", "ibs_op/format/cnt_ctl config:19"}},
    {"arm_spe_0/ts_enable=1,pa_enable=1,load_filter=1,store_filter=1,min_latency=30/",
     {"arm_spe_0/type 9", "arm_spe_0/format/ts_enable config:0", "arm_spe_0/format/pa_enable config:1",
      "arm_spe_0/format/load_filter config:33", "arm_spe_0/format/store_filter config:34",
      "arm_spe_0/format/min_latency config2:0-11"}},
};

Test(presets, memory_events_are_those_of_the_machine)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(memory_machines); i++) {
        temp_tree_remove(&tree, "sys");
        temp_tree_remove(&tree, "tracing");
        make_machine(NULL, memory_machines[i].files);
        cr_expect_eq(apply("--preset c2c"), 0, "%zu: %s", i, err.what);
        expect_events(memory_machines[i].events);
        cr_expect(arguments.options.samples.weight && arguments.options.samples.addresses &&
                  arguments.options.samples.physical_addresses);
        weir_settings_fini(&given);
        weir_settings_fini(&settings);
        weir_record_arguments_fini(&arguments);
    }
}

Test(presets, help_and_completion_name_each_preset)
{
    bool negated;
    const struct weir_option *row = weir_option_find(&weir_record_command.options, "preset", &negated);
    const struct weir_preset *preset;
    struct weir_buf names = WEIR_BUF_INIT, offered = WEIR_BUF_INIT;
    cr_assert_not_null(row);
    for (size_t i = 0; (preset = weir_preset_at(i)); i++) {
        weir_buf_printf(&offered, "%s%s", i > 0 ? " " : "", preset->name);
        weir_buf_printf(&names, "%s%s", i == 0 ? "" : weir_preset_at(i + 1) ? ", " : " or ", preset->name);
    }
    cr_expect_not_null(strstr(row->help, weir_buf_str(&names)), "%s", weir_buf_str(&names));
    weir_buf_reset(&names);
    weir_completion_append_values(&names, row);
    cr_expect_str_eq(weir_buf_str(&names), weir_buf_str(&offered));
    weir_buf_fini(&names);
    weir_buf_fini(&offered);
}

Test(presets, options_of_presets_are_rows_of_the_table)
{
    const struct weir_preset *preset;
    for (size_t i = 0; (preset = weir_preset_at(i)); i++) {
        for (const struct weir_preset_option *option = preset->options; option && option->name; option++) {
            bool negated;
            const struct weir_option *row = weir_option_find(&weir_record_command.options, option->name, &negated);
            cr_assert(row && !negated, "preset %s: --%s", preset->name, option->name);
            cr_expect_eq(row->argument != NULL, option->value != NULL, "preset %s: --%s", preset->name, option->name);
        }
    }
}

Test(presets, page_of_the_manual_has_the_table)
{
    const struct weir_preset *preset;
    struct weir_buf text = WEIR_BUF_INIT;
    weir_buf_printf(&text, "# Presets of weir record\n\n"
                           "`weir record --preset NAME` records what `perf NAME record` of perf 6.12 does, for perf's "
                           "commands that\nread such a file. This page is `weir list presets`, written by "
                           "`tests/cli/test_presets.c`;\n`WEIR_GOLDEN_UPDATE=1 ctest -R cli_presets` renews it. "
                           "[compatibility.md](compatibility.md), \"Presets\", has\nthe differences from perf's "
                           "commands.\n\n"
                           "Steps with \"or else\" are choices: the first one that this machine knows.\n\n```\n");
    for (size_t i = 0; (preset = weir_preset_at(i)); i++) {
        weir_buf_printf(&text, i > 0 ? "\n" : "");
        weir_preset_append_text(&text, preset);
    }
    weir_buf_printf(&text, "```\n");
    golden_expect("WEIR_DOCS_DIR", "presets.md", &text);
    weir_buf_reset(&text);
    weir_preset_append_json(&text, weir_preset_at(1));
    weir_buf_printf(&text, "\n");
    golden_expect(GOLDEN_TEXTS, "preset.json", &text);
    weir_buf_fini(&text);
}
