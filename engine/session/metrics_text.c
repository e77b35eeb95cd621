/* Sums counters by node or CPU, and writes families of metrics. Source of the text: OpenMetrics 1.0, "Text format". */
#include "engine/session/metrics_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/plan/machine_facts.h"
#include "topology/topology.h"

#define PER_MILLE  1000
#define NO_GROUP   (-1)
#define NO_CPU     (-1)
#define US_PER_S   1e6
#define NAME_BYTES 256 /* of a label's value, with escapes */

/* The figures of one NUMA node, of one CPU, or of all tasks of a recording by task. */
struct group {
    bool present;                                       /* a ring is or was mapped */
    int node;                                           /* -1: of tasks, which run on any node */
    int cpu;                                            /* NO_CPU: of a node */
    uint64_t samples, lost, waiting, side_lost;         /* as of the last step that readers tell of */
    uint64_t handed, shed, bytes, wakeups, empty_pools; /* likewise */
};

struct gathering {
    const struct weir_status_sources *sources;
    const struct weir_metrics_form *form;
    const struct weir_record_result *result; /* NULL: data flows */
    struct weir_buf *out;
    char recording[NAME_BYTES]; /* escaped */
    struct group *groups;       /* owned */
    unsigned group_count;
    uint64_t *lost_of; /* owned; [2 * place + is of the sideband ring]: by the ledger; NULL: data flows */
};

/* Relaxed: each number stands for itself, and no other data depends on it. */
static uint64_t read_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

/* ---- groups ---- */

static unsigned group_of(const struct gathering *g, unsigned place)
{
    const struct weir_pipeline_setup *setup = &g->sources->pipeline->setup;
    int cpu = setup->places[place].cpu;
    if (cpu < 0)
        return 0;
    if (g->form->per_cpu)
        return place;
    const struct weir_topology_cpu *at = weir_topology_cpu(g->sources->plan->machine->topology, (unsigned)cpu);
    return at ? (unsigned)at->node : 0;
}

/* Puts a place into its group, which is then present. */
static struct group *enter_group(struct gathering *g, unsigned place)
{
    int cpu = g->sources->pipeline->setup.places[place].cpu;
    struct group *group = &g->groups[group_of(g, place)];
    group->present = true;
    group->cpu = g->form->per_cpu ? cpu : NO_CPU;
    group->node = -1;
    if (cpu < 0)
        return group;
    const struct weir_topology_cpu *at = weir_topology_cpu(g->sources->plan->machine->topology, (unsigned)cpu);
    group->node = at ? at->node : 0;
    return group;
}

/* The group of a reader is that of its first data ring, or of its first ring if it has sideband rings only. */
static int group_of_reader(const struct gathering *g, const struct weir_reader *reader)
{
    int found = NO_GROUP;
    for (unsigned i = 0; i < reader->rings.count; i++) {
        const struct weir_reader_ring *r = &reader->rings.at[i];
        if (weir_reader_ring_is_dormant(r))
            continue;
        if (!r->sideband)
            return (int)group_of(g, r->place);
        found = found == NO_GROUP ? (int)group_of(g, r->place) : found;
    }
    return found;
}

static void add_ring(struct gathering *g, const struct weir_reader_ring *r)
{
    struct group *group = enter_group(g, r->place);
    uint64_t lost = read_word(&r->told_lost);
    if (g->lost_of) { /* the kernel tells of a loss with the ring's next record, and there was none any more */
        uint64_t all = weir_max_u64(g->lost_of[2 * r->place + r->sideband], lost);
        group->waiting += r->starved && !r->sideband ? all - lost : 0;
        lost = all;
    }
    *(r->sideband ? &group->side_lost : &group->lost) += lost;
    group->samples += r->sideband ? 0 : read_word(&r->told_samples);
}

static void add_reader(struct gathering *g, const struct weir_reader *reader)
{
    for (unsigned i = 0; i < reader->rings.count; i++) {
        if (!weir_reader_ring_is_dormant(&reader->rings.at[i])) /* (ring-awake) */
            add_ring(g, &reader->rings.at[i]);
    }
    int number = group_of_reader(g, reader);
    if (number == NO_GROUP)
        return;
    struct group *group = &g->groups[number];
    group->handed += read_word(reader->retention ? &reader->snapshot_samples : &reader->handed_samples);
    group->waiting += read_word(&reader->handed_starved);
    group->shed += read_word(&reader->shedder.shed_samples);
    group->bytes += read_word(&reader->drained_bytes);
    group->wakeups += read_word(&reader->handed_wakeups);
    group->empty_pools += read_word(&reader->starved_steps);
}

