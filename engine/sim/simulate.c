/*
 * A recording from simulated rings. The calling thread is the coordinator; producer threads (sim_producer.h) play the
 * machine's CPUs; readers and writer are the real ones.
 */
#include "engine/sim/simulate.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/files/file_series.h"
#include "engine/plan/budget.h"
#include "engine/plan/record_modes.h"
#include "engine/session/coordinator.h"
#include "engine/session/data_path.h"
#include "engine/session/status.h"
#include "engine/sim/sim_disk.h"
#include "engine/sim/sim_kernel.h"
#include "engine/sim/sim_stack.h"

#define RING_DEFAULT_BYTES  (512ull << 10)
#define SIDEBAND_RING_BYTES (64ull << 10)
#define PAYLOAD_MAX_BYTES   60000u
#define STACK_FRAMES        18            /* calls of one function, beside its callers: 20 frames fit into a copy */
#define SNAPSHOT_CHANCE     8             /* a snapshot in one of this many milliseconds */
#define COPY_AREA_MAX_BYTES (64ull << 20) /* memory that memcpy(3) is measured on: larger areas give the same speed */

struct simulation {
    const struct weir_simulate_options *options; /* borrowed */
    struct weir_record_options record_options;
    struct weir_record_result *record; /* borrowed */
    struct weir_machine_facts machine;
    struct weir_recording_plan plan;
    struct weir_targets targets;
    struct weir_coordinator coordinator;
    bool listening; /* coordinator was initialized */
    struct weir_data_path path;
    struct weir_file_facts facts;
    struct weir_sideband_host sideband; /* without a thread */
    struct weir_file_series files;
    struct weir_event_list events;
    struct weir_sim_kernel *sim;
    struct weir_kernel kernel;
    struct weir_sim_disk disk;
    struct weir_io_ops disk_ops; /* of disk */
    struct weir_sim_producers *producers;
    struct weir_sim_stage stage;
    struct weir_sim_stack *stack; /* owned; of the kind unwind; NULL: none */
    int done_fd;                  /* owned */
    uint64_t random;              /* state of the random times of snapshots */
    uint64_t tell_at_ns;          /* the next call of options->record.watch */
};

/* ---- setting up ---- */

static int plan(struct simulation *s, struct weir_error *err)
{
    const struct weir_simulate_options *options = s->options;
    char machine[64];
    snprintf(machine, sizeof(machine), "numa:%u core:%u pu:1", options->nodes, options->load.cpus / options->nodes);
    int result = weir_topology_load_synthetic(&s->machine.topology, machine, err);
    if (result == 0)
        result = weir_cpuset_copy(&s->plan.cpus, weir_topology_online(s->machine.topology));
    s->plan.options = &s->record_options;
    s->plan.machine = &s->machine;
    s->machine.memory_limit.bytes = UINT64_MAX;
    if (result == 0)
        result = weir_plan_make(&s->plan.placement, s->machine.topology, &s->plan.cpus,
                                options->record.readers.threads_spec, options->record.notices, err);
    return result;
}

/* Places each reader on the CPU of this machine that plays the CPU of its rings. */
static int stage(struct simulation *s)
{
    struct weir_plan *plan = &s->plan.placement;
    int result = weir_sim_stage_init(&s->stage);
    for (unsigned i = 0; result == 0 && i < plan->reader_count; i++)
        result = weir_sim_stage_translate(&s->stage, &plan->readers[i].affinity);
    return result;
}

/* Returns the descriptors that the run needs: each event of the simulated kernel has one. */
static uint64_t fds_needed(const struct simulation *s)
{
    return weir_budget_fds(s->events.count * s->options->load.cpus, s->plan.placement.reader_count);
}

static void raise_fd_limit(struct simulation *s)
{
    struct weir_kernel_limits *limits = &s->machine.limits;
    weir_kernel_limits_read(limits, NULL);
    if (fds_needed(s) > limits->nofile)
        weir_kernel_limits_raise_nofile(limits);
}

