/*
 * Building the data path and taking it apart. Runs on the coordinator; synthesis threads also call emit() and
 * try_emit(). The threads of the data path: pipeline_threads.c.
 */
#include "engine/drain/pipeline_internal.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/clock.h"
#include "format/records.h"

#define ROUND_PER_READER_BYTES  (1ull << 20) /* a round may wake each reader that holds records: a wake per MiB */
#define ROUND_MORE_BYTES        (8ull << 20) /* a consumer holds about two rounds in memory */
#define ROUND_PATIENT_MAX_BYTES (4ull << 20) /* per reader: a consumer holds about two rounds in memory */
#define EMIT_RETRY_NS           (WEIR_NS_PER_MS / 2)

/* ---- building ---- */

/* Groups the plan's readers by node. shares has room for one entry per reader; returns the entries used. */
static unsigned group_by_node(const struct weir_plan *plan, struct weir_pool_share *shares, unsigned *share_of)
{
    unsigned count = 0;
    for (unsigned i = 0; i < plan->reader_count; i++) {
        unsigned s = 0;
        while (s < count && shares[s].node != plan->readers[i].node)
            s++;
        if (s == count)
            shares[count++] = (struct weir_pool_share){.node = plan->readers[i].node};
        shares[s].readers++;
        share_of[i] = s;
    }
    return count;
}

/* Whether a reader drains a place: the plan tells its CPUs. Tasks run anywhere, and the plan knows no CPU that comes
 * later or that has side events only: readers get those places in turn. */
static bool drains(const struct weir_pipeline_setup *setup, unsigned reader, unsigned place)
{
    const struct weir_event_place *of = &setup->places[place];
    return of->cpu < 0 || of->late || of->side_only
               ? place % setup->plan->reader_count == reader
               : weir_cpuset_has(&setup->plan->readers[reader].cpus, (unsigned)of->cpu);
}

static struct weir_reader *make_reader(struct weir_pipeline *pipeline, unsigned index, unsigned share, int *result)
{
    const struct weir_pipeline_setup *setup = &pipeline->setup;
    struct weir_reader *reader = aligned_alloc(WEIR_CACHE_LINE_BYTES, sizeof(*reader));
    if (!reader) {
        *result = -ENOMEM;
        return NULL;
    }
    unsigned places = 0;
    for (unsigned i = 0; i < setup->place_count; i++)
        places += drains(setup, index, i);

    *result = weir_reader_init(reader, &(struct weir_reader_setup){
                                           .kernel = setup->kernel,
                                           .control = &pipeline->control,
                                           .sink =
                                               {
                                                   .pool = &pipeline->pool,
                                                   .grower = setup->grow_pool ? &pipeline->grower : NULL,
                                                   .queue = &pipeline->queue,
                                                   .clock = setup->clock,
                                                   .number = index,
                                                   .pool_share = share,
                                               },
                                           .layout = setup->layout,
                                           .event_count = setup->event_count,
                                           .retained_chunks = pipeline->retention.chunks_per_reader,
                                           .retained_span_ns = setup->retained_span_ns,
                                           .shed = setup->shed,
                                           .set = setup->set,
                                           .reader_count = setup->plan->reader_count,
                                           .ring_count = 2 * places,
                                           .live_readers = &pipeline->live_readers,
                                           .ended_fd = pipeline->ended_fd,
                                           .aux = setup->aux,
                                           .aux_fd = pipeline->aux_fd,
                                       });
    if (*result < 0)
        return reader;

    unsigned ring = 0;
    for (unsigned i = 0; i < setup->place_count; i++) {
        if (!drains(setup, index, i))
            continue;
        /* Sideband first: its records are few, and consumers need them to understand the samples. */
        for (int sideband = 1; sideband >= 0; sideband--) {
            reader->rings.at[ring].place = i;
            atomic_init(&reader->rings.at[ring].dormant, setup->places[i].late);
            reader->rings.at[ring++].sideband = sideband;
        }
    }
    return reader;
}

static int make_readers(struct weir_pipeline *pipeline, const unsigned *share_of)
{
    unsigned count = pipeline->setup.plan->reader_count;
    pipeline->readers = calloc(count, sizeof(struct weir_reader *));
    pipeline->threads = calloc(count + WEIR_PIPELINE_OTHER_THREADS, sizeof(*pipeline->threads));
    pipeline->started = calloc(1, sizeof(*pipeline->started));
    if (!pipeline->readers || !pipeline->threads || !pipeline->started)
        return -ENOMEM;
    sem_init(pipeline->started, 0, 0);

    for (unsigned i = 0; i < count; i++) {
        int result;
        pipeline->readers[i] = make_reader(pipeline, i, share_of[i], &result);
        pipeline->reader_count += pipeline->readers[i] != NULL;
        if (result < 0)
            return result;
    }
    return 0;
}

