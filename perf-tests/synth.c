/*
 * The cost of recording the tasks that exist at the start: weir's synthesis beside all of `perf record -a true`.
 *
 *     synth [--tasks N] [--threads N] [--runs N] [--perf PATH]
 *
 * For each run and each side in turn: start N processes that sleep, read them, end them. The processes are new each
 * time. So neither side finds /proc/PID in the kernel's caches because the other side has read it. perf's figure is for
 * the whole program. "perf, no tasks" is the figure without our N processes, to be subtracted. Prints JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/spread.h"
#include "format/synth.h"

#define RUNS_MAX     32
#define SAMPLE_ID    32 /* bytes of the trailer that perf's default attrs give */
#define USAGE_STATUS 2
#define EXEC_FAILED  127

enum side {
    SIDE_WEIR_TASKS,
    SIDE_WEIR_KERNEL,
    SIDE_PERF,
    SIDE_PERF_IDLE, /* without our tasks */
    SIDE_COUNT,
};

static const char *const side_names[SIDE_COUNT] = {"weir tasks", "weir kernel", "perf", "perf, no tasks"};

struct settings {
    unsigned tasks, threads, runs;
    const char *perf; /* NULL: without */
};

struct measure {
    double cpu_s, wall_s;
    uint64_t records, bytes, checksum; /* weir's: what was emitted, the sum of its words */
};

static double clock_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- tasks that sleep ---- */

/* Starts count processes, which end with this one. 0 or -errno; those that were started are in pids either way. */
static int start_tasks(pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            return -errno;
        if (pids[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    }
    return 0;
}

static void end_tasks(pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count && pids[i] > 0; i++)
        kill(pids[i], SIGKILL);
    for (unsigned i = 0; i < count && pids[i] > 0; i++)
        waitpid(pids[i], NULL, 0);
}

/* ---- weir ---- */

struct sum {
    atomic_uint_fast64_t bytes, checksum;
};

static int emit(void *ctx, const void *records, size_t bytes)
{
    struct sum *sum = ctx;
    const uint64_t *words = records;
    uint64_t checksum = 0;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        checksum += words[i];
    atomic_fetch_add_explicit(&sum->checksum, checksum, memory_order_relaxed);
    atomic_fetch_add_explicit(&sum->bytes, bytes, memory_order_relaxed);
    return 0;
}

static int measure_weir(const struct settings *settings, enum side side, struct measure *measure)
{
    struct sum sum = {0};
    struct weir_synth_counts counts = {0};
    struct weir_synth_options options = {
        .sample_id_bytes = SAMPLE_ID, .threads = settings->threads, .emit = emit, .emit_ctx = &sum};
    double cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID), wall_s = clock_s(CLOCK_MONOTONIC);
    int result =
        side == SIDE_WEIR_TASKS ? weir_synth_all_tasks(&options, &counts, NULL) : weir_synth_kernel(&options, NULL);
    *measure = (struct measure){
        .cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s,
        .wall_s = clock_s(CLOCK_MONOTONIC) - wall_s,
        .records = 2 * counts.tasks + counts.maps, /* FORK and COMM each */
        .bytes = atomic_load(&sum.bytes),
        .checksum = atomic_load(&sum.checksum),
    };
    return result;
}

/* ---- perf ---- */

