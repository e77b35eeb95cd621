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
 * In three of eight seeds memory fails, once, for good or now and then (sim_faults.h): in the set-up, which then says
 * what failed and holds nothing, no memory, no event, no ring and no descriptor; or later, where an output is opened, a
 * CPU comes, the pool grows, losses are told of: then there is no switch, or no record of that CPU, and all of the
 * above holds. In none of the seeds does a step of a reader or of the writer allocate. In half of them the clock
 * stands, ticks, leaps or creeps.
 *
 * usage: test_engine_pipeline_sim [SEED [COUNT]]; without: seeds from 0 on, as many as WEIR_SIM_SEEDS says, else 2000.
 * A failure names its seed, and that seed alone does the same again.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/drain/record_rename.h"
#include "format/records.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/pipeline_sim.h"
#include "tests/engine/seeds.h"

#define SEEDS_DEFAULT        2000u
#define STILL_MAX            100000u /* steps that the end may take: if more, something waits for ever */
#define TRAILER_BYTES        32u     /* with an id */
#define ID_BYTES             8u
#define TRAILER_TIME_OFFSET  8u
#define RECORDED_LONG_AGO_NS 1u /* what a new output begins with */
#define PAYLOAD_MAX          60000u
#define FDS_MOST             512 /* descriptors below this one are looked at for leaks */
#define GROWING_BYTES        (24ull << 20)

static uint64_t chance(struct sim *sim, uint64_t bound)
{
    return sim_chance(&sim->random, bound);
}

bool sim_fail(const struct sim *sim, const char *format, ...)
{
    va_list args;
    printf("seed %llu: ", (unsigned long long)sim->seed);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return false;
}

size_t sim_stream_count(const struct sim *sim)
{
    return (size_t)sim->rig.set.place_count * sim->event_count;
}

/* ---- setting up ---- */

static void choose_disk(struct sim *sim)
{
    sim->outputs[sim->output_count].disk = sim_disk_choose(&sim->random, sim->seed, &sim->pwritev_queue);
}

/* 0, or -errno of what could not be set up. */
static int choose_machine(struct sim *sim, struct weir_error *err)
{
    static const char *const specs[] = {NULL, "package", "0-1/0-1:2-4/2-4"};
    const char *spec = specs[chance(sim, WEIR_ARRAY_COUNT(specs))];
    unsigned cpus = spec && spec[0] == '0' ? SIM_CPUS_MAX : 1 + (unsigned)chance(sim, SIM_CPUS_MAX);
    uint64_t ring_bytes = 4096ull << chance(sim, 6);
    unsigned late = spec && spec[0] == '0' ? 0 : (unsigned)chance(sim, SIM_LATE_MAX + 1);
    sim->retains = chance(sim, 3) == 0;
    sim->overwrites = !sim->retains && chance(sim, 6) == 0;
    bool has_span = chance(sim, 3) == 0;
    static const char *const events[] = {"bpf-output", "bpf-output,bpf-output",
                                         "bpf-output,bpf-output/call-graph=dwarf,stack-size=4096/"};
    const size_t event_choices = sim->overwrites ? 2 : WEIR_ARRAY_COUNT(events);
    size_t event_choice = chance(sim, event_choices);
    struct sim_rig_options options = {
        .cpus = cpus,
        .late = late,
        .events = events[event_choice],
        .shed = (enum weir_shed)chance(sim, WEIR_SHED_COUNT),
        .threads_spec = spec,
        .ring_bytes = ring_bytes,
        .sideband_ring_bytes = 4096,
        .buffer_bytes = chance(sim, 3) << 20,
        .compression_level = chance(sim, 4) == 0 ? 1 : 0,
        .renames = true,
        .overwrite = sim->overwrites,
        .retained_bytes = sim->retains ? 1 + chance(sim, 4u << 20) : 0,
        .retained_span_ns = has_span ? 1 + chance(sim, 100 * WEIR_NS_PER_MS) : 0,
        .clock = &sim->clock,
    };
    options.grow_pool = !sim->retains && spec && spec[0] == 'p' && sim_chance(&sim->fault_random, 4) == 0;
    if (options.grow_pool)
        options.buffer_bytes = GROWING_BYTES;
    options.without_ids = event_choice == 0 && sim_chance(&sim->fault_random, 2) == 0;
    if (options.without_ids && !sim->overwrites && sim_chance(&sim->fault_random, 2) == 0)
        options.events = "bpf-output/call-graph=dwarf,stack-size=4096/";
    sim->growing = options.grow_pool || sim->retains;
    sim_memory_begin(&sim->memory, true);
    int result = sim_rig_try_init(&sim->rig, &options, err);
    sim_memory_end(&sim->memory);
    if (result < 0)
        return result;
    sim->event_count = sim->rig.set.event_count;
    for (unsigned cpu = 0; cpu < cpus + late; cpu++) {
        sim->offline[cpu] = cpu >= cpus;
        sim->was_there[cpu] = cpu < cpus;
        for (unsigned event = 0; event < sim->event_count; event++) {
            struct stream *stream = &sim->streams[cpu * sim->event_count + event];
            stream->id = sim->rig.set.file_ids[event * (cpus + late) + cpu];
            stream->cpu = (unsigned)sim->rig.set.places[cpu].cpu;
            stream->sideband = event == weir_event_set_sideband(&sim->rig.set);
            stream->may_miss = (sim->retains || sim->overwrites) && !stream->sideband;
            stream->newest_first = sim->overwrites && !stream->sideband;
            const struct perf_event_attr *attr = &sim->rig.list.events[event].attr;
            stream->stack_bytes = attr->sample_stack_user;
            stream->register_count = (unsigned)__builtin_popcountll(attr->sample_regs_user);
        }
    }
    return 0;
}

