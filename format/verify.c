/*
 * Checks the rules of docs/format.md and format/scan.h on a recording. One thread.
 *
 * Balance: LOST records are the losses that the kernel could report in the ring when there was room again. LOST_SAMPLES
 * are the kernel's own counts, read at the end. So if the kernel counts (PERF_FORMAT_LOST), LOST may not exceed
 * LOST_SAMPLES.
 */
#include "format/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/feature_text.h"
#include "format/perf_input_trace.h"
#include "format/scan.h"
#include "format/text_out.h"

#define LINE_BYTES 1024
#define NS_PER_S   1e9

enum verdict {
    VERDICT_OK,
    VERDICT_FAIL,
    VERDICT_NOTE
};

struct verdicts {
    struct weir_buf *out;
    bool json;
    unsigned said;
    unsigned failures;
};

__attribute__((format(printf, 4, 0))) static void append_finding(struct verdicts *verdicts, enum verdict verdict,
                                                                 const char *rule, const char *format, va_list args)
{
    static const char *const words[] = {[VERDICT_OK] = "ok", [VERDICT_FAIL] = "FAIL", [VERDICT_NOTE] = "note"};
    static const char *const members[] = {[VERDICT_OK] = "ok", [VERDICT_FAIL] = "fail", [VERDICT_NOTE] = "note"};
    char line[LINE_BYTES];
    vsnprintf(line, sizeof(line), format, args);
    bool is_first = verdicts->said++ == 0;
    verdicts->failures += verdict == VERDICT_FAIL;
    if (!verdicts->json) {
        weir_buf_printf(verdicts->out, "%-5s%-12s%s\n", words[verdict], rule, line);
        return;
    }
    weir_buf_printf(verdicts->out, "%s{\"verdict\":\"%s\",\"rule\":\"%s\",\"finding\":", is_first ? "" : ",",
                    members[verdict], rule);
    weir_text_append_json_string(verdicts->out, line);
    weir_buf_printf(verdicts->out, "}");
}

__attribute__((format(printf, 4, 5))) static void say(struct verdicts *verdicts, bool is_kept, const char *rule,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append_finding(verdicts, is_kept ? VERDICT_OK : VERDICT_FAIL, rule, format, args);
    va_end(args);
}

__attribute__((format(printf, 3, 4))) static void note(struct verdicts *verdicts, const char *rule, const char *format,
                                                       ...)
{
    va_list args;
    va_start(args, format);
    append_finding(verdicts, VERDICT_NOTE, rule, format, args);
    va_end(args);
}

static void say_problem(struct verdicts *verdicts, const char *rule, const struct weir_scan_problem *problem,
                        const char *good, const char *bad)
{
    if (problem->count == 0)
        say(verdicts, true, rule, "%s", good);
    else
        say(verdicts, false, rule, "%" PRIu64 " %s, the first at %#" PRIx64, problem->count, bad,
            problem->first_offset);
}

static void check_boundaries(struct verdicts *verdicts, const struct weir_scan *scan)
{
    if (scan->end.code < 0)
        say(verdicts, false, "boundaries", "%s", scan->end.what);
    else
        say(verdicts, true, "boundaries", "%" PRIu64 " records, all whole, up to the end of the data", scan->records);
}

static void check_finished(struct verdicts *verdicts, const struct weir_perf_input *input)
{
    if (input->is_unfinished)
        say(verdicts, false, "finished", "the recorder did not finish it%s",
            input->is_foreign ? "" : "; weir recover completes it");
    else
        say(verdicts, true, "finished", "%s",
            input->is_pipe ? "a stream, which needs no end mark" : "the header says where the data ends");
}

static void skip_lists(struct weir_cursor *cursor)
{
    uint32_t count = weir_cursor_u32(cursor);
    for (uint32_t i = 0; i < count && !cursor->failed; i++)
        weir_cursor_string(cursor);
}

/*
 * Whether CPU_TOPOLOGY has the ids of all CPUs, whose number is in NRCPUS. Those of older perf have none, or none of
 * dies; in a stream zeros may follow. 1, 0, or -errno of reading NRCPUS with err.
 */