/* An output exceeds its wanted size by a chunk at most. So a chunk is at most an eighth of that size, and at most an
 * eighth of a reader's part of the pool. */
static uint32_t largest_chunk(uint64_t size_bytes)
{
    return size_bytes > 0 ? weir_pool_chunk_bytes(size_bytes, 1) : WEIR_CHUNK_MAX_BYTES;
}

/* With a retention the pool has room for chunks in flight, for retained ones and, not ready yet, for as many again. */
static int make_pool(struct weir_pipeline *pipeline, const struct weir_pool_share *shares, unsigned share_count,
                     struct weir_error *err)
{
    const struct weir_pipeline_setup *setup = &pipeline->setup;
    unsigned readers = setup->plan->reader_count;
    if (setup->retained_bytes == 0) {
        uint64_t ready_bytes = setup->grow_pool ? weir_pool_default_ready_bytes(readers) : WEIR_POOL_ALL_READY;
        return weir_pool_init(&pipeline->pool, setup->buffer_bytes, ready_bytes, largest_chunk(setup->size_bytes), 0,
                              shares, share_count, err);
    }
    pipeline->retention = weir_retention_plan(setup->retained_bytes, setup->retained_span_ns, readers);
    /* Besides the retained chunks each reader has two: one to fill with records that may not be evicted. */
    uint64_t passing_bytes = weir_max_u64(setup->buffer_bytes, 2ull * readers * pipeline->retention.chunk_bytes);
    uint64_t used_bytes = passing_bytes + pipeline->retention.bytes;
    return weir_pool_init(&pipeline->pool, used_bytes + pipeline->retention.bytes, used_bytes,
                          pipeline->retention.chunk_bytes, pipeline->retention.bytes, shares, share_count, err);
}

static int build(struct weir_pipeline *pipeline, struct weir_error *err)
{
    unsigned readers = pipeline->setup.plan->reader_count;
    struct weir_pool_share *shares = calloc(readers, sizeof(*shares));
    unsigned *share_of = calloc(readers, sizeof(*share_of));
    int result = -ENOMEM;
    bool described = false; /* the pool has filled in err */
    if (shares && share_of) {
        unsigned count = group_by_node(pipeline->setup.plan, shares, share_of);
        result = make_pool(pipeline, shares, count, err);
        described = result < 0;
        if (result == 0)
            result = make_readers(pipeline, share_of);
    }
    if (result < 0 && !described)
        weir_error_set_errno(err, result, "cannot set up %u readers", readers);
    free(shares);
    free(share_of);
    return result;
}

static int build_stage(struct weir_pipeline *pipeline, struct weir_error *err)
{
    const struct weir_pool *pool = &pipeline->pool;
    struct weir_chunk_stage_setup setup = pipeline->setup.stage;
    if (!weir_chunk_stage_is_needed(&setup))
        return 0;
    setup.chunk_bytes = pool->chunk_bytes;
    setup.buffer_index = (int)pool->buffer_count;
    int result = weir_chunk_stage_init(&pipeline->stage, &setup, err);
    pipeline->staging = result == 0;
    if (result < 0 || !pipeline->stage.memory.iov_base)
        return result;
    /* The stage's memory is the last of the output's buffers. Only a part is ever used, so it is not registered. */
    pipeline->output_buffers = calloc(pool->buffer_count + 1, sizeof(*pipeline->output_buffers));
    if (!pipeline->output_buffers)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up compression");
    memcpy(pipeline->output_buffers, pool->buffers, pool->buffer_count * sizeof(*pool->buffers));
    pipeline->output_buffers[pool->buffer_count] = pipeline->stage.memory;
    return 0;
}

int weir_pipeline_init(struct weir_pipeline *pipeline, const struct weir_pipeline_setup *setup, struct weir_error *err)
{
    memset(pipeline, 0, sizeof(*pipeline));
    pipeline->setup = *setup;
    atomic_init(&pipeline->control.stop_epoch, UINT64_MAX);
    weir_chunk_queue_init(&pipeline->queue);
    pthread_mutex_init(&pipeline->patience, NULL);
    pipeline->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pipeline->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pipeline->aux_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    int result = pipeline->kick_fd < 0 || pipeline->ended_fd < 0 || pipeline->aux_fd < 0
                     ? weir_error_set_errno(err, -errno, "cannot make an eventfd")
                     : build(pipeline, err);
    if (result == 0)
        result = build_stage(pipeline, err);
    if (result < 0)
        weir_pipeline_fini(pipeline);
    return result;
}

