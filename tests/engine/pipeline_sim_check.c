/* What must hold of a simulated recording, and what has happened in it; see test_pipeline_sim.c for the rules. */
#include <stdio.h>
#include <string.h>

#include "tests/engine/pipeline_sim.h"
#include "tests/format/expand.h"

static const char tail[] = "what stands behind the data";

static bool any_failed(const struct sim *sim)
{
    bool failed = false;
    for (unsigned i = 0; i < sim->output_count; i++)
        failed |= weir_output_error(sim->outputs[i].output) < 0;
    return failed;
}

void sim_count_unwritten(struct sim *sim, struct sim_output *output, const struct weir_writer_account *account)
{
    for (uint64_t i = 0; i < sim->rig.pipeline.writer.setup.failed_counters; i++)
        output->unwritten += account->failed_samples[i];
}

/* Each output knows of what failed of it, and of nothing else. */
static bool check_unwritten(const struct sim *sim)
{
    uint64_t by_output = 0, by_row = 0;
    for (unsigned i = 0; i < sim->output_count; i++) {
        const struct sim_output *output = &sim->outputs[i];
        by_output += output->unwritten;
        if (output->unwritten > 0 && weir_output_error(output->output) == 0)
            return sim_fail(sim, "output %u lacks %llu records, but has not failed", i,
                            (unsigned long long)output->unwritten);
    }
    for (size_t i = 0; i < sim->result.ledger_count; i++)
        by_row += sim->result.ledger[i].lost_write_failed;
    return by_output == by_row || sim_fail(sim, "%llu unwritten by outputs, %llu by rows",
                                           (unsigned long long)by_output, (unsigned long long)by_row);
}

static bool fail_row(const struct sim *sim, const struct weir_ledger_row *row)
{
    return sim_fail(
        sim, "cpu %d, event %u: produced %llu; written %llu, evicted %llu, shed %llu, ring full %llu, failed %llu",
        row->cpu, row->event, (unsigned long long)row->counted, (unsigned long long)row->written,
        (unsigned long long)row->evicted, (unsigned long long)row->shed, (unsigned long long)row->lost_ring_full,
        (unsigned long long)row->lost_write_failed);
}

static bool check_row(const struct sim *sim, const struct weir_ledger_row *row, const struct stream *stream)
{
    uint64_t produced = stream->attempts, lost = 0;
    for (uint64_t attempt = 0; attempt < stream->attempts; attempt++)
        lost += !stream->landed[attempt];
    unsigned lossy = sim->lives[stream - sim->streams].lossy;
    if (row->counted != produced || row->lost_ring_full != lost)
        return sim_fail(sim, "lost %llu of %llu", (unsigned long long)lost, (unsigned long long)produced) ||
               fail_row(sim, row);
    if (row->written + row->evicted + row->shed + row->lost_ring_full + row->lost_write_failed != produced)
        return fail_row(sim, row);
    if (row->shed > 0 && (sim->rig.shed.most < WEIR_SHED_CPUS || sim->retains || sim->overwrites || stream->sideband))
        return fail_row(sim, row);
    if (row->evicted > 0 && !stream->may_miss)
        return fail_row(sim, row);
    if (row->written != stream->seen)
        return sim_fail(sim, "cpu %d, event %u: written %llu, but the file has %llu", row->cpu, row->event,
                        (unsigned long long)row->written, (unsigned long long)stream->seen);
    bool failed = any_failed(sim);
    if (!failed && row->shed != stream->shed_samples)
        return sim_fail(sim, "cpu %d, event %u: shed %llu, but the file tells of %llu", row->cpu, row->event,
                        (unsigned long long)row->shed, (unsigned long long)stream->shed_samples);
    bool is_silent = sim->rig.config.without_ids && stream->sideband;
    bool is_told = is_silent ? stream->lost_reports == 0
                             : stream->lost_samples == lost && (sim->output_count > 1 || stream->lost_reports == lossy);
    if (!failed && (row->lost_write_failed != 0 || (!is_told && !sim->untold)))
        return sim_fail(sim, "cpu %d, event %u: lost %llu, but %llu reports tell of %llu", row->cpu, row->event,
                        (unsigned long long)lost, (unsigned long long)stream->lost_reports,
                        (unsigned long long)stream->lost_samples);
    return true;
}

