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
    };
    rig->list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    must(weir_event_list_parse(&rig->list, options->events ? options->events : "bpf-output", err), err);
    must(weir_event_list_add_sideband(&rig->list), err);
    must(weir_targets_init_all(&rig->targets), err);
    must(weir_event_set_open(&rig->set,
                             &(struct weir_event_set_setup){
                                 .kernel = options->kernel ? options->kernel : &rig->kernel,
                                 .list = &rig->list,
                                 .cpus = weir_topology_online(rig->topology),
                                 .targets = &rig->targets,
                                 .config = &rig->config,
                                 .limits = &rig->limits,
                             },
                             err),
         err);
}

static void map_rings(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err)
{
    for (unsigned cpu = 0; cpu < rig->set.place_count; cpu++) {
        for (int sideband = 0; sideband < 2; sideband++) {
            struct weir_reader_ring *r = weir_pipeline_ring(&rig->pipeline, cpu, sideband);
            bool own_size = sideband && options->sideband_ring_bytes;
            uint64_t bytes = own_size ? options->sideband_ring_bytes : options->ring_bytes;
            must(weir_event_set_map_ring(&rig->set, cpu, sideband, bytes, &r->ring), err);
            unsigned count;
            const int *fds = weir_event_set_poll_fds(&rig->set, cpu, sideband, &count);
            weir_reader_set_poll_fds(r, fds, count);
        }
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
    must(weir_plan_make(&rig->plan, rig->topology, weir_topology_online(rig->topology), options->threads_spec, NULL,
                        &err),
         &err);
    open_events(rig, options, &err);

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
    };
    must(weir_pipeline_init(&rig->pipeline, &setup, &err), &err);
    map_rings(rig, options, &err);
}

void sim_rig_fini(struct sim_rig *rig)
{
    weir_pipeline_fini(&rig->pipeline);
    weir_event_set_close(&rig->set);
    weir_targets_fini(&rig->targets);
    weir_event_list_fini(&rig->list);
    weir_plan_fini(&rig->plan);
    weir_topology_free(rig->topology);
    weir_sim_kernel_free(rig->sim);
}

int sim_rig_fd(const struct sim_rig *rig, unsigned event, unsigned place)
{
    return weir_event_set_fd(&rig->set, event, place, 0);
}
