/* The loss ledger. Coordinator only. Most of it runs after the coordinator has joined the counting threads; reports at
 * a rotation do not. */
#include "engine/files/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_set.h"
#include "engine/files/ledger_internal.h"

static struct weir_ledger_row *row_at(const struct weir_record_result *result, unsigned place, unsigned event)
{
    return &result->ledger[(size_t)place * result->event_count + event];
}

static int allocate(const struct weir_event_set *set, struct weir_record_result *result)
{
    result->event_count = set->event_count;
    result->side_event = weir_event_set_sideband(set);
    result->deferred_event = weir_event_set_deferred_event(set);
    result->ledger_count = (size_t)set->place_count * set->event_count;
    result->ledger = calloc(result->ledger_count, sizeof(*result->ledger));
    result->event_names = calloc(set->event_count, sizeof(*result->event_names));
    result->event_is_clock = calloc(set->event_count, sizeof(*result->event_is_clock));
    bool is_whole = result->ledger && result->event_names && result->event_is_clock;
    for (unsigned event = 0; is_whole && event < set->event_count; event++) {
        result->event_names[event] = strdup(set->list->events[event].name);
        result->event_is_clock[event] = weir_event_is_clock(&set->list->events[event].attr);
        is_whole = result->event_names[event] != NULL;
    }
    if (!is_whole)
        weir_record_result_fini(result); /* weir_ledger_fill_totals() takes a ledger without rows */
    return is_whole ? 0 : -ENOMEM;
}

static void read_counts(const struct weir_event_set *set, unsigned event, unsigned place, struct weir_ledger_row *row,
                        struct weir_told_losses *told, struct weir_buf *lost)
{
    for (unsigned task = 0; task < set->task_count; task++) {
        struct weir_event_count count;
        if (weir_event_set_read(set, event, place, task, &count) < 0)
            continue;
        row->counted += count.value;
        row->lost_ring_full += count.lost;
        row->filtered += count.filtered;
        uint64_t before = weir_told_losses_exchange(told, weir_event_set_slot(set, event, place, task), &count);
        weir_ledger_append_lost(set, event, place, &count, before, lost);
    }
}

/* Adds the counts and losses that a CPU's events had before the CPU went. */
static void add_retired(const struct weir_event_set *set, struct weir_record_result *result)
{
    for (size_t i = 0; i < set->retired_count; i++) {
        const struct weir_event_retired *retired = &set->retired[i];
        struct weir_ledger_row *row = row_at(result, retired->place, retired->event);
        row->counted += retired->count.value;
        row->lost_ring_full += retired->count.lost;
        row->filtered += retired->count.filtered;
    }
}

/* Adds the records that the readers have seen. */
static void add_drained(const struct weir_pipeline *pipeline, struct weir_record_result *result, unsigned sideband)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        for (unsigned n = 0; n < reader->rings.count; n++) {
            const struct weir_reader_ring *r = &reader->rings.at[n];
            for (unsigned event = 0; event < result->event_count; event++) {
                uint64_t evicted = weir_reader_evicted(reader, n, event);
                row_at(result, r->place, event)->written += r->counts.samples[event] - evicted;
                row_at(result, r->place, event)->evicted += evicted;
                row_at(result, r->place, event)->shed += r->gaps ? r->gaps[event].samples : 0;
            }
            if (r->sideband)
                row_at(result, r->place, sideband)->written += r->counts.other_records;
        }
    }
}

/* Whether the event also counts occurrences in sleeping tasks, for which the kernel makes no sample. */
static bool counts_sleepers(const struct weir_event_set *set, const struct weir_ledger_row *row)
{
    const struct weir_event *event = &set->list->events[row->event];
    bool is_of_tasks = set->targets->tids[0] != -1 && !event->all_tasks && !event->cgroup;
    return is_of_tasks && weir_event_counts_sleepers(event);
}

/* Whether each occurrence that the event counts is a sample, or a lost one. */
static bool counts_samples(const struct weir_event_set *set, const struct weir_ledger_row *row)
{
    return weir_event_counts_samples(&set->list->events[row->event]) && !counts_sleepers(set, row);
}

/* Derives the number of overwritten samples from the counts of events that count their samples. The kernel does not
 * count the records that it overwrites. */
static void add_overwritten(const struct weir_event_set *set, struct weir_record_result *result)
{
    for (size_t i = 0; i < result->ledger_count; i++) {
        struct weir_ledger_row *row = &result->ledger[i];
        bool overwrites = set->list->events[row->event].attr.write_backward;
        uint64_t accounted_for = row->written + row->lost_ring_full + row->filtered;
        if (overwrites && counts_samples(set, row) && row->counted > accounted_for)
            row->evicted = row->counted - accounted_for;
    }
}

