/*
 * Options of `weir record` about samples and synthesis: from their text to the arguments. As in perf 6.1, some options
 * may stand once and others may repeat. Main thread.
 */
#include "cli/sample_arguments.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/record_arguments.h"
#include "cli/value.h"
#include "engine/events/branch_filter.h"
#include "engine/events/call_graph.h"
#include "engine/events/registers.h"
#include "engine/events/sample_clock.h"

#define AGGREGATE_DEFAULT_NS WEIR_NS_PER_S
#define AGGREGATE_MIN_NS     WEIR_NS_PER_MS
#define AGGREGATE_MAX_NS     (60 * WEIR_NS_PER_S)
#define INTERVAL_TEXT_BYTES  24u

/* The error of a parser below, with the option's name before it. */
static int fail_option(const char *option, const struct weir_error *below, struct weir_error *err)
{
    weir_error_set(err, below->code, "option '%s': %s", option, below->what);
    weir_error_hint(err, "%s", below->hint);
    return below->code;
}

static int fail_twice(const char *option, const char *hint, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "option '%s' is given twice", option);
    weir_error_hint(err, "%s", hint);
    return -EINVAL;
}

int weir_apply_call_graph(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    struct weir_error below = {0};
    int result = weir_call_graph_parse(text, &record->options.samples.call_graph, &below);
    return result < 0 ? fail_option("--call-graph", &below, err) : 0;
}

void weir_clear_call_graph(void *arguments)
{
    struct weir_record_arguments *record = arguments;
    record->options.samples.call_graph = (struct weir_call_graph_request){.mode = WEIR_CALL_GRAPH_NONE};
}

int weir_apply_call_graph_default(void *arguments, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    struct weir_record_arguments *record = arguments;
    if (record->options.samples.call_graph.mode == WEIR_CALL_GRAPH_NONE)
        record->options.samples.call_graph.mode = WEIR_CALL_GRAPH_FP;
    return 0;
}

int weir_apply_period_choice(void *arguments, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    struct weir_record_arguments *record = arguments;
    record->options.samples.period = WEIR_CHOICE_YES;
    return 0;
}

void weir_clear_period_choice(void *arguments)
{
    struct weir_record_arguments *record = arguments;
    record->options.samples.period = WEIR_CHOICE_NO;
}

static int refuse_second_filter(const struct weir_record_arguments *record, struct weir_error *err)
{
    if (!record->options.samples.branch_filter)
        return 0;
    weir_error_set(err, -EINVAL, "-b and -j exclude each other, and -j may be given once");
    weir_error_hint(err, "-j takes a list, such as any_call,u; -b is -j any");
    return -EINVAL;
}

int weir_apply_switch_events(void *arguments, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    struct weir_record_arguments *record = arguments;
    record->options.samples.switch_events = true;
    record->options.no_switch_events = false;
    return 0;
}

void weir_clear_switch_events(void *arguments)
{
    struct weir_record_arguments *record = arguments;
    record->options.samples.switch_events = false;
    record->options.no_switch_events = true;
}

int weir_apply_data_maps(void *arguments, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    struct weir_record_arguments *record = arguments;
    record->options.samples.data_maps = WEIR_CHOICE_YES;
    return 0;
}

void weir_clear_data_maps(void *arguments)
{
    struct weir_record_arguments *record = arguments;
    record->options.samples.data_maps = WEIR_CHOICE_NO;
}

int weir_apply_branch_any(void *arguments, const char *text, struct weir_error *err)
{
    (void)text;
    struct weir_record_arguments *record = arguments;
    int result = refuse_second_filter(record, err);
    if (result == 0)
        record->options.samples.branch_filter = PERF_SAMPLE_BRANCH_ANY;
    return result;
}

int weir_apply_branch_filter(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    int result = refuse_second_filter(record, err);
    if (result < 0)
        return result;
    struct weir_error below = {0};
    result = weir_branch_filter_parse(text, &record->options.samples.branch_filter, &below);
    return result < 0 ? fail_option("--branch-filter", &below, err) : 0;
}

/* allowed: what names may stand for; *bits is set once. */
static int apply_registers(struct weir_record_arguments *record, const char *option, const char *text, uint64_t allowed,
                           uint64_t *bits, struct weir_error *err)
{
    if (text && strcmp(text, "?") == 0) {
        record->list_registers = true;
        return 0;
    }
    if (*bits)
        return fail_twice(option, "it takes a list, such as IP,SP", err);
    const struct weir_register_set *set = weir_registers_here();
    struct weir_error below = {0};
    if (!text) {
        *bits = set->usual;
        return set->usual ? 0
                          : weir_error_set(err, -EINVAL, "option '%s': the registers of this architecture are unknown",
                                           option);
    }
    return weir_registers_parse(set, allowed, text, bits, &below) < 0 ? fail_option(option, &below, err) : 0;
}

