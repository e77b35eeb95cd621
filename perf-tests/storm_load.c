/* Loads for the storm: threads that start together behind a barrier. */
#include "perf-tests/storm_load.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define SPIN_STEPS 1000

struct load_thread {
    const struct storm_load *load;
    pthread_barrier_t *start;
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
    pthread_barrier_wait(self->start);
    self->checksum =
        self->load->kind == STORM_LOAD_SYSCALLS ? system_calls(self->load->calls) : spin(self->load->calls);
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

int storm_load_run(const struct storm_load *load, struct storm_load_result *result)
{
    struct load_thread *threads = calloc(load->threads, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, load->threads + 1);
    for (unsigned i = 0; i < load->threads; i++) {
        threads[i] = (struct load_thread){.load = load, .start = &start, .cpu = nth_allowed_cpu(i)};
        int code = -pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]);
        if (code < 0)
            return code; /* the threads before this one wait for a barrier for ever: the caller exits */
    }
    pthread_barrier_wait(&start);
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    result->checksum = 0;
    for (unsigned i = 0; i < load->threads; i++) {
        pthread_join(threads[i].thread, NULL);
        result->checksum += threads[i].checksum;
    }
    result->seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - started_ns) / (double)WEIR_NS_PER_S;
    pthread_barrier_destroy(&start);
    free(threads);
    return 0;
}