/* Returns the id of the first open descriptor of an event on a CPU, or of the last descriptor if none is open. A record
 * with this id may report the losses of all these descriptors. */
static uint64_t first_id(const struct weir_event_set *set, unsigned event, unsigned place)
{
    unsigned task = 0;
    while (task < set->task_count - 1 && weir_event_set_fd(set, event, place, task) < 0)
        task++;
    return set->ids[weir_event_set_slot(set, event, place, task)];
}

/* Adds the samples that weir itself has written: sums of off-CPU time, under the id of the first CPU. Stretches that
 * are in no sum are lost under the same id. */
static void add_sums(const struct weir_event_set *set, struct weir_record_result *result, struct weir_buf *lost)
{
    int event = weir_event_set_off_cpu_event(set);
    if (event < 0)
        return;
    struct weir_ledger_row *row = row_at(result, 0, (unsigned)event);
    const struct weir_event_count unsummed = {.lost = result->off_cpu_unsummed, .id = first_id(set, row->event, 0)};
    row->written += result->off_cpu_sums;
    row->lost_in_sums = unsummed.lost;
    weir_ledger_append_lost(set, row->event, 0, &unsummed, 0, lost);
}

/* Returns the number of counted samples that no column of the row accounts for so far. */
static uint64_t missing(const struct weir_ledger_row *row)
{
    uint64_t accounted_for = row->written + row->evicted + row->shed + row->lost_ring_full + row->filtered;
    return row->counted - weir_min_u64(row->counted, accounted_for);
}

/* Adds the missing samples of a row to its losses and appends a record for them, as the kernel does not report them.
 * Only events that count their samples have a known number; for others, returns 0. Returns the number. */
static uint64_t tell_missing(const struct weir_event_set *set, unsigned place, struct weir_ledger_row *row,
                             struct weir_buf *lost)
{
    if (!counts_samples(set, row))
        return 0;
    const struct weir_event_count missed = {.lost = missing(row), .id = first_id(set, row->event, place)};
    weir_ledger_append_lost(set, row->event, place, &missed, 0, lost);
    row->lost_ring_full += missed.lost;
    return missed.lost;
}

/* Whether events could count at a place before the place had a ring. */
static bool had_no_ring(const struct weir_event_set *set, unsigned place)
{
    const struct weir_event_place *at = &set->places[place];
    return at->late && !weir_event_set_follows_cpus(set);
}

/*
 * Samples that are counted and nowhere else. The kernel counts an event first and makes its sample afterwards. An
 * interrupt that disables the event in between leaves the count without a sample. (Seen with Linux 6.18: tracepoint of
 * period 1 on another CPU, one in 20 disables under load. PERF_FORMAT_LOST does not include these samples.) Each
 * disable cuts off at most one sample in each context that the interrupt can hit: a task and a softirq. A larger number
 * has another cause, and stays visible as a ledger that does not balance.
 *
 * Two kinds of events have no such bound. An interrupt disables an event of a cgroup whenever a running task moves out
 * of the cgroup (perf_cgroup_attach(), kernel/events/core.c), however often anybody moves tasks. The second kind counts
 * occurrences in sleeping tasks. Nobody knows how many of these occurrences a ring overwrote, or how many came before
 * the ring: such rows do not balance.
 */
#define CONTEXTS_CUT_OFF 2u

static bool can_be_cut_off(const struct weir_event_set *set, unsigned place, const struct weir_ledger_row *row)
{
    const struct weir_event *event = &set->list->events[row->event];
    if (counts_sleepers(set, row))
        return !event->attr.write_backward && !had_no_ring(set, place);
    return counts_samples(set, row) &&
           (event->cgroup || missing(row) <= (uint64_t)CONTEXTS_CUT_OFF * set->disables * set->sampled_tasks);
}

static void add_cut_off(const struct weir_event_set *set, struct weir_record_result *result)
{
    for (unsigned place = 0; place < set->place_count; place++) {
        for (unsigned event = 0; event < weir_event_set_sideband(set); event++) {
            struct weir_ledger_row *row = row_at(result, place, event);
            if (!can_be_cut_off(set, place, row))
                continue;
            row->cut_off = missing(row);
            if (counts_sleepers(set, row))
                result->sleeper_counts += row->cut_off;
        }
    }
}

/*
 * With -s the kernel writes the counts of an ending task into the rings of all its events (sync_child_event(),
 * kernel/events/core.c). The CPU on which the task ends writes them. A ring is made for one writing CPU at a time. Two
 * concurrent writers leave invalid records in the ring, or a ring that announces no later record.
 *
 * Seen with Linux 6.18: in 9 of 10 runs of 200 000 samples on CPU 0 while 1500 tasks ended on CPU 1; never without -s.
 */
