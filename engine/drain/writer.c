/* The writer thread. Everything here runs on it, but stop(). Protocol: writer.h. */
#include "engine/drain/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/probe.h"
#include "engine/drain/shed.h"
#include "engine/kernel/test_point.h"
#include "format/perf_file.h"
#include "format/records.h"
#include "format/zstd_pack.h"

#define GATHER_MS     40           /* between steps while data flows, at most */
#define GATHER_BYTES  (8ull << 20) /* are worth a step: see docs/performance.md, "The writer" */
#define GATHER_SHARE  8            /* and no more than this part of the pool */
#define PASS_MS       10           /* between steps while something is under way that wakes nobody */
#define HASTE_MS      1            /* while less than half of the ready chunks is free */
#define PARK_AFTER_MS 200          /* without anything to do */
#define REAP_MAX      64
#define TRY_AGAIN_NS  (100 * WEIR_NS_PER_MS)

int weir_writer_init(struct weir_writer *writer, const struct weir_writer_setup *setup)
{
    memset(writer, 0, sizeof(*writer));
    writer->setup = *setup;
    writer->output = setup->output;
    writer->first.kind = WEIR_CHUNK_ROTATION;
    writer->failed.samples = calloc(setup->failed_counters, sizeof(*writer->failed.samples));
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(writer->failed_of); i++)
        writer->failed_of[i] = calloc(setup->failed_counters, sizeof(*writer->failed_of[i]));
    writer->account.failed_samples = writer->failed_of[0];
    weir_round_marks_init(&writer->marks, setup->queue, setup->marks);
    weir_round_due_init(&writer->round_due, &setup->rounds);
    writer->side_bytes = calloc(weir_max_u64(setup->reader_count, 1), sizeof(*writer->side_bytes));
    weir_checkpoint_init(&writer->checkpoint, setup->clock, setup->sync);
    bool has_all = writer->failed.samples && writer->failed_of[0] && writer->failed_of[1] && writer->side_bytes;
    return has_all ? 0 : -ENOMEM;
}

void weir_writer_fini(struct weir_writer *writer)
{
    if (!writer)
        return;
    free(writer->failed.samples);
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(writer->failed_of); i++)
        free(writer->failed_of[i]);
    free(writer->side_bytes);
    weir_train_list_fini(&writer->account.trains);
}

static bool waits_for_space(const struct weir_writer *writer)
{
    /* Relaxed: it orders nothing else. */
    return atomic_load_explicit(&writer->waits, memory_order_relaxed);
}

/* ---- rotation ---- */

_Static_assert(offsetof(struct weir_writer_rotation, item) == 0, "an item of that kind is its rotation");

static struct weir_writer_rotation *rotation_of(struct weir_chunk *item)
{
    return (struct weir_writer_rotation *)(void *)item;
}

/* Begins the account of the next output. It takes the memory of the output before last, which was reported by then. */
static void begin_account(struct weir_writer *writer)
{
    uint64_t *failed = writer->failed_of[writer->account.failed_samples == writer->failed_of[0]];
    memset(failed, 0, writer->setup.failed_counters * sizeof(*failed));
    writer->account = (struct weir_writer_account){.failed_samples = failed};
}

static void begin_rotation(struct weir_writer *writer, struct weir_writer_rotation *rotation)
{
    weir_assert(!writer->rotation);
    if (rotation->fit_records)
        rotation->fit_records(rotation->fit_ctx, writer->lost_reported);
    if (rotation->item.used > 0)
        weir_output_append(writer->output, rotation->item.data, rotation->item.used, -1, false, &rotation->item);
    weir_probe_rotation(writer->output_bytes);
    weir_output_push_tail(writer->output);
    rotation->left = writer->output;
    writer->rotation = rotation;
    writer->output = rotation->next;
    weir_output_wait_for_space(writer->output, waits_for_space(writer));
    weir_checkpoint_change_output(&writer->checkpoint);
    writer->left_bytes += writer->output_bytes;
    writer->output_bytes = 0;
    writer->told_full = false;
    weir_round_due_grant(&writer->round_due);
    weir_round_due_begin(&writer->round_due);
    weir_round_marks_close(&writer->marks);
    rotation->account = writer->account;
    begin_account(writer);
    if (rotation->first_bytes > 0) {
        weir_output_append(writer->output, rotation->first_records, rotation->first_bytes, -1, false, &writer->first);
        writer->output_bytes += rotation->first_bytes;
    }
    if (rotation->side_bytes)
        memcpy(rotation->side_bytes, writer->side_bytes, writer->setup.reader_count * sizeof(*writer->side_bytes));
    weir_test_point(WEIR_AT_ROTATION_BEGIN);
    atomic_store_explicit(&rotation->begun, true, memory_order_release); /* (rotation-begun) */
    if (rotation->fd >= 0)
        eventfd_write(rotation->fd, 1);
    if (writer->setup.stage)
        weir_chunk_stage_complete(writer->setup.stage, &rotation->item);
}

