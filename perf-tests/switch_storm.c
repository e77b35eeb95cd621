/*
 * Switches of the output under a storm: every event is in one of the files, once.
 *
 *     switch_storm [--switches N] [--pause-ms MS] [--signal] [--option OPTION]... [--weir PATH] [--dir DIR]
 *
 * One thread per CPU calls getppid(2) without a pause. The call's arguments, which raw_syscalls:sys_enter records, are
 * the number of the thread and of the call. So each event differs from all others. Every call that the threads have
 * made must stand in all files together exactly once. The files must tell each missing call as lost.
 *
 * Meanwhile the program switches the output N times (200 by default), by commands with a pause between them. weir
 * answers each command when the next file is in use. With --signal the program sends SIGUSR2 instead; signals that come
 * while a switch is under way count as one. --option adds to weir's command line. weir -v tells at its end how the
 * readers kept up, between switches and around them.
 *
 * Prints JSON; then exit status 0: it held, 1: it did not, 77: needs root and tracefs.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/perf_input.h"

#define THREADS_MAX   64u
#define OPTIONS_MAX   8u
#define CALLS_MAX     (UINT64_C(1) << 28) /* of a thread: 32 MiB of marks */
#define MAGIC         0x73776974ul        /* above the process: another storm on the machine is not ours */
#define ANSWER_MS     60000
#define SKIP_EXIT     77
#define USAGE_EXIT    2
#define RAW_ID_OFFSET 8 /* of the number of the call, in raw_syscalls:sys_enter; its arguments follow */

struct settings {
    unsigned switches, pause_ms;
    bool by_signal;
    const char *options[OPTIONS_MAX];
    unsigned option_count;
    const char *weir, *dir;
};

struct load_thread {
    pthread_t thread;
    unsigned number;
    int cpu;
    _Atomic bool *stop;
    unsigned long mark; /* the first argument of its calls */
    uint64_t calls;     /* made; the thread's until it is joined */
    uint8_t *marks;     /* a bit for each call that was found */
};

struct storm {
    const struct settings *settings;
    struct load_thread threads[THREADS_MAX];
    unsigned thread_count;
    _Atomic bool stop;
    pid_t weir;
    int commands, answers; /* of --control */
    char output[4000], log[4096];
    unsigned files;
    uint64_t found, doubled, made_up, lost;
};

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
}

/* ---- the load ---- */

static unsigned long own_mark(void)
{
    return MAGIC << 32 | (unsigned long)getpid();
}

static void *call_all(void *argument)
{
    struct load_thread *self = argument;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(self->cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    /* Relaxed: the joining thread sees all. */
    while (!atomic_load_explicit(self->stop, memory_order_relaxed) && self->calls < CALLS_MAX)
        syscall(SYS_getppid, self->mark, (unsigned long)self->number, (unsigned long)self->calls++);
    return NULL;
}

static int start_load(struct storm *storm)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE && storm->thread_count < THREADS_MAX; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        struct load_thread *thread = &storm->threads[storm->thread_count];
        *thread =
            (struct load_thread){.number = storm->thread_count, .cpu = cpu, .stop = &storm->stop, .mark = own_mark()};
        if (pthread_create(&thread->thread, NULL, call_all, thread) != 0)
            return -EAGAIN;
        storm->thread_count++;
    }
    return 0;
}

static int end_load(struct storm *storm)
{
    atomic_store_explicit(&storm->stop, true, memory_order_relaxed);
    for (unsigned i = 0; i < storm->thread_count; i++) {
        pthread_join(storm->threads[i].thread, NULL);
        storm->threads[i].marks = calloc(1, storm->threads[i].calls / 8 + 1);
        if (!storm->threads[i].marks)
            return -ENOMEM;
    }
    return 0;
}

/* ---- the recorder ---- */

