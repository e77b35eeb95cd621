/*
 * The whole pipeline by seed: simulated kernel, real readers, rounds and writer, and a disk in memory that is late,
 * short or broken, all on one thread. The seed chooses machine, sizes, faults, and the order of every step; a fake
 * clock moves between them. A quarter of the seeds compress. At the end the file is read by an independent walker, and
 * the ledger must balance:
 *
 *     every record whole, once, in the order of its CPU, over all outputs; in each of them rounds are barriers and
 *     checkpoints record boundaries
 *     produced == written + evicted + shed + lost_ring_full + lost_write_failed, for every CPU and event
 *     written == what the walker finds
 *
 * A third of the seeds keep samples in memory, with snapshots at random moments: then nothing but samples may be
 * missing, and only such as were evicted. A ninth has rings that the kernel overwrites, which are paused and read at
 * such moments: of each snapshot only the oldest samples may be missing, and with a snapshot at the end the newest
 * sample of each ring is there.
 * As chance wants, stacks are cut and samples shed while the disk stalls: what is missing must then be told of before
 * the next record of its event.
 *
 * usage: test_engine_pipeline_sim [SEED [COUNT]]; without: seeds from 0 on, as many as WEIR_SIM_SEEDS says, else 2000.
 * A failure names its seed, and that seed alone does the same again.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/session/ledger.h"
#include "format/records.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/seeds.h"
#include "tests/engine/sim_disks.h"
#include "tests/engine/sim_rig.h"
#include "tests/engine/stream_walk.h"
#include "tests/format/expand.h"
#include "tests/io/fake_io.h"

#define SEEDS_DEFAULT   2000u
#define CPUS_MAX        5u
#define EVENTS_MAX      3u /* with sideband */
#define LATE_MAX        2u
#define STREAMS_MAX     ((CPUS_MAX + LATE_MAX) * EVENTS_MAX)
#define CHECKPOINTS_MAX 256u
#define OUTPUTS_MAX     4u
#define STILL_MAX       100000u /* steps that the end may take: if more, something waits for ever */
#define COMM_TRAILER    32u
#define PAYLOAD_MAX     60000u

static const char tail[] = "what stands behind the data";

enum action {
    ACT_PRODUCE,
    ACT_READ,
    ACT_ROUNDS,
    ACT_WRITE,
    ACT_STALL,
    ACT_SLEEP,
    ACT_CPU, /* one goes or comes */
    ACT_SNAPSHOT,
    ACT_SWITCH,
    ACT_COUNT,
};

struct sim_output {
    struct fake_io *disk;       /* owned */
    struct weir_output *output; /* owned */
    uint64_t checkpoints[CHECKPOINTS_MAX];
    size_t checkpoint_count;
};

struct sim {
    uint64_t seed;
    struct sim_random random;
    struct fake_clock fake_clock;
    struct weir_clock clock;
    bool pwritev_queue;
    struct sim_rig rig;
    struct stream streams[STREAMS_MAX]; /* [cpu][event] */
    struct {                            /* of the event that is a stream's now */
        uint64_t lost;
        unsigned lossy; /* ended ones that had lost something */
    } lives[STREAMS_MAX];
    bool offline[CPUS_MAX + LATE_MAX];
    struct stream *newest[CPUS_MAX + LATE_MAX]; /* whose sample was the last to land there; NULL: none has */
    uint64_t cpu_changes;
    unsigned event_count;
    uint64_t weights[ACT_COUNT];
    uint64_t synthesised;
    struct sim_output outputs[OUTPUTS_MAX];
    unsigned output_count;
    bool cutting;  /* the last output waits for its cut */
    bool changing; /* order is with the writer, or its outcome was not looked at yet */
    bool opening;  /* the new output does not have its beginning yet */
    struct weir_writer_switch order;
    struct weir_told_losses told;
    struct weir_buf losses;
    bool stalled;
    bool retains, overwrites;
    bool ends_with_snapshot;
    struct weir_record_result result;
};

struct totals { /* over all seeds: to see that everything has happened */
    uint64_t shed, trimmed, produced, lost_ring_full, lost_write_failed, rounds, checkpoints, starved, failed_disks,
        padding_bytes, switches, evicted, snapshots, overwritten_bytes, compressed_bytes, raw_bytes, cpu_changes;
};

