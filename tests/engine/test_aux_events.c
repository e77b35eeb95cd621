/*
 * Which event has the AUX area, what it is opened with, and how large the area is. For the PMUs of Intel's
 * CPUs tests/parity/cases/aux compares it with perf, where they are played; for those of Arm's the values are what the
 * sources of perf 6.1 make of the same files of sysfs (aux_events.h names them).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/aux_rig.h"

#define KIB       1024u
#define MIB       (1024u * KIB)
#define PT_CONFIG 0x300e601u /* tsc, mtc, mtc_period=3, psb_period=3, pt, branch */

/* ---- refusals ---- */

#define HINT_GROUP "-e '{intel_pt//,cycles}': an AUX area event that leads those whose samples hold its trace"

#define HINT_ACTION                                                                                              \
    "-e '{intel_pt/aux-action=start-paused/k,syscalls:sys_enter_read/aux-action=resume/,syscalls:sys_exit_read/" \
    "aux-action=pause/}'"

static const struct refusal {
    const char *events;
    struct weir_aux_options options;
    struct weir_aux_setting setting; /* flags only */
    const char *what, *hint;
} refusals[] = {
    {"cs",
     {.snapshot = true},
     {0},
     "option '-S' needs an AUX area event: there is no trace to take a snapshot of",
     "-e intel_pt// or another one; -M keeps the samples of any event in memory"},
    {"cs",
     {.sample = true},
     {0},
     "option '--aux-sample' needs an AUX area event: there is no trace to sample",
     HINT_GROUP},
    {"cs/aux-sample-size=64/",
     {0},
     {0},
     "event 'cs/aux-sample-size=64/': there is no AUX area event to sample",
     HINT_GROUP},
    {"cs/aux-action=pause/",
     {0},
     {0},
     "event cs/aux-action=pause/ cannot have aux-action: no AUX area event leads its group",
     HINT_ACTION},
    {"intel_pt//,cs/aux-action=start-paused/",
     {0},
     {0},
     "event cs/aux-action=start-paused/ cannot have aux-action: start-paused is for the AUX area event itself",
     HINT_ACTION},
    {"intel_pt/aux-action=resume/",
     {0},
     {0},
     "event intel_pt/aux-action=resume/ cannot have aux-action: pause and resume are for the events that it leads",
     HINT_ACTION},
    {"intel_pt//,{cs,faults/aux-action=pause/}",
     {0},
     {0},
     "event faults/aux-action=pause/ cannot have aux-action: no AUX area event leads its group",
     HINT_ACTION},
    {"intel_pt//,cs,intel_bts//",
     {0},
     {0},
     "events intel_pt// and intel_bts// both have an AUX area, and only one can be recorded at a time",
     "leave out one of them"},
    {"intel_pt//,intel_pt/cyc/",
     {0},
     {0},
     "events intel_pt// and intel_pt/cyc/ both have an AUX area, and only one can be recorded at a time",
     "leave out one of them"},
    {"arm_spe//",
     {0},
     {0},
     "events arm_spe// and arm_spe// both have an AUX area, and only one can be recorded at a time",
     "-e arm_spe_0/.../ names one of them"},
    {"intel_pt//",
     {0},
     {.clock_given = true},
     "cannot use -k with intel_pt//",
     "decoders need the default clock of perf events"},
    {"cs_etm//",
     {0},
     {.clock_given = true},
     "cannot use -k with cs_etm//",
     "decoders need the default clock of perf events"},
    {"intel_bts//",
     {0},
     {0},
     "intel_bts cannot trace whole CPUs, only tasks",
     "--per-thread, with a command, -p or -t"},
    {"{intel_bts//,cs}",
     {.sample = true},
     {.per_thread = true},
     "intel_bts cannot put its trace into samples",
     "leave out --aux-sample and aux-sample-size; intel_pt can"},
    {"intel_pt//,cs",
     {.sample = true},
     {0},
     "--aux-sample: event intel_pt// leads no other events, whose samples could hold its trace",
     "-e '{intel_pt//,cycles}'"},
    {"{intel_pt//,cs}",
     {.sample = true, .snapshot = true},
     {0},
     "-S cannot be used with --aux-sample, nor with the term aux-sample-size",
     "-S takes the newest trace at a trigger, --aux-sample with each sample"},
    {"{intel_pt/aux-sample-size=64/,cs}",
     {0},
     {0},
     "event intel_pt/aux-sample-size=64/ cannot sample an AUX area: it has that area itself",
     "aux-sample-size is for the events that it leads"},
    {"cs/aux-sample-size=64/,intel_pt//",
     {0},
     {0},
     "event cs/aux-sample-size=64/ cannot sample an AUX area: it leads a group, or stands alone",
     "-e '{intel_pt//,cycles}': behind the AUX area event"},
    {"intel_pt//,{cs,faults/aux-sample-size=64/}",
     {0},
     {0},
     "event faults/aux-sample-size=64/ cannot sample an AUX area: no AUX area event leads its group",
     "-e '{intel_pt//,cycles}': the AUX area event first"},
    {"{intel_pt//,cs/aux-sample-size=61441/}",
     {0},
     {0},
     "event cs/aux-sample-size=61441/: samples cannot hold 61441 bytes of an AUX area",
     "at most 61440: a sample is at most 64 KiB as a whole"},
    {"intel_pt//",
     {.snapshot = true, .snapshot_bytes = 8193, .area_bytes = 8192},
     {0},
     "a snapshot of 8193 bytes cannot be greater than the AUX area of 8192 bytes",
     "-m ,SIZE sets the area; without it, weir chooses it"},
    {"{intel_pt//,cs}",
     {.sample = true, .sample_bytes = 8192, .area_bytes = 4096},
     {0},
     "a sample's piece of 8192 bytes cannot be greater than the AUX area of 4096 bytes",
     "-m ,SIZE sets the area; without it, weir chooses it"},
    {"intel_pt//",
     {.area_bytes = 4096},
     {0},
     "an AUX area of 4096 bytes is too small for intel_pt",
     "use at least -m ,8K"},
    {"arm_spe_1//",
     {.area_bytes = 4096, .snapshot = true},
     {0},
     "an AUX area of 4096 bytes is too small for arm_spe",
     "use at least -m ,8K"},
    {"intel_pt/mtc_period=4/",
     {0},
     {0},
     "intel_pt of this machine has no mtc_period=4",
     "values of mtc_period that it has: 0,3,6,9"},
    {"intel_pt/psb_period=6/",
     {0},
     {0},
     "intel_pt of this machine has no psb_period=6",
     "values of psb_period that it has: 0-5"},
    {"intel_pt/cyc,cyc_thresh=14/",
     {0},
     {0},
     "intel_pt of this machine has no cyc_thresh=14",
     "values of cyc_thresh that it has: 0-13"},
};