static void exec_weir(const struct storm *storm, int commands, int answers)
{
    const struct settings *settings = storm->settings;
    char control[64];
    prctl(PR_SET_PDEATHSIG, SIGINT); /* it must not record on for nobody */
    snprintf(control, sizeof(control), "fd:%d,%d", commands, answers);
    const char *args[32 + OPTIONS_MAX] = {
        settings->weir,    "record",    "-v",    "-a", "-e",          "raw_syscalls:sys_enter", "-c", "1",
        "--switch-output", "--control", control, "-o", storm->output,
    };
    size_t n = 0;
    while (args[n])
        n++;
    for (unsigned i = 0; i < settings->option_count; i++)
        args[n++] = settings->options[i];
    int log = open(storm->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    execvp(args[0], (char *const *)(uintptr_t)args);
    _exit(127);
}

static int start_weir(struct storm *storm)
{
    int commands[2], answers[2];
    if (pipe(commands) < 0 || pipe(answers) < 0)
        return -errno;
    storm->weir = fork();
    if (storm->weir < 0)
        return -errno;
    if (storm->weir == 0) {
        close(commands[1]);
        close(answers[0]);
        exec_weir(storm, commands[0], answers[1]);
    }
    close(commands[0]);
    close(answers[1]);
    storm->commands = commands[1];
    storm->answers = answers[0];
    return 0;
}

/* Sends a command and waits for its "ack". 0, -EPROTO: another answer, -ETIMEDOUT, or -errno. */
static int ask(const struct storm *storm, const char *command)
{
    char line[64], answer[512] = "";
    int length = snprintf(line, sizeof(line), "%s\n", command);
    if (write(storm->commands, line, (size_t)length) != length)
        return -errno;
    size_t used = 0;
    while (used == 0 || answer[used - 1] != '\0') { /* answers end with a newline and a zero byte */
        struct pollfd readable = {.fd = storm->answers, .events = POLLIN};
        if (poll(&readable, 1, ANSWER_MS) <= 0)
            return -ETIMEDOUT;
        ssize_t got = read(storm->answers, answer + used, sizeof(answer) - used);
        if (got <= 0 || (size_t)got == sizeof(answer) - used)
            return -EPROTO;
        used += (size_t)got;
    }
    return strncmp(answer, "ack", 3) == 0 ? 0 : -EPROTO;
}

static int switch_often(const struct storm *storm)
{
    int result = 0;
    for (unsigned n = 0; result == 0 && n < storm->settings->switches; n++) {
        if (storm->settings->by_signal)
            kill(storm->weir, SIGUSR2);
        else
            result = ask(storm, "switch");
        sleep_ms(storm->settings->pause_ms);
    }
    return result;
}

static int stop_weir(const struct storm *storm)
{
    int status;
    kill(storm->weir, SIGINT);
    if (waitpid(storm->weir, &status, 0) != storm->weir)
        return -errno;
    bool fine = (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return fine ? 0 : -ECHILD;
}

/* ---- what the files hold ---- */

static void mark_call(struct storm *storm, uint64_t number, uint64_t call)
{
    if (number >= storm->thread_count || call >= storm->threads[number].calls) {
        storm->made_up++;
        return;
    }
    uint8_t *byte = &storm->threads[number].marks[call / 8], bit = (uint8_t)(1u << call % 8);
    storm->doubled += (*byte & bit) != 0;
    storm->found += (*byte & bit) == 0;
    *byte |= bit;
}

static void look_at_sample(struct storm *storm, struct weir_perf_input *input, const struct weir_record_view *record)
{
    const struct weir_input_event *event = weir_input_event_of(&input->events, record);
    struct weir_sample sample;
    size_t bad;
    uint64_t words[4]; /* the call and its first three arguments */
    if (!event || weir_sample_parse(&sample, &event->layout, record->data, record->bytes, &bad) < 0 ||
        sample.raw.count < RAW_ID_OFFSET + sizeof(words)) {
        storm->made_up++;
        return;
    }
    memcpy(words, sample.raw.data + RAW_ID_OFFSET, sizeof(words));
    if (words[0] == SYS_getppid && words[1] == own_mark())
        mark_call(storm, words[2], words[3]);
}

static int read_file(struct storm *storm, const char *path, struct weir_error *err)
{
    struct weir_perf_input input;
    struct weir_record_view record;
    int result = weir_perf_input_open(&input, path, err);
    if (result < 0)
        return result;
    while ((result = weir_perf_input_next(&input, &record, err)) == 1) {
        if (record.type == PERF_RECORD_SAMPLE)
            look_at_sample(storm, &input, &record);
        if (record.type == PERF_RECORD_LOST_SAMPLES) {
            uint64_t lost;
            memcpy(&lost, record.data + sizeof(struct perf_event_header), sizeof(lost));
            storm->lost += lost;
        }
    }
    weir_perf_input_close(&input);
    return result;
}

/* Each is removed once it was read. */
static int read_files(struct storm *storm, struct weir_error *err)
{
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s.*", storm->output);
    if (glob(pattern, 0, NULL, &found) != 0)
        return weir_error_set(err, -ENOENT, "there are no files '%s'", pattern);
    int result = 0;
    for (size_t i = 0; result == 0 && i < found.gl_pathc; i++) {
        result = read_file(storm, found.gl_pathv[i], err);
        storm->files++;
        unlink(found.gl_pathv[i]);
    }
    globfree(&found);
    return result;
}

/* ---- the outcome ---- */

static uint64_t calls_made(const struct storm *storm)
{
    uint64_t calls = 0;
    for (unsigned i = 0; i < storm->thread_count; i++)
        calls += storm->threads[i].calls;
    return calls;
}

/* Signals may have been taken together; commands were answered one by one. */
static bool holds(const struct storm *storm)
{
    unsigned wanted = storm->settings->switches + 1;
    bool files = storm->settings->by_signal ? storm->files > 1 && storm->files <= wanted : storm->files == wanted;
    return files && storm->doubled == 0 && storm->made_up == 0 && calls_made(storm) - storm->found <= storm->lost;
}

static void print_result(const struct storm *storm, double seconds)
{
    struct utsname machine;
    uname(&machine);
    printf("{\"bench\": \"switch_storm\", \"kernel\": \"%s\", \"cpus\": %u, \"switches\": %u, \"by\": \"%s\", "
           "\"pause_ms\": %u, \"seconds\": %.3f,\n \"files\": %u, \"calls\": %" PRIu64 ", \"found\": %" PRIu64
           ", \"doubled\": %" PRIu64 ", \"made_up\": %" PRIu64 ", \"missing\": %" PRIu64 ", \"told_as_lost\": %" PRIu64
           ", \"holds\": %s",
           machine.release, storm->thread_count, storm->settings->switches,
           storm->settings->by_signal ? "signal" : "command", storm->settings->pause_ms, seconds, storm->files,
           calls_made(storm), storm->found, storm->doubled, storm->made_up, calls_made(storm) - storm->found,
           storm->lost, holds(storm) ? "true" : "false");
    char line[1024];
    FILE *log = fopen(storm->log, "re");
    printf(",\n \"readers\": [");
    for (bool first = true; log && fgets(line, sizeof(line), log);) {
        if (strncmp(line, "drained ", 8) != 0)
            continue;
        printf("%s\n  \"%.*s\"", first ? "" : ",", (int)strcspn(line, "\n"), line);
        first = false;
    }
    printf("]}\n");
    if (log)
        fclose(log);
}

static int run(struct storm *storm, struct weir_error *err)
{
    int result = start_weir(storm);
    if (result == 0)
        result = ask(storm, "ping");
    if (result == 0)
        result = start_load(storm);
    uint64_t from_ns = weir_clock_now_ns(&weir_clock_monotonic);
    if (result == 0)
        result = switch_often(storm);
    double seconds = (double)(weir_clock_now_ns(&weir_clock_monotonic) - from_ns) / (double)WEIR_NS_PER_S;
    int ended = end_load(storm);
    int stopped = storm->weir > 0 ? stop_weir(storm) : 0;
    result = result < 0 ? result : ended < 0 ? ended : stopped;
    if (result < 0)
        return weir_error_set_errno(err, result, "the recording failed (see %s)", storm->log);
    result = read_files(storm, err);
    if (result == 0)
        print_result(storm, seconds);
    return result;
}

/* ---- main ---- */

static bool parse_option(struct settings *settings, const char *name, const char *value)
{
    if (strcmp(name, "--switches") == 0)
        settings->switches = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(name, "--pause-ms") == 0)
        settings->pause_ms = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(name, "--weir") == 0)
        settings->weir = value;
    else if (strcmp(name, "--dir") == 0)
        settings->dir = value;
    else if (strcmp(name, "--option") == 0 && settings->option_count < OPTIONS_MAX)
        settings->options[settings->option_count++] = value;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct settings settings = {.switches = 200, .pause_ms = 10, .weir = "weir", .dir = "."};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--signal") == 0) {
            settings.by_signal = true;
        } else if (i + 1 == argc || !parse_option(&settings, argv[i], argv[i + 1])) {
            fprintf(stderr, "usage: switch_storm [--switches N] [--pause-ms MS] [--signal] [--option OPTION]... "
                            "[--weir PATH] [--dir DIR]\n");
            return USAGE_EXIT;
        } else {
            i++;
        }
    }
    if (access("/sys/kernel/tracing/events/raw_syscalls", R_OK) < 0) {
        fprintf(stderr, "switch_storm: skipped: needs root and tracefs on /sys/kernel/tracing\n");
        return SKIP_EXIT;
    }
    signal(SIGPIPE, SIG_IGN);
    static struct storm storm;
    struct weir_error err = {0};
    storm.settings = &settings;
    snprintf(storm.output, sizeof(storm.output), "%s/switch_storm.%d.data", settings.dir, (int)getpid());
    snprintf(storm.log, sizeof(storm.log), "%s/switch_storm.%d.log", settings.dir, (int)getpid());
    int result = run(&storm, &err);
    if (result < 0)
        fprintf(stderr, "switch_storm: %s\n", err.what);
    bool held = result == 0 && holds(&storm);
    if (held)
        unlink(storm.log);
    for (unsigned i = 0; i < storm.thread_count; i++)
        free(storm.threads[i].marks);
    return held ? 0 : 1;
}
