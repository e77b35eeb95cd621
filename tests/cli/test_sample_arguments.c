/* The options about samples and synthesis: what each sets, and what repeating and taking back does. The refusals are in
 * test_record_options.c. */
#include "cli/sample_arguments.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/record_options.h"
#include "engine/events/registers.h"
#include "tests/cli/words.h"

#define PAGE 4096u

static struct weir_record_arguments arguments;
static unsigned warnings;

static void count_warning(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx, (void)line;
    warnings += level == WEIR_NOTICE_WARNING;
}

static const struct weir_notice_sink sink = {.emit = count_warning};

static void init(void)
{
    weir_record_arguments_init(&arguments);
}

static void fini(void)
{
    weir_record_arguments_fini(&arguments);
}

TestSuite(sample_arguments, .init = init, .fini = fini);

static const struct weir_sample_options *parse(const char *line)
{
    static struct words words;
    words_split(&words, line);
    fini();
    warnings = 0;
    struct weir_error err = {0};
    cr_assert_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), WEIR_OPTIONS_PARSED, "%s: %s", line,
                 err.what);
    cr_assert_eq(weir_record_options_resolve(&arguments, PAGE, &sink, &err), 0, "%s: %s", line, err.what);
    return &arguments.options.samples;
}

static void expect_call_graph(const char *line, enum weir_call_graph mode, uint32_t stack_bytes)
{
    const struct weir_sample_options *samples = parse(line);
    cr_expect_eq(samples->call_graph.mode, mode, "%s", line);
    cr_expect_eq(samples->call_graph.stack_bytes, stack_bytes, "%s", line);
}

Test(sample_arguments, without_options_nothing_is_asked_for)
{
    const struct weir_sample_options nothing = {0};
    cr_expect_arr_eq(parse("true"), &nothing, sizeof(nothing));
    cr_expect(arguments.options.synth.tasks && arguments.options.synth.maps && arguments.options.synth.cgroups);
    cr_expect(arguments.options.synth.threads == 0 && arguments.options.synth.map_timeout_ms == 0);
    cr_expect_not(arguments.list_registers);
    cr_expect_eq(warnings, 0);
}

Test(sample_arguments, short_g_keeps_the_way_that_was_chosen)
{
    expect_call_graph("-g true", WEIR_CALL_GRAPH_FP, 0);
    expect_call_graph("--call-graph dwarf true", WEIR_CALL_GRAPH_DWARF, 8192);
    expect_call_graph("--call-graph dwarf,100 -g true", WEIR_CALL_GRAPH_DWARF, 104);
    expect_call_graph("-g --call-graph=lbr true", WEIR_CALL_GRAPH_LBR, 0);
    expect_call_graph("-g --no-call-graph true", WEIR_CALL_GRAPH_NONE, 0);
    expect_call_graph("--call-graph dwarf --no-call-graph true", WEIR_CALL_GRAPH_NONE, 0);
    expect_call_graph("--call-graph dwarf --no-call-graph -g true", WEIR_CALL_GRAPH_FP, 0);
}

Test(sample_arguments, period_has_three_states)
{
    cr_expect_eq(parse("true")->period, WEIR_CHOICE_NONE);
    cr_expect_eq(parse("-P true")->period, WEIR_CHOICE_YES);
    cr_expect_eq(parse("--no-period true")->period, WEIR_CHOICE_NO);
    cr_expect_eq(parse("--no-period --period true")->period, WEIR_CHOICE_YES);
}

Test(sample_arguments, no_timestamp_is_answered_with_a_warning)
{
    parse("-T true");
    cr_expect_eq(warnings, 0);
    parse("--no-timestamp true");
    cr_expect_eq(warnings, 1);
}

Test(sample_arguments, flags_set_what_they_name)
{
    const struct weir_sample_options *samples = parse(
        "-d --phys-data --data-page-size --code-page-size -W --transaction -R --running-time -n --kernel-callchains "
        "--user-callchains --no-buffering --switch-events --namespaces --all-cgroups --no-bpf-event true");
    cr_expect(samples->addresses && samples->physical_addresses && samples->data_page_size && samples->code_page_size);
    cr_expect(samples->weight && samples->transaction && samples->raw && samples->running_time && samples->no_samples);
    cr_expect(samples->kernel_callchains && samples->user_callchains && samples->no_buffering);
    cr_expect(samples->switch_events && samples->namespaces && samples->cgroups && samples->no_bpf_events);
}

Test(sample_arguments, branches_are_chosen_once)
{
    cr_expect_eq(parse("-b true")->branch_filter, PERF_SAMPLE_BRANCH_ANY);
    cr_expect_eq(parse("-j any_call,u true")->branch_filter, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER);
}