Test(aux_events, what_does_not_go_together_is_refused)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, refusals[i].events);
        rig.options = refusals[i].options;
        rig.setting.per_thread = refusals[i].setting.per_thread;
        rig.setting.clock_given = refusals[i].setting.clock_given;
        aux_rig_refuse(&rig, refusals[i].what, refusals[i].hint);
        aux_rig_fini(&rig);
    }
}

Test(aux_events, coresight_needs_units_that_tell_tasks_apart)
{
    static const struct {
        const char *cpus, *what, *hint;
        const char *file, *text;
    } rows[] = {
        {"0-2", "cs_etm: CPU 2 has no trace unit of version 4 or later", "-C with CPUs that have one, or --per-thread",
         "cpu2/mgmt/etmidr", "0"},
        {"0-1", "cs_etm: the trace unit of CPU 1 has no timestamps", "-C with CPUs that have them, or --per-thread",
         "cpu1/trcidr/trcidr0", "0xea1"},
        {"0-1", "cs_etm: CPU 0 cannot trace CONTEXTIDR_EL1",
         "with --per-thread the trace of each task has an area of its own, and needs no ids", "cpu0/trcidr/trcidr2",
         "0x408"},
        {"0-1", "cs_etm: CPU 0 cannot trace CONTEXTIDR_EL2",
         "with --per-thread the trace of each task has an area of its own, and needs no ids", "format/contextid",
         "config:15"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, "cs_etm//");
        char path[PATH_MAX];
        format_text(path, sizeof(path), "bus/event_source/devices/cs_etm/%s", rows[i].file);
        temp_tree_write_text(&rig.tree, path, rows[i].text);
        weir_cpuset_fini(&rig.cpus);
        cr_assert_eq(weir_cpuset_parse(&rig.cpus, rows[i].cpus, NULL), 0);
        aux_rig_refuse(&rig, rows[i].what, rows[i].hint);
        rig.setting.per_thread = true;
        aux_rig_prepare(&rig);
        cr_expect_eq(rig.list.events[0].attr.config, 0);
        aux_rig_fini(&rig);
    }
}

