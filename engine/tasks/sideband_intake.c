/*
 * Takes in the records: synthesized ones, which any thread feeds, and those that readers put into their tees. From them
 * come the files that code is mapped from, the BPF programs and, in order of time, the task map.
 */
#include "engine/tasks/sideband_internal.h"

#include <stdlib.h>
#include <string.h>

#include "engine/kernel/test_point.h"

#define FEED_BYTES_MAX (64u << 20)

void weir_sideband_feed(struct weir_sideband *sideband, const void *records, size_t bytes)
{
    struct weir_feed_block *block = malloc(sizeof(*block) + bytes);
    if (block) {
        block->next = NULL;
        block->bytes = bytes;
        memcpy(block->records, records, bytes);
    }
    pthread_mutex_lock(&sideband->feed_lock);
    if (block && bytes <= FEED_BYTES_MAX - sideband->feed_bytes) {
        if (sideband->feed_last)
            sideband->feed_last->next = block;
        else
            sideband->feed_first = block;
        sideband->feed_last = block;
        sideband->feed_bytes += bytes;
        block = NULL;
    } else {
        sideband->feed_missed++;
    }
    pthread_mutex_unlock(&sideband->feed_lock);
    free(block);
}

void weir_sideband_end_feed(struct weir_sideband *sideband)
{
    pthread_mutex_lock(&sideband->feed_lock);
    sideband->feed_ended = true;
    pthread_mutex_unlock(&sideband->feed_lock);
}

static bool maps_code(const struct weir_side_record *record)
{
    if (record->type != PERF_RECORD_MMAP && record->type != PERF_RECORD_MMAP2)
        return false;
    return record->map.cpumode == PERF_RECORD_MISC_KERNEL || !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
}

/* origin: NULL for a synthesized record. */
static void take_record(struct weir_sideband *sideband, const uint8_t *data, const struct weir_side_record *record,
                        const struct weir_side_origin *origin)
{
    if (record->type == PERF_RECORD_LOST) {
        sideband->counts.lost += record->lost;
        return;
    }
    sideband->counts.records++;
    int64_t file = maps_code(record) ? weir_mapped_files_add(&sideband->files, record) : -1;
    if (sideband->setup.supply)
        weir_unwind_supply_note(sideband->setup.supply, record, &sideband->files, file);
    if (record->type == PERF_RECORD_BPF_EVENT) {
        if (sideband->setup.read_bpf_programs)
            weir_bpf_images_note(&sideband->programs, record->bpf_program);
        return; /* it concerns no task: order does not matter */
    }
    if (origin)
        weir_side_queue_push(&sideband->queue, data, record->bytes, record->time_ns, origin);
    else
        weir_task_map_apply(&sideband->tasks, record);
}

/* origin: of the first record. */
static void take_records(struct weir_sideband *sideband, const uint8_t *data, size_t bytes,
                         const struct weir_side_origin *origin)
{
    struct weir_side_record record;
    struct weir_side_origin here = origin ? *origin : (struct weir_side_origin){0};
    uint64_t first = here.at;
    int size;
    for (size_t at = 0; at < bytes; at += (size_t)size) {
        size = weir_side_record_parse(&sideband->layout, data + at, bytes - at, &record);
        if (size <= 0)
            return; /* readers hand over whole records */
        here.at = first + at;
        if (record.type != 0)
            take_record(sideband, data + at, &record, origin ? &here : NULL);
    }
}

static struct weir_feed_block *take_feed(struct weir_sideband *sideband, bool *ended, uint64_t *missed)
{
    pthread_mutex_lock(&sideband->feed_lock);
    struct weir_feed_block *first = sideband->feed_first;
    sideband->feed_first = sideband->feed_last = NULL;
    sideband->feed_bytes = 0;
    *ended = sideband->feed_ended;
    *missed = sideband->feed_missed;
    pthread_mutex_unlock(&sideband->feed_lock);
    return first;
}

static void apply_one(void *ctx, const uint8_t *data, size_t bytes)
{
    struct weir_sideband *sideband = ctx;
    struct weir_side_record record;
    if (weir_side_record_parse(&sideband->layout, data, bytes, &record) > 0 && record.type != 0)
        weir_task_map_apply(&sideband->tasks, &record);
}

bool weir_sideband_has_missed(const struct weir_sideband *sideband)
{
    return sideband->counts.missed > 0 || sideband->counts.lost > 0 || sideband->queue.lost > 0;
}

bool weir_sideband_take_in(struct weir_sideband *sideband)
{
    struct weir_unwind_supply *supply = sideband->setup.supply;
    uint64_t records = sideband->counts.records, missed = 0;
    uint64_t look = supply ? weir_unwind_supply_begin(supply) : 0;                      /* (supply-look) */
    uint64_t epoch = atomic_load_explicit(sideband->setup.epoch, memory_order_acquire); /* (tees-filled) */
    weir_test_point(WEIR_AT_SIDE_EPOCH);
    for (unsigned i = 0; i < sideband->setup.tee_count; i++) {
        weir_buf_reset(&sideband->drained);
        const struct weir_side_origin origin = {.tee = i, .at = weir_side_tee_drained(&sideband->tees[i])};
        if (weir_side_tee_drain(&sideband->tees[i], &sideband->drained) > 0)
            take_records(sideband, sideband->drained.data, sideband->drained.used, &origin);
        missed += weir_side_tee_missed(&sideband->tees[i]);
    }

    bool ended;
    uint64_t feed_missed;
    struct weir_feed_block *block = take_feed(sideband, &ended, &feed_missed);
    while (block) {
        struct weir_feed_block *next = block->next;
        take_records(sideband, block->records, block->bytes, NULL);
        free(block);
        block = next;
    }
    if (supply)
        weir_unwind_supply_end(supply, look); /* (supply-look) */
    weir_test_point(WEIR_AT_SIDE_DRAINED);
    /* (tees-filled): read again, for the records that are seen from here on. */
    uint64_t epoch_after = atomic_load_explicit(sideband->setup.epoch, memory_order_acquire);
    if (ended)
        weir_side_queue_advance(&sideband->queue, epoch, epoch_after, apply_one, sideband);
    sideband->counts.reordered = sideband->queue.unproven;
    sideband->counts.missed = missed + feed_missed;
    if (weir_sideband_has_missed(sideband))
        weir_task_map_doubt(&sideband->tasks);
    if (sideband->files.first_new != WEIR_MAPPED_NONE)
        pthread_cond_signal(&sideband->unread);
    return sideband->counts.records != records;
}

void weir_sideband_note_maps(struct weir_sideband *sideband, const uint8_t *records, size_t bytes)
{
    struct weir_side_record record;
    int size;
    for (size_t at = 0; at < bytes; at += (size_t)size) {
        size = weir_side_record_parse(&sideband->layout, records + at, bytes - at, &record);
        if (size <= 0)
            return;
        if (maps_code(&record))
            weir_mapped_files_add(&sideband->files, &record);
    }
}

void weir_sideband_take_rest(struct weir_sideband *sideband)
{
    weir_side_queue_apply_all(&sideband->queue, apply_one, sideband);
}

void weir_sideband_free_feed(struct weir_feed_block *block)
{
    while (block) {
        struct weir_feed_block *next = block->next;
        free(block);
        block = next;
    }
}
