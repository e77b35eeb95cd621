/* Reads a recording for the first time. One thread. */
#include "report/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "format/bytes.h"
#include "format/side_record.h"
#include "report/sample_split.h"

#define KSYMBOL_NAME       24u /* header, u64 address, u32 bytes, u16 type, u16 flags; then the name */
#define KSYMBOL_UNREGISTER 1u
#define NS_PER_S           1000000000ull
#define ID_SIZE_IS_VALID   (1u << 15)
#define ID_DEFAULT_BYTES   20u
#define FORK_IS_EXEC       (1u << 13) /* PERF_RECORD_MISC_FORK_EXEC: the child copies nothing */

/* One run. */
struct run {
    struct weir_survey *survey;
    struct weir_perf_input *input;
    struct weir_sample_split split;
    uint64_t number; /* of records before the present one */
    uint64_t last_task;
    bool any_task;
    struct weir_object_id *ids; /* owned; of the feature BUILD_ID, or of a stream's records */
    size_t id_count, id_capacity;
};

/* ---- times ---- */

uint64_t weir_survey_clock(const struct weir_survey *survey, const struct weir_input_event *event,
                           const struct weir_record_view *record, uint64_t number)
{
    struct weir_sample_id id;
    if (!survey->has_times || !event)
        return survey->has_times ? 0 : number;
    if (record->type != PERF_RECORD_SAMPLE)
        return weir_sample_id_parse(&id, &event->layout, record->data, record->bytes) ? id.time : 0;
    int offset = event->layout.time;
    return offset != WEIR_LAYOUT_ABSENT && record->bytes >= event->layout.variable
               ? weir_load_u64(record->data + offset)
               : 0;
}

static void note_time(struct weir_survey *survey, uint64_t time)
{
    if (!survey->has_times || time == 0)
        return;
    if (survey->first_ns == 0 || time < survey->first_ns)
        survey->first_ns = time;
    if (time > survey->last_ns)
        survey->last_ns = time;
}

/* ---- samples ---- */

/* The number of samples for which a record of a sample stands. */
static uint64_t count_of(const struct run *run, const struct weir_input_event *event,
                         const struct weir_record_view *record)
{
    const struct weir_merge *merge = &run->input->events.merge;
    struct weir_sample sample;
    size_t bad_offset;
    if (merge->interval_ns == 0 ||
        weir_sample_parse(&sample, &event->layout, record->data, record->bytes, &bad_offset) < 0)
        return 1;
    return weir_input_sample_count(merge, &sample);
}

static int count_sample(struct run *run, const struct weir_input_event *event, const struct weir_record_view *record)
{
    struct weir_survey *survey = run->survey;
    if (!weir_sample_is_split(event)) {
        survey->events[event - run->input->events.list].samples += count_of(run, event, record);
        survey->samples++;
        return 0;
    }
    int result = weir_sample_split_take(&run->split, &run->input->events, event, record);
    for (size_t i = 0; result == 0 && i < run->split.count; i++)
        survey->events[run->split.parts[i].event].samples++;
    survey->samples += run->split.count;
    return result;
}

static int note_sample(struct run *run, const struct weir_input_event *event, const struct weir_record_view *record,
                       uint64_t time)
{
    struct weir_survey *survey = run->survey;
    const struct weir_sample_layout *layout = &event->layout;
    int result = count_sample(run, event, record);
    note_time(survey, time);
    if (result < 0 || record->bytes < layout->variable)
        return result;
    if (layout->cpu != WEIR_LAYOUT_ABSENT) {
        uint32_t cpu = weir_load_u32(record->data + layout->cpu);
        if (cpu < WEIR_CPU_LIMIT && !weir_cpuset_has(&survey->cpus, cpu))
            result = weir_cpuset_add(&survey->cpus, cpu);
    }
    uint64_t task = layout->tid != WEIR_LAYOUT_ABSENT ? weir_load_u64(record->data + layout->tid) : 0;
    if (result == 0 && (!run->any_task || task != run->last_task))
        result = weir_task_history_sampled(&survey->history, (uint32_t)task, (uint32_t)(task >> 32));
    run->last_task = task;
    run->any_task = true;
    return result;
}

