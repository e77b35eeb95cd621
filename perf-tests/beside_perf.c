/*
 * What a recording costs before its first event, with many rings, and when it is read, beside perf.
 *
 *     beside_perf start  [--tasks N] [--runs N] [--weir PATH] [--perf PATH] [--dir DIR]
 *     beside_perf rings  [--tasks N] [--rings N] [--runs N] [--weir PATH] [--perf PATH] [--dir DIR]
 *     beside_perf report|report-all [--calls N] [--runs N] [--weir PATH] [--perf PATH] [--dir DIR]
 *
 * start: with N more tasks on the machine, a recorder records system-wide. Measures the time from the recorder's fork
 * to its first sample, by the SAMPLE_TIME feature of its file (-k monotonic: the clock of this program).
 * rings: with N more tasks on the machine, a recorder records a process of sleeping threads with one ring for each
 * thread (--per-thread), while sleep(1) sleeps 10 ms. Measures the time from the recorder's fork to its end.
 * report: weir, perf and `perf record --threads` each record the same load once. Then `perf report --stdio` reads each
 * recording, in turn. Measures the resource use of each reading by wait4(2).
 * report-all: as report, but records the whole machine, and with it the recorder itself.
 * Runs interleave, so that a drift of the machine's speed affects all alike. JSON, medians over the runs. The program
 * removes the recordings in DIR (default: the current one) at the end, unless a run has failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/spread.h"
#include "engine/bench/storm_load.h"
#include "format/perf_input.h"

#define RUNS_MAX   16
#define FORMS      3
#define SKIP_EXIT  77
#define USAGE_EXIT 2
#define SETTLE_MS  700
#define WALK_FDS   8 /* of nftw(3) */

enum claim {
    CLAIM_START,
    CLAIM_RINGS,
    CLAIM_REPORT,
    CLAIM_REPORT_ALL,
    CLAIM_COUNT
};

static const char *const claims[CLAIM_COUNT] = {"start", "rings", "report", "report-all"};

struct settings {
    enum claim claim;
    unsigned runs, tasks, rings;
    pid_t threads; /* the process that is recorded with a ring for each of its threads */
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
    double file_mib; /* of reports: what is read */
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

/* Its id, or -errno. */
static pid_t start(const char *const *args, const char *log)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid < 0 ? -errno : pid;
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(args[0], (char *const *)(uintptr_t)args);
    _exit(127);
}

