/*
 * The parts of a recording that a real and a simulated one share: events and rings open, pipeline around them, all of
 * it released. Coordinator thread.
 */
#include "engine/session/session.h"

#include "base/bits.h"
#include "engine/aux/aux_drain.h"
#include "engine/events/open_error.h"
#include "engine/events/sample_size.h"

int weir_session_open_events(struct weir_session *session, struct weir_error *err)
{
    int result = weir_event_set_open(&session->events,
                                     &(struct weir_event_set_setup){
                                         .kernel = session->kernel,
                                         .list = session->options->events,
                                         .cpus = &session->plan.cpus,
                                         .late_cpus = &session->machine.late_cpus,
                                         .targets = &session->targets,
                                         .per_thread = weir_recording_plan_per_thread(&session->plan),
                                         .config = &session->plan.config,
                                         .limits = &session->machine.limits,
                                         .notices = session->options->notices,
                                         .exclude_follows = session->options->exclude_self,
                                     },
                                     err);
    return result < 0 ? result : weir_sample_check_ring(session->options->events, session->plan.ring_bytes, err);
}

/* Any thread, one at a time; the coordinator is waiting for it, or is it. */
static void while_waiting(void *ctx)
{
    struct weir_session *session = ctx;
    struct weir_coordinator *coordinator = &session->coordinator;
    if (session->options->output_kind != WEIR_RECORD_OUTPUT_STREAM) {
        weir_disk_guard_tend(&session->guard);
        return;
    }
    bool was_hurried = weir_coordinator_was_hurried(coordinator);
    if (!weir_coordinator_is_hurried(coordinator))
        return;
    if (!was_hurried)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "signal while the reader of the recording does not read: what it has not taken is given up");
    weir_writer_give_up_stream(&session->pipeline.writer);
}

/* Of the sizes that outputs are to have; 0: they may have any. */
static uint64_t least_size(const struct weir_record_options *options)
{
    uint64_t limit = options->max_bytes, file = options->switching.bytes;
    return limit == 0 || (file > 0 && file < limit) ? file : limit;
}

int weir_session_init_pipeline(struct weir_session *session, struct weir_error *err)
{
    const struct weir_event_set *events = &session->events;
    int result = weir_shed_plan_init(&session->shed, session->options->shed, events->list);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot plan what is shed");
    struct weir_pipeline_setup setup = {
        .kernel = session->kernel,
        .clock = session->clock,
        .plan = &session->plan.placement,
        .places = events->places,
        .place_count = events->place_count,
        .event_count = events->event_count,
        .layout = weir_walk_layout_of(events),
        .buffer_bytes = session->plan.buffer_bytes,
        .retained_bytes = session->plan.retained_bytes,
        .retained_span_ns = session->options->retained_span_ns,
        .shed = &session->shed,
        .set = events,
        .aux = session->plan.aux.mode != WEIR_AUX_NONE ? &weir_aux_drain_hooks : NULL,
        .modes = session->plan.modes,
        .grow_pool = session->plan.grow_pool,
        .max_bytes = session->options->max_bytes,
        .size_bytes = least_size(session->options),
        .sync = session->options->sync,
        .compression_level = session->options->compression_level,
        .compression_threads = weir_recording_plan_compression_threads(&session->plan),
        .realtime_priority = (int)session->options->readers.realtime_priority,
        /* A ring that follows its task has no CPU of its own: its reader runs where there is room, unless told. */
        .pin = (session->staged || weir_topology_is_this_machine(session->machine.topology)) &&
               (!weir_recording_plan_per_thread(&session->plan) || session->options->readers.threads_spec),
        .notices = session->options->notices,
        .while_waiting = weir_modes_may_wait_for_output(&session->plan.modes) ? while_waiting : NULL,
        .waiting_ctx = session,
    };
    setup.layout.maps_have_no_ids = !session->plan.config.build_ids_in_maps;
    result = weir_pipeline_init(&session->pipeline, &setup, err);
    session->piped = result == 0;
    if (result < 0)
        weir_shed_plan_fini(&session->shed);
    weir_aux_keeper_init(&session->aux, &(struct weir_aux_keeper_setup){
                                            .plan = &session->plan.aux,
                                            .events = &session->events,
                                            .pipeline = &session->pipeline,
                                            .clock = session->clock,
                                            .cpus = &session->plan.cpus,
                                            .per_thread = weir_recording_plan_per_thread(&session->plan),
                                            .system_wide = session->plan.config.system_wide,
                                        });
    return result;
}