/* ---- side records ---- */

static int note_map(struct weir_survey *survey, const struct weir_side_record *side, struct weir_task_event *event)
{
    unsigned mode = side->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (mode != PERF_RECORD_MISC_USER && mode != PERF_RECORD_MISC_KERNEL)
        return 0; /* of guests, whose symbols are not here */
    event->kind = WEIR_TASK_MAP;
    event->pid = mode == PERF_RECORD_MISC_KERNEL ? WEIR_TASK_KERNEL : (uint32_t)side->pid;
    const struct weir_object_name name = {.path = side->map.filename,
                                          .pid = event->pid,
                                          .id = &side->build_id,
                                          .inode = side->map.inode,
                                          .major = side->map.major,
                                          .minor = side->map.minor};
    uint32_t object = weir_objects_add(&survey->objects, &name);
    if (object == WEIR_ROW_NONE)
        return -ENOMEM;
    if (object == WEIR_OBJECT_NUMBER_KERNEL && survey->objects.text_start == 0)
        survey->objects.text_start = side->map.page_offset;
    if (object == WEIR_OBJECT_NUMBER_KERNEL && side->build_id.bytes > 0)
        survey->objects.list[object]->id = side->build_id;
    const char *dump = strstr(name.path, "/jit-");
    size_t length = strlen(name.path);
    if (dump && !strchr(dump + 1, '/') && strcmp(name.path + length - strlen(".dump"), ".dump") == 0) {
        uint32_t path = weir_string_table_add(survey->objects.strings, name.path);
        if (path == WEIR_ROW_NONE || weir_objects_set_jitdump(&survey->objects, event->pid, path) < 0)
            return -ENOMEM;
    }
    event->map = (struct weir_mapping){.start = side->map.start, .offset = side->map.page_offset, .object = object};
    if (__builtin_add_overflow(side->map.start, side->map.bytes, &event->map.end))
        event->map.end = UINT64_MAX;
    return weir_task_history_note(&survey->history, event);
}

static int note_side(struct run *run, const struct weir_input_event *event, const struct weir_record_view *record,
                     uint64_t time)
{
    struct weir_survey *survey = run->survey;
    struct weir_side_layout layout = {0};
    struct weir_side_record side;
    if (event)
        weir_side_layout_init(&layout, &event->attr);
    if (weir_side_record_parse(&layout, record->data, record->bytes, &side) <= 0 || side.type == 0)
        return 0;
    struct weir_task_event noted = {.time = time, .pid = (uint32_t)side.pid, .tid = (uint32_t)side.tid};
    switch (side.type) {
    case PERF_RECORD_COMM:
        noted.kind = WEIR_TASK_COMM;
        noted.comm = weir_string_table_add(&survey->strings, side.comm);
        return noted.comm == WEIR_ROW_NONE ? -ENOMEM : weir_task_history_note(&survey->history, &noted);
    case PERF_RECORD_FORK:
        noted.kind = WEIR_TASK_FORK;
        noted.copies = !(side.misc & FORK_IS_EXEC);
        noted.ppid = (uint32_t)side.ppid;
        noted.ptid = (uint32_t)side.ptid;
        return weir_task_history_note(&survey->history, &noted);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return note_map(survey, &side, &noted);
    default:
        return 0;
    }
}

