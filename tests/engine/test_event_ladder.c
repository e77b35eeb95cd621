/* Kernels that refuse each of the things that younger ones brought: what is dropped, and what is named instead. */
#include "engine/events/event_ladder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/registers.h"
#include "tests/engine/event_set_rig.h"

/* What the kernel of a test refuses. Tests run in processes of their own. */
static bool (*has_refused)(const struct perf_event_attr *attr);
static int refused_code = -EINVAL;

static int refuse(const struct faulty_open *attempt)
{
    return has_refused(attempt->attr) ? refused_code : 0;
}

static void rig_init(struct event_set_rig *rig, bool (*has)(const struct perf_event_attr *attr))
{
    event_set_rig_init(rig, "cs", 0);
    rig->faulty.refuse = refuse;
    has_refused = has;
}

#define HAS(name, condition)                                   \
    static bool has_##name(const struct perf_event_attr *attr) \
    {                                                          \
        return (condition) != 0;                               \
    }

HAS(anything, attr)
HAS(lost, attr->read_format &PERF_FORMAT_LOST)
HAS(weight_struct, attr->sample_type &PERF_SAMPLE_WEIGHT_STRUCT)
HAS(hw_index, attr->branch_sample_type &PERF_SAMPLE_BRANCH_HW_INDEX)
HAS(bpf_records, attr->ksymbol || attr->bpf_event)
HAS(no_flags, attr->branch_sample_type &(PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES))
HAS(counters, attr->branch_sample_type &PERF_SAMPLE_BRANCH_COUNTERS)
HAS(aux_action, attr->aux_action)
HAS(config4, attr->config4)
HAS(deferral, attr->defer_callchain || attr->defer_output)
HAS(priv, attr->branch_sample_type &PERF_SAMPLE_BRANCH_PRIV_SAVE)
HAS(build_id, attr->build_id)
HAS(code_page_size, attr->sample_type &PERF_SAMPLE_CODE_PAGE_SIZE)
HAS(data_page_size, attr->sample_type &PERF_SAMPLE_DATA_PAGE_SIZE)
HAS(cgroups, attr->cgroup || attr->sample_type & PERF_SAMPLE_CGROUP)
HAS(aux_samples, attr->aux_sample_size)
HAS(phys_addr, attr->sample_type &PERF_SAMPLE_PHYS_ADDR)
HAS(type_save, attr->branch_sample_type &PERF_SAMPLE_BRANCH_TYPE_SAVE)
HAS(namespaces, attr->namespaces)
HAS(max_stack, attr->sample_max_stack)
HAS(context_switch, attr->context_switch)
HAS(text_poke, attr->text_poke)
HAS(clock, attr->use_clockid)
HAS(intr_regs, attr->sample_regs_intr)
HAS(comm_exec, attr->comm_exec)
HAS(mmap2, attr->mmap2)
HAS(machines, attr->exclude_guest || attr->exclude_host)
HAS(levels, attr->exclude_user || attr->exclude_kernel || attr->exclude_hv)

/* ---- what was asked for ---- */

static const struct {
    const char *name;
    struct weir_sample_options samples;
    bool build_ids_in_maps;
    bool (*has)(const struct perf_event_attr *attr);
    const char *hint;
} asked[] = {
    {"--branch-filter=counter",
     {.branch_filter = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_COUNTERS},
     false,
     has_counters,
     "--branch-filter=counter needs Linux 6.8 and a CPU that counts events between branches"},
    {"--branch-filter=hw_index",
     {.branch_filter = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX},
     false,
     has_hw_index,
     "--branch-filter=hw_index needs Linux 5.7"},
    {"--branch-filter=priv",
     {.branch_filter = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_PRIV_SAVE},
     false,
     has_priv,
     "--branch-filter=priv needs Linux 6.1"},
    {"--call-graph=fp,defer",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_FP, .defers = true}},
     false,
     has_deferral,
     "--call-graph=fp,defer needs Linux 6.19"},
    {"--buildid-mmap", {.raw = false}, true, has_build_id, "--buildid-mmap needs Linux 5.12"},
    {"--code-page-size",
     {.code_page_size = true, .data_page_size = true},
     false,
     has_code_page_size,
     "--code-page-size needs Linux 5.11"},
    {"--data-page-size",
     {.data_page_size = true, .cgroups = true},
     false,
     has_data_page_size,
     "--data-page-size needs Linux 5.11"},
    {"--all-cgroups", {.cgroups = true, .code_page_size = true}, false, has_cgroups, "--all-cgroups needs Linux 5.7"},
    {"--phys-data", {.physical_addresses = true}, false, has_phys_addr, "--phys-data needs Linux 4.14"},
    {"--branch-filter=save_type",
     {.branch_filter = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE},
     false,
     has_type_save,
     "--branch-filter=save_type needs Linux 4.14"},
    {"--namespaces",
     {.namespaces = true, .switch_events = true},
     false,
     has_namespaces,
     "--namespaces needs Linux 4.12"},
    {"the number of frames (--call-graph=fp,N or max-stack=)",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_FP, .max_stack = 8}},
     false,
     has_max_stack,
     "the number of frames (--call-graph=fp,N or max-stack=) needs Linux 4.8, and at most kernel.perf_event_max_stack "
     "of them"},
    {"--switch-events", {.switch_events = true}, false, has_context_switch, "--switch-events needs Linux 4.3"},
    {"--clockid",
     {.clock = {true, 11}},
     false,
     has_clock,
     "--clockid needs Linux 4.1, and for other clocks than monotonic and monotonic_raw a software event "
     "such as cpu-clock"},
    {"--intr-regs", {.intr_regs = 1}, false, has_intr_regs, "--intr-regs needs Linux 3.19"},
};

