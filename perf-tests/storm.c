/*
 * The storm: how much a recorder of system-wide events costs and loses, several recorders in one run.
 *
 *     storm [--case NAME] [--runs N] [--calls N] [--weir PATH] [--perf PATH] [--only NAME]... [--dir DIR] [--json]
 *
 * For each run and each recorder in turn: start it system-wide, let it settle, run the load in this process, stop it
 * with SIGINT, take its own resource use from wait4(2), and count what its file holds. "none" runs the load alone.
 * Cases: enter (a tracepoint at every system call), callchain, clock (see cases[] below) and two with default options.
 * Recorders that write compressed data or build ids take part only when they are named: --only "perf -z" --only "weir
 * -z". Runs interleave the recorders, so that a drift of the machine's speed hits all alike; medians are over the runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/spread.h"
#include "perf-tests/data_count.h"
#include "perf-tests/storm_load.h"

#define ARGS_MAX   32
#define RUNS_MAX   64
#define ONLY_MAX   8
#define SETTLE_MS  700 /* from start to load: synthesis is over by then on any machine this is run on */
#define DRAIN_MS   100 /* from the load's end to SIGINT */
#define USAGE_EXIT 2
#define SKIP_EXIT  77 /* what ctest takes for a named skip */

struct storm_case {
    const char *name;
    const char *options[16]; /* after `record -a` */
    enum storm_load_kind kind;
    unsigned thread_divisor; /* threads = CPUs / this, at least 1; 0: one */
    uint64_t calls;
};

static const struct storm_case cases[] = {
    {"enter", {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "1024"}, STORM_LOAD_SYSCALLS, 1, 2000000},
    {"callchain", {"-e", "raw_syscalls:sys_enter", "-c", "1", "-g", "-m", "1024"}, STORM_LOAD_SYSCALLS, 1, 1000000},
    {"clock", {"-e", "cpu-clock", "-F", "10000"}, STORM_LOAD_SPIN, 1, 2500000},
    {"ring-512k", {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "512K"}, STORM_LOAD_SYSCALLS, 1, 2000000},
    {"ring-2m", {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "2M"}, STORM_LOAD_SYSCALLS, 1, 2000000},
    {"default-one", {"-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"}, STORM_LOAD_SYSCALLS, 0, 2000000},
    {"default-all", {"-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"}, STORM_LOAD_SYSCALLS, 1, 2000000},
};

struct recorder {
    const char *name;
    bool is_perf;
    const char *extra[4];
    bool on_request; /* runs only when it is named by --only */
};

static const struct recorder recorders[] = {
    {"none", false, {NULL}},
    {"perf", true, {"-B", "-N"}},
    {"perf --aio=4", true, {"-B", "-N", "--aio=4"}},
    {"perf --threads", true, {"-B", "-N", "--threads"}},
    {"weir", false, {NULL}},
    {"weir -r 1", false, {"-r", "1"}},
    {"perf -z", true, {"-B", "-N", "-z1"}, true},
    {"weir -z", false, {"-B", "-z1"}, true},
    /* Nothing reaches the file of -M: nobody asks for a snapshot. */
    {"weir -M 64M", false, {"-M", "64M"}, true},
    {"weir --overwrite", false, {"--overwrite"}, true},
    {"perf build ids", true, {"-N"}, true},
};

struct measure {
    double cpu_seconds;
    double load_seconds;
    double stop_seconds;
    uint64_t rss_kb;
    uint64_t switches;
    struct data_count data;
};

struct settings {
    const struct storm_case *what;
    unsigned runs;
    uint64_t calls;
    const char *weir, *perf, *dir;
    const char *only[ONLY_MAX]; /* names of recorders; none: all but those on request */
    unsigned only_count;
    bool json;
};

static bool is_wanted(const struct settings *settings, const struct recorder *recorder)
{
    for (unsigned i = 0; i < settings->only_count; i++) {
        if (strcmp(settings->only[i], recorder->name) == 0)
            return true;
    }
    return settings->only_count == 0 && !recorder->on_request;
}

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static unsigned load_threads(const struct storm_case *what)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return what->thread_divisor == 0 ? 1 : (unsigned)cpus / what->thread_divisor;
}

static pid_t start_recorder(const struct settings *settings, const struct recorder *recorder, const char *output)
{
    const char *args[ARGS_MAX];
    size_t n = 0;
    args[n++] = recorder->is_perf ? settings->perf : settings->weir;
    args[n++] = "record";
    args[n++] = "-a";
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(recorder->extra) && recorder->extra[i]; i++)
        args[n++] = recorder->extra[i];
    for (size_t i = 0; settings->what->options[i]; i++)
        args[n++] = settings->what->options[i];
    args[n++] = "-o";
    args[n++] = output;
    args[n] = NULL;

    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char log[4096];
    snprintf(log, sizeof(log), "%s.log", output);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(args[0], (char *const *)(uintptr_t)args);
    _exit(127);
}