/* Code of the kernel with a name of its own appears, or disappears. */
static int note_ksymbol(struct run *run, const struct weir_record_view *record, uint64_t time)
{
    struct weir_survey *survey = run->survey;
    if (record->bytes <= KSYMBOL_NAME)
        return 0;
    const char *name = (const char *)record->data + KSYMBOL_NAME;
    if (strnlen(name, record->bytes - KSYMBOL_NAME) == record->bytes - KSYMBOL_NAME)
        return 0;
    uint64_t start = weir_load_u64(record->data + 8);
    uint32_t bytes = weir_load_u32(record->data + 16);
    bool is_gone = weir_load_u16(record->data + 22) & KSYMBOL_UNREGISTER;
    uint32_t object = is_gone ? WEIR_OBJECT_NUMBER_UNKNOWN : weir_objects_add_ksymbol(&survey->objects, name, bytes);
    struct weir_task_event event = {.time = time, .pid = WEIR_TASK_KERNEL, .kind = WEIR_TASK_MAP};
    event.map = (struct weir_mapping){.start = start, .end = start + bytes, .object = object};
    return object == WEIR_ROW_NONE ? -ENOMEM : weir_task_history_note(&survey->history, &event);
}

/* ---- losses ---- */

/* Beyond the bound, a loss is added to one of the same kind and second; without one, to any of the same kind. */
static void merge_loss(struct weir_survey *survey, const struct weir_loss *loss)
{
    struct weir_loss *best = NULL;
    for (size_t i = survey->loss_count; i-- > 0 && i + 1024 > survey->loss_count;) {
        struct weir_loss *row = &survey->losses[i];
        if (row->event != loss->event || row->cause != loss->cause)
            continue;
        best = best ? best : row;
        if (row->cpu == loss->cpu && row->time / NS_PER_S == loss->time / NS_PER_S) {
            best = row;
            break;
        }
    }
    best = best ? best : &survey->losses[survey->loss_count - 1];
    best->count += loss->count;
}

static int note_loss(struct weir_survey *survey, const struct weir_loss *loss)
{
    if (loss->count == 0)
        return 0;
    if (survey->loss_count == WEIR_LOSS_ROWS_MAX) {
        merge_loss(survey, loss);
        return 0;
    }
    struct weir_loss *losses =
        weir_array_grow(survey->losses, sizeof(*losses), survey->loss_count, 1, &survey->loss_capacity);
    if (!losses)
        return -ENOMEM;
    survey->losses = losses;
    losses[survey->loss_count++] = *loss;
    return 0;
}

static int note_lost(struct run *run, const struct weir_input_event *event, const struct weir_record_view *record,
                     uint64_t time)
{
    struct weir_survey *survey = run->survey;
    struct weir_loss loss = {.time = time, .event = UINT32_MAX, .cpu = UINT32_MAX};
    struct weir_sample_id id;
    if (event && weir_sample_id_parse(&id, &event->layout, record->data, record->bytes) &&
        event->layout.trailer_cpu != WEIR_LAYOUT_ABSENT)
        loss.cpu = id.cpu;
    if (record->type == PERF_RECORD_LOST && record->bytes >= 24) {
        const struct weir_input_event *named =
            weir_input_event_by_id(&run->input->events, weir_load_u64(record->data + 8));
        event = named ? named : run->input->events.count == 1 && run->input->events.id_count == 0 ? event : NULL;
        loss.count = weir_load_u64(record->data + 16);
    } else if (record->type == PERF_RECORD_LOST_SAMPLES && record->bytes >= 16) {
        loss.cause = record->misc & WEIR_RECORD_MISC_SHED ? WEIR_LOSS_SHED : WEIR_LOSS_KERNEL;
        loss.count = weir_load_u64(record->data + 8);
    }
    if (event) {
        loss.event = (uint32_t)(event - run->input->events.list);
        struct weir_survey_event *counts = &survey->events[loss.event];
        *(loss.cause == WEIR_LOSS_RING   ? &counts->lost
          : loss.cause == WEIR_LOSS_SHED ? &counts->shed
                                         : &counts->lost_samples) += loss.count;
        survey->lost += loss.cause == WEIR_LOSS_RING ? loss.count : 0;
        survey->lost_samples += loss.cause == WEIR_LOSS_KERNEL ? loss.count : 0;
    }
    return note_loss(survey, &loss);
}

/* ---- build ids ---- */

