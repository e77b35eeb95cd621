/* Rotates the output; see file_series.h for the steps. Coordinator, except fit_losses() and answer(). */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/directory.h"
#include "engine/drain/record_rename.h"
#include "engine/files/file_series_internal.h"
#include "engine/kernel/timer.h"

#define CONCLUDE_MS      1000u /* for the sideband thread, with all its reading of /proc */
#define CONCLUDE_LOOK_MS 100u
#define AGAIN_MS         250u

static uint64_t now_ns(const struct weir_file_series *series)
{
    return weir_clock_now_ns(series->setup.clock);
}

static const struct weir_notice_sink *notices_of(const struct weir_file_series *series)
{
    return series->setup.plan->options->notices;
}

static void fire(const struct weir_file_series *series, enum weir_trigger_source source)
{
    weir_triggers_fire(series->setup.triggers, WEIR_TRIGGER_ROTATE, source);
}

/* ---- beginning ---- */

/* Hides the current file, so that its name is free for the next file. A file that the user has moved or removed does
 * not have the name any more, and gets no other name (kept_files.h). */
static int hide(struct weir_file_series *series, struct weir_error *err)
{
    weir_record_file_stamp(series->current, series->setup.day);
    int result = weir_record_file_rename(series->current, WEIR_HIDING_PREFIX, err);
    return result == -ENOENT ? 0 : result;
}

/* Gives the current file its name back after hide(). */
static void show(struct weir_file_series *series)
{
    struct weir_record_file *file = series->current;
    struct weir_error err = {0};
    if (weir_output_file_rename(weir_output_file_of(file->output), weir_path_name(file->path), &err) < 0 &&
        err.code != -ENOENT)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING, "%s", err.what);
}

/* Opens the next file. With --on-full=rotate removes older files until there is room for its head and its name, for
 * which some file systems need blocks, too. */
static int open_next(struct weir_file_series *series, struct weir_error *err)
{
    const struct weir_file_series_setup *setup = &series->setup;
    int result;
    do
        result = hide(series, err);
    while (weir_output_lacks_space(result) && weir_file_finisher_make_room(series->finisher));
    if (result < 0)
        return result;
    /* Beside the present file, wherever the path leads by now: the owner of a directory on the way may have moved it.
     */
    const int *directory_fd = weir_output_file_directory(weir_output_file_of(series->current->output));
    do
        result = weir_record_file_open(&series->next, setup->facts, setup->pipeline, series->current->path,
                                       directory_fd, NULL, err);
    while (weir_output_lacks_space(result) && weir_file_finisher_make_room(series->finisher));
    if (result < 0)
        show(series);
    return result;
}

/* Sets the timer of the next attempt to rotate a full file, because the writer reports a full file only once. */
static void try_again(const struct weir_file_series *series)
{
    const struct weir_file_rotation *rotation = &series->rotation;
    const struct weir_record_options *options = series->setup.plan->options;
    bool is_guarded = options->output.keep_free_bytes > 0 || options->output.on_full != WEIR_RECORD_ON_FULL_STOP;
    bool guard_asks = rotation->put_off && is_guarded; /* once the disk guard has found room */
    if (rotation->full && !guard_asks)
        weir_timer_set_after(rotation->again_fd, AGAIN_MS * WEIR_NS_PER_MS);
}

static void on_cut(void *ctx);

int weir_file_series_rotate(struct weir_file_series *series, struct weir_error *err)
{
    struct weir_file_rotation *rotation = &series->rotation;
    weir_assert(rotation->step == WEIR_ROTATION_IDLE);
    int result = open_next(series, err);
    rotation->put_off = series->setup.plan->options->rotation.enabled && weir_output_lacks_space(result);
    if (result < 0) {
        try_again(series);
        return result;
    }
    rotation->step = WEIR_ROTATION_CUTTING;
    weir_rotation_count_begin(&series->setup.pipeline->control.rotations);
    weir_rounds_cut(&series->setup.pipeline->rounds, on_cut, series);
    return 0;
}

static int begin(void *ctx, struct weir_error *err)
{
    int result = weir_file_series_rotate(ctx, err);
    return result < 0 ? result : WEIR_TRIGGER_BEGUN;
}

void weir_file_series_ask_again(struct weir_file_series *series)
{
    if (series->rotation.put_off && series->rotation.step == WEIR_ROTATION_IDLE)
        fire(series, WEIR_TRIGGER_BY_SIZE);
}

/* ---- the cut ---- */

/* Gives the new file its name. On failure the file has no name until the finisher gives it the final name. */
static void publish(struct weir_file_series *series)
{
    struct weir_error err = {0};
    if (weir_record_file_publish(series->current, &err) < 0)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING, "%s: its name appears when it is finished", err.what);
    else if (weir_record_file_sync_name(series->current, &err) < 0)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING, "%s", err.what);
}