static uint64_t chance(struct sim *sim, uint64_t bound)
{
    return sim_chance(&sim->random, bound);
}

static bool __attribute__((format(printf, 2, 3))) fail(const struct sim *sim, const char *format, ...)
{
    va_list args;
    printf("seed %llu: ", (unsigned long long)sim->seed);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return false;
}

/* ---- setting up ---- */

static void choose_disk(struct sim *sim)
{
    sim->outputs[sim->output_count].disk = sim_disk_choose(&sim->random, sim->seed, &sim->pwritev_queue);
}

static void choose_machine(struct sim *sim)
{
    static const char *const specs[] = {NULL, "package", "0-1/0-1:2-4/2-4"};
    const char *spec = specs[chance(sim, WEIR_ARRAY_COUNT(specs))];
    unsigned cpus = spec && spec[0] == '0' ? CPUS_MAX : 1 + (unsigned)chance(sim, CPUS_MAX);
    uint64_t ring_bytes = 4096ull << chance(sim, 6);
    unsigned late = spec && spec[0] == '0' ? 0 : (unsigned)chance(sim, LATE_MAX + 1);
    sim->retains = chance(sim, 3) == 0;
    sim->overwrites = !sim->retains && chance(sim, 6) == 0;
    bool has_span = chance(sim, 3) == 0;
    static const char *const events[] = {"bpf-output", "bpf-output,bpf-output",
                                         "bpf-output,bpf-output/call-graph=dwarf,stack-size=4096/"};
    sim_rig_init(&sim->rig, &(struct sim_rig_options){
                                .cpus = cpus,
                                .late = late,
                                .events = events[chance(sim, sim->overwrites ? 2 : WEIR_ARRAY_COUNT(events))],
                                .shed = (enum weir_shed)chance(sim, WEIR_SHED_COUNT),
                                .threads_spec = spec,
                                .ring_bytes = ring_bytes,
                                .sideband_ring_bytes = 4096,
                                .buffer_bytes = chance(sim, 3) << 20,
                                .compression_level = chance(sim, 4) == 0 ? 1 : 0,
                                .overwrite = sim->overwrites,
                                .retained_bytes = sim->retains ? 1 + chance(sim, 4u << 20) : 0,
                                .retained_span_ns = has_span ? 1 + chance(sim, 100 * WEIR_NS_PER_MS) : 0,
                                .clock = &sim->clock,
                            });
    sim->event_count = sim->rig.set.event_count;
    for (unsigned cpu = 0; cpu < cpus + late; cpu++) {
        sim->offline[cpu] = cpu >= cpus;
        for (unsigned event = 0; event < sim->event_count; event++) {
            struct stream *stream = &sim->streams[cpu * sim->event_count + event];
            stream->id = sim->rig.set.ids[event * (cpus + late) + cpu];
            stream->cpu = (unsigned)sim->rig.set.places[cpu].cpu;
            stream->sideband = event == weir_event_set_sideband(&sim->rig.set);
            stream->may_miss = (sim->retains || sim->overwrites) && !stream->sideband;
            stream->newest_first = sim->overwrites && !stream->sideband;
            const struct perf_event_attr *attr = &sim->rig.list.events[event].attr;
            stream->stack_bytes = attr->sample_stack_user;
            stream->register_count = (unsigned)__builtin_popcountll(attr->sample_regs_user);
        }
    }
}

static size_t stream_count(const struct sim *sim)
{
    return (size_t)sim->rig.set.place_count * sim->event_count;
}

/* The next one, on the disk that was chosen for it. */
static struct weir_output *open_output(struct sim *sim)
{
    static const uint8_t head[SIM_HEAD_BYTES];
    struct weir_error err = {0};
    struct sim_output *next = &sim->outputs[sim->output_count++];
    if (weir_pipeline_open_output(&sim->rig.pipeline, "/dev/null", fake_io_ops(next->disk), &next->output, &err) < 0 ||
        weir_output_write_head(next->output, head, sizeof(head)) < 0) {
        fail(sim, "cannot set up the output: %s", err.what);
        weir_assert(!"the output can be set up");
    }
    sim_disk_break(&sim->random, next->disk, sim->pwritev_queue); /* what comes before is not this test's */
    return next->output;
}

