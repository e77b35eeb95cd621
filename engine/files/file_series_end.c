/* Ends the files of a recording; see file_series.h. Coordinator. */
#include <errno.h>

#include "engine/drain/record_rename.h"
#include "engine/files/file_series_internal.h"
#include "engine/files/loss_advice.h"
#include "engine/files/record_sink.h"
#include "format/features.h"

static bool is_hurried(void *ctx)
{
    const struct weir_file_series *series = ctx;
    const struct weir_file_series_hooks *hooks = &series->setup.hooks;
    return hooks->is_hurried && hooks->is_hurried(hooks->ctx);
}

static void enter_step(const struct weir_file_series *series, enum weir_ending_step step)
{
    const struct weir_file_series_hooks *hooks = &series->setup.hooks;
    if (hooks->enter_step)
        hooks->enter_step(hooks->ctx, step);
}

static bool is_stream(const struct weir_file_series *series)
{
    return series->current->kind == WEIR_RECORD_OUTPUT_STREAM;
}

/* ---- the end of the data ---- */

/* Sends the loss records of a stream to the writer, because a stream has no place for them behind the writer's data. */
static int send_losses(struct weir_file_series *series)
{
    struct weir_buf *lost = &series->current->last_records;
    if (!is_stream(series))
        return 0;
    weir_record_rename(series->setup.events, lost->data, lost->used);
    return weir_record_sink_send(series->setup.pipeline, lost);
}

/* Sends the build ids of a stream to the writer as records. */
static int send_build_ids(struct weir_file_series *series)
{
    const struct weir_sideband_host *sideband = series->setup.sideband;
    if (!is_stream(series))
        return 0;
    struct weir_buf records = WEIR_BUF_INIT;
    weir_features_append_build_id_records(&records, sideband->build_ids, sideband->build_id_count);
    int result = weir_record_sink_send(series->setup.pipeline, &records);
    weir_buf_fini(&records);
    return result;
}

/* Adds LOST_SAMPLES records for the failed writes to the last file. Called after the writer has ended. */
static int tell_unwritten(struct weir_file_series *series)
{
    struct weir_pipeline *pipeline = series->setup.pipeline;
    struct weir_buf *lost = &series->current->last_records;
    if (is_stream(series))
        return 0;
    int result = weir_ledger_tell_unwritten(series->setup.events, pipeline, &pipeline->writer.account, lost,
                                            &series->current->unwritten_samples);
    weir_record_rename(series->setup.events, lost->data, lost->used);
    return result;
}

/* Errors of end_data(). */
struct outcome {
    int counted;  /* 0 or -errno: losses that could not be accounted for */
    int gathered; /* 0 or -errno with err: build ids that could not be listed */
};

/* Accounts for all losses and ends the sideband thread, while the writer empties its queue; then ends the writer. */
static struct outcome end_data(struct weir_file_series *series, struct weir_error *err)
{
    const struct weir_file_series_setup *setup = &series->setup;
    struct outcome outcome = {0};
    outcome.counted = weir_ledger_collect(setup->events, setup->pipeline, setup->result, &series->told_losses,
                                          &series->current->last_records);
    if (setup->hooks.losses_counted)
        setup->hooks.losses_counted(setup->hooks.ctx);
    if (outcome.counted == 0)
        outcome.counted = send_losses(series);
    enter_step(series, WEIR_ENDING_BUILD_IDS);
    outcome.gathered = weir_sideband_host_stop(setup->sideband, series->current->number, is_hurried(series), err);
    if (outcome.counted == 0)
        outcome.counted = send_build_ids(series);
    if (setup->append && outcome.gathered == 0)
        outcome.gathered =
            weir_append_add_build_ids(setup->append, setup->sideband->build_ids, setup->sideband->build_id_count);
    enter_step(series, WEIR_ENDING_WRITE);
    weir_pipeline_stop_writer(setup->pipeline);
    weir_sideband_host_tell_unwinding(setup->sideband);
    weir_file_rotation_end(series);
    if (outcome.counted == 0)
        outcome.counted = tell_unwritten(series);
    weir_ledger_fill_totals(setup->pipeline, setup->result);
    weir_loss_advise(setup->result, setup->limits, setup->plan->options->readers.realtime_priority);
    return outcome;
}

