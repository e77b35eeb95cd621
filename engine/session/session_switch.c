/* Switching the output; see session_switch.h for the steps. Coordinator. */
#include "engine/session/session_switch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/drain/record_rename.h"
#include "engine/session/file_finisher.h"
#include "engine/session/ledger.h"
#include "engine/session/session.h"

#define SETTLE_MS      1000u /* for the sideband thread, and for all that it still wants of /proc */
#define SETTLE_LOOK_MS 100u
#define AGAIN_MS       250u

static uint64_t now_ns(const struct weir_session *session)
{
    return weir_clock_now_ns(session->clock);
}

static void empty(int fd)
{
    uint64_t ignored;
    ssize_t got = read(fd, &ignored, sizeof(ignored)); /* EAGAIN when there is nothing: as good */
    (void)got;
}

/* ---- beginning ---- */

/* The name is free for the next file after this. A file that somebody has moved or removed has left it already, and
 * gets no other one (kept_files.h). */
static int hide(struct weir_session *session, struct weir_error *err)
{
    struct weir_record_file *file = session->file;
    weir_record_file_stamp(file, session->day);
    int result = weir_record_file_rename(file, WEIR_HIDING_PREFIX, err);
    return result == -ENOENT ? 0 : result;
}

/* Takes hide() back. */
static void show(struct weir_session *session)
{
    struct weir_record_file *file = session->file;
    struct weir_error err = {0};
    const char *slash = strrchr(file->path, '/');
    if (weir_output_rename(file->output, slash ? slash + 1 : file->path, &err) < 0 && err.code != -ENOENT)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "%s", err.what);
}

static void ask_writer(void *ctx);

/* With --on-full=rotate older files make room for a name (some file systems need it for that, too) and a head. */
static int open_next(struct weir_session_switch *change, struct weir_error *err)
{
    struct weir_session *session = change->session;
    int result;
    do
        result = hide(session, err);
    while (weir_output_lacks_space(result) && weir_disk_guard_make_room(session));
    if (result < 0)
        return result;
    do
        result =
            weir_record_file_open(&change->next, &session->facts, &session->pipeline, session->file->path, NULL, err);
    while (weir_output_lacks_space(result) && weir_disk_guard_make_room(session));
    if (result < 0)
        show(session);
    return result;
}

/* The writer will not ask again for this file. */
static void try_again(const struct weir_session_switch *change)
{
    bool guard_asks = change->put_off && change->session->guard.session;
    const struct itimerspec soon = {.it_value = weir_clock_timespec(AGAIN_MS * WEIR_NS_PER_MS)};
    if (change->full && !guard_asks)
        timerfd_settime(change->again_fd, 0, &soon, NULL);
}

int weir_session_switch_begin(struct weir_session_switch *change, struct weir_error *err)
{
    struct weir_session *session = change->session;
    weir_assert(change->step == WEIR_SWITCH_IDLE);
    int result = open_next(change, err);
    change->put_off = session->options->switching.enabled && weir_output_lacks_space(result);
    if (result < 0) {
        try_again(change);
        return result;
    }
    change->step = WEIR_SWITCH_CUTTING;
    weir_rotation_count_begin(&session->pipeline.control.rotations);
    weir_rounds_cut(&session->pipeline.rounds, ask_writer, change);
    return 0;
}

static int begin(void *ctx, struct weir_error *err)
{
    int result = weir_session_switch_begin(ctx, err);
    return result < 0 ? result : WEIR_TRIGGER_BEGUN;
}

void weir_session_switch_ask_again(struct weir_session_switch *change)
{
    if (change->session && change->put_off && change->step == WEIR_SWITCH_IDLE)
        weir_triggers_fire(&change->session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

/* ---- the cut ---- */

/* A file that cannot have the name gets its final one all the same, when it ends. */
static void publish(struct weir_session *session)
{
    struct weir_error err = {0};
    if (weir_record_file_publish(session->file, &err) < 0)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "%s: it has no name until it is finished",
                    err.what);
    else if (weir_record_file_sync_name(session->file, &err) < 0)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "%s", err.what);
}

/* Writer thread. What was told is the coordinator's again when it sees that the rotation has begun (rotation-begun). */
static void fit_losses(void *ctx, uint64_t lost_reported)
{
    struct weir_session_switch *change = ctx;
    weir_ledger_hold_back(&change->session->told_losses, lost_reported, &change->losses);
    weir_record_rename(&change->session->events, change->losses.data, change->losses.used);
    weir_writer_rotation_set_records(&change->order, change->losses.data, change->losses.used);
}

