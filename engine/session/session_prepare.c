/*
 * What a recording needs before any event is open, and has for a dry run: topology, CPUs, plan, sizes of rings and
 * pool, frequency, and what is asked of each event. Coordinator thread. Nothing on disk is changed.
 */
#include "engine/session/session.h"

#include <errno.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "engine/events/registers.h"

#define MACHINE_FOR_CGROUP 8 /* memory of a machine that gives as much to a recording as one of its cgroups does */

static int choose_cpus(struct weir_session *session, struct weir_error *err)
{
    const struct weir_cpuset *online = weir_topology_online(session->topology);
    const struct weir_cpuset *asked = session->options->cpus;
    if (!asked)
        return weir_cpuset_copy(&session->cpus, online);
    WEIR_CPUSET_FOREACH(cpu, asked) {
        if (!weir_cpuset_has(online, (unsigned)cpu)) {
            char list[128];
            weir_cpuset_format(online, list, sizeof(list));
            weir_error_set(err, -ENODEV, "cpu %d is not online", cpu);
            weir_error_hint(err, "online CPUs: %s", list);
            return -ENODEV;
        }
    }
    return weir_cpuset_copy(&session->cpus, asked);
}

void weir_session_choose_sizes(struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    uint64_t memory = weir_topology_memory_bytes(session->topology);
    unsigned places = weir_cpuset_count(&session->cpus);
    struct weir_kernel_limits limits = session->limits;
    if (session->per_thread && session->targets.count > 0) {
        /* What the kernel allows for each CPU goes to the tasks instead. */
        unsigned cpus = weir_cpuset_count(weir_topology_online(session->topology));
        places = (unsigned)session->targets.count;
        limits.mlock_kb = weir_min_u64(limits.mlock_kb * cpus / places, limits.mlock_kb);
    }
    struct weir_ring_sizes sizes = weir_ring_bytes_choose(&limits, memory, places);
    session->ring_bytes = options->ring_bytes ? options->ring_bytes : sizes.data_bytes;
    if (options->ring_bytes == 0 && session->aux.data_ring_bytes_wanted > 0)
        session->ring_bytes = weir_min_u64(session->ring_bytes, session->aux.data_ring_bytes_wanted);
    session->sideband_ring_bytes = sizes.sideband_bytes; /* -m is for the samples: tasks and maps need their own room */
    bool has_switches = options->samples.switch_events || session->aux.switches != WEIR_AUX_SWITCHES_AS_ASKED;
    if (has_switches && weir_kernel_limits_rings_are_free(&session->limits))
        session->sideband_ring_bytes = session->ring_bytes; /* as many of them as there are samples, or more */
    session->grow_pool = options->buffer_bytes == 0;
    /* A cgroup is there for what runs in it: as much of the pool as a machine gives a thirty-second part for, it gives
     * a quarter. */
    bool is_limited = session->memory_limit.bytes < memory / MACHINE_FOR_CGROUP;
    uint64_t spare = is_limited ? session->memory_limit.bytes * MACHINE_FOR_CGROUP : memory;
    session->buffer_bytes =
        options->buffer_bytes ? options->buffer_bytes : weir_pool_default_bytes(spare, session->plan.reader_count);
}

