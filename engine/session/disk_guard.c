/* Keeps a part of the file system free; see disk_guard.h. Coordinator. */
#include "engine/session/disk_guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/session/file_finisher.h"
#include "engine/session/session.h"
#include "io/probe.h"

#define LOOK_NS          (100 * WEIR_NS_PER_MS)
#define HYSTERESIS_SHARE 8 /* of what is to stay free: so much more resumes */
#define RESUME_BYTES_MIN (1ull << 20)
#define HELPLESS_LOOKS   10u /* a file may be about to be finished */
#define POOL_ROOM_SHARE  4   /* with "rotate": of what is free at the start */

/* What a look has found. */
struct finding {
    bool full; /* a write waits for room */
    bool low;  /* full, or less is free than is to stay so */
    uint64_t free_bytes;
};

static void warn(const struct weir_disk_guard *guard, const struct finding *found, const char *what)
{
    const struct weir_record_options *options = guard->session->options;
    if (found->full)
        weir_notice(options->notices, WEIR_NOTICE_WARNING, "there is no room in '%s': %s", guard->folder, what);
    else
        weir_notice(options->notices, WEIR_NOTICE_WARNING, "less than --keep-free (%llu MiB) is free in '%s': %s",
                    (unsigned long long)(options->keep_free_bytes >> 20), guard->folder, what);
}

static void stop(struct weir_disk_guard *guard, const struct finding *found)
{
    if (guard->stopped)
        return;
    guard->stopped = true;
    warn(guard, found, "recording ends");
    weir_coordinator_end(&guard->session->coordinator, WEIR_RECORD_END_SPACE);
}

/* Nothing can be removed. The writes that wait for room fail then, as they would have without this guard. */
static void give_up(struct weir_disk_guard *guard, const struct finding *found)
{
    if (guard->stopped || ++guard->helpless < HELPLESS_LOOKS)
        return;
    guard->stopped = true;
    warn(guard, found, "there is no finished file of this recording to remove, so it ends");
    weir_writer_wait_for_space(&guard->session->pipeline.writer, false);
}

