/*
 * Finds the AUX event and its group, and chooses the sizes of its area. Main thread, set-up. Sources: aux_events.h.
 */
#include "engine/aux/aux_events.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bits.h"
#include "engine/aux/aux_config.h"
#include "engine/events/pmu.h"

#define KIB                  UINT64_C(1024)
#define AREA_BYTES           (4096 * KIB) /* by default; perf's */
#define AREA_BYTES_LIMITED   (128 * KIB)  /* for a user whose rings count against a limit; perf's */
#define RING_BYTES_LIMITED   (128 * KIB)  /* for the same user; perf has 256 KiB, but no sideband ring */
#define AREA_BYTES_LEAST     (8 * KIB)
#define SNAPSHOT_BYTES_LEAST (4 * KIB)
#define SAMPLE_BYTES         4096u
#define PSB_MARGIN_BYTES     256
#define BTS_ENTRY_BYTES      24

#define HINT_ACTION                                                                                              \
    "-e '{intel_pt/aux-action=start-paused/k,syscalls:sys_enter_read/aux-action=resume/,syscalls:sys_exit_read/" \
    "aux-action=pause/}'"
#define HINT_GROUP "-e '{intel_pt//,cycles}': an AUX area event that leads those whose samples hold its trace"

/* As in -e: "intel_pt". */
static const char *kind_name(enum weir_aux_kind kind)
{
    static const char *const names[] = {
        [WEIR_AUX_KIND_NONE] = "none",           [WEIR_AUX_KIND_INTEL_PT] = "intel_pt",
        [WEIR_AUX_KIND_INTEL_BTS] = "intel_bts", [WEIR_AUX_KIND_ARM_SPE] = "arm_spe",
        [WEIR_AUX_KIND_CS_ETM] = "cs_etm",
    };
    return names[kind];
}

static bool is_aux(const struct weir_event *event)
{
    return event->aux != WEIR_AUX_KIND_NONE;
}

static bool has_term(const struct weir_event *event, enum weir_event_term term)
{
    return event->terms.given & term;
}

/* The index of the first AUX event; count: there is none. */
static size_t find(const struct weir_event_list *list)
{
    size_t index = 0;
    while (index < list->count && !is_aux(&list->events[index]))
        index++;
    return index;
}

const struct weir_event *weir_aux_events_find(const struct weir_event_list *list)
{
    size_t index = find(list);
    return index < list->count ? &list->events[index] : NULL;
}

/* ---- options without an event, and events that do not go together ---- */

static int check_action(const struct weir_event_list *list, size_t index, struct weir_error *err)
{
    const struct weir_event *event = &list->events[index];
    bool of_area = event->terms.aux_action == WEIR_AUX_ACTION_START_PAUSED;
    const char *what = NULL;
    if (of_area && !is_aux(event))
        what = "start-paused is for the AUX area event itself";
    else if (!of_area && is_aux(event))
        what = "pause and resume are for the events that it leads";
    else if (!is_aux(&list->events[event->leader]))
        what = "no AUX area event leads its group";
    if (!what)
        return 0;
    weir_error_set(err, -EINVAL, "event %s cannot have aux-action: %s", event->name, what);
    weir_error_hint(err, HINT_ACTION);
    return -EINVAL;
}

static int check_without(const struct weir_event_list *list, const struct weir_aux_options *options,
                         struct weir_error *err)
{
    if (options->snapshot) {
        weir_error_set(err, -EINVAL, "option '-S' needs an AUX area event: there is no trace to take a snapshot of");
        weir_error_hint(err, "-e intel_pt// or another one; -M keeps the samples of any event in memory");
        return -EINVAL;
    }
    if (options->sample) {
        weir_error_set(err, -EINVAL, "option '--aux-sample' needs an AUX area event: there is no trace to sample");
        weir_error_hint(err, HINT_GROUP);
        return -EINVAL;
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (has_term(event, WEIR_TERM_AUX_ACTION))
            return check_action(list, i, err);
        if (!has_term(event, WEIR_TERM_AUX_SAMPLE_SIZE) || !event->terms.aux_sample_bytes)
            continue;
        weir_error_set(err, -EINVAL, "event '%s': there is no AUX area event to sample", event->name);
        weir_error_hint(err, HINT_GROUP);
        return -EINVAL;
    }
    return 0;
}

