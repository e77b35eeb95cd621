/*
 * Starts, names, pins and prioritizes the threads of the data path, and joins them in order. Runs on the coordinator,
 * but for the body of the threads and keep_patience().
 */
#include "engine/drain/pipeline_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/thread_priority.h"
#include "topology/thread_affinity.h"

#define PATIENCE_NS (100 * WEIR_NS_PER_MS) /* between two calls of setup.while_waiting() */

static void *thread_main(void *argument)
{
    struct weir_pipeline_thread *thread = argument;
    struct weir_pipeline *pipeline = thread->pipeline;
    bool is_reader = thread->index < pipeline->reader_count;

    if (is_reader && pipeline->setup.pin)
        weir_thread_pin(&pipeline->setup.plan->readers[thread->index].affinity);
    thread->priority_error = weir_thread_prioritize(pipeline->setup.realtime_priority);
    weir_privileges_limit(WEIR_PRIVILEGES_DATA);
    thread->tid = gettid();
    sem_post(pipeline->started);

    if (is_reader)
        weir_reader_run(pipeline->readers[thread->index]);
    else if (thread->index == pipeline->reader_count)
        weir_writer_run(&pipeline->writer);
    else
        weir_pool_grower_run(&pipeline->grower);
    thread->cpu_time_ns = weir_clock_thread_cpu_ns();
    sem_post(&thread->ended);
    return NULL;
}

static int start_thread(struct weir_pipeline *pipeline, unsigned index, const pthread_attr_t *attr)
{
    struct weir_pipeline_thread *thread = &pipeline->threads[index];
    thread->pipeline = pipeline;
    thread->index = index;
    sem_init(&thread->ended, 0, 0);
    int result = -pthread_create(&thread->thread, attr, thread_main, thread);
    if (result < 0)
        return result;
    thread->started = true;

    char name[16]; /* TASK_COMM_LEN */
    if (index < pipeline->reader_count)
        snprintf(name, sizeof(name), "weir-reader-%u", index % 1000);
    else
        snprintf(name, sizeof(name), index == pipeline->reader_count ? "weir-writer" : "weir-pool");
    pthread_setname_np(thread->thread, name);
    return 0;
}

static unsigned thread_count(const struct weir_pipeline *pipeline)
{
    return pipeline->reader_count + (pipeline->setup.grow_pool ? 2 : 1);
}

static void warn_about_priority(const struct weir_pipeline *pipeline)
{
    for (unsigned i = 0; i < thread_count(pipeline); i++) {
        if (pipeline->threads[i].priority_error < 0) {
            weir_notice(
                pipeline->setup.notices, WEIR_NOTICE_WARNING,
                "cannot use real-time priority %d (%s): recording with normal priority; run as root, or allow it "
                "with ulimit -r %d",
                pipeline->setup.realtime_priority, strerror(-pipeline->threads[i].priority_error),
                pipeline->setup.realtime_priority);
            return;
        }
    }
}

int weir_pipeline_start(struct weir_pipeline *pipeline, struct weir_output *output, struct weir_error *err)
{
    int result = weir_pipeline_prepare(pipeline, output, err);
    if (result == 0 && pipeline->staging)
        result = weir_chunk_stage_start(&pipeline->stage, err);
    if (result < 0)
        return result;

    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, WEIR_PIPELINE_STACK_BYTES);
    unsigned started = 0;
    for (; result == 0 && started < thread_count(pipeline); started += result == 0)
        result = start_thread(pipeline, started, &attr);
    pthread_attr_destroy(&attr);

    for (unsigned i = 0; i < started; i++) {
        while (sem_wait(pipeline->started) < 0 && errno == EINTR)
            ;
    }
    if (result < 0) {
        weir_error_set_errno(err, result, "cannot start thread %u of %u", started + 1, thread_count(pipeline));
        weir_error_hint(err, "see ulimit -u and kernel.threads-max; --threads=core or =numa needs fewer");
        return result;
    }
    warn_about_priority(pipeline);
    return 0;
}

unsigned weir_pipeline_tids(const struct weir_pipeline *pipeline, pid_t *tids)
{
    unsigned count = 0;
    for (unsigned i = 0; i < thread_count(pipeline); i++) {
        if (pipeline->threads[i].started)
            tids[count++] = pipeline->threads[i].tid;
    }
    for (unsigned i = 0; pipeline->staging && i < pipeline->stage.worker_count; i++) {
        if (pipeline->stage.workers[i].started)
            tids[count++] = pipeline->stage.workers[i].tid;
    }
    return count;
}

unsigned weir_pipeline_tids_max(const struct weir_pipeline *pipeline)
{
    return pipeline->reader_count + WEIR_PIPELINE_OTHER_THREADS +
           (pipeline->staging ? pipeline->stage.worker_count : 0);
}

void weir_pipeline_pin_again(struct weir_pipeline *pipeline, unsigned cpu)
{
    for (unsigned i = 0; pipeline->setup.pin && i < pipeline->reader_count; i++) {
        const struct weir_cpuset *affinity = &pipeline->setup.plan->readers[i].affinity;
        if (weir_cpuset_has(affinity, cpu) && pipeline->threads[i].started)
            weir_thread_pin_other(pipeline->threads[i].tid, affinity);
    }
}

void weir_pipeline_keep_patience(struct weir_pipeline *pipeline)
{
    if (!pipeline->setup.while_waiting)
        return;
    pthread_mutex_lock(&pipeline->patience);
    pipeline->setup.while_waiting(pipeline->setup.waiting_ctx);
    pthread_mutex_unlock(&pipeline->patience);
}

/* Waits a while for the end of a thread: readers wait for chunks and the writer for its output, and only
 * setup.while_waiting() may end that. (Not pthread_clockjoin_np(3): ThreadSanitizer does not know it, and would order
 * nothing that the thread did before.) */
static bool has_ended_in_time(struct weir_pipeline_thread *thread)
{
    const struct timespec until = weir_clock_timespec(weir_clock_now_ns(&weir_clock_monotonic) + PATIENCE_NS);
    return sem_clockwait(&thread->ended, CLOCK_MONOTONIC, &until) == 0;
}

static void join(struct weir_pipeline *pipeline, struct weir_pipeline_thread *thread)
{
    while (thread->started && pipeline->setup.while_waiting && !has_ended_in_time(thread))
        weir_pipeline_keep_patience(pipeline);
    if (thread->started)
        pthread_join(thread->thread, NULL);
    thread->started = false;
}

void weir_pipeline_stop_readers(struct weir_pipeline *pipeline, bool snapshot)
{
    weir_rounds_stop(&pipeline->rounds, snapshot);
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        join(pipeline, &pipeline->threads[i]);
}

void weir_pipeline_stop_writer(struct weir_pipeline *pipeline)
{
    weir_rounds_close(&pipeline->rounds);
    weir_writer_stop(&pipeline->writer);
    join(pipeline, weir_pipeline_writer_thread(pipeline));
    if (pipeline->staging)
        weir_chunk_stage_stop(&pipeline->stage);
    weir_pool_grower_stop(&pipeline->grower);
    join(pipeline, weir_pipeline_grower_thread(pipeline));
}

void weir_pipeline_stop(struct weir_pipeline *pipeline)
{
    if (!pipeline || !pipeline->threads)
        return;
    weir_writer_wait_for_space(&pipeline->writer, false);
    bool readers = false;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        readers |= pipeline->threads[i].started;
    if (readers)
        weir_pipeline_stop_readers(pipeline, false);
    if (weir_pipeline_has_started(pipeline))
        weir_pipeline_stop_writer(pipeline);
}