Test(aux_events, every_failing_allocation_is_told)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,{intel_pt//,faults}");
    unsigned failures = 0;
    for (int result = -1; result != 0; failures++) {
        failing_alloc_after(failures);
        result = weir_aux_events_prepare(&rig.list, &rig.options, &rig.setting, &rig.plan, &rig.err);
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM, "allocation %u", failures);
    }
    cr_expect_gt(failures, 10);
    aux_rig_fini(&rig);
}

/* ---- attrs ---- */

Test(aux_events, list_without_one_stays_as_it_is)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,{faults,cpu-clock}");
    aux_rig_prepare(&rig);
    cr_expect_eq(rig.plan.kind, WEIR_AUX_KIND_NONE);
    cr_expect_eq(rig.plan.mode, WEIR_AUX_NONE);
    cr_expect_str_eq(rig.list.events[0].name, "cs");
    cr_expect_eq(rig.list.events[2].leader, 1);
    aux_rig_fini(&rig);
}

static const struct {
    const char *events;
    enum weir_aux_kind kind;
    bool per_thread;
    struct weir_aux_options options;
    uint64_t config, config2, sample_period, sample_type; /* the last on top of what all events have */
    uint32_t aux_watermark;
} attrs[] = {
    {"intel_pt//", WEIR_AUX_KIND_INTEL_PT, false, {0}, PT_CONFIG, 0, 1, 0, MIB},
    {"intel_pt//u", WEIR_AUX_KIND_INTEL_PT, true, {.area_bytes = 64 * KIB}, PT_CONFIG, 0, 1, 0, 16 * KIB},
    {"intel_pt/tsc=0,mtc_period=9/", WEIR_AUX_KIND_INTEL_PT, false, {0}, 0x3026201, 0, 1, 0, MIB},
    {"intel_pt/config=0x2400,cyc/", WEIR_AUX_KIND_INTEL_PT, false, {0}, 0x2403, 0, 1, 0, MIB},
    {"intel_pt/pt=0/", WEIR_AUX_KIND_INTEL_PT, false, {0}, PT_CONFIG, 0, 1, 0, MIB},
    {"intel_pt//", WEIR_AUX_KIND_INTEL_PT, false, {.snapshot = true}, PT_CONFIG, 0, 1, 0, 0},
    {"{intel_pt//,cs}", WEIR_AUX_KIND_INTEL_PT, false, {.sample = true}, 0xe601, 0, 1, 0, 0},
    {"{intel_pt/psb_period=2/,cs}", WEIR_AUX_KIND_INTEL_PT, false, {.sample = true}, 0x200e601, 0, 1, 0, 0},
    {"{intel_pt/config=0x3000001/,cs}", WEIR_AUX_KIND_INTEL_PT, false, {.sample = true}, 0x3000001, 0, 1, 0, 0},
    {"intel_pt/period=7/", WEIR_AUX_KIND_INTEL_PT, false, {0}, PT_CONFIG, 0, 7, 0, MIB},
    {"intel_bts//u", WEIR_AUX_KIND_INTEL_BTS, true, {0}, 0, 0, 1, 0, 0},
    {"arm_spe_0//", WEIR_AUX_KIND_ARM_SPE, false, {0}, 1, 0, 1024, PERF_SAMPLE_DATA_SRC, 0},
    {"arm_spe_0//", WEIR_AUX_KIND_ARM_SPE, true, {0}, 0, 0, 1024, PERF_SAMPLE_DATA_SRC, 0},
    {"arm_spe_0/ts_enable=0,pa_enable/",
     WEIR_AUX_KIND_ARM_SPE,
     false,
     {0},
     2,
     0,
     1024,
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR,
     0},
    {"arm_spe_1//", WEIR_AUX_KIND_ARM_SPE, false, {0}, 1, 0, 4096, PERF_SAMPLE_DATA_SRC, 0},
    {"cs_etm/@tmc_etr0,cycacc/", WEIR_AUX_KIND_CS_ETM, false, {0}, 1u << 28 | 1u << 14 | 1u << 12, 0x1234, 1, 0, 0},
    {"cs_etm//", WEIR_AUX_KIND_CS_ETM, true, {0}, 0, 0, 1, 0, 0},
};

