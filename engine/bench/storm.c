/* Starts recorders and measures them; see storm.h. */
#include "engine/bench/storm.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/buf.h"
#include "base/clock.h"

#define ARGS_MAX     32
#define SETTLE_NS    (700 * WEIR_NS_PER_MS) /* from start to load; synthesis is over by then on usual machines */
#define DRAIN_NS     (100 * WEIR_NS_PER_MS) /* from the load's end to SIGINT */
#define NOT_STARTED  127
#define DATA_NAME    "storm.data"
#define FDS_OPEN_MAX 8

const struct weir_storm_case weir_storm_cases[] = {
    {"enter",
     "a tracepoint at every system call",
     {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "1024"},
     WEIR_STORM_LOAD_SYSCALLS,
     1,
     2000000},
    {"callchain",
     "the same with call chains",
     {"-e", "raw_syscalls:sys_enter", "-c", "1", "-g", "-m", "1024"},
     WEIR_STORM_LOAD_SYSCALLS,
     1,
     1000000},
    {"clock",
     "10000 samples per second of arithmetic",
     {"-e", "cpu-clock", "-F", "10000"},
     WEIR_STORM_LOAD_SPIN,
     1,
     2500000},
    {"ring-512k",
     "enter with rings of 512 KiB",
     {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "512K"},
     WEIR_STORM_LOAD_SYSCALLS,
     1,
     2000000},
    {"ring-2m",
     "enter with rings of 2 MiB",
     {"-e", "raw_syscalls:sys_enter", "-c", "1", "-m", "2M"},
     WEIR_STORM_LOAD_SYSCALLS,
     1,
     2000000},
    {"default-one",
     "system calls of one thread, the recorder's own ring size",
     {"-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"},
     WEIR_STORM_LOAD_SYSCALLS,
     0,
     2000000},
    {"default-all",
     "system calls on all CPUs, the recorder's own ring size",
     {"-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit"},
     WEIR_STORM_LOAD_SYSCALLS,
     1,
     2000000},
    {0},
};

const struct weir_storm_recorder weir_storm_recorders[] = {
    {"none", false, false, {NULL}, false},
    {"perf", true, true, {"-B", "-N"}, false},
    {"perf --aio=4", true, true, {"-B", "-N", "--aio=4"}, true},
    {"perf --threads", true, true, {"-B", "-N", "--threads"}, true},
    {"weir", false, true, {NULL}, false},
    {"weir -r 1", false, true, {"-r", "1"}, true},
    {"perf -z", true, true, {"-B", "-N", "-z1"}, true},
    {"weir -z", false, true, {"-B", "-z1"}, true},
    /* Nothing reaches the file of -M, because no request for a snapshot comes. */
    {"weir -M 64M", false, true, {"-M", "64M"}, true},
    {"weir --overwrite", false, true, {"--overwrite"}, true},
    {"perf build ids", true, true, {"-N"}, true},
    {0},
};
_Static_assert(WEIR_ARRAY_COUNT(weir_storm_recorders) <= WEIR_STORM_RECORDERS_MAX, "callers keep results of all");

unsigned weir_storm_threads(const struct weir_storm_case *what)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return what->thread_divisor == 0 ? 1 : (unsigned)weir_max_u64((uint64_t)cpus / what->thread_divisor, 1);
}

uint64_t weir_storm_lost(const struct weir_storm_measure *measure)
{
    return weir_max_u64(measure->data.lost_samples, measure->data.lost_records);
}

/* ---- files ---- */

struct place {
    char text[PATH_MAX];
};

static struct place place_in(const char *dir, const char *name)
{
    struct place place;
    snprintf(place.text, sizeof(place.text), "%s/%s", dir, name);
    return place;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, FDS_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
}

static void clean_up(const struct weir_storm_options *options)
{
    static const char *const names[] = {DATA_NAME, DATA_NAME ".old", DATA_NAME ".log"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++)
        remove_tree(place_in(options->dir, names[i]).text);
}

/* ---- the recorder ---- */

