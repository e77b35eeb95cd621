/* Unwinds the samples of a chunk. Worker threads, but for init() and fini(). See unwind_step.h. */
#include "engine/drain/unwind_step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "unwind/unwound_sample.h"

#define RECORD_BYTES_MAX (UINT16_MAX + 1u)
#define WORD_BYTES       8u

struct worker {
    struct weir_unwind_step *step; /* borrowed; written: its counts only */
    struct weir_unwinder unwinder;
    struct weir_unwound_sum counts; /* of the present chunk */

    /* The present chunk. */
    bool is_hurried;
    bool has_waited;    /* for news of mappings */
    bool opens_no_more; /* a file was late */
    uint64_t began_ns;  /* the first file was opened; 0: none */

    /* The present sample. */
    pid_t pid;
    uint64_t time_ns;

    uint8_t out[RECORD_BYTES_MAX + WEIR_UNWOUND_GROWTH_MAX];
};

/* ---- the source, as the unwinder asks it ---- */

static bool find_mapping(void *ctx, uint64_t address, struct weir_unwind_mapping *mapping)
{
    struct worker *worker = ctx;
    const struct weir_unwind_source *source = &worker->step->source;
    return source->find(source->ctx, worker->pid, worker->time_ns, address, mapping);
}

/* Whether the chunk may still open files. */
static bool may_open(struct worker *worker)
{
    if (worker->is_hurried || worker->opens_no_more)
        return false;
    uint64_t now_ns = weir_clock_now_ns(worker->step->clock);
    if (worker->began_ns == 0)
        worker->began_ns = now_ns;
    return now_ns - worker->began_ns < WEIR_UNWIND_STEP_OPENING_NS;
}

static int open_file(void *ctx, uint64_t key)
{
    struct worker *worker = ctx;
    const struct weir_unwind_source *source = &worker->step->source;
    int fd = may_open(worker) ? source->open(source->ctx, key) : -ETIMEDOUT;
    if (fd == -ETIMEDOUT) {
        worker->counts.late += !worker->opens_no_more;
        worker->opens_no_more = true;
    }
    return fd;
}

/* ---- samples ---- */

/* Has the source take in the records that readers have drained before the chunk. So no older mapping is taken for a
 * newer one. */
static void catch_up(struct worker *worker)
{
    const struct weir_unwind_source *source = &worker->step->source;
    if (worker->has_waited || worker->is_hurried)
        return;
    worker->has_waited = true;
    worker->counts.waits++;
    source->catch_up(source->ctx); /* at its bound of time most is known */
}

static void make_chain(struct worker *worker, const struct weir_sample *sample, const struct weir_sample_layout *layout,
                       struct weir_unwind_chain *chain)
{
    const struct weir_unwind_mappings mappings = {.find = find_mapping, .ctx = worker};
    struct weir_unwind_input input;
    chain->count = 0;
    worker->pid = (pid_t)sample->id.pid;
    worker->time_ns = sample->id.time;
    if (!weir_unwound_input(sample, layout, &input)) {
        /* Threads of the kernel have no registers, and nothing to unwind. */
        worker->counts.ends[WEIR_UNWIND_NO_REGS] += sample->user_abi != PERF_SAMPLE_REGS_ABI_NONE;
        return;
    }
    input.max_frames = worker->is_hurried ? WEIR_UNWIND_STEP_HURRIED_FRAMES : 0;
    catch_up(worker);
    weir_unwinder_run(&worker->unwinder, &input, &mappings, chain);
    worker->counts.unwound++;
    worker->counts.ends[chain->end]++;
    worker->counts.hurried += worker->is_hurried && chain->end == WEIR_UNWIND_LIMIT;
}

/* Writes the sample to worker->out, in at most `room` bytes. `room` is at least the size of the record: its registers
 * and stack take more bytes than the number of frames. Returns its bytes, a multiple of 8. */
static size_t write_sample(struct worker *worker, const uint8_t *record, size_t bytes,
                           const struct weir_sample_layout *layout, const struct weir_sample *sample,
                           struct weir_unwind_chain *chain, size_t room)
{
    size_t written = weir_unwound_write(worker->out, record, bytes, layout, sample, chain);
    if (written > room || (written == 0 && chain->count > 0)) {
        size_t too_many = written == 0 ? chain->count : weir_min_u64(chain->count, (written - room) / WORD_BYTES);
        chain->count -= (unsigned)too_many;
        worker->counts.clipped++;
        written = weir_unwound_write(worker->out, record, bytes, layout, sample, chain);
    }
    worker->counts.frames += chain->count;
    return written;
}

