/*
 * A run on simulated rings. The calling thread is the coordinator; producer threads play the machine's CPUs, each a
 * share of them; readers and writer are the real ones.
 */
#include "engine/simulate.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/ledger.h"
#include "engine/session.h"
#include "engine/sim_kernel.h"

#define RING_DEFAULT_BYTES  (512ull << 10)
#define SIDEBAND_RING_BYTES (64ull << 10)
#define SIDEBAND_EVERY      1024 /* samples between two side records of a CPU */
#define BURST               64   /* samples of one CPU before a producer turns to its next one */
#define PACING_NS           WEIR_NS_PER_MS
#define SIM_TASK_BASE       1000 /* simulated CPU n runs a task of this id plus n */

struct producer {
    const struct weir_simulate_options *options; /* borrowed */
    struct weir_session *session;                /* borrowed */
    struct weir_sim_kernel *sim;                 /* borrowed */
    uint8_t *payload;                            /* owned */
    uint64_t random;                             /* state of the payload sizes */
    unsigned first_cpu, cpu_step;                /* produces for first_cpu, first_cpu + cpu_step, ... */
    _Atomic bool *stop;                          /* borrowed */
    pthread_t thread;
    bool started;
    int done_fd; /* borrowed eventfd: one more producer has ended */
};

/* xorshift64* (Vigna, 2016): reproducible from the seed. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static void produce_one(struct producer *producer, unsigned cpu, uint64_t n)
{
    const struct weir_session *session = producer->session;
    uint64_t now_ns = weir_clock_now_ns(session->clock);
    uint32_t task = SIM_TASK_BASE + cpu;
    uint32_t size = producer->options->payload_bytes;
    struct weir_sim_sample sample = {
        .time_ns = now_ns,
        .ip = n,
        .pid = task,
        .tid = task,
        .raw = producer->payload,
        .raw_bytes = size - (uint32_t)(next_random(&producer->random) % (size / 4 + 1)),
    };
    if (n % SIDEBAND_EVERY == 0) {
        char comm[16];
        snprintf(comm, sizeof(comm), "sim-%u", cpu);
        int side_fd = weir_event_set_fd(&session->events, weir_event_set_sideband(&session->events), cpu, 0);
        weir_sim_kernel_comm(producer->sim, side_fd, task, comm, now_ns);
    }
    weir_sim_kernel_sample(producer->sim, weir_event_set_fd(&session->events, 0, cpu, 0), &sample);
}

/* Records that each CPU should have produced by now. */
static uint64_t records_due(const struct weir_simulate_options *options, uint64_t elapsed_ns)
{
    if (options->rate_per_cpu_hz == 0)
        return options->records_per_cpu;
    double due = (double)elapsed_ns / (double)WEIR_NS_PER_S * (double)options->rate_per_cpu_hz;
    return due < (double)options->records_per_cpu ? (uint64_t)due : options->records_per_cpu;
}

static void *producer_main(void *argument)
{
    struct producer *producer = argument;
    const struct weir_simulate_options *options = producer->options;
    uint64_t started_ns = weir_clock_now_ns(producer->session->clock), produced = 0;
    while (produced < options->records_per_cpu && !atomic_load_explicit(producer->stop, memory_order_relaxed)) {
        uint64_t due = records_due(options, weir_clock_now_ns(producer->session->clock) - started_ns);
        uint64_t burst_end = weir_min_u64(due, produced + BURST);
        for (unsigned cpu = producer->first_cpu; cpu < options->cpus; cpu += producer->cpu_step) {
            for (uint64_t n = produced; n < burst_end; n++)
                produce_one(producer, cpu, n);
        }
        if (burst_end == due && due < options->records_per_cpu) {
            const struct timespec pause = {.tv_nsec = (long)PACING_NS};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        }
        produced = burst_end;
    }
    eventfd_write(producer->done_fd, 1);
    return NULL;
}

struct simulation {
    struct weir_session session;
    struct weir_record_options record_options;
    struct weir_event_list events;
    struct weir_sim_kernel *sim;
    struct weir_kernel kernel;
    struct producer *producers; /* owned */
    unsigned producer_count;
    int done_fd; /* owned */
    _Atomic bool stop;
};

/* ---- setting up ---- */