/* In the child: becomes the recorder. Signals that this process has blocked reach it. */
static void become(const char *const *args, const char *log)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    execvp(args[0], (char *const *)(uintptr_t)args);
    dprintf(STDERR_FILENO, "cannot run '%s': %s\n", args[0], strerror(errno));
    _exit(NOT_STARTED);
}

static pid_t start_recorder(const struct weir_storm_options *options, const struct weir_storm_recorder *recorder)
{
    const char *args[ARGS_MAX];
    struct place data = place_in(options->dir, DATA_NAME), log = place_in(options->dir, DATA_NAME ".log");
    size_t n = 0;
    args[n++] = recorder->is_perf ? options->perf : options->weir;
    args[n++] = "record";
    args[n++] = "-a";
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(recorder->extra) && recorder->extra[i]; i++)
        args[n++] = recorder->extra[i];
    for (size_t i = 0; options->what->options[i]; i++)
        args[n++] = options->what->options[i];
    args[n++] = "-o";
    args[n++] = data.text;
    args[n] = NULL;
    pid_t pid = fork();
    if (pid == 0)
        become(args, log.text);
    return pid;
}

/* A recorder that was stopped by SIGINT dies of it once its file is whole. */
static bool ended_well(int status)
{
    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Fills err with the first line that the recorder printed. */
static int tell_failure(const struct weir_storm_options *options, const struct weir_storm_recorder *recorder,
                        struct weir_error *err)
{
    struct weir_buf log = WEIR_BUF_INIT;
    int code = weir_buf_append_file(&log, place_in(options->dir, DATA_NAME ".log").text);
    const char *text = code == 0 ? weir_buf_str(&log) : "";
    text += strspn(text, "\n ");
    if (*text)
        weir_error_set(err, -ECHILD, "%s failed: %.*s", recorder->name, (int)strcspn(text, "\n"), text);
    else
        weir_error_set(err, -ECHILD, "%s failed without a message", recorder->name);
    weir_buf_fini(&log);
    return -ECHILD;
}

static int stop_recorder(pid_t pid, struct weir_storm_measure *measure)
{
    uint64_t from_ns = weir_clock_now_ns(&weir_clock_monotonic);
    kill(pid, SIGINT);
    int status;
    struct rusage used;
    pid_t waited;
    do
        waited = wait4(pid, &status, 0, &used);
    while (waited < 0 && errno == EINTR);
    if (waited != pid)
        return -errno;
    measure->stop_seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - from_ns) / (double)WEIR_NS_PER_S;
    measure->cpu_seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    measure->rss_kb = (uint64_t)used.ru_maxrss;
    measure->switches = (uint64_t)used.ru_nvcsw;
    return ended_well(status) ? 0 : -ECHILD;
}

static int run_load(const struct weir_storm_options *options, struct weir_storm_measure *measure)
{
    const struct weir_storm_load load = {
        .kind = options->what->kind,
        .threads = weir_storm_threads(options->what),
        .calls = options->calls ? options->calls : options->what->calls,
    };
    struct weir_storm_load_result done = {0};
    weir_clock_pause_ns(SETTLE_NS);
    int result = weir_storm_load_run(&load, &done);
    measure->load_seconds = done.seconds;
    weir_clock_pause_ns(DRAIN_NS);
    return result;
}

int weir_storm_run(const struct weir_storm_options *options, const struct weir_storm_recorder *recorder,
                   struct weir_storm_measure *measure, struct weir_error *err)
{
    *measure = (struct weir_storm_measure){0};
    pid_t pid = recorder->records ? start_recorder(options, recorder) : 0;
    if (pid < 0)
        return weir_error_set_errno(err, -errno, "cannot start %s", recorder->name);
    int result = run_load(options, measure);
    if (pid > 0) {
        int stopped = stop_recorder(pid, measure);
        result = result < 0 ? result : stopped;
    }
    if (pid > 0 && result == 0)
        result = weir_data_count(place_in(options->dir, DATA_NAME).text, &measure->data);
    if (result == -ECHILD)
        tell_failure(options, recorder, err);
    else if (result < 0)
        weir_error_set_errno(err, result, "cannot measure %s", recorder->name);
    clean_up(options);
    sync(); /* what one recorder left to write must not slow the next one down */
    return result;
}