/* One record of the feature BUILD_ID, or of a stream: the build id of an object by its path. */
static int note_build_id(struct run *run, const uint8_t *record, size_t bytes)
{
    struct weir_perf_build_id fixed;
    struct weir_build_id id = {.bytes = ID_DEFAULT_BYTES};
    if (bytes <= sizeof(fixed))
        return 0;
    memcpy(&fixed, record, sizeof(fixed));
    const char *path = (const char *)record + sizeof(fixed);
    if (strnlen(path, bytes - sizeof(fixed)) == bytes - sizeof(fixed))
        return 0;
    if (fixed.header.misc & ID_SIZE_IS_VALID)
        id.bytes = fixed.size < sizeof(id.data) ? fixed.size : sizeof(id.data);
    memcpy(id.data, fixed.id, id.bytes);
    uint32_t name = weir_string_table_add(&run->survey->strings, path);
    struct weir_object_id *ids = weir_array_grow(run->ids, sizeof(*ids), run->id_count, 1, &run->id_capacity);
    if (ids)
        run->ids = ids;
    if (name == WEIR_ROW_NONE || !ids)
        return -ENOMEM;
    ids[run->id_count++] = (struct weir_object_id){.path = name, .id = id};
    return 0;
}

static int note_build_ids(struct run *run)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    int found = weir_perf_input_feature(run->input, WEIR_FEATURE_BUILD_ID, &payload, NULL);
    int result = found == -ENOMEM ? found : 0;
    size_t at = 0;
    while (found == 1 && result == 0 && payload.used - at >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, payload.data + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > payload.used - at)
            break;
        result = note_build_id(run, payload.data + at, header.size);
        at += header.size;
    }
    weir_buf_fini(&payload);
    return result < 0 ? result : weir_objects_identify(&run->survey->objects, run->ids, run->id_count);
}

/* ---- the timeline ---- */

static int note_timeline(struct weir_survey *survey, const struct weir_record_view *record)
{
    if (survey->timeline.used < WEIR_TIMELINE_MAX_BYTES)
        weir_timeline_text_take(&survey->timeline_state, record, &survey->timeline);
    return weir_buf_error(&survey->timeline);
}

static int note_deferred(struct run *run, const struct weir_input_event *event, const struct weir_record_view *record)
{
    struct weir_sample_id id;
    if (!weir_sample_id_parse(&id, &event->layout, record->data, record->bytes)) {
        run->survey->deferred.left_out++;
        return 0;
    }
    return weir_deferred_chains_note(&run->survey->deferred, record->data, record->bytes - event->layout.trailer_bytes,
                                     id.tid);
}

/* ---- the pass ---- */

/* Events of a stream arrive with its records. */
static int reach_events(struct run *run)
{
    struct weir_survey *survey = run->survey;
    size_t wanted = run->input->events.count;
    if (wanted <= survey->event_count)
        return 0;
    struct weir_survey_event *events = reallocarray(survey->events, wanted, sizeof(*events));
    if (!events)
        return -ENOMEM;
    memset(events + survey->event_count, 0, (wanted - survey->event_count) * sizeof(*events));
    survey->events = events;
    for (size_t i = survey->event_count; i < wanted; i++) {
        uint64_t fields = run->input->events.list[i].attr.sample_type;
        events[i].has_chains = fields & PERF_SAMPLE_CALLCHAIN;
        events[i].has_dumps = fields & PERF_SAMPLE_STACK_USER;
        survey->has_times |= fields & PERF_SAMPLE_TIME;
    }
    survey->event_count = wanted;
    return 0;
}

