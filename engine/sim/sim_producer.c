/* Producer threads of a simulated machine. The coordinator starts and stops them; everything else runs on the threads.
 */
#include "engine/sim/sim_producer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/events/event_parse.h"
#include "format/perf_file.h"
#include "topology/thread_affinity.h"

#define SIDEBAND_EVERY 1024 /* samples between two side records of a CPU */
#define BURST_MAX      64   /* by default */
#define CHECK_EVERY    64   /* samples between two checks of the clock and of the request to stop */
#define PACING_NS      WEIR_NS_PER_MS
#define TASK_BASE      1000 /* the task of simulated CPU n has the id TASK_BASE + n */
#define STACK_BYTES    WEIR_SIM_STACK_BYTES
#define FRAMES_MIN     8
#define FRAMES_MAX     40
#define HEAD_MAX_BYTES 512 /* of a sample without payload and stack, and of a record of user frames */
#define KERNEL_FRAMES  6   /* of a deferred call chain */
#define ROOM_PAUSE_NS  20000
#define REPEATED_IPS   64 /* of samples that repeat: addresses, and numbers of frames */
#define REPEATED_SIZES 8

const char *const weir_sim_kind_names[WEIR_SIM_KIND_COUNT] = {"tracepoint", "callchain", "dwarf",
                                                              "aggregate",  "unwind",    "deferred"};

static const char *const kind_events[WEIR_SIM_KIND_COUNT] = {
    "bpf-output",
    "cpu-clock/call-graph=fp/",
    "cpu-clock/call-graph=dwarf,stack-size=8192/",
    "cpu-clock/call-graph=fp/",
    "cpu-clock/call-graph=dwarf,stack-size=8192/",
    "cpu-clock/max-stack=127/", /* call-graph=fp would not be deferred */
};

int weir_sim_mix_add_events(const struct weir_sim_mix *mix, struct weir_event_list *events, struct weir_error *err)
{
    int result = 0;
    for (unsigned kind = 0; kind < WEIR_SIM_KIND_COUNT && result == 0; kind++) {
        if (mix->parts[kind] > 0)
            result = weir_event_list_parse(events, kind_events[kind], NULL, err);
    }
    return result;
}

/* The position in the sequence of samples. */
struct turn {
    unsigned cpu;
    uint64_t n;     /* number of the sample on that CPU */
    uint64_t begin; /* number of the first sample of this turn of all CPUs */
    uint64_t end;
};

struct producer {
    struct weir_sim_producers *all; /* borrowed */
    struct turn turn;
    uint64_t random;    /* state of the random numbers */
    unsigned first_cpu; /* this CPU, and each all->count-th CPU after it */
    pthread_t thread;
    bool started;
    uint64_t ended_ns; /* written by the thread, read after it was joined, as is the next */
    uint64_t cpu_time_ns;
};

struct weir_sim_producers {
    struct weir_sim_producers_setup setup;
    unsigned parts;                              /* sum of the mix */
    unsigned event_of_kind[WEIR_SIM_KIND_COUNT]; /* index of the event; valid for kinds in the mix */
    uint8_t *memory;                             /* owned: the bytes of payloads and stacks */
    uint64_t chain[FRAMES_MAX];
    uint64_t started_ns;
    uint64_t burst; /* at least 1 */
    _Atomic bool stop;
    struct producer *producers; /* owned */
    unsigned count;
};

uint64_t weir_sim_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static enum weir_sim_kind draw_kind(const struct weir_sim_producers *all, uint64_t lot)
{
    unsigned part = (unsigned)(lot % all->parts), kind = 0;
    while (part >= all->setup.load.mix.parts[kind])
        part -= all->setup.load.mix.parts[kind++];
    return (enum weir_sim_kind)kind;
}

/* Returns whether the ring has room for a sample of that kind; false: the threads are to stop. */
static bool await_room(const struct weir_sim_producers *all, int fd, enum weir_sim_kind kind)
{
    size_t bytes = HEAD_MAX_BYTES;
    bool has_stack = kind == WEIR_SIM_DWARF || kind == WEIR_SIM_UNWIND;
    bytes += kind == WEIR_SIM_TRACEPOINT ? all->setup.load.payload_bytes : has_stack ? STACK_BYTES : 0;
    bytes += kind == WEIR_SIM_DEFERRED ? HEAD_MAX_BYTES : 0;
    while (!weir_sim_kernel_has_room(all->setup.sim, fd, bytes)) {
        if (atomic_load_explicit(&all->stop, memory_order_relaxed)) /* the flag publishes no other data */
            return false;
        weir_clock_pause_ns(ROOM_PAUSE_NS);
    }
    return true;
}

/* The task is interrupted in the kernel, and returns to user space at once. Its `frames` are those of the other kinds
 * behind the mark. */
