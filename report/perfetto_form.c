/*
 * One sequence of packets. A serialized message that follows another one of the same type adds to its lists. So each
 * packet is a trace of its own, and only one packet at a time is in memory as a message. The first packet clears the
 * state of the sequence; strings, frames and stacks follow before the samples that use them.
 */
#include "report/perfetto_form.h"

#include <errno.h>
#include <string.h>

#include "report/cell_view.h"
#include "report/perfetto.pb-c.h"

#define SEQUENCE      1u
#define STATE_CLEARED 1u
#define STATE_NEEDED  2u
#define DEPTH_MAX     8192u

struct form {
    struct weir_buf *out;
    const struct weir_digest *digest;
    struct weir_cell_view view;
    struct weir_row_table frames;    /* frame; its number plus 1 is its id, and its function's */
    struct weir_row_table files;     /* number of an object; plus 1 the id of its mapping and path */
    struct weir_row_table processes; /* pid: named so far */
    struct weir_row_table tasks;     /* number of a task: named so far */
    bool any;                        /* a packet is written */
    int error;
};

static uint64_t id_of(struct form *form, struct weir_row_table *table, uint64_t key, bool *is_new)
{
    size_t count = table->count;
    uint32_t number = weir_row_table_add(table, &key);
    if (number == WEIR_ROW_NONE)
        form->error = -ENOMEM;
    *is_new = number == count;
    return (uint64_t)number + 1;
}

static void append_packet(struct form *form, Weir__Perfetto__TracePacket *packet)
{
    Weir__Perfetto__Trace trace = WEIR__PERFETTO__TRACE__INIT;
    trace.n_packet = 1;
    trace.packet = &packet;
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    packet->has_sequence_flags = true;
    packet->sequence_flags = form->any ? STATE_NEEDED : STATE_CLEARED;
    form->any = true;
    uint8_t *room = weir_buf_extend(form->out, weir__perfetto__trace__get_packed_size(&trace));
    if (room)
        weir__perfetto__trace__pack(&trace, room);
}

static void append_interned(struct form *form, Weir__Perfetto__InternedData *data)
{
    Weir__Perfetto__TracePacket packet = WEIR__PERFETTO__TRACE_PACKET__INIT;
    packet.interned_data = data;
    append_packet(form, &packet);
}

/* ---- strings, frames, stacks ---- */

static void set_string(Weir__Perfetto__InternedString *string, uint64_t id, const char *text)
{
    string->has_iid = true;
    string->iid = id;
    string->has_str = true;
    string->str.data = (uint8_t *)text; /* protobuf-c's bytes are not const */
    string->str.len = strlen(text);
}

static void append_file(struct form *form, weir_frame frame, uint64_t id)
{
    Weir__Perfetto__InternedString path = WEIR__PERFETTO__INTERNED_STRING__INIT;
    Weir__Perfetto__InternedString *paths[] = {&path};
    Weir__Perfetto__Mapping mapping = WEIR__PERFETTO__MAPPING__INIT;
    Weir__Perfetto__Mapping *mappings[] = {&mapping};
    Weir__Perfetto__InternedData data = WEIR__PERFETTO__INTERNED_DATA__INIT;
    set_string(&path, id, weir_digest_object(form->digest, frame));
    mapping.has_iid = true;
    mapping.iid = id;
    mapping.n_path_string_ids = 1;
    mapping.path_string_ids = &id;
    data.n_mapping_paths = 1;
    data.mapping_paths = paths;
    data.n_mappings = 1;
    data.mappings = mappings;
    append_interned(form, &data);
}