/* Takes the stack that samples of the kind unwind have. */
static int take_stack(struct simulation *s, struct weir_error *err)
{
    struct utsname machine;
    if (!s->record_options.samples.call_graph.unwinds)
        return 0;
    s->plan.unwinds = uname(&machine) == 0 ? weir_unwind_machine_find(machine.machine) : NULL;
    if (!s->plan.unwinds ||
        weir_sim_stack_new(&s->stack, STACK_FRAMES, weir_recording_plan_stage(&s->plan, NULL).workers) < 0)
        return weir_error_set(err, -ENOTSUP, "cannot take a stack for samples of the kind unwind: x86_64 only");
    return 0;
}

static int prepare(struct simulation *s, struct weir_error *err)
{
    const struct weir_simulate_options *options = s->options;
    int result = plan(s, err);
    if (result == 0)
        result = take_stack(s, err);
    if (result == 0)
        result = stage(s);
    if (result == 0)
        result = weir_sim_mix_add_events(&options->load.mix, &s->events, err);
    if (result == 0)
        result = weir_event_list_add_sideband(&s->events);
    if (result == 0 && s->record_options.samples.call_graph.defers)
        result = weir_event_list_add_deferred(&s->events);
    if (result == 0)
        result = weir_targets_init_all(&s->targets);
    if (result == 0)
        result = weir_sim_kernel_new(&s->sim);
    if (result < 0)
        return result;
    raise_fd_limit(s);
    s->kernel = weir_sim_kernel_interface(s->sim);
    s->plan.grow_pool = s->plan.buffer_bytes == 0 && s->plan.retained_bytes == 0;
    if (s->plan.buffer_bytes == 0)
        s->plan.buffer_bytes =
            weir_pool_default_bytes(weir_topology_memory_bytes(s->machine.topology), s->plan.placement.reader_count);
    s->plan.ring_bytes = options->record.memory.ring_bytes ? options->record.memory.ring_bytes : RING_DEFAULT_BYTES;
    s->plan.sideband_ring_bytes = weir_min_u64(SIDEBAND_RING_BYTES, s->plan.ring_bytes);
    s->plan.config = (struct weir_event_config){
        .samples.aggregate = s->record_options.samples.aggregate,
        .samples.call_graph = s->record_options.samples.call_graph,
        .period = 1,
        .period_or_freq_given = true,
        .system_wide = true,
        .watermark_bytes = (uint32_t)weir_min_u64(s->plan.ring_bytes / WEIR_RING_WATERMARK_SHARE, UINT32_MAX),
        .sideband_watermark_bytes = (uint32_t)(s->plan.sideband_ring_bytes / WEIR_RING_WATERMARK_SHARE),
    };
    weir_data_path_init(&s->path, &(struct weir_data_path_setup){
                                      .plan = &s->plan,
                                      .kernel = &s->kernel,
                                      .clock = &weir_clock_monotonic,
                                      .targets = &s->targets,
                                      .unwind_source = weir_sim_stack_source(s->stack),
                                      .pins_readers = true, /* stage() has put CPUs of this machine into the plan */
                                  });
    return 0;
}

static bool is_hurried(void *ctx)
{
    struct simulation *s = ctx;
    return weir_coordinator_is_hurried(&s->coordinator);
}

static int open_files(struct simulation *s, struct weir_error *err)
{
    const struct weir_clock_reference no_clock = {0};
    const struct weir_file_facts_sources sources = {
        .options = &s->record_options,
        .events = &s->path.events,
        .config = &s->plan.config,
        .topology = s->machine.topology,
        .clock_reference = &no_clock,
        .chunk_bytes = s->path.pipeline.pool.chunk_bytes,
    };
    int result = weir_file_facts_gather(&s->facts, &sources, err);
    if (result < 0)
        return result;
    weir_file_series_init(&s->files, &(struct weir_file_series_setup){
                                         .plan = &s->plan,
                                         .limits = &s->machine.limits,
                                         .facts = &s->facts,
                                         .events = &s->path.events,
                                         .pipeline = &s->path.pipeline,
                                         .sideband = &s->sideband,
                                         .result = s->record,
                                         .clock = &weir_clock_monotonic,
                                         .day = &weir_clock_day,
                                         .io = s->options->stall_ns > 0 ? &s->disk_ops : NULL,
                                         .hooks = {.is_hurried = is_hurried, .ctx = s},
                                     });
    return weir_file_series_open(&s->files, err);
}

