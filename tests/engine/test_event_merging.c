/* Which events --aggregate refuses, each with its line, and which it takes. */
#include "engine/events/event_merging.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "base/bits.h"
#include "engine/events/event_parse.h"

static const struct weir_event_config profile = {
    .freq_hz = 99, .samples = {.aggregate = {.interval_ns = 1}, .call_graph = {.mode = WEIR_CALL_GRAPH_FP}}};

/* The answer for one event with this config; err has the reason. */
static int check(const char *event, const struct weir_event_config *config, struct weir_error *err)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    cr_assert_eq(weir_event_list_parse(&list, event, NULL, err), 0, "%s", err->what);
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    weir_event_list_configure(&list, config);
    int result = weir_event_list_check_merging(&list, config, err);
    for (size_t i = 0; result == 0 && i < list.count; i++) {
        uint64_t wanted = list.events[i].sideband ? 0 : PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT;
        cr_expect_eq(list.events[i].attr.sample_type & (PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT), wanted, "%s", event);
    }
    weir_event_list_fini(&list);
    return result;
}

static void expect_refused(const char *event, const struct weir_event_config *config, const char *what)
{
    struct weir_error err = {0};
    cr_expect_eq(check(event, config, &err), -EINVAL, "%s", event);
    cr_expect_str_eq(err.what, what);
}

Test(event_merging, samples_with_data_of_their_own_are_refused)
{
    const struct {
        struct weir_sample_options samples;
        const char *what;
    } rows[] = {
        {{.addresses = true}, "samples of 'cycles' cannot be merged: each has a data address of its own"},
        {{.physical_addresses = true}, "samples of 'cycles' cannot be merged: each has a data address of its own"},
        {{.data_page_size = true}, "samples of 'cycles' cannot be merged: each has a data address of its own"},
        {{.raw = true}, "samples of 'cycles' cannot be merged: each has raw data of its own"},
        {{.transaction = true}, "samples of 'cycles' cannot be merged: each has a transaction of its own"},
        {{.branch_filter = 1}, "samples of 'cycles' cannot be merged: each has branches of its own"},
        {{.intr_regs = 1}, "samples of 'cycles' cannot be merged: each has registers of its own"},
        {{.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8192}},
         "samples of 'cycles' cannot be merged: each has a copied stack or registers of its own"},
        {{.weight = true}, "option '--weight' cannot be used with '--aggregate'"},
        {{.period = WEIR_CHOICE_NO}, "option '--no-period' cannot be used with '--aggregate'"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct weir_event_config config = profile;
        config.samples = rows[i].samples;
        config.samples.aggregate.interval_ns = 1;
        expect_refused("cycles", &config, rows[i].what);
    }
    expect_refused("{cycles,instructions}:S", &profile,
                   "samples of 'cycles' cannot be merged: each has counts of its group (:S) of its own");
    expect_refused("bpf-output", &profile, "samples of 'bpf-output' cannot be merged: each has raw data of its own");
}

Test(event_merging, samples_of_each_occurrence_are_refused)
{
    struct weir_event_config each = profile;
    each.freq_hz = 0;
    each.period = 1;
    each.period_or_freq_given = true;
    static const char what[] = "samples of '%s' cannot be merged: each stands for an occurrence, in their order";
    char text[128];
    static const char *const events[] = {"cycles", "page-faults", "context-switches", "cpu-clock"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(events); i++) {
        snprintf(text, sizeof(text), what, events[i]);
        expect_refused(events[i], &each, text);
    }
    each.period = 1000; /* the kernel would sample each occurrence for its period */
    snprintf(text, sizeof(text), what, "page-faults");
    expect_refused("page-faults", &each, text);
    snprintf(text, sizeof(text), what, "mem:0x1000");
    expect_refused("mem:0x1000", &profile, text);
}

Test(event_merging, profiles_are_taken)
{
    struct weir_event_config period = profile;
    struct weir_error err = {0};
    period.freq_hz = 0;
    period.period = 100000;
    period.period_or_freq_given = true;
    cr_expect_eq(check("cycles,cpu-clock,task-clock", &period, &err), 0, "%s", err.what);
    cr_expect_eq(check("cycles,page-faults,cs,dummy", &profile, &err), 0, "%s", err.what);
    struct weir_event_config cgroups = profile;
    cgroups.samples.cgroups = cgroups.samples.code_page_size = true;
    cr_expect_eq(check("cycles", &cgroups, &err), 0, "%s", err.what);
}