static _Noreturn void exec_perf(const char *perf, const char *output)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null_fd, STDOUT_FILENO);
    dup2(null_fd, STDERR_FILENO);
    execlp(perf, perf, "record", "-B", "-N", "-a", "-e", "dummy", "-o", output, "true", (char *)NULL);
    _exit(EXEC_FAILED);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int measure_perf(const struct settings *settings, struct measure *measure)
{
    const char *folder = getenv("TMPDIR");
    char output[PATH_MAX];
    snprintf(output, sizeof(output), "%s/weir-bench-synth-%d.data", folder ? folder : "/tmp", (int)getpid());
    double wall_s = clock_s(CLOCK_MONOTONIC);
    pid_t pid = fork();
    if (pid == 0)
        exec_perf(settings->perf, output);
    int status;
    struct rusage usage;
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return -errno;
    unlink(output);
    *measure = (struct measure){
        .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
        .wall_s = clock_s(CLOCK_MONOTONIC) - wall_s,
    };
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* ---- runs ---- */

static int run_side(const struct settings *settings, enum side side, struct measure *measure)
{
    unsigned tasks = side == SIDE_PERF_IDLE || side == SIDE_WEIR_KERNEL ? 0 : settings->tasks;
    pid_t *pids = calloc(tasks + 1, sizeof(*pids));
    if (!pids)
        return -ENOMEM;
    int result = start_tasks(pids, tasks);
    if (result == 0)
        result = side < SIDE_PERF ? measure_weir(settings, side, measure) : measure_perf(settings, measure);
    end_tasks(pids, tasks);
    free(pids);
    return result;
}

static void print_figure(const char *name, const struct measure *runs, unsigned count, bool is_cpu)
{
    double values[RUNS_MAX] = {0};
    for (unsigned i = 0; i < count; i++)
        values[i] = is_cpu ? runs[i].cpu_s : runs[i].wall_s;
    const struct weir_spread figure = weir_spread_of(values, count);
    printf(", \"%s\": {\"min\": %.6f, \"median\": %.6f, \"max\": %.6f}", name, figure.min, figure.median, figure.max);
}

static void print_json(const struct settings *settings, struct measure runs[SIDE_COUNT][RUNS_MAX])
{
    struct utsname system;
    uname(&system);
    printf("{\"bench\": \"synth\", \"kernel\": \"%s\", \"machine\": \"%s\", \"cpus\": %ld, \"tasks\": %u, "
           "\"threads\": %u, \"runs\": %u, \"sides\": [",
           system.release, system.machine, sysconf(_SC_NPROCESSORS_ONLN), settings->tasks, settings->threads,
           settings->runs);
    for (int side = 0; side < (settings->perf ? SIDE_COUNT : SIDE_PERF); side++) {
        printf("%s\n  {\"side\": \"%s\"", side ? "," : "", side_names[side]);
        print_figure("cpu_s", runs[side], settings->runs, true);
        print_figure("wall_s", runs[side], settings->runs, false);
        if (side < SIDE_PERF)
            printf(", \"records\": %llu, \"bytes\": %llu, \"checksum\": \"%016llx\"",
                   (unsigned long long)runs[side][0].records, (unsigned long long)runs[side][0].bytes,
                   (unsigned long long)runs[side][0].checksum);
        printf("}");
    }
    printf("\n]}\n");
}

static int usage(void)
{
    fprintf(stderr, "usage: synth [--tasks N] [--threads N] [--runs N (1 to %d)] [--perf PATH]\n", RUNS_MAX);
    return USAGE_STATUS;
}

static bool parse_number(const char *text, unsigned *value)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *value = (unsigned)number;
    return *text && !*end && number <= 1000000;
}

static bool parse_arguments(struct settings *settings, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            return false;
        if (strcmp(argv[i], "--perf") == 0)
            settings->perf = argv[i + 1];
        else if (!(strcmp(argv[i], "--tasks") == 0 && parse_number(argv[i + 1], &settings->tasks)) &&
                 !(strcmp(argv[i], "--threads") == 0 && parse_number(argv[i + 1], &settings->threads)) &&
                 !(strcmp(argv[i], "--runs") == 0 && parse_number(argv[i + 1], &settings->runs)))
            return false;
    }
    return settings->runs >= 1 && settings->runs <= RUNS_MAX;
}

int main(int argc, char **argv)
{
    struct settings settings = {.tasks = 1000, .threads = 1, .runs = 3};
    static struct measure runs[SIDE_COUNT][RUNS_MAX];
    if (!parse_arguments(&settings, argc, argv))
        return usage();
    for (unsigned run = 0; run < settings.runs; run++) {
        for (int side = 0; side < (settings.perf ? SIDE_COUNT : SIDE_PERF); side++) {
            int result = run_side(&settings, side, &runs[side][run]);
            if (result < 0) {
                fprintf(stderr, "synth: %s failed: %s\n", side_names[side], strerror(-result));
                return 1;
            }
        }
    }
    print_json(&settings, runs);
    return 0;
}