static int open_all(struct simulation *s, struct weir_error *err)
{
    int result = weir_data_path_open_events(&s->path, err);
    if (result == 0)
        result = weir_data_path_make_pipeline(&s->path, err);
    if (result == 0)
        result = weir_data_path_map_rings(&s->path, err);
    if (result == 0)
        result = open_files(s, err);
    if (result == 0)
        result = weir_pipeline_start(&s->path.pipeline, s->files.current->output, err);
    if (result == 0)
        result = weir_file_series_name(&s->files, err);
    return result;
}

/* ---- running ---- */

/* Takes a snapshot of the samples in memory, by chance; the request is refused while the last snapshot is being
 * written. Returns the time of the next chance. */
static uint64_t snapshot_perhaps(struct simulation *s, uint64_t now_ns)
{
    if (s->options->record.memory.retained_bytes == 0)
        return UINT64_MAX;
    if (weir_sim_random(&s->random) % SNAPSHOT_CHANCE == 0)
        weir_rounds_snapshot(&s->path.pipeline.rounds);
    return now_ns + WEIR_NS_PER_MS;
}

/* Tells the watch when it is due. Returns the time of the next call. */
static uint64_t tell_watch(struct simulation *s, uint64_t begun_ns, uint64_t now_ns)
{
    const struct weir_record_watch *watch = s->options->record.watch;
    if (!watch || !watch->tell_figures)
        return UINT64_MAX;
    if (now_ns >= s->tell_at_ns && s->tell_at_ns > 0) {
        struct weir_record_figures figures;
        weir_status_gather(
            &(struct weir_status_sources){
                .state = "enabled", .elapsed_ns = now_ns - begun_ns, .files = 1, .pipeline = &s->path.pipeline},
            &figures);
        watch->tell_figures(watch->ctx, &figures);
    }
    if (now_ns >= s->tell_at_ns)
        s->tell_at_ns = now_ns + watch->period_ms * WEIR_NS_PER_MS;
    return s->tell_at_ns;
}

/* The coordinator's loop of a simulated run. It ends when `producers` threads are done, at until_ns, by a signal, or
 * when the output fails. */
static void run(struct simulation *s, unsigned producers, uint64_t until_ns)
{
    struct weir_pipeline *pipeline = &s->path.pipeline;
    uint64_t done = 0;
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic), begun_ns = now_ns;
    while (done < producers && now_ns < until_ns &&
           atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed) == 0 &&
           !weir_coordinator_is_hurried(&s->coordinator)) {
        uint64_t snapshot_ns = snapshot_perhaps(s, now_ns);
        uint64_t next_ns = weir_min_u64(weir_rounds_advance(&pipeline->rounds, now_ns), until_ns);
        next_ns = weir_min_u64(next_ns, snapshot_ns);
        next_ns = weir_min_u64(next_ns, tell_watch(s, begun_ns, now_ns));
        uint64_t wait_ms = next_ns > now_ns ? (next_ns - now_ns) / WEIR_NS_PER_MS + 1 : 0;
        struct pollfd fds[] = {
            {.fd = s->done_fd, .events = POLLIN},
            {.fd = pipeline->kick_fd, .events = POLLIN},
            {.fd = s->coordinator.signal_fd, .events = POLLIN},
        };
        poll(fds, WEIR_ARRAY_COUNT(fds), (int)wait_ms);
        eventfd_t count;
        if (eventfd_read(s->done_fd, &count) == 0)
            done += count;
        weir_pipeline_take_kick(pipeline);
        now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    }
    s->record->end = s->coordinator.ending_signal ? WEIR_RECORD_END_SIGNAL : WEIR_RECORD_END_TARGETS;
}