Test(event_ladder, what_was_asked_for_is_named_and_not_dropped)
{
    const int codes[] = {-EINVAL, -E2BIG};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(asked); i++) {
        struct event_set_rig rig;
        rig_init(&rig, asked[i].has);
        rig.config.samples = asked[i].samples;
        rig.config.build_ids_in_maps = asked[i].build_ids_in_maps;
        refused_code = codes[i % 2];
        event_set_rig_expect_refused(&rig, -EINVAL);
        cr_expect_eq(strncmp(rig.err.what, "cannot open event '", 19), 0);
        cr_expect_not_null(strstr(rig.err.what, "': this kernel refuses "), "%s", rig.err.what);
        cr_expect_not_null(strstr(rig.err.what, asked[i].name), "%s: %s", asked[i].name, rig.err.what);
        cr_expect_str_eq(rig.err.hint, asked[i].hint);
        event_set_rig_fini(&rig);
    }
}

/* The kernel looks at the bits of an attr first, and then for a PMU. */
static int refuse_new_bits_and_all_hardware(const struct faulty_open *attempt)
{
    return has_deferral(attempt->attr) ? -EINVAL : -ENOENT;
}

Test(event_ladder, what_was_asked_for_is_named_before_hardware_that_is_not_there)
{
    struct event_set_rig rig;
    rig_init(&rig, has_deferral);
    rig.faulty.refuse = refuse_new_bits_and_all_hardware;
    rig.config.samples.call_graph = (struct weir_call_graph_request){.mode = WEIR_CALL_GRAPH_FP, .defers = true};
    event_set_rig_expect_refused(&rig, -EINVAL);
    cr_expect_str_eq(rig.err.what, "cannot open event 'cs': this kernel refuses --call-graph=fp,defer");
    event_set_rig_fini(&rig);
}

Test(event_ladder, pieces_of_an_aux_area_are_blamed)
{
    struct event_set_rig rig;
    rig_init(&rig, has_aux_samples);
    rig.list.events[0].aux_attr.sample_bytes = 4096;
    event_set_rig_expect_refused(&rig, -EINVAL);
    cr_expect_str_eq(rig.err.what,
                     "cannot open event 'cs': this kernel refuses to put pieces of an AUX area into samples");
    cr_expect_str_eq(rig.err.hint,
                     "to put pieces of an AUX area into samples needs Linux 5.5 and an AUX area event that "
                     "can do it, as intel_pt can");
    event_set_rig_fini(&rig);
}

Test(event_ladder, actions_on_a_trace_and_newest_words_are_blamed)
{
    struct event_set_rig rig;
    rig_init(&rig, has_aux_action);
    rig.list.events[0].aux_attr.action = WEIR_AUX_ACTION_PAUSE;
    event_set_rig_expect_refused(&rig, -EINVAL);
    cr_expect_str_eq(rig.err.what, "cannot open event 'cs': this kernel refuses the term aux-action");
    cr_expect_str_eq(rig.err.hint, "the term aux-action needs Linux 6.13 and a PMU that can do it");
    event_set_rig_fini(&rig);

    refused_code = -E2BIG;
    rig_init(&rig, has_config4);
    rig.list.events[0].attr.config4 = 1;
    event_set_rig_expect_refused(&rig, -EINVAL);
    cr_expect_str_eq(rig.err.what, "cannot open event 'cs': this kernel refuses a term in config4");
    cr_expect_str_eq(rig.err.hint, "a term in config4 needs Linux 7.0");
    event_set_rig_fini(&rig);
}

