#include "engine/files/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/files/ledger.h"
#include "engine/kernel/timer.h"

#define NS_PER_US 1000u
#define PER_MILLE 1000u

#define LOOK_AFTER_NS (100 * WEIR_NS_PER_MS) /* readers that sleep have drained their rings by then */

enum moment {
    AT_A_TICK,     /* the record may wait for the next tick */
    AT_A_ROTATION, /* the record belongs to the ending file, but nobody waits for a free chunk */
    AT_THE_END,    /* no later record comes */
};

/* ---- life ---- */

static unsigned reader_count(const struct weir_timeline *timeline)
{
    return timeline->setup.pipeline->reader_count;
}

/* Number of records of an interval in which all readers have done something. */
static unsigned part_count(const struct weir_timeline *timeline)
{
    return (reader_count(timeline) + WEIR_TIMELINE_READERS_MAX - 1) / WEIR_TIMELINE_READERS_MAX;
}

/* Names the CPUs whose data rings the reader drains by now: rings of late CPUs come later. */
static void note_cpus(const struct weir_pipeline *pipeline, const struct weir_reader *reader,
                      struct weir_timeline_reader *entry)
{
    entry->first_cpu = WEIR_TIMELINE_NO_CPU;
    entry->cpu_count = 0;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        int cpu = pipeline->setup.places[r->place].cpu;
        if (r->sideband || cpu < 0 || weir_reader_ring_is_dormant(r))
            continue;
        entry->first_cpu = (uint16_t)weir_min_u64(entry->first_cpu, (unsigned)cpu);
        entry->cpu_count++;
    }
}

static void set_timer(struct weir_timeline *timeline, uint64_t due_ns)
{
    timeline->due_ns = due_ns;
    weir_timer_set_at(timeline->timer_fd, due_ns);
}

static void note_delay(struct weir_timeline *timeline, uint64_t now_ns)
{
    uint64_t delay_ns = now_ns > timeline->due_ns ? now_ns - timeline->due_ns : 0;
    timeline->longest_delay_ns = weir_max_u64(timeline->longest_delay_ns, delay_ns);
}

/* Time between two epochs that the timeline asks for: no less than where epochs are to be further apart. */
static uint64_t period_ns(const struct weir_timeline *timeline)
{
    return weir_max_u64(WEIR_TIMELINE_PERIOD_NS, timeline->setup.pipeline->setup.epoch_ns);
}

/* Readers publish their counters when they pass an epoch. So the timer asks for an epoch first, and looks a little
 * later. The epoch takes the place of the next one that nobody asks for: there are no more of them. */
static void on_timer(void *ctx, short revents)
{
    struct weir_timeline *timeline = ctx;
    uint64_t now_ns = weir_clock_now_ns(timeline->setup.clock);
    (void)revents;
    weir_timer_drain(timeline->timer_fd);
    note_delay(timeline, now_ns);
    if (timeline->is_asked)
        weir_timeline_tick(timeline);
    else
        weir_rounds_want(&timeline->setup.pipeline->rounds, false);
    timeline->is_asked = !timeline->is_asked;
    if (!timeline->is_asked)
        timeline->asking_ns = weir_max_u64(timeline->asking_ns + period_ns(timeline), now_ns);
    set_timer(timeline, timeline->is_asked ? now_ns + LOOK_AFTER_NS : timeline->asking_ns);
}

static int start_timer(struct weir_timeline *timeline)
{
    if (!timeline->setup.sources)
        return 0;
    timeline->timer_fd = weir_timer_open();
    if (timeline->timer_fd < 0)
        return timeline->timer_fd;
    timeline->asking_ns = weir_clock_now_ns(timeline->setup.clock) + period_ns(timeline) - LOOK_AFTER_NS;
    set_timer(timeline, timeline->asking_ns);
    return weir_poll_set_add(timeline->setup.sources, timeline->timer_fd, POLLIN, on_timer, timeline);
}

int weir_timeline_start(struct weir_timeline *timeline, const struct weir_timeline_setup *setup, struct weir_error *err)
{
    timeline->setup = *setup;
    timeline->told = calloc(reader_count(timeline), sizeof(*timeline->told));
    timeline->now = calloc(reader_count(timeline), sizeof(*timeline->now));
    timeline->entries =
        calloc(weir_min_u64(reader_count(timeline), WEIR_TIMELINE_READERS_MAX), sizeof(*timeline->entries));
    timeline->begun_ns = calloc(part_count(timeline), sizeof(*timeline->begun_ns));
    if (!timeline->told || !timeline->now || !timeline->entries || !timeline->begun_ns)
        return weir_error_set_errno(err, -ENOMEM, "cannot begin the timeline");
    for (unsigned part = 0; part < part_count(timeline); part++)
        timeline->begun_ns[part] = weir_clock_now_ns(setup->clock);
    int result = start_timer(timeline);
    return result < 0 ? weir_error_set_errno(err, result, "cannot set a timer for the timeline") : 0;
}

