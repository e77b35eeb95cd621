/*
 * A load for tests of unwinding: stacks CASE [MILLISECONDS] spends its time in stacks of one kind.
 *
 *     calls     recursion to depths up to 24
 *     deep      recursion to depths up to 2000, whose stacks are larger than what is copied
 *     alloca    frames whose size is only known at run time
 *     signal    code in signal handlers, on the task's stack and on a stack of their own
 *     threads   eight threads that call functions through pointers
 *     vdso      reads of the clock
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_INLINE __attribute__((noinline))
#define THREADS   8

static volatile uint64_t sink;
static uint64_t end_ns;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

NO_INLINE static void spin(void)
{
    for (unsigned i = 0; i < 50000; i++)
        sink += (uint64_t)i * i;
}

NO_INLINE static void descend(unsigned depth)
{
    if (depth == 0)
        spin();
    else
        descend(depth - 1);
    sink++; /* the call above is no jump */
}

NO_INLINE static void descend_with_room(unsigned depth)
{
    char room[16 + depth * 24 % 512];
    memset(room, (int)depth, sizeof(room));
    if (depth == 0)
        spin();
    else
        descend_with_room(depth - 1);
    sink += (uint64_t)room[3];
}

static void handle(int number)
{
    (void)number;
    descend(3);
}

NO_INLINE static void raise_signals(unsigned depth)
{
    if (depth > 0)
        raise_signals(depth - 1);
    else
        raise(sink % 2 ? SIGUSR1 : SIGUSR2);
    sink++;
}

NO_INLINE static void call(void (*function)(unsigned depth), unsigned depth)
{
    function(depth);
    sink++;
}

static void run_calls(unsigned round)
{
    call(descend, round % 24);
}

static void run_deep(unsigned round)
{
    call(descend, round * 37 % 2000);
}

static void run_alloca(unsigned round)
{
    call(descend_with_room, round % 16);
}

static void run_signal(unsigned round)
{
    call(raise_signals, round % 8);
}

static void run_vdso(unsigned round)
{
    for (unsigned i = 0; i < 2000; i++)
        sink += now_ns();
    (void)round;
}

static void prepare_signals(void)
{
    static char room[64 << 10];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof(room)};
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &action, NULL);
}

static void *run_thread(void *argument)
{
    void (*run)(unsigned round) = argument ? run_calls : run_alloca;
    for (unsigned round = 0; now_ns() < end_ns; round++)
        run(round);
    return NULL;
}

static void run_threads(unsigned round)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run_thread, (void *)(i % 2)); /* NOLINT(performance-no-int-to-ptr) */
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    (void)round;
}

static const struct {
    const char *name;
    void (*run)(unsigned round);
} cases[] = {
    {"calls", run_calls},   {"deep", run_deep},       {"alloca", run_alloca},
    {"signal", run_signal}, {"threads", run_threads}, {"vdso", run_vdso},
};

int main(int argc, char **argv)
{
    uint64_t ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    end_ns = now_ns() + ms * 1000000;
    prepare_signals();
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, argv[1]) != 0)
            continue;
        for (unsigned round = 0; now_ns() < end_ns; round++)
            cases[i].run(round);
        return 0;
    }
    fprintf(stderr, "usage: stacks CASE [MILLISECONDS]\n");
    return 2;
}