/* ---- steps ---- */

static void kick_coordinator(const struct weir_writer *writer)
{
    if (writer->setup.kick_fd >= 0)
        eventfd_write(writer->setup.kick_fd, 1);
}

static uint64_t failed_sum(const struct weir_writer *writer)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < writer->setup.failed_counters; i++)
        sum += writer->failed.samples[i];
    return sum;
}

/* Adds to a word that the writer alone writes. Relaxed: the coordinator reads the number for its own sake. */
static void tell_more(_Atomic uint64_t *word, uint64_t more)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

/* Counts the records of a chunk behind its first bytes as lost. account: of the output that failed. */
static void count_failed(struct weir_writer *writer, const struct weir_writer_account *account,
                         const struct weir_chunk *chunk, size_t kept_bytes)
{
    struct weir_walk_counts of_output = {.samples = account->failed_samples};
    const uint8_t *data = chunk->data + kept_bytes;
    uint64_t before = failed_sum(writer);
    weir_record_walk(&writer->setup.layout, data, chunk->used - kept_bytes, &writer->failed);
    weir_record_walk(&writer->setup.layout, data, chunk->used - kept_bytes, &of_output);
    uint64_t *const counts[] = {writer->failed.samples, account->failed_samples};
    if (writer->setup.stage && chunk->kind == WEIR_CHUNK_DATA)
        weir_chunk_stage_take_back(writer->setup.stage, data, chunk->used - kept_bytes, counts,
                                   WEIR_ARRAY_COUNT(counts));
    if (!atomic_load_explicit(&writer->limited, memory_order_relaxed)) /* our own word */
        tell_more(&writer->told_failed, failed_sum(writer) - before);
}

/* Cuts an item of plain records to those that fit below --max-size, and counts the others as left out. False: none
 * fits, or the item is packed or a train. */
static bool cut_to_limit(struct weir_writer *writer, struct weir_chunk_stage_result *item)
{
    struct weir_chunk *chunk = item->chunk;
    uint64_t taken = writer->left_bytes + writer->output_bytes, limit = writer->setup.max_bytes;
    if (chunk->opaque || item->data != chunk->data || taken >= limit)
        return false;
    size_t kept_bytes = weir_record_whole_bytes(chunk->data, weir_min_u64(limit - taken, chunk->used));
    if (kept_bytes == 0)
        return false;
    count_failed(writer, &writer->account, chunk, kept_bytes);
    weir_chunk_cut(chunk, (uint32_t)kept_bytes);
    item->bytes = kept_bytes;
    return true;
}

/* Whether --max-size leaves the item out. The first item that is too large stays as far as it fits. Weir's own records
 * (the beginning, and the losses at the end) stay. */
static bool is_over_limit(struct weir_writer *writer, struct weir_chunk_stage_result *item)
{
    if (writer->setup.max_bytes == 0 || item->chunk->kind != WEIR_CHUNK_DATA || !item->chunk->returned)
        return false;
    if (atomic_load_explicit(&writer->limited, memory_order_relaxed)) /* our own word */
        return true;
    uint64_t bytes = item->chunk->opaque ? weir_chunk_train_bytes(item->chunk) : item->bytes;
    if (writer->left_bytes + writer->output_bytes + bytes <= writer->setup.max_bytes)
        return false;
    /* Relaxed: the kick's system calls order it. */
    atomic_store_explicit(&writer->limited, true, memory_order_relaxed);
    kick_coordinator(writer);
    return !cut_to_limit(writer, item);
}