static int has_all_ids(const struct weir_perf_input *input, const struct weir_buf *topology, struct weir_error *err)
{
    struct weir_buf counts = WEIR_BUF_INIT;
    int found = weir_perf_input_feature(input, WEIR_FEATURE_NRCPUS, &counts, err);
    uint64_t cpus = found == 1 && counts.used >= sizeof(uint32_t) ? weir_load_u32(counts.data) : 0;
    weir_buf_fini(&counts);
    if (found <= 0)
        return found < 0 ? found : 1;
    struct weir_cursor cursor = {.data = topology->data, .bytes = topology->used};
    size_t zeros = input->is_pipe ? sizeof(uint64_t) - 1 : 0;
    skip_lists(&cursor); /* packages */
    skip_lists(&cursor); /* cores */
    if (cursor.bytes > zeros)
        weir_cursor_take(&cursor, cpus * 2 * sizeof(uint32_t));
    if (cursor.bytes > zeros) {
        skip_lists(&cursor); /* dies */
        weir_cursor_take(&cursor, cpus * sizeof(uint32_t));
    }
    return !cursor.failed;
}

/* A feature that is there can be read to its end. 1; 0: it is not there; -EBADMSG, -EFBIG, -ENOMEM or -errno of read(2)
 * with err. */
static int check_feature(const struct weir_perf_input *input, unsigned bit, struct weir_error *err)
{
    struct weir_buf payload = WEIR_BUF_INIT, text = WEIR_BUF_INIT;
    int result = weir_perf_input_feature(input, bit, &payload, err);
    int is_whole = result == 1 ? weir_feature_text_append(bit, payload.data, payload.used, &text) : 1;
    if (result == 1 && is_whole && bit == WEIR_FEATURE_CPU_TOPOLOGY)
        is_whole = has_all_ids(input, &payload, err);
    if (is_whole <= 0)
        result = is_whole < 0
                     ? is_whole
                     : weir_error_set(err, -EBADMSG, "%s ends before what it says is in it", weir_feature_name(bit));
    if (weir_buf_error(&text) < 0)
        result = weir_error_set_errno(err, -ENOMEM, "cannot verify %s", input->source.path);
    weir_buf_fini(&payload);
    weir_buf_fini(&text);
    return result;
}

static bool is_overlap(const struct weir_perf_section *a, const struct weir_perf_section *b)
{
    return a->size > 0 && b->size > 0 && a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

/* Each feature has bytes of its own, or one is not where it was written. All are inside the file. 0, or -EBADMSG with
 * err. */
static int check_places(const struct weir_perf_input *input, unsigned count, struct weir_error *err)
{
    const struct weir_perf_section data = {
        .offset = input->header.data.offset,
        .size = input->header.data.size + count * sizeof(struct weir_perf_section), /* and their table */
    };
    for (unsigned bit = 0; !input->is_pipe && bit < WEIR_FEATURE_BITS; bit++) {
        const struct weir_perf_section *section = &input->sections[bit];
        if (!weir_perf_input_has_feature(input, bit))
            continue;
        if (!input->has_early_features && is_overlap(section, &data))
            return weir_error_set(err, -EBADMSG, "feature %u at %#" PRIx64 " is inside the data", bit, section->offset);
        for (unsigned other = 0; other < bit; other++) {
            if (weir_perf_input_has_feature(input, other) && is_overlap(section, &input->sections[other]))
                return weir_error_set(err, -EBADMSG, "features %u and %u are in the same bytes at %#" PRIx64, other,
                                      bit, weir_max_u64(section->offset, input->sections[other].offset));
        }
    }
    return 0;
}

static void check_features(struct verdicts *verdicts, struct weir_perf_input *input, const struct weir_scan *scan)
{
    unsigned count = 0;
    struct weir_error err = {0};
    struct weir_trace *trace = NULL;
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS && err.code == 0; bit++)
        count += check_feature(input, bit, &err) == 1;
    if (err.code == 0)
        check_places(input, count, &err);
    if (err.code == 0)
        weir_perf_input_trace(input, &trace, &err);
    weir_trace_free(trace);
    if (err.code == -ENOMEM)
        weir_buf_fail(verdicts->out, err.code);
    bool needs_formats = false;
    for (size_t i = 0; i < input->events.count; i++)
        needs_formats |= input->events.list[i].attr.type == PERF_TYPE_TRACEPOINT;
    if (err.code < 0)
        say(verdicts, false, "features", "%s", err.what);
    else if (input->has_early_features && !input->is_unfinished)
        say(verdicts, false, "features",
            "some are only in the copy in the head; weir recover writes them where perf looks");
    else if (needs_formats && !weir_perf_input_has_feature(input, WEIR_FEATURE_TRACING_DATA))
        say(verdicts, false, "features", "tracepoints, but no feature TRACING_DATA: perf refuses the file");
    else if (weir_scan_is_compressed(scan) && !weir_perf_input_has_feature(input, WEIR_FEATURE_COMPRESSED))
        say(verdicts, false, "features", "COMPRESSED records, but no feature COMPRESSED: perf cannot read them");
    else
        say(verdicts, true, "features", "%u, all inside the file", count);
}

