/* Keeps a part of the file system free; see disk_guard.h for the rules and the threads. */
#include "engine/session/disk_guard.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/kernel/timer.h"
#include "io/probe.h"

#define LOOK_NS          (100 * WEIR_NS_PER_MS)
#define HYSTERESIS_SHARE 8 /* "suspend" ends when --keep-free and an eighth of it are free */
#define RESUME_BYTES_MIN (1ull << 20)
#define HELPLESS_LOOKS   10u /* for a second, during which the finisher may complete a file */

/* The result of a check. */
struct finding {
    bool full; /* a write waits for room */
    bool low;  /* a write waits for room, or less is free than --keep-free asks for */
    uint64_t free_bytes;
};

static void warn(const struct weir_disk_guard *guard, const struct finding *found, const char *what)
{
    const struct weir_disk_guard_setup *setup = &guard->setup;
    if (found->full)
        weir_notice(setup->notices, WEIR_NOTICE_WARNING, "there is no room in '%s': %s", guard->folder, what);
    else
        weir_notice(setup->notices, WEIR_NOTICE_WARNING, "less than --keep-free (%llu MiB) is free in '%s': %s",
                    (unsigned long long)(setup->keep_free_bytes >> 20), guard->folder, what);
}

static void stop(struct weir_disk_guard *guard, const struct finding *found)
{
    if (guard->stopped)
        return;
    guard->stopped = true;
    warn(guard, found, "recording ends");
    guard->setup.end_recording(guard->setup.ctx);
}

/* Lets the writes that wait for room fail, as without a guard, because weir can remove no file. */
static void give_up(struct weir_disk_guard *guard, const struct finding *found)
{
    if (guard->stopped || ++guard->helpless < HELPLESS_LOOKS)
        return;
    guard->stopped = true;
    warn(guard, found, "there is no finished file of this recording to remove, so it ends");
    weir_writer_wait_for_space(guard->setup.writer, false);
}

static void rotate(struct weir_disk_guard *guard, const struct finding *found)
{
    struct weir_file_finisher *finisher = guard->setup.finisher;
    if (!guard->told_rotation)
        warn(guard, found, "the oldest files of this recording are removed; this is reported once");
    guard->told_rotation = true;
    /* One file at a time: its removal may suffice, and while a slow disk removes it, no other file must go. */
    enum weir_finisher_work work = weir_file_finisher_work(finisher);
    if (work == WEIR_FINISHER_DROPS || weir_file_finisher_drop_oldest(finisher) || work == WEIR_FINISHER_FINISHES)
        guard->helpless = 0;
    else if (found->full)
        give_up(guard, found);
    else
        guard->setup.rotate_output(guard->setup.ctx);
}

static void count_gap(struct weir_disk_guard *guard)
{
    uint64_t lost = guard->setup.count_lost(guard->setup.ctx);
    guard->lost_suspended += lost > guard->lost_before ? lost - guard->lost_before : 0;
}

static void suspend(struct weir_disk_guard *guard, const struct finding *found)
{
    const struct weir_disk_guard_setup *setup = &guard->setup;
    uint64_t more = weir_max_u64(setup->keep_free_bytes / HYSTERESIS_SHARE, RESUME_BYTES_MIN);
    bool suspended = found->low || (guard->suspended && found->free_bytes - setup->keep_free_bytes < more);
    if (guard->suspended == suspended)
        return;
    guard->suspended = suspended;
    if (suspended)
        guard->lost_before = setup->count_lost(setup->ctx);
    setup->pause_samples(setup->ctx);
    if (suspended) {
        warn(guard, found, "recording is suspended, and samples are counted as lost meanwhile");
    } else {
        count_gap(guard);
        weir_notice(setup->notices, WEIR_NOTICE_INFO, "recording goes on");
    }
}

static bool is_full(const struct weir_disk_guard *guard)
{
    /* Relaxed: a check that misses the change is followed by another one 100 ms later. */
    return atomic_load_explicit(&guard->setup.writer->full, memory_order_relaxed);
}

static void look(struct weir_disk_guard *guard)
{
    const struct weir_disk_guard_setup *setup = &guard->setup;
    struct finding found = {0};
    if (setup->probe_space(guard->folder, &found.free_bytes) < 0)
        return; /* the folder was removed; writes to open files still succeed */
    found.full = is_full(guard);
    found.low = found.full || found.free_bytes < setup->keep_free_bytes;
    if (setup->on_full == WEIR_RECORD_ON_FULL_SUSPEND)
        suspend(guard, &found);
    else if (found.low && setup->on_full == WEIR_RECORD_ON_FULL_ROTATE)
        rotate(guard, &found);
    else if (found.low)
        stop(guard, &found);
    if (!found.low)
        setup->find_room(setup->ctx);
}