/* kernel.perf_event_max_sample_rate bounds -F: as perf, warn and lower, or fail; "max" is that bound. */
static int choose_freq_hz(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    session->config.freq_hz = 0;
    if (options->period)
        return 0;
    uint64_t most = session->limits.max_sample_rate_hz;
    uint64_t freq_hz = options->freq_hz ? options->freq_hz : WEIR_RECORD_FREQ_DEFAULT_HZ;
    if (freq_hz == WEIR_RECORD_FREQ_MAX)
        freq_hz = most;
    if (freq_hz > most && options->strict_freq) {
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
    session->config.freq_hz = freq_hz;
    return 0;
}

static int configure(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    session->config.period = options->period;
    session->config.period_or_freq_given = options->period || options->freq_hz;
    session->config.samples = options->samples;
    if (options->samples.intr_regs_all)
        session->config.samples.intr_regs |= weir_registers_probe_extended(weir_registers_here(), session->kernel);
    uint64_t extended = weir_registers_probe_user_extended(weir_registers_here(), session->kernel);
    session->config.samples.user_regs_extended = extended;
    if (options->samples.user_regs_all)
        session->config.samples.user_regs |= extended;
    session->config.build_ids_in_maps = options->build_ids_in_maps;
    session->config.text_pokes = options->kcore;
    session->config.inherit = !options->no_inherit && !session->per_thread;
    session->config.inherit_stat = options->inherit_stat;
    session->config.starts_disabled = !weir_schedule_starts_enabled(&options->schedule);
    session->config.enable_on_exec = !session->config.system_wide && !weir_session_has_tasks(session);
    if (options->all_kernel || options->all_user)
        weir_event_list_limit_to(options->events, options->all_kernel ? WEIR_EVENT_SIDE_KERNEL : WEIR_EVENT_SIDE_USER);
    if (options->samples.clock.given) {
        int result = weir_sample_clock_reference(options->samples.clock.id, &session->clock_reference, err);
        if (result < 0)
            return result;
    }
    weir_event_list_tell_limits(options->events, &session->config, options->notices);
    return choose_freq_hz(session, err);
}

/* Else mmap(2) refuses the ring, without a reason. */
static int check_inheritance(const struct weir_session *session, struct weir_error *err)
{
    const struct weir_event_list *events = session->options->events;
    for (size_t i = 0; session->per_thread && i < events->count; i++) {
        const struct weir_event_terms *terms = &events->events[i].terms;
        if (!(terms->given & WEIR_TERM_INHERIT) || !terms->inherit)
            continue;
        weir_error_set(err, -EINVAL, "event '%s' cannot be inherited with --per-thread", events->events[i].name);
        weir_error_hint(err, "a task's ring is for that task alone: leave out the term inherit, or --per-thread");
        return -EINVAL;
    }
    return 0;
}

static int check_output(const struct weir_record_options *options, struct weir_error *err)
{
    if (options->output_kind == WEIR_RECORD_OUTPUT_STREAM)
        return weir_output_check_stream(options->output_fd, err);
    return weir_record_has_folder(options) ? weir_output_folder_check(options->output_path, err)
                                           : weir_output_check(options->output_path, err);
}

/* Else the first switch would be refused, or the end. */
static int check_room_for_time(const struct weir_session *session, struct weir_error *err)
{
    bool is_hidden = weir_session_switches(session);
    if (!is_hidden && !session->options->switching.timestamp)
        return 0;
    return weir_record_file_check_name(session->options->output_path, is_hidden ? WEIR_HIDING_PREFIX : "", err);
}

/* Changes of the kernel's code are of all tasks, whichever are recorded. */
static bool has_all_tasks_event(const struct weir_session *session)
{
    return (session->config.text_pokes || session->config.all_switches) && !session->config.system_wide;
}

/* Not where ids tell records apart: counts that were read, tasks that have rings of their own, whose CPU says nothing,
 * and side records that a switch repeats at the beginning of the next file. */
static bool can_do_without_ids(const struct weir_session *session)
{
    const struct weir_event_list *events = session->options->events;
    return events->count == 1 && !events->events[0].sample_read && !session->config.inherit_stat &&
           !session->per_thread && session->aux.mode == WEIR_AUX_NONE && !has_all_tasks_event(session) &&
           !weir_session_switches(session);
}

/* Whether the file is to look as perf's own of one event of tasks: no record has an id, and what carries side records
 * is not told of (docs/format.md, "One event"). What is continued stays as it is. */
static bool is_without_ids(const struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    bool is_wanted = !session->config.system_wide && !session->config.starts_disabled && !options->samples.identifiers;
    if (session->append)
        is_wanted = weir_append_is_without_ids(session->append);
    return is_wanted && can_do_without_ids(session);
}

static int add_side_events(struct weir_session *session, struct weir_error *err)
{
    struct weir_event_list *events = session->options->events;
    session->config.without_ids = is_without_ids(session);
    int result = weir_event_list_add_sideband(events);
    if (result == 0 && has_all_tasks_event(session))
        result = weir_event_list_add_text_pokes(events);
    return result < 0 ? weir_error_set_errno(err, result, "cannot add events") : 0;
}

static int read_memory_limit(struct weir_session *session, struct weir_error *err)
{
    session->memory_limit.bytes = WEIR_MEMORY_UNLIMITED; /* of a machine that is only described */
    int result =
        weir_topology_is_this_machine(session->topology) ? weir_memory_limit_read(&session->memory_limit, "") : 0;
    return result < 0 ? weir_error_set_errno(err, result, "cannot read the limit of memory") : 0;
}

/* The kernel hands what a program sends to the event that is at work on its CPU: of single tasks that is none while
 * another one, or a child, runs there (bpf_perf_event_output(), kernel/trace/bpf_trace.c). */
static int check_outputs_of_programs(const struct weir_session *session, struct weir_error *err)
{
    const struct weir_event_list *list = session->options->events;
    for (size_t i = 0; !session->config.system_wide && i < list->count; i++) {
        if (!list->events[i].bpf)
            continue;
        weir_error_set(err, -EINVAL, "output '%s' of BPF programs is of whole CPUs, not of tasks",
                       list->events[i].name);
        weir_error_hint(err, "record them with -a, or some CPUs with -C");
        return -EINVAL;
    }
    return 0;
}

int weir_session_prepare(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    session->config.system_wide = options->system_wide || (options->cpus && !weir_session_has_tasks(session));
    session->per_thread = options->per_thread && !session->config.system_wide;
    weir_kernel_limits_read(&session->limits, NULL);
    int result = check_output(options, err);
    if (result == 0)
        result = check_outputs_of_programs(session, err);
    if (result == 0 && options->append)
        result = weir_append_open(&session->append, options->output_path, err);
    if (result == 0 && session->append && options->sync)
        result = weir_append_check_name(session->append, err);
    if (result == 0 && options->kcore)
        result = weir_kcore_open(&session->kcore, NULL, err);
    if (result == 0)
        result = weir_topology_load(&session->topology, err);
    if (result == 0)
        result = choose_cpus(session, err);
    if (result == 0)
        result = weir_session_plan(session, err);
    if (result == 0)
        result = weir_session_choose_late_cpus(session, err);
    if (result == 0)
        result = read_memory_limit(session, err);
    if (result < 0)
        return result;
    result = weir_session_choose_aux(session, err);
    if (result < 0)
        return result;
    weir_session_choose_sizes(session);
    result = weir_event_list_overwrites(options->events, options->overwrite, err);
    if (result >= 0) {
        session->overwrite = session->config.overwrite = result;
        result = weir_session_choose_memory(session, err);
    }
    if (result == 0)
        result = weir_session_choose_aux_memory(session, err);
    if (result == 0)
        result = check_room_for_time(session, err);
    if (result == 0)
        result = check_inheritance(session, err);
    weir_disk_guard_fit_pool(session);
    if (result == 0)
        result = configure(session, err);
    if (result < 0)
        return result;
    weir_aux_plan_apply(&session->aux, &session->config);
    return add_side_events(session, err);
}