static int note_record(struct run *run, const struct weir_record_view *record)
{
    int result = reach_events(run);
    const struct weir_input_event *event = weir_input_event_of(&run->input->events, record);
    if (!event && record->type != PERF_RECORD_SAMPLE && run->input->events.count > 0)
        event = &run->input->events.list[0]; /* a synthesized record has no id */
    uint64_t time = weir_survey_clock(run->survey, event, record, run->number);
    if (result < 0)
        return result;
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return event ? note_sample(run, event, record, time) : 0;
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        note_time(run->survey, time);
        return note_side(run, event, record, time);
    case PERF_RECORD_KSYMBOL:
        return note_ksymbol(run, record, time);
    case WEIR_RECORD_CALLCHAIN_DEFERRED:
        return event ? note_deferred(run, event, record) : 0;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        return note_lost(run, event, record, time);
    case PERF_RECORD_THROTTLE:
        if (event)
            run->survey->events[event - run->input->events.list].throttled++;
        return 0;
    case WEIR_RECORD_BUILD_ID:
        return note_build_id(run, record->data, record->bytes);
    case WEIR_RECORD_EVENT_UPDATE:
        return note_timeline(run->survey, record);
    default:
        return 0;
    }
}

static int read_all(struct run *run, struct weir_error *err)
{
    struct weir_record_view record;
    int result;
    while ((result = weir_perf_input_next(run->input, &record, &run->survey->end)) > 0) {
        result = note_record(run, &record);
        if (result < 0)
            return weir_error_set_errno(err, result, "cannot report %s", run->input->source.path);
        run->number++;
    }
    if (result == 0)
        run->survey->end.code = 0;
    if (result < 0 && result != -EBADMSG) {
        *err = run->survey->end;
        return result;
    }
    return 0;
}

static int note_machine(struct run *run)
{
    struct weir_survey *survey = run->survey;
    struct weir_buf payload = WEIR_BUF_INIT;
    struct utsname here;
    const char *name = NULL;
    if (weir_perf_input_feature(run->input, WEIR_FEATURE_ARCH, &payload, NULL) == 1) {
        struct weir_cursor cursor = {.data = payload.data, .bytes = payload.used};
        name = weir_cursor_string(&cursor);
    }
    if (!name)
        name = uname(&here) == 0 ? here.machine : "";
    survey->machine = weir_unwind_machine_find(name);
    survey->machine_name = weir_string_table_add(&survey->strings, name);
    weir_buf_fini(&payload);
    return survey->machine_name == WEIR_ROW_NONE ? -ENOMEM : 0;
}

int weir_survey_run(struct weir_survey *survey, struct weir_perf_input *input, const struct weir_object_places *places,
                    struct weir_error *err)
{
    struct run run = {.survey = survey, .input = input};
    *survey = (struct weir_survey){.input_events = &input->events, .timeline_state = {.json = true}};
    int result = weir_string_table_init(&survey->strings);
    uint64_t seed = survey->strings.key.words[1];
    weir_task_history_init(&survey->history, &survey->strings, seed);
    weir_deferred_chains_init(&survey->deferred, seed);
    if (result == 0)
        result = weir_objects_init(&survey->objects, &survey->strings, seed);
    survey->objects.places = *places;
    if (result == 0)
        result = reach_events(&run);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot report %s", input->source.path);
    weir_sample_split_init(&run.split, seed);
    result = read_all(&run, err);
    weir_sample_split_fini(&run.split);
    if (result < 0) {
        free(run.ids);
        return result;
    }
    weir_timeline_text_end(&survey->timeline_state, &survey->timeline);
    result = weir_buf_error(&survey->timeline);
    if (result == 0)
        result = note_build_ids(&run);
    if (result == 0)
        result = note_machine(&run);
    free(run.ids);
    if (result == 0)
        result = weir_task_history_build(&survey->history);
    return result < 0 ? weir_error_set_errno(err, result, "cannot report %s", input->source.path) : 0;
}

void weir_survey_fini(struct weir_survey *survey)
{
    weir_task_history_fini(&survey->history);
    weir_deferred_chains_fini(&survey->deferred);
    weir_objects_fini(&survey->objects);
    weir_string_table_fini(&survey->strings);
    weir_cpuset_fini(&survey->cpus);
    weir_buf_fini(&survey->timeline);
    free(survey->events);
    free(survey->losses);
    *survey = (struct weir_survey){0};
}
