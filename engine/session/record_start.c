/* LISTENING and STARTING: opens control, fills the poll loop, and starts threads, the first file and the command.
 * Coordinator thread. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/control/evlist_text.h"
#include "engine/session/record_internal.h"
#include "engine/session/status.h"
#include "topology/thread_affinity.h"

/* Outside the pipeline. */
#define OWN_THREADS (2 + WEIR_FILE_SERIES_THREADS + WEIR_SIDEBAND_THREADS + WEIR_FILE_OPENER_THREADS)

/* ---- requests of clients ---- */

static int toggle_event(void *ctx, const char *name, bool on, struct weir_error *err)
{
    struct weir_recording *recording = ctx;
    return weir_event_toggle_named(&recording->toggle, name, on, err);
}

static void list_events(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    const struct weir_recording *recording = ctx;
    weir_evlist_append_text(recording->path.events.list, detail, out);
}

static const char *state_of(const struct weir_recording *recording)
{
    if (recording->snapshots.permanent)
        return "stopped";
    if (!recording->toggle.on)
        return "disabled";
    return recording->guard.suspended ? "suspended" : "enabled";
}

static struct weir_status_sources status_sources(void *ctx)
{
    const struct weir_recording *recording = ctx;
    return (struct weir_status_sources){
        .state = state_of(recording),
        .elapsed_ns = weir_clock_now_ns(&weir_clock_monotonic) - recording->running_since_ns,
        .files = recording->files.rotation.count + 1,
        .plan = &recording->plan,
        .events = &recording->path.events,
        .pipeline = &recording->path.pipeline,
        .triggers = &recording->coordinator.triggers,
        .lease_left_ns = weir_lease_left_ns(&recording->lease),
    };
}

static int renew_lease(void *ctx, struct weir_error *err)
{
    struct weir_recording *recording = ctx;
    return weir_lease_renew(&recording->lease, err);
}

static void tell_status(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    const struct weir_status_sources sources = status_sources(ctx);
    weir_status_append(&sources, detail == WEIR_CONTROL_VERBOSE, out);
}

/* ---- listening ---- */

/* Registers the triggers that every recording has, and opens --control. For a command, also opens the socket of
 * libweir. */
static int open_control(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_triggers *triggers = &recording->coordinator.triggers;
    triggers->notices = options->notices;
    recording->toggle = (struct weir_event_toggle){
        .events = &recording->path.events,
        .aux = &recording->path.aux,
        .snapshots = &recording->snapshots,
        .notices = options->notices,
    };
    weir_event_toggle_register(&recording->toggle, triggers);
    weir_control_init(&recording->control, &(struct weir_control_host){
                                               .sources = &recording->coordinator.sources,
                                               .triggers = triggers,
                                               .notices = options->notices,
                                               .toggle_event = toggle_event,
                                               .renew_lease = renew_lease,
                                               .list_events = list_events,
                                               .tell_status = tell_status,
                                               .ctx = recording,
                                           });
    struct weir_error unheard = {0};
    int result = weir_control_open(&recording->control, &options->control, err);
    if (result == 0 && options->targets.command)
        result = weir_control_listen(&recording->control, err);
    bool is_deaf = result == 0 && weir_control_listen_to_user(&recording->control, &unheard) < 0;
    if (is_deaf && options->lease_s > 0 && !options->control.given && !options->targets.command) {
        weir_error_set(err, unheard.code, "no controller could renew the lease: %s", unheard.what);
        weir_error_hint(err, "give it a channel with --control");
        return unheard.code;
    }
    if (is_deaf)
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "%s", unheard.what);
    return result;
}

static int hold_command(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_workload *workload = &recording->workload;
    if (!options->targets.command)
        return 0;
    workload->off_stdout = options->output.kind == WEIR_RECORD_OUTPUT_STREAM;
    workload->environment = recording->control.environment;
    workload->ignored = options->caller.ignored_before;
    return weir_workload_prepare(workload, options->targets.command, &recording->coordinator.mask_before, err);
}

