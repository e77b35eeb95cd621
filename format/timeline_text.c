#include "format/timeline_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "format/timeline_record.h"

#define FLUSH_BYTES (64u << 10)
#define MB          1e6
#define US_PER_MS   1e3

/* ---- a table ---- */

static void append_titles(struct weir_buf *out)
{
    weir_buf_printf(out, "%10s %8s %10s %10s %10s %10s %10s %8s %14s %8s %10s %9s %9s %6s\n", "time s", "length s",
                    "drained MB", "samples", "lost", "(waiting)", "shed", "side", "fullest ring", "waits", "written MB",
                    "mean ms", "max ms", "pool");
}

static void append_fullest(const struct weir_timeline_text *timeline, struct weir_buf *out)
{
    const struct weir_timeline_reader *fullest = &timeline->fullest;
    bool has_cpu = fullest->cpu_count == 1;
    unsigned number = has_cpu ? fullest->first_cpu : fullest->reader, percent = fullest->fullest_per_mille / 10u;
    char text[40] = "-";
    if (timeline->readers > 0)
        snprintf(text, sizeof(text), "%u%% %s %u", percent, has_cpu ? "CPU" : "reader", number);
    weir_buf_printf(out, " %14s", text);
}

static void append_row(const struct weir_timeline_text *timeline, struct weir_buf *out)
{
    const struct weir_timeline_interval *interval = &timeline->interval;
    const struct weir_timeline_reader *sum = &timeline->sum;
    weir_buf_printf(out, "%10.3f %8.3f %10.3f %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %8" PRIu64,
                    (double)(interval->begin_ns - timeline->first_ns) / WEIR_NS_PER_S,
                    (double)(interval->end_ns - interval->begin_ns) / WEIR_NS_PER_S, (double)sum->bytes / MB,
                    sum->samples, sum->lost_ring_full + interval->lost_write_failed, sum->lost_waiting, sum->shed,
                    sum->lost_side);
    append_fullest(timeline, out);
    weir_buf_printf(out, " %8" PRIu32 " %10.3f %9.3f %9.3f %5.1f%%\n", sum->waits, (double)interval->output_bytes / MB,
                    interval->latency_mean_us / US_PER_MS, interval->latency_max_us / US_PER_MS,
                    interval->pool_per_mille / 10.0);
}

static void add_to_row(struct weir_timeline_text *timeline, const struct weir_timeline_reader *reader)
{
    struct weir_timeline_reader *sum = &timeline->sum;
    sum->waits += reader->waits;
    sum->bytes += reader->bytes;
    sum->samples += reader->samples;
    sum->lost_ring_full += reader->lost_ring_full;
    sum->lost_waiting += reader->lost_waiting;
    sum->lost_side += reader->lost_side;
    sum->shed += reader->shed;
    if (timeline->readers == 0 || reader->fullest_per_mille > timeline->fullest.fullest_per_mille)
        timeline->fullest = *reader;
}

/* ---- JSON ---- */

static void append_json_reader(const struct weir_timeline_reader *reader, bool is_first, struct weir_buf *out)
{
    weir_buf_printf(out, "%s{\"reader\":%u,\"first_cpu\":", is_first ? "" : ",", reader->reader);
    if (reader->cpu_count > 0)
        weir_buf_printf(out, "%u", reader->first_cpu);
    else
        weir_buf_printf(out, "null");
    weir_buf_printf(out,
                    ",\"cpus\":%u,\"fullest_per_mille\":%u,\"wakeups\":%" PRIu32 ",\"waits\":%" PRIu32
                    ",\"bytes\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"lost_ring_full\":%" PRIu64
                    ",\"lost_waiting\":%" PRIu64 ",\"lost_side\":%" PRIu64 ",\"shed\":%" PRIu64 "}",
                    reader->cpu_count, reader->fullest_per_mille, reader->wakeups, reader->waits, reader->bytes,
                    reader->samples, reader->lost_ring_full, reader->lost_waiting, reader->lost_side, reader->shed);
}

