/* Header, events, features and counts as text and as JSON. One thread. */
#include "format/info.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/attr_text.h"
#include "format/feature_text.h"
#include "format/perf_input_trace.h"
#include "format/scan.h"
#include "format/text_out.h"

#define NS_PER_S 1e9

static const char *form_of(const struct weir_perf_input *input)
{
    return input->is_pipe ? "stream" : input->directory[0] ? "directory" : "file";
}

/* ---- text ---- */

static void append_head(const struct weir_perf_input *input, struct weir_buf *out)
{
    const struct weir_perf_header *header = &input->header;
    weir_buf_printf(out, "recording       ");
    weir_text_append(out, input->source.path, strlen(input->source.path));
    weir_buf_printf(out, " (%s", form_of(input));
    if (input->source.is_file)
        weir_buf_printf(out, ", %" PRIu64 " bytes", input->source.file_bytes);
    weir_buf_printf(out, ")\n");
    if (!input->is_pipe)
        weir_buf_printf(out,
                        "header          attrs %#" PRIx64 " + %#" PRIx64 ", %" PRIu64 " bytes each; data %#" PRIx64
                        " + %#" PRIx64 "\n",
                        header->attrs.offset, header->attrs.size, header->attr_size, header->data.offset,
                        header->data.size);
    if (input->is_unfinished)
        weir_buf_printf(out, "state           unfinished%s\n",
                        input->is_foreign ? "" : ": weir recover makes it whole");
    if (input->is_foreign)
        weir_buf_printf(out, "byte order      big endian\n");
}

/* LOST_SAMPLES records have the kernel's count. LOST records have the same losses, where they happened, but for those
 * that no later record came after; a kernel without a count has these alone. */
static uint64_t total_lost(uint64_t by_lost_samples, uint64_t by_lost)
{
    return by_lost_samples > by_lost ? by_lost_samples : by_lost;
}

static void append_event(const struct weir_input_event *event, const struct weir_scan_event *counts,
                         struct weir_buf *out)
{
    const struct perf_event_attr *attr = &event->attr;
    weir_buf_printf(out, "event           ");
    weir_text_append(out, event->name, strlen(event->name));
    weir_buf_printf(out, ": type %u config %#" PRIx64 ", %s %" PRIu64 ", %zu ids, sample_type ", attr->type,
                    (uint64_t)attr->config, attr->freq ? "frequency" : "period", (uint64_t)attr->sample_period,
                    event->id_count);
    weir_attr_append_sample_type(out, attr->sample_type);
    weir_buf_printf(out, ", read_format ");
    weir_attr_append_read_format(out, attr->read_format);
    weir_buf_printf(out, "\n                %" PRIu64 " samples", counts->samples);
    if (counts->merged > 0)
        weir_buf_printf(out, " for %" PRIu64, counts->samples + counts->merged);
    weir_buf_printf(out, ", %" PRIu64 " lost, shed %" PRIu64 ", throttled %" PRIu64 " times\n",
                    total_lost(counts->lost_samples, counts->lost), counts->shed, counts->throttles);
    weir_buf_printf(out, "                attr ");
    weir_attr_append_text(out, attr);
    if (event->unknown_bytes > 0)
        weir_buf_printf(out, ", %u unknown bytes", event->unknown_bytes);
    weir_buf_append_u8(out, '\n');
}

static void append_features(const struct weir_perf_input *input, struct weir_buf *out)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        if (!weir_perf_input_has_feature(input, bit))
            continue;
        struct weir_error err = {0};
        weir_buf_reset(&payload);
        if (weir_feature_name(bit))
            weir_buf_printf(out, "%-15s ", weir_feature_name(bit));
        else
            weir_buf_printf(out, "feature %-7u ", bit);
        int found = weir_perf_input_feature(input, bit, &payload, &err);
        if (found == -ENOMEM)
            weir_buf_fail(out, found);
        else if (found == 0)
            weir_buf_printf(out, "unknown");
        else if (found == 1)
            weir_feature_text_append(bit, payload.data, payload.used, out);
        else
            weir_buf_printf(out, "damaged: %s", err.what);
        weir_buf_append_u8(out, '\n');
    }
    weir_buf_fini(&payload);
}

static void append_gaps(const struct weir_scan *scan, size_t cpu, struct weir_buf *out)
{
    const struct weir_scan_cpu *counts = &scan->cpus[cpu];
    for (size_t gap = 0; gap < weir_scan_gaps(scan, cpu); gap++)
        weir_buf_printf(out, "                offline between %.6f s and %.6f s\n",
                        (double)counts->spans[gap].last_ns / NS_PER_S,
                        (double)counts->spans[gap + 1].first_ns / NS_PER_S);
    if (weir_scan_is_gone_at_end(scan, cpu))
        weir_buf_printf(out, "                offline after %.6f s\n", (double)counts->last_ns / NS_PER_S);
}