static void rotate(struct weir_disk_guard *guard, const struct finding *found)
{
    struct weir_session *session = guard->session;
    if (!guard->told_rotation)
        warn(guard, found, "the oldest files of this recording are removed; this is told once");
    guard->told_rotation = true;
    /* One at a time: what is on its way may be enough, and a disk that is slow must not cost them all. */
    enum weir_finisher_work work = weir_file_finisher_work(session->files.finisher);
    if (work == WEIR_FINISHER_DROPS || weir_file_finisher_drop_oldest(session->files.finisher) ||
        work == WEIR_FINISHER_FINISHES)
        guard->helpless = 0;
    else if (found->full)
        give_up(guard, found);
    else
        weir_triggers_fire(&session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

static void count_gap(struct weir_disk_guard *guard)
{
    uint64_t lost = weir_event_set_read_lost(&guard->session->events);
    guard->session->result->lost_suspended += lost > guard->lost_before ? lost - guard->lost_before : 0;
}

static void suspend(struct weir_disk_guard *guard, const struct finding *found)
{
    const struct weir_record_options *options = guard->session->options;
    uint64_t more = weir_max_u64(options->keep_free_bytes / HYSTERESIS_SHARE, RESUME_BYTES_MIN);
    bool suspended = found->low || (guard->suspended && found->free_bytes - options->keep_free_bytes < more);
    if (guard->suspended == suspended)
        return;
    guard->suspended = suspended;
    if (suspended)
        guard->lost_before = weir_event_set_read_lost(&guard->session->events);
    weir_session_pause_rings(guard->session);
    if (suspended) {
        warn(guard, found, "recording is suspended, and what comes meanwhile is counted as lost");
    } else {
        count_gap(guard);
        weir_notice(options->notices, WEIR_NOTICE_INFO, "recording goes on");
    }
}

static bool is_full(const struct weir_session *session)
{
    return atomic_load_explicit(&session->pipeline.writer.full, memory_order_relaxed); /* the next look comes soon */
}

static void look(struct weir_disk_guard *guard)
{
    struct weir_session *session = guard->session;
    const struct weir_record_options *options = session->options;
    struct finding found = {0};
    if (weir_io_probe_space(guard->folder, &found.free_bytes) < 0)
        return; /* the folder has gone: what is open is written all the same */
    found.full = is_full(session);
    found.low = found.full || found.free_bytes < options->keep_free_bytes;
    if (options->on_full == WEIR_RECORD_ON_FULL_SUSPEND)
        suspend(guard, &found);
    else if (found.low && options->on_full == WEIR_RECORD_ON_FULL_ROTATE)
        rotate(guard, &found);
    else if (found.low)
        stop(guard, &found);
    if (!found.low)
        weir_file_series_ask_again(&session->files);
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

void weir_disk_guard_start(const struct weir_disk_guard *guard)
{
    struct weir_session *session = guard->session;
    if (session && session->options->on_full != WEIR_RECORD_ON_FULL_STOP &&
        session->options->output_kind == WEIR_RECORD_OUTPUT_FILE)
        weir_writer_wait_for_space(&session->pipeline.writer, true);
}

void weir_disk_guard_settle(struct weir_disk_guard *guard)
{
    struct weir_session *session = guard->session;
    if (!session)
        return;
    if (guard->suspended)
        count_gap(guard);
    if (session->options->on_full != WEIR_RECORD_ON_FULL_ROTATE)
        weir_writer_wait_for_space(&session->pipeline.writer, false);
    guard->coordinator = pthread_self();
    /* Release pairs with tend(): threads that emit know the one above, too. */
    atomic_store_explicit(&guard->settling, true, memory_order_release);
}

void weir_disk_guard_tend(struct weir_disk_guard *guard)
{
    struct weir_session *session = guard->session;
    if (!atomic_load_explicit(&guard->settling, memory_order_acquire))
        return;
    uint64_t now_ns = weir_clock_now_ns(session->clock);
    if (now_ns < guard->tended_ns + LOOK_NS)
        return;
    guard->tended_ns = now_ns;
    bool hurried = false;
    if (pthread_equal(pthread_self(), guard->coordinator)) /* whose signals are */
        hurried = weir_coordinator_is_hurried(&session->coordinator);
    const struct finding found = {.full = is_full(session)};
    if (found.full && hurried)
        weir_writer_wait_for_space(&session->pipeline.writer, false);
    else if (found.full && session->options->on_full == WEIR_RECORD_ON_FULL_ROTATE)
        rotate(guard, &found);
}

/* The folder of the path. NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* ---- room for rotation ---- */

bool weir_disk_guard_make_room(struct weir_session *session)
{
    if (session->options->on_full != WEIR_RECORD_ON_FULL_ROTATE)
        return false;
    if (weir_file_finisher_work(session->files.finisher) != WEIR_FINISHER_DROPS &&
        !weir_file_finisher_drop_oldest(session->files.finisher))
        return false;
    weir_file_finisher_await_drops(session->files.finisher);
    return true;
}

/* What is in memory when a file is to end is still written to it. */
static void warn_of_little_room(const struct weir_disk_guard *guard)
{
    const struct weir_session *session = guard->session;
    const struct weir_record_options *options = session->options;
    uint64_t free_bytes, memory = session->plan.buffer_bytes + session->plan.retained_bytes;
    uint64_t rings = session->plan.ring_bytes * session->events.place_count;
    uint64_t most = options->switching.bytes + memory + rings;
    if (options->on_full != WEIR_RECORD_ON_FULL_ROTATE || weir_io_probe_space(guard->folder, &free_bytes) < 0 ||
        most <= free_bytes)
        return;
    weir_notice(options->notices, WEIR_NOTICE_WARNING,
                "--on-full=rotate may find no file to remove: %llu MiB are free in '%s', and one file may come to take "
                "%llu MiB, %llu by --switch-output, %llu that wait in memory and %llu in rings; "
                "--switch-output=SIZE, --buffer-size and -m make it smaller",
                (unsigned long long)(free_bytes >> 20), guard->folder, (unsigned long long)(most >> 20),
                (unsigned long long)(options->switching.bytes >> 20), (unsigned long long)(memory >> 20),
                (unsigned long long)(rings >> 20));
}

int weir_disk_guard_init(struct weir_disk_guard *guard, struct weir_session *session, struct weir_error *err)
{
    *guard = (struct weir_disk_guard){.timer_fd = -1};
    if (session->options->keep_free_bytes == 0 && session->options->on_full == WEIR_RECORD_ON_FULL_STOP)
        return 0;
    guard->session = session;
    guard->folder = folder_of(session->options->output_path);
    guard->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int result = guard->timer_fd < 0 ? -errno : guard->folder ? 0 : -ENOMEM;
    if (result == 0)
        result = weir_poll_set_add(&session->coordinator.sources, guard->timer_fd, POLLIN, on_timer, guard);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot watch the free space of '%s'", session->options->output_path);
    const struct timespec period = weir_clock_timespec(LOOK_NS);
    timerfd_settime(guard->timer_fd, 0, &(struct itimerspec){.it_interval = period, .it_value = period}, NULL);
    warn_of_little_room(guard);
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
