/* Keeps a part of the file system free; see disk_guard.h. Coordinator. */
#include "engine/disk_guard.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/file_finisher.h"
#include "engine/session.h"
#include "io/probe.h"

#define LOOK_NS          (100 * WEIR_NS_PER_MS)
#define HYSTERESIS_SHARE 8 /* of what is to stay free: so much more resumes */

static void warn(const struct weir_disk_guard *guard, const char *what)
{
    const struct weir_record_options *options = guard->session->options;
    weir_notice(options->notices, WEIR_NOTICE_WARNING, "less than --keep-free (%llu MiB) is free in '%s': %s",
                (unsigned long long)(options->keep_free_bytes >> 20), guard->folder, what);
}

static void stop(struct weir_disk_guard *guard)
{
    if (guard->stopped)
        return;
    guard->stopped = true;
    warn(guard, "recording ends");
    weir_triggers_fire(&guard->session->coordinator.triggers, WEIR_TRIGGER_STOP, WEIR_TRIGGER_BY_SIZE);
}

static void rotate(struct weir_disk_guard *guard)
{
    if (!guard->told_rotation)
        warn(guard, "the oldest files of this recording are removed; this is told once");
    guard->told_rotation = true;
    if (!weir_file_finisher_drop_oldest(guard->session->finisher))
        weir_triggers_fire(&guard->session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

static void suspend(struct weir_disk_guard *guard, bool suspended)
{
    if (guard->suspended == suspended)
        return;
    guard->suspended = suspended;
    weir_event_set_pause(&guard->session->events, suspended);
    if (suspended)
        warn(guard, "recording is suspended, and what comes meanwhile is counted as lost");
    else
        weir_notice(guard->session->options->notices, WEIR_NOTICE_INFO, "recording goes on");
}

static void look(struct weir_disk_guard *guard)
{
    const struct weir_record_options *options = guard->session->options;
    uint64_t free_bytes;
    if (weir_io_probe_space(guard->folder, &free_bytes) < 0)
        return; /* the folder has gone: what is open is written all the same */
    bool is_low = free_bytes < options->keep_free_bytes;
    if (options->on_full == WEIR_RECORD_ON_FULL_SUSPEND && !is_low)
        is_low =
            guard->suspended && free_bytes - options->keep_free_bytes < options->keep_free_bytes / HYSTERESIS_SHARE;
    if (options->on_full == WEIR_RECORD_ON_FULL_SUSPEND)
        suspend(guard, is_low);
    else if (is_low && options->on_full == WEIR_RECORD_ON_FULL_ROTATE)
        rotate(guard);
    else if (is_low)
        stop(guard);
}

static void on_timer(void *ctx, short revents)
{
    (void)revents;
    struct weir_disk_guard *guard = ctx;
    uint64_t ignored;
    ssize_t got = read(guard->timer_fd, &ignored, sizeof(ignored));
    (void)got;
    look(guard);
}

/* The folder of the path. NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int weir_disk_guard_init(struct weir_disk_guard *guard, struct weir_session *session, struct weir_error *err)
{
    *guard = (struct weir_disk_guard){.timer_fd = -1};
    if (session->options->keep_free_bytes == 0)
        return 0;
    guard->session = session;
    guard->folder = folder_of(session->options->output_path);
    guard->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int result = guard->timer_fd < 0 ? -errno : guard->folder ? 0 : -ENOMEM;
    if (result == 0)
        result = weir_poll_set_add(&session->coordinator.sources, guard->timer_fd, POLLIN, on_timer, guard);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot watch the free space of '%s'", session->options->output_path);
    const struct timespec period = {.tv_nsec = (long)LOOK_NS};
    timerfd_settime(guard->timer_fd, 0, &(struct itimerspec){.it_interval = period, .it_value = period}, NULL);
    return 0;
}

void weir_disk_guard_fini(struct weir_disk_guard *guard)
{
    if (!guard || !guard->session)
        return;
    free(guard->folder);
    if (guard->timer_fd >= 0)
        close(guard->timer_fd);
    *guard = (struct weir_disk_guard){.timer_fd = -1};
}
