/*
 * What a recording writes besides its data: synthesised records and losses; head and features are record_file.c's.
 * Coordinator thread; the synthesis calls emit() from threads of its own.
 */
#include "engine/events/target_children.h"
#include "engine/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/drain/record_rename.h"
#include "engine/session/ledger.h"
#include "format/features.h"
#include "format/records.h"
#include "format/synth.h"

#define SYNTH_THREADS_MAX 16 /* /proc's own locks leave little to gain from more */

/* ---- synthesised records ---- */

static int emit(void *ctx, const void *records, size_t bytes)
{
    struct weir_session *session = ctx;
    if (session->sideband)
        weir_sideband_feed(session->sideband, records, bytes);
    return weir_pipeline_emit(&session->pipeline, records, bytes);
}

/* Whole records, in pieces that a chunk holds. */
static int emit_pieces(struct weir_session *session, const struct weir_buf *records)
{
    int result = weir_buf_error(records);
    for (size_t at = 0; result == 0 && at < records->used;) {
        size_t end = at;
        struct perf_event_header header = {0};
        while (end < records->used) {
            memcpy(&header, records->data + end, sizeof(header));
            if (end + header.size - at > WEIR_CHUNK_MIN_BYTES)
                break;
            end += header.size;
        }
        result = emit(session, records->data + at, end - at);
        at = end;
    }
    return result;
}

/* Behind two rounds readers have delivered all of the recording that is continued. */
static int end_of_before(struct weir_session *session, struct weir_error *err)
{
    if (!session->append)
        return 0;
    struct weir_buf rounds = WEIR_BUF_INIT;
    weir_record_finished_round(&rounds);
    weir_record_finished_round(&rounds);
    int result = emit_pieces(session, &rounds);
    weir_buf_fini(&rounds);
    return result < 0 ? weir_error_set_errno(err, result, "cannot write to %s", session->options->output_path) : 0;
}

static int synthesize_index(struct weir_session *session, struct weir_error *err)
{
    struct weir_buf records = WEIR_BUF_INIT;
    int result = weir_session_append_index(session, &records);
    if (result == 0)
        result = weir_session_append_aux_info(session, &session->plan.cpus, &records);
    if (result == 0)
        result = emit_pieces(session, &records);
    weir_buf_fini(&records);
    return result < 0 ? weir_error_set_errno(err, result, "cannot write to %s", session->options->output_path) : 0;
}

/* Side events count by now: whatever is forked from here on tells of itself. */
static int synthesize_named_targets(struct weir_session *session, const struct weir_synth_options *options,
                                    struct weir_synth_counts *counts, struct weir_error *err)
{
    int result = session->plan.config.inherit ? weir_targets_add_children(&session->targets, NULL) : 0;
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot list what the targets have started");
    return weir_synth_processes(options, session->targets.pids, session->targets.pid_count, counts, err);
}

static int synthesize_targets(struct weir_session *session, const struct weir_synth_options *options,
                              struct weir_error *err)
{
    const struct weir_record_options *asked = session->options;
    struct weir_synth_counts counts = {0};
    int result;
    if (!asked->synth.tasks && !asked->command)
        return 0;
    if (!asked->synth.tasks) /* what has just been made is not of before */
        result = weir_synth_processes(options, &session->workload.pid, 1, &counts, err);
    else if (session->plan.config.system_wide)
        result = weir_synth_all_tasks(options, &counts, err);
    else
        result = synthesize_named_targets(session, options, &counts, err);
    weir_notice(asked->notices, WEIR_NOTICE_VERBOSE, "synthesised %llu tasks and %llu maps",
                (unsigned long long)counts.tasks, (unsigned long long)counts.maps);
    return result;
}

static bool records_kernel(const struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->events[i].attr.exclude_kernel)
            return true;
    }
    return false;
}

