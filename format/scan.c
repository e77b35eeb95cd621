/*
 * One pass over a recording. One thread.
 *
 * Rounds: a consumer that reads FINISHED_ROUND n delivers all records up to the newest time before round n - 1. So no
 * later record may be older than that time (ordered_events__flush() in tools/perf/util/ordered-events.c).
 */
#include "format/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define RECORD_ALIGN 8u

/* ---- tables that grow ---- */

static int reach(void **items, size_t item_bytes, size_t *count, size_t wanted)
{
    if (wanted <= *count)
        return 0;
    void *grown = reallocarray(*items, wanted, item_bytes);
    if (!grown)
        return -ENOMEM;
    memset((uint8_t *)grown + *count * item_bytes, 0, (wanted - *count) * item_bytes);
    *items = grown;
    *count = wanted;
    return 0;
}

/* ---- one record ---- */

struct scanned { /* what a record says of itself */
    const struct weir_record_view *view;
    const struct weir_input_event *event; /* NULL: unknown */
    struct weir_scan_event *counts;       /* of event; NULL likewise */
    struct weir_sample_id id;
    uint64_t fields; /* of id, PERF_SAMPLE_* */
    size_t body_bytes;
};

static void check_shape(struct weir_scan *scan, const struct scanned *record)
{
    const struct weir_record_view *view = record->view;
    const struct weir_record_schema *schema = weir_record_schema(view->type);
    if (!schema)
        weir_scan_problem_note(&scan->unknown_type, view->offset);
    else if (record->body_bytes < schema->least_bytes)
        weir_scan_problem_note(&scan->short_record, view->offset);
    if (view->bytes % RECORD_ALIGN != 0 && view->type != WEIR_RECORD_COMPRESSED)
        weir_scan_problem_note(&scan->odd_size, view->offset);
    if (schema)
        scan->types[view->type]++;
}

/* The first field of a tracepoint, whose raw bytes are as they were recorded. */
static uint16_t common_type(const struct weir_perf_input *input, const uint8_t *raw)
{
    return input->is_foreign ? __builtin_bswap16(weir_load_u16(raw)) : weir_load_u16(raw);
}

static void scan_sample(struct weir_scan *scan, const struct weir_perf_input *input, struct scanned *record)
{
    const struct weir_record_view *view = record->view;
    struct weir_sample sample;
    size_t bad_offset;
    scan->samples++;
    if (!record->event) {
        weir_scan_problem_note(&scan->unknown_id, view->offset);
        return;
    }
    record->counts->samples++;
    if (weir_sample_parse(&sample, &record->event->layout, view->data, view->bytes, &bad_offset) < 0)
        weir_scan_problem_note(&scan->short_record, view->offset);
    uint64_t merged = weir_input_sample_count(&input->events.merge, &sample) - 1;
    scan->merged += merged;
    record->counts->merged += merged;
    record->id = sample.id;
    record->fields = sample.fields;
    if (sample.aux.data && sample.aux.count > 0) {
        scan->aux.samples++;
        scan->aux.sampled_bytes += sample.aux.count;
    }
    const struct perf_event_attr *attr = &record->event->attr;
    if (attr->type == PERF_TYPE_TRACEPOINT && sample.raw.data &&
        (sample.raw.count < sizeof(uint16_t) || common_type(input, sample.raw.data) != attr->config))
        weir_scan_problem_note(&scan->wrong_raw, view->offset);
    if (!(sample.fields & PERF_SAMPLE_TIME))
        return;
    if (scan->first_sample_ns == 0 || sample.id.time < scan->first_sample_ns)
        scan->first_sample_ns = sample.id.time;
    if (sample.id.time > scan->last_sample_ns)
        scan->last_sample_ns = sample.id.time;
}

/* Whether a LOST record is of the ring of side records: of an event that the header does not name. */
static bool is_unnamed_loss(struct weir_perf_input *input, const struct scanned *record)
{
    return record->body_bytes >= 16 && input->events.count == 1 && input->events.id_count > 0 &&
           !weir_input_event_by_id(&input->events, weir_load_u64(record->view->data + 8));
}