/* As weir_session_begin_snapshots() has it; here nobody is in the middle of a record. */
static void pause_rings(void *ctx, bool paused)
{
    struct sim *sim = ctx;
    weir_event_set_pause(&sim->rig.set, paused);
}

static void prepare(struct sim *sim)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    struct weir_error err = {0};
    if (weir_pipeline_prepare(pipeline, open_output(sim), &err) < 0) {
        fail(sim, "cannot set up the pipeline: %s", err.what);
        weir_assert(!"the pipeline can be set up");
    }
    if (sim->overwrites) {
        pipeline->rounds.pause = pause_rings;
        pipeline->rounds.pause_ctx = sim;
    }
    /* Rounds after little enough to have several. */
    pipeline->writer.setup.round_bytes = 1 + chance(sim, 1u << 20);
}

/* What a recording writes before its events: in one piece, while the pool is free. */
static void synthesise(struct sim *sim)
{
    struct weir_buf records = WEIR_BUF_INIT;
    uint64_t count = 1 + chance(sim, 100);
    sim->synthesised += count;
    for (uint64_t n = 0; n < count; n++)
        weir_record_comm(&records, (pid_t)n + 1, (pid_t)n + 1, "a", 0, COMM_TRAILER);
    weir_assert(weir_buf_error(&records) == 0);
    weir_pipeline_emit(&sim->rig.pipeline, records.data, records.used);
    weir_buf_fini(&records);
}

static void sim_init(struct sim *sim, uint64_t seed)
{
    memset(sim, 0, sizeof(*sim));
    sim->seed = sim->random.state = seed;
    sim->fake_clock.now_ns = WEIR_NS_PER_S;
    sim->clock = fake_clock_interface(&sim->fake_clock);
    choose_disk(sim);
    choose_machine(sim);
    prepare(sim);
    for (unsigned act = 0; act < ACT_COUNT; act++)
        sim->weights[act] = 1 + chance(sim, 40);
    sim->weights[ACT_STALL] = chance(sim, 4);
    sim->weights[ACT_CPU] = chance(sim, 4);
    sim->weights[ACT_SNAPSHOT] = sim->retains || sim->overwrites ? chance(sim, 8) : 0;
    sim->weights[ACT_SWITCH] = chance(sim, 3);
    synthesise(sim);
    weir_event_set_enable(&sim->rig.set, false);
}

static void sim_fini(struct sim *sim)
{
    weir_ledger_release(&sim->result);
    for (unsigned i = 0; i < sim->output_count; i++)
        weir_output_close(sim->outputs[i].output);
    sim_rig_fini(&sim->rig);
    for (size_t i = 0; i < STREAMS_MAX; i++)
        stream_fini(&sim->streams[i]);
    for (unsigned i = 0; i < sim->output_count; i++)
        fake_io_free(sim->outputs[i].disk);
    weir_told_losses_fini(&sim->told);
    weir_buf_fini(&sim->losses);
}

/* ---- steps ---- */

/* 4 more than a multiple of 8: that is what the size field in front of it takes. */
static uint32_t choose_payload_bytes(struct sim *sim)
{
    static const uint32_t greatest[] = {16, 200, 200, 200, 2000, 4000, 12000, 30000, PAYLOAD_MAX};
    uint64_t most = greatest[chance(sim, WEIR_ARRAY_COUNT(greatest))];
    if (sim->overwrites) /* the kernel writes what is larger than such a ring all the same, over its own beginning */
        most = weir_min_u64(most, sim->rig.ring_bytes / 2);
    return 4 + 8 * (uint32_t)chance(sim, most / 8);
}

static void note_attempt(struct sim *sim, struct stream *stream, bool landed)
{
    stream_note(stream, landed);
    sim->lives[stream - sim->streams].lost += !landed;
}

static void end_life(struct sim *sim, size_t stream)
{
    sim->lives[stream].lossy += sim->lives[stream].lost > 0;
    sim->lives[stream].lost = 0;
}