/* What of the snapshots is in the file that ends, where each ends with one. */
static void note_snapshots(struct weir_session_switch *change)
{
    struct weir_session *session = change->session;
    struct weir_record_file *file = session->file;
    uint64_t snapshots = session->pipeline.rounds.snapshots;
    uint64_t samples = weir_pipeline_snapshot_samples(&session->pipeline);
    file->samples = samples - change->samples;
    file->lasting = weir_modes_pair_ends_files(&session->plan.modes) && snapshots - change->snapshots > 1;
    change->snapshots = snapshots;
    change->samples = samples;
}

static void ask_writer(void *ctx)
{
    struct weir_session_switch *change = ctx;
    struct weir_session *session = change->session;
    weir_buf_reset(&change->losses);
    if (weir_ledger_tell_losses(&session->events, &session->told_losses, &change->losses) < 0)
        weir_buf_reset(&change->losses);
    weir_writer_rotation_init(&change->order, change->next->output);
    weir_writer_rotation_set_records(&change->order, change->losses.data, change->losses.used);
    weir_writer_rotation_set_first(&change->order, change->first_records.data, change->first_records.used);
    change->order.fit_records = fit_losses;
    change->order.fit_ctx = change;
    change->order.side_bytes = change->side_bytes;
    change->order.fd = change->progress_fd;
    weir_writer_rotation_push(&change->order, &session->pipeline.queue);
    note_snapshots(change);
    change->left = session->file;
    session->file = change->next;
    change->next = NULL;
    change->full = false;
    session->file->number = (uint32_t)++change->count;
    change->step = WEIR_SWITCH_CHANGING;
    publish(session);
}

/* ---- progress ---- */

static void ask_sideband(struct weir_session_switch *change)
{
    change->step = WEIR_SWITCH_ANSWERING;
    change->unread_processes = 0;
    change->proc_reading = (struct weir_proc_reading){0};
    atomic_store_explicit(&change->answered, false, memory_order_relaxed); /* handed over by the lock of ask() */
    change->question = (struct weir_sideband_question){
        .side_bytes = change->side_bytes,
        .answer = weir_session_switch_answer,
        .ctx = change,
    };
    weir_sideband_ask(change->session->sideband, &change->question);
}

static void tell_processes(const struct weir_session_switch *change)
{
    const struct weir_session *session = change->session;
    const struct weir_notice_sink *notices = session->options->notices;
    if (change->unread_processes > 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "the maps of %zu processes could not be read from /proc in time: '%s' has those that were recorded",
                    change->unread_processes, session->file->path);
    if (change->proc_reading.cut > 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "the maps of %llu processes took longer than --proc-map-timeout: '%s' has a part of them",
                    (unsigned long long)change->proc_reading.cut, session->file->path);
}

static void take_answer(struct weir_session_switch *change)
{
    struct weir_session *session = change->session;
    weir_rounds_resume(&session->pipeline.rounds, now_ns(session));
    change->step = WEIR_SWITCH_DRAINING;
    weir_cpu_follower_tell_again(&session->cpu_follower);
    /* Relaxed: only whether. An output that failed is told elsewhere. */
    bool is_output = atomic_load_explicit(&session->pipeline.writer.error, memory_order_relaxed) < 0;
    if (change->answer_result < 0 && !is_output)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "the tasks and maps at the start of '%s' are not complete: %s", session->file->path,
                    strerror(-change->answer_result));
    tell_processes(change);
}

/* What failed writes took from the file that ended stands at its end, and the order's losses, should they be among
 * that. Without memory for it the ledger tells alone. Once for each order. */
static void tell_unwritten(struct weir_session_switch *change)
{
    struct weir_session *session = change->session;
    struct weir_writer_rotation *order = &change->order;
    struct weir_buf *last = &change->left->last_records;
    weir_ledger_tell_unwritten(&session->events, &session->pipeline, &order->account, last,
                               &change->left->unwritten_samples);
    weir_record_rename(&session->events, last->data, last->used);
    if (order->records_result < 0)
        weir_buf_append(last, change->losses.data, change->losses.used);
    order->account.failed_samples = NULL;
}