/* Returns the bytes of the COMPRESSED records in the first begun_bytes of a chunk that expand to whole records;
 * *raw_bytes: of these. */
static size_t whole_packed_bytes(const struct weir_chunk *chunk, const struct weir_chunk_stage_bytes *packed,
                                 size_t begun_bytes, size_t *raw_bytes)
{
    size_t kept_bytes = weir_zstd_pack_prefix(packed->data, begun_bytes, packed->raw_ends, raw_bytes);
    while (weir_record_whole_bytes(chunk->data, *raw_bytes) < *raw_bytes)
        kept_bytes = weir_zstd_pack_prefix(packed->data, kept_bytes - 1, packed->raw_ends, raw_bytes);
    return kept_bytes;
}

/* Keeps those whole records of a failed chunk that have found room in the output. Returns the bytes of these records
 * in the chunk. */
static size_t keep_begun(struct weir_writer *writer, struct weir_output *output, struct weir_writer_account *account,
                         const struct weir_chunk *chunk, const struct weir_chunk_stage_bytes *packed,
                         size_t begun_bytes)
{
    size_t raw_bytes, kept_bytes;
    if (packed->count > 0) {
        kept_bytes = whole_packed_bytes(chunk, packed, begun_bytes, &raw_bytes);
        account->raw_bytes -= chunk->used - raw_bytes;
        account->compressed_bytes -= packed->count - kept_bytes;
        writer->packed_in_bytes -= chunk->used - raw_bytes;
        writer->packed_out_bytes -= packed->count - kept_bytes;
    } else {
        kept_bytes = raw_bytes = weir_record_whole_bytes(chunk->data, begun_bytes);
    }
    if (!weir_output_is_stream(output) && begun_bytes > 0)
        weir_output_keep(output, kept_bytes);
    return raw_bytes;
}

static void leave_out(struct weir_writer *writer, struct weir_chunk *chunk)
{
    if (writer->setup.stage)
        weir_chunk_stage_complete(writer->setup.stage, chunk);
    if (!chunk->opaque)
        count_failed(writer, &writer->account, chunk, 0);
    else
        writer->failed_train_bytes += weir_chunk_train_bytes(chunk);
    weir_pool_put_train(writer->setup.pool, chunk);
}

static void note_times(struct weir_writer_account *account, const struct weir_chunk *chunk)
{
    if (chunk->first_sample_ns == 0)
        return;
    if (account->first_sample_ns == 0 || chunk->first_sample_ns < account->first_sample_ns)
        account->first_sample_ns = chunk->first_sample_ns;
    account->last_sample_ns = weir_max_u64(account->last_sample_ns, chunk->last_sample_ns);
}

/* Counts the markers in a chunk of which so many bytes are on file. */
static void count_rounds(struct weir_writer *writer, struct weir_writer_account *account,
                         const struct weir_chunk *chunk, size_t bytes)
{
    uint32_t markers = weir_round_marks_within(chunk, bytes);
    writer->rounds += markers;
    account->rounds += markers;
}

/* A chunk of a train has completed. The last chunk tells the result of all: when one fails, all behind it do. */
static void complete_train(struct weir_writer *writer, struct weir_writer_account *account,
                           const struct weir_chunk *chunk, int result)
{
    account->train_completing += chunk->used;
    if (chunk->follower)
        return;
    *(result < 0 ? &writer->failed_train_bytes : &writer->train_bytes) += account->train_completing;
    account->train_completing = 0;
}

static void note_latency(struct weir_writer *writer, uint64_t latency_ns)
{
    weir_shared_histogram_add(&writer->latency_us, latency_ns / WEIR_NS_PER_US);
    tell_more(&writer->told_latencies, 1);
    tell_more(&writer->told_latency_ns, latency_ns);
    /* Relaxed: the word hands nothing over. */
    if (latency_ns > atomic_load_explicit(&writer->longest_latency_ns, memory_order_relaxed))
        atomic_store_explicit(&writer->longest_latency_ns, latency_ns, memory_order_relaxed);
}

