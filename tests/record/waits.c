/*
 * Waits known times in known functions, for tests of off-CPU time: waits SLEEPS MS, or waits tree DEPTH.
 *
 * waits tree DEPTH sleeps for a moment in each of the 2^DEPTH leaves of a tree of calls.
 *
 * waits SLEEPS MS: once a line comes on standard input (or its end), a thread sleeps, another reads from a pipe, a
 * third one spins and sleeps, and a child process sleeps: each SLEEPS times for MS milliseconds. Then, for each thread
 * and the child, prints "TID LEAST MOST CPU" in ns: bounds of its lifetime, and its CPU time.
 *
 * The system calls are made in the functions themselves: of a function in the C library, which has no frame pointers,
 * the kernel does not find the caller.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sleeps, pause_ms;
static int ends[2], ready[2];

static inline long call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#else
    return syscall(number, a, b, c);
#endif
}

static struct timespec pause_of(long ms)
{
    return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((noinline)) static void wait_in_sleep(void)
{
    const struct timespec pause = pause_of(pause_ms);
    for (long i = 0; i < sleeps; i++)
        call(SYS_nanosleep, (long)&pause, 0, 0);
}

__attribute__((noinline)) static void wait_in_read(void)
{
    char byte;
    for (long i = 0; i < sleeps; i++) {
        call(SYS_write, ready[1], (long)"r", 1);
        call(SYS_read, ends[0], (long)&byte, 1);
    }
}

__attribute__((noinline)) static void wait_between_spins(void)
{
    const struct timespec pause = pause_of(pause_ms);
    for (long i = 0; i < sleeps; i++) {
        for (uint64_t until = now_ns(CLOCK_MONOTONIC) + 2000000; now_ns(CLOCK_MONOTONIC) < until;)
            ;
        call(SYS_nanosleep, (long)&pause, 0, 0);
    }
}

__attribute__((noinline)) static void wait_in_child(void)
{
    const struct timespec pause = pause_of(pause_ms);
    for (long i = 0; i < sleeps; i++)
        call(SYS_nanosleep, (long)&pause, 0, 0);
}

/* Two calls of itself, and so two places to return to. */
__attribute__((noinline)) static void wait_in_tree(long depth)
{
    const struct timespec moment = {.tv_nsec = 1};
    if (depth == 0) {
        call(SYS_nanosleep, (long)&moment, 0, 0);
        return;
    }
    wait_in_tree(depth - 1);
    __asm__ volatile("" ::: "memory");
    wait_in_tree(depth - 1);
    __asm__ volatile("" ::: "memory");
}

struct life {
    void (*body)(void);
    pid_t tid;
    uint64_t made_ns, ended_ns, cpu_ns;
};

static void *live(void *arg)
{
    struct life *life = arg;
    life->body();
    life->tid = gettid();
    life->cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    life->ended_ns = now_ns(CLOCK_MONOTONIC);
    return NULL;
}

/* The reader is about to wait when it is fed. */
static void feed_reader(void)
{
    const struct timespec pause = pause_of(pause_ms);
    char byte;
    for (long i = 0; i < sleeps; i++) {
        if (read(ready[0], &byte, 1) != 1)
            _exit(1);
        nanosleep(&pause, NULL);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
    }
}

int main(int argc, char **argv)
{
    static void (*const bodies[])(void) = {wait_in_sleep, wait_in_read, wait_between_spins, wait_in_child};
    pthread_t threads[3];
    if (argc == 3 && strcmp(argv[1], "tree") == 0) {
        wait_in_tree(strtol(argv[2], NULL, 10));
        return 0;
    }
    if (argc != 3 || pipe2(ends, O_CLOEXEC) < 0 || pipe2(ready, O_CLOEXEC) < 0)
        return 2;
    struct life *lives = mmap(NULL, 4 * sizeof(*lives), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lives == MAP_FAILED)
        return 2;
    sleeps = strtol(argv[1], NULL, 10);
    pause_ms = strtol(argv[2], NULL, 10);
    while (getchar() != '\n' && !feof(stdin))
        ;
    for (int i = 0; i < 4; i++)
        lives[i].body = bodies[i];
    for (int i = 0; i < 3; i++) {
        lives[i].made_ns = now_ns(CLOCK_MONOTONIC);
        pthread_create(&threads[i], NULL, live, &lives[i]);
    }
    lives[3].made_ns = now_ns(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child == 0) {
        live(&lives[3]);
        _exit(0);
    }
    feed_reader();
    for (int i = 0; i < 4; i++) {
        if (i < 3)
            pthread_join(threads[i], NULL);
        else
            waitpid(child, NULL, 0);
        printf("%d %llu %llu %llu\n", lives[i].tid, (unsigned long long)(lives[i].ended_ns - lives[i].made_ns),
               (unsigned long long)(now_ns(CLOCK_MONOTONIC) - lives[i].made_ns), (unsigned long long)lives[i].cpu_ns);
    }
    return 0;
}
