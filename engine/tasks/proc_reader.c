/*
 * One thread, with one request at a time. The lock guards all fields but `options`, which is constant. The thread
 * releases the lock while it reads a process, into a buffer of its own.
 */
#include "engine/tasks/proc_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/condition.h"
#include "engine/kernel/privileges.h"

struct weir_proc_reader {
    struct weir_synth_options options;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    pid_t tid;     /* 0: the thread has not started yet */
    bool ending;   /* free() was called */
    bool orphaned; /* free() did not wait: the thread frees */
    bool is_out;   /* the thread is reading a process */
    bool waiting;  /* the caller waits for the request; false: it has given up */
    bool hurried;
    uint64_t last_ns; /* CLOCK_MONOTONIC at which requests end, by hurry() */
    pid_t *pids;      /* owned; the request */
    size_t count;
    int result;                     /* -errno ended the request */
    struct weir_proc_reading taken; /* of the request so far */
    struct weir_buf records;        /* records of the processes that were read */
};

static int append(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return weir_buf_error(ctx);
}

static void release(struct weir_proc_reader *reader)
{
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->changed);
    weir_buf_fini(&reader->records);
    free(reader->pids);
    free(reader);
}

static bool is_unfinished(const struct weir_proc_reader *reader)
{
    return reader->result == 0 && reader->taken.processes < reader->count;
}

/* Reads the next process of the request. Under the lock, which it releases meanwhile. */
static void read_next(struct weir_proc_reader *reader)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_synth_options options = reader->options;
    struct weir_synth_counts counts;
    options.emit = append;
    options.emit_ctx = &records;
    pid_t pid = reader->pids[reader->taken.processes];
    reader->is_out = true;
    pthread_mutex_unlock(&reader->lock);
    int result = weir_synth_processes(&options, &pid, 1, &counts, NULL);
    pthread_mutex_lock(&reader->lock);
    reader->is_out = false;
    if (reader->waiting) {
        if (result == 0)
            result = append(&reader->records, records.data, records.used);
        reader->result = result;
        reader->taken.processes += result == 0;
        reader->taken.cut += result == 0 ? counts.timed_out : 0;
        pthread_cond_broadcast(&reader->changed);
    }
    weir_buf_fini(&records);
}

static void *thread_main(void *argument)
{
    struct weir_proc_reader *reader = argument;
    weir_privileges_limit(WEIR_PRIVILEGES_PROC);
    pthread_mutex_lock(&reader->lock);
    reader->tid = gettid();
    pthread_cond_broadcast(&reader->changed);
    while (!reader->ending) {
        if (reader->waiting && is_unfinished(reader))
            read_next(reader);
        else
            pthread_cond_wait(&reader->changed, &reader->lock);
    }
    bool orphaned = reader->orphaned;
    pthread_mutex_unlock(&reader->lock);
    if (orphaned)
        release(reader);
    return NULL;
}

int weir_proc_reader_start(struct weir_proc_reader **made, const struct weir_synth_options *options)
{
    struct weir_proc_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return -ENOMEM;
    reader->options = *options;
    reader->options.notices = NULL; /* the sink may be gone before the thread ends */
    pthread_mutex_init(&reader->lock, NULL);
    weir_condition_init(&reader->changed);
    int result = -pthread_create(&reader->thread, NULL, thread_main, reader);
    if (result < 0) {
        release(reader);
        return result;
    }
    pthread_setname_np(reader->thread, "weir-proc");
    pthread_mutex_lock(&reader->lock);
    while (reader->tid == 0)
        pthread_cond_wait(&reader->changed, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
    *made = reader;
    return 0;
}

pid_t weir_proc_reader_tid(const struct weir_proc_reader *reader)
{
    return reader->tid; /* constant after start() */
}

/* Waits as long as the thread finishes processes. Under the lock. */
static void await(struct weir_proc_reader *reader, unsigned hang_ms)
{
    size_t before = reader->taken.processes;
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + hang_ms * WEIR_NS_PER_MS;
    while (is_unfinished(reader)) {
        uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
        if (reader->taken.processes > before) {
            before = reader->taken.processes;
            until_ns = now_ns + hang_ms * WEIR_NS_PER_MS;
        }
        uint64_t end_ns = reader->hurried ? weir_min_u64(until_ns, reader->last_ns) : until_ns;
        if (now_ns >= end_ns) {
            reader->result = -ETIMEDOUT;
            break;
        }
        weir_condition_await(&reader->changed, &reader->lock, end_ns);
    }
}

/* Starts a request. Under the lock; no earlier request may be under way. */
static int request(struct weir_proc_reader *reader, const pid_t *pids, size_t count)
{
    pid_t *copy = reallocarray(reader->pids, count, sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    memcpy(copy, pids, count * sizeof(*copy));
    reader->pids = copy;
    reader->count = count;
    reader->taken = (struct weir_proc_reading){0};
    reader->result = 0;
    reader->waiting = true;
    weir_buf_reset(&reader->records);
    pthread_cond_broadcast(&reader->changed);
    return 0;
}

int weir_proc_reader_read(struct weir_proc_reader *reader, const pid_t *pids, size_t count, unsigned hang_ms,
                          struct weir_buf *records, struct weir_proc_reading *taken)
{
    *taken = (struct weir_proc_reading){0};
    if (count == 0)
        return 0;
    pthread_mutex_lock(&reader->lock);
    int result = reader->is_out ? -ETIMEDOUT : request(reader, pids, count);
    if (result == 0) {
        await(reader, hang_ms);
        reader->waiting = false;
        result = reader->result;
        if (append(records, reader->records.data, reader->records.used) < 0)
            result = -ENOMEM;
        *taken = reader->taken;
    }
    pthread_mutex_unlock(&reader->lock);
    return result;
}

void weir_proc_reader_hurry(struct weir_proc_reader *reader, unsigned ms)
{
    if (!reader)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->hurried = true;
    reader->last_ns = weir_clock_now_ns(&weir_clock_monotonic) + ms * WEIR_NS_PER_MS;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

void weir_proc_reader_free(struct weir_proc_reader *reader)
{
    if (!reader)
        return;
    pthread_t thread = reader->thread;
    pthread_mutex_lock(&reader->lock);
    bool hangs = reader->is_out;
    reader->ending = true;
    reader->orphaned = hangs;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
    if (hangs) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    release(reader);
}