int weir_session_map_ring(struct weir_session *session, unsigned place, bool sideband)
{
    if (!weir_event_set_has_ring(&session->events, place, sideband)) {
        if (!session->events.places[place].late)
            weir_pipeline_drop_ring(&session->pipeline, place, sideband);
        return 0;
    }
    struct weir_reader_ring *r = weir_pipeline_ring(&session->pipeline, place, sideband);
    uint64_t bytes = sideband ? session->plan.sideband_ring_bytes : session->plan.ring_bytes;
    int result = 0;
    if (!r->ring.page) /* else by an attempt that came only so far */
        result = weir_event_set_map_ring(&session->events, place, sideband, bytes, &r->ring);
    if (result == 0 && !sideband)
        result = weir_aux_keeper_map(&session->aux, place, r);
    if (result < 0)
        return result;
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&session->events, place, sideband, &count);
    weir_reader_ring_set_poll_fds(r, fds, count);
    return 0;
}

int weir_session_explain_map(struct weir_session *session, unsigned place, bool sideband, int code,
                             struct weir_error *err)
{
    const struct weir_event_place *at = &session->events.places[place];
    const struct weir_ring_sizes sizes = {session->plan.ring_bytes, session->plan.sideband_ring_bytes,
                                          session->plan.aux.area_bytes};
    if (!sideband && weir_pipeline_ring(&session->pipeline, place, false)->ring.page)
        return weir_aux_map_error_explain(err, code, at, &sizes, &session->machine.limits);
    uint64_t bytes = sideband ? sizes.sideband_bytes : sizes.data_bytes;
    return weir_ring_map_error_explain(err, code, at, bytes, &sizes, &session->machine.limits);
}

int weir_session_map_rings(struct weir_session *session, struct weir_error *err)
{
    for (unsigned place = 0; place < session->events.place_count; place++) {
        for (int sideband = 0; sideband < 2; sideband++) {
            if (session->events.places[place].late && weir_event_set_has_ring(&session->events, place, sideband))
                continue;
            int result = weir_session_map_ring(session, place, sideband);
            if (result == 0)
                continue;
            return weir_session_explain_map(session, place, sideband, result, err);
        }
    }
    return 0;
}

/* ---- files ---- */

static int append_aux_info(void *ctx, struct weir_buf *out)
{
    struct weir_session *session = ctx;
    return weir_aux_keeper_append_info(&session->aux, out);
}

static void tell_cpus_again(void *ctx)
{
    struct weir_session *session = ctx;
    weir_cpu_follower_tell_again(&session->cpu_follower);
}

static void complete_snapshot(void *ctx)
{
    struct weir_session *session = ctx;
    weir_snapshots_complete(&session->snapshots);
}

static bool is_hurried(void *ctx)
{
    struct weir_session *session = ctx;
    return weir_coordinator_is_hurried(&session->coordinator);
}

static void init_files(struct weir_session *session)
{
    weir_beginning_init(&session->beginning, &(struct weir_beginning_setup){
                                                 .plan = &session->plan,
                                                 .facts = &session->facts,
                                                 .events = &session->events,
                                                 .targets = &session->targets,
                                                 .pipeline = &session->pipeline,
                                                 .workload = &session->workload.pid,
                                                 .append_aux_info = append_aux_info,
                                                 .aux_ctx = session,
                                             });
    bool is_guarded = session->options->keep_free_bytes > 0 || session->options->on_full != WEIR_RECORD_ON_FULL_STOP;
    weir_file_series_init(&session->files, &(struct weir_file_series_setup){
                                               .plan = &session->plan,
                                               .facts = &session->facts,
                                               .beginning = &session->beginning,
                                               .events = &session->events,
                                               .pipeline = &session->pipeline,
                                               .sideband = &session->sideband,
                                               .append = session->append,
                                               .result = session->result,
                                               .clock = session->clock,
                                               .day = session->day,
                                               .io = session->io,
                                               .sources = &session->coordinator.sources,
                                               .triggers = &session->coordinator.triggers,
                                               .child_mask = &session->coordinator.mask_before,
                                               .guard_asks_again = is_guarded,
                                               .hooks =
                                                   {
                                                       .later_file_began = tell_cpus_again,
                                                       .snapshot_ended = complete_snapshot,
                                                       .is_hurried = is_hurried,
                                                       .ctx = session,
                                                   },
                                           });
}