static void scan_lost(struct weir_scan *scan, struct weir_perf_input *input, const struct scanned *record)
{
    uint64_t lost = weir_load_u64(record->view->data + 16);
    if (is_unnamed_loss(input, record)) {
        scan->lost_unnamed += lost;
        return;
    }
    scan->lost += lost;
    if (record->counts)
        record->counts->lost += lost;
}

/* The samples that a LOST_SAMPLES record tells; 0: another record. *is_shed: weir dropped them. */
static uint64_t told_lost_samples(const struct scanned *record, bool *is_shed)
{
    const struct weir_record_view *view = record->view;
    *is_shed = false;
    if (view->type != PERF_RECORD_LOST_SAMPLES || record->body_bytes < 16)
        return 0;
    *is_shed = weir_load_u16(view->data + offsetof(struct perf_event_header, misc)) & WEIR_RECORD_MISC_SHED;
    return weir_load_u64(view->data + 8);
}

static void scan_other(struct weir_scan *scan, struct weir_perf_input *input, struct scanned *record)
{
    const struct weir_record_view *view = record->view;
    struct weir_scan_event *counts = record->counts;
    if (view->type == WEIR_RECORD_FINISHED_ROUND) {
        scan->barrier_ns = scan->round_ns;
        scan->round_ns = scan->newest_ns;
    }
    if (record->body_bytes < 24 && view->type != PERF_RECORD_LOST_SAMPLES)
        return;
    if (view->type == PERF_RECORD_LOST) {
        scan_lost(scan, input, record);
    } else if (view->type == PERF_RECORD_LOST_SAMPLES) {
        bool is_shed;
        uint64_t lost = told_lost_samples(record, &is_shed);
        *(is_shed ? &scan->shed : &scan->lost_samples) += lost;
        if (counts)
            *(is_shed ? &counts->shed : &counts->lost_samples) += lost;
    } else if (counts) {
        counts->throttles += view->type == PERF_RECORD_THROTTLE;
        counts->unthrottles += view->type == PERF_RECORD_UNTHROTTLE;
    }
}

static void scan_time(struct weir_scan *scan, const struct scanned *record)
{
    if (!(record->fields & PERF_SAMPLE_TIME) || record->id.time == 0)
        return;
    if (record->id.time < scan->barrier_ns)
        weir_scan_problem_note(&scan->late_record, record->view->offset);
    if (record->id.time > scan->newest_ns)
        scan->newest_ns = record->id.time;
}

static bool may_be_set(const struct perf_event_attr *attr)
{
    return attr->use_clockid && (attr->clockid == CLOCK_REALTIME || attr->clockid == CLOCK_TAI);
}

/* Whether the header names the record's id. Where a recording has only one event, or no ids, the event was found
 * without the id. The id may then be any number, and a table of ids would grow with the file. */
static bool is_named(struct weir_perf_input *input, const struct scanned *record)
{
    bool is_found_by_id = record->event && input->events.count > 1 && input->events.id_count > 0;
    return is_found_by_id || weir_input_event_by_id(&input->events, record->id.id);
}

/* In a file without ids, whether the record came out of a ring of samples, if side records have one of their own. */
static bool is_of_samples(struct weir_perf_input *input, const struct scanned *record)
{
    switch (record->view->type) {
    case PERF_RECORD_SAMPLE:
    case PERF_RECORD_LOST_SAMPLES:
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        return true;
    case PERF_RECORD_LOST:
        return !is_unnamed_loss(input, record);
    default:
        return false;
    }
}

/* The records of one ring, under a number of their own; 0: unknown. Where records have no ids it is that of the CPU, of
 * which samples and side records may have a ring each. An event that is inherited has no ring that goes from one CPU to
 * another (perf_mmap(), kernel/events/core.c). */
