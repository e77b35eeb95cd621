/*
 * What a file must begin with that begins in the middle of a recording: the answer to a switch's question. Sideband
 * thread, which waits for chunks and, within a bound, for /proc.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/array.h"
#include "engine/events/target_children.h"
#include "engine/session/session.h"
#include "format/records.h"
#include "format/side_record.h"

#define PROC_HANG_MS 1000u /* without a process of /proc being read to its end */

/* Records gather here, because each emit() costs a chunk. */
struct batch {
    struct weir_pipeline *pipeline;
    struct weir_buf records;
};

static int flush(struct batch *batch)
{
    int result = weir_buf_error(&batch->records);
    if (result == 0 && batch->records.used > 0)
        result = weir_pipeline_emit(batch->pipeline, batch->records.data, batch->records.used);
    weir_buf_reset(&batch->records);
    return result;
}

/* Whole records, at most WEIR_CHUNK_MIN_BYTES. */
static int emit(void *ctx, const void *records, size_t bytes)
{
    struct batch *batch = ctx;
    int result = batch->records.used + bytes > WEIR_CHUNK_MIN_BYTES ? flush(batch) : 0;
    uint8_t *to = result == 0 ? weir_buf_extend(&batch->records, bytes) : NULL;
    if (to)
        memcpy(to, records, bytes);
    return result < 0 ? result : weir_buf_error(&batch->records);
}

struct answering {
    struct weir_session *session;
    struct batch batch;
    pid_t *incomplete; /* owned; processes that are to be read from /proc */
    size_t incomplete_count, incomplete_capacity;
};

static int note_incomplete(void *ctx, pid_t pid)
{
    struct answering *answering = ctx;
    pid_t *pids = weir_array_grow(answering->incomplete, sizeof(*pids), answering->incomplete_count, 1,
                                  &answering->incomplete_capacity);
    if (!pids)
        return -ENOMEM;
    pids[answering->incomplete_count++] = pid;
    answering->incomplete = pids;
    return 0;
}

static int emit_for_sink(void *ctx, const void *records, size_t bytes)
{
    struct answering *answering = ctx;
    return emit(&answering->batch, records, bytes);
}

static int emit_pieces(struct batch *batch, const struct weir_buf *records)
{
    int result = weir_buf_error(records);
    for (size_t at = 0; result == 0 && at < records->used;) {
        struct perf_event_header header;
        memcpy(&header, records->data + at, sizeof(header));
        result = emit(batch, records->data + at, header.size);
        at += header.size;
    }
    return result;
}

/* ---- the kernel ---- */

static int append(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return weir_buf_error(ctx);
}

/* The first of what was synthesised at the start is the kernel's own map, if there was one: its bytes. */
static size_t kernel_map_bytes(const struct weir_session *session)
{
    const struct weir_buf *records = &session->change.kernel_records;
    struct weir_side_layout layout;
    struct weir_side_record first;
    weir_side_layout_init(&layout, &session->facts.descriptions[0].attr);
    int bytes = weir_side_record_parse(&layout, records->data, records->used, &first);
    bool is_kernels = bytes > 0 && (first.type == PERF_RECORD_MMAP || first.type == PERF_RECORD_MMAP2) &&
                      strncmp(first.map.filename, "[kernel.", strlen("[kernel.")) == 0;
    return is_kernels ? (size_t)bytes : 0;
}

/* Modules come and go, and no record tells of it: they are those of now. Where the kernel does not show them any more,
 * those of the start. */
static int emit_kernel(struct answering *answering, const struct weir_sideband_view *view)
{
    const struct weir_session *session = answering->session;
    const struct weir_buf *before = &session->change.kernel_records;
    struct weir_buf modules = WEIR_BUF_INIT;
    struct weir_synth_options options;
    if (before->used == 0)
        return 0;
    weir_session_synth_options(session, &options);
    options.emit = append;
    options.emit_ctx = &modules;
    options.notices = NULL;
    options.modules_only = true;
    int result = weir_synth_kernel(&options, NULL);
    if (result < 0 || modules.used == 0) {
        result = emit_pieces(&answering->batch, before);
    } else {
        size_t bytes = kernel_map_bytes(session);
        result = bytes > 0 ? emit(&answering->batch, before->data, bytes) : 0;
        if (result == 0)
            result = emit_pieces(&answering->batch, &modules);
        if (view)
            weir_sideband_view_note_maps(view, modules.data, modules.used);
    }
    weir_buf_fini(&modules);
    return result;
}

