/* Opens events, makes their pipeline and maps their rings; see data_path.h. Coordinator. */
#include "engine/session/data_path.h"

#include "base/bits.h"
#include "engine/aux/aux_drain.h"
#include "engine/events/open_error.h"
#include "engine/events/sample_size.h"

void weir_data_path_init(struct weir_data_path *path, const struct weir_data_path_setup *setup)
{
    *path = (struct weir_data_path){.setup = *setup, .aux = WEIR_AUX_KEEPER_INIT};
}

/* ---- events ---- */

int weir_data_path_open_events(struct weir_data_path *path, struct weir_error *err)
{
    const struct weir_recording_plan *plan = path->setup.plan;
    int result = weir_event_set_open(&path->events,
                                     &(struct weir_event_set_setup){
                                         .kernel = path->setup.kernel,
                                         .list = plan->options->events,
                                         .cpus = &plan->cpus,
                                         .side_cpus = &plan->side_cpus,
                                         .late_cpus = &plan->machine->late_cpus,
                                         .late_are_side_only = plan->options->targets.cpus != NULL,
                                         .targets = path->setup.targets,
                                         .with_siblings = true,
                                         .per_thread = weir_recording_plan_per_thread(plan),
                                         .config = &plan->config,
                                         .limits = &plan->machine->limits,
                                         .notices = plan->options->notices,
                                         .off_cpu = path->setup.off_cpu,
                                         .exclude_follows = plan->options->targets.exclude_self,
                                     },
                                     err);
    return result < 0 ? result : weir_sample_check_ring(plan->options->events, plan->ring_bytes, err);
}

/* ---- pipeline ---- */

/* Returns the smallest size limit of an output. 0: no limit. */
static uint64_t least_size(const struct weir_record_options *options)
{
    uint64_t limit = options->output.max_bytes, file = options->rotation.bytes;
    return limit == 0 || (file > 0 && file < limit) ? file : limit;
}

static int make_aggregate(struct weir_data_path *path)
{
    const struct weir_aggregate_options *options = &path->setup.plan->options->samples.aggregate;
    const struct weir_event_set *events = &path->events;
    if (options->interval_ns == 0)
        return 0;
    struct weir_aggregate_setup setup = {
        .layout = weir_walk_layout_of(events),
        .list = events->list,
        .place_count = events->place_count,
        .interval_ns = options->interval_ns,
        .by_process = options->by_process,
        .are_unwound = path->setup.plan->unwinds != NULL,
    };
    setup.layout.place_stride = events->event_count;
    return weir_aggregate_init(&path->aggregate, &setup);
}

static int make_unwind(struct weir_data_path *path)
{
    const struct weir_recording_plan *plan = path->setup.plan;
    if (!plan->unwinds)
        return 0;
    const struct weir_unwind_step_setup setup = {
        .layout = weir_walk_layout_of(&path->events),
        .list = path->events.list,
        .source = path->setup.unwind_source,
        .machine = plan->unwinds,
        .clock = path->setup.clock,
        .workers = weir_recording_plan_stage(plan, NULL).workers,
        .tables_bytes = weir_recording_plan_tables_bytes(plan),
    };
    return weir_unwind_step_init(&path->unwind, &setup);
}

static int make_join(struct weir_data_path *path)
{
    if (!weir_modes_have(&path->setup.plan->modes, WEIR_MODE_DEFER))
        return 0;
    return weir_join_step_init(&path->join, &(struct weir_join_step_setup){.layout = weir_walk_layout_of(&path->events),
                                                                           .list = path->events.list});
}

static void free_steps(struct weir_data_path *path)
{
    weir_join_step_fini(&path->join);
    weir_unwind_step_fini(&path->unwind);
    weir_aggregate_fini(&path->aggregate);
}

/* Makes the objects that the steps of the stage need. 0 or -ENOMEM with err. */
static int make_steps(struct weir_data_path *path, struct weir_error *err)
{
    int result = make_join(path);
    if (result == 0)
        result = make_unwind(path);
    if (result == 0)
        result = make_aggregate(path);
    if (result < 0)
        free_steps(path);
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up the steps in front of the writer") : 0;
}