/* Waits for a child of start(), which ends well, or by our SIGINT. */
static int finish(pid_t pid, struct rusage *used)
{
    int status;
    *used = (struct rusage){0};
    if (pid < 0)
        return pid;
    if (wait4(pid, &status, 0, used) != pid)
        return -errno;
    bool fine = (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return fine ? 0 : -ECHILD;
}

/* A child that was never started has no id to be signaled by: -1 is everybody's. */
static int interrupt(pid_t pid, struct rusage *used)
{
    if (pid > 0)
        kill(pid, SIGINT);
    return finish(pid, used);
}

static void note(struct figures *figures, unsigned run, double seconds, const struct rusage *used)
{
    figures->seconds[run] = seconds;
    figures->cpu_seconds[run] = (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                                (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6;
    figures->rss_mib[run] = (double)used->ru_maxrss / 1024;
}

static void path_of(const struct settings *settings, unsigned form, const char *suffix, char path[4096])
{
    snprintf(path, 4096, "%s/beside_perf.%u%s", settings->dir, form, suffix);
}

/* command: what it runs; NULL: nothing. */
static pid_t start_recorder(const struct settings *settings, unsigned form, const char *const *options,
                            const char *const *command)
{
    char output[4096], log[4096];
    const char *args[32] = {forms[form].is_perf ? settings->perf : settings->weir, "record"};
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
    for (; command && *command; command++)
        args[n++] = *command;
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
    pid_t pid = start_recorder(settings, form, forms[form].is_perf ? perf_options : options, NULL);
    sleep_ms(SETTLE_MS + settings->tasks / 5); /* perf takes longer than that only where nobody would wait for it */
    struct rusage used;
    int result = interrupt(pid, &used);
    path_of(settings, form, ".data", path);
    if (result == 0)
        result = first_sample_seconds(path, &first);
    note(figures, run, first - from, &used);
    unlink(path);
    return result;
}

/* Processes that sleep until this one ends. 0, or -errno: figures of fewer would be those of another machine. */
static int make_tasks(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return -errno;
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    }
    return 0;
}

/* ---- rings ---- */

static void *sleep_on(void *argument)
{
    for (;;)
        pause();
    return argument;
}

/* A process of that many threads, which ends with this one. Its id, or -errno. */
static pid_t make_threads(unsigned count)
{
    int ready[2];
    char said = 0;
    if (pipe(ready) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid != 0) {
        close(ready[1]);
        bool made = pid > 0 && read(ready[0], &said, 1) == 1;
        close(ready[0]);
        return made ? pid : -EAGAIN;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
    for (unsigned i = 1; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, sleep_on, NULL) != 0)
            _exit(1); /* the pipe says so */
    }
    if (write(ready[1], &said, 1) == 1)
        sleep_on(NULL);
    _exit(1);
}

static int measure_rings(const struct settings *settings, unsigned form, struct figures *figures, unsigned run)
{
    static const char *const command[] = {"--", "sleep", "0.01", NULL};
    char path[4096], target[16];
    snprintf(target, sizeof(target), "%d", settings->threads);
    const char *const options[] = {"--per-thread", "-p", target, "-e", "dummy", "-m", "64K", NULL};
    double from = now_seconds();
    struct rusage used;
    int result = finish(start_recorder(settings, form, options, command), &used);
    note(figures, run, now_seconds() - from, &used);
    path_of(settings, form, ".data", path);
    unlink(path);
    return result;
}

/* ---- report ---- */

static int record_load(const struct settings *settings, unsigned form)
{
    /* Of this process alone, so that all of them have recorded the same. */
    char self[16];
    snprintf(self, sizeof(self), "%d", getpid());
    const char *const options[] = {"-e", "raw_syscalls:sys_enter", "-c", "1", "-g", "-m", "1024", "-p", self, NULL};
    const char *const options_all[] = {"-e", "raw_syscalls:sys_enter", "-c", "1", "-g", "-m", "1024", "-a", NULL};
    pid_t pid = start_recorder(settings, form, settings->claim == CLAIM_REPORT ? options : options_all, NULL);
    sleep_ms(SETTLE_MS);
    const struct weir_storm_load load = {.kind = WEIR_STORM_LOAD_SYSCALLS, .threads = 1, .calls = settings->calls};
    struct weir_storm_load_result loaded = {0};
    int result = weir_storm_load_run(&load, &loaded);
    struct rusage used;
    int ended = interrupt(pid, &used);
    return result < 0 ? result : ended;
}

static int measure_report(const struct settings *settings, unsigned form, struct figures *figures, unsigned run)
{
    char path[4096], log[4096];
    path_of(settings, form, ".data", path);
    path_of(settings, form, ".report", log);
    /* Left to itself, perf sorts files that know nothing but tracepoints by what these print. */
    const char *const args[] = {settings->perf, "report", "--stdio", "-s", "comm,dso,sym", "-i", path, NULL};
    double from = now_seconds();
    struct rusage used;
    int result = finish(start(args, log), &used);
    note(figures, run, now_seconds() - from, &used);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        figures->file_mib = (double)st.st_size / (1 << 20);
    return result;
}

/* ---- all of it ---- */

static bool is_report(const struct settings *settings)
{
    return settings->claim == CLAIM_REPORT || settings->claim == CLAIM_REPORT_ALL;
}

/* Files are read in all forms; perf's --threads takes no rings of threads, and starts as without. */
static bool has_form(const struct settings *settings, unsigned form)
{
    return is_report(settings) || !forms[form].option;
}

static void print(const struct settings *settings, struct figures *figures)
{
    struct utsname machine;
    uname(&machine);
    printf("{\"claim\": \"%s\", \"kernel\": \"%s\", \"cpus\": %ld, \"runs\": %u, ", claims[settings->claim],
           machine.release, sysconf(_SC_NPROCESSORS_ONLN), settings->runs);
    if (is_report(settings))
        printf("\"calls\": %llu", (unsigned long long)settings->calls);
    else
        printf("\"tasks\": %u", settings->tasks);
    if (settings->claim == CLAIM_RINGS)
        printf(", \"rings\": %u", settings->rings);
    for (unsigned form = 0; form < FORMS; form++) {
        if (!has_form(settings, form))
            continue;
        struct weir_spread seconds = weir_spread_of(figures[form].seconds, settings->runs);
        printf(",\n \"%s\": {\"seconds\": %.3f, \"cpu_seconds\": %.3f, \"rss_mib\": %.1f, ", forms[form].name,
               seconds.median, weir_spread_of(figures[form].cpu_seconds, settings->runs).median,
               weir_spread_of(figures[form].rss_mib, settings->runs).median);
        printf("\"seconds_min\": %.3f, \"seconds_max\": %.3f", seconds.min, seconds.max);
        if (figures[form].file_mib > 0) /* a directory has none */
            printf(", \"file_mib\": %.1f", figures[form].file_mib);
        printf("}");
    }
    printf("}\n");
}

static int prepare(struct settings *settings)
{
    int result = is_report(settings) ? 0 : make_tasks(settings->tasks);
    if (result == 0 && settings->claim == CLAIM_RINGS)
        settings->threads = make_threads(settings->rings);
    return settings->threads < 0 ? settings->threads : result;
}

static int measure(const struct settings *settings, unsigned form, struct figures *figures, unsigned run)
{
    switch (settings->claim) {
    case CLAIM_START:
        return measure_start(settings, form, figures, run);
    case CLAIM_RINGS:
        return measure_rings(settings, form, figures, run);
    default:
        break;
    }
    int result = run == 0 ? record_load(settings, form) : 0;
    return result < 0 ? result : measure_report(settings, form, figures, run);
}

static int run_all(struct settings *settings, struct figures *figures)
{
    int result = prepare(settings);
    if (result < 0)
        fprintf(stderr, "beside_perf: cannot make %u tasks and %u threads: %s\n", settings->tasks, settings->rings,
                strerror(-result));
    for (unsigned run = 0; result == 0 && run < settings->runs; run++) {
        for (unsigned form = 0; result == 0 && form < FORMS; form++) {
            result = has_form(settings, form) ? measure(settings, form, &figures[form], run) : 0;
            if (result < 0)
                fprintf(stderr, "beside_perf: %s: %s (see %s/beside_perf.%u.log)\n", forms[form].name,
                        strerror(-result), settings->dir, form);
        }
    }
    return result;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st, (void)type, (void)place;
    return remove(path);
}

/* Files, and perf's directories. */
static void remove_recordings(const struct settings *settings)
{
    static const char *const suffixes[] = {".data", ".data.old", ".log", ".report"};
    for (unsigned form = 0; form < FORMS; form++) {
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(suffixes); i++) {
            char path[4096];
            path_of(settings, form, suffixes[i], path);
            nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
        }
    }
}