static uint64_t ring_of(struct weir_perf_input *input, const struct scanned *record)
{
    if (record->fields & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
        /* A record without an id is one that a recorder has repeated at the start of a file, for later records. */
        return record->id.id != 0 && is_named(input, record) ? record->id.id : 0;
    bool is_of_cpu = input->events.count == 1 && record->event->attr.inherit && (record->fields & PERF_SAMPLE_CPU) &&
                     record->id.cpu < WEIR_CPU_LIMIT;
    return is_of_cpu ? 1 + 2 * (uint64_t)record->id.cpu + is_of_samples(input, record) : 0;
}

/* Rings that are written backwards (attr.write_backward) are read from their newest record on. */
static int scan_order(struct weir_scan *scan, struct weir_perf_input *input, const struct scanned *record)
{
    if (!(record->fields & PERF_SAMPLE_TIME) || record->id.time == 0 || !record->event ||
        record->event->attr.write_backward)
        return 0;
    uint64_t step_ns, ring = ring_of(input, record);
    if (ring == 0)
        return 0;
    bool is_of_day = may_be_set(&record->event->attr);
    int result = weir_scan_order_note(&scan->order, ring, record->id.time, is_of_day, &step_ns);
    if (result == 0 && step_ns > WEIR_SCAN_STEP_BACK_NS)
        weir_scan_problem_note(is_of_day ? &scan->clock_step : &scan->disorder, record->view->offset);
    if (result == 0 && step_ns > WEIR_SCAN_STEP_BACK_NS && is_of_day && step_ns > scan->clock_step_ns)
        scan->clock_step_ns = step_ns;
    return result;
}

static int scan_return(struct weir_scan *scan, struct weir_perf_input *input, const struct scanned *record)
{
    bool is_return =
        record->view->type == PERF_RECORD_LOST_SAMPLES && record->event &&
        (weir_load_u16(record->view->data + offsetof(struct perf_event_header, misc)) & WEIR_RECORD_MISC_RETURNED);
    return is_return && is_named(input, record) ? weir_scan_order_return(&scan->order, record->id.id) : 0;
}

static int scan_span(struct weir_scan_cpu *cpu, size_t opening, uint64_t time_ns)
{
    size_t at = cpu->span_count;
    while (at > 0 && cpu->spans[at - 1].opening > opening)
        at--;
    if (at == 0 || cpu->spans[at - 1].opening != opening) {
        if (cpu->span_count == WEIR_SCAN_SPANS)
            return 0;
        struct weir_scan_span *grown = reallocarray(cpu->spans, cpu->span_count + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        cpu->spans = grown;
        memmove(grown + at + 1, grown + at, (cpu->span_count - at) * sizeof(*grown));
        grown[at++] = (struct weir_scan_span){opening, time_ns, time_ns};
        cpu->span_count++;
    }
    struct weir_scan_span *span = &cpu->spans[at - 1];
    if (time_ns < span->first_ns)
        span->first_ns = time_ns;
    if (time_ns > span->last_ns)
        span->last_ns = time_ns;
    return 0;
}

/* struct perf_record_event_update with a list of CPUs: u64 sort, u64 id, u16 0, u16 count, u16 per CPU. */
static int scan_update(struct weir_scan *scan, const struct weir_record_view *view)
{
    if (view->type != WEIR_RECORD_EVENT_UPDATE || view->bytes < 28 ||
        weir_load_u64(view->data + 8) != WEIR_EVENT_UPDATE_CPUS || weir_load_u16(view->data + 24) != 0)
        return 0;
    if (scan->types[WEIR_RECORD_FINISHED_INIT] == 0 && scan->samples == 0)
        return 0; /* the CPUs of an event's PMU */
    size_t count = weir_load_u16(view->data + 26);
    scan->cpu_changes++;
    weir_cpuset_fini(&scan->last_cpus);
    for (size_t i = 0; i < count && 30 + 2 * i <= view->bytes; i++) {
        int result = weir_cpuset_add(&scan->last_cpus, weir_load_u16(view->data + 28 + 2 * i));
        if (result < 0)
            return result;
    }
    return 0;
}

static int scan_cpu(struct weir_scan *scan, const struct scanned *record)
{
    uint32_t cpu = record->id.cpu;
    bool is_shed;
    uint64_t lost_samples = told_lost_samples(record, &is_shed);
    if (is_shed)
        lost_samples = 0;
    bool is_synthesized = record->view->type != PERF_RECORD_SAMPLE && record->id.time == 0;
    if (!(record->fields & PERF_SAMPLE_CPU) || cpu >= WEIR_CPU_LIMIT || (is_synthesized && lost_samples == 0))
        return 0;
    int result = reach((void **)&scan->cpus, sizeof(*scan->cpus), &scan->cpu_count, cpu + 1);
    if (result < 0)
        return result;
    struct weir_scan_cpu *counts = &scan->cpus[cpu];
    counts->lost_samples += lost_samples;
    if (is_synthesized)
        return 0;
    counts->records++;
    counts->samples += record->view->type == PERF_RECORD_SAMPLE;
    if (record->fields & PERF_SAMPLE_TIME) {
        if (counts->first_ns == 0 || record->id.time < counts->first_ns)
            counts->first_ns = record->id.time;
        if (record->id.time > counts->last_ns)
            counts->last_ns = record->id.time;
        bool in_order = record->event && !record->event->attr.write_backward;
        return in_order ? scan_span(counts, weir_scan_order_returns(&scan->order, record->id.id), record->id.time) : 0;
    }
    return 0;
}

static int scan_record(struct weir_scan *scan, struct weir_perf_input *input, const struct weir_record_view *view)
{
    int result = reach((void **)&scan->events, sizeof(*scan->events), &scan->event_count, input->events.count);
    if (result < 0)
        return result;
    struct scanned record = {
        .view = view,
        .event = weir_input_event_of(&input->events, view),
        .body_bytes = view->bytes,
    };
    record.counts = record.event ? &scan->events[record.event - input->events.list] : NULL;
    bool is_side_record = view->type < WEIR_RECORD_ATTR && view->type != PERF_RECORD_SAMPLE;
    const struct weir_input_event *layout_of = record.event;
    if (!layout_of && input->events.count > 0)
        layout_of = &input->events.list[0];
    if (is_side_record && layout_of && weir_sample_id_parse(&record.id, &layout_of->layout, view->data, view->bytes)) {
        record.body_bytes -= layout_of->layout.trailer_bytes;
        record.fields = layout_of->attr.sample_type;
    }
    scan->records++;
    scan->bytes += view->bytes;
    check_shape(scan, &record);
    if (view->type == PERF_RECORD_SAMPLE)
        scan_sample(scan, input, &record);
    else
        scan_other(scan, input, &record);
    scan_time(scan, &record);
    result = scan_order(scan, input, &record);
    if (result == 0)
        result = scan_update(scan, view);
    if (result == 0)
        result = weir_scan_aux_note(&scan->aux, view, input->stream.source == &input->source);
    if (result == 0 && input->is_pipe)
        result = weir_stream_cuts_note(&scan->cuts, view);
    if (result == 0 && view->type == WEIR_RECORD_EVENT_TYPE)
        result = weir_ledger_reader_take(&scan->ledgers, view->data, view->bytes);
    if (result == 0)
        result = scan_return(scan, input, &record);
    return result < 0 ? result : scan_cpu(scan, &record);
}

/* ---- all of them ---- */

/* Whether the record is the header of a sample whose blocks behind it the disk has refused. */
static bool is_torn(const struct weir_record_view *record)
{
    const size_t header_bytes = sizeof(struct perf_event_header);
    return record->type == PERF_RECORD_SAMPLE &&
           weir_is_zero(record->data + header_bytes, record->bytes - header_bytes);
}

static bool is_nonsense(const struct weir_record_view *record, struct weir_error *err)
{
    const struct weir_record_schema *schema = weir_record_schema(record->type);
    if (schema && record->bytes >= schema->least_bytes && !is_torn(record))
        return false;
    weir_error_set(err, -EBADMSG, "%s: record at %#" PRIx64 ": type %u, size %u is none", record->path, record->offset,
                   record->type, record->bytes);
    return true;
}

/* What follows the record, and was not taken with it, ends behind the data, or the file. Who reads on is told so. */
static bool is_cut_behind(const struct weir_perf_input *input)
{
    return input->stream.payload_bytes > weir_record_stream_room(&input->stream);
}

/* One file. *good_end: where whole records end in it. 0 or -errno; damage goes to *end. */
static int scan_file(struct weir_scan *scan, struct weir_perf_input *input, bool stop_at_nonsense, uint64_t *good_end,
                     struct weir_error *end)
{
    struct weir_record_view record;
    uint64_t last_start = input->stream.offset, last_end = last_start;       /* of records that are not compressed */
    uint64_t records_before = scan->records, samples_before = scan->samples; /* before the last of these */
    bool is_nonsensical = false;
    int result = 0, next = 1;
    while (result == 0 && !is_nonsensical && (next = weir_perf_input_next_here(input, &record, end)) == 1) {
        if (input->stream.expanded_bytes > scan->expanded_max)
            scan->expanded_max = input->stream.expanded_bytes;
        is_nonsensical = stop_at_nonsense && is_nonsense(&record, end);
        bool is_whole = !is_nonsensical && !is_cut_behind(input);
        if (!record.is_expanded) {
            last_start = record.offset;
            last_end = is_whole ? last_start + record.bytes + record.payload_bytes : last_start;
            records_before = scan->records;
            samples_before = scan->samples;
        }
        if (is_whole)
            result = scan_record(scan, input, &record);
    }
    /* What is wrong may be inside of a compressed record: then that is not whole, nor is what came out of it. */
    bool is_inside = end->code < 0 && input->stream.is_expanding;
    *good_end = is_inside ? last_start : last_end;
    scan->cut_records += is_inside ? scan->records - records_before : 0;
    scan->cut_samples += is_inside ? scan->samples - samples_before : 0;
    bool is_damage = end->code == -EBADMSG || end->code == -E2BIG || end->code == -EFBIG;
    return next < 0 && !is_damage ? next : result;
}

static int add_part(struct weir_scan *scan, const struct weir_perf_input *input)
{
    int result = reach((void **)&scan->parts, sizeof(*scan->parts), &scan->part_count, scan->part_count + 1);
    if (result == 0)
        scan->parts[scan->part_count - 1].file_bytes = input->part.file_bytes;
    return result;
}

int weir_scan_run(struct weir_scan *scan, struct weir_perf_input *input, bool stop_at_nonsense, struct weir_error *err)
{
    struct weir_error end = {0};
    *scan = (struct weir_scan){0};
    int result = reach((void **)&scan->events, sizeof(*scan->events), &scan->event_count, input->events.count);
    if (result == 0)
        result = scan_file(scan, input, stop_at_nonsense, &scan->good_end, &end);
    scan->end = end;
    while (result == 0 && (result = weir_perf_input_next_part(input, &end)) > 0) {
        end = (struct weir_error){0};
        result = add_part(scan, input);
        if (result == 0)
            result = scan_file(scan, input, stop_at_nonsense, &scan->parts[scan->part_count - 1].good_end, &end);
        if (scan->end.code == 0)
            scan->end = end;
    }
    if (result == 0)
        return 0;
    if (end.code == result) {
        if (err)
            *err = end;
        return result;
    }
    return weir_error_set_errno(err, result, "cannot read %s", input->source.path);
}

void weir_scan_fini(struct weir_scan *scan)
{
    for (size_t cpu = 0; cpu < scan->cpu_count; cpu++)
        free(scan->cpus[cpu].spans);
    free(scan->events);
    free(scan->cpus);
    free(scan->parts);
    weir_cpuset_fini(&scan->last_cpus);
    weir_scan_order_fini(&scan->order);
    weir_scan_aux_fini(&scan->aux);
    weir_stream_cuts_fini(&scan->cuts);
    weir_ledger_reader_fini(&scan->ledgers);
    scan->events = NULL;
    scan->cpus = NULL;
    scan->parts = NULL;
    scan->cpu_count = scan->part_count = 0;
}

bool weir_scan_is_compressed(const struct weir_scan *scan)
{
    return scan->types[WEIR_RECORD_COMPRESSED] + scan->types[WEIR_RECORD_COMPRESSED2] > 0;
}

size_t weir_scan_gaps(const struct weir_scan *scan, size_t cpu)
{
    return scan->cpu_changes > 0 && scan->cpus[cpu].span_count > 0 ? scan->cpus[cpu].span_count - 1 : 0;
}

bool weir_scan_is_gone_at_end(const struct weir_scan *scan, size_t cpu)
{
    return scan->cpu_changes > 0 && !weir_cpuset_has(&scan->last_cpus, (unsigned)cpu);
}