Test(aux_events, attrs_are_those_of_perf)
{
    const uint64_t all = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(attrs); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, attrs[i].events);
        rig.options = attrs[i].options;
        rig.setting.per_thread = attrs[i].per_thread;
        aux_rig_prepare(&rig);
        const char *name = attrs[i].events;
        const struct perf_event_attr *attr = &rig.list.events[0].attr;
        cr_expect_eq(rig.plan.kind, attrs[i].kind, "%s", name);
        cr_expect_eq(attr->config, attrs[i].config, "%s: 0x%llx", name, (unsigned long long)attr->config);
        cr_expect_eq(attr->config2, attrs[i].config2, "%s", name);
        cr_expect_eq(attr->freq, 0, "%s", name);
        cr_expect_eq(attr->sample_period, attrs[i].sample_period, "%s", name);
        cr_expect_eq(attr->sample_type, all | attrs[i].sample_type, "%s: 0x%llx", name,
                     (unsigned long long)attr->sample_type);
        cr_expect_eq(attr->aux_watermark, attrs[i].aux_watermark, "%s: %u", name, attr->aux_watermark);
        cr_expect_eq(attr->aux_sample_size, 0, "%s", name);
        aux_rig_fini(&rig);
    }
}

/* KVM traces guests as the host does unless it was told to give PT to them: pt_mode. */
Test(aux_events, guests_are_left_out_where_they_have_intel_pt_themselves)
{
    for (unsigned pt_mode = 0; pt_mode < 2; pt_mode++) {
        struct aux_rig rig;
        aux_rig_init(&rig, "intel_pt//H");
        temp_tree_write_text(&rig.tree, "module/kvm_intel/parameters/pt_mode", pt_mode ? "1\n" : "0\n");
        aux_rig_prepare(&rig);
        cr_expect_eq(rig.list.events[0].attr.exclude_guest, pt_mode);
        aux_rig_fini(&rig);
    }
}

/* ---- the list ---- */

Test(aux_events, event_comes_first_with_its_group)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,{faults,cpu-clock},{intel_pt//,cycles},instructions");
    aux_rig_prepare(&rig);
    static const struct {
        const char *name;
        size_t leader;
    } expected[] = {{"intel_pt//", 0}, {"cycles", 0}, {"cs", 2}, {"faults", 3}, {"cpu-clock", 3}, {"instructions", 5}};
    cr_assert_eq(rig.list.count, WEIR_ARRAY_COUNT(expected));
    for (size_t i = 0; i < rig.list.count; i++) {
        cr_expect_str_eq(rig.list.events[i].name, expected[i].name, "%zu: %s", i, rig.list.events[i].name);
        cr_expect_eq(rig.list.events[i].leader, expected[i].leader, "%s: %zu", expected[i].name,
                     rig.list.events[i].leader);
    }
    cr_expect_eq(rig.plan.event, 0);
    aux_rig_fini(&rig);
}

Test(aux_events, event_that_does_not_lead_its_group_stays_behind_its_leader)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,{faults,intel_pt//}");
    aux_rig_prepare(&rig);
    cr_expect_str_eq(rig.list.events[0].name, "faults");
    cr_expect_eq(rig.plan.event, 1);
    cr_expect_eq(rig.list.events[1].leader, 0);
    cr_expect_eq(rig.list.events[2].leader, 2);
    aux_rig_fini(&rig);
}