/* Leaves in the request only those losses whose LOST records stand in the ended file; a later file reports the others.
 * Writer thread. The coordinator takes told_losses back when it reads `begun` (rotation-begun). */
static void fit_losses(void *ctx, uint64_t lost_reported)
{
    struct weir_file_series *series = ctx;
    struct weir_buf *losses = &series->rotation.losses;
    weir_ledger_hold_back(&series->told_losses, lost_reported, losses);
    weir_record_rename(series->setup.events, losses->data, losses->used);
    weir_writer_rotation_set_records(&series->rotation.request, losses->data, losses->used);
}

/* Notes in the ended file how many snapshot samples it holds, and whether it holds dumps besides a snapshot. */
static void note_snapshots(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    const struct weir_pipeline *pipeline = series->setup.pipeline;
    uint64_t snapshots = pipeline->rounds.snapshots;
    uint64_t samples = weir_pipeline_snapshot_samples(pipeline);
    series->current->samples = samples - rotation->samples;
    series->current->lasting =
        weir_modes_pair_ends_files(&series->setup.plan->modes) && snapshots - rotation->snapshots > 1;
    rotation->snapshots = snapshots;
    rotation->samples = samples;
}

static void send(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    weir_buf_reset(&rotation->losses);
    if (weir_ledger_tell_losses(series->setup.events, &series->told_losses, &rotation->losses) < 0)
        weir_buf_reset(&rotation->losses);
    weir_writer_rotation_init(&rotation->request, series->next->output);
    weir_writer_rotation_set_records(&rotation->request, rotation->losses.data, rotation->losses.used);
    weir_writer_rotation_set_first(&rotation->request, rotation->first_records.data, rotation->first_records.used);
    rotation->request.fit_records = fit_losses;
    rotation->request.fit_ctx = series;
    rotation->request.side_bytes = rotation->side_bytes;
    rotation->request.fd = rotation->progress_fd;
    weir_writer_rotation_push(&rotation->request, &series->setup.pipeline->queue);
}

/* Runs at the cut of the rounds. ctx: the series. */
static void on_cut(void *ctx)
{
    struct weir_file_series *series = ctx;
    struct weir_file_rotation *rotation = &series->rotation;
    if (series->setup.hooks.file_ends)
        series->setup.hooks.file_ends(series->setup.hooks.ctx);
    send(series);
    note_snapshots(series);
    series->ended = series->current;
    series->current = series->next;
    series->next = NULL;
    series->current->number = (uint32_t)++rotation->count;
    rotation->full = false;
    rotation->step = WEIR_ROTATION_SENT;
    publish(series);
}

/* ---- progress ---- */

/* Writes the beginning of the new file. Sideband thread. */
static void answer(void *ctx, const struct weir_sideband_view *view)
{
    struct weir_file_series *series = ctx;
    struct weir_file_rotation *rotation = &series->rotation;
    rotation->answer_result =
        weir_beginning_write_next(series->setup.beginning, view, rotation->proc_reader, &rotation->gaps);
    int fd = rotation->progress_fd; /* read now: once `answered` is set, the series may be freed */
    atomic_store_explicit(&rotation->answered, true, memory_order_release);
    eventfd_write(fd, 1);
}

static void ask_sideband(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    rotation->step = WEIR_ROTATION_ANSWERING;
    rotation->gaps = (struct weir_beginning_gaps){0};
    atomic_store_explicit(&rotation->answered, false,
                          memory_order_relaxed); /* relaxed: the lock in weir_sideband_ask() hands it over */
    rotation->question = (struct weir_sideband_question){
        .side_bytes = rotation->side_bytes,
        .answer = answer,
        .ctx = series,
    };
    weir_sideband_ask(series->setup.sideband->sideband, &rotation->question);
}

static void tell_gaps(const struct weir_file_series *series)
{
    const struct weir_beginning_gaps *gaps = &series->rotation.gaps;
    if (gaps->unread_processes > 0)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING,
                    "the maps of %zu processes could not be read from /proc in time: '%s' has the recorded ones only",
                    gaps->unread_processes, series->current->path);
    if (gaps->cut_processes > 0)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING,
                    "the maps of %llu processes took longer than --proc-map-timeout: '%s' has only some of them",
                    (unsigned long long)gaps->cut_processes, series->current->path);
}