/* One event of EVENT_DESC, which has to be the attr and the ids of the head. Returns what is behind it; NULL: it
 * differs. */
static const uint8_t *match_description(const struct weir_input_event *event, const uint8_t *at, const uint8_t *end,
                                        size_t attr_bytes)
{
    struct perf_event_attr attr = {0};
    if ((size_t)(end - at) < attr_bytes + 2 * sizeof(uint32_t))
        return NULL;
    memcpy(&attr, at, weir_min_u64(attr_bytes, sizeof(attr)));
    attr.size = event->attr.size;
    uint64_t id_bytes = weir_load_u32(at + attr_bytes) * sizeof(uint64_t);
    uint64_t name_bytes = weir_load_u32(at + attr_bytes + sizeof(uint32_t));
    at += attr_bytes + 2 * sizeof(uint32_t);
    bool is_same = memcmp(&attr, &event->attr, sizeof(attr)) == 0 && id_bytes == event->id_count * sizeof(uint64_t) &&
                   name_bytes + id_bytes <= (uint64_t)(end - at) &&
                   (id_bytes == 0 || memcmp(at + name_bytes, event->ids, id_bytes) == 0);
    return is_same ? at + name_bytes + id_bytes : NULL;
}

/* Some consumers take attrs and ids from EVENT_DESC, others from the head. */
static void check_descriptions(struct verdicts *verdicts, const struct weir_perf_input *input)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    int found = input->is_pipe ? 0 : weir_perf_input_feature(input, WEIR_FEATURE_EVENT_DESC, &payload, NULL);
    if (found == -ENOMEM)
        weir_buf_fail(verdicts->out, found);
    if (found == 1 && payload.used < 2 * sizeof(uint32_t))
        say(verdicts, false, "events", "EVENT_DESC ends before the first event");
    if (found != 1 || payload.used < 2 * sizeof(uint32_t)) {
        weir_buf_fini(&payload);
        return;
    }
    size_t count = weir_load_u32(payload.data), attr_bytes = weir_load_u32(payload.data + sizeof(uint32_t));
    const uint8_t *at = payload.data + 2 * sizeof(uint32_t), *end = payload.data + payload.used;
    size_t event = 0;
    for (; at && event < count && event < input->events.count; event++)
        at = match_description(&input->events.list[event], at, end, attr_bytes);
    if (!at)
        say(verdicts, false, "events", "EVENT_DESC has another attr or other ids of event %zu than the head",
            event - 1);
    else if (count != input->events.count)
        say(verdicts, false, "events", "%zu in EVENT_DESC, %zu in the head", count, input->events.count);
    else
        say(verdicts, true, "events", "EVENT_DESC and the head agree on %zu", count);
    weir_buf_fini(&payload);
}

static void check_rounds(struct verdicts *verdicts, const struct weir_scan *scan)
{
    uint64_t rounds = scan->types[WEIR_RECORD_FINISHED_ROUND];
    if (scan->late_record.count > 0 && scan->clock_step.count > 0) /* which of them are late without it is not known */
        say(verdicts, true, "rounds",
            "%" PRIu64 ", %" PRIu64 " records are older than they allow: the clock of samples was set back", rounds,
            scan->late_record.count);
    else if (scan->late_record.count > 0)
        say(verdicts, false, "rounds",
            "%" PRIu64 " records are older than the rounds before them allow, the first at %#" PRIx64,
            scan->late_record.count, scan->late_record.first_offset);
    else
        say(verdicts, true, "rounds", "%" PRIu64 ", no record is older than they allow", rounds);
}

static void check_balance(struct verdicts *verdicts, const struct weir_perf_input *input, const struct weir_scan *scan)
{
    bool is_counted = input->events.count > 0;
    for (size_t i = 0; i < input->events.count; i++)
        is_counted &= !!(input->events.list[i].attr.read_format & PERF_FORMAT_LOST);
    bool is_kept = !is_counted || scan->lost <= scan->lost_samples;
    say(verdicts, is_kept, "balance", "%" PRIu64 " lost by LOST_SAMPLES, %" PRIu64 " by LOST%s", scan->lost_samples,
        scan->lost, is_counted ? "" : " (the kernel did not count)");
}