static int check_alone(const struct weir_event_list *list, size_t index, struct weir_error *err)
{
    const struct weir_event *event = &list->events[index];
    for (size_t i = index + 1; i < list->count; i++) {
        const struct weir_event *other = &list->events[i];
        if (!is_aux(other))
            continue;
        weir_error_set(err, -EINVAL, "events %s and %s both have an AUX area, and only one can be recorded at a time",
                       event->name, other->name);
        if (event->aux == WEIR_AUX_KIND_ARM_SPE && other->aux == WEIR_AUX_KIND_ARM_SPE)
            weir_error_hint(err, "-e %s/.../ names one of them", event->pmu_name);
        else
            weir_error_hint(err, "leave out one of them");
        return -EINVAL;
    }
    return 0;
}

int weir_aux_events_check(const struct weir_event_list *list, const struct weir_aux_options *options,
                          struct weir_error *err)
{
    size_t index = find(list);
    return index == list->count ? check_without(list, options, err) : check_alone(list, index, err);
}

static int check_mode(const struct weir_event *event, const struct weir_aux_plan *plan,
                      const struct weir_aux_setting *setting, struct weir_error *err)
{
    if (setting->clock_given && (event->aux == WEIR_AUX_KIND_INTEL_PT || event->aux == WEIR_AUX_KIND_CS_ETM)) {
        weir_error_set(err, -EINVAL, "cannot use -k with %s", event->name);
        weir_error_hint(err, "decoders need the default clock of perf events");
        return -EINVAL;
    }
    if (event->aux != WEIR_AUX_KIND_INTEL_BTS)
        return 0;
    if (plan->mode == WEIR_AUX_SAMPLE) {
        weir_error_set(err, -EINVAL, "intel_bts cannot put its trace into samples");
        weir_error_hint(err, "leave out --aux-sample and aux-sample-size; intel_pt can");
        return -EINVAL;
    }
    if (!setting->per_thread) {
        weir_error_set(err, -EINVAL, "intel_bts cannot trace whole CPUs, only tasks");
        weir_error_hint(err, "--per-thread, with a command, -p or -t");
        return -EINVAL;
    }
    return 0;
}

/* ---- events that use the area ---- */

static bool has_members(const struct weir_event_list *list, size_t leader)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i != leader && list->events[i].leader == leader)
            return true;
    }
    return false;
}

/* Puts the events up to `last` into the AUX event's group; none, if one of them is in another group. */
static void join(struct weir_event_list *list, size_t aux, size_t last)
{
    if (list->events[aux].leader != aux)
        return;
    for (size_t i = aux + 1; i <= last; i++) {
        size_t leader = list->events[i].leader;
        if (leader != aux && (leader != i || has_members(list, i)))
            return;
    }
    for (size_t i = aux + 1; i <= last; i++)
        list->events[i].leader = aux;
}

static void join_those_with(struct weir_event_list *list, size_t aux, enum weir_event_term term)
{
    for (size_t i = aux + 1; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (has_term(event, term) && (term != WEIR_TERM_AUX_SAMPLE_SIZE || event->terms.aux_sample_bytes))
            join(list, aux, i);
    }
}

static int check_sampler(const struct weir_event_list *list, size_t index, struct weir_error *err)
{
    const struct weir_event *event = &list->events[index];
    const char *what = NULL, *hint = NULL;
    if (is_aux(event)) {
        what = "it has that area itself";
        hint = "aux-sample-size is for the events that it leads";
    } else if (event->leader == index) {
        what = "it leads a group, or stands alone";
        hint = "-e '{intel_pt//,cycles}': behind the AUX area event";
    } else if (!is_aux(&list->events[event->leader])) {
        what = "no AUX area event leads its group";
        hint = "-e '{intel_pt//,cycles}': the AUX area event first";
    } else if (event->aux_attr.sample_bytes > WEIR_AUX_SAMPLE_BYTES_MAX) {
        weir_error_set(err, -EINVAL, "event %s: samples cannot hold %" PRIu32 " bytes of an AUX area", event->name,
                       event->aux_attr.sample_bytes);
        weir_error_hint(err, "at most %u: a sample is at most 64 KiB as a whole", WEIR_AUX_SAMPLE_BYTES_MAX);
        return -EINVAL;
    }
    if (!what)
        return 0;
    weir_error_set(err, -EINVAL, "event %s cannot sample an AUX area: %s", event->name, what);
    weir_error_hint(err, "%s", hint);
    return -EINVAL;
}