void weir_timeline_fini(struct weir_timeline *timeline)
{
    if (!timeline)
        return;
    if (timeline->timer_fd >= 0)
        close(timeline->timer_fd);
    free(timeline->told);
    free(timeline->now);
    free(timeline->entries);
    free(timeline->begun_ns);
    weir_buf_fini(&timeline->record);
    *timeline = (struct weir_timeline)WEIR_TIMELINE_INIT;
}

/* ---- reading ---- */

/* Relaxed: each number stands for itself, and no other data depends on it. */
static uint64_t read_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* The sum of the LOST records in the reader's data rings, or in its sideband rings. */
static uint64_t lost(const struct weir_reader *reader, bool sideband)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        sum += r->sideband == sideband ? read_word(&r->told_lost) : 0;
    }
    return sum;
}

/* Reads the counters of a reader since the last record. */
static void read_reader(struct weir_timeline *timeline, unsigned number)
{
    struct weir_reader *reader = timeline->setup.pipeline->readers[number];
    const struct weir_timeline_reader *told = &timeline->told[number];
    struct weir_timeline_reader *now = &timeline->now[number];
    now->reader = (uint16_t)number;
    note_cpus(timeline->setup.pipeline, reader, now);
    now->fullest_per_mille = (uint16_t)weir_max_u64(now->fullest_per_mille, weir_reader_take_fullest(reader));
    now->wakeups = (uint32_t)read_word(&reader->handed_wakeups) - told->wakeups; /* modulo 2^32, as the next */
    now->waits = (uint32_t)read_word(&reader->starved_steps) - told->waits;
    now->bytes = read_word(&reader->drained_bytes) - told->bytes;
    now->samples = read_word(&reader->handed_samples) - told->samples;
    now->lost_ring_full = lost(reader, false) - told->lost_ring_full;
    now->lost_waiting = read_word(&reader->handed_starved) - told->lost_waiting;
    now->lost_side = lost(reader, true) - told->lost_side;
    now->shed = read_word(&reader->shedder.shed_samples) - told->shed;
}

static void read_readers(struct weir_timeline *timeline)
{
    for (unsigned i = 0; i < reader_count(timeline); i++)
        read_reader(timeline, i);
}

static bool has_changed(const struct weir_timeline_reader *now)
{
    return now->waits > 0 || now->bytes > 0 || now->lost_ring_full > 0 || now->lost_side > 0 || now->shed > 0;
}

static void add_told(struct weir_timeline_reader *told, struct weir_timeline_reader *now)
{
    told->wakeups += now->wakeups;
    told->waits += now->waits;
    told->bytes += now->bytes;
    told->samples += now->samples;
    told->lost_ring_full += now->lost_ring_full;
    told->lost_waiting += now->lost_waiting;
    told->lost_side += now->lost_side;
    told->shed += now->shed;
    now->fullest_per_mille = 0;
}

static uint64_t newest_sample_ns(const struct weir_pipeline *pipeline)
{
    uint64_t newest_ns = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        newest_ns = weir_max_u64(newest_ns, read_word(&pipeline->readers[i]->drained_newest_ns));
    return newest_ns;
}

static uint32_t micros(uint64_t ns)
{
    return (uint32_t)weir_min_u64(ns / NS_PER_US, UINT32_MAX);
}

/* Fills the figures of pool and output since the last record. */
static void read_output(struct weir_timeline *timeline, struct weir_timeline_interval *interval)
{
    struct weir_pipeline *pipeline = timeline->setup.pipeline;
    const struct weir_pool *pool = &pipeline->pool;
    struct weir_writer *writer = &pipeline->writer;
    timeline->latencies = read_word(&writer->told_latencies);
    timeline->latency_ns = read_word(&writer->told_latency_ns);
    uint64_t count = timeline->latencies - timeline->told_latencies;
    uint64_t sum_ns = timeline->latency_ns - timeline->told_latency_ns;
    /* Relaxed: as the fullest ring of a reader, in reader.h. */
    uint64_t longest_ns = atomic_exchange_explicit(&writer->longest_latency_ns, 0, memory_order_relaxed);
    timeline->longest_latency_ns = weir_max_u64(timeline->longest_latency_ns, longest_ns);
    interval->output_bytes = read_word(&writer->told_bytes) - timeline->written.output_bytes;
    interval->lost_write_failed = read_word(&writer->told_failed) - timeline->written.lost_write_failed;
    interval->latency_mean_us = count > 0 ? micros(sum_ns / count) : 0;
    interval->latency_max_us = micros(timeline->longest_latency_ns);
    interval->pool_per_mille = (uint32_t)((uint64_t)weir_pool_used_count(pool) * PER_MILLE / pool->chunk_count);
}

/* ---- writing ---- */

/* The entries of readers that have done something, from the range of one record, with the record around them. Returns
 * the number of entries. */
static size_t build_record(struct weir_timeline *timeline, const struct weir_timeline_interval *interval, unsigned part)
{
    struct weir_timeline_reader *entries = timeline->entries;
    size_t count = 0;
    unsigned first = part * WEIR_TIMELINE_READERS_MAX;
    unsigned end = (unsigned)weir_min_u64(first + WEIR_TIMELINE_READERS_MAX, reader_count(timeline));
    for (unsigned i = first; i < end; i++) {
        if (has_changed(&timeline->now[i]))
            entries[count++] = timeline->now[i];
    }
    weir_buf_reset(&timeline->record);
    weir_record_timeline(&timeline->record, interval, entries, count);
    return count;
}

