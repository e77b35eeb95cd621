/* The engine on the simulated kernel. Set-up and end on one thread. */
#include "tests/engine/sim_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "engine/events/event_parse.h"
#include "format/event_desc.h"
#include "format/records.h"

static void must(int result, const struct weir_error *err)
{
    if (result == 0)
        return;
    fprintf(stderr, "cannot set up the simulation: %d %s\n", result, err->what);
    weir_assert(!"the simulation can be set up");
}

/* What failed is said. */
static int explained(int result, const struct weir_error *err)
{
    weir_assert(result == 0 || err->what[0]);
    return result;
}

/* ---- rings and CPUs ---- */

static int map_ring(struct sim_rig *rig, unsigned place, bool sideband)
{
    struct weir_reader_ring *r = weir_pipeline_ring(&rig->pipeline, place, sideband);
    if (r->ring.page)
        return 0; /* by an attempt that came only so far */
    int result = weir_event_set_map_ring(&rig->set, place, sideband,
                                         sideband ? rig->sideband_ring_bytes : rig->ring_bytes, &r->ring);
    if (result < 0)
        return result;
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&rig->set, place, sideband, &count);
    weir_reader_ring_set_poll_fds(r, fds, count);
    return 0;
}

int sim_rig_map_place(struct sim_rig *rig, unsigned place)
{
    int result = map_ring(rig, place, false);
    return result == 0 ? map_ring(rig, place, true) : result;
}

static int map_rings(struct sim_rig *rig, const struct sim_rig_options *options)
{
    int result = 0;
    rig->ring_bytes = options->ring_bytes;
    rig->sideband_ring_bytes = options->sideband_ring_bytes ? options->sideband_ring_bytes : options->ring_bytes;
    for (unsigned place = 0; result == 0 && place < rig->set.late_from; place++)
        result = sim_rig_map_place(rig, place);
    return result;
}

void sim_rig_take_cpu(struct sim_rig *rig, unsigned place)
{
    weir_sim_kernel_set_cpu(rig->sim, rig->set.places[place].cpu, false);
}

/* As cpu_follower.c has it, for the first event alone. */
static void note_return(struct sim_rig *rig, unsigned place)
{
    const struct weir_record_sample_id trailer = {
        .sample_type = rig->list.events[0].attr.sample_type,
        .id = rig->set.file_ids[weir_event_set_slot(&rig->set, 0, place, 0)],
        .cpu = (uint32_t)rig->set.places[place].cpu,
    };
    struct weir_buf records = WEIR_BUF_INIT;
    weir_record_returned(&records, &trailer);
    bool newest = weir_pipeline_ring(&rig->pipeline, place, false)->ring.newest;
    if (weir_buf_error(&records) == 0 &&
        weir_pipeline_note_return(&rig->pipeline, place, false, records.data, records.used) == 0)
        rig->returns += !newest;
    weir_buf_fini(&records);
}

int sim_rig_try_bring_cpu(struct sim_rig *rig, unsigned place, struct weir_error *err)
{
    weir_sim_kernel_set_cpu(rig->sim, rig->set.places[place].cpu, true);
    int result = 0;
    if (weir_event_set_reopens(&rig->set))
        result = explained(weir_event_set_reopen(&rig->set, place, &rig->limits, err), err);
    if (result == 0 && rig->renames) {
        weir_pipeline_rename_place(&rig->pipeline, place);
        if (weir_pipeline_has_place(&rig->pipeline, place))
            note_return(rig, place);
    }
    if (result == 0 && !weir_pipeline_has_place(&rig->pipeline, place)) {
        result = sim_rig_map_place(rig, place);
        if (result == 0)
            weir_pipeline_wake_place(&rig->pipeline, place);
    }
    if (result == 0)
        weir_event_set_enable_place(&rig->set, place);
    return result;
}

void sim_rig_bring_cpu(struct sim_rig *rig, unsigned place)
{
    struct weir_error err = {0};
    must(sim_rig_try_bring_cpu(rig, place, &err), &err);
}

/* ---- set-up ---- */

static int open_events(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    rig->config = (struct weir_event_config){
        .period = 1,
        .period_or_freq_given = true,
        .system_wide = !options->of_task,
        .watermark_bytes = options->watermark_bytes ? options->watermark_bytes
                                                    : (uint32_t)(options->ring_bytes / WEIR_RING_WATERMARK_SHARE),
        .sideband_watermark_bytes = 1,
        .overwrite = options->overwrite,
        .without_ids = options->without_ids,
    };
    int result =
        explained(weir_event_list_parse(&rig->list, options->events ? options->events : "bpf-output", NULL, err), err);
    if (result == 0)
        result = weir_event_list_add_sideband(&rig->list);
    if (result == 0)
        result = weir_targets_init_all(&rig->targets);
    if (result < 0)
        return result;
    if (options->of_task)
        rig->targets.tids[0] = 1;
    return explained(weir_event_set_open(&rig->set,
                                         &(struct weir_event_set_setup){
                                             .kernel = options->kernel ? options->kernel : &rig->kernel,
                                             .list = &rig->list,
                                             .cpus = &rig->cpus,
                                             .late_cpus = &rig->late_cpus,
                                             .targets = &rig->targets,
                                             .config = &rig->config,
                                             .limits = &rig->limits,
                                         },
                                         err),
                     err);
}