static int prepare(struct simulation *s, const struct weir_simulate_options *options, struct weir_error *err)
{
    struct weir_session *session = &s->session;
    char machine[64];
    snprintf(machine, sizeof(machine), "core:%u pu:1", options->cpus);
    int result = weir_topology_load_synthetic(&session->topology, machine, err);
    if (result == 0)
        result = weir_cpuset_copy(&session->cpus, weir_topology_online(session->topology));
    if (result == 0)
        result = weir_plan_make(&session->plan, session->topology, &session->cpus, options->threads_spec,
                                options->notices, err);
    if (result == 0)
        result = weir_event_list_parse(&s->events, "bpf-output", err);
    if (result == 0)
        result = weir_event_list_add_sideband(&s->events);
    if (result == 0)
        result = weir_targets_init_all(&session->targets);
    if (result == 0)
        result = weir_sim_kernel_new(&s->sim);
    if (result < 0)
        return result;
    s->kernel = weir_sim_kernel_interface(s->sim);
    session->kernel = &s->kernel;
    session->grow_pool = session->buffer_bytes == 0;
    if (session->buffer_bytes == 0)
        session->buffer_bytes =
            weir_pool_default_bytes(weir_topology_memory_bytes(session->topology), session->plan.reader_count);
    session->ring_bytes = options->ring_bytes ? options->ring_bytes : RING_DEFAULT_BYTES;
    session->sideband_ring_bytes = weir_min_u64(SIDEBAND_RING_BYTES, session->ring_bytes);
    session->config = (struct weir_event_config){
        .period = 1,
        .period_or_freq_given = true,
        .system_wide = true,
    };
    return 0;
}

static int open_all(struct simulation *s, struct weir_error *err)
{
    struct weir_session *session = &s->session;
    int result = weir_session_open_events(session, err);
    if (result == 0)
        result = weir_session_init_pipeline(session, err);
    if (result == 0)
        result = weir_session_map_rings(session, err);
    if (result == 0)
        result = weir_session_describe(session, err);
    if (result == 0)
        result = weir_session_open_file(session, err);
    if (result == 0)
        result = weir_pipeline_start(&session->pipeline, session->file->output, err);
    if (result == 0)
        result = weir_record_file_publish(session->file, err);
    return result;
}

/* ---- running ---- */

static int start_producers(struct simulation *s, const struct weir_simulate_options *options, struct weir_error *err)
{
    unsigned count = (unsigned)weir_clamp_u64((uint64_t)sysconf(_SC_NPROCESSORS_ONLN), 1, options->cpus);
    s->producers = calloc(count, sizeof(*s->producers));
    if (!s->producers)
        return weir_error_set_errno(err, -ENOMEM, "cannot start producers");
    for (unsigned i = 0; i < count; i++) {
        struct producer *producer = &s->producers[i];
        *producer = (struct producer){
            .options = options,
            .session = &s->session,
            .sim = s->sim,
            .payload = malloc(options->payload_bytes),
            .random = (options->seed + i) * 2 + 1,
            .first_cpu = i,
            .cpu_step = count,
            .stop = &s->stop,
            .done_fd = s->done_fd,
        };
        s->producer_count++;
        if (!producer->payload)
            return weir_error_set_errno(err, -ENOMEM, "cannot start producers");
        memset(producer->payload, (int)('a' + i % 26), options->payload_bytes);
        int result = -pthread_create(&producer->thread, NULL, producer_main, producer);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot start producer %u", i);
        producer->started = true;
    }
    return 0;
}

static void stop_producers(struct simulation *s)
{
    atomic_store_explicit(&s->stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < s->producer_count; i++) {
        if (s->producers[i].started)
            pthread_join(s->producers[i].thread, NULL);
        free(s->producers[i].payload);
    }
    free(s->producers);
    s->producers = NULL;
    s->producer_count = 0;
}