/* Whether the file has room for one record more (see WEIR_TIMELINE_SHARE). */
static bool is_affordable(const struct weir_timeline *timeline, uint64_t output_bytes)
{
    uint64_t file_bytes = output_bytes - weir_min_u64(output_bytes, timeline->file_begun_bytes);
    uint64_t budget = WEIR_TIMELINE_FREE_BYTES + file_bytes / WEIR_TIMELINE_SHARE;
    return timeline->timeline_bytes + timeline->record.used <= budget;
}

static bool send(struct weir_timeline *timeline, enum moment moment)
{
    struct weir_pipeline *pipeline = timeline->setup.pipeline;
    const struct weir_buf *record = &timeline->record;
    if (weir_buf_error(record) < 0)
        return false;
    if (moment != AT_THE_END)
        return weir_pipeline_try_emit(pipeline, record->data, record->used);
    weir_pipeline_emit(pipeline, record->data, record->used); /* a failed output is reported elsewhere */
    return true;
}

static void add_record(struct weir_timeline *timeline, const struct weir_timeline_interval *interval, unsigned part)
{
    unsigned first = part * WEIR_TIMELINE_READERS_MAX;
    unsigned end = (unsigned)weir_min_u64(first + WEIR_TIMELINE_READERS_MAX, reader_count(timeline));
    for (unsigned i = first; i < end; i++) {
        if (has_changed(&timeline->now[i]))
            add_told(&timeline->told[i], &timeline->now[i]);
    }
    timeline->begun_ns[part] = interval->end_ns;
    timeline->timeline_bytes += timeline->record.used;
    timeline->written.output_bytes += interval->output_bytes;
    timeline->written.lost_write_failed += interval->lost_write_failed;
    if (part > 0)
        return;
    timeline->told_latencies = timeline->latencies;
    timeline->told_latency_ns = timeline->latency_ns;
    timeline->longest_latency_ns = 0;
}

/* Writes one record of the interval that ends now, unless nothing has changed. */
static void write_part(struct weir_timeline *timeline, uint64_t now_ns, unsigned part, enum moment moment)
{
    struct weir_timeline_interval interval = {
        .begin_ns = timeline->begun_ns[part],
        .end_ns = now_ns,
        .newest_sample_ns = newest_sample_ns(timeline->setup.pipeline),
        .continues = part > 0,
    };
    if (part == 0)
        read_output(timeline, &interval);
    uint64_t output_bytes = timeline->written.output_bytes + interval.output_bytes;
    if (build_record(timeline, &interval, part) == 0 && interval.lost_write_failed == 0) {
        timeline->begun_ns[part] = now_ns;
        return;
    }
    if ((moment != AT_A_TICK || is_affordable(timeline, output_bytes)) && send(timeline, moment))
        add_record(timeline, &interval, part);
}

/* Writes the interval that ends now, after read_readers(). */
static void write_interval(struct weir_timeline *timeline, enum moment moment)
{
    uint64_t now_ns = weir_clock_now_ns(timeline->setup.clock);
    for (unsigned part = 0; part < part_count(timeline); part++)
        write_part(timeline, now_ns, part, moment);
}

void weir_timeline_tick(struct weir_timeline *timeline)
{
    const struct weir_pipeline *pipeline = timeline->setup.pipeline;
    /* Relaxed: a hint. */
    if (atomic_load_explicit(&pipeline->writer.full, memory_order_relaxed))
        return;
    read_readers(timeline);
    write_interval(timeline, AT_A_TICK);
}

void weir_timeline_end_file(struct weir_timeline *timeline)
{
    const struct weir_writer *writer = &timeline->setup.pipeline->writer;
    read_readers(timeline);
    write_interval(timeline, AT_A_ROTATION);
    /* Relaxed: the budget needs no exact number. */
    timeline->file_begun_bytes = atomic_load_explicit(&writer->told_bytes, memory_order_relaxed);
    timeline->timeline_bytes = 0;
}

/* ---- the end ---- */

/* Adds the losses of a reader's rings that no LOST record has told. */
static void add_untold(struct weir_timeline_reader *now, const struct weir_reader *reader,
                       const struct weir_record_result *result)
{
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        uint64_t untold = weir_ledger_untold(r, result);
        *(r->sideband ? &now->lost_side : &now->lost_ring_full) += untold;
        now->lost_waiting += r->starved && !r->sideband ? untold : 0;
    }
}

void weir_timeline_end(struct weir_timeline *timeline, const struct weir_record_result *result)
{
    if (!timeline->begun_ns)
        return;
    if (timeline->timer_fd >= 0)
        note_delay(timeline, weir_clock_now_ns(timeline->setup.clock));
    read_readers(timeline);
    for (unsigned i = 0; i < reader_count(timeline); i++)
        add_untold(&timeline->now[i], timeline->setup.pipeline->readers[i], result);
    write_interval(timeline, AT_THE_END);
}