static double process_cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / (double)WEIR_NS_PER_S;
}

/* Measures the idle time: nothing is produced, and no thread should wake up. */
static void idle(struct simulation *s, struct weir_simulate_result *result)
{
    if (s->options->idle_ns == 0)
        return;
    struct rusage before, after;
    double cpu_before = process_cpu_seconds();
    getrusage(RUSAGE_SELF, &before);
    run(s, UINT_MAX, weir_clock_now_ns(&weir_clock_monotonic) + s->options->idle_ns);
    getrusage(RUSAGE_SELF, &after);
    result->idle_cpu_seconds = process_cpu_seconds() - cpu_before;
    result->idle_switches = (uint64_t)(after.ru_nvcsw - before.ru_nvcsw);
}

/* Finishes the file and tells the rings and the memory of the run. */
static int finish(struct simulation *s, struct weir_error *err)
{
    const struct weir_pipeline *pipeline = &s->path.pipeline;
    int code = weir_file_series_finish(&s->files, false, err);
    s->record->ring_bytes = s->plan.ring_bytes;
    s->record->rings = weir_pipeline_mapped_rings(pipeline);
    s->record->pool_bytes = (uint64_t)pipeline->pool.chunk_count * pipeline->pool.chunk_bytes;
    return code;
}

/* Runs from the first record to the closed file. */
static int produce_and_finish(struct simulation *s, struct weir_simulate_result *result, struct weir_error *err)
{
    const struct weir_sim_producers_setup setup = {
        .load = s->options->load,
        .events = &s->path.events,
        .sim = s->sim,
        .stage = &s->stage,
        .stack = s->stack,
        .clock = &weir_clock_monotonic,
        .done_fd = s->done_fd,
    };
    double cpu_before = process_cpu_seconds();
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    if (s->options->stall_ns > 0)
        weir_sim_disk_stall(&s->disk, started_ns + WEIR_SIMULATE_WARM_UP_NS,
                            started_ns + WEIR_SIMULATE_WARM_UP_NS + s->options->stall_ns);
    int code = weir_sim_producers_start(&s->producers, &setup, err);
    if (code == 0)
        run(s, weir_sim_producers_count(s->producers), UINT64_MAX);
    struct weir_sim_produced produced = {0};
    weir_sim_producers_stop(s->producers, &produced);
    weir_event_set_disable(&s->path.events);
    weir_pipeline_stop_readers(&s->path.pipeline, s->options->record.memory.retained_bytes > 0);
    int finished = finish(s, code == 0 ? err : NULL);
    result->seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - started_ns) / (double)WEIR_NS_PER_S;
    result->produce_seconds = produced.seconds;
    result->recorder_cpu_seconds = process_cpu_seconds() - cpu_before - produced.cpu_seconds;
    return code < 0 ? code : finished;
}

/* ---- what came of it ---- */

static struct weir_simulate_node *node_of_cpu(struct weir_simulate_result *result, const struct simulation *s, int cpu)
{
    int node = weir_topology_cpu(s->machine.topology, (unsigned)cpu)->node;
    return &result->nodes[node]; /* a synthetic machine numbers its nodes from 0 */
}

static void count_readers(const struct simulation *s, struct weir_simulate_result *result)
{
    for (unsigned i = 0; i < s->path.pipeline.reader_count; i++) {
        const struct weir_reader *reader = s->path.pipeline.readers[i];
        struct weir_simulate_node *here = &result->nodes[s->plan.placement.readers[i].node];
        double cpu_seconds = (double)s->path.pipeline.threads[i].cpu_time_ns / (double)WEIR_NS_PER_S;
        here->readers++;
        here->wakeups += reader->wakeups;
        here->crossed_bytes += reader->sink.lent_bytes;
        here->reader_cpu_seconds += cpu_seconds;
        result->reader_cpu_seconds += cpu_seconds;
        for (unsigned n = 0; n < reader->rings.count; n++) {
            const struct weir_reader_ring *r = &reader->rings.at[n];
            struct weir_simulate_node *home = node_of_cpu(result, s, s->path.events.places[r->place].cpu);
            home->bytes += r->drained_bytes;
            home->crossed_bytes += home == here ? 0 : r->drained_bytes;
            result->drained_bytes += r->drained_bytes;
        }
    }
}