/* Moves the calling thread to the housekeeping CPUs. The threads that it makes then run there, too. */
static void move_to_housekeeping_cpus(struct weir_recording *recording)
{
    const struct weir_cpuset *cpus = &recording->plan.housekeeping_cpus;
    if (weir_cpuset_is_empty(cpus) || !weir_topology_is_this_machine(recording->machine.topology))
        return;
    /* A failure is harmless: the threads other than readers then run where they ran before. */
    if (weir_thread_affinity(&recording->cpus_before) == 0)
        weir_thread_pin(cpus);
}

int weir_recording_listen(struct weir_recording *recording, struct weir_error *err)
{
    int result = open_control(recording, err);
    if (result == 0)
        result = hold_command(recording, err);
    if (result == 0)
        move_to_housekeeping_cpus(recording); /* after the fork: the command may run on any CPU */
    return result;
}

/* ---- watching ---- */

static void tell_of_output(void *ctx)
{
    const struct weir_recording *recording = ctx;
    weir_file_series_tell_output(&recording->files);
}

static int map_rings(void *ctx, unsigned place, struct weir_error *err)
{
    struct weir_recording *recording = ctx;
    return weir_data_path_map_place(&recording->path, place, err);
}

static int add_to_triggers(void *ctx, int cpu, struct weir_error *err)
{
    struct weir_recording *recording = ctx;
    return weir_trigger_sources_add_cpu(&recording->asking, cpu, err);
}

static int follow_cpus(struct weir_recording *recording)
{
    bool per_thread = weir_recording_plan_per_thread(&recording->plan);
    return weir_cpu_follower_watch(&recording->cpu_follower,
                                   &(struct weir_cpu_follower_setup){
                                       .sources = &recording->coordinator.sources,
                                       .events = &recording->path.events,
                                       .cpus = &recording->plan.cpus,
                                       .pipeline = &recording->path.pipeline,
                                       .limits = &recording->machine.limits,
                                       .suspended = &weir_clock_suspended,
                                       .notices = recording->options->notices,
                                       .list_id = recording->facts.descriptions[0].ids[0],
                                       .expects_all_cpus = !recording->options->targets.cpus && !per_thread,
                                       .map_rings = map_rings,
                                       .add_to_triggers = add_to_triggers,
                                       .ctx = recording,
                                   });
}

static void end_lease(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_notice(recording->options->notices, WEIR_NOTICE_INFO,
                "nobody has renewed the lease for %llu s: recording ends",
                (unsigned long long)recording->options->lease_s);
    weir_coordinator_end(&recording->coordinator, WEIR_RECORD_END_LEASE);
}

static int open_lease(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_lease_setup setup = {
        .length_s = recording->options->lease_s,
        .clock = &weir_clock_monotonic,
        .polls = &recording->coordinator.sources,
        .run_out = end_lease,
        .ctx = recording,
    };
    return setup.length_s > 0 ? weir_lease_open(&recording->lease, &setup, err) : 0;
}

int weir_recording_watch(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_coordinator *coordinator = &recording->coordinator;
    struct weir_workload *workload = options->targets.command ? &recording->workload : NULL;
    coordinator->schedule = &options->schedule;
    coordinator->toggle_events = weir_event_toggle_all;
    coordinator->toggle_ctx = &recording->toggle;
    coordinator->writer_calls = tell_of_output;
    coordinator->writer_ctx = recording;
    int result = weir_coordinator_watch(coordinator, &recording->path.pipeline, workload,
                                        weir_recording_plan_has_tasks(&options->targets));
    if (result == 0)
        result = follow_cpus(recording);
    if (result == 0)
        result = weir_aux_keeper_watch(&recording->path.aux, &coordinator->sources);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot watch the recording");
    result = open_lease(recording, err);
    if (result < 0)
        return result;
    recording->ticker.sources = status_sources;
    recording->ticker.ctx = recording;
    return options->watch ? weir_status_ticker_open(&recording->ticker, options->watch, &coordinator->sources, err) : 0;
}

/* ---- callbacks of the disk guard ---- */

static void end_for_space(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_coordinator_end(&recording->coordinator, WEIR_RECORD_END_SPACE);
}

static void rotate_for_space(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_triggers_fire(&recording->coordinator.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_SIZE);
}

