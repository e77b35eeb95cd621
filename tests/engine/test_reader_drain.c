/*
 * Draining over many blocks and chunks, and as far as it changes records: samples under ids of other recorders. One
 * thread. Where records lie and what no kernel should write: test_reader.c; what is done to the bytes:
 * test_record_rename.c.
 */
#include "engine/drain/reader.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_set.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define SAMPLE_BYTES 64u
#define STRANGE      (RIG_ID + 100)

/* ---- blocks and chunks ---- */

/* What is copied of a record before its end is there is neither lost nor doubled, wherever blocks and chunks end. */
static void check_blocks_and_chunks(bool past_caches, const uint16_t *sizes, size_t size_count)
{
    const uint64_t ring_bytes = 1 << 20;
    for (uint64_t start = 0; start < 64 * 1024; start += 5000) {
        struct reader_rig rig;
        rig_init(&rig,
                 &(struct rig_options){
                     .past_caches = past_caches, .ring_bytes = ring_bytes, .start = ring_bytes - start, .chunks = 16});
        uint64_t put = 0, bytes = 0;
        for (uint16_t size = sizes[0]; bytes + size <= ring_bytes; size = sizes[put % size_count]) {
            rig_put_sample(&rig, 0, put++, size);
            bytes += size;
        }
        cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
        rig_open_epoch(&rig);
        cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
        uint64_t seen = 0;
        for (struct weir_chunk *chunk; (chunk = rig_pop(&rig));) {
            unsigned count = 0;
            for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at))
                count++;
            rig_expect_samples(&rig, chunk, seen, count);
            seen += count;
        }
        cr_assert_eq(seen, put, "start %llu", (unsigned long long)start);
        cr_assert_eq(rig.readers[0].rings.at[0].drained_bytes, bytes);
        rig_fini(&rig);
    }
}

static void check_later_blocks_and_chunks(bool past_caches)
{
    static const uint16_t sizes[][10] = {
        {8584, 40, 3000, 64, 20000, 8192, 8184, 128, 12288, 60000},
        /* Past the caches all of the next block is copied on the way, or a part. */
        {40, 48, 40, 184, 40, 64, 72, 280, 40, 56},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sizes); i++)
        check_blocks_and_chunks(past_caches, sizes[i], WEIR_ARRAY_COUNT(sizes[i]));
}

Test(reader_drain, records_that_end_in_a_later_block_or_chunk_are_read_whole)
{
    check_later_blocks_and_chunks(false);
    check_later_blocks_and_chunks(true);
}

/* ---- ids of others ---- */

/* A reader with one event drains a sample of its own and one of nobody. */
static void expect_drained(uint32_t type, uint64_t id, uint64_t samples, uint64_t unknown)
{
    struct weir_event events[] = {
        {.attr = {.type = type, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .sample_period = 1}},
        {.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY}, .sideband = true},
    };
    struct weir_event_list list = {.events = events, .count = 2};
    uint64_t file_ids[] = {RIG_ID, RIG_SIDE_ID}, found;
    struct weir_event_set set = {.list = &list, .place_count = 1, .task_count = 1, .file_ids = file_ids};
    struct reader_rig rig;
    uint8_t record[SAMPLE_BYTES];
    rig_init(&rig, &(struct rig_options){0});
    cr_assert_eq(weir_id_map_init(&set.id_map, 1), 0);
    weir_id_map_add(&set.id_map, RIG_ID, 0, 0);
    rig.readers[0].drainer.set = &set;
    rig_put_sample(&rig, 0, 1, SAMPLE_BYTES);
    test_sample_put(record, STRANGE, 2, 2, SAMPLE_BYTES);
    raw_ring_put(&rig.raw, 0, record, sizeof(record));
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    struct weir_chunk *chunk = rig_pop(&rig);
    cr_assert_not_null(chunk);
    memcpy(&found, chunk->data + SAMPLE_BYTES + TEST_SAMPLE_ID_OFFSET, sizeof(found));
    cr_expect_eq(found, id);
    cr_expect_eq(rig.readers[0].rings.at[0].counts.samples[0], samples);
    cr_expect_eq(rig.readers[0].rings.at[0].counts.unknown_samples, unknown);
    weir_pool_put(&rig.pool, chunk);
    weir_id_map_fini(&set.id_map);
    rig_fini(&rig);
}

Test(reader_drain, sample_of_nobody_stays_that_where_the_kernel_mixes_up_no_event)
{
    expect_drained(PERF_TYPE_TRACEPOINT, STRANGE, 1, 1);
}

Test(reader_drain, sample_of_nobody_is_of_the_event_that_the_kernel_mixes_up)
{
    expect_drained(PERF_TYPE_SOFTWARE, RIG_ID, 2, 0);
}

/* ---- ids of events that were opened anew ---- */

#define NEW_SIDE_ID   (RIG_SIDE_ID + 100)
#define BODY_BYTES    24u /* of a BPF_EVENT record */
#define TRAILER_BYTES 16u
#define TAIL_BYTES    32u /* of a second recorder's event, which the kernel counts and does not write */

/* CPU 0 came back, so its side event has another id; a BPF program was loaded beside another recorder. */
Test(reader_drain, record_with_bytes_behind_its_sample_id_gets_the_id_of_the_file)
{
    struct weir_event events[] = {{.name = NULL}, {.sideband = true}};
    struct weir_event_list list = {.events = events, .count = 2};
    uint64_t file_ids[] = {RIG_ID, RIG_SIDE_ID}, trailer[] = {1, NEW_SIDE_ID}, wanted[] = {1, RIG_SIDE_ID};
    struct weir_event_set set = {.list = &list, .place_count = 1, .task_count = 1, .file_ids = file_ids};
    struct reader_rig rig;
    uint8_t record[BODY_BYTES + TRAILER_BYTES + TAIL_BYTES] = {0};
    const struct perf_event_header header = {.type = PERF_RECORD_BPF_EVENT, .size = sizeof(record)};
    memcpy(record, &header, sizeof(header));
    memcpy(record + BODY_BYTES, trailer, sizeof(trailer));

    rig_init(&rig, &(struct rig_options){0});
    cr_assert_eq(weir_id_map_init(&set.id_map, 1), 0);
    weir_id_map_add(&set.id_map, NEW_SIDE_ID, 1, 0);
    struct weir_walk_layout layout = *rig.readers[0].drainer.layout;
    layout.trailer_bytes = TRAILER_BYTES;
    rig.readers[0].drainer.layout = &layout;
    rig.readers[0].drainer.set = &set;
    rig.readers[0].rings.at[0].sideband = true;
    weir_reader_ring_rename(&rig.readers[0].rings.at[0]);
    raw_ring_put(&rig.raw, 0, record, sizeof(record));
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    struct weir_chunk *chunk = rig_pop(&rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->used, sizeof(record));
    cr_expect_arr_eq(chunk->data + sizeof(record) - TRAILER_BYTES, wanted, TRAILER_BYTES);
    weir_pool_put(&rig.pool, chunk);
    weir_id_map_fini(&set.id_map);
    rig_fini(&rig);
}
