/*
 * The whole engine below the session on the simulated kernel: events open on every CPU, rings mapped, pipeline built.
 * The test drives the steps itself or starts threads. No Criterion here: race programs use it too, so what must hold is
 * asserted.
 */
#ifndef WEIR_TESTS_ENGINE_SIM_RIG_H
#define WEIR_TESTS_ENGINE_SIM_RIG_H

#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/sim/sim_kernel.h"

struct sim_rig_options {
    unsigned cpus;
    unsigned late; /* so many more, which are offline at the start */
    bool of_task;  /* events of one task, which are on while a late CPU has no rings; else of all tasks */
    const struct weir_aux_hooks *aux; /* data rings have room for AUX areas; NULL: none has */
    const char *events;               /* NULL: "bpf-output", samples with a payload */
    const char *threads_spec;         /* NULL: a reader per CPU */
    uint64_t ring_bytes;
    uint64_t sideband_ring_bytes; /* 0: as ring_bytes */
    uint32_t watermark_bytes;     /* 0: a quarter of the ring */
    uint64_t buffer_bytes;
    int compression_level; /* 0: none */
    unsigned compression_threads;
    bool renames;            /* a CPU that has come back writes under its old ids, and the file is told of it */
    bool without_ids;        /* of one event: records are told apart by their CPU */
    bool grow_pool;          /* what is beyond the start of the pool is not ready */
    bool overwrite;          /* rings of the newest samples */
    bool stream;             /* the output is one */
    uint64_t retained_bytes; /* 0: everything goes to the file */
    uint64_t retained_span_ns;
    enum weir_shed shed;
    const struct weir_clock *clock;   /* NULL: monotonic */
    const struct weir_kernel *kernel; /* over sim; NULL: sim itself */
};

struct sim_rig {
    struct weir_sim_kernel *sim;
    struct weir_kernel kernel;
    struct weir_topology *topology;
    struct weir_cpuset cpus, late_cpus;
    uint64_t ring_bytes, sideband_ring_bytes;
    struct weir_plan plan;
    struct weir_event_list list;
    struct weir_targets targets;
    struct weir_event_config config;
    struct weir_kernel_limits limits;
    struct weir_event_set set;
    struct weir_shed_plan shed;
    struct weir_pipeline pipeline;
    bool piped; /* pipeline was initialized */
    bool renames;
    uint64_t returns; /* of CPUs, of which readers were told */
};

/* Events are open and disabled, but for the sideband event, which counts already. */
void sim_rig_init(struct sim_rig *rig, const struct sim_rig_options *options);

/* The same where it may fail: 0, or -errno with err, and then nothing is held. That err says what failed is asserted.
 */
int sim_rig_try_init(struct sim_rig *rig, const struct sim_rig_options *options, struct weir_error *err);
void sim_rig_fini(struct sim_rig *rig);

/* A CPU goes, or comes (back): what the coordinator does then. */
void sim_rig_take_cpu(struct sim_rig *rig, unsigned place);
void sim_rig_bring_cpu(struct sim_rig *rig, unsigned place);

/* Maps both rings of a place: what the coordinator does when a CPU comes for the first time. 0 or -errno. */
int sim_rig_map_place(struct sim_rig *rig, unsigned place);

/* One comes and may not be recorded: 0 or -errno, as open_place() in cpu_follower.c. It may be tried again. */
int sim_rig_try_bring_cpu(struct sim_rig *rig, unsigned place, struct weir_error *err);

/* The descriptor of an event; event == set.event_count - 1 is the sideband event. */
int sim_rig_fd(const struct sim_rig *rig, unsigned event, unsigned place);

#endif