/* The kernel's own map does not change: a file that begins later gets the same one, but for the modules. */
static int emit_kernel(void *ctx, const void *records, size_t bytes)
{
    struct weir_session *session = ctx;
    uint8_t *copy =
        weir_modes_rotate(&session->plan.modes) ? weir_buf_extend(&session->change.kernel_records, bytes) : NULL;
    if (copy)
        memcpy(copy, records, bytes);
    return emit(ctx, records, bytes);
}

static int synthesize_kernel(const struct weir_session *session, const struct weir_synth_options *options,
                             struct weir_error *err)
{
    uint64_t programs;
    struct weir_synth_options kept = *options;
    kept.emit = emit_kernel;
    int result = weir_synth_kernel(&kept, err);
    if (result == 0)
        result = weir_synth_bpf(options, &programs, err);
    if (result == 0 && programs > 0)
        weir_notice(session->options->notices, WEIR_NOTICE_VERBOSE, "synthesised %llu BPF programs",
                    (unsigned long long)programs);
    return result;
}

void weir_session_synth_options(const struct weir_session *session, struct weir_synth_options *options)
{
    const struct weir_record_options *asked = session->options;
    unsigned allowed = weir_cpuset_count(weir_topology_allowed(session->machine.topology));
    *options = (struct weir_synth_options){
        .sample_id_bytes = weir_attr_sample_id_bytes(&session->facts.descriptions[0].attr),
        .threads =
            asked->synth_threads ? asked->synth_threads : (unsigned)weir_clamp_u64(allowed, 1, SYNTH_THREADS_MAX),
        .data_maps = session->events.list->events[weir_event_set_sideband(&session->events)].attr.mmap_data,
        .no_maps = !asked->synth.maps,
        .namespaces = asked->samples.namespaces,
        .map_timeout_ms = asked->synth_map_timeout_ms,
        .build_ids = asked->build_ids_in_maps,
        .notices = asked->notices,
    };
}

int weir_session_synthesize(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *asked = session->options;
    struct weir_synth_options options;
    weir_session_synth_options(session, &options);
    options.emit = emit;
    options.emit_ctx = session;
    /* Without its maps there is no warning of hidden kernel addresses either, which a user of ":u" cannot lack. */
    int result = 0;
    if (records_kernel(session->events.list))
        result = synthesize_kernel(session, &options, err);
    if (result == 0)
        result = synthesize_targets(session, &options, err);
    if (result == 0 && asked->samples.cgroups && asked->synth.cgroups)
        result = weir_synth_cgroups(&options, err);
    if (result < 0)
        return result;

    struct weir_buf end = WEIR_BUF_INIT;
    weir_record_finished_init(&end);
    result = weir_buf_error(&end);
    if (result == 0)
        result = emit(session, end.data, end.used);
    weir_buf_fini(&end);
    if (session->sideband)
        weir_sideband_end_feed(session->sideband);
    return result < 0 ? weir_error_set_errno(err, result, "cannot write to %s", session->options->output_path) : 0;
}

int weir_session_begin_file(struct weir_session *session, struct weir_error *err)
{
    int result = end_of_before(session, err);
    if (result == 0)
        result = synthesize_index(session, err);
    /* A file that ends before the recording does would have no names: the end of that is too late for it. */
    bool at_end_only = weir_modes_describe_at_end_only(&session->plan.modes);
    if (result < 0 || !at_end_only)
        return result < 0 ? result : weir_session_synthesize(session, err);
    if (session->sideband) /* it need not wait for the end */
        weir_sideband_end_feed(session->sideband);
    return 0;
}

/* ---- end ---- */

static int sync_file(struct weir_session *session, struct weir_error *err)
{
    if (session->file->kind == WEIR_RECORD_OUTPUT_STREAM)
        return 0;
    session->hurried |= weir_coordinator_is_hurried(&session->coordinator);
    if (session->hurried && !session->append) { /* what was there before is not to depend on bytes in memory */
        weir_notice(session->options->notices, WEIR_NOTICE_INFO,
                    "signal while finishing: the file is not waited for to reach the disk");
        return 0;
    }
    return weir_record_file_sync(session->file, err);
}

