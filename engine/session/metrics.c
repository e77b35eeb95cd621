/* The thread, its file, and the timer of the coordinator. */
#include "engine/session/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/directory.h"
#include "base/new_file.h"
#include "base/write_whole.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/timer.h"

#define PERIOD_NS   (10 * WEIR_NS_PER_S)
#define FIRST_NS    WEIR_NS_PER_S         /* until the second text: a fault of the file is told soon */
#define LOOK_NS     (50 * WEIR_NS_PER_MS) /* at the end, whether the wait is hurried */
#define PATIENCE_NS (5 * WEIR_NS_PER_S)   /* at the end, for the last text */
#define FILE_MODE   0644                  /* node_exporter runs as a user of its own */

struct weir_metrics_file {
    char *path; /* owned; constant */
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct weir_buf offered; /* the newest text */
    bool has_offer, writing, ending, orphaned;
    int failed; /* -errno of the first failure; 0: none */
    pid_t tid;
};

/* ---- the file: on the thread ---- */

static int replace_in(int directory_fd, const char *name, const struct weir_buf *text)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES]; /* not read by node_exporter */
    int fd = weir_new_file_open(directory_fd, FILE_MODE, hidden);
    if (fd < 0)
        return fd;
    int result = fchmod(fd, FILE_MODE) < 0 ? -errno : weir_write_whole(fd, text->data, text->used);
    int ended = weir_new_file_end(directory_fd, fd, hidden, result == 0 ? name : NULL);
    return result < 0 ? result : ended;
}

static int replace(const char *path, const struct weir_buf *text)
{
    const char *name;
    int directory_fd = weir_directory_open_parent(path, &name);
    if (directory_fd < 0)
        return directory_fd;
    int result = replace_in(directory_fd, name, text);
    close(directory_fd);
    return result;
}

/* ---- the thread ---- */

static void release(struct weir_metrics_file *file)
{
    weir_buf_fini(&file->offered);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->changed);
    free(file->path);
    free(file);
}

/* Writes the newest text. Under the lock, which is free meanwhile. */
static void write_offer(struct weir_metrics_file *file)
{
    struct weir_buf text = file->offered;
    file->offered = (struct weir_buf)WEIR_BUF_INIT;
    file->has_offer = false;
    file->writing = true;
    pthread_mutex_unlock(&file->lock);
    int result = replace(file->path, &text);
    weir_buf_fini(&text);
    pthread_mutex_lock(&file->lock);
    file->writing = false;
    file->failed = file->failed < 0 ? file->failed : result;
    pthread_cond_broadcast(&file->changed);
}

static void *thread_main(void *argument)
{
    struct weir_metrics_file *file = argument;
    weir_privileges_limit(WEIR_PRIVILEGES_METRICS);
    pthread_mutex_lock(&file->lock);
    file->tid = gettid();
    pthread_cond_broadcast(&file->changed);
    while (file->has_offer || !file->ending) {
        if (file->has_offer)
            write_offer(file);
        else
            pthread_cond_wait(&file->changed, &file->lock);
    }
    bool orphaned = file->orphaned;
    pthread_mutex_unlock(&file->lock);
    if (orphaned)
        release(file);
    return NULL;
}

static int start_thread(struct weir_metrics_file **made, const char *path)
{
    struct weir_metrics_file *file = calloc(1, sizeof(*file));
    if (!file)
        return -ENOMEM;
    pthread_mutex_init(&file->lock, NULL);
    weir_condition_init(&file->changed);
    file->path = strdup(path);
    int result = file->path ? -pthread_create(&file->thread, NULL, thread_main, file) : -ENOMEM;
    if (result < 0) {
        release(file);
        return result;
    }
    pthread_setname_np(file->thread, "weir-metrics");
    pthread_mutex_lock(&file->lock);
    while (file->tid == 0)
        pthread_cond_wait(&file->changed, &file->lock);
    pthread_mutex_unlock(&file->lock);
    *made = file;
    return 0;
}

/* ---- the coordinator ---- */