Test(aux_events, group_of_all_is_led_by_it)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,{faults,cycles},intel_pt//");
    weir_event_list_group(&rig.list);
    static const char *const expected[] = {"intel_pt//", "cs", "faults", "cycles"};
    for (size_t i = 0; i < rig.list.count; i++) {
        cr_expect_str_eq(rig.list.events[i].name, expected[i]);
        cr_expect_eq(rig.list.events[i].leader, 0);
    }
    aux_rig_fini(&rig);
}

Test(aux_events, samples_of_its_group_hold_pieces_as_terms_say)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "{intel_pt//,cs,faults/aux-sample-size=8192/,cycles/aux-sample-size=0/},cpu-clock");
    rig.options = (struct weir_aux_options){.sample = true};
    aux_rig_prepare(&rig);
    static const uint32_t expected[] = {0, 4096, 8192, 0, 0};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(expected); i++) {
        const struct perf_event_attr *attr = &rig.list.events[i].attr;
        cr_expect_eq(attr->aux_sample_size, expected[i], "%zu: %u", i, attr->aux_sample_size);
        cr_expect_eq(!!(attr->sample_type & PERF_SAMPLE_AUX), expected[i] != 0, "%zu", i);
    }
    cr_expect_eq(rig.plan.mode, WEIR_AUX_SAMPLE);
    cr_expect_eq(rig.plan.area_bytes, 8192);
    aux_rig_fini(&rig);
}

/* The term alone is enough, and takes what stands between it and the AUX event into the group. */
Test(aux_events, events_with_its_terms_join_its_group)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "faults,intel_pt//,cs,cycles/aux-sample-size=4096/,instructions,cpu-clock");
    aux_rig_prepare(&rig);
    static const size_t leaders[] = {0, 0, 0, 3, 4, 5};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(leaders); i++)
        cr_expect_eq(rig.list.events[i].leader, leaders[i], "%s", rig.list.events[i].name);
    cr_expect_str_eq(rig.list.events[3].name, "faults");
    cr_expect_eq(rig.list.events[1].attr.aux_sample_size, 0);
    cr_expect_eq(rig.list.events[2].attr.aux_sample_size, 4096);
    aux_rig_fini(&rig);

    aux_rig_init(&rig, "intel_pt//,cycles/aux-output/,{instructions,cs/aux-output/}");
    aux_rig_prepare(&rig);
    cr_expect_eq(rig.list.events[1].leader, 0);
    cr_expect_eq(rig.list.events[1].attr.aux_output, 1);
    cr_expect_eq(rig.list.events[2].leader, 2, "a group of its own is left alone");
    cr_expect_eq(rig.list.events[3].leader, 2);
    aux_rig_fini(&rig);
}

/* :S: it is the next event that samples, for the one with the area has no samples. */
Test(aux_events, actions_on_the_trace_join_its_group_and_reach_the_attrs)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "cs,intel_pt/aux-action=start-paused/,cpu-clock/aux-action=resume/,faults/aux-action=pause/");
    aux_rig_prepare(&rig);
    static const uint32_t actions[] = {WEIR_AUX_ACTION_START_PAUSED, WEIR_AUX_ACTION_RESUME, WEIR_AUX_ACTION_PAUSE, 0};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(actions); i++)
        cr_expect_eq(rig.list.events[i].attr.aux_action, actions[i], "%s", rig.list.events[i].name);
    cr_expect(rig.list.events[1].leader == 0 && rig.list.events[2].leader == 0 && rig.list.events[3].leader == 3);
    aux_rig_fini(&rig);
}

Test(aux_events, group_that_is_read_is_read_with_the_next_event)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "{intel_pt//,cycles,instructions}:S");
    aux_rig_prepare(&rig);
    const struct weir_event *events = rig.list.events;
    cr_expect_eq(events[0].attr.sample_period, 0);
    cr_expect(events[1].attr.freq && events[1].attr.sample_freq == 4000);
    cr_expect_eq(events[2].attr.sample_period, 0);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(events[i].attr.sample_type, events[1].attr.sample_type);
    cr_expect(events[1].attr.sample_type & PERF_SAMPLE_READ);
    aux_rig_fini(&rig);
}