/* Sums the losses in rings that the ledger has for each place. Its rows are in the order of places, of which some may
 * have none. */
static void sum_ledger(struct gathering *g)
{
    const struct weir_event_place *places = g->sources->pipeline->setup.places;
    unsigned place = 0;
    for (size_t i = 0; i < g->result->ledger_count; i++) {
        const struct weir_ledger_row *row = &g->result->ledger[i];
        while (place < g->sources->pipeline->setup.place_count &&
               (places[place].cpu != row->cpu || places[place].task != row->task))
            place++;
        if (place == g->sources->pipeline->setup.place_count)
            return;
        g->lost_of[2 * place + (row->event >= g->result->side_event)] += row->lost_ring_full;
    }
}

static int gather(struct gathering *g)
{
    const struct weir_pipeline *pipeline = g->sources->pipeline;
    unsigned nodes = weir_topology_node_limit(g->sources->plan->machine->topology);
    g->group_count = g->form->per_cpu ? pipeline->setup.place_count : nodes;
    g->groups = calloc(g->group_count, sizeof(*g->groups));
    if (g->result)
        g->lost_of = calloc(2 * (size_t)pipeline->setup.place_count, sizeof(*g->lost_of));
    if (!g->groups || (g->result && !g->lost_of))
        return -ENOMEM;
    if (g->lost_of)
        sum_ledger(g);
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        add_reader(g, pipeline->readers[i]);
    return 0;
}

/* ---- text ---- */

struct family {
    const char *name; /* of a counter without _total */
    const char *type;
    const char *unit; /* the end of the name; NULL: none */
    const char *help;
};

static void begin(const struct gathering *g, const struct family *family)
{
    weir_buf_printf(g->out, "# TYPE %s %s\n", family->name, family->type);
    if (family->unit)
        weir_buf_printf(g->out, "# UNIT %s %s\n", family->name, family->unit);
    weir_buf_printf(g->out, "# HELP %s %s\n", family->name, family->help);
}

/* Writes name and labels of a sample. group: NULL for a value of the whole recording. more: further labels, each with a
 * comma before it. */
static void label(const struct gathering *g, const char *name, const char *suffix, const struct group *group,
                  const char *more)
{
    weir_buf_printf(g->out, "%s%s{recording=\"%s\"", name, suffix, g->recording);
    if (group && group->node >= 0)
        weir_buf_printf(g->out, ",node=\"%d\"", group->node);
    if (group && group->cpu >= 0)
        weir_buf_printf(g->out, ",cpu=\"%d\"", group->cpu);
    weir_buf_printf(g->out, "%s} ", more);
}

static void count(const struct gathering *g, const char *name, const struct group *group, const char *more,
                  uint64_t value)
{
    label(g, name, "_total", group, more);
    weir_buf_printf(g->out, "%" PRIu64 "\n", value);
}

static void count_groups(const struct gathering *g, const struct family *family,
                         uint64_t (*value)(const struct group *group))
{
    begin(g, family);
    for (unsigned i = 0; i < g->group_count; i++) {
        if (g->groups[i].present)
            count(g, family->name, &g->groups[i], "", value(&g->groups[i]));
    }
}

static void count_all(const struct gathering *g, const struct family *family, uint64_t value)
{
    begin(g, family);
    count(g, family->name, NULL, "", value);
}

static void gauge(const struct gathering *g, const struct family *family, double value)
{
    begin(g, family);
    label(g, family->name, "", NULL, "");
    weir_buf_printf(g->out, "%.10g\n", value);
}

/* A histogram whose values are `per_unit` times those of the metric. Bounds are whole values of the histogram. */
struct histogram_form {
    const struct family *family;
    const uint64_t *bounds;
    size_t bound_count;
    double per_unit;
};