static void count_samples(const struct simulation *s, struct weir_simulate_result *result)
{
    const struct weir_event_set *set = &s->path.events;
    for (unsigned place = 0; place < set->place_count; place++) {
        node_of_cpu(result, s, set->places[place].cpu)->cpus++;
        for (unsigned event = 0; event < weir_event_set_sideband(set); event++) {
            uint64_t produced, lost;
            weir_sim_kernel_totals(s->sim, weir_event_set_fd(set, event, place, 0), &produced, &lost);
            result->produced += produced;
        }
    }
    for (size_t i = 0; i < result->record.ledger_count; i++) {
        const struct weir_ledger_row *row = &result->record.ledger[i];
        struct weir_simulate_node *node = node_of_cpu(result, s, row->cpu);
        if (row->event >= weir_event_set_sideband(set))
            continue;
        node->samples += row->written;
        node->lost += weir_ledger_row_lost(row);
    }
}

static int collect(const struct simulation *s, struct weir_simulate_result *result, struct weir_error *err)
{
    result->node_count = weir_topology_node_limit(s->machine.topology);
    result->nodes = calloc(result->node_count, sizeof(*result->nodes));
    if (!result->nodes)
        return weir_error_set_errno(err, -ENOMEM, "cannot sum up the run");
    for (unsigned i = 0; i < result->node_count; i++)
        result->nodes[i].node = (int)i;
    count_readers(s, result);
    count_samples(s, result);
    const struct weir_pipeline *pipeline = &s->path.pipeline;
    result->writer_cpu_seconds = (double)pipeline->threads[pipeline->reader_count].cpu_time_ns / (double)WEIR_NS_PER_S;
    result->stage_cpu_seconds = (double)pipeline->stage.totals.cpu_time_ns / (double)WEIR_NS_PER_S;
    weir_shared_histogram_read(&pipeline->writer.latency_us, &result->latency_us);
    struct weir_output_stats stats;
    weir_output_get_stats(s->files.current->output, &stats);
    result->direct_bytes = stats.direct_bytes;
    result->record.signal = s->coordinator.ending_signal;
    return 0;
}

/* ---- all of it ---- */

static void measure_copying(const struct simulation *s, struct weir_copy_speed *speed)
{
    unsigned cores = s->stage.count, cpus = s->options->load.cpus;
    weir_copy_speed_measure(speed, weir_min_u64(s->plan.ring_bytes, COPY_AREA_MAX_BYTES), (cpus + cores - 1) / cores,
                            weir_min_u64(s->plan.buffer_bytes, COPY_AREA_MAX_BYTES));
}

static int simulate(struct simulation *s, struct weir_simulate_result *result, struct weir_error *err)
{
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    int code = prepare(s, err);
    if (code == 0) {
        code = weir_coordinator_init(&s->coordinator, err);
        s->listening = code == 0;
    }
    if (code == 0)
        code = open_all(s, err);
    if (code < 0)
        return code;
    weir_event_set_enable(&s->path.events, true);
    weir_event_set_enable(&s->path.events, false);
    result->open_seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - started_ns) / (double)WEIR_NS_PER_S;
    idle(s, result);
    measure_copying(s, &result->copy);
    code = produce_and_finish(s, result, err);
    if (code < 0)
        return code;
    measure_copying(s, &result->copy);
    return collect(s, result, err);
}

static void release(struct simulation *s)
{
    weir_data_path_stop(&s->path);
    weir_file_series_close(&s->files);
    weir_file_facts_fini(&s->facts); /* names are the events' */
    weir_data_path_close(&s->path);
    weir_targets_fini(&s->targets);
    if (s->listening)
        weir_coordinator_fini(&s->coordinator);
    weir_recording_plan_fini(&s->plan);
    weir_machine_facts_fini(&s->machine);
}