static int choose_cpus(struct sim_rig *rig, const struct sim_rig_options *options)
{
    int result = 0;
    for (unsigned cpu = 0; result == 0 && cpu < options->cpus + options->late; cpu++) {
        result = weir_cpuset_add(cpu < options->cpus ? &rig->cpus : &rig->late_cpus, cpu);
        if (cpu >= options->cpus)
            weir_sim_kernel_set_cpu(rig->sim, (int)cpu, false);
    }
    return result;
}

static int open_machine(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    char machine[64];
    int result = weir_sim_kernel_new(&rig->sim);
    if (result < 0)
        return result;
    rig->kernel = weir_sim_kernel_interface(rig->sim);
    snprintf(machine, sizeof(machine), "core:%u pu:1", options->cpus);
    result = explained(weir_topology_load_synthetic(&rig->topology, machine, err), err);
    if (result == 0)
        result = choose_cpus(rig, options);
    if (result == 0)
        result =
            explained(weir_plan_make(&rig->plan, rig->topology, &rig->cpus, options->threads_spec, NULL, err), err);
    return result == 0 ? open_events(rig, options, err) : result;
}

static struct weir_modes modes_of(const struct sim_rig_options *options)
{
    struct weir_modes modes = {0};
    if (options->retained_bytes > 0)
        weir_modes_add(&modes, WEIR_MODE_MEMORY);
    if (options->overwrite)
        weir_modes_add(&modes, WEIR_MODE_OVERWRITE);
    if (options->compression_level > 0)
        weir_modes_add(&modes, WEIR_MODE_COMPRESSED);
    if (options->stream)
        weir_modes_add(&modes, WEIR_MODE_STREAM);
    return modes;
}

static int open_pipeline(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    int result = weir_shed_plan_init(&rig->shed, options->shed, &rig->list);
    if (result < 0)
        return result;
    struct weir_pipeline_setup setup = {
        .kernel = options->kernel ? options->kernel : &rig->kernel,
        .clock = options->clock ? options->clock : &weir_clock_monotonic,
        .plan = &rig->plan,
        .places = rig->set.places,
        .place_count = rig->set.place_count,
        .event_count = rig->set.event_count,
        .layout = weir_walk_layout_of(&rig->set),
        .buffer_bytes = options->buffer_bytes,
        .grow_pool = options->grow_pool,
        .stage = {.level = options->compression_level, .workers = options->compression_threads},
        .retained_bytes = options->retained_bytes,
        .retained_span_ns = options->retained_span_ns,
        .shed = &rig->shed,
        .set = options->renames ? &rig->set : NULL,
        .modes = modes_of(options),
        .aux = options->aux,
    };
    result = explained(weir_pipeline_init(&rig->pipeline, &setup, err), err);
    rig->piped = result == 0;
    return result == 0 ? map_rings(rig, options) : result;
}

int sim_rig_try_init(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    memset(rig, 0, sizeof(*rig));
    rig->list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    rig->renames = options->renames;
    int result = open_machine(rig, options, err);
    if (result == 0)
        result = open_pipeline(rig, options, err);
    if (result < 0)
        sim_rig_fini(rig);
    return result;
}

void sim_rig_init(struct sim_rig *rig, const struct sim_rig_options *options)
{
    struct weir_error err = {0};
    must(sim_rig_try_init(rig, options, &err), &err);
}

void sim_rig_fini(struct sim_rig *rig)
{
    if (rig->piped)
        weir_pipeline_fini(&rig->pipeline);
    weir_shed_plan_fini(&rig->shed);
    weir_event_set_close(&rig->set);
    weir_targets_fini(&rig->targets);
    weir_event_list_fini(&rig->list);
    weir_plan_fini(&rig->plan);
    weir_cpuset_fini(&rig->cpus);
    weir_cpuset_fini(&rig->late_cpus);
    weir_topology_free(rig->topology);
    weir_assert(!rig->sim || weir_sim_kernel_is_released(rig->sim));
    weir_sim_kernel_free(rig->sim);
    memset(rig, 0, sizeof(*rig));
}

int sim_rig_fd(const struct sim_rig *rig, unsigned event, unsigned place)
{
    return weir_event_set_fd(&rig->set, event, place, 0);
}