static void take_answer(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    const struct weir_file_series_hooks *hooks = &series->setup.hooks;
    weir_rounds_resume(&series->setup.pipeline->rounds, now_ns(series));
    rotation->step = WEIR_ROTATION_HANDING_OVER;
    if (hooks->later_file_began)
        hooks->later_file_began(hooks->ctx);
    /* Relaxed: no other data goes with the error. weir reports a failed output elsewhere. */
    bool is_output = atomic_load_explicit(&series->setup.pipeline->writer.error, memory_order_relaxed) < 0;
    if (rotation->answer_result < 0 && !is_output)
        weir_notice(notices_of(series), WEIR_NOTICE_WARNING,
                    "the tasks and maps at the start of '%s' are not complete: %s", series->current->path,
                    strerror(-rotation->answer_result));
    tell_gaps(series);
}

/* Adds LOST_SAMPLES records for failed writes to the end of the ended file, and the losses of the request if their
 * write failed, too. If memory runs out, only the ledger reports these losses. Called once for each request. */
static void tell_unwritten(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    struct weir_buf *last = &series->ended->last_records;
    weir_ledger_tell_unwritten(series->setup.events, series->setup.pipeline, &rotation->request.account, last,
                               &series->ended->unwritten_samples);
    weir_record_rename(series->setup.events, last->data, last->used);
    if (rotation->request.records_result < 0)
        weir_buf_append(last, rotation->losses.data, rotation->losses.used);
    rotation->request.account.failed_samples = NULL;
}

/* Hands the ended file to the finisher. False: the finisher has no room. */
static bool hand_over(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    weir_record_file_note(series->ended, &rotation->request.account);
    if (rotation->request.account.failed_samples)
        tell_unwritten(series);
    if (!weir_file_finisher_push(series->finisher, series->ended)) {
        if (!rotation->told_wait)
            weir_notice(notices_of(series), WEIR_NOTICE_WARNING,
                        "files end faster than they can be finished: the next rotation waits; this is reported once");
        rotation->told_wait = true;
        return false;
    }
    series->ended = NULL;
    return true;
}

/* Ends the rotation and answers the trigger or the snapshot that asked for it. */
static void complete(struct weir_file_series *series)
{
    struct weir_triggers *triggers = series->setup.triggers;
    const struct weir_file_series_hooks *hooks = &series->setup.hooks;
    series->rotation.step = WEIR_ROTATION_IDLE;
    if (triggers->running == WEIR_TRIGGER_ROTATE)
        weir_triggers_complete(triggers, WEIR_TRIGGER_ROTATE, 0, NULL);
    else if (hooks->snapshot_ended)
        hooks->snapshot_ended(hooks->ctx);
}

static void advance(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    if (rotation->step == WEIR_ROTATION_SENT && weir_writer_rotation_has_begun(&rotation->request))
        ask_sideband(series);
    /* Acquire: answer_result and gaps are there (rotation-answered). */
    if (rotation->step == WEIR_ROTATION_ANSWERING && atomic_load_explicit(&rotation->answered, memory_order_acquire))
        take_answer(series);
    if (rotation->step == WEIR_ROTATION_HANDING_OVER && weir_writer_rotation_is_done(&rotation->request) &&
        hand_over(series))
        complete(series);
}

static void on_progress(void *ctx, short revents)
{
    struct weir_file_series *series = ctx;
    (void)revents;
    weir_timer_drain(series->rotation.progress_fd);
    advance(series);
}

static void on_full(void *ctx, short revents)
{
    struct weir_file_series *series = ctx;
    (void)revents;
    weir_timer_drain(series->rotation.full_fd);
    series->rotation.full = true;
    fire(series, WEIR_TRIGGER_BY_SIZE);
}

static void on_again(void *ctx, short revents)
{
    struct weir_file_series *series = ctx;
    (void)revents;
    weir_timer_drain(series->rotation.again_fd);
    if (series->rotation.full && series->rotation.step == WEIR_ROTATION_IDLE)
        fire(series, WEIR_TRIGGER_BY_SIZE);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_file_series *series = ctx;
    (void)revents;
    weir_timer_drain(series->rotation.timer_fd);
    fire(series, WEIR_TRIGGER_BY_TIMER);
}

/* ---- life ---- */

static int make_timer(int *fd)
{
    *fd = weir_timer_open();
    return *fd < 0 ? *fd : 0;
}

static int make_descriptors(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    const struct weir_rotation_options *asked = &series->setup.plan->options->rotation;
    rotation->progress_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rotation->full_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int result = rotation->progress_fd < 0 || rotation->full_fd < 0 ? -errno : 0;
    if (result == 0 && asked->period_ns > 0)
        result = make_timer(&rotation->timer_fd);
    if (result == 0 && asked->bytes > 0)
        result = make_timer(&rotation->again_fd);
    return result;
}

