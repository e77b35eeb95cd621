/* Writes the beginning of a later file; see beginning.h. Sideband thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "engine/events/target_children.h"
#include "engine/files/beginning_internal.h"
#include "engine/files/record_sink.h"
#include "format/records.h"
#include "format/side_record.h"

#define PROC_HANG_MS 1000u /* longest time without a process that is read completely from /proc */

struct writing {
    const struct weir_beginning *beginning;
    const struct weir_sideband_view *view; /* NULL: the task map did not reach the rotation in time */
    struct weir_record_sink sink;
    pid_t *incomplete; /* owned; processes to read from /proc */
    size_t incomplete_count, incomplete_capacity;
};

static int note_incomplete(void *ctx, pid_t pid)
{
    struct writing *writing = ctx;
    pid_t *pids = weir_array_grow(writing->incomplete, sizeof(*pids), writing->incomplete_count, 1,
                                  &writing->incomplete_capacity);
    if (!pids)
        return -ENOMEM;
    pids[writing->incomplete_count++] = pid;
    writing->incomplete = pids;
    return 0;
}

static int put(void *ctx, const void *records, size_t bytes)
{
    struct writing *writing = ctx;
    return weir_record_sink_put(&writing->sink, records, bytes);
}

/* ---- the kernel ---- */

static int append(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return weir_buf_error(ctx);
}

/* Returns the size of the kernel's own map, which is the first of kernel_records. 0: they have no such map. */
static size_t kernel_map_bytes(const struct weir_beginning *beginning)
{
    const struct weir_buf *records = &beginning->kernel_records;
    struct weir_side_layout layout;
    struct weir_side_record first;
    weir_side_layout_init(&layout, &beginning->setup.facts->descriptions[0].attr);
    int bytes = weir_side_record_parse(&layout, records->data, records->used, &first);
    bool is_kernels = bytes > 0 && (first.type == PERF_RECORD_MMAP || first.type == PERF_RECORD_MMAP2) &&
                      strncmp(first.map.filename, "[kernel.", strlen("[kernel.")) == 0;
    return is_kernels ? (size_t)bytes : 0;
}

/* Puts the kernel's map and the modules loaded now. Where /proc no longer shows modules, puts the first file's records.
 */
static int put_kernel(struct writing *writing, const struct weir_synth_options *options)
{
    const struct weir_buf *before = &writing->beginning->kernel_records;
    struct weir_buf modules = WEIR_BUF_INIT;
    struct weir_synth_options gathering = *options;
    gathering.emit = append;
    gathering.emit_ctx = &modules;
    gathering.modules_only = true;
    int result = weir_synth_kernel(&gathering, NULL);
    if (result < 0 || modules.used == 0) {
        result = weir_record_sink_put_all(&writing->sink, before);
    } else {
        size_t bytes = kernel_map_bytes(writing->beginning);
        result = bytes > 0 ? put(writing, before->data, bytes) : 0;
        if (result == 0)
            result = weir_record_sink_put_all(&writing->sink, &modules);
        if (writing->view)
            weir_sideband_view_note_maps(writing->view, modules.data, modules.used);
    }
    weir_buf_fini(&modules);
    return result;
}

/* Puts the records that do not come from the task map. */
static int put_surroundings(struct writing *writing)
{
    const struct weir_beginning *beginning = writing->beginning;
    const struct weir_record_options *asked = beginning->setup.plan->options;
    bool has_kernel = beginning->kernel_records.used > 0;
    struct weir_buf index = WEIR_BUF_INIT;
    struct weir_synth_options options;
    uint64_t programs;
    weir_beginning_synth_options(beginning, &options);
    options.emit = put;
    options.emit_ctx = writing;
    options.notices = NULL; /* the user has got these notices with the first file */
    int result = weir_beginning_append_index(beginning, &index);
    if (result == 0)
        result = weir_record_sink_put_all(&writing->sink, &index);
    if (result == 0 && has_kernel)
        result = put_kernel(writing, &options);
    if (result == 0)
        result = weir_record_sink_put_all(&writing->sink, &beginning->guest_records);
    if (result == 0 && has_kernel)
        result = weir_synth_bpf(&options, &programs, NULL);
    if (result == 0 && asked->samples.cgroups && asked->synth.cgroups)
        result = weir_synth_cgroups(&options, NULL);
    weir_buf_fini(&index);
    return result;
}