Test(event_ladder, nothing_that_was_asked_for_is_blamed_when_that_does_not_help)
{
    struct event_set_rig rig;
    rig_init(&rig, has_anything);
    rig.config.samples = (struct weir_sample_options){.namespaces = true, .code_page_size = true};
    event_set_rig_expect_refused(&rig, -EINVAL);
    cr_expect_str_eq(rig.err.what, "cannot open event 'cs' on cpu 1: Invalid argument");
    cr_expect_eq(rig.faulty.open_now, 0);
    event_set_rig_fini(&rig);
}

/* ---- what may be dropped ---- */

static const struct {
    struct weir_sample_options samples;
    bool (*has)(const struct perf_event_attr *attr);
    const char *says;
    uint64_t sample_type, branch_sample_type; /* of the event, that stay */
} dropped[] = {
    {{.raw = false}, has_lost, "PERF_FORMAT_LOST (Linux 6.0)", 0, 0},
    {{.call_graph = {.mode = WEIR_CALL_GRAPH_LBR}},
     has_hw_index,
     "the index of branch registers (Linux 5.7)",
     PERF_SAMPLE_BRANCH_STACK,
     PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS |
         PERF_SAMPLE_BRANCH_NO_CYCLES},
    {{.raw = false}, has_comm_exec, "comm_exec (Linux 3.16)", 0, 0},
    {{.raw = false}, has_mmap2, "mmap2 (Linux 3.16)", 0, 0},
    {{.raw = false}, has_bpf_records, "ksymbol and bpf_event records (Linux 5.1)", 0, 0},
    {{.call_graph = {.mode = WEIR_CALL_GRAPH_LBR}},
     has_no_flags,
     "leaving flags and cycles out of call stacks (Linux 4.4)",
     PERF_SAMPLE_BRANCH_STACK,
     PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK},
#if defined(__x86_64__)
    {{.weight = true}, has_weight_struct, "the weight in parts (Linux 5.12)", PERF_SAMPLE_WEIGHT, 0},
#endif
};

Test(event_ladder, what_nobody_asked_for_is_dropped_and_said)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(dropped); i++) {
        struct event_set_rig rig;
        rig_init(&rig, dropped[i].has);
        rig.config.samples = dropped[i].samples;
        event_set_rig_expect_open(&rig);
        cr_assert_geq(rig.notice_count, 1);
        cr_expect_not_null(strstr(rig.notices[rig.notice_count - 1], dropped[i].says), "%s",
                           rig.notices[rig.notice_count - 1]);
        cr_expect_eq(rig.levels[rig.notice_count - 1], WEIR_NOTICE_VERBOSE);
        for (size_t event = 0; event < rig.list.count; event++)
            cr_expect_not(dropped[i].has(&rig.list.events[event].attr));
        const struct perf_event_attr *attr = &rig.list.events[0].attr;
        cr_expect_eq(attr->sample_type & dropped[i].sample_type, dropped[i].sample_type);
        cr_expect_eq(attr->branch_sample_type, dropped[i].branch_sample_type);
        event_set_rig_fini(&rig);
    }
}

/* What the copy of the kernel is worth without: what the kernel was at the start. */
Test(event_ladder, text_pokes_are_dropped_and_said)
{
    struct event_set_rig rig;
    rig_init(&rig, has_text_poke);
    rig.config.text_pokes = true;
    event_set_rig_expect_open(&rig);
    cr_assert_eq(rig.notice_count, 2);
    cr_expect_not_null(strstr(rig.notices[1], "text_poke records (Linux 5.8)"), "%s", rig.notices[1]);
    cr_expect_not(rig.list.events[1].attr.text_poke);
    cr_expect(rig.list.events[1].attr.ksymbol && rig.list.events[1].attr.mmap2);
    event_set_rig_fini(&rig);
}

/* A refusal of one attr says nothing of what only others have. */
Test(event_ladder, step_is_taken_for_what_the_refused_attr_has)
{
    struct weir_event_ladder ladder = {0};
    struct weir_event event = {.attr = {.ksymbol = 1}};
    cr_expect_not_null(strstr(weir_event_ladder_step(&ladder, &event), "ksymbol"));
    cr_expect_not_null(strstr(weir_event_ladder_step(&ladder, &event), "PERF_FLAG_FD_CLOEXEC"), "every event has it");
    cr_expect_null(weir_event_ladder_step(&ladder, &event), "no step is taken twice");
    cr_expect_eq(event.attr.ksymbol, 1, "the refused attr is only looked at");
}