static void append_histogram(const struct gathering *g, const struct histogram_form *form, const struct group *group,
                             const struct weir_histogram *histogram, double sum)
{
    char bound[64];
    for (size_t i = 0; i < form->bound_count; i++) {
        snprintf(bound, sizeof(bound), ",le=\"%.10g%s\"", (double)form->bounds[i] / form->per_unit,
                 form->bounds[i] % (uint64_t)form->per_unit == 0 ? ".0" : ""); /* OpenMetrics wants a float */
        label(g, form->family->name, "_bucket", group, bound);
        weir_buf_printf(g->out, "%" PRIu64 "\n", weir_histogram_below(histogram, form->bounds[i]));
    }
    label(g, form->family->name, "_bucket", group, ",le=\"+Inf\"");
    weir_buf_printf(g->out, "%" PRIu64 "\n", histogram->count);
    label(g, form->family->name, "_count", group, "");
    weir_buf_printf(g->out, "%" PRIu64 "\n", histogram->count);
    label(g, form->family->name, "_sum", group, "");
    weir_buf_printf(g->out, "%.10g\n", sum / form->per_unit);
}

/* ---- families ---- */

static uint64_t produced_of(const struct group *group)
{
    return group->samples + group->lost + group->shed;
}

static uint64_t written_of(const struct group *group)
{
    return group->handed;
}

static uint64_t waiting_of(const struct group *group)
{
    return group->waiting;
}

static uint64_t side_lost_of(const struct group *group)
{
    return group->side_lost;
}

static uint64_t bytes_of(const struct group *group)
{
    return group->bytes;
}

static uint64_t wakeups_of(const struct group *group)
{
    return group->wakeups;
}

static uint64_t empty_pools_of(const struct group *group)
{
    return group->empty_pools;
}

static void append_lost(const struct gathering *g)
{
    static const struct family lost = {"weir_samples_lost", "counter", NULL, "Samples that are in no file, by cause."};
    begin(g, &lost);
    for (unsigned i = 0; i < g->group_count; i++) {
        const struct group *group = &g->groups[i];
        if (!group->present)
            continue;
        count(g, lost.name, group, ",cause=\"ring_full\"", group->lost);
        count(g, lost.name, group, ",cause=\"shed\"", group->shed);
    }
    count(g, lost.name, NULL, ",cause=\"write_failed\"", read_word(&g->sources->pipeline->writer.told_failed));
}

static void append_samples(const struct gathering *g)
{
    count_groups(g,
                 &(struct family){"weir_samples_produced", "counter", NULL,
                                  "Samples that the kernel has made or lost, as far as readers know."},
                 produced_of);
    count_groups(g,
                 &(struct family){"weir_samples_written", "counter", NULL,
                                  "Samples given to the output; those of failed writes are also in weir_samples_lost."},
                 written_of);
    append_lost(g);
    count_groups(g,
                 &(struct family){"weir_samples_lost_waiting", "counter", NULL,
                                  "Samples lost in full rings whose reader waited for the output, part of ring_full."},
                 waiting_of);
    count_groups(g,
                 &(struct family){"weir_side_records_lost", "counter", NULL,
                                  "Records of mappings, task names and forks that found no room in a ring."},
                 side_lost_of);
}

static void append_readers(const struct gathering *g)
{
    count_groups(g,
                 &(struct family){"weir_drained_bytes", "counter", "bytes", "Bytes that readers have read from rings."},
                 bytes_of);
    count_groups(
        g, &(struct family){"weir_reader_wakeups", "counter", NULL, "Times that a reader woke because of its rings."},
        wakeups_of);
    count_groups(g,
                 &(struct family){"weir_reader_empty_pools", "counter", NULL,
                                  "Times that a reader left records in a ring because no memory was free."},
                 empty_pools_of);
}

static void append_output(const struct gathering *g)
{
    const struct weir_pipeline *pipeline = g->sources->pipeline;
    const struct weir_writer *writer = &pipeline->writer;
    count_all(g,
              &(struct family){"weir_output_bytes", "counter", "bytes", "Bytes of data appended to all files so far."},
              read_word(&writer->told_bytes));
    count_all(g, &(struct family){"weir_rotations", "counter", NULL, "Files that another file has followed."},
              g->sources->files - 1);
    count_all(g, &(struct family){"weir_snapshots", "counter", NULL, "Snapshots of memory written to files."},
              pipeline->rounds.snapshots);
    gauge(g,
          &(struct family){"weir_output_failed", "gauge", NULL, "1 after the output has failed for good, otherwise 0."},
          atomic_load_explicit(&writer->error, memory_order_relaxed) < 0); /* relaxed: as in read_word() */
    gauge(g, &(struct family){"weir_output_full", "gauge", NULL, "1 while the output waits for space, otherwise 0."},
          atomic_load_explicit(&writer->full, memory_order_relaxed));
}