int weir_file_rotation_prepare(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    const struct weir_rotation_options *asked = &series->setup.plan->options->rotation;
    const struct weir_beginning_setup *beginning = &series->setup.beginning->setup;
    struct weir_pipeline *pipeline = series->setup.pipeline;
    rotation->side_bytes = calloc(pipeline->reader_count, sizeof(*rotation->side_bytes));
    if (!rotation->side_bytes)
        return -ENOMEM;
    int result = make_descriptors(series);
    if (result == 0 && beginning->append_aux_info)
        result = beginning->append_aux_info(beginning->aux_ctx, &rotation->first_records);
    if (result < 0)
        return result;
    pipeline->full_bytes = asked->bytes;
    pipeline->full_fd = rotation->full_fd;
    if (!asked->enabled) /* only snapshots begin rotations */
        return 0;
    struct weir_triggers *triggers = series->setup.triggers;
    weir_triggers_register(triggers, WEIR_TRIGGER_ROTATE, &(struct weir_trigger_action){.run = begin, .ctx = series});
    if (!asked->each_snapshot) /* else SIGUSR2 asks for a snapshot */
        weir_triggers_set_signal(triggers, WEIR_TRIGGER_ROTATE);
    return 0;
}

int weir_file_rotation_watch(struct weir_file_series *series)
{
    const struct weir_file_rotation *rotation = &series->rotation;
    struct weir_poll_set *sources = series->setup.sources;
    int result = weir_poll_set_add(sources, rotation->progress_fd, POLLIN, on_progress, series);
    if (result == 0)
        result = weir_poll_set_add(sources, rotation->full_fd, POLLIN, on_full, series);
    if (result == 0 && rotation->again_fd >= 0)
        result = weir_poll_set_add(sources, rotation->again_fd, POLLIN, on_again, series);
    if (result < 0 || rotation->timer_fd < 0)
        return result;
    weir_timer_repeat(rotation->timer_fd, series->setup.plan->options->rotation.period_ns);
    return weir_poll_set_add(sources, rotation->timer_fd, POLLIN, on_timer, series);
}

/* Refuses a rotation for which a client waits. A snapshot needs no answer: the file that ends now gets it. */
static void refuse(struct weir_file_series *series)
{
    struct weir_triggers *triggers = series->setup.triggers;
    struct weir_error err;
    weir_error_set(&err, -ECANCELED, "the recording is ending");
    if (triggers->running == WEIR_TRIGGER_ROTATE && triggers->running_for)
        weir_triggers_complete(triggers, WEIR_TRIGGER_ROTATE, -ECANCELED, &err);
}

static void take_back(struct weir_file_series *series)
{
    struct weir_pipeline *pipeline = series->setup.pipeline;
    weir_rounds_resume(&pipeline->rounds, now_ns(series));
    weir_record_file_close(series->next);
    series->next = NULL;
    series->rotation.step = WEIR_ROTATION_IDLE;
    weir_rotation_count_end(&pipeline->control.rotations);
    series->rotation.taken_back = weir_modes_keep_samples(&pipeline->setup.modes);
    show(series);
    refuse(series);
}

static void await_progress(const struct weir_file_series *series)
{
    struct pollfd progress = {.fd = series->rotation.progress_fd, .events = POLLIN};
    poll(&progress, 1, (int)CONCLUDE_LOOK_MS);
    weir_timer_drain(series->rotation.progress_fd);
}

void weir_file_series_conclude_rotation(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    if (rotation->step == WEIR_ROTATION_CUTTING) {
        take_back(series);
        return;
    }
    uint64_t until_ns = now_ns(series) + CONCLUDE_MS * WEIR_NS_PER_MS;
    weir_proc_reader_hurry(rotation->proc_reader, CONCLUDE_MS);
    while (rotation->step != WEIR_ROTATION_IDLE) {
        await_progress(series);
        weir_pipeline_keep_patience(series->setup.pipeline);
        advance(series);
        if (rotation->step == WEIR_ROTATION_ANSWERING && now_ns(series) >= until_ns)
            return; /* weir_sideband_stop() will make the sideband thread answer */
    }
}

void weir_file_rotation_end(struct weir_file_series *series)
{
    if (series->rotation.step == WEIR_ROTATION_IDLE)
        return;
    advance(series); /* the sideband thread may have answered by now */
    while (series->ended && weir_writer_rotation_is_done(&series->rotation.request)) {
        if (hand_over(series))
            complete(series);
        else
            await_progress(series);
    }
}

void weir_file_rotation_fini(struct weir_file_series *series)
{
    struct weir_file_rotation *rotation = &series->rotation;
    weir_record_file_close(series->next);
    weir_record_file_close(series->ended);
    weir_train_list_fini(&rotation->request.account.trains);
    weir_proc_reader_free(rotation->proc_reader);
    weir_buf_fini(&rotation->losses);
    weir_buf_fini(&rotation->first_records);
    free(rotation->side_bytes);
    const int fds[] = {rotation->progress_fd, rotation->full_fd, rotation->timer_fd, rotation->again_fd};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}