static void drop_output(struct sim *sim)
{
    struct sim_output *last = &sim->outputs[--sim->output_count];
    weir_output_close(last->output);
    fake_io_free(last->disk);
    *last = (struct sim_output){0};
}

/* The next one, on the disk that was chosen for it. 0, or -errno with err and that disk is gone. */
static int open_output(struct sim *sim, bool in_setup, struct weir_error *err)
{
    static const uint8_t head[SIM_HEAD_BYTES];
    struct sim_output *next = &sim->outputs[sim->output_count++];
    sim_memory_begin(&sim->memory, in_setup);
    int result =
        weir_pipeline_open_output(&sim->rig.pipeline, "/dev/null", NULL, fake_io_ops(next->disk), &next->output, err);
    weir_assert(result == 0 || err->what[0]);
    if (result == 0)
        result = weir_output_write_head(next->output, head, sizeof(head));
    sim_memory_end(&sim->memory);
    if (result < 0)
        drop_output(sim);
    else
        sim_disk_break(&sim->random, next->disk, sim->pwritev_queue); /* what comes before is not this test's */
    return result;
}

/* As weir_snapshots_begin() has it; here nobody is in the middle of a record. */
static void pause_rings(void *ctx, bool paused)
{
    struct sim *sim = ctx;
    weir_event_set_pause(&sim->rig.set, WEIR_PAUSE_SNAPSHOT, paused);
}

static int prepare(struct sim *sim, struct weir_error *err)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    int result = open_output(sim, true, err);
    if (result < 0)
        return result;
    sim_memory_begin(&sim->memory, true);
    result = weir_ledger_reserve(&sim->rig.set, &sim->told, &sim->result);
    if (result == 0)
        result = weir_pipeline_prepare(pipeline, sim->outputs[0].output, err);
    sim_memory_end(&sim->memory);
    if (result < 0)
        return result;
    if (sim->overwrites) {
        pipeline->rounds.pause = pause_rings;
        pipeline->rounds.pause_ctx = sim;
    }
    /* Rounds after little enough to have several. */
    pipeline->writer.round_due.setup.bytes = 1 + chance(sim, 1u << 20);
    pipeline->writer.round_due.setup.patient_bytes = 1 + chance(sim, 1u << 20);
    uint64_t mark_bytes = 1 + sim_chance(&sim->fault_random, 16 * 1024);
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        pipeline->readers[i]->marks.bytes = pipeline->readers[i]->marks.bytes > 0 ? mark_bytes : 0;
    return 0;
}

/* What a recording writes before its events: in one piece, while the pool is free. */
static void synthesize(struct sim *sim, uint64_t time_ns)
{
    struct weir_buf records = WEIR_BUF_INIT;
    uint64_t count = 1 + chance(sim, 100);
    size_t trailer_bytes = TRAILER_BYTES - (sim->rig.config.without_ids ? ID_BYTES : 0);
    sim->synthesized += count;
    for (uint64_t n = 0; n < count; n++)
        weir_record_comm(&records, (pid_t)n + 1, (pid_t)n + 1, "a", 0, trailer_bytes);
    weir_assert(weir_buf_error(&records) == 0);
    for (size_t end = records.used / count; time_ns > 0 && end <= records.used; end += records.used / count)
        memcpy(records.data + end - trailer_bytes + TRAILER_TIME_OFFSET, &time_ns, sizeof(time_ns));
    weir_pipeline_emit(&sim->rig.pipeline, records.data, records.used);
    weir_buf_fini(&records);
}