static void produce_deferred(const struct weir_sim_producers *all, unsigned cpu, uint64_t n,
                             struct weir_sim_sample *sample, unsigned frames)
{
    const struct weir_event_set *events = all->setup.events;
    int fd = weir_event_set_fd(events, (unsigned)weir_event_set_deferred_event(events), cpu, 0);
    uint64_t cookie = (n + 1) << 32 | (cpu + 1), chain[KERNEL_FRAMES + 3] = {PERF_CONTEXT_KERNEL};
    for (unsigned i = 0; i < KERNEL_FRAMES; i++)
        chain[1 + i] = 0xffffffff81000000 + 64 * i;
    chain[KERNEL_FRAMES + 1] = WEIR_CONTEXT_USER_DEFERRED;
    chain[KERNEL_FRAMES + 2] = cookie;
    sample->chain = chain;
    sample->chain_count = WEIR_ARRAY_COUNT(chain);
    weir_sim_kernel_sample(all->setup.sim, weir_event_set_fd(events, all->event_of_kind[WEIR_SIM_DEFERRED], cpu, 0),
                           sample);
    weir_sim_kernel_user_part(all->setup.sim, fd,
                              &(struct weir_sim_user_part){.time_ns = sample->time_ns,
                                                           .tid = sample->tid,
                                                           .cookie = cookie,
                                                           .frames = all->chain + 1,
                                                           .frame_count = frames});
}

static void produce_one(struct producer *producer, unsigned cpu, uint64_t n)
{
    const struct weir_sim_producers *all = producer->all;
    const struct weir_sim_producers_setup *setup = &all->setup;
    uint64_t lot = weir_sim_random(&producer->random);
    enum weir_sim_kind kind = draw_kind(all, lot >> 32);
    bool repeats = kind == WEIR_SIM_AGGREGATE;
    int fd = weir_event_set_fd(setup->events, all->event_of_kind[kind], cpu, 0);
    if (setup->load.closed_loop && !await_room(all, fd, kind))
        return;
    uint64_t now_ns = weir_clock_now_ns(setup->clock);
    uint32_t task = TASK_BASE + cpu, size = setup->load.payload_bytes;
    struct weir_sim_sample sample = {
        .time_ns = now_ns,
        .ip = kind == WEIR_SIM_UNWIND ? setup->stack->ip
              : repeats               ? n % REPEATED_IPS
                                      : n,
        .pid = task,
        .tid = task,
        .raw = all->memory,
        .raw_bytes = kind == WEIR_SIM_TRACEPOINT ? size - (uint32_t)(lot % (size / 4 + 1)) : 0,
        .chain = all->chain,
        .regs = kind == WEIR_SIM_UNWIND ? setup->stack->regs : NULL,
        .chain_count = (unsigned)(FRAMES_MIN + lot % (repeats ? REPEATED_SIZES : FRAMES_MAX - FRAMES_MIN + 1)),
        .stack = kind == WEIR_SIM_UNWIND ? setup->stack->data : all->memory,
    };
    if (n % SIDEBAND_EVERY == 0) {
        char comm[16];
        snprintf(comm, sizeof(comm), "sim-%u", cpu);
        int side_fd = weir_event_set_fd(setup->events, weir_event_set_sideband(setup->events), cpu, 0);
        weir_sim_kernel_comm(setup->sim, side_fd, task, comm, now_ns);
    }
    if (kind == WEIR_SIM_DEFERRED)
        produce_deferred(all, cpu, n, &sample, sample.chain_count - 1);
    else
        weir_sim_kernel_sample(setup->sim, fd, &sample);
}

static void begin_round(struct producer *producer, uint64_t begin)
{
    const struct weir_sim_producers *all = producer->all;
    uint64_t end = weir_min_u64(begin + all->burst, all->setup.load.records_per_cpu);
    producer->turn = (struct turn){.cpu = producer->first_cpu, .n = begin, .begin = begin, .end = end};
}

static void advance(struct producer *producer)
{
    struct turn *turn = &producer->turn;
    if (++turn->n < turn->end)
        return;
    turn->cpu += producer->all->count;
    turn->n = turn->begin;
    if (turn->cpu >= producer->all->setup.load.cpus)
        begin_round(producer, turn->end);
}

/* Returns the number of samples that `cpus` CPUs should have produced by now. */
static uint64_t records_due(const struct weir_sim_load *load, unsigned cpus, uint64_t elapsed_ns)
{
    uint64_t total = load->records_per_cpu * cpus;
    if (load->rate_per_cpu_hz == 0)
        return total;
    double due = (double)elapsed_ns / (double)WEIR_NS_PER_S * (double)load->rate_per_cpu_hz * cpus;
    return due < (double)total ? (uint64_t)due : total;
}

/* If the thread may not run there any more, it runs elsewhere. */
static void play_cpu(const struct producer *producer)
{
    struct weir_cpuset cpu = WEIR_CPUSET_INIT;
    if (weir_cpuset_add(&cpu, weir_sim_stage_cpu(producer->all->setup.stage, producer->first_cpu)) == 0)
        weir_thread_pin(&cpu);
    weir_cpuset_fini(&cpu);
}