struct weir_reader_ring *weir_pipeline_ring(struct weir_pipeline *pipeline, unsigned place, bool sideband)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        struct weir_reader *reader = pipeline->readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            if (reader->rings.at[ring].place == place && reader->rings.at[ring].sideband == sideband)
                return &reader->rings.at[ring];
        }
    }
    weir_assert(!"every place has a reader: weir_plan_make() proves it of CPUs, drains() of tasks");
    return NULL;
}

static const struct weir_ring *first_ring(const struct weir_pipeline *pipeline)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            if (reader->rings.at[ring].ring.page && !reader->rings.at[ring].sideband)
                return &reader->rings.at[ring].ring;
        }
    }
    return NULL;
}

void weir_pipeline_time_conversion(const struct weir_pipeline *pipeline, struct weir_time_conversion *conversion)
{
    const struct weir_ring *ring = first_ring(pipeline);
    *conversion = (struct weir_time_conversion){0};
    if (ring)
        weir_ring_time_conversion(ring, conversion);
}

static struct weir_reader *reader_of(const struct weir_pipeline *pipeline, const struct weir_reader_ring *ring)
{
    for (unsigned i = 0;; i++) {
        struct weir_reader *reader = pipeline->readers[i];
        if (ring >= reader->rings.at && ring < reader->rings.at + reader->rings.count)
            return reader;
    }
}

unsigned weir_pipeline_mapped_rings(const struct weir_pipeline *pipeline)
{
    unsigned count = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        count += weir_reader_rings_mapped(&pipeline->readers[i]->rings);
    return count;
}

void weir_pipeline_drop_ring(struct weir_pipeline *pipeline, unsigned place, bool sideband)
{
    struct weir_reader_ring *dropped = weir_pipeline_ring(pipeline, place, sideband);
    weir_reader_drop_ring(reader_of(pipeline, dropped), dropped);
}

void weir_pipeline_rename_place(struct weir_pipeline *pipeline, unsigned place)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        struct weir_reader *reader = pipeline->readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            if (reader->rings.at[ring].place == place)
                weir_reader_ring_rename(&reader->rings.at[ring]);
        }
    }
}

int weir_pipeline_note_return(struct weir_pipeline *pipeline, unsigned place, bool sideband, const void *records,
                              size_t bytes)
{
    struct weir_reader_ring *ring = weir_pipeline_ring(pipeline, place, sideband);
    return ring->ring.page && !ring->ring.newest ? weir_reader_ring_note_return(ring, records, bytes) : 0;
}

void weir_pipeline_note_mapping(struct weir_pipeline *pipeline, bool mapping)
{
    atomic_store_explicit(&pipeline->control.mapping, mapping, memory_order_seq_cst);
}

void weir_pipeline_wake_place(struct weir_pipeline *pipeline, unsigned place)
{
    for (int sideband = 1; sideband >= 0; sideband--) {
        struct weir_reader_ring *ring = weir_pipeline_ring(pipeline, place, sideband);
        if (ring->ring.page)
            weir_reader_end_dormancy(reader_of(pipeline, ring), ring);
    }
}

bool weir_pipeline_has_place(const struct weir_pipeline *pipeline, unsigned place)
{
    bool has = !pipeline->setup.places[place].late;
    for (unsigned i = 0; !has && i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            /* Relaxed: written by this thread, the coordinator's. */
            has |= reader->rings.at[ring].place == place &&
                   !atomic_load_explicit(&reader->rings.at[ring].dormant, memory_order_relaxed);
        }
    }
    return has;
}

static struct weir_output_options output_options(const struct weir_pipeline *pipeline, const struct weir_io_ops *io)
{
    const struct weir_pool *pool = &pipeline->pool;
    unsigned more = pipeline->output_buffers ? 1 : 0;
    return (struct weir_output_options){
        .engine = WEIR_OUTPUT_AUTO,
        .direct = WEIR_OUTPUT_DIRECT_AUTO,
        .buffers = more > 0 ? pipeline->output_buffers : pool->buffers,
        .buffer_count = pool->buffer_count + more,
        .late_count = pool->late_count + more,
        .fill_padding = weir_record_fill_padding,
        .padding_least = WEIR_RECORD_PADDING_LEAST,
        .io = io,
        .notices = pipeline->setup.notices,
        .refusal_is_told = weir_pipeline_has_started(pipeline),
    };
}