/* A CPU that is there goes; one that is not comes, with new events. */
static void change_cpu(struct sim *sim)
{
    unsigned cpu = (unsigned)chance(sim, sim->rig.set.place_count);
    if (sim->streams[(size_t)cpu * sim->event_count].later_count == STREAM_LATER_IDS)
        return;
    sim->cpu_changes++;
    sim->offline[cpu] = !sim->offline[cpu];
    if (sim->offline[cpu]) {
        sim_rig_take_cpu(&sim->rig, cpu);
        return;
    }
    sim_rig_bring_cpu(&sim->rig, cpu);
    for (unsigned event = 0; event < sim->event_count; event++) {
        size_t at = (size_t)cpu * sim->event_count + event;
        struct stream *stream = &sim->streams[at];
        uint64_t id = sim->rig.set.ids[(size_t)event * sim->rig.set.place_count + cpu];
        end_life(sim, at);
        if (stream->id)
            stream->later_ids[stream->later_count++] = id;
        else
            stream->id = id;
    }
}

static void produce_one(struct sim *sim, unsigned cpu, unsigned event)
{
    struct stream *stream = &sim->streams[cpu * sim->event_count + event];
    if (sim->offline[cpu])
        return;
    int fd = sim_rig_fd(&sim->rig, event, cpu);
    uint64_t now_ns = sim->fake_clock.now_ns;
    if (stream->sideband) {
        char comm[COMM_TRAILER];
        snprintf(comm, sizeof(comm), "%llu", (unsigned long long)stream->attempts);
        note_attempt(sim, stream, weir_sim_kernel_comm(sim->rig.sim, fd, cpu + 1, comm, now_ns));
        return;
    }
    static uint8_t payload[PAYLOAD_MAX + 4], stack[UINT16_MAX];
    static const uint64_t no_chain;
    uint32_t bytes = (uint32_t)weir_min_u64(choose_payload_bytes(sim), PAYLOAD_MAX + 4 - stream->stack_bytes);
    stream_fill_stack(stream, stream->attempts, stack, stream->stack_bytes);
    stream_fill_payload(stream, stream->attempts, payload, bytes);
    struct weir_sim_sample sample = {
        .time_ns = now_ns,
        .ip = stream->attempts,
        .pid = cpu + 1,
        .tid = cpu + 1,
        .raw = payload,
        .raw_bytes = bytes,
        .stack = stack,
        .chain = &no_chain,
    };
    bool landed = weir_sim_kernel_sample(sim->rig.sim, fd, &sample);
    note_attempt(sim, stream, landed);
    if (landed)
        sim->newest[cpu] = stream;
}

static void produce(struct sim *sim)
{
    unsigned cpu = (unsigned)chance(sim, sim->rig.set.place_count);
    for (uint64_t burst = 1 + chance(sim, 12); burst > 0; burst--) {
        produce_one(sim, cpu, (unsigned)chance(sim, sim->event_count));
        sim->fake_clock.now_ns += chance(sim, 2000);
    }
}

static void advance_rounds(struct sim *sim)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    eventfd_t count;
    bool kicked = eventfd_read(pipeline->kick_fd, &count) == 0 || chance(sim, 4) == 0;
    weir_rounds_advance(&pipeline->rounds, sim->fake_clock.now_ns, kicked);
}

/* What a reader that opens the file now would believe. (A write of the head that has failed may have left anything.) */
static void note_checkpoint(struct sim *sim)
{
    struct sim_output *current = sim->outputs;
    while (current->output != sim->rig.pipeline.writer.output)
        current++;
    if (sim->rig.pipeline.writer.checkpoint.error < 0)
        return;
    uint64_t data_bytes;
    memcpy(&data_bytes, fake_io_bytes(current->disk) + WEIR_PERF_DATA_SIZE_OFFSET, sizeof(data_bytes));
    size_t count = current->checkpoint_count;
    bool is_new = count == 0 || current->checkpoints[count - 1] != data_bytes;
    if (data_bytes > 0 && is_new && count < CHECKPOINTS_MAX)
        current->checkpoints[current->checkpoint_count++] = data_bytes;
}

static void write_step(struct sim *sim)
{
    weir_writer_step(&sim->rig.pipeline.writer, 0);
    note_checkpoint(sim);
}

/* ---- switching, as engine/session/session_switch.c does it ---- */