/* The stretches of each area. Whether an area began anew because its CPU was away, the recording says elsewhere. */
static void check_areas(struct verdicts *verdicts, const struct weir_scan *scan)
{
    const struct weir_scan_aux *aux = &scan->aux;
    const struct weir_scan_problem none = {0};
    const struct {
        const struct weir_scan_problem *problem;
        const char *what;
    } problems[] = {
        {&aux->packed, "AUXTRACE records came out of COMPRESSED ones, where their bytes cannot be"},
        {&aux->stranger, "stretches are of another task or CPU than those before of their area: perf refuses the file"},
        {&aux->odd, "stretches are no multiple of 8 bytes long"},
        {aux->is_snapshot ? &none : &aux->backward, "stretches begin before the one before of their area ends"},
        {aux->is_snapshot || scan->cpu_changes > 0 ? &none : &aux->restart,
         "stretches begin anew, though no CPU came back"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(problems); i++) {
        if (problems[i].problem->count == 0)
            continue;
        say_problem(verdicts, "areas", problems[i].problem, "", problems[i].what);
        return;
    }
    if (aux->stretches == 0) {
        say(verdicts, true, "areas", "no AUXTRACE records");
        return;
    }
    say(verdicts, true, "areas", "%" PRIu64 " stretches of %" PRIu64 " AUX areas, %" PRIu64 " bytes%s", aux->stretches,
        aux->area_count, aux->bytes, aux->is_snapshot ? " of snapshots" : ", one behind the other");
}

/* A decoder with an index looks at nothing else. A decoder without an index may end before the last stretch comes. perf
 * writes an index into single files. */
static void check_aux_index(struct verdicts *verdicts, const struct weir_perf_input *input,
                            const struct weir_scan_aux *aux)
{
    char what[LINE_BYTES];
    struct weir_buf payload = WEIR_BUF_INIT;
    if (input->is_pipe || input->directory[0] || aux->is_index_full)
        return;
    int found = weir_perf_input_feature(input, WEIR_FEATURE_AUXTRACE, &payload, NULL);
    if (found == -ENOMEM)
        weir_buf_fail(verdicts->out, found);
    else if (found == 1 && !weir_scan_aux_match_index(aux, &payload, what, sizeof(what)))
        say(verdicts, false, "index", "%s", what);
    else if (found == 1)
        say(verdicts, true, "index", "the feature lists exactly the %zu AUXTRACE records", aux->index_count);
    else if (found == 0 && aux->index_count > 0)
        say(verdicts, false, "index", "AUXTRACE records, but no feature AUXTRACE: perf's decoders may miss some%s",
            input->is_foreign ? "" : "; weir recover adds it");
    weir_buf_fini(&payload);
}

/* The bytes of AUX areas that are not in the file. */
static void append_aux_notes(struct verdicts *verdicts, const struct weir_scan_aux *aux)
{
    if (aux->truncated + aux->partial + aux->collisions > 0)
        note(verdicts, "aux",
             "%" PRIu64 " of %" PRIu64 " AUX records are truncated, %" PRIu64 " partial, %" PRIu64 " collided",
             aux->truncated, aux->told, aux->partial, aux->collisions);
    for (size_t i = 0; !aux->is_snapshot && i < aux->area_room; i++) {
        if (aux->areas[i].gap_bytes > 0)
            note(verdicts, "aux", "area %zu lacks %" PRIu64 " bytes between its stretches", i, aux->areas[i].gap_bytes);
    }
    if (!aux->is_snapshot && aux->stretches > 0 && aux->told_bytes > aux->bytes)
        note(verdicts, "aux", "AUX records tell of %" PRIu64 " bytes, AUXTRACE records have %" PRIu64, aux->told_bytes,
             aux->bytes);
    if (aux->far.count > 0)
        note(verdicts, "aux", "%" PRIu64 " stretches are of areas from %u on: not compared", aux->far.count,
             WEIR_SCAN_AREAS);
}

/* When no record of a CPU could come. */
static void append_gaps(struct verdicts *verdicts, const struct weir_scan *scan, size_t cpu)
{
    const struct weir_scan_cpu *counts = &scan->cpus[cpu];
    bool is_trace_only = scan->samples == 0 && scan->aux.stretches > 0;
    if (counts->records == 0)
        note(verdicts, "gaps", "CPU %zu has no record", cpu);
    else if (counts->samples == 0 && !is_trace_only)
        note(verdicts, "gaps", "CPU %zu has no sample", cpu);
    for (size_t gap = 0; gap < weir_scan_gaps(scan, cpu); gap++)
        note(verdicts, "gaps", "CPU %zu was offline between %.6f s and %.6f s", cpu,
             (double)counts->spans[gap].last_ns / NS_PER_S, (double)counts->spans[gap + 1].first_ns / NS_PER_S);
    if (weir_scan_is_gone_at_end(scan, cpu) && counts->records > 0)
        note(verdicts, "gaps", "CPU %zu was offline after %.6f s", cpu, (double)counts->last_ns / NS_PER_S);
}

/* Findings that may be right, but that the user should know. */
static void append_notes(struct verdicts *verdicts, const struct weir_perf_input *input, const struct weir_scan *scan)
{
    for (size_t i = 0; i < input->events.count && i < scan->event_count; i++) {
        const struct weir_scan_event *event = &scan->events[i];
        if (event->throttles > 0)
            note(verdicts, "gaps", "event %zu was throttled %" PRIu64 " times, and let go on %" PRIu64 " times", i,
                 event->throttles, event->unthrottles);
    }
    for (size_t cpu = 0; cpu < scan->cpu_count; cpu++)
        append_gaps(verdicts, scan, cpu);
    append_aux_notes(verdicts, &scan->aux);
    if (scan->clock_step.count > 0)
        note(verdicts, "clock",
             "the clock of samples was set back, by %.9f s at most, the first time before "
             "the record at %#" PRIx64 ": consumers that sort by time mix later records with earlier "
             "ones",
             (double)scan->clock_step_ns / NS_PER_S, scan->clock_step.first_offset);
    if (scan->order.steps_back > 0)
        note(verdicts, "order",
             "%" PRIu64 " records are older than the one before, by %" PRIu64
             " ns at most: interrupted while they were written",
             scan->order.steps_back, scan->order.longest_ns);
    if (scan->odd_size.count > 0)
        note(verdicts, "sizes", "%" PRIu64 " records are no multiple of 8 bytes long", scan->odd_size.count);
}

static int verify(const char *path, const struct weir_input_gate *gate, bool json, struct weir_buf *out,
                  unsigned *failures, struct weir_error *err)
{
    struct weir_perf_input input;
    struct weir_scan scan;
    struct verdicts verdicts = {.out = out, .json = json};
    int result = weir_perf_input_open_gated(&input, path, gate, err);
    if (result < 0)
        return result;
    result = weir_scan_run(&scan, &input, false, err);
    if (result == 0) {
        check_boundaries(&verdicts, &scan);
        check_finished(&verdicts, &input);
        check_features(&verdicts, &input, &scan);
        say_problem(&verdicts, "types", &scan.unknown_type, "all known to perf",
                    "records of unknown types: perf before 6.16 refuses them, and later ones skip them");
        say_problem(&verdicts, "shapes", &scan.short_record, "every field inside its record",
                    "records are too short for their fields");
        say_problem(&verdicts, "ids", &scan.unknown_id, "every sample is of an event in the header",
                    "samples are of no event in the header");
        say_problem(&verdicts, "raw", &scan.wrong_raw, "samples of tracepoints say the ids of their events",
                    "samples say another tracepoint than their event");
        say_problem(&verdicts, "order", &scan.disorder, "records of each event and CPU come as they were made",
                    "records are older than the one before of their event and CPU");
        check_descriptions(&verdicts, &input);
        check_rounds(&verdicts, &scan);
        check_balance(&verdicts, &input, &scan);
        if (weir_scan_has_aux(&scan.aux) || weir_perf_input_has_feature(&input, WEIR_FEATURE_AUXTRACE)) {
            check_areas(&verdicts, &scan);
            check_aux_index(&verdicts, &input, &scan.aux);
        }
        append_notes(&verdicts, &input, &scan);
        result = weir_buf_error(out);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot verify %s", path);
    }
    *failures = verdicts.failures;
    weir_scan_fini(&scan);
    weir_perf_input_close(&input);
    return result;
}

int weir_verify_append(const char *path, const struct weir_input_gate *gate, struct weir_buf *out, unsigned *failures,
                       struct weir_error *err)
{
    return verify(path, gate, false, out, failures, err);
}

int weir_verify_append_json(const char *path, const struct weir_input_gate *gate, struct weir_buf *out,
                            unsigned *failures, struct weir_error *err)
{
    *failures = 0;
    weir_buf_printf(out, "{\"findings\":[");
    int result = verify(path, gate, true, out, failures, err);
    weir_buf_printf(out, "],\"failures\":%u}\n", *failures);
    return result;
}