/* The newest records survive: the last that has landed in a ring is in the last snapshot. */
static bool check_newest(const struct sim *sim)
{
    bool is_there = sim->overwrites && sim->ends_with_snapshot && !any_failed(sim);
    for (unsigned cpu = 0; is_there && cpu < sim->rig.set.place_count; cpu++) {
        const struct stream *stream = sim->newest[cpu];
        uint64_t landed = stream ? stream->attempts : 0;
        while (landed > 0 && !stream->landed[landed - 1])
            landed--;
        if (stream && stream->next != landed)
            return sim_fail(sim, "cpu %u: the newest is attempt %llu, but %llu is in the file", stream->cpu,
                            (unsigned long long)landed - 1, (unsigned long long)stream->next - 1);
    }
    return true;
}

/* A reader that took a chunk for what then was only the rest of an overwritten record keeps it for later. */
static uint32_t empty_chunks_held(const struct weir_pipeline *pipeline)
{
    uint32_t held = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        held += pipeline->readers[i]->sink.chunk && pipeline->readers[i]->sink.chunk->used == 0;
    return held;
}

static bool check_totals(const struct sim *sim, const struct walk_result *walked)
{
    const struct weir_pipeline *pipeline = &sim->rig.pipeline;
    const struct weir_record_result *result = &sim->result;
    bool failed = any_failed(sim);
    if (!failed && walked->synthesized != sim->synthesized)
        return sim_fail(sim, "%llu of %llu synthesized records", (unsigned long long)walked->synthesized,
                        (unsigned long long)sim->synthesized);
    const struct weir_round_marks *marks = &pipeline->writer.marks;
    uint64_t rounds = pipeline->rounds.pushed - marks->turned_down + marks->made;
    if (walked->rounds != result->rounds || (!failed && result->rounds != rounds))
        return sim_fail(sim, "%llu rounds in the file, %llu written, %llu pushed and marked",
                        (unsigned long long)walked->rounds, (unsigned long long)result->rounds,
                        (unsigned long long)rounds);
    uint64_t lost_reported = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        for (unsigned n = 0; n < pipeline->readers[i]->rings.count; n++)
            lost_reported += pipeline->readers[i]->rings.at[n].counts.lost_reported;
    }
    if (!failed && walked->lost_reported != lost_reported)
        return sim_fail(sim, "the file tells of %llu lost records, the rings of %llu",
                        (unsigned long long)walked->lost_reported, (unsigned long long)lost_reported);
    if (!failed && walked->returns != sim->rig.returns)
        return sim_fail(sim, "the file tells of %llu returns of CPUs, the rings of %llu",
                        (unsigned long long)walked->returns, (unsigned long long)sim->rig.returns);
    if (!failed && walked->trimmed != result->trimmed_samples)
        return sim_fail(sim, "%llu cut stacks in the file, %llu counted", (unsigned long long)walked->trimmed,
                        (unsigned long long)result->trimmed_samples);
    if (result->unknown_samples || result->discarded_bytes)
        return sim_fail(sim, "%llu unknown samples, %llu bytes discarded", (unsigned long long)result->unknown_samples,
                        (unsigned long long)result->discarded_bytes);
    uint32_t chunks = pipeline->pool.ready_count; /* without the spare, which nobody asked for */
    uint32_t held = empty_chunks_held(pipeline);
    if (weir_pool_free_count(&pipeline->pool) + held != chunks || weir_pool_used_count(&pipeline->pool) != held)
        return sim_fail(sim, "%u of %u chunks are back", weir_pool_free_count(&pipeline->pool), chunks);
    return true;
}

/* LOST_SAMPLES of all outputs that have been walked. */
static uint64_t lost_samples(const struct sim *sim)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sim_stream_count(sim); i++)
        sum += sim->streams[i].lost_samples;
    return sum;
}