static void stall_all(struct sim *sim)
{
    for (unsigned i = 0; i < sim->output_count; i++)
        fake_io_stall(sim->outputs[i].disk, sim->stalled);
}

static void fit_losses(void *ctx, uint64_t lost_reported)
{
    struct sim *sim = ctx;
    weir_ledger_hold_back(&sim->told, lost_reported, &sim->losses);
    weir_writer_switch_set_records(&sim->order, sim->losses.data, sim->losses.used);
}

static void order_switch(void *ctx)
{
    struct sim *sim = ctx;
    weir_buf_reset(&sim->losses);
    weir_assert(weir_ledger_tell_losses(&sim->rig.set, &sim->told, &sim->losses) == 0);
    weir_writer_switch_init(&sim->order, sim->outputs[sim->output_count - 1].output);
    weir_writer_switch_set_records(&sim->order, sim->losses.data, sim->losses.used);
    sim->order.fit_records = fit_losses;
    sim->order.fit_ctx = sim;
    weir_writer_switch_push(&sim->order, &sim->rig.pipeline.queue);
    sim->cutting = false;
    sim->changing = sim->opening = true;
}

static void begin_switch(struct sim *sim)
{
    if (sim->cutting || sim->changing || sim->output_count == OUTPUTS_MAX)
        return;
    choose_disk(sim);
    open_output(sim);
    stall_all(sim);
    sim->cutting = true;
    weir_rounds_cut(&sim->rig.pipeline.rounds, order_switch, sim);
}

static void advance_switch(struct sim *sim)
{
    if (!sim->changing || !weir_writer_switch_has_begun(&sim->order))
        return;
    const struct weir_pool *pool = &sim->rig.pipeline.pool;
    if (sim->opening && weir_pool_free_count(pool) > pool->reserve) { /* emit() would wait */
        synthesise(sim);
        weir_rounds_resume(&sim->rig.pipeline.rounds, sim->fake_clock.now_ns);
        sim->opening = false;
    }
    if (!sim->opening && weir_writer_switch_is_done(&sim->order))
        sim->changing = false;
}

/* Takes back a switch that waits for its cut; sees any other through. */
static bool settle_switch(struct sim *sim)
{
    if (sim->cutting) {
        struct sim_output *unused = &sim->outputs[--sim->output_count];
        weir_rounds_resume(&sim->rig.pipeline.rounds, sim->fake_clock.now_ns);
        weir_output_close(unused->output);
        fake_io_free(unused->disk);
        *unused = (struct sim_output){0};
        sim->cutting = false;
    }
    for (unsigned n = 0; sim->changing && n < STILL_MAX; n++) {
        write_step(sim);
        advance_switch(sim);
    }
    return !sim->changing || fail(sim, "a switch does not end");
}

/* ---- a step ---- */

static void step(struct sim *sim)
{
    uint64_t sum = 0;
    for (unsigned act = 0; act < ACT_COUNT; act++)
        sum += sim->weights[act];
    uint64_t at = chance(sim, sum);
    unsigned act = 0;
    for (; at >= sim->weights[act]; act++)
        at -= sim->weights[act];

    advance_switch(sim);
    sim->fake_clock.now_ns += chance(sim, 1000);
    switch ((enum action)act) {
    case ACT_PRODUCE:
        produce(sim);
        break;
    case ACT_READ:
        weir_reader_step(sim->rig.pipeline.readers[chance(sim, sim->rig.pipeline.reader_count)]);
        break;
    case ACT_ROUNDS:
        advance_rounds(sim);
        break;
    case ACT_WRITE:
        write_step(sim);
        break;
    case ACT_STALL:
        sim->stalled = !sim->stalled;
        stall_all(sim);
        break;
    case ACT_CPU:
        change_cpu(sim);
        break;
    case ACT_SWITCH:
        begin_switch(sim);
        break;
    case ACT_SNAPSHOT:
        weir_rounds_snapshot(&sim->rig.pipeline.rounds); /* or busy */
        break;
    default:
        sim->fake_clock.now_ns += chance(sim, 8) ? chance(sim, 4 * WEIR_NS_PER_MS) : chance(sim, 2 * WEIR_NS_PER_S);
        break;
    }
}

/* ---- the end, as of a recording ---- */