/* Sets the sample size of the events whose samples hold pieces of the area. *any: whether there is one. */
static int choose_samplers(struct weir_event_list *list, size_t aux, const struct weir_aux_options *options, bool *any,
                           struct weir_error *err)
{
    *any = false;
    uint32_t bytes = options->sample_bytes ? options->sample_bytes : SAMPLE_BYTES;
    for (size_t i = 0; i < list->count; i++) {
        struct weir_event *event = &list->events[i];
        bool is_led = event->leader != i && is_aux(&list->events[event->leader]);
        event->aux_attr.sample_bytes = options->sample && is_led ? bytes : 0;
        if (has_term(event, WEIR_TERM_AUX_SAMPLE_SIZE))
            event->aux_attr.sample_bytes = event->terms.aux_sample_bytes;
    }
    join_those_with(list, aux, WEIR_TERM_AUX_SAMPLE_SIZE);
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].aux_attr.sample_bytes == 0)
            continue;
        *any = true;
        int result = check_sampler(list, i, err);
        if (result < 0)
            return result;
    }
    if (*any || !options->sample)
        return 0;
    weir_error_set(err, -EINVAL, "--aux-sample: event %s leads no other events, whose samples could hold its trace",
                   list->events[aux].name);
    weir_error_hint(err, "-e '{%s,cycles}'", list->events[aux].name);
    return -EINVAL;
}

/* Sets which events pause and resume the trace, and whether it starts paused. */
static int choose_actions(struct weir_event_list *list, size_t aux, struct weir_error *err)
{
    join_those_with(list, aux, WEIR_TERM_AUX_ACTION);
    int result = 0;
    for (size_t i = 0; result == 0 && i < list->count; i++) {
        struct weir_event *event = &list->events[i];
        event->aux_attr.action = has_term(event, WEIR_TERM_AUX_ACTION) ? event->terms.aux_action : 0;
        if (event->aux_attr.action)
            result = check_action(list, i, err);
    }
    return result;
}

static int choose_mode(struct weir_event_list *list, size_t aux, const struct weir_aux_options *options,
                       struct weir_aux_plan *plan, struct weir_error *err)
{
    bool samples;
    int result = choose_samplers(list, aux, options, &samples, err);
    if (result < 0)
        return result;
    join_those_with(list, aux, WEIR_TERM_AUX_OUTPUT);
    result = choose_actions(list, aux, err);
    if (result < 0)
        return result;
    if (options->snapshot && samples) {
        weir_error_set(err, -EINVAL, "-S cannot be used with --aux-sample, nor with the term aux-sample-size");
        weir_error_hint(err, "-S takes the newest trace at a trigger, --aux-sample with each sample");
        return -EINVAL;
    }
    plan->mode = samples ? WEIR_AUX_SAMPLE : options->snapshot ? WEIR_AUX_SNAPSHOT : WEIR_AUX_FULL;
    return 0;
}

/* ---- sizes ---- */

static uint64_t area_for(uint64_t bytes, const struct weir_aux_setting *setting)
{
    return weir_round_up_power_of_two(weir_align_up(bytes, setting->limits->page_bytes));
}

/* The smallest and largest sample size among the events whose samples hold pieces of the area. */
static void range_of_samples(const struct weir_event_list *list, uint32_t *least, uint32_t *most)
{
    *least = UINT32_MAX;
    *most = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint32_t bytes = list->events[i].aux_attr.sample_bytes;
        if (bytes && bytes < *least)
            *least = bytes;
        if (bytes > *most)
            *most = bytes;
    }
}