static void append_state(const struct gathering *g)
{
    const struct weir_pool *pool = &g->sources->pipeline->pool;
    gauge(g,
          &(struct family){"weir_recording_active", "gauge", NULL,
                           "1 while data flows, 0 in the text that a recording leaves behind."},
          g->result == NULL);
    gauge(
        g,
        &(struct family){"weir_recording_elapsed_seconds", "gauge", "seconds", "Time since events were first enabled."},
        (double)g->sources->elapsed_ns / (double)WEIR_NS_PER_S);
    if (g->sources->lease_left_ns > 0)
        gauge(g,
              &(struct family){"weir_lease_left_seconds", "gauge", "seconds",
                               "Time until the recording ends, unless a controller renews its lease."},
              (double)g->sources->lease_left_ns / (double)WEIR_NS_PER_S);
    gauge(g,
          &(struct family){"weir_pool_used_ratio", "gauge", "ratio",
                           "Part of the memory between readers and writer that is in use now."},
          (double)weir_pool_used_count(pool) / (double)pool->chunk_count);
}

static void append_latency(const struct gathering *g)
{
    static const uint64_t bounds_us[] = {1u << 8, 1u << 10, 1u << 12, 1u << 14, 1u << 16, 1u << 18, 1u << 20, 1u << 22};
    static const struct family latency = {"weir_write_latency_seconds", "histogram", "seconds",
                                          "Time from a reader's hand-over of a chunk to the end of its write."};
    const struct weir_writer *writer = &g->sources->pipeline->writer;
    struct weir_histogram latencies = {0};
    weir_shared_histogram_read(&writer->latency_us, &latencies);
    begin(g, &latency);
    append_histogram(g, &(struct histogram_form){&latency, bounds_us, WEIR_ARRAY_COUNT(bounds_us), US_PER_S}, NULL,
                     &latencies, (double)read_word(&writer->told_latency_ns) / (double)WEIR_NS_PER_US);
}

static void append_fill(const struct gathering *g)
{
    static const uint64_t bounds_per_mille[] = {128, 256, 384, 512, 640, 768, 896, 960};
    static const struct family fill = {"weir_ring_fill_ratio", "histogram", "ratio",
                                       "Fill of the fullest ring of a reader when rings have woken the reader."};
    const struct weir_pipeline *pipeline = g->sources->pipeline;
    begin(g, &fill);
    for (unsigned i = 0; i < g->group_count; i++) {
        struct weir_drain_sums sums = {0};
        if (!g->groups[i].present)
            continue;
        for (unsigned n = 0; n < pipeline->reader_count; n++) {
            for (unsigned moment = 0; group_of_reader(g, pipeline->readers[n]) == (int)i && moment < WEIR_DRAIN_MOMENTS;
                 moment++)
                weir_drain_watch_sum(&pipeline->readers[n]->drain_watch, (enum weir_drain_moment)moment, &sums);
        }
        append_histogram(
            g, &(struct histogram_form){&fill, bounds_per_mille, WEIR_ARRAY_COUNT(bounds_per_mille), PER_MILLE},
            &g->groups[i], &sums.fill_per_mille, (double)weir_histogram_sum(&sums.fill_per_mille));
    }
}

/* Escapes a label's value. A name that is too long is cut. */
static void escape(const char *text, char escaped[static NAME_BYTES])
{
    size_t used = 0;
    for (; *text && used < NAME_BYTES - 2; text++) {
        if (*text == '"' || *text == '\\' || *text == '\n')
            escaped[used++] = '\\';
        escaped[used++] = *text == '\n' ? 'n' : *text;
    }
    escaped[used] = '\0';
}

void weir_metrics_append(const struct weir_status_sources *sources, const struct weir_metrics_form *form,
                         const struct weir_record_result *result, struct weir_buf *out)
{
    struct gathering g = {.sources = sources, .form = form, .result = result, .out = out};
    escape(form->recording, g.recording);
    if (gather(&g) == 0) {
        append_state(&g);
        append_samples(&g);
        append_readers(&g);
        append_output(&g);
        append_latency(&g);
        append_fill(&g);
        weir_buf_printf(out, "# EOF\n");
    } else {
        weir_buf_fail(out, -ENOMEM);
    }
    free(g.groups);
    free(g.lost_of);
}