static bool stop_readers(struct sim *sim)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    weir_event_set_disable(&sim->rig.set);
    sim->ends_with_snapshot = chance(sim, 2);
    weir_pipeline_stop_readers(pipeline, sim->ends_with_snapshot); /* no threads to join */
    bool stopped[CPUS_MAX] = {false};
    unsigned running = pipeline->reader_count;
    for (unsigned n = 0; running > 0 && n < STILL_MAX; n++) {
        unsigned i = (unsigned)chance(sim, pipeline->reader_count);
        if (!stopped[i] && weir_reader_step(pipeline->readers[i]) == WEIR_READER_STOPPED) {
            stopped[i] = true;
            running--;
        }
        write_step(sim);
    }
    return running == 0 || fail(sim, "%u readers do not stop", running);
}

static bool finish_writing(struct sim *sim)
{
    for (unsigned n = 0; n < STILL_MAX; n++) {
        if (weir_writer_is_idle(&sim->rig.pipeline.writer))
            return true;
        write_step(sim);
    }
    return fail(sim, "the writer does not get idle");
}

static bool emit_losses(struct sim *sim)
{
    struct weir_buf lost = WEIR_BUF_INIT;
    int code = weir_ledger_collect(&sim->rig.set, &sim->rig.pipeline, &sim->result, &sim->told, &lost);
    if (code == 0 && lost.used > 0)
        weir_pipeline_emit(&sim->rig.pipeline, lost.data, lost.used);
    weir_buf_fini(&lost);
    return code == 0 || fail(sim, "the ledger is %d", code);
}

static bool end(struct sim *sim)
{
    sim->stalled = false;
    stall_all(sim);
    if (!settle_switch(sim) || !stop_readers(sim) || !finish_writing(sim) || !emit_losses(sim))
        return false;
    weir_pipeline_stop_writer(&sim->rig.pipeline);
    if (!finish_writing(sim))
        return false;
    weir_ledger_settle(&sim->rig.pipeline, &sim->result);
    return true;
}

/* ---- checking ---- */

static bool any_failed(const struct sim *sim)
{
    bool failed = false;
    for (unsigned i = 0; i < sim->output_count; i++)
        failed |= weir_output_error(sim->outputs[i].output) < 0;
    return failed;
}

static bool fail_row(const struct sim *sim, const struct weir_ledger_row *row)
{
    return fail(sim,
                "cpu %d, event %u: produced %llu; written %llu, evicted %llu, shed %llu, ring full %llu, failed %llu",
                row->cpu, row->event, (unsigned long long)row->counted, (unsigned long long)row->written,
                (unsigned long long)row->evicted, (unsigned long long)row->shed,
                (unsigned long long)row->lost_ring_full, (unsigned long long)row->lost_write_failed);
}

static bool check_row(const struct sim *sim, const struct weir_ledger_row *row, const struct stream *stream)
{
    uint64_t produced = stream->attempts, lost = 0;
    for (uint64_t attempt = 0; attempt < stream->attempts; attempt++)
        lost += !stream->landed[attempt];
    unsigned lossy = sim->lives[stream - sim->streams].lossy;
    if (row->counted != produced || row->lost_ring_full != lost)
        return fail(sim, "lost %llu of %llu", (unsigned long long)lost, (unsigned long long)produced) ||
               fail_row(sim, row);
    if (row->written + row->evicted + row->shed + row->lost_ring_full + row->lost_write_failed != produced)
        return fail_row(sim, row);
    if (row->shed > 0 && (sim->rig.shed.most < WEIR_SHED_CPUS || sim->retains || sim->overwrites || stream->sideband))
        return fail_row(sim, row);
    if (row->evicted > 0 && !stream->may_miss)
        return fail_row(sim, row);
    if (row->written != stream->seen)
        return fail(sim, "cpu %d, event %u: written %llu, but the file has %llu", row->cpu, row->event,
                    (unsigned long long)row->written, (unsigned long long)stream->seen);
    bool failed = any_failed(sim);
    if (!failed && row->shed != stream->shed_samples)
        return fail(sim, "cpu %d, event %u: shed %llu, but the file tells of %llu", row->cpu, row->event,
                    (unsigned long long)row->shed, (unsigned long long)stream->shed_samples);
    if (!failed && (row->lost_write_failed != 0 || stream->lost_samples != lost ||
                    (sim->output_count == 1 && stream->lost_reports != lossy)))
        return fail(sim, "cpu %d, event %u: lost %llu, but %llu reports tell of %llu", row->cpu, row->event,
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
            return fail(sim, "cpu %u: the newest is attempt %llu, but %llu is in the file", stream->cpu,
                        (unsigned long long)landed - 1, (unsigned long long)stream->next - 1);
    }
    return true;
}