/* -j no_flags is asked for, the same bits of a call stack are not. */
Test(event_ladder, branch_flags_that_were_asked_for_are_no_step)
{
    struct weir_event_ladder ladder = {0};
    const struct weir_event event = {
        .attr = {.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS}};
    cr_expect_not_null(strstr(weir_event_ladder_step(&ladder, &event), "PERF_FLAG_FD_CLOEXEC"));
    cr_expect_null(weir_event_ladder_step(&ladder, &event));
}

/* ---- flags of the open ---- */

static int refuse_close_on_exec(const struct faulty_open *attempt)
{
    return attempt->flags & PERF_FLAG_FD_CLOEXEC ? -EINVAL : 0;
}

Test(event_ladder, close_on_exec_is_left_to_be_set_afterwards)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs", 0);
    rig.faulty.refuse = refuse_close_on_exec;
    event_set_rig_expect_open(&rig);
    cr_assert_geq(rig.notice_count, 1);
    cr_expect_not_null(strstr(rig.notices[rig.notice_count - 1], "PERF_FLAG_FD_CLOEXEC (Linux 3.14)"));
    event_set_rig_fini(&rig);
}

/* ---- guests ---- */

/* Nobody asked for it: it comes with u and p. */
Test(event_ladder, guests_that_nobody_left_out_by_name_are_recorded)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, "cs:u", 0);
    rig.faulty.refuse = refuse;
    has_refused = has_machines;
    cr_assert(has_machines(&rig.list.events[0].attr));
    event_set_rig_expect_open(&rig);
    cr_assert_geq(rig.notice_count, 1);
    cr_expect_not_null(strstr(rig.notices[rig.notice_count - 1], "exclude_guest and exclude_host (Linux 3.2"));
    cr_expect_not(has_machines(&rig.list.events[0].attr));
    cr_expect(rig.list.events[0].attr.exclude_kernel, "u stays");
    event_set_rig_fini(&rig);
}

Test(event_ladder, guests_and_levels_that_were_named_are_not_dropped)
{
    static const struct {
        const char *events;
        bool (*has)(const struct perf_event_attr *attr);
    } named[] = {{"cs:G", has_machines}, {"cs:H", has_machines}, {"cs:u", has_levels}, {"cs:k", has_levels}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(named); i++) {
        struct event_set_rig rig;
        event_set_rig_init(&rig, named[i].events, 0);
        rig.faulty.refuse = refuse;
        has_refused = named[i].has;
        event_set_rig_expect_refused(&rig, -EINVAL);
        cr_expect_not_null(strstr(rig.err.what, "': this kernel refuses to leave out user space, kernel"), "%s",
                           rig.err.what);
        cr_expect_str_eq(rig.err.hint,
                         "to leave out user space, kernel, hypervisor, idle time or guests needs a PMU that "
                         "can tell them apart");
        event_set_rig_fini(&rig);
    }
}

/* ---- precision ---- */

/* An old kernel with a precise PMU: what it refused was not the precision. */
Test(event_ladder, precision_is_tried_again_after_a_step)
{
    struct event_set_rig rig;
    event_set_rig_init(&rig, NULL, 0);
    rig.faulty.refuse = refuse;
    has_refused = has_lost;
    event_set_rig_expect_open(&rig);
    cr_expect_eq(rig.list.events[0].attr.precise_ip, 3);
    event_set_rig_fini(&rig);
}

/* ---- PMUs ---- */

Test(event_ladder, pmu_that_cannot_tell_guests_apart_loses_nothing_else)
{
    struct event_set_rig rig;
    rig_init(&rig, has_machines);
    struct perf_event_attr *attr = &rig.list.events[0].attr;
    attr->type = PERF_TYPE_MAX + 2;
    rig.list.events[1].attr.exclude_guest = 0;
    cr_assert(has_machines(attr));
    event_set_rig_expect_open(&rig);
    cr_expect_not(has_machines(attr));
    cr_expect(attr->read_format & PERF_FORMAT_LOST);
    cr_assert_eq(rig.notice_count, 1);
    cr_expect_str_eq(rig.notices[0], "cs: its PMU may not tell guests apart; trying with them");
    cr_expect_eq(rig.levels[0], WEIR_NOTICE_VERBOSE);
    event_set_rig_fini(&rig);
}