/* Walks one output, the others before it having been walked, and adds to sum. */
static bool check_output(struct sim *sim, unsigned number, struct walk_result *sum)
{
    const struct sim_output *output = &sim->outputs[number];
    uint64_t data_bytes = weir_output_stable_bytes(output->output);
    int finished = weir_output_finish(output->output, tail, sizeof(tail));
    const uint8_t *file = fake_io_bytes(output->disk);
    if (finished == 0 && (fake_io_size(output->disk) != SIM_HEAD_BYTES + data_bytes + sizeof(tail) ||
                          memcmp(file + SIM_HEAD_BYTES + data_bytes, tail, sizeof(tail)) != 0))
        return sim_fail(sim, "output %u: the tail does not stand behind the data", number);

    struct weir_buf records = WEIR_BUF_INIT; /* as they were before compression */
    const char *failure;
    uint64_t checkpoints[SIM_CHECKPOINTS_MAX];
    memcpy(checkpoints, output->checkpoints, sizeof(checkpoints));
    if (!expand_records(file + SIM_HEAD_BYTES, data_bytes, WEIR_CHUNK_MAX_BYTES, &records, checkpoints,
                        output->checkpoint_count, &failure))
        return sim_fail(sim, "output %u: %s", number, failure);
    struct walk_input input = {
        .data = records.data,
        .bytes = records.used,
        .streams = sim->streams,
        .stream_count = sim_stream_count(sim),
        .without_ids = sim->rig.config.without_ids,
        .goes_on = number > 0,
        .checkpoints = checkpoints,
        .checkpoint_count = output->checkpoint_count,
    };
    struct walk_result walked;
    uint64_t lost_before = number > 0 ? lost_samples(sim) : 0;
    bool whole = stream_walk(&input, &walked);
    uint64_t lost = lost_samples(sim) - lost_before;
    if (whole && !any_failed(sim) && !sim->untold && !sim->untold_then &&
        walked.lost_reported - walked.lost_silent > lost)
        whole = sim_fail(sim, "output %u: %llu lost by LOST, %llu by LOST_SAMPLES", number,
                         (unsigned long long)(walked.lost_reported - walked.lost_silent), (unsigned long long)lost);
    weir_buf_fini(&records);
    sum->rounds += walked.rounds;
    sum->synthesized += walked.synthesized;
    sum->padding_bytes += walked.padding_bytes;
    sum->lost_reported += walked.lost_reported;
    sum->trimmed += walked.trimmed;
    sum->returns += walked.returns;
    /* What did not get into this one is missing before what is in the next. */
    for (size_t i = 0; weir_output_error(output->output) < 0 && i < sim_stream_count(sim); i++)
        sim->streams[i].may_miss = sim->streams[i].may_have_gaps = true;
    return whole || sim_fail(sim, "output %u: %s", number, walked.failure);
}

bool sim_check(struct sim *sim, struct totals *totals)
{
    struct walk_result walked = {0};
    for (unsigned i = 0; i < sim->output_count; i++) {
        if (!check_output(sim, i, &walked))
            return false;
        totals->checkpoints += sim->outputs[i].checkpoint_count;
    }
    if (!check_totals(sim, &walked) || !check_newest(sim) || !check_unwritten(sim))
        return false;
    unsigned rows[SIM_STREAMS_MAX] = {0};
    for (size_t i = 0; i < sim->result.ledger_count; i++) {
        const struct weir_ledger_row *row = &sim->result.ledger[i];
        size_t stream = (size_t)row->cpu * sim->event_count + row->event;
        rows[stream]++;
        if (!check_row(sim, row, &sim->streams[stream]))
            return false;
        totals->produced += row->counted;
        totals->lost_ring_full += row->lost_ring_full;
        totals->evicted += row->evicted;
        totals->shed += row->shed;
        totals->lost_write_failed += row->lost_write_failed;
    }
    for (size_t i = 0; i < sim_stream_count(sim); i++) {
        bool was_there = sim->was_there[i / sim->event_count];
        if (rows[i] != was_there)
            return sim_fail(sim, "%u rows of cpu %u, which was %s", rows[i], sim->streams[i].cpu,
                            was_there ? "there" : "never there");
    }
    totals->cpu_changes += sim->cpu_changes;
    totals->rounds += walked.rounds;
    const struct weir_round_marks *marks = &sim->rig.pipeline.writer.marks;
    totals->marks += marks->made;
    totals->marks_within += marks->made_within;
    totals->turned_down += marks->turned_down;
    totals->snapshots += sim->result.snapshots;
    totals->overwritten_bytes += sim->result.overwritten_bytes;
    totals->trimmed += walked.trimmed;
    totals->padding_bytes += walked.padding_bytes;
    totals->compressed_bytes += sim->rig.pipeline.stage.totals.in_bytes;
    totals->raw_bytes += sim->rig.pipeline.stage.totals.raw_bytes;
    totals->failed_disks += any_failed(sim);
    totals->switches += sim->output_count - 1;
    for (unsigned i = 0; i < sim->rig.pipeline.reader_count; i++)
        totals->starved += sim->rig.pipeline.readers[i]->starved_steps;
    return true;
}