int weir_apply_intr_regs(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    const struct weir_register_set *set = weir_registers_here();
    int result = apply_registers(record, "--intr-regs", text, set->usual | set->extended,
                                 &record->options.samples.intr_regs, err);
    if (result == 0 && !text)
        record->options.samples.intr_regs_all = true;
    return result;
}

int weir_apply_user_regs(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    const struct weir_register_set *set = weir_registers_here();
    int result = apply_registers(record, "--user-regs", text, set->usual | set->user_extended,
                                 &record->options.samples.user_regs, err);
    if (result == 0 && !text)
        record->options.samples.user_regs_all = true;
    return result;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* "500ms", or as weir_value_parse_time(). */
static int parse_interval(const char *text, size_t length, uint64_t *ns)
{
    char number[INTERVAL_TEXT_BYTES];
    if (length >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, length);
    number[length] = '\0';
    if (length < 2 || strcmp(number + length - 2, "ms") != 0)
        return weir_value_parse_time(number, ns);
    uint64_t ms;
    number[length - 2] = '\0';
    int result = weir_value_parse_number(number, &ms);
    if (result == 0)
        *ns = weir_min_u64(ms, UINT32_MAX) * WEIR_NS_PER_MS;
    return result;
}

int weir_apply_aggregate(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    struct weir_aggregate_options aggregate = {.interval_ns = AGGREGATE_DEFAULT_NS};
    static const char process[] = "process";
    size_t length = text ? strcspn(text, ",") : 0;
    bool has_interval = text && !is_word(text, length, process);
    int result = has_interval ? parse_interval(text, length, &aggregate.interval_ns) : 0;
    const char *rest = has_interval && text[length] == ',' ? text + length + 1 : has_interval ? NULL : text;
    if (rest && strcmp(rest, process) != 0)
        result = -EINVAL;
    aggregate.by_process = rest != NULL;
    if (result < 0 || aggregate.interval_ns < AGGREGATE_MIN_NS || aggregate.interval_ns > AGGREGATE_MAX_NS) {
        weir_error_set(err, -EINVAL, "option '--aggregate': '%s' is no interval", text);
        weir_error_hint(err, "1ms to 60s, such as 1s; with ',process' the threads of a process count as one");
        return -EINVAL;
    }
    record->options.samples.aggregate = aggregate;
    return 0;
}

void weir_clear_aggregate(void *arguments)
{
    ((struct weir_record_arguments *)arguments)->options.samples.aggregate = (struct weir_aggregate_options){0};
}

int weir_apply_clock(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    if (record->options.samples.clock.given)
        return fail_twice("--clockid", "one clock stamps all samples", err);
    struct weir_error below = {0};
    if (weir_sample_clock_parse(text, &record->options.samples.clock.id, &below) < 0)
        return fail_option("--clockid", &below, err);
    record->options.samples.clock.given = true;
    return 0;
}

int weir_apply_synth(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    struct weir_synth_choice choice = record->options.synth;
    choice.tasks = choice.maps = choice.cgroups = false;
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        if (is_word(at, length, "all"))
            choice.tasks = choice.maps = choice.cgroups = true;
        else if (is_word(at, length, "task"))
            choice.tasks = true;
        else if (is_word(at, length, "mmap"))
            choice.tasks = choice.maps = true; /* maps belong to a task */
        else if (is_word(at, length, "cgroup"))
            choice.cgroups = true;
        else if (!is_word(text, strlen(text), "no"))
            break;
        if (at[length] == '\0') {
            record->options.synth = choice;
            return 0;
        }
        at += length + 1;
    }
    weir_error_set(err, -EINVAL, "option '--synth': '%s' is malformed", text);
    weir_error_hint(err, "no, all, or of task, mmap, cgroup a list with commas");
    return -EINVAL;
}

void weir_registers_describe(struct weir_buf *text)
{
    const struct weir_register_set *set = weir_registers_here();
    weir_buf_printf(text, "available registers: ");
    weir_registers_format(set, set->usual, text);
    weir_buf_printf(text, "\n");
}