static void append_cpu(const struct weir_scan_cpu *counts, size_t cpu, struct weir_buf *out)
{
    double span_s = (double)(counts->last_ns - counts->first_ns) / NS_PER_S;
    weir_buf_printf(out,
                    "CPU %-11zu %" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64 " records, %.6f s to %.6f s: %.3f s",
                    cpu, counts->samples, counts->lost_samples, counts->records, (double)counts->first_ns / NS_PER_S,
                    (double)counts->last_ns / NS_PER_S, span_s);
    if (span_s >= 0.001) /* else a rate says nothing */
        weir_buf_printf(out, ", %.0f samples/s", (double)counts->samples / span_s);
    weir_buf_append_u8(out, '\n');
}

static void append_merged(const struct weir_merge *merge, const struct weir_scan *scan, struct weir_buf *out)
{
    if (merge->interval_ns == 0)
        return;
    weir_buf_printf(out,
                    "merged          these stand for %" PRIu64 ": equal samples of a %s, less than %.3f s apart, are "
                    "one\n",
                    scan->samples + scan->merged, merge->by_process ? "process" : "thread",
                    (double)merge->interval_ns / NS_PER_S);
}

static void append_counts(const struct weir_perf_input *input, const struct weir_scan *scan, struct weir_buf *out)
{
    weir_buf_printf(out, "records         %" PRIu64 " in %" PRIu64 " bytes\n", scan->records, scan->bytes);
    for (unsigned type = 0; type < WEIR_RECORD_TYPES; type++) {
        if (scan->types[type])
            weir_buf_printf(out, "                %10" PRIu64 " %s\n", scan->types[type],
                            weir_record_schema(type)->name);
    }
    if (scan->unknown_type.count)
        weir_buf_printf(out, "                %10" PRIu64 " of unknown type\n", scan->unknown_type.count);
    for (size_t cpu = 0; cpu < scan->cpu_count; cpu++) {
        if (!scan->cpus[cpu].records)
            continue;
        append_cpu(&scan->cpus[cpu], cpu, out);
        append_gaps(scan, cpu, out);
    }
    weir_buf_printf(out, "samples         %" PRIu64 ", %.6f s to %.6f s\n", scan->samples,
                    (double)scan->first_sample_ns / NS_PER_S, (double)scan->last_sample_ns / NS_PER_S);
    append_merged(&input->events.merge, scan, out);
    weir_buf_printf(out, "lost            %" PRIu64 " samples", total_lost(scan->lost_samples, scan->lost));
    if (scan->lost > 0)
        weir_buf_printf(out, "; LOST records mark where %" PRIu64 " of them were lost", scan->lost);
    weir_buf_append_u8(out, '\n');
    if (scan->lost_unnamed > 0)
        weir_buf_printf(out, "                %" PRIu64 " side records\n", scan->lost_unnamed);
    weir_buf_printf(out, "shed            %" PRIu64 ", while the output was behind\n", scan->shed);
}

static const char *aux_type_name(uint32_t type)
{
    static const char *const names[] = {
        [WEIR_AUX_INTEL_PT] = "intel_pt",
        [WEIR_AUX_INTEL_BTS] = "intel_bts",
        [WEIR_AUX_CS_ETM] = "cs_etm",
        [WEIR_AUX_ARM_SPE] = "arm_spe",
    };
    return type < WEIR_ARRAY_COUNT(names) && names[type] ? names[type] : "unknown";
}

static void append_aux(const struct weir_scan_aux *aux, struct weir_buf *out)
{
    if (!weir_scan_has_aux(aux))
        return;
    weir_buf_printf(
        out, "AUX             %s%s: %" PRIu64 " bytes of %" PRIu64 " areas in %" PRIu64 " AUXTRACE records\n",
        aux_type_name(aux->type), aux->is_snapshot ? ", snapshots" : "", aux->bytes, aux->area_count, aux->stretches);
    weir_buf_printf(out,
                    "                %" PRIu64 " AUX records of %" PRIu64 " bytes, %" PRIu64 " truncated, %" PRIu64
                    " partial, %" PRIu64 " collided\n",
                    aux->told, aux->told_bytes, aux->truncated, aux->partial, aux->collisions);
    if (aux->samples > 0)
        weir_buf_printf(out, "                %" PRIu64 " bytes in %" PRIu64 " samples\n", aux->sampled_bytes,
                        aux->samples);
}

static void append_text(const struct weir_perf_input *input, const struct weir_scan *scan, struct weir_buf *out)
{
    append_head(input, out);
    append_features(input, out);
    for (size_t i = 0; i < input->events.count && i < scan->event_count; i++)
        append_event(&input->events.list[i], &scan->events[i], out);
    append_counts(input, scan, out);
    append_aux(&scan->aux, out);
    weir_ledger_reader_append_text(&scan->ledgers, out);
}

