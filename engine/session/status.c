#include "engine/session/status.h"

#include <inttypes.h>

#include "base/clock.h"

struct sums {
    uint64_t bytes, samples, wakeups, starved; /* sums over records that the readers have handed over */
    uint64_t shed, trimmed, trimmed_bytes;     /* dropped, and trimmed, under pressure */
    enum weir_pressure pressure;               /* the highest level that a reader sees */
    uint64_t rings;
};

static void sum_readers(const struct weir_pipeline *pipeline, struct sums *sums)
{
    /* Relaxed order suffices: each number stands for itself, and no other data depends on it. */
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        sums->bytes += atomic_load_explicit(&reader->sink.handed_bytes, memory_order_relaxed);
        sums->samples += atomic_load_explicit(&reader->handed_samples, memory_order_relaxed);
        sums->wakeups += atomic_load_explicit(&reader->handed_wakeups, memory_order_relaxed);
        sums->starved += atomic_load_explicit(&reader->handed_starved, memory_order_relaxed);
        sums->shed += atomic_load_explicit(&reader->shedder.shed_samples, memory_order_relaxed);
        sums->trimmed += atomic_load_explicit(&reader->shedder.trimmed_samples, memory_order_relaxed);
        sums->trimmed_bytes += atomic_load_explicit(&reader->shedder.trimmed_bytes, memory_order_relaxed);
        enum weir_pressure pressure = atomic_load_explicit(&reader->sink.pressure, memory_order_relaxed);
        sums->pressure = pressure > sums->pressure ? pressure : sums->pressure;
        sums->rings += reader->rings.count;
    }
}

static void append_triggers(const struct weir_triggers *triggers, struct weir_buf *out)
{
    weir_buf_printf(out, "\"triggers\":{");
    for (unsigned i = 0; i < WEIR_TRIGGER_COUNT; i++)
        weir_buf_printf(out, "\"%s\":%" PRIu64 ",", weir_trigger_name((enum weir_trigger)i), triggers->taken[i]);
    weir_buf_printf(out, "\"refused\":%" PRIu64 "}", triggers->refused);
}

static void append_spread(const char *name, const struct weir_drain_spread *spread, struct weir_buf *out)
{
    weir_buf_printf(out, "\"%s\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}", name, spread->p50,
                    spread->p99, spread->max);
}

static void append_drains(const struct weir_pipeline *pipeline, struct weir_buf *out)
{
    static const char *const names[] = {[WEIR_DRAIN_ELSEWHERE] = "elsewhere", [WEIR_DRAIN_AT_ROTATION] = "at_switch"};
    for (unsigned moment = 0; moment < WEIR_DRAIN_MOMENTS; moment++) {
        struct weir_drain_summary drains;
        weir_pipeline_summarize_drains(pipeline, (enum weir_drain_moment)moment, &drains);
        weir_buf_printf(out, "%s\"%s\":{\"drains\":%" PRIu64 ",", moment ? "," : "\"drains\":{", names[moment],
                        drains.gap_us.count);
        append_spread("gap_us", &drains.gap_us, out);
        weir_buf_append_u8(out, ',');
        append_spread("fill_per_mille", &drains.fill_per_mille, out);
        weir_buf_printf(out, ",\"waits\":%" PRIu64 ",", drains.wait_us.count);
        append_spread("wait_us", &drains.wait_us, out);
        weir_buf_append_u8(out, '}');
    }
    weir_buf_printf(out, "},");
}

void weir_status_append(const struct weir_status_sources *sources, struct weir_buf *out)
{
    const struct weir_pipeline *pipeline = sources->pipeline;
    const struct weir_recording_plan *plan = sources->plan;
    const struct weir_pool *pool = &pipeline->pool;
    struct sums sums = {0};
    sum_readers(pipeline, &sums);
    int failed = atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed);
    weir_buf_printf(out, "{\"state\":\"%s\",\"elapsed_ms\":%" PRIu64 ",", sources->state,
                    (uint64_t)(sources->elapsed_ns / WEIR_NS_PER_MS));
    weir_buf_printf(out, "\"samples\":%" PRIu64 ",\"bytes\":%" PRIu64 ",", sums.samples, sums.bytes);
    weir_buf_printf(out, "\"lost\":{\"ring_full\":%" PRIu64 ",\"of_these_waiting_for_output\":%" PRIu64 "},",
                    weir_event_set_read_lost(sources->events), sums.starved);
    weir_buf_printf(out,
                    "\"pressure\":\"%s\",\"shed\":{\"most\":\"%s\",\"samples\":%" PRIu64 ",\"trimmed_samples\":%" PRIu64
                    ",\"trimmed_bytes\":%" PRIu64 "},",
                    weir_pressure_word(sums.pressure), weir_shed_word(plan->options->shed), sums.shed, sums.trimmed,
                    sums.trimmed_bytes);
    weir_buf_printf(out, "\"output_error\":%d,\"rings\":%" PRIu64 ",\"ring_bytes\":%" PRIu64 ",", -failed, sums.rings,
                    plan->ring_bytes);
    weir_buf_printf(out, "\"pool\":{\"bytes\":%" PRIu64 ",\"used_bytes\":%" PRIu64 "},", plan->buffer_bytes,
                    (uint64_t)weir_pool_used_count(pool) * pool->chunk_bytes);
    weir_buf_printf(out, "\"wakeups\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"files\":%" PRIu64 ",", sums.wakeups,
                    pipeline->rounds.pushed, sources->files);
    weir_buf_printf(out, "\"snapshots\":%" PRIu64 ",", pipeline->rounds.snapshots);
    append_drains(pipeline, out);
    append_triggers(sources->triggers, out);
    weir_buf_printf(out, "}\n");
}