static void complete(struct weir_writer *writer, struct weir_output *output, struct weir_writer_account *account,
                     const struct weir_output_done *done, uint64_t now_ns)
{
    struct weir_chunk *chunk = done->token;
    struct weir_chunk_stage_bytes packed = {0};
    int result = done->result;
    if (chunk->kind == WEIR_CHUNK_ROTATION) { /* the records of the rotation itself */
        if (chunk != &writer->first)
            rotation_of(chunk)->records_result = result;
        return;
    }
    writer->awaited -= chunk->awaited;
    if (writer->setup.stage && !chunk->follows)
        packed = weir_chunk_stage_complete(writer->setup.stage, chunk);
    if (chunk->kind == WEIR_CHUNK_ROUND) {
        count_rounds(writer, account, chunk, result == 0 ? chunk->used : 0);
        weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
        return;
    }
    size_t kept_bytes = result == 0 ? chunk->used : 0;
    if (result < 0 && !chunk->opaque)
        kept_bytes = keep_begun(writer, output, account, chunk, &packed, done->begun_bytes);
    count_rounds(writer, account, chunk, kept_bytes);
    if (chunk->opaque)
        complete_train(writer, account, chunk, result);
    else if (result < 0)
        count_failed(writer, account, chunk, kept_bytes);
    if (!chunk->opaque && kept_bytes > 0)
        note_times(account, chunk); /* of a chunk that was cut: bounds */
    if (result == 0 && chunk->handed_ns > 0 && now_ns >= chunk->handed_ns)
        note_latency(writer, now_ns - chunk->handed_ns);
    weir_pool_put(writer->setup.pool, chunk);
}

static bool reap(struct weir_writer *writer, struct weir_output *output, struct weir_writer_account *account,
                 unsigned wait_ms)
{
    struct weir_output_done done[REAP_MAX];
    unsigned count = weir_output_reap(output, done, REAP_MAX, weir_output_pending(output) > 0 ? wait_ms : 0);
    uint64_t now_ns = count > 0 ? weir_clock_now_ns(writer->setup.clock) : 0;
    for (unsigned i = 0; i < count; i++)
        complete(writer, output, account, &done[i], now_ns);
    return count > 0;
}

static void tell_of_failure(struct weir_writer *writer, const struct weir_output *output)
{
    int error = weir_output_error(output);
    if (error < 0 && atomic_load_explicit(&writer->error, memory_order_relaxed) == 0) { /* our own word */
        /* Relaxed: the kick's system calls order it. */
        atomic_store_explicit(&writer->error, error, memory_order_relaxed);
        kick_coordinator(writer);
    }
}

/* Returns what to append for a marker of the coordinator: the marker, or padding in its place. *bytes: its length. */
static const void *marker_or_padding(struct weir_writer *writer, struct weir_chunk *marker, size_t *bytes)
{
    static const struct weir_record_padding padding = {
        .header = {.type = WEIR_RECORD_EVENT_TYPE, .size = sizeof(padding)}};
    bool passes = weir_round_marks_let_pass(&writer->marks, marker);
    marker->marker_count = passes;
    weir_round_due_grant(&writer->round_due);
    *bytes = passes ? marker->used : sizeof(padding);
    if (!passes)
        return &padding;
    weir_round_due_begin(&writer->round_due);
    return marker->data;
}

/* Counts a chunk of data. */
static void count_data(struct weir_writer *writer, struct weir_chunk *chunk)
{
    uint32_t marker_end = weir_round_marks_decide(&writer->marks, chunk);
    weir_round_due_append(&writer->round_due, chunk->used, marker_end);
    writer->lost_reported += chunk->lost_reported;
}

/* Appends one chunk of a train. */
static void append_train(struct weir_writer *writer, struct weir_chunk *chunk, bool pressed)
{
    if (!chunk->follows)
        weir_output_begin_whole(writer->output);
    if (!chunk->follower)
        weir_output_end_whole(writer->output);
    writer->train = chunk->follower;
    writer->awaited += chunk->awaited;
    writer->output_bytes += chunk->used;
    uint64_t offset = weir_output_append(writer->output, chunk->data, chunk->used, chunk->buffer_index, pressed, chunk);
    if (!chunk->follows && offset != UINT64_MAX && !weir_output_is_stream(writer->output))
        weir_train_list_add(&writer->account.trains, offset);
}

static void note_side_bytes(struct weir_writer *writer, const struct weir_chunk *chunk)
{
    if (chunk->tee > 0)
        writer->side_bytes[chunk->tee - 1] = chunk->side_bytes;
}