/* Places in a mapping are not kept: rel_pc is the number of the frame, so that no two frames are one. */
static uint64_t append_frame(struct form *form, weir_frame frame)
{
    bool is_new, is_new_file;
    uint64_t id = id_of(form, &form->frames, frame, &is_new);
    if (!is_new)
        return id;
    uint64_t file = id_of(form, &form->files, weir_frame_object(frame), &is_new_file);
    if (is_new_file)
        append_file(form, frame, file);
    Weir__Perfetto__InternedString name = WEIR__PERFETTO__INTERNED_STRING__INIT;
    Weir__Perfetto__InternedString *names[] = {&name};
    Weir__Perfetto__Frame interned = WEIR__PERFETTO__FRAME__INIT;
    Weir__Perfetto__Frame *frames[] = {&interned};
    Weir__Perfetto__InternedData data = WEIR__PERFETTO__INTERNED_DATA__INIT;
    set_string(&name, id, weir_digest_symbol(form->digest, frame));
    interned.has_iid = interned.has_function_name_id = interned.has_mapping_id = interned.has_rel_pc = true;
    interned.iid = interned.function_name_id = interned.rel_pc = id;
    interned.mapping_id = file;
    data.n_function_names = 1;
    data.function_names = names;
    data.n_frames = 1;
    data.frames = frames;
    append_interned(form, &data);
    return id;
}

/* The outermost frame first. The id of a stack is its number in the view plus 1. */
static void append_stack(struct form *form, uint32_t stack)
{
    const struct weir_fold *fold = &form->digest->fold;
    uint64_t ids[DEPTH_MAX];
    uint32_t path[DEPTH_MAX];
    size_t depth = 0;
    for (uint32_t at = stack; at != WEIR_STACK_NONE && depth < DEPTH_MAX; at = weir_stack_parent(fold, at))
        path[depth++] = at;
    for (size_t i = 0; i < depth; i++)
        ids[i] = append_frame(form, weir_stack_frame(fold, path[depth - 1 - i]));
    Weir__Perfetto__Callstack interned = WEIR__PERFETTO__CALLSTACK__INIT;
    Weir__Perfetto__Callstack *stacks[] = {&interned};
    Weir__Perfetto__InternedData data = WEIR__PERFETTO__INTERNED_DATA__INIT;
    interned.has_iid = true;
    interned.iid = (uint64_t)form->view.stacks[stack] + 1;
    interned.n_frame_ids = depth;
    interned.frame_ids = ids;
    data.n_callstacks = 1;
    data.callstacks = stacks;
    append_interned(form, &data);
}

/* ---- tasks ---- */

static void append_task(struct form *form, uint32_t number)
{
    const struct weir_task *task = &form->digest->survey.history.tasks[number];
    Weir__Perfetto__ThreadDescriptor thread = WEIR__PERFETTO__THREAD_DESCRIPTOR__INIT;
    Weir__Perfetto__ProcessDescriptor process = WEIR__PERFETTO__PROCESS_DESCRIPTOR__INIT;
    Weir__Perfetto__TrackDescriptor track = WEIR__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Weir__Perfetto__TracePacket packet = WEIR__PERFETTO__TRACE_PACKET__INIT;
    bool is_new;
    char *name = (char *)weir_digest_comm(form->digest, number);
    thread.has_pid = thread.has_tid = process.has_pid = true;
    thread.pid = process.pid = (int32_t)task->pid;
    thread.tid = (int32_t)task->tid;
    thread.thread_name = name;
    process.process_name = name;
    track.has_uuid = true;
    track.uuid = (uint64_t)number + 1;
    packet.track_descriptor = &track;
    id_of(form, &form->processes, task->pid, &is_new);
    if (task->pid == task->tid && is_new) {
        track.process = &process;
        append_packet(form, &packet);
        track.process = NULL;
        track.uuid |= 1ull << 32;
    }
    track.thread = &thread;
    append_packet(form, &packet);
}

/* ---- samples ---- */