static int check_options(const struct weir_simulate_options *options, struct weir_error *err)
{
    const struct weir_sim_load *load = &options->load;
    if (load->cpus < 1 || load->cpus > WEIR_SIMULATE_CPUS_MAX)
        return weir_error_set(err, -EINVAL, "cannot simulate %u CPUs: 1 to %u", load->cpus, WEIR_SIMULATE_CPUS_MAX);
    if (options->nodes < 1 || load->cpus % options->nodes != 0) {
        weir_error_set(err, -EINVAL, "%u CPUs cannot be spread evenly over %u nodes", load->cpus, options->nodes);
        weir_error_hint(err, "the number of CPUs must be a multiple of the number of nodes");
        return -EINVAL;
    }
    if (load->payload_bytes < 8 || load->payload_bytes > PAYLOAD_MAX_BYTES)
        return weir_error_set(err, -EINVAL, "cannot simulate payloads of %u bytes: 8 to %u", load->payload_bytes,
                              PAYLOAD_MAX_BYTES);
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (options->record.memory.ring_bytes &&
        (!weir_is_power_of_two(options->record.memory.ring_bytes) || options->record.memory.ring_bytes < page_bytes))
        return weir_error_set(err, -EINVAL, "cannot simulate rings of %llu bytes: a power of two of pages",
                              (unsigned long long)options->record.memory.ring_bytes);
    return 0;
}

int weir_simulate_run(const struct weir_simulate_options *options, struct weir_simulate_result *result,
                      struct weir_error *err)
{
    memset(result, 0, sizeof(*result));
    int code = check_options(options, err);
    if (code < 0)
        return code;

    struct simulation s = {
        .options = options,
        .random = options->load.seed * 2 + 1,
        .events = WEIR_EVENT_LIST_INIT,
        .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .record_options = options->record,
        .record = &result->record,
        .path.aux = WEIR_AUX_KEEPER_INIT,
    };
    s.record_options.targets.system_wide = true;
    s.record_options.events = &s.events;
    if (options->load.mix.parts[WEIR_SIM_AGGREGATE] > 0)
        s.record_options.samples.aggregate.interval_ns = WEIR_NS_PER_S;
    s.record_options.samples.call_graph.defers = options->load.mix.parts[WEIR_SIM_DEFERRED] > 0;
    s.record_options.samples.call_graph.unwinds = options->load.mix.parts[WEIR_SIM_UNWIND] > 0;
    s.plan.modes = weir_record_modes(&s.record_options);
    s.plan.buffer_bytes = options->record.memory.buffer_bytes;
    s.plan.retained_bytes = options->record.memory.retained_bytes;
    weir_modes_add(&s.plan.modes, WEIR_MODE_ONE_FILE);
    weir_sim_disk_init(&s.disk, &weir_clock_monotonic);
    s.disk_ops = weir_sim_disk_ops(&s.disk);
    if (s.done_fd < 0) {
        code = weir_error_set_errno(err, -errno, "cannot make an eventfd");
    } else {
        code = simulate(&s, result, err);
        close(s.done_fd);
    }
    release(&s);
    weir_event_list_fini(&s.events);
    weir_sim_kernel_free(s.sim);
    weir_sim_stage_fini(&s.stage);
    weir_sim_stack_free(s.stack);
    return code;
}

void weir_simulate_result_fini(struct weir_simulate_result *result)
{
    if (!result)
        return;
    weir_record_result_fini(&result->record);
    free(result->nodes);
    result->nodes = NULL;
    result->node_count = 0;
}

double weir_simulate_pool_seconds(const struct weir_simulate_result *result, bool with_rings)
{
    if (result->drained_bytes == 0 || result->produce_seconds <= 0)
        return 0;
    const struct weir_record_result *record = &result->record;
    uint64_t bytes = record->pool_bytes + (with_rings ? record->ring_bytes * record->rings / 2 : 0);
    return (double)bytes * result->produce_seconds / (double)result->drained_bytes;
}