static bool may_be_damaged(const struct weir_event_set *set, const struct weir_ledger_row *row)
{
    const struct perf_event_attr *attr = &set->list->events[row->event].attr;
    return attr->inherit_stat && attr->inherit && set->targets->tids[0] != -1 && set->place_count > 1;
}

static bool has_overwritten(const struct weir_pipeline *pipeline, unsigned place)
{
    bool has = false;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        for (unsigned n = 0; n < reader->rings.count; n++)
            has |= reader->rings.at[n].place == place && reader->rings.at[n].overwritten_bytes > 0;
    }
    return has;
}

/* Samples from before a ring are older than all samples in the ring. Where the ring has overwritten older records,
 * these samples are no loss. */
static void add_vanished_row(const struct weir_event_set *set, const struct weir_pipeline *pipeline, unsigned place,
                             struct weir_ledger_row *row, struct weir_record_result *result, struct weir_buf *lost)
{
    if (had_no_ring(set, place) && !has_overwritten(pipeline, place))
        result->lost_before_ring += tell_missing(set, place, row, lost);
    else if (may_be_damaged(set, row) && !set->list->events[row->event].attr.write_backward &&
             !can_be_cut_off(set, place, row))
        result->lost_damaged += tell_missing(set, place, row, lost);
}

static void add_vanished(const struct weir_event_set *set, const struct weir_pipeline *pipeline,
                         struct weir_record_result *result, struct weir_buf *lost)
{
    for (unsigned place = 0; place < set->place_count; place++) {
        for (unsigned event = 0; event < weir_event_set_sideband(set); event++)
            add_vanished_row(set, pipeline, place, row_at(result, place, event), result, lost);
    }
}

int weir_ledger_reserve(const struct weir_event_set *set, struct weir_told_losses *told,
                        struct weir_record_result *result)
{
    int code = result->ledger ? 0 : allocate(set, result);
    if (code == 0 && told)
        code = weir_told_losses_make_room(set, told);
    return code;
}

int weir_ledger_collect(const struct weir_event_set *set, struct weir_pipeline *pipeline,
                        struct weir_record_result *result, struct weir_told_losses *told, struct weir_buf *lost)
{
    int code = weir_ledger_reserve(set, NULL, result);
    if (code < 0)
        return code;
    code = weir_told_losses_prepare(set, told, lost);
    if (code < 0) { /* the ledger still counts the losses */
        told = NULL;
        lost = NULL;
    }
    weir_told_losses_tell_retired(set, told, lost);
    for (unsigned place = 0; place < set->place_count; place++) {
        for (unsigned event = 0; event < set->event_count; event++) {
            struct weir_ledger_row *row = row_at(result, place, event);
            row->cpu = set->places[place].cpu;
            row->task = set->places[place].task;
            row->event = event;
            read_counts(set, event, place, row, told, lost);
        }
    }
    add_retired(set, result);
    add_drained(pipeline, result, weir_event_set_sideband(set));
    add_sums(set, result, lost);
    add_vanished(set, pipeline, result, lost);
    add_overwritten(set, result);
    add_cut_off(set, result);
    return code;
}

/* Removes the rows of each CPU that was offline all the time, and the rows of samples where no option asks for samples.
 */
static void leave_out_absent(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    size_t kept = 0;
    for (size_t i = 0; i < result->ledger_count; i++) {
        unsigned place = (unsigned)(i / result->event_count);
        bool is_wanted = !pipeline->setup.places[place].side_only || result->ledger[i].event >= result->side_event;
        if (is_wanted && weir_pipeline_has_place(pipeline, place))
            result->ledger[kept++] = result->ledger[i];
    }
    result->ledger_count = kept;
}

/* Whether the samples of failed writes were left out because of the size limit. After the limit, only writes of data
 * from before the limit can fail, and such a failure sets writer.error. */
static bool was_left_out(const struct weir_pipeline *pipeline)
{
    return atomic_load_explicit(&pipeline->writer.limited, memory_order_relaxed) && /* the writer is joined */
           atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed) == 0;
}

int weir_ledger_tell_unwritten(const struct weir_event_set *set, const struct weir_pipeline *pipeline,
                               const struct weir_writer_account *account, struct weir_buf *lost, uint64_t *samples)
{
    *samples = 0;
    if (!account->failed_samples || was_left_out(pipeline))
        return 0;
    size_t before = lost->used;
    for (unsigned place = 0; place < set->place_count; place++) {
        for (unsigned event = 0; event < weir_event_set_sideband(set); event++) {
            const struct weir_event_count unwritten = {
                .lost = account->failed_samples[(size_t)place * set->event_count + event],
                .id = first_id(set, event, place),
            };
            weir_ledger_append_lost(set, event, place, &unwritten, 0, lost);
            *samples += unwritten.lost;
        }
    }
    if (weir_buf_error(lost) < 0)
        lost->used = before;
    return weir_buf_error(lost);
}

