#include "engine/session/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/plan/machine_facts.h"
#include "topology/topology.h"

#define PER_MILLE 1000u

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

/* Relaxed: each number is read for its own sake. */
static void append_output(const struct weir_writer *writer, struct weir_buf *out)
{
    weir_buf_printf(out, "\"output\":{\"bytes\":%" PRIu64 ",\"chunks\":%" PRIu64 ",\"latency_us\":%" PRIu64 "},",
                    atomic_load_explicit(&writer->told_bytes, memory_order_relaxed),
                    atomic_load_explicit(&writer->told_latencies, memory_order_relaxed),
                    (uint64_t)(atomic_load_explicit(&writer->told_latency_ns, memory_order_relaxed) / WEIR_NS_PER_US));
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

/* ---- figures ---- */

static uint32_t fill_per_mille(const struct weir_reader_ring *r)
{
    return (uint32_t)(weir_ring_fill(&r->ring) * PER_MILLE / r->ring.bytes);
}

static bool is_shown(const struct weir_reader_ring *r)
{
    return !r->sideband && !weir_reader_ring_is_dormant(r); /* (ring-awake): an awake ring is mapped */
}

static void gather_rings(const struct weir_reader *reader, struct weir_record_figures *figures)
{
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        if (!is_shown(r))
            continue;
        uint32_t fill = fill_per_mille(r);
        figures->fill_per_mille = fill > figures->fill_per_mille ? fill : figures->fill_per_mille;
        figures->lost += atomic_load_explicit(&r->told_lost, memory_order_relaxed); /* relaxed: as in sum_readers() */
    }
}

void weir_status_gather(const struct weir_status_sources *sources, struct weir_record_figures *figures)
{
    const struct weir_pipeline *pipeline = sources->pipeline;
    struct sums sums = {0};
    sum_readers(pipeline, &sums);
    *figures = (struct weir_record_figures){
        .state = sources->state,
        .elapsed_ns = sources->elapsed_ns,
        .samples = sums.samples,
        .bytes = sums.bytes,
        .shed = sums.shed,
        .files = sources->files,
        .lease_left_ns = sources->lease_left_ns,
        .pool_per_mille =
            (uint32_t)((uint64_t)weir_pool_used_count(&pipeline->pool) * PER_MILLE / pipeline->pool.chunk_count),
    };
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        gather_rings(pipeline->readers[i], figures);
}

/* ---- places ---- */

enum place_column {
    PLACE_ID,
    PLACE_NODE,
    PLACE_PACKAGE,
    PLACE_FILL,
    PLACE_SAMPLES,
    PLACE_LOST,
};

/* r: the data ring of the place; NULL: none, because its CPU is offline. */
static int64_t place_value(const struct weir_status_sources *sources, enum place_column column, unsigned place,
                           const struct weir_reader_ring *r)
{
    const struct weir_event_place *at = &sources->pipeline->setup.places[place];
    const struct weir_topology_cpu *cpu =
        at->cpu < 0 ? NULL : weir_topology_cpu(sources->plan->machine->topology, (unsigned)at->cpu);
    switch (column) {
    case PLACE_ID:
        return at->cpu < 0 ? at->task : at->cpu;
    case PLACE_NODE:
        return cpu ? cpu->node : 0;
    case PLACE_PACKAGE:
        return cpu ? cpu->package : 0;
    case PLACE_FILL:
        return r ? (int64_t)fill_per_mille(r) : -1;
    case PLACE_SAMPLES:
        return r ? (int64_t)atomic_load_explicit(&r->told_samples, memory_order_relaxed) : 0; /* as in sum_readers() */
    case PLACE_LOST:
        return r ? (int64_t)atomic_load_explicit(&r->told_lost, memory_order_relaxed) : 0; /* relaxed: likewise */
    }
    return 0;
}

static void append_places(const struct weir_status_sources *sources, struct weir_buf *out)
{
    static const char *const names[] = {
        [PLACE_ID] = "id",           [PLACE_NODE] = "node",
        [PLACE_PACKAGE] = "package", [PLACE_FILL] = "fill_per_mille",
        [PLACE_SAMPLES] = "samples", [PLACE_LOST] = "lost",
    };
    const struct weir_pipeline *pipeline = sources->pipeline;
    unsigned count = pipeline->setup.place_count;
    const struct weir_reader_ring **rings = calloc(count, sizeof(const struct weir_reader_ring *));
    if (!rings) {
        weir_buf_fail(out, -ENOMEM);
        return;
    }
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader_rings *of_reader = &pipeline->readers[i]->rings;
        for (unsigned j = 0; j < of_reader->count; j++) {
            if (is_shown(&of_reader->at[j]))
                rings[of_reader->at[j].place] = &of_reader->at[j];
        }
    }
    weir_buf_printf(out, ",\"places\":{\"kind\":\"%s\"",
                    count > 0 && pipeline->setup.places[0].cpu < 0 ? "task" : "cpu");
    for (size_t column = 0; column < WEIR_ARRAY_COUNT(names); column++) {
        weir_buf_printf(out, ",\"%s\":[", names[column]);
        for (unsigned place = 0; place < count; place++)
            weir_buf_printf(out, "%s%" PRId64, place ? "," : "",
                            place_value(sources, (enum place_column)column, place, rings[place]));
        weir_buf_append_u8(out, ']');
    }
    weir_buf_append_u8(out, '}');
    free(rings);
}

/* ---- the line ---- */

void weir_status_append(const struct weir_status_sources *sources, bool places, struct weir_buf *out)
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
                    weir_pressure_word(sums.pressure), weir_shed_word(plan->options->memory.shed), sums.shed,
                    sums.trimmed, sums.trimmed_bytes);
    weir_buf_printf(out, "\"output_error\":%d,\"rings\":%" PRIu64 ",\"ring_bytes\":%" PRIu64 ",", -failed, sums.rings,
                    plan->ring_bytes);
    weir_buf_printf(out, "\"pool\":{\"bytes\":%" PRIu64 ",\"used_bytes\":%" PRIu64 "},", plan->buffer_bytes,
                    (uint64_t)weir_pool_used_count(pool) * pool->chunk_bytes);
    append_output(&pipeline->writer, out);
    if (pipeline->setup.steps.join) {
        const struct weir_joined_sum sum = weir_join_step_sum(pipeline->setup.steps.join);
        weir_buf_printf(out, "\"joined\":");
        weir_joined_append_json(&sum, out);
        weir_buf_append_u8(out, ',');
    }
    if (pipeline->setup.steps.unwind) {
        const struct weir_unwound_sum sum = weir_unwind_step_sum(pipeline->setup.steps.unwind);
        weir_buf_printf(out, "\"unwound\":");
        weir_unwound_append_json(&sum, out);
        weir_buf_append_u8(out, ',');
    }
    weir_buf_printf(out, "\"wakeups\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"files\":%" PRIu64 ",", sums.wakeups,
                    pipeline->rounds.pushed, sources->files);
    weir_buf_printf(out, "\"snapshots\":%" PRIu64 ",", pipeline->rounds.snapshots);
    append_drains(pipeline, out);
    append_triggers(sources->triggers, out);
    if (sources->lease_left_ns > 0)
        weir_buf_printf(out, ",\"lease\":{\"seconds\":%" PRIu64 ",\"left_ms\":%" PRIu64 "}", plan->options->lease_s,
                        (uint64_t)(sources->lease_left_ns / WEIR_NS_PER_MS));
    if (places)
        append_places(sources, out);
    weir_buf_printf(out, "}\n");
}
