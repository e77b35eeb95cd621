/* The plan of a recording; see recording_plan.h. Coordinator thread. */
#include "engine/plan/recording_plan.h"

#include <errno.h>
#include <limits.h>
#include <sys/utsname.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "engine/events/event_merging.h"
#include "engine/events/sample_size.h"
#include "engine/plan/record_modes.h"
#include "engine/plan/recording_plan_internal.h"
#include "engine/plan/stamped_name.h"
#include "topology/plan_housekeeping.h"
#include "unwind/machine.h"

bool weir_recording_plan_has_tasks(const struct weir_record_targets *targets)
{
    return targets->spec.kind != WEIR_TARGET_ALL;
}

bool weir_recording_plan_is_system_wide(const struct weir_record_targets *targets)
{
    return targets->system_wide || (targets->cpus && !weir_recording_plan_has_tasks(targets));
}

/* ---- CPUs and readers ---- */

static int choose_cpus(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_cpuset *online = weir_topology_online(plan->machine->topology);
    const struct weir_cpuset *asked = plan->options->targets.cpus;
    bool per_thread = weir_recording_plan_per_thread(plan);
    if (!asked)
        return weir_cpuset_copy(&plan->cpus, online);
    WEIR_CPUSET_FOREACH(cpu, asked) {
        if (!weir_cpuset_has(online, (unsigned)cpu)) {
            char list[128];
            weir_cpuset_format(online, list, sizeof(list));
            weir_error_set(err, -ENODEV, "cpu %d is not online", cpu);
            weir_error_hint(err, "online CPUs: %s", list);
            return -ENODEV;
        }
    }
    int result = weir_cpuset_copy(&plan->cpus, asked);
    /* Tasks move between CPUs, and map code wherever they run. */
    return result < 0 || per_thread ? result : weir_cpuset_without(&plan->side_cpus, online, asked);
}

static int place_readers(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    const struct weir_plan_housekeeping housekeeping = {
        .reader_cpus = options->readers.cpus,
        .quiet = &plan->machine->quiet_cpus,
    };
    return weir_plan_make_with_housekeeping(&plan->placement, &plan->housekeeping_cpus, plan->machine->topology,
                                            &plan->cpus, options->readers.threads_spec, &housekeeping, options->notices,
                                            err);
}

/* ---- AUX ---- */

static int choose_aux(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    bool system_wide = plan->config.system_wide;
    const struct weir_aux_setting setting = {
        .limits = &plan->machine->limits,
        .cpus = &plan->cpus,
        .per_thread = weir_recording_plan_per_thread(plan),
        .system_wide = system_wide,
        .command_only = !system_wide && !weir_recording_plan_has_tasks(&options->targets) && !options->targets.cpus,
        .clock_given = options->samples.clock.given,
        .no_switch_events = options->no_switch_events,
        .ring_bytes_given = options->memory.ring_bytes > 0,
        .notices = options->notices,
        .sysfs_root = plan->machine->sysfs_root,
    };
    return weir_aux_events_prepare(options->events, &options->aux, &setting, &plan->aux, err);
}

/* ---- files ---- */

static int check_file_names(const struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    bool rotates = weir_modes_rotate(&plan->modes);
    if (!rotates && !weir_modes_have(&plan->modes, WEIR_MODE_TIME_NAMES))
        return 0;
    /* A name that is too long would fail at the first rotation, or at the end. */
    return weir_stamped_name_check(options->output.path, rotates ? WEIR_HIDING_PREFIX : "", err);
}

/* ---- settings of events ---- */

/* kernel.perf_event_max_sample_rate is the limit of -F. Above it, weir warns and lowers the frequency, or fails with
 * --strict-freq, as perf does. "max" is the limit. */
static int choose_freq_hz(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    plan->config.freq_hz = 0;
    if (options->rate.period)
        return 0;
    uint64_t most = plan->machine->limits.max_sample_rate_hz;
    uint64_t freq_hz = options->rate.freq_hz ? options->rate.freq_hz : WEIR_RECORD_FREQ_DEFAULT_HZ;
    if (freq_hz == WEIR_RECORD_FREQ_MAX)
        freq_hz = most;
    if (freq_hz > most && options->rate.strict) {
        weir_error_set(err, -EINVAL, "maximum frequency rate (%llu Hz) exceeded", (unsigned long long)most);
        weir_error_hint(err, "kernel.perf_event_max_sample_rate is %llu: a lower -F, or %s", (unsigned long long)most,
                        weir_remedy(WEIR_REMEDY_MAX_SAMPLE_RATE, (int64_t)freq_hz, (char[WEIR_REMEDY_BYTES]){0}));
        return -EINVAL;
    }
    if (freq_hz > most) {
        weir_notice(options->notices, WEIR_NOTICE_WARNING,
                    "maximum frequency rate (%llu Hz) exceeded, throttling from %llu Hz to %llu Hz; the limit is "
                    "kernel.perf_event_max_sample_rate",
                    (unsigned long long)most, (unsigned long long)freq_hz, (unsigned long long)most);
        freq_hz = most;
    }
    plan->config.freq_hz = freq_hz;
    return 0;
}

