/*
 * What a recording costs before its first event and when it is read, beside perf.
 *
 *     beside_perf start  [--tasks N] [--runs N] [--weir PATH] [--perf PATH] [--dir DIR]
 *     beside_perf report [--calls N] [--runs N] [--weir PATH] [--perf PATH] [--dir DIR]
 *
 * start: with N more tasks on the machine, a recorder is started system-wide, and the time from its fork to its first
 * sample is taken (-k monotonic: by the clock of this program), from its file's SAMPLE_TIME feature.
 * report: the same load is recorded once by each of them, perf in its serial and its --threads form; then
 * `perf report --stdio` reads each recording, in turn, and wait4(2) says what that took.
 * Runs interleave, so that a drift of the machine's speed hits all alike. JSON, medians over the runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

#include "base/bits.h"
#include "format/perf_input.h"
#include "perf-tests/spread.h"
#include "perf-tests/storm_load.h"

#define RUNS_MAX   16
#define FORMS      3
#define SKIP_EXIT  77
#define USAGE_EXIT 2
#define SETTLE_MS  700

struct settings {
    bool is_start;
    unsigned runs, tasks;
    uint64_t calls;
    const char *weir, *perf, *dir;
};

static const struct form {
    const char *name;
    bool is_perf;
    const char *option; /* NULL: none */
} forms[FORMS] = {{"weir", false, NULL}, {"perf", true, NULL}, {"perf --threads", true, "--threads"}};

struct figures { /* by run */
    double seconds[RUNS_MAX];
    double cpu_seconds[RUNS_MAX];
    double rss_mib[RUNS_MAX];
};

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static pid_t start(const char *const *args, const char *log)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(args[0], (char *const *)(uintptr_t)args);
    _exit(127);
}

/* Waits for a child that ends well, or by our SIGINT. */
static int finish(pid_t pid, struct rusage *used)
{
    int status;
    if (wait4(pid, &status, 0, used) != pid)
        return -errno;
    bool fine = (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return fine ? 0 : -ECHILD;
}

static void path_of(const struct settings *settings, unsigned form, const char *suffix, char path[4096])
{
    snprintf(path, 4096, "%s/beside_perf.%u%s", settings->dir, form, suffix);
}

static pid_t start_recorder(const struct settings *settings, unsigned form, const char *const *options)
{
    char output[4096], log[4096];
    const char *args[24] = {forms[form].is_perf ? settings->perf : settings->weir, "record"};
    size_t n = 2;
    path_of(settings, form, ".data", output);
    path_of(settings, form, ".log", log);
    if (forms[form].is_perf)
        args[n++] = "-N"; /* its build ids stay: SAMPLE_TIME is found by the same pass over the file */
    if (forms[form].option)
        args[n++] = forms[form].option;
    for (; *options; options++)
        args[n++] = *options;
    args[n++] = "-o";
    args[n++] = output;
    return start(args, log);
}

/* ---- start ---- */

static int first_sample_seconds(const char *path, double *seconds)
{
    struct weir_perf_input input;
    struct weir_buf payload = WEIR_BUF_INIT;
    struct weir_error err = {0};
    if (weir_perf_input_open(&input, path, &err) < 0)
        return -EBADMSG;
    int found = weir_perf_input_feature(&input, WEIR_FEATURE_SAMPLE_TIME, &payload, &err);
    uint64_t first_ns = 0;
    if (found == 1 && payload.used >= sizeof(first_ns))
        memcpy(&first_ns, payload.data, sizeof(first_ns));
    *seconds = (double)first_ns / 1e9;
    weir_buf_fini(&payload);
    weir_perf_input_close(&input);
    return first_ns ? 0 : -ENODATA;
}

static int measure_start(const struct settings *settings, unsigned form, struct figures *figures, unsigned run)
{
    static const char *const options[] = {"-a", "-k", "monotonic", "-e", "cpu-clock", "-F", "20000", NULL};
    static const char *const perf_options[] = {
        "-a", "--timestamp-boundary", "-k", "monotonic", "-e", "cpu-clock", "-F", "20000", NULL};
    char path[4096];
    double from = now_seconds(), first = 0;
    pid_t pid = start_recorder(settings, form, forms[form].is_perf ? perf_options : options);
    sleep_ms(SETTLE_MS + settings->tasks / 5); /* perf takes longer than that only where nobody would wait for it */
    kill(pid, SIGINT);
    struct rusage used;
    int result = finish(pid, &used);
    path_of(settings, form, ".data", path);
    if (result == 0)
        result = first_sample_seconds(path, &first);
    figures->seconds[run] = first - from;
    figures->cpu_seconds[run] = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    figures->rss_mib[run] = (double)used.ru_maxrss / 1024;
    unlink(path);
    return result;
}

/* Processes that sleep until this one ends, half of them as threads would be seen: a /proc entry each. */
static void make_tasks(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    }
}

/* ---- report ---- */