/* Hands the file that ended to the finisher. False: that has no room. */
static bool hand_over(struct weir_session_switch *change)
{
    struct weir_session *session = change->session;
    struct weir_record_file *file = change->left;
    weir_record_file_note(file, &change->order.account);
    if (change->order.account.failed_samples)
        tell_unwritten(change);
    if (!weir_file_finisher_push(session->finisher, file)) {
        if (!change->told_wait)
            weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                        "files end faster than they can be finished: the next switch waits; this is told once");
        change->told_wait = true;
        return false;
    }
    change->left = NULL;
    return true;
}

/* Whoever asked for it is told. */
static void complete(struct weir_session_switch *change)
{
    struct weir_triggers *triggers = &change->session->coordinator.triggers;
    change->step = WEIR_SWITCH_IDLE;
    if (triggers->running == WEIR_TRIGGER_SWITCH)
        weir_triggers_complete(triggers, WEIR_TRIGGER_SWITCH, 0, NULL);
    else
        weir_snapshots_complete(&change->session->snapshots);
}

static void advance(struct weir_session_switch *change)
{
    if (change->step == WEIR_SWITCH_CHANGING && weir_writer_rotation_has_begun(&change->order))
        ask_sideband(change);
    /* Acquire pairs with answer(). */
    if (change->step == WEIR_SWITCH_ANSWERING && atomic_load_explicit(&change->answered, memory_order_acquire))
        take_answer(change);
    if (change->step == WEIR_SWITCH_DRAINING && weir_writer_rotation_is_done(&change->order) && hand_over(change))
        complete(change);
}

static void on_progress(void *ctx, short revents)
{
    (void)revents;
    struct weir_session_switch *change = ctx;
    empty(change->progress_fd);
    advance(change);
}