/* ---- sizes ---- */

static const struct {
    const char *events;
    bool limited, ring_given;
    struct weir_aux_options options;
    uint64_t area, snapshot, ring;
} sizes[] = {
    {"intel_pt//", false, false, {0}, 4 * MIB, 0, 0},
    {"intel_pt//", true, false, {0}, 128 * KIB, 0, 128 * KIB},
    {"intel_pt//", true, true, {0}, 128 * KIB, 0, 0},
    {"intel_pt//", true, false, {.area_bytes = MIB}, MIB, 0, 0},
    {"intel_pt//", false, false, {.snapshot = true}, 4 * MIB, 4 * MIB, 0},
    {"intel_pt//", true, false, {.snapshot = true}, 128 * KIB, 128 * KIB, 128 * KIB},
    {"intel_pt//", true, false, {.snapshot = true, .snapshot_bytes = 5000}, 8192, 5000, 128 * KIB},
    {"intel_pt//", false, false, {.snapshot = true, .snapshot_bytes = 3 * 4096}, 4 * 4096, 3 * 4096, 0},
    {"arm_spe_0//", false, false, {.snapshot = true, .area_bytes = 65536}, 65536, 65536, 0},
    {"cs_etm//", false, false, {.area_bytes = 4096}, 4096, 0, 0},
    {"{intel_pt//,cs}", true, false, {.sample = true, .sample_bytes = 4096}, 4096, 0, 128 * KIB},
    {"{intel_pt//,cs}", false, false, {.sample = true, .sample_bytes = 61440}, 65536, 0, 0},
};

Test(aux_events, sizes_are_those_of_perf)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sizes); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, sizes[i].events);
        rig.options = sizes[i].options;
        rig.limits.cap_ipc_lock = !sizes[i].limited;
        rig.setting.ring_bytes_given = sizes[i].ring_given;
        aux_rig_prepare(&rig);
        cr_expect_eq(rig.plan.area_bytes, sizes[i].area, "%zu: %zu", i, (size_t)rig.plan.area_bytes);
        cr_expect_eq(rig.plan.snapshot_bytes, sizes[i].snapshot, "%zu", i);
        cr_expect_eq(rig.plan.data_ring_bytes_wanted, sizes[i].ring, "%zu", i);
        cr_expect_eq(rig.plan.alignment, 1);
        aux_rig_fini(&rig);
    }
}

Test(aux_events, branches_are_taken_whole)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "intel_bts//u");
    rig.setting.per_thread = true;
    rig.options = (struct weir_aux_options){.snapshot = true, .snapshot_on_exit = true};
    aux_rig_prepare(&rig);
    cr_expect_eq(rig.plan.alignment, 24);
    cr_expect(rig.plan.snapshot_on_exit);
    aux_rig_fini(&rig);
}

/* ---- what a decoder needs besides ---- */

static const struct {
    const char *events;
    bool system_wide, per_thread, no_switches, limited;
    enum weir_aux_switches switches;
    bool text_pokes;
} sides[] = {
    {"intel_pt//", true, false, false, false, WEIR_AUX_SWITCHES_RECORDED, true},
    {"intel_pt//", false, false, false, false, WEIR_AUX_SWITCHES_ALL, true},
    {"intel_pt//u", false, false, false, false, WEIR_AUX_SWITCHES_ALL, false},
    {"intel_pt//u", false, false, false, true, WEIR_AUX_SWITCHES_RECORDED, false},
    {"intel_pt//", false, false, true, false, WEIR_AUX_SWITCHES_AS_ASKED, true},
    {"intel_pt//", false, true, false, false, WEIR_AUX_SWITCHES_AS_ASKED, false},
    {"intel_pt/tsc=0/", true, false, false, false, WEIR_AUX_SWITCHES_AS_ASKED, false},
    {"arm_spe_0//", true, false, false, false, WEIR_AUX_SWITCHES_RECORDED, false},
    {"arm_spe_0//", false, true, false, false, WEIR_AUX_SWITCHES_AS_ASKED, false},
    {"cs_etm//", false, true, false, false, WEIR_AUX_SWITCHES_RECORDED, false},
    {"cs_etm//", false, true, true, false, WEIR_AUX_SWITCHES_AS_ASKED, false},
    {"intel_bts//", false, true, false, false, WEIR_AUX_SWITCHES_AS_ASKED, false},
};