static void append_json_interval(const struct weir_timeline_interval *interval, bool is_first, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "%s\n {\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"newest_sample_ns\":%" PRIu64
                    ",\"output_bytes\":%" PRIu64 ",\"lost_write_failed\":%" PRIu64 ",\"latency_mean_us\":%" PRIu32
                    ",\"latency_max_us\":%" PRIu32 ",\"pool_per_mille\":%" PRIu32 ",\"readers\":[",
                    is_first ? "[" : ",", interval->begin_ns, interval->end_ns, interval->newest_sample_ns,
                    interval->output_bytes, interval->lost_write_failed, interval->latency_mean_us,
                    interval->latency_max_us, interval->pool_per_mille);
}

/* ---- both ---- */

static void close_interval(struct weir_timeline_text *text, struct weir_buf *out)
{
    if (!text->is_open)
        return;
    text->is_open = false;
    if (text->json)
        weir_buf_printf(out, "]}");
    else
        append_row(text, out);
}

/* Whether the interval is the first of a recording: a continued file has several, perhaps of several boots. */
static bool begins_recording(const struct weir_timeline_text *text, const struct weir_timeline_interval *interval)
{
    return text->intervals == 0 || interval->begin_ns < text->interval.begin_ns;
}

static void open_interval(struct weir_timeline_text *text, const struct weir_timeline_interval *interval,
                          struct weir_buf *out)
{
    bool begins = begins_recording(text, interval);
    text->is_open = true;
    text->interval = *interval;
    text->interval.end_ns = weir_max_u64(interval->end_ns, interval->begin_ns);
    text->sum = text->fullest = (struct weir_timeline_reader){0};
    text->readers = 0;
    if (begins)
        text->first_ns = interval->begin_ns;
    if (text->json)
        append_json_interval(interval, text->intervals == 0, out);
    else if (begins)
        append_titles(out);
    text->intervals++;
}

bool weir_timeline_text_take(struct weir_timeline_text *text, const struct weir_record_view *record,
                             struct weir_buf *out)
{
    struct weir_timeline_view view;
    if (!weir_timeline_parse(record, &view))
        return false;
    if (!text->is_open || !view.interval.continues) {
        close_interval(text, out);
        open_interval(text, &view.interval, out);
    }
    for (size_t i = 0; i < view.reader_count; i++) {
        const struct weir_timeline_reader reader = weir_timeline_reader_at(&view, i);
        if (text->json)
            append_json_reader(&reader, text->readers == 0, out);
        else
            add_to_row(text, &reader);
        text->readers++;
    }
    return true;
}

void weir_timeline_text_end(struct weir_timeline_text *text, struct weir_buf *out)
{
    close_interval(text, out);
    if (text->json)
        weir_buf_printf(out, "%s]\n", text->intervals == 0 ? "[" : "");
}

/* ---- weir info --timeline ---- */

/* Writes the text if there are `least` bytes of it. */
static int flush(const struct weir_timeline_options *options, struct weir_buf *out, size_t least,
                 struct weir_error *err)
{
    int result = weir_buf_error(out);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot show the timeline of %s", options->path);
    if (out->used < least || out->used == 0)
        return 0;
    result = options->write(options->ctx, (const char *)out->data, out->used, err);
    weir_buf_reset(out);
    return result;
}

static int show_records(const struct weir_timeline_options *options, struct weir_perf_input *input,
                        struct weir_timeline_text *text, struct weir_buf *out, struct weir_error *err)
{
    struct weir_record_view record;
    int result;
    while ((result = weir_perf_input_next(input, &record, err)) == 1) {
        if (!weir_timeline_text_take(text, &record, out))
            continue;
        int flushed = flush(options, out, FLUSH_BYTES, err);
        if (flushed < 0)
            return flushed;
    }
    return result;
}

int weir_timeline_show(const struct weir_timeline_options *options, struct weir_error *err)
{
    struct weir_timeline_text text = {.json = options->json};
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_perf_input input;
    int result = weir_perf_input_open_gated(&input, options->path, options->gate, err);
    if (result < 0)
        return result;
    result = show_records(options, &input, &text, &out, err);
    weir_timeline_text_end(&text, &out);
    struct weir_error write_error = {0};
    int flushed = flush(options, &out, 0, &write_error);
    if (result == 0 && flushed < 0) {
        result = flushed;
        if (err)
            *err = write_error;
    }
    if (result == 0 && text.intervals == 0)
        weir_notice(options->notices, WEIR_NOTICE_WARNING, "%s has no timeline: weir record writes one, perf does not",
                    options->path);
    weir_buf_fini(&out);
    weir_perf_input_close(&input);
    return result;
}