/* After the writer has ended. */
static void tell_compression(const struct weir_session *session)
{
    const struct weir_compressor_totals *totals = &session->pipeline.compressor.totals;
    struct weir_record_result *result = session->result;
    result->compressed_in_bytes = session->pipeline.writer.packed_in_bytes;
    result->compressed_out_bytes = session->pipeline.writer.packed_out_bytes;
    result->compressor_bytes = totals->in_bytes;
    result->compressed_raw_bytes = totals->raw_bytes;
    result->compressed_cpu_ns = totals->cpu_time_ns;
}

/* In a stream build ids are records. */
static int emit_build_ids(struct weir_session *session)
{
    if (session->file->kind != WEIR_RECORD_OUTPUT_STREAM)
        return 0;
    struct weir_buf records = WEIR_BUF_INIT;
    weir_features_append_build_id_records(&records, session->build_ids, session->build_id_count);
    int result = emit_pieces(session, &records);
    weir_buf_fini(&records);
    return result;
}

/* A reader that has read enough is no failure: head(1) does that. */
static bool has_reader_gone(const struct weir_session *session, int write_error)
{
    return session->file->kind == WEIR_RECORD_OUTPUT_STREAM && write_error == -EPIPE;
}

static bool is_hurried(void *ctx)
{
    struct weir_session *session = ctx;
    session->hurried |= weir_coordinator_is_hurried(&session->coordinator);
    return session->hurried;
}

/* Whether the last file is none to keep: snapshots end their files, it has none, and others have. */
static bool is_left_over(const struct weir_session *session)
{
    bool snapshots_end_files = weir_modes_snapshots_end_files(&session->plan.modes);
    return snapshots_end_files && session->change.count > 0 &&
           session->pipeline.rounds.snapshots == session->change.snapshots;
}

/* The snapshot of the pair becomes the file of the recording, unless that has snapshots of its own. One of these may be
 * of the pair, too: a permanent one, or one that was asked for just before the end. */
static void keep_beside_pair(struct weir_session *session)
{
    struct weir_record_result *result = session->result;
    bool passed = is_left_over(session) && weir_file_finisher_pass_name(session->finisher, session->file);
    if (!passed)
        weir_file_finisher_keep_named(session->finisher, session->file,
                                      session->change.taken_back || session->snapshots.permanent);
    struct weir_removed_files removed = weir_file_finisher_removed(session->finisher);
    result->replaced_snapshots = removed.files;
    result->replaced_samples = removed.samples;
    result->replaced_bytes = removed.bytes;
}

/* Gives the last file its name, after all that were switched away have theirs. 0, or the first failure of any. */
static int keep_file(struct weir_session *session, struct weir_error *err)
{
    struct weir_record_result *result = session->result;
    result->file_bytes = session->file->file_bytes;
    result->files = 1;
    if (!session->finisher)
        return 0;
    result->stamped = session->options->switching.timestamp && weir_output_has_name(session->file->output);
    weir_file_finisher_stop(session->finisher, is_hurried, session);
    weir_record_file_stamp(session->file, session->day);
    if (weir_modes_pair_ends_files(&session->plan.modes))
        keep_beside_pair(session);
    else if (is_left_over(session))
        weir_output_remove(session->file->output);
    else
        weir_file_finisher_keep(session->finisher, session->file, is_hurried, session);
    weir_file_finisher_await_commands(session->finisher, is_hurried, session);
    const struct weir_finished_files *sums = weir_file_finisher_sums(session->finisher);
    result->file_bytes = sums->bytes;
    result->files = sums->files;
    if (sums->err.code < 0)
        *err = sums->err;
    return sums->err.code;
}