/* ---- JSON ---- */

static void append_json_events(const struct weir_perf_input *input, const struct weir_scan *scan, struct weir_buf *out)
{
    weir_buf_printf(out, ",\n \"events\":[");
    for (size_t i = 0; i < input->events.count && i < scan->event_count; i++) {
        const struct weir_input_event *event = &input->events.list[i];
        weir_buf_printf(out, "%s\n  {\"name\":", i ? "," : "");
        weir_text_append_json(out, event->name, strlen(event->name));
        weir_buf_printf(out,
                        ",\"type\":%u,\"config\":%" PRIu64 ",\"sample_period\":%" PRIu64 ",\"freq\":%s"
                        ",\"sample_type\":%" PRIu64 ",\"read_format\":%" PRIu64
                        ",\"attr_size\":%u,\"flags\":\"%#" PRIx64 "\",\"config1\":%" PRIu64 ",\"config2\":%" PRIu64
                        ",\"config3\":%" PRIu64 ",\"config4\":%" PRIu64 ",\"aux_action\":%" PRIu32
                        ",\"unknown_attr_bytes\":%u,\"ids\":%zu,\"samples\":%" PRIu64 ",\"merged\":%" PRIu64
                        ",\"lost_samples\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"shed\":%" PRIu64 ",\"throttles\":%" PRIu64
                        "}",
                        event->attr.type, (uint64_t)event->attr.config, (uint64_t)event->attr.sample_period,
                        event->attr.freq ? "true" : "false", (uint64_t)event->attr.sample_type,
                        (uint64_t)event->attr.read_format, event->attr.size, weir_attr_flags(&event->attr),
                        (uint64_t)event->attr.config1, (uint64_t)event->attr.config2, (uint64_t)event->attr.config3,
                        (uint64_t)event->attr.config4, (uint32_t)event->attr.aux_action, event->unknown_bytes,
                        event->id_count, scan->events[i].samples, scan->events[i].merged, scan->events[i].lost_samples,
                        scan->events[i].lost, scan->events[i].shed, scan->events[i].throttles);
    }
    weir_buf_printf(out, "]");
}

static void append_json_features(const struct weir_perf_input *input, struct weir_buf *out)
{
    struct weir_buf payload = WEIR_BUF_INIT, text = WEIR_BUF_INIT;
    const char *between = "";
    weir_buf_printf(out, ",\n \"features\":{");
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        if (!weir_perf_input_has_feature(input, bit))
            continue;
        weir_buf_reset(&payload);
        weir_buf_reset(&text);
        weir_buf_printf(out, "%s\n  \"", between);
        if (weir_feature_name(bit))
            weir_buf_printf(out, "%s\":", weir_feature_name(bit));
        else
            weir_buf_printf(out, "%u\":", bit);
        int found = weir_perf_input_feature(input, bit, &payload, NULL);
        if (found == 1) {
            weir_feature_text_append(bit, payload.data, payload.used, &text);
            weir_text_append_json(out, text.data, text.used);
        } else {
            weir_buf_printf(out, "null");
        }
        if (found == -ENOMEM || weir_buf_error(&text) < 0)
            weir_buf_fail(out, -ENOMEM);
        between = ",";
    }
    weir_buf_printf(out, "}");
    weir_buf_fini(&payload);
    weir_buf_fini(&text);
}

static void append_json_gaps(const struct weir_scan *scan, size_t cpu, struct weir_buf *out)
{
    const struct weir_scan_span *spans = scan->cpus[cpu].spans;
    weir_buf_printf(out, ",\"offline\":[");
    for (size_t gap = 0; gap < weir_scan_gaps(scan, cpu); gap++)
        weir_buf_printf(out, "%s{\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 "}", gap ? "," : "", spans[gap].last_ns,
                        spans[gap + 1].first_ns);
    weir_buf_printf(out, "],\"offline_at_end\":%s}", weir_scan_is_gone_at_end(scan, cpu) ? "true" : "false");
}

