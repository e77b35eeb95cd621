/* Loads for the storm: threads that start together, once all are there. */
#include "engine/bench/storm_load.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SPIN_STEPS 1000

/* Closed until all threads are there. */
struct gate {
    pthread_mutex_t lock;
    bool is_off; /* not all threads could be started: nobody works; written before the gate opens */
};

struct load_thread {
    const struct weir_storm_load *load;
    struct gate *gate;
    int cpu;
    pthread_t thread;
    uint64_t checksum;
};

static uint64_t spin(uint64_t rounds)
{
    uint64_t v = 1;
    for (uint64_t i = 0; i < rounds * SPIN_STEPS; i++)
        v = v * 6364136223846793005ull + 1442695040888963407ull;
    return v;
}

static uint64_t system_calls(uint64_t calls)
{
    uint64_t done = 0;
    for (uint64_t i = 0; i < calls; i++)
        done += syscall(SYS_getppid) >= 0;
    return done;
}

static void *thread_main(void *argument)
{
    struct load_thread *self = argument;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(self->cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    pthread_mutex_lock(&self->gate->lock);
    bool is_off = self->gate->is_off;
    pthread_mutex_unlock(&self->gate->lock);
    if (is_off)
        return NULL;
    self->checksum =
        self->load->kind == WEIR_STORM_LOAD_SYSCALLS ? system_calls(self->load->calls) : spin(self->load->calls);
    return NULL;
}

/* The CPU of the n-th thread: the allowed ones in turn. */
static int nth_allowed_cpu(unsigned n)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    unsigned count = (unsigned)CPU_COUNT(&allowed), left = n % count;
    for (int cpu = 0;; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && left-- == 0)
            return cpu;
    }
}

/* Starts the threads, which wait for the gate. *count: those that started. 0 or -errno of pthread_create(3). */
static int start_all(const struct weir_storm_load *load, struct gate *gate, struct load_thread *threads,
                     unsigned *count)
{
    int code = 0;
    for (*count = 0; code == 0 && *count < load->threads; *count += code == 0) {
        struct load_thread *thread = &threads[*count];
        *thread = (struct load_thread){.load = load, .gate = gate, .cpu = nth_allowed_cpu(*count)};
        code = -pthread_create(&thread->thread, NULL, thread_main, thread);
    }
    return code;
}

int weir_storm_load_run(const struct weir_storm_load *load, struct weir_storm_load_result *result)
{
    struct load_thread *threads = calloc(load->threads, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    struct gate gate = {.lock = PTHREAD_MUTEX_INITIALIZER};
    unsigned count;
    pthread_mutex_lock(&gate.lock);
    int code = start_all(load, &gate, threads, &count);
    gate.is_off = code < 0;
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    pthread_mutex_unlock(&gate.lock);
    result->checksum = 0;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i].thread, NULL);
        result->checksum += threads[i].checksum;
    }
    result->seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - started_ns) / (double)WEIR_NS_PER_S;
    free(threads);
    return code;
}