/* A step of the stage has dropped all records of the chunk. */
static void give_back(struct weir_writer *writer, struct weir_chunk *chunk)
{
    note_side_bytes(writer, chunk);
    weir_chunk_stage_complete(writer->setup.stage, chunk);
    weir_pool_put(writer->setup.pool, chunk);
}

/* Rounds are counted in raw bytes, which a consumer has to hold. */
static void append(struct weir_writer *writer, struct weir_chunk_stage_result *item, bool pressed)
{
    struct weir_chunk *chunk = item->chunk;
    if (chunk->kind == WEIR_CHUNK_ROTATION) {
        begin_rotation(writer, rotation_of(chunk));
        return;
    }
    if (chunk->kind == WEIR_CHUNK_DATA && item->bytes == 0) {
        give_back(writer, chunk);
        return;
    }
    if (!chunk->follows && is_over_limit(writer, item)) {
        leave_out(writer, chunk);
        return;
    }
    if (chunk->opaque) {
        append_train(writer, chunk, pressed);
        return;
    }
    const void *data = item->data;
    size_t bytes = item->bytes;
    if (chunk->kind == WEIR_CHUNK_ROUND)
        data = marker_or_padding(writer, chunk, &bytes);
    else
        count_data(writer, chunk);
    writer->awaited += chunk->awaited;
    writer->output_bytes += bytes;
    note_side_bytes(writer, chunk);
    if (item->data != chunk->data) {
        writer->account.raw_bytes += chunk->used;
        writer->account.compressed_bytes += item->bytes;
        writer->packed_in_bytes += chunk->used;
        writer->packed_out_bytes += item->bytes;
    }
    weir_output_append(writer->output, data, bytes, item->buffer_index, pressed, chunk);
}

/* The next item for the output. */
static bool next_item(struct weir_writer *writer, struct weir_chunk_stage_result *item)
{
    if (writer->setup.stage && !writer->train)
        return weir_chunk_stage_next(writer->setup.stage, item);
    struct weir_chunk *chunk = writer->train ? writer->train : weir_chunk_queue_pop(writer->setup.queue);
    if (chunk)
        *item = (struct weir_chunk_stage_result){chunk, chunk->data, chunk->used, chunk->buffer_index};
    return chunk != NULL;
}

static bool submit_queued(struct weir_writer *writer, bool pressed)
{
    struct weir_chunk_stage *stage = writer->setup.stage;
    struct weir_chunk *chunk;
    bool any = false;
    while (weir_chunk_stage_can_submit(stage) && (chunk = weir_chunk_queue_pop(writer->setup.queue))) {
        weir_chunk_stage_submit(stage, chunk, pressed);
        any = true;
    }
    if (writer->pressure >= WEIR_PRESSURE_SOME) /* chunks that are held must not become the cause of haste */
        weir_chunk_stage_let_go(stage);
    weir_chunk_stage_kick(stage);
    return any;
}

static bool append_queued(struct weir_writer *writer)
{
    writer->pressure = weir_pool_pressure(writer->setup.pool, writer->pressure);
    bool pressed = writer->pressure >= WEIR_PRESSURE_HIGH;
    bool any = writer->setup.stage && submit_queued(writer, pressed);
    struct weir_chunk_stage_result item;
    while (weir_output_can_append(writer->output) && next_item(writer, &item)) {
        append(writer, &item, pressed);
        any = true;
    }
    return any;
}

/* Reaps the old output, and hands it back when nothing of it is pending. True when something moved. */
static bool finish_rotation(struct weir_writer *writer, unsigned wait_ms)
{
    struct weir_writer_rotation *rotation = writer->rotation;
    if (!rotation)
        return false;
    weir_output_flush(rotation->left);
    bool reaped = reap(writer, rotation->left, &rotation->account, wait_ms);
    tell_of_failure(writer, rotation->left);
    if (weir_output_pending(rotation->left) > 0)
        return reaped;
    writer->rotation = NULL;
    weir_test_point(WEIR_AT_ROTATION_DONE);
    int fd = rotation->fd; /* the rotation may be gone as soon as it is done */
    weir_chunk_advance(&rotation->item, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE); /* (rotation-done) */
    if (fd >= 0)
        eventfd_write(fd, 1);
    return true;
}