static int configure(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    struct weir_event_config *config = &plan->config;
    config->period = options->rate.period;
    config->period_or_freq_given = options->rate.period || options->rate.freq_hz;
    config->samples = options->samples;
    config->samples.intr_regs |= plan->machine->interrupt_registers;
    config->samples.user_regs_extended = plan->machine->user_registers;
    if (options->samples.user_regs_all)
        config->samples.user_regs |= plan->machine->user_registers;
    config->build_ids_in_maps = options->build_ids.in_maps;
    config->text_pokes = options->output.kcore;
    config->guests = weir_guests_are_given(&options->guests);
    config->inherit = !options->targets.no_inherit && !weir_recording_plan_per_thread(plan);
    config->inherit_reads = options->targets.inherit_reads;
    config->inherit_stat = options->targets.inherit_stat;
    config->starts_disabled = !weir_schedule_starts_enabled(&options->schedule);
    config->enable_on_exec = !config->system_wide && !weir_recording_plan_has_tasks(&options->targets);
    if (options->all_kernel || options->all_user)
        weir_event_list_limit_to(options->events, options->all_kernel ? WEIR_EVENT_SIDE_KERNEL : WEIR_EVENT_SIDE_USER);
    weir_event_list_tell_limits(options->events, config, options->notices);
    return choose_freq_hz(plan, err);
}

/* ---- impossible events ---- */

/* Refuses inherited events and events of some CPUs with --per-thread. Of an inherited event mmap(2) would refuse the
 * ring without a reason. An event of some CPUs would count on all CPUs. */
static int check_per_thread(const struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_event_list *events = plan->options->events;
    for (size_t i = 0; weir_recording_plan_per_thread(plan) && i < events->count; i++) {
        const struct weir_event_terms *terms = &events->events[i].terms;
        if (terms->given & WEIR_TERM_CPU) {
            weir_error_set(err, -EINVAL, "event '%s' cannot be of some CPUs only with --per-thread",
                           events->events[i].name);
            weir_error_hint(err, "a task's ring is for that task on all CPUs: leave out the term cpu, or --per-thread");
            return -EINVAL;
        }
        if (!(terms->given & WEIR_TERM_INHERIT) || !terms->inherit)
            continue;
        weir_error_set(err, -EINVAL, "event '%s' cannot be inherited with --per-thread", events->events[i].name);
        weir_error_hint(err, "a task's ring is for that task alone: leave out the term inherit, or --per-thread");
        return -EINVAL;
    }
    return 0;
}

/* Refuses outputs of BPF programs unless whole CPUs are recorded. The kernel hands the output of a program to the event
 * that is active on its CPU. An event of a task is not active while another task, or a child, runs there
 * (bpf_perf_event_output(), kernel/trace/bpf_trace.c). */
static int check_outputs_of_programs(const struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_event_list *list = plan->options->events;
    for (size_t i = 0; !plan->config.system_wide && i < list->count; i++) {
        if (!list->events[i].bpf)
            continue;
        weir_error_set(err, -EINVAL, "output '%s' of BPF programs is of whole CPUs, not of tasks",
                       list->events[i].name);
        weir_error_hint(err, "record them with -a, or some CPUs with -C");
        return -EINVAL;
    }
    return 0;
}

/* ---- events of weir's own ---- */

static int add_own_events(struct weir_recording_plan *plan, struct weir_error *err)
{
    struct weir_event_list *events = plan->options->events;
    int result = weir_modes_have(&plan->modes, WEIR_MODE_OFF_CPU) ? weir_event_list_add_off_cpu(events) : 0;
    if (result == 0)
        result = weir_event_list_add_sideband(events);
    if (result == 0 && weir_modes_have(&plan->modes, WEIR_MODE_DEFER))
        result = weir_event_list_add_deferred(events);
    if (result == 0 && weir_modes_need_event_of_all_tasks(&plan->modes))
        result = weir_event_list_add_text_pokes(events);
    return result < 0 ? weir_error_set_errno(err, result, "cannot add events") : 0;
}

/* ---- merged samples ---- */

static int check_merging(struct weir_recording_plan *plan, struct weir_error *err)
{
    weir_event_list_configure(plan->options->events, &plan->config); /* again when the events are opened */
    return weir_event_list_check_merging(plan->options->events, &plan->config, err);
}

/* ---- unwinding ---- */