static void on_timer(void *ctx, short revents)
{
    (void)revents;
    struct weir_disk_guard *guard = ctx;
    weir_timer_drain(guard->timer_fd);
    look(guard);
}

void weir_disk_guard_start(const struct weir_disk_guard *guard)
{
    if (guard->active && guard->setup.on_full != WEIR_RECORD_ON_FULL_STOP)
        weir_writer_wait_for_space(guard->setup.writer, true);
}

void weir_disk_guard_begin_tending(struct weir_disk_guard *guard)
{
    if (!guard->active)
        return;
    if (guard->suspended)
        count_gap(guard);
    if (guard->setup.on_full != WEIR_RECORD_ON_FULL_ROTATE)
        weir_writer_wait_for_space(guard->setup.writer, false);
    guard->coordinator = pthread_self();
    /* Release (guard-tending): a thread for which tend() finds `tending` set also sees `coordinator`. */
    atomic_store_explicit(&guard->tending, true, memory_order_release);
}

void weir_disk_guard_tend(struct weir_disk_guard *guard)
{
    const struct weir_disk_guard_setup *setup = &guard->setup;
    /* Acquire (guard-tending): `coordinator` is set. */
    if (!atomic_load_explicit(&guard->tending, memory_order_acquire))
        return;
    uint64_t now_ns = weir_clock_now_ns(setup->clock);
    if (now_ns < guard->tended_ns + LOOK_NS)
        return;
    guard->tended_ns = now_ns;
    bool hurried = pthread_equal(pthread_self(), guard->coordinator) && setup->is_hurried(setup->ctx);
    const struct finding found = {.full = is_full(guard)};
    if (found.full && hurried)
        weir_writer_wait_for_space(setup->writer, false);
    else if (found.full && setup->on_full == WEIR_RECORD_ON_FULL_ROTATE)
        rotate(guard, &found);
}

/* ---- room for rotation ---- */

/* Warns if the free space may not suffice for one file and the memory whose content goes to this file when it ends. */
static void warn_of_little_room(const struct weir_disk_guard *guard)
{
    const struct weir_disk_guard_setup *setup = &guard->setup;
    uint64_t free_bytes, most = setup->file_bytes + setup->memory_bytes + setup->rings_bytes;
    if (setup->on_full != WEIR_RECORD_ON_FULL_ROTATE || setup->probe_space(guard->folder, &free_bytes) < 0 ||
        most <= free_bytes)
        return;
    weir_notice(setup->notices, WEIR_NOTICE_WARNING,
                "--on-full=rotate may find no file to remove: %llu MiB are free in '%s', and one file may take "
                "%llu MiB: %llu by --switch-output, %llu from the buffer and %llu from rings; "
                "--switch-output=SIZE, --buffer-size and -m make the file smaller",
                (unsigned long long)(free_bytes >> 20), guard->folder, (unsigned long long)(most >> 20),
                (unsigned long long)(setup->file_bytes >> 20), (unsigned long long)(setup->memory_bytes >> 20),
                (unsigned long long)(setup->rings_bytes >> 20));
}

int weir_disk_guard_init(struct weir_disk_guard *guard, const struct weir_disk_guard_setup *setup,
                         struct weir_poll_set *sources, struct weir_error *err)
{
    *guard = (struct weir_disk_guard){.setup = *setup, .timer_fd = -1};
    guard->active = setup->keep_free_bytes > 0 || setup->on_full != WEIR_RECORD_ON_FULL_STOP;
    if (!guard->active)
        return 0;
    if (!setup->probe_space)
        guard->setup.probe_space = weir_io_probe_space;
    guard->folder = weir_io_folder_of(setup->output_path);
    guard->timer_fd = weir_timer_open();
    int result = guard->timer_fd < 0 ? -errno : guard->folder ? 0 : -ENOMEM;
    if (result == 0)
        result = weir_poll_set_add(sources, guard->timer_fd, POLLIN, on_timer, guard);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot watch the free space of '%s'", setup->output_path);
    weir_timer_repeat(guard->timer_fd, LOOK_NS);
    warn_of_little_room(guard);
    return 0;
}

void weir_disk_guard_fini(struct weir_disk_guard *guard)
{
    if (!guard || !guard->active)
        return;
    free(guard->folder);
    if (guard->timer_fd >= 0)
        close(guard->timer_fd);
    *guard = (struct weir_disk_guard){.timer_fd = -1};
}