/* A reader that took a chunk for what then was only the rest of an overwritten record keeps it for later. */
static uint32_t empty_chunks_held(const struct weir_pipeline *pipeline)
{
    uint32_t held = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        held += pipeline->readers[i]->chunk && pipeline->readers[i]->chunk->used == 0;
    return held;
}

static bool check_totals(const struct sim *sim, const struct walk_result *walked)
{
    const struct weir_pipeline *pipeline = &sim->rig.pipeline;
    const struct weir_record_result *result = &sim->result;
    bool failed = any_failed(sim);
    if (!failed && walked->synthesised != sim->synthesised)
        return fail(sim, "%llu of %llu synthesised records", (unsigned long long)walked->synthesised,
                    (unsigned long long)sim->synthesised);
    if (walked->rounds != result->rounds || (!failed && result->rounds != pipeline->rounds.pushed))
        return fail(sim, "%llu rounds in the file, %llu written, %llu pushed", (unsigned long long)walked->rounds,
                    (unsigned long long)result->rounds, (unsigned long long)pipeline->rounds.pushed);
    uint64_t lost_reported = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        for (unsigned n = 0; n < pipeline->readers[i]->ring_count; n++)
            lost_reported += pipeline->readers[i]->rings[n].counts.lost_reported;
    }
    if (!failed && walked->lost_reported != lost_reported)
        return fail(sim, "the file tells of %llu lost records, the rings of %llu",
                    (unsigned long long)walked->lost_reported, (unsigned long long)lost_reported);
    if (!failed && walked->trimmed != result->trimmed_samples)
        return fail(sim, "%llu cut stacks in the file, %llu counted", (unsigned long long)walked->trimmed,
                    (unsigned long long)result->trimmed_samples);
    if (result->unknown_samples || result->discarded_bytes)
        return fail(sim, "%llu unknown samples, %llu bytes discarded", (unsigned long long)result->unknown_samples,
                    (unsigned long long)result->discarded_bytes);
    uint32_t chunks = pipeline->pool.ready_count; /* without the spare, which nobody asked for */
    uint32_t held = empty_chunks_held(pipeline);
    if (weir_pool_free_count(&pipeline->pool) + held != chunks || weir_pool_used_count(&pipeline->pool) != held)
        return fail(sim, "%u of %u chunks are back", weir_pool_free_count(&pipeline->pool), chunks);
    return true;
}

/* LOST_SAMPLES of all outputs that have been walked. */
static uint64_t lost_samples(const struct sim *sim)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < stream_count(sim); i++)
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
        return fail(sim, "output %u: the tail does not stand behind the data", number);

    struct weir_buf records = WEIR_BUF_INIT; /* as they were before compression */
    const char *failure;
    uint64_t checkpoints[CHECKPOINTS_MAX];
    memcpy(checkpoints, output->checkpoints, sizeof(checkpoints));
    if (!expand_records(file + SIM_HEAD_BYTES, data_bytes, WEIR_CHUNK_MAX_BYTES, &records, checkpoints,
                        output->checkpoint_count, &failure))
        return fail(sim, "output %u: %s", number, failure);
    struct walk_input input = {
        .data = records.data,
        .bytes = records.used,
        .streams = sim->streams,
        .stream_count = stream_count(sim),
        .goes_on = number > 0,
        .checkpoints = checkpoints,
        .checkpoint_count = output->checkpoint_count,
    };
    struct walk_result walked;
    uint64_t lost_before = number > 0 ? lost_samples(sim) : 0;
    bool whole = stream_walk(&input, &walked);
    uint64_t lost = lost_samples(sim) - lost_before;
    if (whole && !any_failed(sim) && walked.lost_reported > lost)
        whole = fail(sim, "output %u: %llu lost by LOST, %llu by LOST_SAMPLES", number,
                     (unsigned long long)walked.lost_reported, (unsigned long long)lost);
    weir_buf_fini(&records);
    sum->rounds += walked.rounds;
    sum->synthesised += walked.synthesised;
    sum->padding_bytes += walked.padding_bytes;
    sum->lost_reported += walked.lost_reported;
    sum->trimmed += walked.trimmed;
    /* What did not get into this one is missing before what is in the next. */
    for (size_t i = 0; weir_output_error(output->output) < 0 && i < stream_count(sim); i++)
        sim->streams[i].may_miss = sim->streams[i].may_have_gaps = true;
    return whole || fail(sim, "output %u: %s", number, walked.failure);
}