/* The event of a sample that is to be unwound; NULL: it passes as it is. */
static const struct weir_unwind_step_event *event_of(const struct weir_unwind_step *step, const uint8_t *record,
                                                     uint32_t size)
{
    const struct weir_id_entry *entry = weir_walk_find_sample(&step->layout, record, size);
    if (!entry || entry->event >= step->event_count || !step->events[entry->event].is_unwound)
        return NULL;
    return &step->events[entry->event];
}

/* Makes the unwound sample, which is to end at `room` bytes from where it begins, in worker->out. Returns its bytes; 0:
 * the record passes as it is. */
static size_t take_sample(struct worker *worker, const uint8_t *record, uint32_t size, size_t room)
{
    const struct weir_unwind_step_event *event = event_of(worker->step, record, size);
    struct weir_sample sample;
    struct weir_unwind_chain chain;
    size_t bad_offset;
    if (!event)
        return 0;
    worker->counts.samples++;
    if (weir_sample_parse(&sample, &event->layout, record, size, &bad_offset) < 0 ||
        weir_load_u64(record + sample.user_stack_offset) % WORD_BYTES != 0) {
        worker->counts.malformed++;
        return 0;
    }
    make_chain(worker, &sample, &event->layout, &chain);
    return write_sample(worker, record, size, &event->layout, &sample, &chain, room);
}

/* ---- the step ---- */

static void rewrite(void *state, struct weir_chunk *chunk, bool is_hurried)
{
    struct worker *worker = state;
    uint8_t *data = chunk->data;
    uint32_t to = 0;
    worker->is_hurried = is_hurried;
    worker->has_waited = worker->opens_no_more = false;
    worker->began_ns = 0;
    for (uint32_t at = 0; at < chunk->used;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        size_t written = 0;
        if (header.type == PERF_RECORD_SAMPLE)
            written = take_sample(worker, data + at, header.size, at + header.size - to);
        if (written > 0)
            memcpy(data + to, worker->out, written);
        else if (to != at)
            memmove(data + to, data + at, header.size);
        to += (uint32_t)(written > 0 ? written : header.size);
        at += header.size;
    }
    chunk->used = to;
    weir_step_counts_add(worker->step->counts, &worker->counts, sizeof(worker->counts));
}

static size_t state_bytes(const void *plan, uint32_t chunk_bytes)
{
    const struct weir_unwind_step *step = plan;
    (void)chunk_bytes;
    return sizeof(struct worker) + weir_unwinder_bytes() + (step ? step->worker_tables_bytes : 0);
}

static void end(void *state)
{
    struct worker *worker = state;
    if (worker)
        weir_unwinder_fini(&worker->unwinder);
    free(worker);
}

static void *begin(const void *plan, uint32_t chunk_bytes)
{
    struct weir_unwind_step *step = (struct weir_unwind_step *)(uintptr_t)plan; /* its counts are atomic */
    struct worker *worker = calloc(1, sizeof(*worker));
    (void)chunk_bytes;
    if (!worker)
        return NULL;
    const struct weir_table_source files = {.open = open_file, .ctx = worker};
    worker->step = step;
    if (weir_unwinder_init(&worker->unwinder, step->machine, &files, step->worker_tables_bytes) == 0)
        return worker;
    free(worker);
    return NULL;
}

struct weir_chunk_rewriter weir_unwind_step_rewriter(const struct weir_unwind_step *step)
{
    return (struct weir_chunk_rewriter){
        .plan = step, .state_bytes = state_bytes, .begin = begin, .end = end, .rewrite = rewrite};
}

/* ---- set-up ---- */

int weir_unwind_step_init(struct weir_unwind_step *step, const struct weir_unwind_step_setup *setup)
{
    const struct weir_event_list *list = setup->list;
    *step = (struct weir_unwind_step){
        .layout = setup->layout,
        .source = setup->source,
        .machine = setup->machine,
        .clock = setup->clock,
        .worker_tables_bytes = setup->tables_bytes / weir_max_u64(setup->workers, 1),
        .event_count = (unsigned)list->count,
    };
    step->events = calloc(weir_max_u64(list->count, 1), sizeof(*step->events));
    if (!step->events)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        weir_sample_layout_init(&step->events[i].layout, &list->events[i].attr);
        step->events[i].is_unwound = !list->events[i].sideband && weir_unwound_is_wanted(&list->events[i].attr);
    }
    return 0;
}

void weir_unwind_step_fini(struct weir_unwind_step *step)
{
    free(step->events);
    *step = (struct weir_unwind_step){.events = NULL};
}

struct weir_unwound_sum weir_unwind_step_sum(const struct weir_unwind_step *step)
{
    _Static_assert(WEIR_UNWIND_ENDS == WEIR_UNWOUND_ENDS, "each cause has a word in files");
    struct weir_unwound_sum sum;
    weir_step_counts_read(step->counts, &sum, sizeof(sum));
    return sum;
}