static void on_full(void *ctx, short revents)
{
    (void)revents;
    struct weir_session_switch *change = ctx;
    empty(change->full_fd);
    change->full = true;
    weir_triggers_fire(&change->session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

static void on_again(void *ctx, short revents)
{
    (void)revents;
    struct weir_session_switch *change = ctx;
    empty(change->again_fd);
    if (change->full && change->step == WEIR_SWITCH_IDLE)
        weir_triggers_fire(&change->session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_SIZE);
}

static void on_timer(void *ctx, short revents)
{
    (void)revents;
    struct weir_session_switch *change = ctx;
    empty(change->timer_fd);
    weir_triggers_fire(&change->session->coordinator.triggers, WEIR_TRIGGER_SWITCH, WEIR_TRIGGER_BY_TIMER);
}

/* ---- life ---- */

static int make_timer(int *fd)
{
    *fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return *fd < 0 ? -errno : 0;
}

int weir_session_switch_init(struct weir_session_switch *change, struct weir_session *session, struct weir_error *err)
{
    *change = (struct weir_session_switch){
        .session = session, .progress_fd = -1, .full_fd = -1, .timer_fd = -1, .again_fd = -1};
    if (!weir_modes_rotate(&session->plan.modes))
        return 0;
    change->side_bytes = calloc(session->pipeline.reader_count, sizeof(*change->side_bytes));
    if (!change->side_bytes)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the switching of outputs");
    change->progress_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    change->full_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = change->progress_fd < 0 || change->full_fd < 0 ? -errno : 0;
    if (result == 0)
        result = weir_session_append_aux_info(session, &session->cpu_follower.recorded, &change->first_records);
    if (result == 0 && session->options->switching.period_ns > 0)
        result = make_timer(&change->timer_fd);
    if (result == 0 && session->options->switching.bytes > 0)
        result = make_timer(&change->again_fd);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the switching of outputs");
    session->pipeline.full_bytes = session->options->switching.bytes;
    session->pipeline.full_fd = change->full_fd;
    struct weir_triggers *triggers = &session->coordinator.triggers;
    if (!session->options->switching.enabled) /* nobody may ask but for a snapshot */
        return 0;
    weir_triggers_register(triggers, WEIR_TRIGGER_SWITCH, &(struct weir_trigger_action){.run = begin, .ctx = change});
    if (!session->options->switching.each_snapshot) /* else it is theirs */
        weir_triggers_set_signal(triggers, WEIR_TRIGGER_SWITCH);
    return 0;
}

int weir_session_switch_watch(struct weir_session_switch *change, struct weir_error *err)
{
    struct weir_session *session = change->session;
    if (!session || !weir_modes_rotate(&session->plan.modes))
        return 0;
    struct weir_poll_set *sources = &session->coordinator.sources;
    int result = weir_poll_set_add(sources, change->progress_fd, POLLIN, on_progress, change);
    if (result == 0)
        result = weir_poll_set_add(sources, change->full_fd, POLLIN, on_full, change);
    if (result == 0 && change->again_fd >= 0)
        result = weir_poll_set_add(sources, change->again_fd, POLLIN, on_again, change);
    if (result == 0 && change->timer_fd >= 0) {
        const struct timespec period = weir_clock_timespec(session->options->switching.period_ns);
        timerfd_settime(change->timer_fd, 0, &(struct itimerspec){.it_interval = period, .it_value = period}, NULL);
        result = weir_poll_set_add(sources, change->timer_fd, POLLIN, on_timer, change);
    }
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up the switching of outputs") : 0;
}

int weir_session_switch_start(struct weir_session_switch *change, struct weir_error *err)
{
    struct weir_session *session = change->session;
    struct weir_synth_options options;
    if (!session || !weir_modes_rotate(&session->plan.modes))
        return 0;
    weir_session_synth_options(session, &options);
    int result = weir_proc_reader_start(&change->proc_reader, &options);
    if (result == 0)
        result = weir_file_finisher_start(session->finisher);
    return result < 0 ? weir_error_set_errno(err, result, "cannot start a thread") : 0;
}

/* A client that waits for a switch hears that there is none. A snapshot is in the file that ends now. */
static void refuse(struct weir_session_switch *change)
{
    struct weir_triggers *triggers = &change->session->coordinator.triggers;
    struct weir_error err;
    weir_error_set(&err, -ECANCELED, "the recording is ending");
    if (triggers->running == WEIR_TRIGGER_SWITCH && triggers->running_for)
        weir_triggers_complete(triggers, WEIR_TRIGGER_SWITCH, -ECANCELED, &err);
}

static void await_progress(const struct weir_session_switch *change)
{
    struct pollfd progress = {.fd = change->progress_fd, .events = POLLIN};
    poll(&progress, 1, (int)SETTLE_LOOK_MS);
    empty(change->progress_fd);
}

void weir_session_switch_settle(struct weir_session_switch *change)
{
    struct weir_session *session = change->session;
    if (change->step == WEIR_SWITCH_CUTTING) {
        weir_rounds_resume(&session->pipeline.rounds, now_ns(session));
        weir_record_file_close(change->next);
        change->next = NULL;
        change->step = WEIR_SWITCH_IDLE;
        weir_rotation_count_end(&session->pipeline.control.rotations);
        change->taken_back = session->pipeline.setup.snapshots_only;
        show(session);
        refuse(change);
        return;
    }
    uint64_t until_ns = now_ns(session) + SETTLE_MS * WEIR_NS_PER_MS;
    weir_proc_reader_hurry(change->proc_reader, SETTLE_MS);
    while (change->step != WEIR_SWITCH_IDLE) {
        await_progress(change);
        weir_pipeline_keep_patience(&session->pipeline);
        advance(change);
        if (change->step == WEIR_SWITCH_ANSWERING && now_ns(session) >= until_ns)
            return; /* weir_sideband_stop() has it answered */
    }
}

void weir_session_switch_end(struct weir_session_switch *change)
{
    if (change->step == WEIR_SWITCH_IDLE)
        return;
    advance(change); /* there may be an answer by now */
    while (change->left && weir_writer_rotation_is_done(&change->order)) {
        if (hand_over(change))
            complete(change);
        else
            await_progress(change);
    }
}

void weir_session_switch_fini(struct weir_session_switch *change)
{
    if (!change || !change->session)
        return;
    weir_record_file_close(change->next);
    weir_record_file_close(change->left);
    weir_aux_index_fini(&change->order.account.aux_index);
    weir_proc_reader_free(change->proc_reader);
    weir_buf_fini(&change->losses);
    weir_buf_fini(&change->first_records);
    weir_buf_fini(&change->kernel_records);
    free(change->side_bytes);
    const int fds[] = {change->progress_fd, change->full_fd, change->timer_fd, change->again_fd};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    *change = (struct weir_session_switch){0};
}