/* What does not come from the task map. */
static int emit_surroundings(struct answering *answering, const struct weir_sideband_view *view)
{
    struct weir_session *session = answering->session;
    struct weir_buf index = WEIR_BUF_INIT;
    struct weir_synth_options options;
    uint64_t programs;
    weir_session_synth_options(session, &options);
    options.emit = emit;
    options.emit_ctx = &answering->batch;
    options.notices = NULL; /* what is to be said of it was said at the start */
    int result = weir_session_append_index(session, &index);
    if (result == 0)
        result = emit_pieces(&answering->batch, &index);
    if (result == 0)
        result = emit_kernel(answering, view);
    if (result == 0 && session->change.kernel_records.used > 0)
        result = weir_synth_bpf(&options, &programs, NULL);
    if (result == 0 && session->options->samples.cgroups && session->options->synth.cgroups)
        result = weir_synth_cgroups(&options, NULL);
    weir_buf_fini(&index);
    return result;
}

/* Those that have come from the ones that the map knows. */
static int find_children(struct answering *answering)
{
    struct weir_targets known = {
        .pids = answering->incomplete,
        .pid_count = answering->incomplete_count,
        .listed_ticks = answering->session->targets.listed_ticks,
    };
    int result = weir_targets_add_children(&known, NULL);
    answering->incomplete = known.pids;
    answering->incomplete_count = answering->incomplete_capacity = known.pid_count;
    return result;
}

static int find_all(struct answering *answering)
{
    pid_t *pids = NULL;
    size_t count = 0;
    int result = weir_targets_list_processes(&pids, &count, NULL);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = note_incomplete(answering, pids[i]);
    free(pids);
    return result;
}

/* Of processes that have started while records were missed the map may know nothing at all. By now all that it knows
 * are to be read. */
static int add_unknown(struct answering *answering, const struct weir_sideband_view *view)
{
    const struct weir_session *session = answering->session;
    if (!weir_sideband_view_misses_tasks(view))
        return 0;
    size_t kept = answering->incomplete_count;
    int result = session->plan.config.system_wide ? find_all(answering)
                 : session->plan.config.inherit   ? find_children(answering)
                                                  : 0;
    for (size_t i = kept; i < answering->incomplete_count; i++) {
        if (!weir_sideband_view_knows(view, answering->incomplete[i]))
            answering->incomplete[kept++] = answering->incomplete[i];
    }
    answering->incomplete_count = kept;
    return result;
}

/* What /proc does not tell in time stands there as far as it was recorded. */
static int emit_incomplete(struct answering *answering, const struct weir_sideband_view *view,
                           const struct weir_task_map_sink *sink)
{
    struct weir_session_switch *change = &answering->session->change;
    struct weir_buf records = WEIR_BUF_INIT;
    int read = weir_proc_reader_read(change->proc_reader, answering->incomplete, answering->incomplete_count,
                                     PROC_HANG_MS, &records, &change->proc_reading);
    int result = emit_pieces(&answering->batch, &records);
    weir_sideband_view_note_maps(view, records.data, records.used);
    weir_buf_fini(&records);
    change->unread_processes = answering->incomplete_count - change->proc_reading.processes;
    for (size_t i = change->proc_reading.processes; result == 0 && i < answering->incomplete_count; i++)
        result = weir_sideband_view_emit_maps(view, answering->incomplete[i], sink);
    return read < 0 && read != -ETIMEDOUT ? read : result;
}

static int emit_beginning(struct answering *answering, const struct weir_sideband_view *view)
{
    const struct weir_task_map_sink sink = {
        .sample_id_bytes = weir_attr_sample_id_bytes(&answering->session->facts.descriptions[0].attr),
        .emit = emit_for_sink,
        .incomplete = note_incomplete,
        .ctx = answering,
    };
    int result = emit_surroundings(answering, view);
    if (result == 0)
        result = view ? weir_sideband_view_emit(view, &sink) : -ETIMEDOUT;
    if (result == 0)
        result = add_unknown(answering, view);
    if (result == 0)
        result = emit_incomplete(answering, view, &sink);
    weir_record_finished_init(&answering->batch.records);
    int flushed = flush(&answering->batch);
    return result < 0 ? result : flushed;
}

void weir_session_switch_answer(void *ctx, const struct weir_sideband_view *view)
{
    struct weir_session_switch *change = ctx;
    struct answering answering = {
        .session = change->session,
        .batch = {.pipeline = &change->session->pipeline, .records = WEIR_BUF_INIT},
    };
    change->answer_result = emit_beginning(&answering, view);
    weir_buf_fini(&answering.batch.records);
    free(answering.incomplete);
    int fd = change->progress_fd;
    atomic_store_explicit(&change->answered, true, memory_order_release);
    eventfd_write(fd, 1);
}