static void sum_compression(const struct weir_file_series *series)
{
    const struct weir_pipeline *pipeline = series->setup.pipeline;
    const struct weir_chunk_stage_totals *totals = &pipeline->stage.totals;
    struct weir_record_result *result = series->setup.result;
    result->compressed_in_bytes = pipeline->writer.packed_in_bytes;
    result->compressed_out_bytes = pipeline->writer.packed_out_bytes;
    result->compressor_bytes = totals->in_bytes;
    result->compressed_raw_bytes = totals->raw_bytes;
    result->compressed_cpu_ns = totals->cpu_time_ns;
}

/* ---- the last file ---- */

/* Gives the last file the data for its features. */
static void complete_file(struct weir_file_series *series)
{
    const struct weir_sideband_host *sideband = series->setup.sideband;
    struct weir_record_file *file = series->current;
    weir_record_file_note(file, &series->setup.pipeline->writer.account);
    file->build_ids = sideband->build_ids;
    file->build_id_count = sideband->build_id_count;
    if (sideband->sideband) /* if memory runs out, the file has no list */
        weir_sideband_list_bpf_programs(sideband->sideband, file->number, NULL, &file->bpf);
}

/* Appends the ledger to the records that end the last file. A stream keeps none: quipper reads the type of these
 * records as names of events there. */
static void append_ledger(const struct weir_file_series *series)
{
    struct weir_buf *last = &series->current->last_records;
    size_t before = last->used;
    if (is_stream(series) || !series->setup.result->ledger || weir_buf_error(last) < 0)
        return;
    const struct weir_ledger_content content = weir_record_result_ledger(series->setup.result);
    weir_ledger_append_records(&content, last);
    if (weir_buf_error(last) < 0) { /* the records before are worth more */
        last->used = before;
        last->error = 0;
    }
}

/* Writes the end of the last file. Without room for all of it the ledger stays out. With --on-full=rotate removes older
 * files until the features find room. */
static int finish_file(struct weir_file_series *series, struct weir_error *err)
{
    struct weir_buf *last = &series->current->last_records;
    size_t without_ledger = last->used;
    enter_step(series, WEIR_ENDING_FEATURES);
    append_ledger(series);
    int result = weir_record_file_finish(series->current, series->setup.facts, err);
    if (weir_output_lacks_space(result) && last->used > without_ledger) {
        last->used = without_ledger;
        *err = (struct weir_error){0};
        result = weir_record_file_finish(series->current, series->setup.facts, err);
    }
    while (weir_output_lacks_space(result) && weir_file_finisher_make_room(series->finisher)) {
        *err = (struct weir_error){0};
        result = weir_record_file_finish(series->current, series->setup.facts, err);
    }
    return result;
}

static int sync_file(struct weir_file_series *series, struct weir_error *err)
{
    if (is_stream(series))
        return 0;
    if (is_hurried(series) && !series->setup.append) { /* the old data of -A must not depend on unwritten memory */
        weir_notice(series->setup.plan->options->notices, WEIR_NOTICE_INFO,
                    "signal while finishing: not waiting until the file is on the disk");
        return 0;
    }
    enter_step(series, WEIR_ENDING_SYNC);
    return weir_record_file_sync(series->current, err);
}

/* Whether the last file is empty and needs no keeping: each snapshot ended a file, and none came after the last one. */
static bool is_left_over(const struct weir_file_series *series)
{
    return weir_modes_snapshots_end_files(&series->setup.plan->modes) && series->rotation.count > 0 &&
           series->setup.pipeline->rounds.snapshots == series->rotation.snapshots;
}

/* Makes the file of the last snapshot of the pair the file of the recording, unless the last file has snapshots. These
 * may include a snapshot of the pair: a permanent one, or one that a request just before the end asked for. */