static void append_json_counts(const struct weir_scan *scan, struct weir_buf *out)
{
    const char *between = "";
    weir_buf_printf(out, ",\n \"records\":%" PRIu64 ",\"record_bytes\":%" PRIu64 ",\"types\":{", scan->records,
                    scan->bytes);
    for (unsigned type = 0; type < WEIR_RECORD_TYPES; type++) {
        if (!scan->types[type])
            continue;
        weir_buf_printf(out, "%s\"%s\":%" PRIu64, between, weir_record_schema(type)->name, scan->types[type]);
        between = ",";
    }
    weir_buf_printf(out, "},\"unknown_types\":%" PRIu64 ",\n \"cpus\":[", scan->unknown_type.count);
    between = "";
    for (size_t cpu = 0; cpu < scan->cpu_count; cpu++) {
        if (!scan->cpus[cpu].records)
            continue;
        weir_buf_printf(out,
                        "%s\n  {\"cpu\":%zu,\"samples\":%" PRIu64 ",\"lost_samples\":%" PRIu64 ",\"records\":%" PRIu64
                        ",\"first_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64,
                        between, cpu, scan->cpus[cpu].samples, scan->cpus[cpu].lost_samples, scan->cpus[cpu].records,
                        scan->cpus[cpu].first_ns, scan->cpus[cpu].last_ns);
        append_json_gaps(scan, cpu, out);
        between = ",";
    }
    weir_buf_printf(out,
                    "],\n \"samples\":%" PRIu64 ",\"merged\":%" PRIu64 ",\"first_sample_ns\":%" PRIu64
                    ",\"last_sample_ns\":%" PRIu64 ",\"lost_samples\":%" PRIu64 ",\"lost\":%" PRIu64
                    ",\"lost_unnamed\":%" PRIu64 ",\"shed\":%" PRIu64,
                    scan->samples, scan->merged, scan->first_sample_ns, scan->last_sample_ns, scan->lost_samples,
                    scan->lost, scan->lost_unnamed, scan->shed);
}

static void append_json_aux(const struct weir_scan_aux *aux, struct weir_buf *out)
{
    if (!weir_scan_has_aux(aux))
        return;
    weir_buf_printf(out,
                    ",\n \"aux\":{\"type\":%" PRIu32 ",\"type_name\":\"%s\",\"snapshots\":%s,\"areas\":%" PRIu64
                    ",\"auxtrace_records\":%" PRIu64 ",\"auxtrace_bytes\":%" PRIu64 ",\"aux_records\":%" PRIu64
                    ",\"aux_bytes\":%" PRIu64 ",\"truncated\":%" PRIu64 ",\"partial\":%" PRIu64 ",\"collided\":%" PRIu64
                    ",\"samples\":%" PRIu64 ",\"sampled_bytes\":%" PRIu64 "}",
                    aux->type, aux_type_name(aux->type), aux->is_snapshot ? "true" : "false", aux->area_count,
                    aux->stretches, aux->bytes, aux->told, aux->told_bytes, aux->truncated, aux->partial,
                    aux->collisions, aux->samples, aux->sampled_bytes);
}

static void append_json(const struct weir_perf_input *input, const struct weir_scan *scan, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"path\":");
    weir_text_append_json(out, input->source.path, strlen(input->source.path));
    weir_buf_printf(out, ",\"form\":\"%s\",\"byte_order\":\"%s\",\"file_bytes\":%" PRIu64 ",\"unfinished\":%s",
                    form_of(input), input->is_foreign ? "big" : "little", input->source.file_bytes,
                    input->is_unfinished ? "true" : "false");
    if (!input->is_pipe)
        weir_buf_printf(out, ",\"data_offset\":%" PRIu64 ",\"data_size\":%" PRIu64, input->header.data.offset,
                        input->header.data.size);
    append_json_features(input, out);
    append_json_events(input, scan, out);
    append_json_counts(scan, out);
    append_json_aux(&scan->aux, out);
    weir_buf_printf(out, ",\n \"ledgers\":");
    weir_ledger_reader_append_json(&scan->ledgers, out);
    weir_buf_printf(out, ",\n \"error\":");
    if (scan->end.code < 0)
        weir_text_append_json(out, scan->end.what, strlen(scan->end.what));
    else
        weir_buf_printf(out, "null");
    weir_buf_printf(out, "}\n");
}

int weir_info_append(const char *path, const struct weir_input_gate *gate, bool json, struct weir_buf *out,
                     struct weir_error *err)
{
    struct weir_perf_input input;
    struct weir_scan scan;
    struct weir_trace *trace = NULL;
    int result = weir_perf_input_open_gated(&input, path, gate, err);
    if (result < 0)
        return result;
    result = weir_scan_run(&scan, &input, false, err);
    if (result == 0) {
        /* For names only: a damaged one costs these. */
        if (weir_perf_input_trace(&input, &trace, NULL) == -ENOMEM)
            weir_buf_fail(out, -ENOMEM);
        else if (json)
            append_json(&input, &scan, out);
        else
            append_text(&input, &scan, out);
        result = weir_buf_error(out);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot describe %s", path);
        else if (scan.end.code < 0) {
            result = scan.end.code;
            if (err)
                *err = scan.end;
        }
    }
    weir_trace_free(trace);
    weir_scan_fini(&scan);
    weir_perf_input_close(&input);
    return result;
}