int weir_pipeline_open_output(const struct weir_pipeline *pipeline, const char *path, const int *directory_fd,
                              const struct weir_io_ops *io, struct weir_output **output, struct weir_error *err)
{
    struct weir_output_options options = output_options(pipeline, io);
    options.directory_fd = directory_fd;
    return weir_output_open(output, path, &options, err);
}

int weir_pipeline_open_stream(const struct weir_pipeline *pipeline, int fd, const struct weir_io_ops *io,
                              struct weir_output **output, struct weir_error *err)
{
    const struct weir_output_options options = output_options(pipeline, io);
    return weir_output_open_stream(output, fd, &options, err);
}

/* The bytes of all rings in a round so long that each reader's own watermark wakes it before the round does. Twice the
 * bytes up to the watermark, so that this holds for a reader with half as many records as the others. 0 where consumers
 * do not gain by longer rounds. */
static uint64_t round_patient_bytes(const struct weir_pipeline *pipeline)
{
    if (weir_modes_consumer_holds_rounds(&pipeline->setup.modes))
        return 0;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        uint64_t largest = 0;
        for (unsigned n = 0; n < reader->rings.count; n++)
            largest = weir_max_u64(largest, reader->rings.at[n].ring.bytes);
        bytes += weir_min_u64(2 * largest / WEIR_RING_WATERMARK_SHARE, ROUND_PATIENT_MAX_BYTES);
    }
    return bytes;
}

static struct weir_round_due_setup round_due(const struct weir_pipeline *pipeline)
{
    return (struct weir_round_due_setup){
        .bytes = ROUND_PER_READER_BYTES * pipeline->reader_count,
        .more_bytes = ROUND_MORE_BYTES,
        .patient_bytes = round_patient_bytes(pipeline),
    };
}

int weir_pipeline_prepare(struct weir_pipeline *pipeline, struct weir_output *output, struct weir_error *err)
{
    struct weir_round_marks_setup marks = {pipeline->readers, pipeline->reader_count, &pipeline->control};
    const struct weir_modes *modes = &pipeline->setup.modes;
    bool marked = output && weir_modes_make_marks(modes);
    bool past_caches = output && weir_output_is_unread(output) && weir_modes_copy_past_caches(modes);
    unsigned live = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        pipeline->readers[i]->sink.past_caches = past_caches;
        pipeline->readers[i]->marks.bytes = marked ? WEIR_MARK_SPACING_BYTES : 0;
        live += pipeline->readers[i]->rings.count > 0;
    }
    atomic_init(&pipeline->live_readers, live); /* before the threads that count it down */

    const struct weir_pipeline_setup *setup = &pipeline->setup;
    struct weir_walk_layout layout = setup->layout;
    layout.place_stride = setup->event_count;
    weir_pool_grower_init(&pipeline->grower, &pipeline->pool);
    int result =
        weir_writer_init(&pipeline->writer, &(struct weir_writer_setup){
                                                .queue = &pipeline->queue,
                                                .pool = &pipeline->pool,
                                                .output = output,
                                                .clock = setup->clock,
                                                .layout = layout,
                                                .reader_count = pipeline->reader_count,
                                                .failed_counters = (uint64_t)setup->place_count * setup->event_count,
                                                .rounds = round_due(pipeline),
                                                .kick_fd = pipeline->kick_fd,
                                                .max_bytes = setup->max_bytes,
                                                .sync = setup->sync,
                                                .full_bytes = pipeline->full_bytes,
                                                .full_fd = pipeline->full_fd,
                                                .grower = setup->grow_pool ? &pipeline->grower : NULL,
                                                .marks = marked ? &marks : NULL,
                                                .stage = pipeline->staging ? &pipeline->stage : NULL,
                                            });
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the writer");
    weir_rounds_init(&pipeline->rounds, &pipeline->control, pipeline->readers, pipeline->reader_count, &pipeline->queue,
                     weir_clock_now_ns(setup->clock));
    pipeline->rounds.period_ns = weir_max_u64(setup->epoch_ns, pipeline->rounds.period_ns);
    pipeline->rounds.keep_to_snapshots = weir_modes_keep_samples(modes);
    pipeline->rounds.cut_with_snapshot = weir_modes_take_snapshots(modes);
    pipeline->rounds.drain_first = setup->retained_span_ns > 0;
    pipeline->rounds.stretching = &pipeline->pool;
    return 0;
}