static void offer(struct weir_metrics *metrics, const struct weir_record_result *result)
{
    const struct weir_status_sources sources = metrics->sources(metrics->ctx);
    const struct weir_metrics_form form = {.recording = metrics->name, .per_cpu = metrics->spec->per_cpu};
    struct weir_metrics_file *file = metrics->file;
    metrics->offers++;
    weir_buf_reset(&metrics->text);
    weir_metrics_append(&sources, &form, result, &metrics->text);
    if (weir_buf_error(&metrics->text) < 0)
        return; /* the next text may find memory */
    pthread_mutex_lock(&file->lock);
    weir_buf_reset(&file->offered);
    weir_buf_append(&file->offered, metrics->text.data, metrics->text.used);
    file->has_offer = weir_buf_error(&file->offered) == 0;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
}

static void tell_failure(struct weir_metrics *metrics)
{
    pthread_mutex_lock(&metrics->file->lock);
    int failed = metrics->file->failed;
    pthread_mutex_unlock(&metrics->file->lock);
    if (failed == 0 || metrics->told)
        return;
    metrics->told = true;
    struct weir_error err = {0};
    weir_error_set_errno(&err, failed, "cannot write the metrics to '%s'", metrics->spec->path);
    weir_notice(metrics->notices, WEIR_NOTICE_WARNING, "%s; the recording does without", err.what);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_metrics *metrics = ctx;
    (void)revents;
    weir_timer_drain(metrics->timer_fd);
    weir_timer_set_after(metrics->timer_fd, metrics->offers == 0 ? FIRST_NS : PERIOD_NS);
    tell_failure(metrics);
    offer(metrics, NULL);
}

/* The file's name without its ending. */
static char *name_of(const char *path)
{
    const char *name = weir_path_name(path);
    return strndup(name, strlen(name) - strlen(WEIR_METRICS_SUFFIX));
}

int weir_metrics_start(struct weir_metrics *metrics, const struct weir_metrics_spec *spec, struct weir_poll_set *polls,
                       const struct weir_notice_sink *notices, struct weir_error *err)
{
    if (!spec->path)
        return 0;
    metrics->spec = spec;
    metrics->notices = notices;
    metrics->name = name_of(spec->path);
    metrics->timer_fd = weir_timer_open();
    int result = !metrics->name ? -ENOMEM : metrics->timer_fd < 0 ? metrics->timer_fd : 0;
    if (result == 0)
        result = weir_poll_set_add(polls, metrics->timer_fd, POLLIN, on_timer, metrics);
    if (result == 0)
        result = start_thread(&metrics->file, spec->path);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot start the metrics");
    weir_timer_set_after(metrics->timer_fd, 1);
    return 0;
}

pid_t weir_metrics_tid(const struct weir_metrics *metrics)
{
    return metrics->file ? metrics->file->tid : 0; /* constant after start() */
}

void weir_metrics_end(struct weir_metrics *metrics, const struct weir_record_result *result, bool (*hurried)(void *ctx),
                      void *ctx)
{
    struct weir_metrics_file *file = metrics->file;
    if (!file)
        return;
    offer(metrics, result);
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + PATIENCE_NS;
    pthread_mutex_lock(&file->lock);
    while ((file->has_offer || file->writing) && weir_clock_now_ns(&weir_clock_monotonic) < until_ns && !hurried(ctx)) {
        weir_condition_await(&file->changed, &file->lock, weir_clock_now_ns(&weir_clock_monotonic) + LOOK_NS);
    }
    pthread_mutex_unlock(&file->lock);
    tell_failure(metrics);
}

/* Joins the thread, or leaves it behind while it writes: the file system may hang. */
static void end_thread(struct weir_metrics_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->ending = true;
    file->has_offer = false;
    file->orphaned = file->writing;
    bool orphaned = file->orphaned;
    pthread_t thread = file->thread;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
    if (orphaned) {
        pthread_detach(thread);
        return;
    }
    pthread_join(thread, NULL);
    release(file);
}

void weir_metrics_fini(struct weir_metrics *metrics)
{
    if (!metrics)
        return;
    if (metrics->file)
        end_thread(metrics->file);
    if (metrics->timer_fd >= 0)
        close(metrics->timer_fd);
    weir_buf_fini(&metrics->text);
    free(metrics->name);
    *metrics = (struct weir_metrics)WEIR_METRICS_INIT;
}
