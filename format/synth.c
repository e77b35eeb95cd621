/*
 * Synthesis of tasks: the threads that share /proc, their output blocks, and the public functions.
 *
 * The directory /proc itself is the list of processes. Each worker reads the next few entries under a lock and then
 * reads these processes on its own, until the directory ends. weir makes no list beforehand. So weir reads a process
 * moments after it has seen its entry, and no memory grows with the number of processes. A worker with a process of ten
 * thousand threads does not delay the others.
 *
 *   worker: lock proc_lock; getdents64(proc_fd); unlock
 *           for each entry: weir_synth_process() into its block, emit() when the block is nearly full
 *           at the end: emit() the rest
 *
 * The first error of any worker is stored in run->result, which all workers check between processes.
 */
#include "format/synth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "format/synth_internal.h"

#define THREADS_MAX 256u

/* ---- runs ---- */

static int run_init(struct weir_synth_run *run, const struct weir_synth_options *options, struct weir_error *err)
{
    *run = (struct weir_synth_run){.options = options, .proc_root = options->proc_root ? options->proc_root : "/proc"};
    run->proc_fd = open(run->proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->proc_fd < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", run->proc_root);
    pthread_mutex_init(&run->proc_lock, NULL);
    weir_synth_maps_init(&run->maps, run->proc_fd, options->map_timeout_ms);
    return 0;
}

/* Ends the run with result, which it returns: sum goes to counts, which may be NULL, and an error to err. */
static int run_fini(struct weir_synth_run *run, int result, const struct weir_synth_counts *sum,
                    struct weir_synth_counts *counts, struct weir_error *err)
{
    pthread_mutex_destroy(&run->proc_lock);
    close(run->proc_fd);
    if (counts)
        *counts = *sum;
    return result < 0 ? weir_error_set_errno(err, result, "cannot record the tasks in %s", run->proc_root) : 0;
}

/* Keeps the first error. Relaxed: the value alone matters, and the join orders everything else. */
static void run_fail(struct weir_synth_run *run, int code)
{
    int none = 0;
    atomic_compare_exchange_strong_explicit(&run->result, &none, code, memory_order_relaxed, memory_order_relaxed);
}

static int run_result(struct weir_synth_run *run)
{
    return atomic_load_explicit(&run->result, memory_order_relaxed);
}

/* ---- workers ---- */

static struct weir_synth_worker *worker_new(struct weir_synth_run *run)
{
    struct weir_synth_worker *worker = malloc(sizeof(*worker));
    if (!worker)
        return NULL;
    worker->run = run;
    worker->counts = (struct weir_synth_counts){0};
    worker->first_timed_out = 0;
    worker->query_refused = false;
    if (weir_synth_block_init(&worker->block, run->options) < 0) {
        free(worker);
        return NULL;
    }
    return worker;
}

static void worker_free(struct weir_synth_worker *worker)
{
    if (!worker)
        return;
    weir_synth_block_fini(&worker->block);
    free(worker);
}

/* Bytes of entries in worker->pid_entries, 0 at the end of the directory, or -errno. */
static ssize_t next_entries(struct weir_synth_worker *worker)
{
    struct weir_synth_run *run = worker->run;
    pthread_mutex_lock(&run->proc_lock);
    ssize_t got = getdents64(run->proc_fd, worker->pid_entries, sizeof(worker->pid_entries));
    int code = got < 0 ? -errno : 0;
    pthread_mutex_unlock(&run->proc_lock);
    return got < 0 ? code : got;
}

static int synth_entries(struct weir_synth_worker *worker, ssize_t bytes)
{
    for (ssize_t at = 0; at < bytes && !run_result(worker->run);) {
        const struct dirent64 *entry = (const void *)(worker->pid_entries + at);
        at += entry->d_reclen;
        pid_t pid = weir_synth_entry_pid(entry->d_name);
        int result = pid > 0 ? weir_synth_process(worker, pid) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

static int synth_directory(struct weir_synth_worker *worker)
{
    ssize_t got;
    while ((got = next_entries(worker)) > 0) {
        int result = synth_entries(worker, got);
        if (result < 0)
            return result;
        if (run_result(worker->run))
            return 0; /* another worker's error: what is in the block goes down with it */
    }
    return got < 0 ? (int)got : weir_synth_block_flush(&worker->block);
}

static void *worker_main(void *arg)
{
    struct weir_synth_worker *worker = arg;
    int result = synth_directory(worker);
    if (result < 0)
        run_fail(worker->run, result);
    return NULL;
}

static void add_counts(struct weir_synth_counts *sum, const struct weir_synth_counts *counts)
{
    sum->tasks += counts->tasks;
    sum->maps += counts->maps;
    sum->vanished += counts->vanished;
    sum->timed_out += counts->timed_out;
}

static void report_timed_out(const struct weir_synth_run *run, const struct weir_synth_counts *counts, pid_t first)
{
    if (!counts->timed_out)
        return;
    weir_notice(
        run->options->notices, WEIR_NOTICE_WARNING,
        "reading the maps of %llu process%s (first: %d) took longer than %llu ms: some of their symbols will be "
        "missing; raise --proc-map-timeout",
        (unsigned long long)counts->timed_out, counts->timed_out == 1 ? "" : "es", (int)first,
        (unsigned long long)(run->maps.timeout_ns / WEIR_NS_PER_MS));
}

/* ---- all tasks ---- */

struct crew_member {
    struct weir_synth_worker *worker; /* owned */
    pthread_t thread;
    bool is_started; /* the first is the caller, which is not */
};

/* As many members as there is memory for, at least one. Their number, or -ENOMEM. */
static int crew_hire(struct weir_synth_run *run, struct crew_member *crew, unsigned wanted)
{
    unsigned count = 0;
    while (count < wanted && (crew[count].worker = worker_new(run)))
        count++;
    return count ? (int)count : -ENOMEM;
}

/* Members whose thread cannot be started are left out: the others do their share. */
static void crew_work(struct crew_member *crew, int count)
{
    for (int i = 1; i < count; i++)
        crew[i].is_started = pthread_create(&crew[i].thread, NULL, worker_main, crew[i].worker) == 0;
    worker_main(crew[0].worker);
    for (int i = 1; i < count; i++) {
        if (crew[i].is_started)
            pthread_join(crew[i].thread, NULL);
    }
}

/* Frees the workers and sums up their counts. */
static void crew_dismiss(struct crew_member *crew, int count, struct weir_synth_counts *sum)
{
    pid_t first_timed_out = 0;
    const struct weir_synth_run *run = crew[0].worker->run;
    for (int i = 0; i < count; i++) {
        add_counts(sum, &crew[i].worker->counts);
        if (!first_timed_out)
            first_timed_out = crew[i].worker->first_timed_out;
        worker_free(crew[i].worker);
    }
    report_timed_out(run, sum, first_timed_out);
}

static int run_crew(struct weir_synth_run *run, struct weir_synth_counts *sum)
{
    unsigned wanted = run->options->threads ? run->options->threads : 1;
    if (wanted > THREADS_MAX)
        wanted = THREADS_MAX;
    struct crew_member *crew = calloc(wanted, sizeof(*crew));
    int count = crew ? crew_hire(run, crew, wanted) : -ENOMEM;
    if (count > 0) {
        crew_work(crew, count);
        crew_dismiss(crew, count, sum);
    }
    free(crew);
    return count < 0 ? count : run_result(run);
}

int weir_synth_all_tasks(const struct weir_synth_options *options, struct weir_synth_counts *counts,
                         struct weir_error *err)
{
    struct weir_synth_run run;
    struct weir_synth_counts sum = {0};
    int result = run_init(&run, options, err);
    if (result < 0)
        return result;
    result = run_crew(&run, &sum);
    return run_fini(&run, result, &sum, counts, err);
}

/* ---- chosen processes ---- */

static int synth_process_of(struct weir_synth_worker *worker, pid_t tid)
{
    pid_t pid = weir_synth_thread_group(worker, tid);
    if (pid > 0)
        return weir_synth_process(worker, pid);
    if (!weir_synth_is_gone(pid))
        return pid;
    worker->counts.vanished++;
    return 0;
}

static int run_chosen(struct weir_synth_run *run, const pid_t *pids, size_t pid_count, struct weir_synth_counts *sum)
{
    struct crew_member alone = {.worker = worker_new(run)};
    if (!alone.worker)
        return -ENOMEM;
    int result = 0;
    for (size_t i = 0; i < pid_count && result == 0; i++)
        result = synth_process_of(alone.worker, pids[i]);
    if (result == 0)
        result = weir_synth_block_flush(&alone.worker->block);
    crew_dismiss(&alone, 1, sum);
    return result;
}

int weir_synth_processes(const struct weir_synth_options *options, const pid_t *pids, size_t pid_count,
                         struct weir_synth_counts *counts, struct weir_error *err)
{
    struct weir_synth_run run;
    struct weir_synth_counts sum = {0};
    int result = run_init(&run, options, err);
    if (result < 0)
        return result;
    result = run_chosen(&run, pids, pid_count, &sum);
    return run_fini(&run, result, &sum, counts, err);
}