static void pause_for_space(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_event_set_pause(&recording->path.events, WEIR_PAUSE_FULL_DISK, recording->guard.suspended);
}

static uint64_t count_lost(void *ctx)
{
    const struct weir_recording *recording = ctx;
    return weir_event_set_read_lost(&recording->path.events);
}

static void use_space(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_file_series_ask_again(&recording->files);
}

static int guard_disk(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    const struct weir_recording_plan *plan = &recording->plan;
    const struct weir_disk_guard_setup setup = {
        .output_path = options->output.path,
        .on_full = options->output.on_full,
        .keep_free_bytes = options->output.keep_free_bytes,
        .file_bytes = options->rotation.bytes,
        .memory_bytes = plan->buffer_bytes + plan->retained_bytes,
        .rings_bytes = plan->ring_bytes * weir_recording_plan_places(plan),
        .notices = options->notices,
        .clock = &weir_clock_monotonic,
        .writer = &recording->path.pipeline.writer,
        .finisher = recording->files.finisher,
        .ctx = recording,
        .end_recording = end_for_space,
        .rotate_output = rotate_for_space,
        .pause_samples = pause_for_space,
        .count_lost = count_lost,
        .find_room = use_space,
        .is_hurried = weir_recording_is_hurried,
    };
    return weir_disk_guard_init(&recording->guard, &setup, &recording->coordinator.sources, err);
}

/* ---- snapshots ---- */

static int end_file(void *ctx, struct weir_error *err)
{
    struct weir_recording *recording = ctx;
    return weir_file_series_rotate(&recording->files, err);
}

static void begin_snapshots(struct weir_recording *recording)
{
    struct weir_triggers *triggers = &recording->coordinator.triggers;
    recording->snapshots = (struct weir_snapshots){
        .pipeline = &recording->path.pipeline,
        .events = &recording->path.events,
        .aux = &recording->path.aux,
        .notices = recording->options->notices,
        .end_file = weir_modes_snapshots_end_files(&recording->plan.modes) ? end_file : NULL,
        .end_file_ctx = recording,
        .dumps_end_files = recording->options->rotation.each_snapshot,
    };
    if (weir_snapshots_are_possible(&recording->snapshots))
        weir_snapshots_begin(&recording->snapshots, triggers);
    weir_trigger_sources_follow_with_ftrace(&recording->asking, triggers);
}

/* ---- weir's own samples ---- */

/* Warns when the recording has weir's own samples: the kernel filters by task for tracepoints only. Named tasks do not
 * include weir, except all tasks of a user (-u). */
static void warn_about_own_samples(const struct weir_recording *recording)
{
    const struct weir_record_options *options = recording->options;
    if (!recording->plan.config.system_wide && options->targets.spec.kind != WEIR_TARGET_USER)
        return;
    for (size_t i = 0; i < options->events->count; i++) {
        const struct weir_event *event = &options->events->events[i];
        if (!event->sideband && !event->deferred && !event->tracepoint_system) {
            weir_notice(options->notices, WEIR_NOTICE_WARNING,
                        "weir's own samples of %s are recorded: the kernel leaves tasks out of tracepoints only",
                        event->name);
            return;
        }
    }
}

static int exclude_self(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_pipeline *pipeline = &recording->path.pipeline;
    struct weir_sideband *sideband = recording->sideband.sideband;
    if (!recording->options->targets.exclude_self)
        return 0;
    unsigned most = weir_pipeline_tids_max(pipeline) + OWN_THREADS;
    pid_t *tids = calloc(most, sizeof(*tids));
    if (!tids)
        return weir_error_set_errno(err, -ENOMEM, "cannot exclude weir's own threads");
    unsigned count = weir_pipeline_tids(pipeline, tids);
    tids[count++] = gettid();
    if (sideband)
        count += weir_sideband_tids(sideband, tids + count);
    if (recording->unwind_supply)
        count += weir_unwind_supply_tids(recording->unwind_supply, tids + count);
    count += weir_file_series_tids(&recording->files, tids + count);
    if (weir_metrics_tid(&recording->metrics) > 0)
        tids[count++] = weir_metrics_tid(&recording->metrics);
    warn_about_own_samples(recording);
    int result = weir_event_set_exclude_tasks(&recording->path.events, tids, count, err);
    free(tids);
    return result;
}