static void *producer_main(void *argument)
{
    struct producer *producer = argument;
    struct weir_sim_producers *all = producer->all;
    play_cpu(producer);
    const struct weir_sim_load *load = &all->setup.load;
    unsigned cpus = (load->cpus - producer->first_cpu + all->count - 1) / all->count;
    uint64_t total = load->records_per_cpu * cpus, produced = 0;
    begin_round(producer, 0);
    /* Relaxed: the flag publishes no other data. */
    while (produced < total && !atomic_load_explicit(&all->stop, memory_order_relaxed)) {
        uint64_t due = records_due(load, cpus, weir_clock_now_ns(all->setup.clock) - all->started_ns);
        uint64_t until = weir_min_u64(due, produced + CHECK_EVERY);
        for (; produced < until; produced++) {
            produce_one(producer, producer->turn.cpu, producer->turn.n);
            advance(producer);
        }
        if (produced == due && due < total)
            weir_clock_pause_ns(PACING_NS);
    }
    producer->ended_ns = weir_clock_now_ns(all->setup.clock);
    producer->cpu_time_ns = weir_clock_thread_cpu_ns();
    eventfd_write(all->setup.done_fd, 1);
    return NULL;
}

/* Makes the bytes that fill all samples. */
static int fill_memory(struct weir_sim_producers *all)
{
    size_t bytes = weir_max_u64(all->setup.load.payload_bytes, STACK_BYTES);
    all->memory = malloc(bytes);
    if (!all->memory)
        return -ENOMEM;
    memset(all->memory, 'a', bytes);
    all->chain[0] = PERF_CONTEXT_USER;
    for (unsigned i = 1; i < FRAMES_MAX; i++)
        all->chain[i] = 0x400000 + 64 * i;
    return 0;
}

/* By default a turn has the samples that are due in one sleep, so that the CPUs of a producer go on side by side. */
static uint64_t choose_burst(const struct weir_sim_load *load)
{
    if (load->burst > 0)
        return load->burst;
    if (load->rate_per_cpu_hz == 0)
        return BURST_MAX;
    return weir_max_u64(1, weir_min_u64(load->rate_per_cpu_hz / (WEIR_NS_PER_S / PACING_NS), BURST_MAX));
}

static void number_events(struct weir_sim_producers *all)
{
    unsigned event = 0;
    for (unsigned kind = 0; kind < WEIR_SIM_KIND_COUNT; kind++) {
        all->event_of_kind[kind] = event;
        all->parts += all->setup.load.mix.parts[kind];
        event += all->setup.load.mix.parts[kind] > 0;
    }
}

static int start(struct weir_sim_producers *all, unsigned index)
{
    struct producer *producer = &all->producers[index];
    producer->all = all;
    producer->random = (all->setup.load.seed + index) * 2 + 1;
    producer->first_cpu = index;
    int result = -pthread_create(&producer->thread, NULL, producer_main, producer);
    producer->started = result == 0;
    return result;
}

int weir_sim_producers_start(struct weir_sim_producers **out, const struct weir_sim_producers_setup *setup,
                             struct weir_error *err)
{
    struct weir_sim_producers *all = calloc(1, sizeof(*all));
    *out = all;
    if (!all)
        return weir_error_set_errno(err, -ENOMEM, "cannot start producers");
    all->setup = *setup;
    number_events(all);
    unsigned count = (unsigned)weir_min_u64(setup->stage->count, setup->load.cpus);
    all->producers = calloc(count, sizeof(*all->producers));
    int result = all->producers ? fill_memory(all) : -ENOMEM;
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot start producers");
    all->count = count;
    all->burst = choose_burst(&setup->load);
    all->started_ns = weir_clock_now_ns(setup->clock);
    for (unsigned i = 0; i < count; i++) {
        result = start(all, i);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot start producer %u", i);
    }
    return 0;
}

unsigned weir_sim_producers_count(const struct weir_sim_producers *producers)
{
    return producers->count;
}

void weir_sim_producers_stop(struct weir_sim_producers *all, struct weir_sim_produced *produced)
{
    if (!all)
        return;
    atomic_store_explicit(&all->stop, true, memory_order_relaxed);
    uint64_t ended_ns = all->started_ns, cpu_time_ns = 0;
    for (unsigned i = 0; i < all->count; i++) {
        struct producer *producer = &all->producers[i];
        if (!producer->started)
            continue;
        pthread_join(producer->thread, NULL);
        ended_ns = weir_max_u64(ended_ns, producer->ended_ns);
        cpu_time_ns += producer->cpu_time_ns;
    }
    if (produced) {
        produced->seconds = (double)(ended_ns - all->started_ns) / (double)WEIR_NS_PER_S;
        produced->cpu_seconds = (double)cpu_time_ns / (double)WEIR_NS_PER_S;
    }
    free(all->producers);
    free(all->memory);
    free(all);
}