/* ---- outputs that wait for space ---- */

/* Before writes go to the kernel: the first write after wait_for_space() may find no room. */
static void choose_waiting(const struct weir_writer *writer)
{
    bool waits = waits_for_space(writer);
    weir_output_wait_for_space(writer->output, waits);
    if (writer->rotation)
        weir_output_wait_for_space(writer->rotation->left, waits);
}

/* True when the output waits for space. again: try it now. */
static bool look_for_space(struct weir_output *output, bool again)
{
    bool full = weir_output_is_full(output);
    if (full && again)
        weir_output_try_again(output);
    return full;
}

static void look_for_room(struct weir_writer *writer)
{
    uint64_t now_ns = weir_clock_now_ns(writer->setup.clock);
    bool again = now_ns >= writer->tried_ns + TRY_AGAIN_NS;
    bool full = look_for_space(writer->output, again);
    if (writer->rotation)
        full |= look_for_space(writer->rotation->left, again);
    if (full && again)
        writer->tried_ns = now_ns;
    /* Relaxed: the disk guard reads it ten times a second. */
    atomic_store_explicit(&writer->full, full, memory_order_relaxed);
}

/* Tells the coordinator of a round, a full output or a failed output. */
static void tell(struct weir_writer *writer)
{
    while (weir_round_due_asks(&writer->round_due, writer->output_bytes, writer->pressure >= WEIR_PRESSURE_SOME))
        kick_coordinator(writer);
    if (!writer->told_full && writer->setup.full_bytes > 0 && writer->output_bytes >= writer->setup.full_bytes) {
        writer->told_full = true;
        eventfd_write(writer->setup.full_fd, 1);
    }
    tell_of_failure(writer, writer->output);
}

/* Relaxed: the kick's system calls order it. */
static void tell_of_file(struct weir_writer *writer, _Atomic int *word, int what)
{
    atomic_store_explicit(word, what, memory_order_relaxed);
    kick_coordinator(writer);
}

/* Tells the coordinator that another process has removed or cut the file, and once that its head cannot be written.
 * tell() reports a failed output. */
static void tell_of_checkpoint(struct weir_writer *writer)
{
    struct weir_checkpoint *checkpoint = &writer->checkpoint;
    if (checkpoint->taken != 0)
        tell_of_file(writer, &writer->taken, checkpoint->taken);
    checkpoint->taken = 0;
    if (checkpoint->error == 0 || writer->told_unsized)
        return;
    writer->told_unsized = true;
    if (weir_output_error(writer->output) == 0)
        tell_of_file(writer, &writer->unsized, checkpoint->error);
}

bool weir_writer_step(struct weir_writer *writer, unsigned wait_ms)
{
    bool appended = append_queued(writer);
    /* Relaxed: it orders nothing else. */
    if (atomic_load_explicit(&writer->given_up, memory_order_relaxed) && weir_output_is_stream(writer->output))
        weir_output_abandon(writer->output, -ECANCELED);
    if (writer->setup.grower)
        weir_pool_grower_tell(writer->setup.grower);
    choose_waiting(writer);
    if (!appended)
        weir_output_push_tail(writer->output);
    weir_output_flush(writer->output);
    bool reaped = finish_rotation(writer, wait_ms);
    reaped |= reap(writer, writer->output, &writer->account, reaped ? 0 : wait_ms);
    look_for_room(writer);
    tell(writer);
    /* Relaxed: the coordinator reads the number for its own sake. */
    atomic_store_explicit(&writer->told_bytes, writer->left_bytes + writer->output_bytes, memory_order_relaxed);
    weir_checkpoint_run(&writer->checkpoint, writer->output);
    tell_of_checkpoint(writer);
    return appended || reaped;
}

bool weir_writer_is_idle(struct weir_writer *writer)
{
    return weir_chunk_queue_is_empty(writer->setup.queue) && !writer->train && !writer->rotation &&
           weir_output_pending(writer->output) == 0 &&
           (!writer->setup.stage || weir_chunk_stage_backlog(writer->setup.stage) == 0);
}

/* How many chunks are worth a step: at most half of the chunks that readers may take at once. The other half has to
 * last until the writer runs. Gathered chunks are also missing in the pool when the disk begins to stall. */