static int stop_recorder(pid_t pid, struct measure *measure)
{
    double from = now_seconds();
    kill(pid, SIGINT);
    int status;
    struct rusage used;
    if (wait4(pid, &status, 0, &used) != pid)
        return -errno;
    measure->stop_seconds = now_seconds() - from;
    measure->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    measure->rss_kb = (uint64_t)used.ru_maxrss;
    measure->switches = (uint64_t)used.ru_nvcsw;
    /* A recorder that was stopped by SIGINT dies of it once its file is whole. */
    bool fine = (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return fine ? 0 : -ECHILD;
}

static int measure_once(const struct settings *settings, const struct recorder *recorder, struct measure *measure)
{
    char output[4000];
    snprintf(output, sizeof(output), "%s/storm.data", settings->dir);
    memset(measure, 0, sizeof(*measure));
    bool recording = strcmp(recorder->name, "none") != 0;
    pid_t pid = recording ? start_recorder(settings, recorder, output) : 0;
    if (pid < 0)
        return -errno;
    sleep_ms(SETTLE_MS);

    struct storm_load load = {
        .kind = settings->what->kind,
        .threads = load_threads(settings->what),
        .calls = settings->calls ? settings->calls : settings->what->calls,
    };
    struct storm_load_result done;
    int result = storm_load_run(&load, &done);
    measure->load_seconds = done.seconds;
    sleep_ms(DRAIN_MS);
    if (recording && result == 0)
        result = stop_recorder(pid, measure);
    if (recording && result == 0)
        result = data_count(output, &measure->data);
    remove_tree(output);
    char old[4096];
    snprintf(old, sizeof(old), "%s.old", output);
    remove_tree(old);
    sync(); /* what one recorder left to write must not slow the next one down */
    return result;
}

/* ---- results ---- */

static struct weir_spread figure_of(const struct measure *runs, unsigned count,
                                    double (*figure)(const struct measure *))
{
    double values[RUNS_MAX];
    for (unsigned i = 0; i < count; i++)
        values[i] = figure(&runs[i]);
    return weir_spread_of(values, count);
}

static uint64_t lost(const struct measure *m)
{
    return m->data.lost_samples > m->data.lost_records ? m->data.lost_samples : m->data.lost_records;
}

static double per(double value, double divisor)
{
    return divisor > 0 ? value / divisor : 0;
}

static double cpu_seconds(const struct measure *m)
{
    return m->cpu_seconds;
}

static double cpu_per_gb(const struct measure *m)
{
    return per(m->cpu_seconds, (double)m->data.bytes / 1e9);
}

static double cpu_per_million(const struct measure *m)
{
    return per(m->cpu_seconds, (double)m->data.samples / 1e6);
}

static double stored_percent(const struct measure *m)
{
    return per(100.0 * (double)m->data.samples, (double)(m->data.samples + lost(m)));
}

static double lost_events(const struct measure *m)
{
    return (double)lost(m);
}

static double stored_events(const struct measure *m)
{
    return (double)m->data.samples;
}

static double load_seconds(const struct measure *m)
{
    return m->load_seconds;
}

static double stop_seconds(const struct measure *m)
{
    return m->stop_seconds;
}

static double rss_mib(const struct measure *m)
{
    return (double)m->rss_kb / 1024;
}

static double switches(const struct measure *m)
{
    return (double)m->switches;
}

static const struct {
    const char *name;
    double (*figure)(const struct measure *);
} figures[] = {
    {"cpu_seconds", cpu_seconds},
    {"cpu_seconds_per_gb", cpu_per_gb},
    {"cpu_seconds_per_million_events", cpu_per_million},
    {"stored_events", stored_events},
    {"lost_events", lost_events},
    {"stored_percent", stored_percent},
    {"load_seconds", load_seconds},
    {"stop_seconds", stop_seconds},
    {"peak_rss_mib", rss_mib},
    {"voluntary_switches", switches},
};

static void print_json(const struct settings *settings, struct measure runs[][RUNS_MAX])
{
    struct utsname machine;
    uname(&machine);
    printf("{\"bench\": \"storm\", \"case\": \"%s\", \"kernel\": \"%s\", \"machine\": \"%s\", \"cpus\": %ld, "
           "\"threads\": %u, "
           "\"calls\": %llu, \"runs\": %u, \"recorders\": [",
           settings->what->name, machine.release, machine.machine, sysconf(_SC_NPROCESSORS_ONLN),
           load_threads(settings->what),
           (unsigned long long)(settings->calls ? settings->calls : settings->what->calls), settings->runs);
    bool first = true;
    for (size_t r = 0; r < WEIR_ARRAY_COUNT(recorders); r++) {
        if (!is_wanted(settings, &recorders[r]))
            continue;
        printf("%s\n  {\"recorder\": \"%s\"", first ? "" : ",", recorders[r].name);
        first = false;
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(figures); i++) {
            struct weir_spread s = figure_of(runs[r], settings->runs, figures[i].figure);
            printf(", \"%s\": {\"min\": %.4f, \"median\": %.4f, \"max\": %.4f}", figures[i].name, s.min, s.median,
                   s.max);
        }
        printf("}");
    }
    printf("\n]}\n");
}