Test(sample_arguments, unknown_registers_are_refused_with_the_known_ones)
{
    static const char *const refused[] = {"-INONE", "--intr-regs=SP,", "--user-regs=,SP", "--user-regs=XMM0"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct words words;
        struct weir_error err = {0};
        words_split(&words, refused[i]);
        fini();
        cr_expect_eq(weir_record_options_parse(&arguments, words.argv, NULL, &err), -EINVAL, "%s", refused[i]);
        cr_expect_eq(strncmp(err.hint, "registers of this machine: ", 27), 0, "%s: %s", refused[i], err.hint);
    }
}

Test(sample_arguments, registers_without_a_list_are_all)
{
    const struct weir_register_set *here = weir_registers_here();
    if (here->count == 0)
        cr_skip_test("needs an architecture with a table of registers");
    const struct weir_sample_options *samples = parse("-I --user-regs true");
    cr_expect(samples->intr_regs == here->usual && samples->user_regs == here->usual && samples->intr_regs_all);
    char line[64];
    snprintf(line, sizeof(line), "-I%s true", here->registers[1].name);
    samples = parse(line);
    cr_expect(samples->intr_regs == here->registers[1].bits && !samples->intr_regs_all);
}

Test(sample_arguments, question_mark_lists_registers)
{
    parse("-I? true");
    cr_expect(arguments.list_registers && arguments.options.samples.intr_regs == 0);
    parse("--user-regs=? true");
    cr_expect(arguments.list_registers && arguments.options.samples.user_regs == 0);
    struct weir_buf text = WEIR_BUF_INIT, names = WEIR_BUF_INIT;
    weir_registers_describe(&text);
    weir_registers_format(weir_registers_here(), weir_registers_here()->usual, &names);
    cr_expect_str_eq(weir_buf_str(&text) + strlen("available registers: ") + names.used, "\n");
    weir_buf_fini(&text);
    weir_buf_fini(&names);
}

Test(sample_arguments, clock_is_kept_with_its_number)
{
    const struct weir_sample_options *samples = parse("-k CLOCK_Realtime true");
    cr_expect(samples->clock.given && samples->clock.id == CLOCK_REALTIME);
}

Test(sample_arguments, aggregate_has_an_interval_and_a_unit)
{
    static const struct {
        const char *line;
        uint64_t interval_ns;
        bool by_process;
    } rows[] = {
        {"true", 0, false},
        {"--aggregate true", WEIR_NS_PER_S, false},
        {"--aggregate=1ms true", WEIR_NS_PER_MS, false},
        {"--aggregate=60000ms true", 60 * WEIR_NS_PER_S, false},
        {"--aggregate=1m true", 60 * WEIR_NS_PER_S, false},
        {"--aggregate=process true", WEIR_NS_PER_S, true},
        {"--aggregate=500ms,process --aggregate=2s true", 2 * WEIR_NS_PER_S, false},
        {"--aggregate=500ms,process true", 500 * WEIR_NS_PER_MS, true},
        {"--aggregate --no-aggregate true", 0, false},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        const struct weir_aggregate_options *got = &parse(rows[i].line)->aggregate;
        cr_expect_eq(got->interval_ns, rows[i].interval_ns, "%s", rows[i].line);
        cr_expect_eq(got->by_process, rows[i].by_process, "%s", rows[i].line);
    }
    static const char *const refused[] = {"0s",
                                          "61s",
                                          "1s,",
                                          ",process",
                                          "process,1s",
                                          "1s,process,",
                                          "1000us",
                                          "4294967297000ms",
                                          "18446744073709551617ms"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_error err = {0};
        cr_expect_eq(weir_apply_aggregate(&arguments, refused[i], &err), -EINVAL, "%s", refused[i]);
    }
}

Test(sample_arguments, synth_is_what_was_named_last)
{
    static const struct {
        const char *line;
        struct weir_synth_choice want;
    } lines[] = {
        {"--synth=no true", {0}},
        {"--synth=all true", {true, true, true}},
        {"--synth=task true", {.tasks = true}},
        {"--synth=mmap true", {.tasks = true, .maps = true}},
        {"--synth=cgroup,task true", {.tasks = true, .cgroups = true}},
        {"--synth=all --synth=cgroup true", {.cgroups = true}},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lines); i++) {
        parse(lines[i].line);
        cr_expect_eq(arguments.options.synth.tasks, lines[i].want.tasks, "%s", lines[i].line);
        cr_expect_eq(arguments.options.synth.maps, lines[i].want.maps, "%s", lines[i].line);
        cr_expect_eq(arguments.options.synth.cgroups, lines[i].want.cgroups, "%s", lines[i].line);
    }
    parse("--num-thread-synthesize 4 --proc-map-timeout=20 --synth=task true");
    cr_expect(arguments.options.synth.threads == 4 && arguments.options.synth.map_timeout_ms == 20);
}