/* ---- processes about which the task map is incomplete ---- */

/* Adds the children of the processes to read. */
static int find_children(struct writing *writing)
{
    struct weir_targets known = {
        .pids = writing->incomplete,
        .pid_count = writing->incomplete_count,
        .listed_ticks = writing->beginning->setup.targets->listed_ticks,
    };
    int result = weir_targets_add_children(&known, NULL);
    writing->incomplete = known.pids;
    writing->incomplete_count = writing->incomplete_capacity = known.pid_count;
    return result;
}

static int find_all(struct writing *writing)
{
    pid_t *pids = NULL;
    size_t count = 0;
    int result = weir_targets_list_processes(&pids, &count, NULL);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = note_incomplete(writing, pids[i]);
    free(pids);
    return result;
}

/* Adds the processes that the task map does not know, after weir has missed side records. Incomplete processes of the
 * task map are in the list already. */
static int add_unknown(struct writing *writing)
{
    const struct weir_recording_plan *plan = writing->beginning->setup.plan;
    if (!weir_sideband_view_misses_tasks(writing->view))
        return 0;
    size_t kept = writing->incomplete_count;
    int result = plan->config.system_wide ? find_all(writing) : plan->config.inherit ? find_children(writing) : 0;
    for (size_t i = kept; i < writing->incomplete_count; i++) {
        if (!weir_sideband_view_knows(writing->view, writing->incomplete[i]))
            writing->incomplete[kept++] = writing->incomplete[i];
    }
    writing->incomplete_count = kept;
    return result;
}

/* Puts the maps of incomplete processes from /proc, or from the task map where /proc takes too long. */
static int put_incomplete(struct writing *writing, const struct weir_task_map_sink *sink,
                          struct weir_proc_reader *proc_reader, struct weir_beginning_gaps *gaps)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_proc_reading reading = {0};
    int read = weir_proc_reader_read(proc_reader, writing->incomplete, writing->incomplete_count, PROC_HANG_MS,
                                     &records, &reading);
    int result = weir_record_sink_put_all(&writing->sink, &records);
    weir_sideband_view_note_maps(writing->view, records.data, records.used);
    weir_buf_fini(&records);
    gaps->unread_processes = writing->incomplete_count - reading.processes;
    gaps->cut_processes = reading.cut;
    for (size_t i = reading.processes; result == 0 && i < writing->incomplete_count; i++)
        result = weir_sideband_view_emit_maps(writing->view, writing->incomplete[i], sink);
    return read < 0 && read != -ETIMEDOUT ? read : result;
}

/* ---- the whole beginning ---- */

static int put_beginning(struct writing *writing, struct weir_proc_reader *proc_reader,
                         struct weir_beginning_gaps *gaps)
{
    const struct weir_task_map_sink sink = {
        .sample_id_bytes = weir_attr_sample_id_bytes(&writing->beginning->setup.facts->descriptions[0].attr),
        .emit = put,
        .incomplete = note_incomplete,
        .ctx = writing,
    };
    int result = put_surroundings(writing);
    if (result == 0)
        result = writing->view ? weir_sideband_view_emit(writing->view, &sink) : -ETIMEDOUT;
    if (result == 0)
        result = add_unknown(writing);
    if (result == 0)
        result = put_incomplete(writing, &sink, proc_reader, gaps);
    return result;
}

int weir_beginning_write_next(const struct weir_beginning *beginning, const struct weir_sideband_view *view,
                              struct weir_proc_reader *proc_reader, struct weir_beginning_gaps *gaps)
{
    struct writing writing = {.beginning = beginning, .view = view};
    struct weir_buf end = WEIR_BUF_INIT;
    *gaps = (struct weir_beginning_gaps){0};
    weir_record_sink_init(&writing.sink, beginning->setup.pipeline, NULL);
    int result = put_beginning(&writing, proc_reader, gaps);
    weir_record_finished_init(&end); /* consumers expect this after an incomplete beginning, too */
    int ended = weir_record_sink_put_all(&writing.sink, &end);
    if (ended == 0)
        ended = weir_record_sink_flush(&writing.sink);
    weir_buf_fini(&end);
    weir_record_sink_fini(&writing.sink);
    free(writing.incomplete);
    return result < 0 ? result : ended;
}
