/* Opens, names and closes the files of a recording; see file_series.h. Coordinator. */
#include "engine/files/file_series.h"

#include <errno.h>
#include <string.h>

#include "engine/files/file_series_internal.h"

void weir_file_series_init(struct weir_file_series *series, const struct weir_file_series_setup *setup)
{
    *series = (struct weir_file_series){
        .setup = *setup,
        .rotation = {.progress_fd = -1, .full_fd = -1, .timer_fd = -1, .again_fd = -1},
    };
}

int weir_file_series_open(struct weir_file_series *series, struct weir_error *err)
{
    const struct weir_file_series_setup *setup = &series->setup;
    int result = weir_record_file_open(&series->current, setup->facts, setup->pipeline,
                                       setup->plan->options->output.path, NULL, setup->io, err);
    if (result == 0 && setup->append)
        weir_append_lock(setup->append);
    return result;
}

static int make_finisher(struct weir_file_series *series)
{
    const struct weir_file_series_setup *setup = &series->setup;
    if (!weir_modes_finish_files(&setup->plan->modes))
        return 0;
    return weir_file_finisher_new(&series->finisher, &(struct weir_file_finisher_setup){
                                                         .plan = setup->plan,
                                                         .facts = setup->facts,
                                                         .sideband = setup->sideband->sideband,
                                                         .child_mask = setup->child_mask,
                                                         .room_fd = series->rotation.progress_fd,
                                                         .rotations = &setup->pipeline->control.rotations,
                                                     });
}

int weir_file_series_prepare(struct weir_file_series *series, struct weir_error *err)
{
    bool rotates = weir_modes_rotate(&series->setup.plan->modes);
    int result = rotates ? weir_file_rotation_prepare(series) : 0;
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the rotation of outputs");
    result = make_finisher(series);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the finishing of files");
    result = rotates ? weir_file_rotation_watch(series) : 0;
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up the rotation of outputs") : 0;
}

int weir_file_series_start(struct weir_file_series *series, struct weir_error *err)
{
    struct weir_synth_options options;
    if (!weir_modes_rotate(&series->setup.plan->modes))
        return 0;
    weir_beginning_synth_options(series->setup.beginning, &options);
    int result = weir_proc_reader_start(&series->rotation.proc_reader, &options);
    if (result == 0)
        result = weir_file_finisher_start(series->finisher);
    return result < 0 ? weir_error_set_errno(err, result, "cannot start a thread") : 0;
}

unsigned weir_file_series_tids(const struct weir_file_series *series, pid_t *tids)
{
    if (!weir_modes_rotate(&series->setup.plan->modes))
        return 0;
    tids[0] = weir_proc_reader_tid(series->rotation.proc_reader);
    tids[1] = weir_file_finisher_tid(series->finisher);
    return 2;
}

int weir_file_series_name(struct weir_file_series *series, struct weir_error *err)
{
    const struct weir_file_series_setup *setup = &series->setup;
    if (setup->append && !setup->plan->options->output.sync)
        return 0;
    int result = setup->append ? weir_record_file_name_beside(series->current, err)
                               : weir_record_file_publish(series->current, err);
    return result < 0 ? result : weir_record_file_sync_name(series->current, err);
}

/* The end of the recording reports these problems again, with the losses. Recording goes on, because the user may still
 * save the data, under another name or from /proc/PID/fd. */
void weir_file_series_tell_output(const struct weir_file_series *series)
{
    struct weir_writer *writer = &series->setup.pipeline->writer;
    const struct weir_notice_sink *notices = series->setup.plan->options->notices;
    const char *path = series->current->path;
    const char *suffix =
        series->setup.append ? WEIR_APPEND_SUFFIX : ""; /* with -A the new file has this suffix until the end */
    /* Relaxed: the values stand for themselves, and no other data goes with them. */
    int taken = atomic_exchange_explicit(&writer->taken, 0, memory_order_relaxed);
    if (taken == -ENOENT)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "'%s%s' was removed while recording: its data is lost when recording ends", path, suffix);
    else if (taken < 0)
        weir_notice(notices, WEIR_NOTICE_WARNING, "'%s%s' was cut while recording: the data cut off is lost", path,
                    suffix);
    int unsized = atomic_exchange_explicit(&writer->unsized, 0, memory_order_relaxed);
    if (unsized < 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "cannot write the size of '%s%s' into its head (%s): until it is finished, other programs may find "
                    "less data",
                    path, suffix, strerror(-unsized));
}

void weir_file_series_close(struct weir_file_series *series)
{
    if (!series->setup.plan)
        return;
    /* The pool must still exist, because the kernel may read from it for writes to these files. */
    weir_file_finisher_free(series->finisher);
    weir_file_rotation_fini(series);
    weir_record_file_close(series->current);
    weir_told_losses_fini(&series->told_losses);
    weir_file_series_init(series, &(const struct weir_file_series_setup){0});
}