static void choose_area(const struct weir_aux_options *options, const struct weir_aux_setting *setting, uint64_t wanted,
                        struct weir_aux_plan *plan)
{
    bool is_limited = !weir_kernel_limits_rings_are_free(setting->limits);
    plan->area_bytes = options->area_bytes;
    if (options->area_bytes)
        return;
    plan->area_bytes = wanted ? area_for(wanted, setting) : is_limited ? AREA_BYTES_LIMITED : AREA_BYTES;
    if (is_limited && !setting->ring_bytes_given)
        plan->data_ring_bytes_wanted = RING_BYTES_LIMITED;
}

static int check_area(enum weir_aux_kind kind, const struct weir_aux_plan *plan, uint64_t wanted,
                      struct weir_error *err)
{
    if (wanted > plan->area_bytes) {
        weir_error_set(err, -EINVAL, "%s of %" PRIu64 " bytes cannot be greater than the AUX area of %" PRIu64 " bytes",
                       plan->mode == WEIR_AUX_SNAPSHOT ? "a snapshot" : "a sample's piece", wanted, plan->area_bytes);
        weir_error_hint(err, "-m ,SIZE sets the area; without it, weir chooses it");
        return -EINVAL;
    }
    uint64_t least = AREA_BYTES_LEAST;
    if (kind == WEIR_AUX_KIND_CS_ETM)
        least = 0;
    else if (kind != WEIR_AUX_KIND_ARM_SPE && plan->mode != WEIR_AUX_FULL)
        least = SNAPSHOT_BYTES_LEAST;
    if (plan->area_bytes >= least)
        return 0;
    weir_error_set(err, -EINVAL, "an AUX area of %" PRIu64 " bytes is too small for %s", plan->area_bytes,
                   kind_name(kind));
    weir_error_hint(err, "use at least -m ,%" PRIu64 "K", least / KIB);
    return -EINVAL;
}

/* A decoder begins at certain packets: a piece without one cannot be decoded. */
static void tell_small(const struct weir_aux_plan *plan, uint64_t bytes, uint64_t psb_bytes,
                       const struct weir_notice_sink *notices)
{
    if (bytes <= psb_bytes + PSB_MARGIN_BYTES)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "intel_pt: %s of %" PRIu64 " bytes may be too small: decoding begins at a packet that comes each "
                    "%" PRIu64 " bytes",
                    plan->mode == WEIR_AUX_SNAPSHOT ? "a snapshot" : "a sample's piece", bytes, psb_bytes);
}

/* The bytes of an area that a snapshot or a sample takes at once; 0: all. */
static uint64_t wanted_of(const struct weir_event_list *list, const struct weir_event *event,
                          const struct weir_aux_options *options, const struct weir_aux_plan *plan)
{
    uint32_t least, most;
    range_of_samples(list, &least, &most);
    if (plan->mode == WEIR_AUX_SNAPSHOT)
        return options->snapshot_bytes;
    return plan->mode == WEIR_AUX_SAMPLE && event->aux == WEIR_AUX_KIND_INTEL_PT ? most : 0;
}

static int choose_sizes(const struct weir_event_list *list, const struct weir_event *event,
                        const struct weir_aux_options *options, const struct weir_aux_setting *setting,
                        struct weir_aux_plan *plan, struct weir_error *err)
{
    uint64_t wanted = wanted_of(list, event, options, plan);
    choose_area(options, setting, wanted, plan);
    if (plan->mode == WEIR_AUX_SNAPSHOT) {
        plan->snapshot_bytes = wanted ? wanted : plan->area_bytes;
        plan->snapshot_on_exit = options->snapshot_on_exit;
    }
    plan->alignment = event->aux == WEIR_AUX_KIND_INTEL_BTS ? BTS_ENTRY_BYTES : 1;
    return check_area(event->aux, plan, wanted, err);
}

/* ---- side records ---- */

static bool may_record_cpus(const struct weir_kernel_limits *limits)
{
    return limits->cap_perfmon || limits->perf_event_paranoid < 1;
}