static void print_table(const struct settings *settings, struct measure runs[][RUNS_MAX])
{
    printf("case %s, %u threads, median of %u runs (min to max for CPU and lost)\n", settings->what->name,
           load_threads(settings->what), settings->runs);
    printf("%-15s %22s %9s %9s %11s %22s %8s %7s %7s %8s %8s\n", "recorder", "CPU s", "CPU s/GB", "CPU s/M", "stored",
           "lost", "stored %", "load s", "stop s", "RSS MiB", "switches");
    for (size_t r = 0; r < WEIR_ARRAY_COUNT(recorders); r++) {
        if (!is_wanted(settings, &recorders[r]))
            continue;
        struct weir_spread s[WEIR_ARRAY_COUNT(figures)];
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(figures); i++)
            s[i] = figure_of(runs[r], settings->runs, figures[i].figure);
        printf("%-15s %6.3f (%5.3f to %5.3f) %9.3f %9.4f %11.0f %8.0f (%.0f to %.0f) %8.2f %7.3f %7.3f %8.1f %8.0f\n",
               recorders[r].name, s[0].median, s[0].min, s[0].max, s[1].median, s[2].median, s[3].median, s[4].median,
               s[4].min, s[4].max, s[5].median, s[6].median, s[7].median, s[8].median, s[9].median);
    }
}

/* ---- main ---- */

static int usage(void)
{
    fprintf(stderr, "usage: storm [--case enter|callchain|clock|ring-512k|ring-2m|default-one|default-all] [--runs N] "
                    "[--calls N] [--weir PATH] "
                    "[--perf PATH] [--only RECORDER]... [--dir DIR] [--json]\n");
    return USAGE_EXIT;
}

static bool parse_option(struct settings *settings, const char *name, const char *value)
{
    if (strcmp(name, "--case") == 0) {
        settings->what = NULL;
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
            if (strcmp(cases[i].name, value) == 0)
                settings->what = &cases[i];
        }
        return settings->what != NULL;
    }
    if (strcmp(name, "--runs") == 0) {
        settings->runs = (unsigned)strtoul(value, NULL, 10);
        return settings->runs >= 1 && settings->runs <= RUNS_MAX;
    }
    if (strcmp(name, "--calls") == 0)
        settings->calls = strtoull(value, NULL, 10);
    else if (strcmp(name, "--weir") == 0)
        settings->weir = value;
    else if (strcmp(name, "--perf") == 0)
        settings->perf = value;
    else if (strcmp(name, "--only") == 0 && settings->only_count < ONLY_MAX)
        settings->only[settings->only_count++] = value;
    else if (strcmp(name, "--dir") == 0)
        settings->dir = value;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = {.what = &cases[0], .runs = 5, .weir = "weir", .perf = "perf", .dir = "."};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            settings.json = true;
        } else if (i + 1 == argc || !parse_option(&settings, argv[i], argv[i + 1])) {
            return usage();
        } else {
            i++;
        }
    }

    if (access("/sys/kernel/tracing/events/raw_syscalls", R_OK) < 0) {
        fprintf(stderr, "storm: skipped: needs root and tracefs on /sys/kernel/tracing\n");
        return SKIP_EXIT;
    }

    static struct measure runs[WEIR_ARRAY_COUNT(recorders)][RUNS_MAX];
    for (unsigned run = 0; run < settings.runs; run++) {
        for (size_t r = 0; r < WEIR_ARRAY_COUNT(recorders); r++) {
            if (!is_wanted(&settings, &recorders[r]))
                continue;
            int result = measure_once(&settings, &recorders[r], &runs[r][run]);
            if (result < 0) {
                fprintf(stderr, "storm: %s failed: %s (see %s/storm.data.log)\n", recorders[r].name, strerror(-result),
                        settings.dir);
                return 1;
            }
        }
    }
    if (settings.json)
        print_json(&settings, runs);
    else
        print_table(&settings, runs);
    return 0;
}