int weir_data_path_make_pipeline(struct weir_data_path *path, struct weir_error *err)
{
    const struct weir_recording_plan *plan = path->setup.plan;
    const struct weir_record_options *options = plan->options;
    const struct weir_event_set *events = &path->events;
    bool per_thread = weir_recording_plan_per_thread(plan);
    int result = weir_shed_plan_init(&path->shed, options->memory.shed, events->list);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot plan the shedding of samples");
    result = make_steps(path, err);
    if (result < 0)
        return result;
    const struct weir_stage_steps steps = {
        .join = weir_modes_have(&plan->modes, WEIR_MODE_DEFER) ? &path->join : NULL,
        .unwind = plan->unwinds ? &path->unwind : NULL,
        .aggregate = options->samples.aggregate.interval_ns > 0 ? &path->aggregate : NULL,
    };
    struct weir_pipeline_setup setup = {
        .kernel = path->setup.kernel,
        .clock = path->setup.clock,
        .plan = &plan->placement,
        .places = events->places,
        .place_count = events->place_count,
        .event_count = events->event_count,
        .layout = weir_walk_layout_of(events),
        .buffer_bytes = plan->buffer_bytes,
        .retained_bytes = plan->retained_bytes,
        .retained_span_ns = options->memory.retained_span_ns,
        .shed = &path->shed,
        .set = events,
        .aux = plan->aux.mode != WEIR_AUX_NONE ? &weir_aux_drain_hooks : NULL,
        .modes = plan->modes,
        .grow_pool = plan->grow_pool,
        .max_bytes = options->output.max_bytes,
        .size_bytes = least_size(options),
        .sync = options->output.sync,
        .stage = weir_recording_plan_stage(plan, &steps),
        .steps = steps,
        .epoch_ns = options->samples.aggregate.interval_ns,
        .realtime_priority = (int)options->readers.realtime_priority,
        /* The ring of a task has no CPU. Its reader runs on any CPU, unless the user has assigned readers to CPUs. */
        .pin = path->setup.pins_readers && (!per_thread || options->readers.threads_spec),
        .notices = options->notices,
        .while_waiting = weir_modes_may_wait_for_output(&plan->modes) ? path->setup.while_waiting : NULL,
        .waiting_ctx = path->setup.waiting_ctx,
    };
    setup.layout.maps_have_no_ids = !plan->config.build_ids_in_maps;
    result = weir_pipeline_init(&path->pipeline, &setup, err);
    path->has_pipeline = result == 0;
    if (result < 0) {
        weir_shed_plan_fini(&path->shed);
        free_steps(path);
    }
    weir_aux_keeper_init(&path->aux, &(struct weir_aux_keeper_setup){
                                         .plan = &plan->aux,
                                         .events = &path->events,
                                         .pipeline = &path->pipeline,
                                         .clock = path->setup.clock,
                                         .cpus = &plan->cpus,
                                         .per_thread = per_thread,
                                         .system_wide = plan->config.system_wide,
                                         .sysfs_root = plan->machine->sysfs_root,
                                     });
    return result;
}

/* ---- rings ---- */

static uint64_t ring_bytes(const struct weir_data_path *path, unsigned place, bool sideband)
{
    const struct weir_recording_plan *plan = path->setup.plan;
    if (!sideband)
        return plan->ring_bytes;
    return path->events.places[place].side_only ? plan->side_only_ring_bytes : plan->sideband_ring_bytes;
}

/* Maps a ring, or drops the ring where the place has none. 0 or -errno. */
static int map_ring(struct weir_data_path *path, unsigned place, bool sideband)
{
    if (!weir_event_set_has_ring(&path->events, place, sideband)) {
        if (!path->events.places[place].late)
            weir_pipeline_drop_ring(&path->pipeline, place, sideband);
        return 0;
    }
    struct weir_reader_ring *r = weir_pipeline_ring(&path->pipeline, place, sideband);
    int result = 0;
    if (!r->ring.page) /* mapped already if an earlier attempt failed later on */
        result = weir_event_set_map_ring(&path->events, place, sideband, ring_bytes(path, place, sideband), &r->ring);
    if (result == 0 && !sideband)
        result = weir_aux_keeper_map(&path->aux, place, r);
    if (result < 0)
        return result;
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&path->events, place, sideband, &count);
    weir_reader_ring_set_poll_fds(r, fds, count);
    return 0;
}

static int explain(struct weir_data_path *path, unsigned place, bool sideband, int code, struct weir_error *err)
{
    const struct weir_recording_plan *plan = path->setup.plan;
    const struct weir_event_place *at = &path->events.places[place];
    const struct weir_kernel_limits *limits = &plan->machine->limits;
    const struct weir_ring_sizes sizes = {plan->ring_bytes, plan->sideband_ring_bytes, plan->aux.area_bytes};
    if (!sideband && weir_pipeline_ring(&path->pipeline, place, false)->ring.page)
        return weir_aux_map_error_explain(err, code, at, &sizes, limits);
    return weir_ring_map_error_explain(err, code, at, ring_bytes(path, place, sideband), &sizes, limits);
}

int weir_data_path_map_place(struct weir_data_path *path, unsigned place, struct weir_error *err)
{
    for (int sideband = 0; sideband < 2; sideband++) {
        int result = map_ring(path, place, sideband);
        if (result < 0)
            return explain(path, place, sideband, result, err);
    }
    return 0;
}

int weir_data_path_map_rings(struct weir_data_path *path, struct weir_error *err)
{
    for (unsigned place = 0; place < path->events.place_count; place++) {
        for (int sideband = 0; sideband < 2; sideband++) {
            if (path->events.places[place].late && weir_event_set_has_ring(&path->events, place, sideband))
                continue;
            int result = map_ring(path, place, sideband);
            if (result < 0)
                return explain(path, place, sideband, result, err);
        }
    }
    return 0;
}

/* ---- release ---- */

void weir_data_path_stop(struct weir_data_path *path)
{
    if (path->has_pipeline)
        weir_pipeline_stop(&path->pipeline);
}

void weir_data_path_close(struct weir_data_path *path)
{
    weir_data_path_stop(path);
    weir_aux_keeper_fini(&path->aux);
    if (path->has_pipeline)
        weir_pipeline_fini(&path->pipeline);
    weir_shed_plan_fini(&path->shed);
    free_steps(path);
    path->has_pipeline = false;
    weir_event_set_close(&path->events);
}