/* The file of before gives way to the one that continues it, when that is whole. */
static int replace_appended(struct weir_session *session, int failure, struct weir_error *err)
{
    if (!session->append)
        return failure;
    int result = failure;
    if (failure == 0)
        result = weir_output_replace(session->file->output, &session->append->identity, err);
    if (result == 0)
        return weir_record_file_sync_name(session->file, err);
    session->result->file_bytes = 0; /* of FILE */
    if (failure == 0 && weir_output_keep_beside(session->file->output, WEIR_APPEND_SUFFIX, NULL) == 0)
        weir_error_hint(err, "'%s%s' has what was in it before, and what was recorded", session->file->path,
                        WEIR_APPEND_SUFFIX);
    else
        weir_error_hint(err, "nothing was appended: '%s' is as it was", session->file->path);
    return result;
}

/* With --on-full=rotate older files make room for its features. */
static int finish_file(struct weir_session *session, struct weir_error *err)
{
    int result = weir_record_file_finish(session->file, &session->facts, err);
    while (weir_output_lacks_space(result) && weir_disk_guard_make_room(session)) {
        *err = (struct weir_error){0};
        result = weir_record_file_finish(session->file, &session->facts, err);
    }
    return result;
}

int weir_session_finish(struct weir_session *session, struct weir_error *err)
{
    struct weir_record_result *result = session->result;
    result->ring_bytes = session->plan.ring_bytes;
    result->rings = 0;
    for (unsigned i = 0; i < session->pipeline.reader_count; i++)
        result->rings += weir_reader_rings_mapped(&session->pipeline.readers[i]->rings);
    result->pool_bytes = (uint64_t)session->pipeline.pool.chunk_count * session->pipeline.pool.chunk_bytes;
    struct weir_buf *lost = &session->file->last_records;
    bool is_stream = session->options->output_kind == WEIR_RECORD_OUTPUT_STREAM;
    int code = weir_ledger_collect(&session->events, &session->pipeline, result, &session->told_losses, lost);
    if (code == 0 && is_stream) {
        weir_record_rename(&session->events, lost->data, lost->used);
        code = emit_pieces(session, lost);
    }
    /* While the writer empties its queue. */
    int gathered = weir_session_stop_sideband(session, err);
    if (code == 0)
        code = emit_build_ids(session);
    if (session->append && gathered == 0)
        gathered = weir_append_add_build_ids(session->append, session->build_ids, session->build_id_count);
    weir_pipeline_stop_writer(&session->pipeline);
    weir_session_switch_end(&session->change);
    if (code == 0 && !is_stream) {
        code = weir_ledger_tell_unwritten(&session->events, &session->pipeline, &session->pipeline.writer.account, lost,
                                          &session->file->unwritten_samples);
        weir_record_rename(&session->events, lost->data, lost->used);
    }
    weir_ledger_settle(&session->pipeline, result);
    weir_session_sum_aux(session);

    int write_error = weir_record_file_error(session->file);
    weir_record_file_note(session->file, &session->pipeline.writer.account);
    tell_compression(session);
    session->file->build_ids = session->build_ids;
    session->file->build_id_count = session->build_id_count;
    if (session->sideband) /* without memory for the list there are none */
        weir_sideband_list_bpf_programs(session->sideband, session->file->number, NULL, &session->file->bpf);
    int finished = finish_file(session, err);
    if (finished == 0)
        finished = sync_file(session, err);
    session->file->broken = finished < 0 || write_error < 0;
    int kept = keep_file(session, finished == 0 && write_error == 0 && code == 0 ? err : &(struct weir_error){0});
    if (finished == 0)
        finished = kept;
    if (finished == 0)
        weir_session_fill_build_id_cache(session);
    session->reader_gone = has_reader_gone(session, write_error);
    if (session->reader_gone || session->given_up)
        write_error = code = 0;
    int failure = finished < 0 ? finished : gathered;
    if (write_error < 0)
        failure = weir_error_set_errno(err, write_error, "cannot write to %s", session->options->output_path);
    else if (code < 0)
        failure = weir_error_set_errno(err, code, "cannot account for losses");
    return replace_appended(session, failure, err);
}