/* --call-graph dwarf,unwind. Registers that the user asks for would go together with those for unwinding. */
static int choose_unwinding(struct weir_recording_plan *plan, struct weir_error *err)
{
    struct utsname machine;
    if (!plan->options->samples.call_graph.unwinds)
        return 0;
    if (plan->options->samples.user_regs || plan->options->samples.user_regs_all) {
        weir_error_set(err, -EINVAL, "option '--user-regs' cannot be used with '--call-graph=dwarf,unwind'");
        weir_error_hint(err, "registers go with the stacks that are unwound: --call-graph=dwarf keeps both");
        return -EINVAL;
    }
    const char *name = uname(&machine) == 0 ? machine.machine : "this machine";
    plan->unwinds = weir_unwind_machine_find(name);
    if (plan->unwinds)
        return 0;
    weir_error_set(err, -ENOTSUP, "weir does not unwind stacks of %s", name);
    weir_error_hint(err, "--call-graph=dwarf leaves that to perf report");
    return -ENOTSUP;
}

/* ---- modes ---- */

static void set_mode(struct weir_recording_plan *plan, enum weir_mode mode, bool on)
{
    if (on)
        weir_modes_add(&plan->modes, mode);
    else
        weir_modes_remove(&plan->modes, mode);
}

/* Sets the modes of the targets, on which all later choices depend. */
static void choose_target_modes(struct weir_recording_plan *plan)
{
    bool system_wide = weir_recording_plan_is_system_wide(&plan->options->targets);
    plan->modes = weir_record_modes(plan->options);
    plan->config.system_wide = system_wide;
    set_mode(plan, WEIR_MODE_SYSTEM_WIDE, system_wide);
    set_mode(plan, WEIR_MODE_PER_THREAD, plan->options->targets.per_thread && !system_wide);
}

/* Sets the modes of the events, once the AUX event is ready. Returns 0, or -EINVAL with err: a rule refuses the
 * modes. */
static int choose_event_modes(struct weir_recording_plan *plan, const bool *without_ids, struct weir_error *err)
{
    const struct weir_event_list *events = plan->options->events;
    const struct weir_event *aux = weir_aux_events_find(events);
    int overwrite = weir_event_list_overwrites(events, plan->options->memory.overwrite, err);
    if (overwrite < 0)
        return overwrite;
    plan->config.overwrite = overwrite;
    set_mode(plan, WEIR_MODE_OVERWRITE, overwrite);
    set_mode(plan, WEIR_MODE_AUX, plan->aux.mode != WEIR_AUX_NONE);
    bool adds_events =
        weir_modes_have(&plan->modes, WEIR_MODE_OFF_CPU) || weir_modes_have(&plan->modes, WEIR_MODE_DEFER);
    set_mode(plan, WEIR_MODE_SEVERAL_EVENTS, events->count > 1 || adds_events);
    set_mode(plan, WEIR_MODE_READ_COUNTS, events->count > 0 && events->events[0].sample_read);
    set_mode(plan, WEIR_MODE_CONTINUES_WITH_IDS, without_ids && !*without_ids);
    set_mode(plan, WEIR_MODE_CONTINUES_WITHOUT_IDS, without_ids && *without_ids);
    return weir_modes_check(&plan->modes, aux ? aux->name : NULL, err);
}

/* ---- the plan ---- */

int weir_recording_plan_make(struct weir_recording_plan *plan, const struct weir_record_options *options,
                             const struct weir_machine_facts *machine, const bool *without_ids, struct weir_error *err)
{
    plan->options = options;
    plan->machine = machine;
    choose_target_modes(plan);
    int result = choose_unwinding(plan, err);
    if (result == 0)
        result = check_outputs_of_programs(plan, err);
    if (result == 0)
        result = choose_cpus(plan, err);
    if (result == 0)
        result = place_readers(plan, err);
    if (result == 0)
        result = choose_aux(plan, err);
    if (result < 0)
        return result;
    result = choose_event_modes(plan, without_ids, err);
    if (result == 0)
        result = weir_recording_plan_choose_sizes(plan, err);
    if (result == 0)
        result = check_file_names(plan, err);
    if (result == 0)
        result = check_per_thread(plan, err);
    if (result == 0)
        result = configure(plan, err);
    if (result < 0)
        return result;
    weir_aux_plan_apply(&plan->aux, &plan->config);
    set_mode(plan, WEIR_MODE_ALL_TASKS, plan->config.all_switches || plan->config.text_pokes);
    plan->config.without_ids = weir_modes_leave_out_ids(&plan->modes);
    result = add_own_events(plan, err);
    return result == 0 && options->samples.aggregate.interval_ns > 0 ? check_merging(plan, err) : result;
}

int weir_recording_plan_fit_tasks(struct weir_recording_plan *plan, size_t tasks, struct weir_error *err)
{
    weir_plan_keep(&plan->placement, (unsigned)weir_min_u64(tasks, UINT_MAX));
    plan->tasks = tasks;
    return weir_recording_plan_choose_sizes(plan, err); /* for the remaining readers */
}

void weir_recording_plan_fini(struct weir_recording_plan *plan)
{
    if (!plan)
        return;
    weir_cpuset_fini(&plan->housekeeping_cpus);
    weir_plan_fini(&plan->placement);
    weir_cpuset_fini(&plan->side_cpus);
    weir_cpuset_fini(&plan->cpus);
    *plan = (struct weir_recording_plan){0};
}