/* ---- starting ---- */

static int start_unwind_supply(struct weir_recording *recording, struct weir_error *err)
{
    int result = recording->unwind_supply ? weir_unwind_supply_start(recording->unwind_supply) : 0;
    return result < 0 ? weir_error_set_errno(err, result, "cannot start the threads that open files for unwinding") : 0;
}

static int start_threads(struct weir_recording *recording, struct weir_error *err)
{
    struct weir_data_path *path = &recording->path;
    int result = weir_sideband_host_make(&recording->sideband, &recording->plan, &recording->facts, &path->events,
                                         &path->pipeline, recording->unwind_supply, err);
    recording->beginning.setup.sideband = recording->sideband.sideband;
    if (result == 0)
        result = weir_file_series_prepare(&recording->files, err);
    if (result == 0)
        result = guard_disk(recording, err);
    if (result == 0)
        result = start_unwind_supply(recording, err);
    if (result == 0)
        result = weir_pipeline_start(&path->pipeline, recording->files.current->output, err);
    if (result == 0)
        result = weir_sideband_host_start(&recording->sideband, err);
    if (result == 0)
        result = weir_file_series_start(&recording->files, err);
    recording->metrics.sources = status_sources;
    recording->metrics.ctx = recording;
    if (result == 0)
        result = weir_metrics_start(&recording->metrics, &recording->options->metrics, &recording->coordinator.sources,
                                    recording->options->notices, err);
    if (result == 0)
        result = exclude_self(recording, err);
    if (result == 0)
        weir_notice(recording->options->notices, WEIR_NOTICE_VERBOSE, "output: %s",
                    weir_output_describe(recording->files.current->output));
    return result;
}

static int write_beginning(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_file_series *files = &recording->files;
    int result = options->output.kcore ? weir_record_file_copy_kernel(files->current, &recording->facts, err) : 0;
    if (result == 0)
        result = weir_beginning_write_first(&recording->beginning, err);
    bool is_stream = options->output.kind == WEIR_RECORD_OUTPUT_STREAM;
    files->given_up = is_stream && result == -ECANCELED;
    if (!files->given_up && !(is_stream && result == -EPIPE))
        return result;
    *err = (struct weir_error){0}; /* the loop ends at once, but the command is still to run */
    return 0;
}

static int start_command(struct weir_recording *recording, bool *workload_failed, struct weir_error *err)
{
    if (!recording->options->targets.command)
        return 0;
    int result = weir_workload_start(&recording->workload, recording->options->targets.command, err);
    *workload_failed = result < 0;
    return result;
}

static int start_timeline(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_timeline_setup setup = {
        .pipeline = &recording->path.pipeline,
        .clock = &weir_clock_monotonic,
        .sources = &recording->coordinator.sources,
    };
    return weir_timeline_start(&recording->timeline, &setup, err);
}

int weir_recording_start(struct weir_recording *recording, bool *workload_failed, struct weir_error *err)
{
    const struct weir_event_config *config = &recording->plan.config;
    struct weir_event_set *events = &recording->path.events;
    int result = start_threads(recording, err);
    if (result < 0)
        return result;
    /* Enable side events first. A mapping that changes while weir reads /proc then appears in the file twice, rather
     * than not at all. */
    if (!config->enable_on_exec)
        weir_event_set_enable(events, true);
    result = write_beginning(recording, err);
    if (result < 0)
        return result;
    weir_disk_guard_start(&recording->guard);
    if (config->starts_disabled)
        weir_notice(recording->options->notices, WEIR_NOTICE_INFO, "Events disabled");
    else if (!config->enable_on_exec)
        weir_event_set_enable(events, false);
    result = start_timeline(recording, err);
    if (result == 0)
        result = start_command(recording, workload_failed, err);
    if (result == 0)
        result = weir_file_series_name(&recording->files, err);
    if (result == 0)
        begin_snapshots(recording);
    return result;
}