static bool check(struct sim *sim, struct totals *totals)
{
    struct walk_result walked = {0};
    for (unsigned i = 0; i < sim->output_count; i++) {
        if (!check_output(sim, i, &walked))
            return false;
        totals->checkpoints += sim->outputs[i].checkpoint_count;
    }
    if (!check_totals(sim, &walked) || !check_newest(sim))
        return false;
    unsigned rows[STREAMS_MAX] = {0};
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
    for (size_t i = 0; i < stream_count(sim); i++) {
        if (rows[i] != (sim->streams[i].id ? 1 : 0))
            return fail(sim, "%u rows of cpu %u, which was %s", rows[i], sim->streams[i].cpu,
                        sim->streams[i].id ? "there" : "never there");
    }
    totals->cpu_changes += sim->cpu_changes;
    totals->rounds += walked.rounds;
    totals->snapshots += sim->result.snapshots;
    totals->overwritten_bytes += sim->result.overwritten_bytes;
    totals->trimmed += walked.trimmed;
    totals->padding_bytes += walked.padding_bytes;
    totals->compressed_bytes += sim->rig.pipeline.compressor.totals.in_bytes;
    totals->raw_bytes += sim->rig.pipeline.compressor.totals.raw_bytes;
    totals->failed_disks += any_failed(sim);
    totals->switches += sim->output_count - 1;
    for (unsigned i = 0; i < sim->rig.pipeline.reader_count; i++)
        totals->starved += sim->rig.pipeline.readers[i]->starved_steps;
    return true;
}

static bool run_seed(void *totals, uint64_t seed)
{
    static struct sim sim;
    sim_init(&sim, seed);
    for (uint64_t steps = 50 + chance(&sim, 1500); steps > 0; steps--)
        step(&sim);
    for (size_t i = 0; i < stream_count(&sim); i++)
        end_life(&sim, i);
    bool holds = end(&sim) && check(&sim, totals);
    sim_fini(&sim);
    return holds;
}

/* ---- main ---- */

int main(int argc, char **argv)
{
    struct totals totals = {0};
    uint64_t count, failures = seeds_run(argc, argv, SEEDS_DEFAULT, run_seed, &totals, &count);
    printf("%llu seeds: produced %llu, lost %llu in full rings (starved %llu times) and %llu on %llu failed disks, "
           "%llu evicted, %llu bytes overwritten, %llu snapshots, %llu rounds, %llu checkpoints, %llu bytes of "
           "padding, %llu bytes compressed and %llu not, %llu CPUs gone or come, %llu switches, %llu shed, %llu stacks "
           "cut\n",
           (unsigned long long)count, (unsigned long long)totals.produced, (unsigned long long)totals.lost_ring_full,
           (unsigned long long)totals.starved, (unsigned long long)totals.lost_write_failed,
           (unsigned long long)totals.failed_disks, (unsigned long long)totals.evicted,
           (unsigned long long)totals.overwritten_bytes, (unsigned long long)totals.snapshots,
           (unsigned long long)totals.rounds, (unsigned long long)totals.checkpoints,
           (unsigned long long)totals.padding_bytes, (unsigned long long)totals.compressed_bytes,
           (unsigned long long)totals.raw_bytes, (unsigned long long)totals.cpu_changes,
           (unsigned long long)totals.switches, (unsigned long long)totals.shed, (unsigned long long)totals.trimmed);
    return seeds_end(failures);
}