static void choose_side_records(const struct weir_event *event, const struct weir_pmu *pmu,
                                const struct weir_aux_setting *setting, struct weir_aux_plan *plan)
{
    bool wants_switches = !setting->no_switch_events;
    if (event->aux == WEIR_AUX_KIND_CS_ETM && wants_switches)
        plan->switches = WEIR_AUX_SWITCHES_RECORDED;
    if (setting->per_thread)
        return;
    if (event->aux == WEIR_AUX_KIND_ARM_SPE && wants_switches)
        plan->switches = WEIR_AUX_SWITCHES_RECORDED;
    bool has_times = event->attr.config & weir_pmu_format_bits(pmu, "tsc");
    if (event->aux != WEIR_AUX_KIND_INTEL_PT || !has_times)
        return;
    bool may_see_all = may_record_cpus(setting->limits);
    if (wants_switches)
        plan->switches = !setting->system_wide && may_see_all ? WEIR_AUX_SWITCHES_ALL : WEIR_AUX_SWITCHES_RECORDED;
    plan->text_pokes = may_see_all && !event->attr.exclude_kernel;
}

void weir_aux_plan_apply(const struct weir_aux_plan *plan, struct weir_event_config *config)
{
    if (plan->switches != WEIR_AUX_SWITCHES_AS_ASKED)
        config->samples.switch_events = plan->switches == WEIR_AUX_SWITCHES_RECORDED;
    config->all_switches = plan->switches == WEIR_AUX_SWITCHES_ALL;
    config->text_pokes |= plan->text_pokes;
}

/* ---- all ---- */

static void tell_limits(const struct weir_event_list *list, const struct weir_event *event,
                        const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                        const struct weir_aux_setting *setting, const struct weir_aux_plan *plan)
{
    if (event->aux != WEIR_AUX_KIND_INTEL_PT)
        return;
    uint64_t psb_bytes = weir_aux_config_psb_bytes(event, pmus, pmu);
    uint32_t least, most;
    range_of_samples(list, &least, &most);
    if (plan->mode == WEIR_AUX_SNAPSHOT)
        tell_small(plan, plan->snapshot_bytes, psb_bytes, setting->notices);
    else if (plan->mode == WEIR_AUX_SAMPLE)
        tell_small(plan, least, psb_bytes, setting->notices);
    if (plan->switches == WEIR_AUX_SWITCHES_AS_ASKED && !setting->per_thread && !setting->command_only &&
        !event->attr.exclude_user)
        weir_notice(setting->notices, WEIR_NOTICE_WARNING,
                    "intel_pt: without its times (the term tsc) or without context switches only the trace of the "
                    "kernel can be decoded");
}

/* With the PMUs of the machine. */
static int prepare(struct weir_event_list *list, const struct weir_pmu_list *pmus,
                   const struct weir_aux_options *options, const struct weir_aux_setting *setting,
                   struct weir_aux_plan *plan, struct weir_error *err)
{
    struct weir_event *event = &list->events[plan->event];
    struct weir_pmu *pmu = weir_pmu_find_type(pmus, event->attr.type);
    if (!pmu)
        return weir_error_set(err, -ENODEV, "the PMU of event %s has gone", event->name);
    int result = weir_pmu_describe(pmus, pmu);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read what PMU %s has", pmu->name);
    result = choose_sizes(list, event, options, setting, plan, err);
    if (result == 0)
        result = weir_aux_config_complete(event, pmus, pmu, plan, setting, err);
    if (result < 0)
        return result;
    choose_side_records(event, pmu, setting, plan);
    tell_limits(list, event, pmus, pmu, setting, plan);
    return 0;
}

int weir_aux_events_prepare(struct weir_event_list *list, const struct weir_aux_options *options,
                            const struct weir_aux_setting *setting, struct weir_aux_plan *plan, struct weir_error *err)
{
    *plan = (struct weir_aux_plan){.event = find(list)};
    int result = weir_aux_events_check(list, options, err);
    if (result < 0 || plan->event == list->count)
        return result;
    plan->kind = list->events[plan->event].aux;
    result = choose_mode(list, plan->event, options, plan, err);
    if (result == 0)
        result = check_mode(&list->events[plan->event], plan, setting, err);
    if (result < 0)
        return result;
    weir_event_list_to_front(list, plan->event);
    plan->event = find(list);

    struct weir_pmu_list pmus = WEIR_PMU_LIST_INIT;
    result = weir_pmu_list_read(&pmus, setting->sysfs_root);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read the list of PMUs");
    result = prepare(list, &pmus, options, setting, plan, err);
    weir_pmu_list_fini(&pmus);
    return result;
}