Test(aux_events, side_records_are_those_of_perf)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sides); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, sides[i].events);
        rig.setting.system_wide = sides[i].system_wide;
        rig.setting.per_thread = sides[i].per_thread;
        rig.setting.no_switch_events = sides[i].no_switches;
        rig.setting.command_only = true;
        rig.limits.cap_perfmon = !sides[i].limited;
        aux_rig_prepare(&rig);
        cr_expect_eq(rig.plan.switches, sides[i].switches, "%zu", i);
        cr_expect_eq(rig.plan.text_pokes, sides[i].text_pokes, "%zu", i);
        cr_expect_str_empty(rig.notices, "%zu: %s", i, rig.notices);
        aux_rig_fini(&rig);
    }
}

Test(aux_events, switches_of_all_tasks_come_with_the_event_of_all_tasks)
{
    struct aux_rig rig;
    aux_rig_init(&rig, "intel_pt//u");
    rig.setting.system_wide = false;
    cr_assert_eq(weir_aux_events_prepare(&rig.list, &rig.options, &rig.setting, &rig.plan, &rig.err), 0);
    cr_assert_eq(weir_event_list_add_sideband(&rig.list), 0);
    cr_assert_eq(weir_event_list_add_text_pokes(&rig.list), 0);
    struct weir_event_config config = {.freq_hz = 4000, .samples = {.switch_events = true}};
    weir_aux_plan_apply(&rig.plan, &config);
    weir_event_list_configure(&rig.list, &config);
    const struct perf_event_attr *side = &rig.list.events[1].attr, *all = &rig.list.events[2].attr;
    cr_expect(!side->context_switch && side->ksymbol);
    cr_expect(all->context_switch && !all->ksymbol && !all->text_poke);
    config.text_pokes = true;
    weir_event_list_configure(&rig.list, &config);
    cr_expect(!side->context_switch && !side->ksymbol && !side->text_poke);
    cr_expect(all->context_switch && all->ksymbol && all->text_poke);
    aux_rig_fini(&rig);
}

Test(aux_events, what_is_too_small_or_not_to_be_decoded_is_told)
{
    static const struct {
        const char *events;
        struct weir_aux_options options;
        bool no_switches;
        const char *notices;
    } rows[] = {
        {"intel_pt//",
         {.snapshot = true, .snapshot_bytes = 16640},
         false,
         "intel_pt: a snapshot of 16640 bytes may be too small: decoding begins at a packet that comes each 16384 "
         "bytes\n"},
        {"intel_pt//", {.snapshot = true, .snapshot_bytes = 16641}, false, ""},
        {"{intel_pt//,cs,faults/aux-sample-size=2304/}",
         {.sample = true},
         false,
         "intel_pt: a sample's piece of 2304 bytes may be too small: decoding begins at a packet that comes each 2048 "
         "bytes\n"},
        {"{intel_pt//,cs}", {.sample = true}, false, ""},
        {"intel_pt//",
         {0},
         true,
         "intel_pt: without its times (the term tsc) or without context switches only the trace of the kernel can be "
         "decoded\n"},
        {"intel_pt//k", {0}, true, ""},
        {"intel_pt/pt=0/", {0}, false, "event intel_pt/pt=0/: there is no trace with pt=0; recording with pt=1\n"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++) {
        struct aux_rig rig;
        aux_rig_init(&rig, rows[i].events);
        rig.options = rows[i].options;
        rig.setting.no_switch_events = rows[i].no_switches;
        aux_rig_prepare(&rig);
        cr_expect_str_eq(rig.notices, rows[i].notices, "%zu: %s", i, rig.notices);
        aux_rig_fini(&rig);
    }
}