static void move_failed(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    const struct weir_walk_counts *failed = &pipeline->writer.failed;
    bool limited = was_left_out(pipeline);
    for (size_t i = 0; failed->samples && i < result->ledger_count; i++) {
        struct weir_ledger_row *row = &result->ledger[i];
        row->written -= failed->samples[i];
        *(limited ? &row->left_out : &row->lost_write_failed) += failed->samples[i];
    }
}

static void move_merged(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    const struct weir_aggregate *aggregate = pipeline->setup.steps.aggregate;
    for (size_t i = 0; aggregate && i < result->ledger_count; i++) {
        struct weir_ledger_row *row = &result->ledger[i];
        row->merged = weir_aggregate_merged(aggregate, (unsigned)(i / result->event_count), row->event);
        row->written -= row->merged;
    }
    /* Relaxed order suffices: the workers are joined. */
    if (pipeline->setup.steps.join) {
        result->joins = true;
        result->joined = weir_join_step_sum(pipeline->setup.steps.join);
    }
    if (pipeline->setup.steps.unwind) {
        result->unwinds = true;
        result->unwound = weir_unwind_step_sum(pipeline->setup.steps.unwind);
    }
    result->unplaced_samples = aggregate ? atomic_load_explicit(&aggregate->unplaced, memory_order_relaxed) : 0;
}

uint64_t weir_ledger_untold(const struct weir_reader_ring *r, const struct weir_record_result *result)
{
    uint64_t lost = 0;
    for (unsigned event = 0; result->ledger && event < result->event_count; event++) {
        bool is_of_sideband_ring = event >= result->side_event && (int)event != result->deferred_event;
        if (is_of_sideband_ring == r->sideband)
            lost += row_at(result, r->place, event)->lost_ring_full;
    }
    return lost > r->counts.lost_reported ? lost - r->counts.lost_reported : 0;
}

static void total_readers(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        result->wakeups += reader->wakeups;
        result->left_samples += reader->retention ? reader->retention->left_samples : 0;
        /* Relaxed order suffices: the readers are joined. */
        result->trimmed_samples += atomic_load_explicit(&reader->shedder.trimmed_samples, memory_order_relaxed);
        result->trimmed_bytes += atomic_load_explicit(&reader->shedder.trimmed_bytes, memory_order_relaxed);
        for (unsigned level = 0; level < WEIR_PRESSURE_COUNT; level++)
            result->pressure_rises[level] += reader->sink.pressure_rises[level];
        for (unsigned n = 0; n < reader->rings.count; n++) {
            result->throttled += reader->rings.at[n].counts.throttled;
            result->lost_while_pool_empty += reader->rings.at[n].lost_while_starved;
            if (reader->rings.at[n].starved && !reader->rings.at[n].sideband)
                result->lost_while_pool_empty += weir_ledger_untold(&reader->rings.at[n], result);
            result->overwritten |= reader->rings.at[n].ring.newest;
            result->overwritten_bytes += reader->rings.at[n].overwritten_bytes;
            result->discarded_bytes += reader->rings.at[n].discarded_bytes;
            result->unknown_samples += reader->rings.at[n].counts.unknown_samples;
        }
    }
}

static void summarize_drains(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    for (unsigned moment = 0; moment < WEIR_DRAIN_MOMENTS; moment++)
        weir_pipeline_summarize_drains(pipeline, (enum weir_drain_moment)moment, &result->drains[moment]);
}

void weir_ledger_fill_totals(const struct weir_pipeline *pipeline, struct weir_record_result *result)
{
    move_failed(pipeline, result);
    move_merged(pipeline, result);
    total_readers(pipeline, result);
    leave_out_absent(pipeline, result);
    summarize_drains(pipeline, result);
    for (size_t i = 0; i < result->ledger_count; i++) {
        const struct weir_ledger_row *row = &result->ledger[i];
        if (row->event >= result->side_event) {
            result->lost_sideband += weir_ledger_row_lost(row);
            continue;
        }
        result->samples += row->written;
        result->merged_samples += row->merged;
        result->evicted_samples += row->evicted;
        result->shed_samples += row->shed;
        result->lost_samples += weir_ledger_row_lost(row);
        result->left_out_samples += row->left_out;
        result->filtered_samples += row->filtered;
    }
    /* A LOST record counts the losses of all events in its ring. Never claim more than the events themselves report. */
    result->lost_while_pool_empty = weir_min_u64(result->lost_while_pool_empty, result->lost_samples);
    result->rounds = pipeline->writer.rounds;
    result->snapshots = pipeline->rounds.snapshots;
    result->retained_bytes = pipeline->retention.bytes;
}