static unsigned batch(const struct weir_pool *pool)
{
    uint32_t free = weir_pool_free_count(pool);
    uint64_t takeable = free > pool->reserve ? free - pool->reserve : 0;
    uint64_t most = weir_min_u64(GATHER_BYTES / pool->chunk_bytes, pool->chunk_count / GATHER_SHARE);
    return (unsigned)weir_max_u64(weir_min_u64(most, takeable / 2), 1);
}

static bool looks_after_something(const struct weir_writer *writer)
{
    return writer->rotation || writer->awaited > 0 || writer->checkpoint.step != WEIR_CHECKPOINT_REST ||
           (writer->setup.stage && weir_chunk_stage_is_busy(writer->setup.stage));
}

/* Lets chunks gather. moved: the last step moved something. Returns the milliseconds that this may have taken. */
static unsigned gather(struct weir_writer *writer, bool moved)
{
    const struct weir_pool *pool = writer->setup.pool;
    bool haste = weir_pool_free_count(pool) < weir_pool_used_count(pool);
    if (!haste && !looks_after_something(writer)) {
        if (weir_chunk_queue_park(writer->setup.queue, batch(pool), GATHER_MS) != WEIR_PARK_NEEDLESS || moved)
            return GATHER_MS;
        haste = true; /* a chunk that is not linked yet stands before the others */
    }
    unsigned pause_ms = haste ? HASTE_MS : PASS_MS;
    weir_clock_pause_ns(pause_ms * WEIR_NS_PER_MS);
    return pause_ms;
}

/* Sleeps as long as nothing needs the writer. Returns for how long nothing has moved. */
static unsigned rest(struct weir_writer *writer, unsigned quiet_ms, bool moved)
{
    writer->sleeps++;
    uint64_t due_ns = weir_checkpoint_due_in_ns(&writer->checkpoint, writer->output);
    if (moved || quiet_ms < PARK_AFTER_MS || due_ns == 0 || !weir_writer_is_idle(writer)) {
        unsigned pause_ms = gather(writer, moved);
        return moved ? 0 : quiet_ms + pause_ms;
    }
    weir_chunk_queue_park(writer->setup.queue, 1, due_ns == UINT64_MAX ? -1 : (int)(due_ns / WEIR_NS_PER_MS) + 1);
    return weir_chunk_queue_is_empty(writer->setup.queue) ? quiet_ms : 0;
}

void weir_writer_run(struct weir_writer *writer)
{
    unsigned quiet_ms = 0;
    for (;;) {
        /* Acquire pairs with stop(): the emptiness check below sees every push before it. */
        bool stopping = atomic_load_explicit(&writer->stopping, memory_order_acquire);
        /* Waits for a full output in the step: sleeping would let the pool run dry. Likewise for the consumer of a
         * stream, which may take little at a time: only this thread moves pending bytes. */
        bool full = !weir_output_can_append(writer->output) ||
                    (weir_output_is_stream(writer->output) && weir_output_pending(writer->output) > 0);
        if (stopping && writer->setup.stage) /* no round ends any more */
            weir_chunk_stage_let_go(writer->setup.stage);
        bool moved = weir_writer_step(writer, full || stopping ? PASS_MS : 0);
        if (stopping && weir_writer_is_idle(writer))
            return;
        if (full && !moved && weir_output_is_full(writer->output)) /* nothing is in flight that would be waited for */
            weir_clock_pause_ns(PASS_MS * WEIR_NS_PER_MS);
        if (stopping && !moved) /* the disk was waited for in step(), compression is waited for here */
            weir_clock_pause_ns(HASTE_MS * WEIR_NS_PER_MS);
        if (!stopping && !full)
            quiet_ms = rest(writer, quiet_ms, moved);
    }
}

void weir_writer_give_up_stream(struct weir_writer *writer)
{
    atomic_store_explicit(&writer->given_up, true, memory_order_relaxed);
}

void weir_writer_wait_for_space(struct weir_writer *writer, bool waits)
{
    atomic_store_explicit(&writer->waits, waits, memory_order_relaxed);
}

void weir_writer_stop(struct weir_writer *writer)
{
    atomic_store_explicit(&writer->stopping, true, memory_order_release);
    weir_chunk_queue_wake(writer->setup.queue);
}