/* 0, or -errno with err: then there is nothing to be run, and sim_fini() has to be called all the same. */
static int sim_init(struct sim *sim, uint64_t seed, struct weir_error *err)
{
    memset(sim, 0, sizeof(*sim));
    sim->seed = sim->random.state = seed;
    sim->fault_random.state = ~seed;
    sim_memory_choose(&sim->memory, &sim->fault_random);
    sim_clock_choose(&sim->fake_clock, &sim->fault_random);
    sim->clock = sim_clock_interface(&sim->fake_clock);
    choose_disk(sim);
    int result = choose_machine(sim, err);
    if (result < 0) {
        fake_io_free(sim->outputs[0].disk);
        return result;
    }
    result = prepare(sim, err);
    if (result < 0)
        return result;
    for (unsigned act = 0; act < ACT_MEMORY; act++)
        sim->weights[act] = 1 + chance(sim, 40);
    sim->weights[ACT_STALL] = chance(sim, 4);
    sim->weights[ACT_CPU] = chance(sim, 4);
    sim->weights[ACT_SNAPSHOT] = sim->retains || sim->overwrites ? chance(sim, 8) : 0;
    sim->weights[ACT_SWITCH] = chance(sim, 3);
    if (sim->rig.config.without_ids) /* a recording that switches its output has ids */
        sim->weights[ACT_SWITCH] = 0;
    sim->weights[ACT_MEMORY] = sim->growing ? sim_chance(&sim->fault_random, 3) : 0;
    sim->lonely = sim_chance(&sim->fault_random, 3) == 0 ? 2 + (unsigned)sim_chance(&sim->fault_random, 300) : 0;
    sim->lags = !sim->retains && !sim->overwrites && sim->fake_clock.kind == SIM_TIME_FLOWS &&
                sim_chance(&sim->fault_random, 3) > 0;
    synthesize(sim, 0);
    weir_event_set_enable(&sim->rig.set, false);
    return 0;
}

static void sim_fini(struct sim *sim)
{
    weir_record_result_fini(&sim->result);
    for (unsigned i = 0; i < sim->output_count; i++)
        weir_output_close(sim->outputs[i].output);
    sim_rig_fini(&sim->rig);
    for (size_t i = 0; i < SIM_STREAMS_MAX; i++)
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
    sim->cpu_changes++;
    sim->offline[cpu] = !sim->offline[cpu];
    if (sim->offline[cpu]) {
        sim_rig_take_cpu(&sim->rig, cpu);
        return;
    }
    struct weir_error err = {0};
    sim_memory_begin(&sim->memory, false);
    int result = sim_rig_try_bring_cpu(&sim->rig, cpu, &err);
    sim_memory_end(&sim->memory);
    if (result < 0) { /* it is not recorded, until it has gone and comes again */
        weir_assert(sim->memory.has_failed);
        sim->cpus_refused++;
        sim->offline[cpu] = true;
        sim_rig_take_cpu(&sim->rig, cpu);
        return;
    }
    sim->was_there[cpu] = true;
    for (unsigned event = 0; event < sim->event_count; event++)
        end_life(sim, (size_t)cpu * sim->event_count + event);
}