static int record_load(const struct settings *settings, unsigned form)
{
    /* Of this process alone, so that all of them have recorded the same. */
    char self[16];
    snprintf(self, sizeof(self), "%d", getpid());
    const char *const options[] = {"-p", self, "-e", "raw_syscalls:sys_enter", "-c", "1", "-g", "-m", "1024", NULL};
    pid_t pid = start_recorder(settings, form, options);
    sleep_ms(SETTLE_MS);
    const struct storm_load load = {.kind = STORM_LOAD_SYSCALLS, .threads = 1, .calls = settings->calls};
    struct storm_load_result loaded = {0};
    int result = storm_load_run(&load, &loaded);
    kill(pid, SIGINT);
    struct rusage used;
    int ended = finish(pid, &used);
    return result < 0 ? result : ended;
}

static int measure_report(const struct settings *settings, unsigned form, struct figures *figures, unsigned run)
{
    char path[4096], log[4096];
    path_of(settings, form, ".data", path);
    path_of(settings, form, ".report", log);
    const char *const args[] = {settings->perf, "report", "--stdio", "-i", path, NULL};
    double from = now_seconds();
    struct rusage used;
    int result = finish(start(args, log), &used);
    figures->seconds[run] = now_seconds() - from;
    figures->cpu_seconds[run] = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    figures->rss_mib[run] = (double)used.ru_maxrss / 1024;
    return result;
}

/* ---- all of it ---- */

static void print(const struct settings *settings, struct figures *figures)
{
    struct utsname machine;
    uname(&machine);
    printf("{\"claim\": \"%s\", \"kernel\": \"%s\", \"cpus\": %ld, \"runs\": %u, ",
           settings->is_start ? "start" : "report", machine.release, sysconf(_SC_NPROCESSORS_ONLN), settings->runs);
    printf(settings->is_start ? "\"tasks\": %llu" : "\"calls\": %llu",
           settings->is_start ? (unsigned long long)settings->tasks : (unsigned long long)settings->calls);
    for (unsigned form = 0; form < FORMS; form++) {
        if (settings->is_start && forms[form].option)
            continue;
        struct spread seconds = spread_of(figures[form].seconds, settings->runs);
        printf(",\n \"%s\": {\"seconds\": %.3f, \"cpu_seconds\": %.3f, \"rss_mib\": %.1f, ", forms[form].name,
               seconds.median, spread_of(figures[form].cpu_seconds, settings->runs).median,
               spread_of(figures[form].rss_mib, settings->runs).median);
        printf("\"seconds_min\": %.3f, \"seconds_max\": %.3f}", seconds.min, seconds.max);
    }
    printf("}\n");
}

static int run_all(const struct settings *settings, struct figures *figures)
{
    if (settings->is_start)
        make_tasks(settings->tasks);
    for (unsigned run = 0; run < settings->runs; run++) {
        for (unsigned form = 0; form < FORMS; form++) {
            if (settings->is_start && forms[form].option)
                continue;
            int result = !settings->is_start && run == 0 ? record_load(settings, form) : 0;
            if (result == 0)
                result = settings->is_start ? measure_start(settings, form, &figures[form], run)
                                            : measure_report(settings, form, &figures[form], run);
            if (result < 0) {
                fprintf(stderr, "beside_perf: %s: %s (see %s/beside_perf.%u.log)\n", forms[form].name,
                        strerror(-result), settings->dir, form);
                return result;
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .runs = 3, .tasks = 20000, .calls = 1000000, .weir = "weir", .perf = "perf", .dir = "."};
    static struct figures figures[FORMS];
    bool good = argc > 1 && (strcmp(argv[1], "start") == 0 || strcmp(argv[1], "report") == 0) && argc % 2 == 0;
    settings.is_start = good && strcmp(argv[1], "start") == 0;
    for (int i = 2; good && i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--runs") == 0)
            settings.runs = (unsigned)weir_clamp_u64(strtoull(value, NULL, 10), 1, RUNS_MAX);
        else if (strcmp(argv[i], "--tasks") == 0)
            settings.tasks = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--calls") == 0)
            settings.calls = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--weir") == 0)
            settings.weir = value;
        else if (strcmp(argv[i], "--perf") == 0)
            settings.perf = value;
        else if (strcmp(argv[i], "--dir") == 0)
            settings.dir = value;
        else
            good = false;
    }
    if (!good) {
        fprintf(stderr,
                "usage: beside_perf start|report [--tasks N] [--calls N] [--runs N] [--weir PATH] [--perf PATH] "
                "[--dir DIR]\n");
        return USAGE_EXIT;
    }
    if (access("/sys/kernel/tracing/events/raw_syscalls", R_OK) < 0) {
        fprintf(stderr, "beside_perf: skipped: needs root and tracefs on /sys/kernel/tracing\n");
        return SKIP_EXIT;
    }
    if (run_all(&settings, figures) < 0)
        return 1;
    print(&settings, figures);
    return 0;
}