static void append_sample(struct form *form, const struct weir_cell *cell)
{
    const struct weir_survey *survey = &form->digest->survey;
    Weir__Perfetto__PerfSample sample = WEIR__PERFETTO__PERF_SAMPLE__INIT;
    Weir__Perfetto__TracePacket packet = WEIR__PERFETTO__TRACE_PACKET__INIT;
    bool is_new;
    if (cell->task != WEIR_ROW_NONE) {
        id_of(form, &form->tasks, cell->task, &is_new);
        if (is_new)
            append_task(form, cell->task);
        sample.has_pid = sample.has_tid = true;
        sample.pid = survey->history.tasks[cell->task].pid;
        sample.tid = survey->history.tasks[cell->task].tid;
    }
    sample.has_cpu = cell->cpu != WEIR_CPU_UNKNOWN;
    sample.cpu = cell->cpu;
    sample.has_callstack_iid = cell->stack != WEIR_STACK_NONE;
    sample.callstack_iid = sample.has_callstack_iid ? (uint64_t)form->view.stacks[cell->stack] + 1 : 0;
    sample.has_timebase_count = true;
    sample.timebase_count = cell->weight;
    packet.has_timestamp = true;
    packet.timestamp = survey->first_ns + cell->time;
    packet.perf_sample = &sample;
    for (uint64_t i = 0; i < cell->count; i++) {
        append_packet(form, &packet);
        sample.has_timebase_count = false; /* the weight is that of all */
    }
}

static void append_loss(struct form *form, const struct weir_loss *loss)
{
    Weir__Perfetto__PerfSample sample = WEIR__PERFETTO__PERF_SAMPLE__INIT;
    Weir__Perfetto__TracePacket packet = WEIR__PERFETTO__TRACE_PACKET__INIT;
    sample.has_cpu = loss->cpu != UINT32_MAX;
    sample.cpu = loss->cpu;
    sample.has_kernel_records_lost = true;
    sample.kernel_records_lost = loss->count;
    packet.has_timestamp = true;
    packet.timestamp = loss->time ? loss->time : form->digest->survey.last_ns;
    packet.perf_sample = &sample;
    append_packet(form, &packet);
}

/* The kernel's own count of an event's losses, where the records of the rings tell fewer. */
static void append_losses(struct form *form)
{
    const struct weir_survey *survey = &form->digest->survey;
    for (size_t i = 0; i < survey->loss_count; i++) {
        if (survey->losses[i].cause != WEIR_LOSS_KERNEL)
            append_loss(form, &survey->losses[i]);
    }
    for (uint32_t event = 0; event < survey->event_count; event++) {
        const struct weir_survey_event *counts = &survey->events[event];
        if (counts->lost_samples > counts->lost)
            append_loss(form, &(struct weir_loss){.count = counts->lost_samples - counts->lost, .cpu = UINT32_MAX});
    }
}

static void append_all(struct form *form)
{
    const struct weir_digest *digest = form->digest;
    struct weir_row_table stacks; /* of the cells: written so far */
    weir_row_table_init(&stacks, 1, 1, digest->survey.strings.key.words[1]);
    for (size_t i = 0; form->error == 0 && i < form->view.count; i++) {
        const struct weir_cell *cell = &form->view.cells[i];
        bool is_new = false;
        if (!weir_digest_shows(digest, cell->event))
            continue;
        if (cell->stack != WEIR_STACK_NONE)
            id_of(form, &stacks, cell->stack, &is_new);
        if (is_new)
            append_stack(form, cell->stack);
        append_sample(form, cell);
    }
    append_losses(form);
    weir_row_table_fini(&stacks);
}

void weir_perfetto_append(struct weir_buf *out, const struct weir_digest *digest)
{
    struct form form = {.out = out, .digest = digest};
    uint64_t seed = digest->survey.strings.key.words[1];
    weir_row_table_init(&form.frames, 1, 1, seed);
    weir_row_table_init(&form.files, 1, 1, seed);
    weir_row_table_init(&form.processes, 1, 1, seed);
    weir_row_table_init(&form.tasks, 1, 1, seed);
    form.error = weir_cell_view_init(&form.view, &digest->fold);
    if (form.error == 0)
        append_all(&form);
    if (form.error < 0)
        weir_buf_fail(out, form.error);
    weir_cell_view_fini(&form.view);
    weir_row_table_fini(&form.frames);
    weir_row_table_fini(&form.files);
    weir_row_table_fini(&form.processes);
    weir_row_table_fini(&form.tasks);
}
