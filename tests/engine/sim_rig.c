/* The engine on the simulated kernel. Set-up and end on one thread. */
#include "tests/engine/sim_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "format/event_desc.h"

static void must(int result, const struct weir_error *err)
{
    if (result == 0)
        return;
    fprintf(stderr, "cannot set up the simulation: %d %s\n", result, err->what);
    weir_assert(!"the simulation can be set up");
}

static void open_events(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    rig->config = (struct weir_event_config){
        .period = 1,
        .period_or_freq_given = true,
        .system_wide = true,
        .watermark_bytes = options->watermark_bytes ? options->watermark_bytes : (uint32_t)(options->ring_bytes / 4),
        .sideband_watermark_bytes = 1,
        .overwrite = options->overwrite,
    };
    rig->list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    must(weir_event_list_parse(&rig->list, options->events ? options->events : "bpf-output", err), err);
    must(weir_event_list_add_sideband(&rig->list), err);
    must(weir_targets_init_all(&rig->targets), err);
    must(weir_event_set_open(&rig->set,
                             &(struct weir_event_set_setup){
                                 .kernel = options->kernel ? options->kernel : &rig->kernel,
                                 .list = &rig->list,
                                 .cpus = &rig->cpus,
                                 .late_cpus = &rig->late_cpus,
                                 .waiting_cpus = &rig->waiting_cpus,
                                 .targets = &rig->targets,
                                 .config = &rig->config,
                                 .limits = &rig->limits,
                             },
                             err),
         err);
}

static void map_ring(struct sim_rig *rig, unsigned place, bool sideband)
{
    struct weir_error err = {0};
    struct weir_reader_ring *r = weir_pipeline_ring(&rig->pipeline, place, sideband);
    must(weir_event_set_map_ring(&rig->set, place, sideband, sideband ? rig->sideband_ring_bytes : rig->ring_bytes,
                                 &r->ring),
         &err);
    unsigned count;
    const int *fds = weir_event_set_poll_fds(&rig->set, place, sideband, &count);
    weir_reader_set_poll_fds(r, fds, count);
}

static void map_rings(struct sim_rig *rig, const struct sim_rig_options *options)
{
    rig->ring_bytes = options->ring_bytes;
    rig->sideband_ring_bytes = options->sideband_ring_bytes ? options->sideband_ring_bytes : options->ring_bytes;
    for (unsigned place = 0; place < rig->set.late_from; place++) {
        if (!rig->set.places[place].waiting)
            map_ring(rig, place, false);
        map_ring(rig, place, true);
    }
}

void sim_rig_begin_ring(struct sim_rig *rig, unsigned place)
{
    map_ring(rig, place, false);
    weir_pipeline_wake_place(&rig->pipeline, place);
}

void sim_rig_take_cpu(struct sim_rig *rig, unsigned place)
{
    weir_sim_kernel_set_cpu(rig->sim, rig->set.places[place].cpu, false);
}

void sim_rig_bring_cpu(struct sim_rig *rig, unsigned place)
{
    struct weir_error err = {0};
    weir_sim_kernel_set_cpu(rig->sim, rig->set.places[place].cpu, true);
    must(weir_event_set_reopen(&rig->set, place, &rig->limits, &err), &err);
    if (!weir_pipeline_has_place(&rig->pipeline, place)) {
        map_ring(rig, place, false);
        map_ring(rig, place, true);
        weir_pipeline_wake_place(&rig->pipeline, place);
    }
    weir_event_set_enable_place(&rig->set, place);
}

static void choose_cpus(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    for (unsigned cpu = 0; cpu < options->cpus + options->late; cpu++) {
        must(weir_cpuset_add(cpu < options->cpus ? &rig->cpus : &rig->late_cpus, cpu), err);
        if (cpu < options->cpus && cpu + options->waiting >= options->cpus)
            must(weir_cpuset_add(&rig->waiting_cpus, cpu), err);
        if (cpu >= options->cpus)
            weir_sim_kernel_set_cpu(rig->sim, (int)cpu, false);
    }
}

void sim_rig_init(struct sim_rig *rig, const struct sim_rig_options *options)
{
    struct weir_error err = {0};
    char machine[64];
    memset(rig, 0, sizeof(*rig));
    must(weir_sim_kernel_new(&rig->sim), &err);
    rig->kernel = weir_sim_kernel_interface(rig->sim);
    snprintf(machine, sizeof(machine), "core:%u pu:1", options->cpus);
    must(weir_topology_load_synthetic(&rig->topology, machine, &err), &err);
    choose_cpus(rig, options, &err);
    must(weir_plan_make(&rig->plan, rig->topology, &rig->cpus, options->threads_spec, NULL, &err), &err);
    open_events(rig, options, &err);

    must(weir_shed_plan_init(&rig->shed, options->shed, &rig->list), &err);
    const struct perf_event_attr *attr = &rig->list.events[0].attr;
    struct weir_pipeline_setup setup = {
        .kernel = options->kernel ? options->kernel : &rig->kernel,
        .clock = options->clock ? options->clock : &weir_clock_monotonic,
        .plan = &rig->plan,
        .places = rig->set.places,
        .place_count = rig->set.place_count,
        .event_count = rig->set.event_count,
        .layout =
            {
                .ids = &rig->set.id_map,
                .id_offset = weir_attr_sample_offset(attr, PERF_SAMPLE_IDENTIFIER),
                .time_offset = weir_attr_sample_offset(attr, PERF_SAMPLE_TIME),
                .sideband_event = weir_event_set_sideband(&rig->set),
            },
        .buffer_bytes = options->buffer_bytes,
        .compression_level = options->compression_level,
        .compression_threads = options->compression_threads,
        .retained_bytes = options->retained_bytes,
        .retained_span_ns = options->retained_span_ns,
        .shed = &rig->shed,
        .snapshots_only = options->retained_bytes > 0 || options->overwrite,
    };
    must(weir_pipeline_init(&rig->pipeline, &setup, &err), &err);
    map_rings(rig, options);
}

void sim_rig_fini(struct sim_rig *rig)
{
    weir_pipeline_fini(&rig->pipeline);
    weir_shed_plan_fini(&rig->shed);
    weir_event_set_close(&rig->set);
    weir_targets_fini(&rig->targets);
    weir_event_list_fini(&rig->list);
    weir_plan_fini(&rig->plan);
    weir_cpuset_fini(&rig->cpus);
    weir_cpuset_fini(&rig->late_cpus);
    weir_cpuset_fini(&rig->waiting_cpus);
    weir_topology_free(rig->topology);
    weir_sim_kernel_free(rig->sim);
}

int sim_rig_fd(const struct sim_rig *rig, unsigned event, unsigned place)
{
    return weir_event_set_fd(&rig->set, event, place, 0);
}