/* The coordinator's loop of a simulated run: rounds until all producers are done, a signal, or a failed output. */
static void run(struct simulation *s)
{
    struct weir_session *session = &s->session;
    struct weir_pipeline *pipeline = &session->pipeline;
    uint64_t done = 0;
    bool kicked = false;
    while (done < s->producer_count && atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed) == 0 &&
           !weir_coordinator_is_hurried(&session->coordinator)) {
        uint64_t now_ns = weir_clock_now_ns(session->clock);
        uint64_t next_ns = weir_rounds_advance(&pipeline->rounds, now_ns, kicked);
        uint64_t wait_ms = next_ns > now_ns ? (next_ns - now_ns) / WEIR_NS_PER_MS + 1 : 0;
        struct pollfd fds[] = {
            {.fd = s->done_fd, .events = POLLIN},
            {.fd = pipeline->kick_fd, .events = POLLIN},
            {.fd = session->coordinator.signal_fd, .events = POLLIN},
        };
        poll(fds, WEIR_ARRAY_COUNT(fds), (int)wait_ms);
        eventfd_t count;
        if (eventfd_read(s->done_fd, &count) == 0)
            done += count;
        kicked = eventfd_read(pipeline->kick_fd, &count) == 0;
    }
    session->result->end = session->coordinator.ending_signal ? WEIR_RECORD_END_SIGNAL : WEIR_RECORD_END_TARGETS;
}

static void count_produced(const struct simulation *s, struct weir_simulate_result *result)
{
    for (unsigned cpu = 0; cpu < s->session.events.place_count; cpu++) {
        uint64_t produced, lost;
        weir_sim_kernel_totals(s->sim, weir_event_set_fd(&s->session.events, 0, cpu, 0), &produced, &lost);
        result->produced += produced;
    }
    for (unsigned i = 0; i < s->session.pipeline.reader_count + WEIR_PIPELINE_OTHER_THREADS; i++)
        result->recorder_cpu_seconds += (double)s->session.pipeline.threads[i].cpu_time_ns / (double)WEIR_NS_PER_S;
}

static int simulate(struct simulation *s, const struct weir_simulate_options *options,
                    struct weir_simulate_result *result, struct weir_error *err)
{
    struct weir_session *session = &s->session;
    int code = prepare(s, options, err);
    if (code == 0) {
        code = weir_coordinator_init(&session->coordinator, err);
        session->coordinating = code == 0;
    }
    if (code == 0)
        code = open_all(s, err);
    if (code < 0)
        return code;

    uint64_t started_ns = weir_clock_now_ns(session->clock);
    weir_event_set_enable(&session->events, true);
    weir_event_set_enable(&session->events, false);
    code = start_producers(s, options, err);
    if (code == 0)
        run(s);
    stop_producers(s);
    weir_event_set_disable(&session->events);
    weir_pipeline_stop_readers(&session->pipeline);
    int finished = weir_session_finish(session, code == 0 ? err : NULL);
    result->seconds = (double)(weir_clock_now_ns(session->clock) - started_ns) / (double)WEIR_NS_PER_S;
    result->record.signal = session->coordinator.ending_signal;
    count_produced(s, result);
    return code < 0 ? code : finished;
}

static int check_options(const struct weir_simulate_options *options, struct weir_error *err)
{
    if (options->cpus < 1 || options->cpus > 1024)
        return weir_error_set(err, -EINVAL, "cannot simulate %u CPUs: 1 to 1024", options->cpus);
    if (options->payload_bytes < 8 || options->payload_bytes > 60000)
        return weir_error_set(err, -EINVAL, "cannot simulate payloads of %u bytes: 8 to 60000", options->payload_bytes);
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (options->ring_bytes && (!weir_is_power_of_two(options->ring_bytes) || options->ring_bytes < page_bytes))
        return weir_error_set(err, -EINVAL, "cannot simulate rings of %llu bytes: a power of two of pages",
                              (unsigned long long)options->ring_bytes);
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
        .events = WEIR_EVENT_LIST_INIT,
        .done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
        .record_options =
            {
                .system_wide = true,
                .output_path = options->output_path,
                .notices = options->notices,
            },
    };
    s.record_options.events = &s.events;
    s.session = (struct weir_session){
        .options = &s.record_options,
        .clock = &weir_clock_monotonic,
        .result = &result->record,
        .workload = WEIR_WORKLOAD_INIT,
        .buffer_bytes = options->buffer_bytes,
    };
    if (s.done_fd < 0) {
        code = weir_error_set_errno(err, -errno, "cannot make an eventfd");
    } else {
        code = simulate(&s, options, result, err);
        close(s.done_fd);
    }
    weir_session_release(&s.session);
    weir_event_list_fini(&s.events);
    weir_sim_kernel_free(s.sim);
    return code;
}

void weir_simulate_result_fini(struct weir_simulate_result *result)
{
    if (result)
        weir_record_result_fini(&result->record);
}