/* ---- wishes of its threads ---- */

void weir_pipeline_take_kick(struct weir_pipeline *pipeline)
{
    eventfd_t kicks;
    if (eventfd_read(pipeline->kick_fd, &kicks) == 0)
        weir_rounds_want(&pipeline->rounds,
                         atomic_load_explicit(&pipeline->writer.round_due.overdue, memory_order_relaxed));
}

/* ---- records of weir's own ---- */

bool weir_pipeline_try_emit(struct weir_pipeline *pipeline, const void *records, size_t bytes)
{
    weir_assert(bytes <= WEIR_CHUNK_MIN_BYTES);
    struct weir_chunk *chunk = weir_pool_take(&pipeline->pool, 0, false);
    if (!chunk)
        return false;
    memcpy(chunk->data, records, bytes);
    chunk->used = (uint32_t)bytes;
    weir_chunk_queue_push(&pipeline->queue, chunk);
    return true;
}

int weir_pipeline_emit(struct weir_pipeline *pipeline, const void *records, size_t bytes)
{
    while (!weir_pipeline_try_emit(pipeline, records, bytes)) {
        weir_clock_pause_ns(EMIT_RETRY_NS);
        weir_pipeline_keep_patience(pipeline);
    }
    return atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed);
}

bool weir_pipeline_has_spare(const struct weir_pipeline *pipeline)
{
    const struct weir_pool *pool = &pipeline->pool;
    /* Relaxed: grown by this thread. */
    return pipeline->setup.retained_bytes > 0 &&
           atomic_load_explicit(&pool->ready_count, memory_order_relaxed) == pool->chunk_count;
}

int weir_pipeline_make_spare(struct weir_pipeline *pipeline)
{
    if (pipeline->setup.retained_bytes == 0)
        return -EOPNOTSUPP;
    weir_assert(!pipeline->setup.grow_pool); /* one thread at a time */
    int result = 0;
    while (result == 0)
        result = weir_pool_grow(&pipeline->pool);
    return result == -ENOSPC ? 0 : result;
}

/* ---- end ---- */

uint64_t weir_pipeline_snapshot_samples(const struct weir_pipeline *pipeline)
{
    uint64_t samples = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) /* relaxed: (epoch-passed) published it */
        samples += atomic_load_explicit(&pipeline->readers[i]->snapshot_samples, memory_order_relaxed);
    return samples;
}

uint64_t weir_pipeline_snapshot_span_ns(const struct weir_pipeline *pipeline)
{
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) { /* relaxed: (epoch-passed) published both */
        const struct weir_reader *reader = pipeline->readers[i];
        uint64_t ns = atomic_load_explicit(&reader->snapshot_first_ns, memory_order_relaxed);
        if (ns == 0)
            continue;
        first_ns = weir_min_u64(first_ns, ns);
        last_ns = weir_max_u64(last_ns, atomic_load_explicit(&reader->newest_ns, memory_order_relaxed));
    }
    return last_ns > first_ns ? last_ns - first_ns : 0;
}

void weir_pipeline_summarize_drains(const struct weir_pipeline *pipeline, enum weir_drain_moment moment,
                                    struct weir_drain_summary *summary)
{
    struct weir_drain_sums sums = {0};
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        weir_drain_watch_sum(&pipeline->readers[i]->drain_watch, moment, &sums);
    weir_drain_sums_summarize(&sums, summary);
}

void weir_pipeline_fini(struct weir_pipeline *pipeline)
{
    if (!pipeline)
        return;
    weir_pipeline_stop(pipeline);
    weir_writer_fini(&pipeline->writer);
    if (pipeline->staging)
        weir_chunk_stage_fini(&pipeline->stage);
    free(pipeline->output_buffers);
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        weir_reader_fini(pipeline->readers[i]);
        free(pipeline->readers[i]);
    }
    free(pipeline->readers);
    free(pipeline->threads);
    if (pipeline->started)
        sem_destroy(pipeline->started);
    free(pipeline->started);
    weir_pool_fini(&pipeline->pool);
    if (pipeline->kick_fd >= 0)
        close(pipeline->kick_fd);
    if (pipeline->ended_fd >= 0)
        close(pipeline->ended_fd);
    if (pipeline->aux_fd >= 0)
        close(pipeline->aux_fd);
    memset(pipeline, 0, sizeof(*pipeline));
    pipeline->kick_fd = pipeline->ended_fd = pipeline->aux_fd = -1;
}