static void produce_one(struct sim *sim, unsigned cpu, unsigned event)
{
    struct stream *stream = &sim->streams[cpu * sim->event_count + event];
    if (sim->offline[cpu])
        return;
    int fd = sim_rig_fd(&sim->rig, event, cpu);
    uint64_t now_ns = sim->fake_clock.now_ns - (sim->lags ? sim_chance(&sim->fault_random, WEIR_ROUND_GRACE_NS) : 0);
    if (stream->sideband) {
        char comm[TRAILER_BYTES];
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

/* Where the others rest, but for now and then, the records of one CPU make up rounds of their own. */
static unsigned choose_cpu(struct sim *sim)
{
    unsigned cpu = (unsigned)chance(sim, sim->rig.set.place_count);
    if (sim->lonely == 0 || sim_chance(&sim->fault_random, sim->lonely) == 0)
        sim->favorite = cpu;
    return sim->favorite;
}

static unsigned choose_event(struct sim *sim)
{
    unsigned event = (unsigned)chance(sim, sim->event_count);
    bool stays = sim->lonely == 0 || sim_chance(&sim->fault_random, sim->lonely) == 0;
    return stays || event != weir_event_set_sideband(&sim->rig.set) ? event : 0;
}

static void produce(struct sim *sim)
{
    unsigned cpu = choose_cpu(sim);
    for (uint64_t burst = 1 + chance(sim, 12); burst > 0; burst--) {
        produce_one(sim, cpu, choose_event(sim));
        sim_clock_pass(&sim->fake_clock, chance(sim, 2000));
    }
}

static void advance_rounds(struct sim *sim)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    weir_pipeline_take_kick(pipeline);
    if (chance(sim, 4) == 0)
        weir_rounds_want(&pipeline->rounds, chance(sim, 2) == 0);
    sim_memory_begin(&sim->memory, false); /* for what stands at a cut */
    weir_rounds_advance(&pipeline->rounds, weir_clock_now_ns(&sim->clock));
    sim_memory_end(&sim->memory);
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
    if (data_bytes > 0 && is_new && count < SIM_CHECKPOINTS_MAX)
        current->checkpoints[current->checkpoint_count++] = data_bytes;
}

static void write_step(struct sim *sim)
{
    unsigned allocations = failing_alloc_seen();
    weir_writer_step(&sim->rig.pipeline.writer, 0);
    weir_assert(failing_alloc_seen() == allocations); /* nothing on the data path allocates */
    note_checkpoint(sim);
}

static bool read_step(struct weir_reader *reader)
{
    unsigned allocations = failing_alloc_seen();
    bool stopped = weir_reader_step(reader) == WEIR_READER_STOPPED;
    weir_assert(failing_alloc_seen() == allocations); /* nothing on the data path allocates */
    return stopped;
}

/* ---- rotation, as engine/files/file_series_rotation.c does it ---- */

static void stall_all(struct sim *sim)
{
    for (unsigned i = 0; i < sim->output_count; i++)
        fake_io_stall(sim->outputs[i].disk, sim->stalled);
}

static void fit_losses(void *ctx, uint64_t lost_reported)
{
    struct sim *sim = ctx;
    weir_ledger_hold_back(&sim->told, lost_reported, &sim->losses);
    weir_record_rename(&sim->rig.set, sim->losses.data, sim->losses.used);
    weir_writer_rotation_set_records(&sim->order, sim->losses.data, sim->losses.used);
}

static void order_switch(void *ctx)
{
    struct sim *sim = ctx;
    weir_buf_reset(&sim->losses);
    if (weir_ledger_tell_losses(&sim->rig.set, &sim->told, &sim->losses) < 0) {
        weir_buf_reset(&sim->losses);
        sim->untold_then = true;
    }
    weir_writer_rotation_init(&sim->order, sim->outputs[sim->output_count - 1].output);
    weir_writer_rotation_set_records(&sim->order, sim->losses.data, sim->losses.used);
    sim->order.fit_records = fit_losses;
    sim->order.fit_ctx = sim;
    weir_writer_rotation_push(&sim->order, &sim->rig.pipeline.queue);
    sim->cutting = false;
    sim->changing = sim->opening = true;
}

static void begin_switch(struct sim *sim)
{
    if (sim->cutting || sim->changing || sim->output_count == SIM_OUTPUTS_MAX)
        return;
    struct weir_error err = {0};
    choose_disk(sim);
    if (open_output(sim, false, &err) < 0) { /* there is no switch */
        weir_assert(sim->memory.has_failed);
        sim->outputs_refused++;
        return;
    }
    stall_all(sim);
    sim->cutting = true;
    weir_rounds_cut(&sim->rig.pipeline.rounds, order_switch, sim);
}

static void advance_switch(struct sim *sim)
{
    if (!sim->changing || !weir_writer_rotation_has_begun(&sim->order))
        return;
    const struct weir_pool *pool = &sim->rig.pipeline.pool;
    if (sim->opening && weir_pool_free_count(pool) > pool->reserve) { /* emit() would wait */
        synthesize(sim, RECORDED_LONG_AGO_NS);
        weir_rounds_resume(&sim->rig.pipeline.rounds, weir_clock_now_ns(&sim->clock));
        sim->opening = false;
    }
    if (!sim->opening && weir_writer_rotation_is_done(&sim->order)) {
        sim_count_unwritten(sim, &sim->outputs[sim->output_count - 2], &sim->order.account);
        sim->changing = false;
    }
}

/* Takes back a switch that waits for its cut; sees any other through. */
static bool settle_switch(struct sim *sim)
{
    if (sim->cutting) {
        weir_rounds_resume(&sim->rig.pipeline.rounds, weir_clock_now_ns(&sim->clock));
        drop_output(sim);
        sim->cutting = false;
    }
    for (unsigned n = 0; sim->changing && n < STILL_MAX; n++) {
        write_step(sim);
        advance_switch(sim);
    }
    return !sim->changing || sim_fail(sim, "a switch does not end");
}

/* ---- memory ---- */

/* What the pool's own thread does, or the coordinator when it is asked for the spare of a snapshot. */
static void get_memory(struct sim *sim)
{
    struct weir_pipeline *pipeline = &sim->rig.pipeline;
    if (!sim->growing || (!sim->retains && !weir_pool_wants_growth(&pipeline->pool)))
        return;
    sim_memory_begin(&sim->memory, false);
    int result = sim->retains ? weir_pipeline_make_spare(pipeline) : weir_pool_grow(&pipeline->pool);
    sim_memory_end(&sim->memory);
    weir_assert(result == 0 || sim->memory.has_failed);
    sim->growths += result == 0;
    /* The thread ends when there is no memory; a spare may be asked for again. */
    sim->growing = sim->retains ? !weir_pipeline_has_spare(pipeline)
                                : result == 0 && pipeline->pool.ready_count < pipeline->pool.chunk_count;
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
    sim_clock_pass(&sim->fake_clock, chance(sim, 1000));
    switch ((enum action)act) {
    case ACT_PRODUCE:
        produce(sim);
        break;
    case ACT_READ:
        read_step(sim->rig.pipeline.readers[chance(sim, sim->rig.pipeline.reader_count)]);
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
    case ACT_MEMORY:
        get_memory(sim);
        break;
    case ACT_SNAPSHOT:
        weir_rounds_snapshot(&sim->rig.pipeline.rounds); /* or busy */
        break;
    default:
        sim_clock_pass(&sim->fake_clock,
                       chance(sim, 8) ? chance(sim, 4 * WEIR_NS_PER_MS) : chance(sim, 2 * WEIR_NS_PER_S));
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
    bool stopped[SIM_CPUS_MAX] = {false};
    unsigned running = pipeline->reader_count;
    for (unsigned n = 0; running > 0 && n < STILL_MAX; n++) {
        unsigned i = (unsigned)chance(sim, pipeline->reader_count);
        if (!stopped[i] && read_step(pipeline->readers[i])) {
            stopped[i] = true;
            running--;
        }
        write_step(sim);
    }
    return running == 0 || sim_fail(sim, "%u readers do not stop", running);
}

static bool finish_writing(struct sim *sim)
{
    for (unsigned n = 0; n < STILL_MAX; n++) {
        if (weir_writer_is_idle(&sim->rig.pipeline.writer))
            return true;
        write_step(sim);
    }
    return sim_fail(sim, "the writer does not get idle");
}

static bool emit_losses(struct sim *sim)
{
    struct weir_buf lost = WEIR_BUF_INIT;
    sim_memory_begin(&sim->memory, false);
    int code = weir_ledger_collect(&sim->rig.set, &sim->rig.pipeline, &sim->result, &sim->told, &lost);
    sim_memory_end(&sim->memory);
    weir_record_rename(&sim->rig.set, lost.data, lost.used);
    if (code == 0 && lost.used > 0)
        weir_pipeline_emit(&sim->rig.pipeline, lost.data, lost.used);
    weir_buf_fini(&lost);
    sim->untold = code == -ENOMEM && sim->memory.has_failed;
    return code == 0 || sim->untold || sim_fail(sim, "the ledger is %d", code);
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
    sim_count_unwritten(sim, &sim->outputs[sim->output_count - 1], &sim->rig.pipeline.writer.account);
    weir_ledger_fill_totals(&sim->rig.pipeline, &sim->result);
    return true;
}

static unsigned open_descriptors(void)
{
    struct pollfd fds[FDS_MOST];
    unsigned open = 0;
    for (int fd = 0; fd < FDS_MOST; fd++)
        fds[fd] = (struct pollfd){.fd = fd};
    poll(fds, FDS_MOST, 0);
    for (int fd = 0; fd < FDS_MOST; fd++)
        open += !(fds[fd].revents & POLLNVAL);
    return open;
}

static bool run_all(struct sim *sim, struct totals *totals)
{
    for (uint64_t steps = 50 + chance(sim, 1500); steps > 0; steps--)
        step(sim);
    for (size_t i = 0; i < sim_stream_count(sim); i++)
        end_life(sim, i);
    return end(sim) && sim_check(sim, totals);
}

static bool run_seed(void *ctx, uint64_t seed)
{
    static struct sim sim;
    struct totals *totals = ctx;
    struct weir_error err = {0};
    unsigned open_before = open_descriptors();
    int result = sim_init(&sim, seed, &err);
    bool holds = result == 0 ? run_all(&sim, totals) : sim.memory.has_failed;
    if (result < 0 && !holds)
        sim_fail(&sim, "cannot be set up: %d %s", result, err.what);
    totals->set_ups_refused += result < 0;
    totals->memory_failed += sim.memory.has_failed;
    totals->growths += sim.growths;
    totals->cpus_refused += sim.cpus_refused;
    totals->outputs_refused += sim.outputs_refused;
    totals->returns += sim.rig.returns;
    totals->untold += sim.untold_then + sim.untold;
    totals->times[sim.fake_clock.kind]++;
    sim_fini(&sim);
    unsigned open_after = open_descriptors();
    return holds &&
           (open_after == open_before || sim_fail(&sim, "%u descriptors are left open", open_after - open_before));
}

/* ---- main ---- */

/* With so many seeds each thing that is counted happens: one that never does is a check that is none. */
#define SEEDS_OF_EVERYTHING 1000u

static bool has_all_happened(const struct totals *totals)
{
    uint64_t counts[sizeof(*totals) / sizeof(uint64_t)];
    bool has = true;
    _Static_assert(sizeof(counts) == sizeof(*totals), "nothing but counts");
    memcpy(counts, totals, sizeof(counts));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(counts); i++) {
        has &= counts[i] > 0;
        if (counts[i] == 0)
            printf("count %zu of the totals is 0: that has never happened\n", i);
    }
    return has;
}

int main(int argc, char **argv)
{
    struct totals totals = {0};
    uint64_t count, failures = seeds_run(argc, argv, SEEDS_DEFAULT, run_seed, &totals, &count);
    printf("%llu seeds: produced %llu, lost %llu in full rings (starved %llu times) and %llu on %llu failed disks, "
           "%llu evicted, %llu bytes overwritten, %llu snapshots, %llu rounds, %llu checkpoints, %llu bytes of "
           "padding, %llu bytes compressed and %llu not, %llu CPUs gone or come (%llu returns told), %llu switches, "
           "%llu shed, %llu stacks "
           "cut; memory failed %llu seeds: %llu set-ups, %llu outputs, %llu CPUs that came, %llu times to tell of "
           "losses; pools grew %llu times; %llu marks became rounds, %llu within a ring, %llu markers became padding; "
           "clocks: "
           "%llu flow, %llu stand, %llu tick, %llu leap, %llu creep\n",
           (unsigned long long)count, (unsigned long long)totals.produced, (unsigned long long)totals.lost_ring_full,
           (unsigned long long)totals.starved, (unsigned long long)totals.lost_write_failed,
           (unsigned long long)totals.failed_disks, (unsigned long long)totals.evicted,
           (unsigned long long)totals.overwritten_bytes, (unsigned long long)totals.snapshots,
           (unsigned long long)totals.rounds, (unsigned long long)totals.checkpoints,
           (unsigned long long)totals.padding_bytes, (unsigned long long)totals.compressed_bytes,
           (unsigned long long)totals.raw_bytes, (unsigned long long)totals.cpu_changes,
           (unsigned long long)totals.returns, (unsigned long long)totals.switches, (unsigned long long)totals.shed,
           (unsigned long long)totals.trimmed, (unsigned long long)totals.memory_failed,
           (unsigned long long)totals.set_ups_refused, (unsigned long long)totals.outputs_refused,
           (unsigned long long)totals.cpus_refused, (unsigned long long)totals.untold,
           (unsigned long long)totals.growths, (unsigned long long)totals.marks,
           (unsigned long long)totals.marks_within, (unsigned long long)totals.turned_down,
           (unsigned long long)totals.times[SIM_TIME_FLOWS], (unsigned long long)totals.times[SIM_TIME_STANDS],
           (unsigned long long)totals.times[SIM_TIME_TICKS], (unsigned long long)totals.times[SIM_TIME_LEAPS],
           (unsigned long long)totals.times[SIM_TIME_CREEPS]);
    failures += count >= SEEDS_OF_EVERYTHING && !has_all_happened(&totals);
    return seeds_end(failures);
}