int weir_session_open_files(struct weir_session *session, struct weir_error *err)
{
    int result = weir_file_facts_gather(&session->facts,
                                        &(struct weir_file_facts_sources){
                                            .options = session->options,
                                            .events = &session->events,
                                            .config = &session->plan.config,
                                            .topology = session->machine.topology,
                                            .clock_reference = &session->machine.clock_reference,
                                            .append = session->append,
                                            .kcore = &session->kcore,
                                            .chunk_bytes = session->pipeline.pool.chunk_bytes,
                                        },
                                        err);
    init_files(session);
    return result < 0 ? result : weir_file_series_open(&session->files, err);
}

int weir_session_finish(struct weir_session *session, struct weir_error *err)
{
    struct weir_record_result *result = session->result;
    const struct weir_pipeline *pipeline = &session->pipeline;
    result->ring_bytes = session->plan.ring_bytes;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        result->rings += weir_reader_rings_mapped(&pipeline->readers[i]->rings);
    result->pool_bytes = (uint64_t)pipeline->pool.chunk_count * pipeline->pool.chunk_bytes;
    int code = weir_file_series_finish(&session->files, session->snapshots.permanent, err);
    weir_aux_keeper_sum(&session->aux, &result->aux);
    return code;
}

/* ---- the guard of the disk: what it asks of the recording. Coordinator ---- */

static void end_for_space(void *ctx)
{
    struct weir_session *session = ctx;
    weir_coordinator_end(&session->coordinator, WEIR_RECORD_END_SPACE);
}

static void rotate_for_space(void *ctx)
{
    struct weir_session *session = ctx;
    weir_triggers_fire(&session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

static void pause_for_space(void *ctx)
{
    weir_session_pause_rings(ctx);
}

static uint64_t count_lost(void *ctx)
{
    struct weir_session *session = ctx;
    return weir_event_set_read_lost(&session->events);
}

static void use_space(void *ctx)
{
    struct weir_session *session = ctx;
    weir_file_series_ask_again(&session->files);
}

int weir_session_guard_disk(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    const struct weir_recording_plan *plan = &session->plan;
    const struct weir_disk_guard_setup setup = {
        .output_path = options->output_path,
        .on_full = options->on_full,
        .keep_free_bytes = options->keep_free_bytes,
        .file_bytes = options->switching.bytes,
        .memory_bytes = plan->buffer_bytes + plan->retained_bytes,
        .rings_bytes = plan->ring_bytes * session->events.place_count,
        .notices = options->notices,
        .clock = session->clock,
        .writer = &session->pipeline.writer,
        .finisher = session->files.finisher,
        .ctx = session,
        .end_recording = end_for_space,
        .rotate_output = rotate_for_space,
        .pause_samples = pause_for_space,
        .count_lost = count_lost,
        .find_room = use_space,
        .is_hurried = is_hurried,
    };
    return weir_disk_guard_init(&session->guard, &setup, &session->coordinator.sources, err);
}

/* ---- release ---- */

void weir_session_close_events(struct weir_session *session)
{
    if (session->piped)
        weir_pipeline_stop(&session->pipeline);
    weir_file_series_close(&session->files);
    if (session->piped)
        weir_pipeline_fini(&session->pipeline);
    weir_shed_plan_fini(&session->shed);
    session->piped = false;
    weir_event_set_close(&session->events);
}

void weir_session_release(struct weir_session *session)
{
    weir_file_facts_fini(&session->facts);
    weir_sideband_halt(session->sideband.sideband); /* it looks at the pipeline's epochs */
    weir_session_close_events(session);
    weir_sideband_host_fini(&session->sideband); /* the readers, which are gone now, wrote to its tees */
    weir_beginning_fini(&session->beginning);
    weir_disk_guard_fini(&session->guard);
    weir_append_free(session->append);
    weir_kcore_close(&session->kcore);
    session->append = NULL;
    weir_workload_fini(&session->workload);
    weir_control_fini(&session->control);
    weir_session_close_triggers(session);
    weir_targets_fini(&session->targets);
    weir_cpu_follower_close(&session->cpu_follower);
    weir_aux_keeper_fini(&session->aux);
    if (session->coordinating)
        weir_coordinator_fini(&session->coordinator);
    weir_session_leave_house(session);
    weir_recording_plan_fini(&session->plan);
    weir_machine_facts_fini(&session->machine);
}