static void keep_beside_pair(struct weir_file_series *series, bool keeps_snapshot)
{
    struct weir_record_result *result = series->setup.result;
    bool passed = is_left_over(series) && weir_file_finisher_pass_name(series->finisher, series->current);
    if (!passed)
        weir_file_finisher_keep_named(series->finisher, series->current, series->rotation.taken_back || keeps_snapshot);
    struct weir_removed_files removed = weir_file_finisher_removed(series->finisher);
    result->replaced_snapshots = removed.files;
    result->replaced_samples = removed.samples;
    result->replaced_bytes = removed.bytes;
}

/* Names the last file after all earlier files have their names. 0, or the first error of all files. */
static int keep_file(struct weir_file_series *series, bool keeps_snapshot, struct weir_error *err)
{
    const struct weir_recording_plan *plan = series->setup.plan;
    struct weir_record_result *result = series->setup.result;
    result->file_bytes = series->current->file_bytes;
    result->files = 1;
    if (!series->finisher)
        return 0;
    enter_step(series, WEIR_ENDING_FILES);
    result->stamped =
        plan->options->rotation.timestamp && weir_output_file_has_name(weir_output_file_of(series->current->output));
    weir_file_finisher_stop(series->finisher, is_hurried, series);
    weir_record_file_stamp(series->current, series->setup.day);
    if (weir_modes_pair_ends_files(&plan->modes))
        keep_beside_pair(series, keeps_snapshot);
    else if (is_left_over(series))
        weir_output_file_remove(weir_output_file_of(series->current->output));
    else
        weir_file_finisher_keep(series->finisher, series->current, is_hurried, series);
    weir_file_finisher_await_commands(series->finisher, is_hurried, series);
    const struct weir_finished_files *sums = weir_file_finisher_sums(series->finisher);
    result->file_bytes = sums->bytes;
    result->files = sums->files;
    if (sums->err.code < 0)
        *err = sums->err;
    return sums->err.code;
}

/* With -A replaces the old file by the new one, if the new one is whole. */
static int replace_continued(struct weir_file_series *series, int failure, struct weir_error *err)
{
    const struct weir_append *append = series->setup.append;
    if (!append)
        return failure;
    int result = failure;
    if (failure == 0)
        result = weir_output_file_replace(weir_output_file_of(series->current->output), &append->identity, err);
    if (result == 0)
        return weir_record_file_sync_name(series->current, err);
    series->setup.result->file_bytes = 0; /* the old file has no new data */
    if (failure == 0 &&
        weir_output_file_keep_beside(weir_output_file_of(series->current->output), WEIR_APPEND_SUFFIX, NULL) == 0)
        weir_error_hint(err, "'%s%s' contains the old recording and the new one", series->current->path,
                        WEIR_APPEND_SUFFIX);
    else
        weir_error_hint(err, "nothing was appended: '%s' is unchanged", series->current->path);
    return result;
}

int weir_file_series_finish(struct weir_file_series *series, bool keeps_snapshot, struct weir_error *err)
{
    struct outcome outcome = end_data(series, err);
    struct weir_error unheard = {0};
    complete_file(series);
    sum_compression(series);
    int write_error = weir_record_file_error(series->current);
    int finished = finish_file(series, err);
    if (finished == 0)
        finished = sync_file(series, err);
    series->current->broken = finished < 0 || write_error < 0;
    bool is_first_failure = finished == 0 && write_error == 0 && outcome.counted == 0;
    int kept = keep_file(series, keeps_snapshot, is_first_failure ? err : &unheard);
    if (finished == 0)
        finished = kept;
    if (finished == 0 && !is_hurried(series)) {
        enter_step(series, WEIR_ENDING_CACHE);
        weir_sideband_host_fill_cache(series->setup.sideband);
    }
    /* A consumer of a stream may close it early, as head(1) does; this is no failure. */
    series->consumer_gone = is_stream(series) && write_error == -EPIPE;
    if (series->consumer_gone || series->given_up)
        write_error = outcome.counted = 0;
    int failure = finished < 0 ? finished : outcome.gathered;
    const char *path = series->setup.plan->options->output.path;
    if (write_error < 0)
        failure = weir_error_set_errno(err, write_error, "cannot write to %s", path);
    else if (outcome.counted < 0)
        failure = weir_error_set_errno(err, outcome.counted, "cannot account for losses");
    return replace_continued(series, failure, err);
}