/* The claim of that name; CLAIM_COUNT: there is none. */
static enum claim claim_named(const char *name)
{
    enum claim claim = CLAIM_START;
    while (claim < CLAIM_COUNT && strcmp(name, claims[claim]) != 0)
        claim++;
    return claim;
}

int main(int argc, char **argv)
{
    struct settings settings = {
        .runs = 3, .tasks = 20000, .rings = 1024, .calls = 1000000, .weir = "weir", .perf = "perf", .dir = "."};
    static struct figures figures[FORMS];
    settings.claim = argc > 1 ? claim_named(argv[1]) : CLAIM_COUNT;
    bool good = settings.claim < CLAIM_COUNT && argc % 2 == 0;
    for (int i = 2; good && i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--runs") == 0)
            settings.runs = (unsigned)weir_clamp_u64(strtoull(value, NULL, 10), 1, RUNS_MAX);
        else if (strcmp(argv[i], "--tasks") == 0)
            settings.tasks = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--rings") == 0)
            settings.rings = (unsigned)strtoul(value, NULL, 10);
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
        fprintf(stderr, "usage: beside_perf start|rings|report|report-all [--tasks N] [--rings N] [--calls N] "
                        "[--runs N] [--weir PATH] [--perf PATH] [--dir DIR]\n");
        return USAGE_EXIT;
    }
    if (access("/sys/kernel/tracing/events/raw_syscalls", R_OK) < 0) {
        fprintf(stderr, "beside_perf: skipped: needs root and tracefs on /sys/kernel/tracing\n");
        return SKIP_EXIT;
    }
    if (run_all(&settings, figures) < 0)
        return 1;
    print(&settings, figures);
    remove_recordings(&settings);
    return 0;
}
