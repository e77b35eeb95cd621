/*
 * AUX areas, one step of a reader at a time, over areas that the test fills: pieces, trains, the end of the area, the
 * empty pool, when an event is to be enabled again, snapshots. Threads: race_reader.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "engine/aux/aux_drain.h"
#include "engine/drain/reader.h"
#include "format/aux_records.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define AREA_BYTES (512u * 1024) /* four chunks */
#define ENTRY      24u

static struct reader_rig rig; /* each test is a process of its own */

/* Byte n of what an area has ever held. */
static uint8_t byte_at(uint64_t position)
{
    return (uint8_t)(1 + position % 251);
}

static void write_area(uint64_t count)
{
    uint8_t *bytes = malloc(count + 1);
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = byte_at(raw_aux_head(&rig.raw, 0) + i);
    raw_aux_write(&rig.raw, 0, bytes, count);
    free(bytes);
}

static void put_aux_record(uint64_t offset, uint64_t bytes, uint64_t flags)
{
    const struct {
        struct perf_event_header header;
        uint64_t offset, bytes, flags, id;
    } record = {{.type = PERF_RECORD_AUX, .size = sizeof(record)}, offset, bytes, flags, RIG_ID};
    raw_ring_put(&rig.raw, 0, &record, sizeof(record));
}

/* The kernel's order: bytes, record, head. */
static void trace_flagged(uint64_t count, uint64_t flags)
{
    write_area(count);
    put_aux_record(raw_aux_head(&rig.raw, 0), count, flags);
    raw_aux_publish(&rig.raw, 0, count);
}

static void trace(uint64_t count)
{
    trace_flagged(count, 0);
}

static void expect_step(enum weir_reader_state state)
{
    cr_assert_eq(weir_reader_step(&rig.readers[0]), state);
}

static struct weir_aux_drain *aux(void)
{
    return rig.readers[0].rings.at[0].aux;
}

/* Whether the coordinator was asked to enable an event since the last look. */
static bool was_asked(void)
{
    eventfd_t count;
    bool told = eventfd_read(rig.aux_fd, &count) == 0;
    bool wants = atomic_exchange(&aux()->wants_enable, false);
    cr_assert_eq(told, wants);
    return wants;
}

/* The next train; what stands before it is given back. NULL: there is none. */
static struct weir_chunk *pop_train(void)
{
    struct weir_chunk *chunk;
    while ((chunk = rig_pop(&rig)) && !chunk->opaque)
        rig_return(&rig, chunk);
    return chunk;
}

/* Pops a train that must hold the bytes [from, from + count) of the area; two is how many are there behind a gap. */
static void expect_piece_of(uint64_t from, uint64_t count, uint64_t behind, uint64_t behind_count)
{
    struct weir_chunk *train = pop_train();
    cr_assert(train && !train->follows, "no train");
    struct weir_auxtrace record = weir_auxtrace_read(train->data);
    uint64_t padded = (count + behind_count + 7) / 8 * 8;
    cr_assert_eq(record.bytes, padded, "%ju bytes, not %ju", (uintmax_t)record.bytes, (uintmax_t)padded);
    cr_assert_eq(record.offset, from, "at %ju, not %ju", (uintmax_t)record.offset, (uintmax_t)from);
    cr_assert(record.index == 0 && record.task == -1 && record.cpu == 0 && record.reference > 0);
    cr_assert_eq(weir_chunk_train_bytes(train), WEIR_AUXTRACE_RECORD_BYTES + padded);
    uint64_t n = 0;
    for (const struct weir_chunk *chunk = train; chunk; chunk = chunk->follower) {
        cr_assert(chunk->opaque && chunk->follows == (chunk != train));
        cr_assert(!chunk->follower || chunk->used == chunk->capacity);
        for (uint32_t at = chunk == train ? WEIR_AUXTRACE_RECORD_BYTES : 0; at < chunk->used; at++, n++) {
            uint8_t expected = n < count                  ? byte_at(from + n)
                               : n < count + behind_count ? byte_at(behind + n - count)
                                                          : 0;
            cr_assert_eq(chunk->data[at], expected, "byte %ju", (uintmax_t)n);
        }
    }
    rig_return(&rig, train);
}

static void expect_piece(uint64_t from, uint64_t count)
{
    expect_piece_of(from, count, 0, 0);
}

static void init(unsigned chunks, bool newest)
{
    rig_init(&rig, &(struct rig_options){.chunks = chunks, .aux_bytes = AREA_BYTES, .aux_newest = newest});
}

/* ---- full trace ---- */

Test(reader_aux, bytes_that_a_record_tells_of_become_one_piece_and_are_given_back)
{
    init(7, false);
    cr_assert(rig.raw.rings[0].area_writable);
    trace(1000);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, 1000);
    cr_assert_eq(raw_aux_tail(&rig.raw, 0), 1000);
    trace(13);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(1000, 13); /* with padding */
    expect_step(WEIR_READER_DRAINED);
    cr_assert_null(pop_train());
    cr_assert(aux()->pieces == 2 && aux()->bytes == 1013 && rig.readers[0].rings.at[0].counts.aux_records == 2);
    rig_fini(&rig);
}

Test(reader_aux, bytes_that_no_record_tells_of_yet_stay)
{
    init(7, false);
    write_area(100); /* the event runs */
    expect_step(WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    raw_aux_publish(&rig.raw, 0, 100); /* its record found no room */
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, 100);
    rig_fini(&rig);
}

Test(reader_aux, area_that_is_full_is_one_train_across_its_end)
{
    init(14, false);
    for (unsigned n = 0; n < 5; n++) {
        uint64_t head = raw_aux_head(&rig.raw, 0), count = AREA_BYTES - 1000 * n;
        trace(count);
        expect_step(WEIR_READER_DRAINED);
        expect_piece(head, count);
    }
    cr_assert_eq(aux()->cut_pieces, 0);
    rig_fini(&rig);
}

/* AREA_BYTES is 8 more than a multiple of 24. */
Test(reader_aux, what_is_no_whole_entry_before_the_end_of_the_area_is_left_out)
{
    init(14, false);
    aux()->entry_bytes = ENTRY;
    uint64_t left_out = AREA_BYTES % ENTRY, first = AREA_BYTES - left_out - 10 * ENTRY;
    cr_assert_neq(left_out, 0);
    trace(first);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, first);
    trace(10 * ENTRY + left_out + 5 * ENTRY);
    expect_step(WEIR_READER_DRAINED);
    expect_piece_of(first, 10 * ENTRY, AREA_BYTES, 5 * ENTRY);
    cr_assert_eq(raw_aux_tail(&rig.raw, 0), raw_aux_head(&rig.raw, 0));
    trace(AREA_BYTES - 5 * ENTRY - left_out);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(AREA_BYTES + 5 * ENTRY, AREA_BYTES - 5 * ENTRY - left_out);
    trace(left_out + ENTRY); /* nothing but that before it */
    expect_step(WEIR_READER_DRAINED);
    expect_piece(2ull * AREA_BYTES, ENTRY);
    rig_fini(&rig);
}

/* The driver skips the end of the area without a word (perf_aux_output_skip()), and a piece may end right there. */
Test(reader_aux, end_of_the_area_that_was_skipped_is_left_out)
{
    init(14, false);
    aux()->entry_bytes = ENTRY;
    uint64_t left_out = AREA_BYTES % ENTRY;
    trace(AREA_BYTES - left_out - ENTRY);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, AREA_BYTES - left_out - ENTRY);
    trace(ENTRY);
    raw_aux_publish(&rig.raw, 0, left_out);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(AREA_BYTES - left_out - ENTRY, ENTRY);
    trace(AREA_BYTES - left_out);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(AREA_BYTES, AREA_BYTES - left_out);
    raw_aux_publish(&rig.raw, 0, left_out); /* nothing but that */
    expect_step(WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    cr_assert_eq(raw_aux_tail(&rig.raw, 0), 2ull * AREA_BYTES);
    rig_fini(&rig);
}

Test(reader_aux, empty_pool_cuts_a_piece_between_entries_and_the_rest_follows)
{
    init(3, false);
    trace(AREA_BYTES);
    expect_step(WEIR_READER_STARVED);
    uint64_t first = raw_aux_tail(&rig.raw, 0);
    cr_assert(first > 0 && first < AREA_BYTES && first % 192 == 0, "%ju", (uintmax_t)first);
    expect_piece(0, first);
    while (raw_aux_tail(&rig.raw, 0) < AREA_BYTES) {
        uint64_t from = raw_aux_tail(&rig.raw, 0);
        weir_reader_step(&rig.readers[0]);
        expect_piece(from, raw_aux_tail(&rig.raw, 0) - from);
    }
    cr_assert_gt(aux()->cut_pieces, 0);
    rig_fini(&rig);
}

Test(reader_aux, without_any_chunk_the_bytes_stay)
{
    init(2, false);
    struct weir_chunk *taken[2] = {weir_pool_take(&rig.pool, 0, true), weir_pool_take(&rig.pool, 0, true)};
    trace(64);
    expect_step(WEIR_READER_STARVED);
    cr_assert_eq(raw_aux_tail(&rig.raw, 0), 0);
    weir_pool_put(&rig.pool, taken[0]);
    weir_pool_put(&rig.pool, taken[1]);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, 64);
    rig_fini(&rig);
}

/* ---- rounds ---- */

Test(reader_aux, reader_is_not_past_an_epoch_before_the_bytes_that_its_records_tell_of_are_handed_over)
{
    init(7, false);
    write_area(64);
    put_aux_record(0, 64, 0);
    rig_open_epoch(&rig);
    expect_step(WEIR_READER_STARVED); /* the kernel has not published them yet */
    cr_assert_not(weir_reader_is_past(&rig.readers[0], 1));
    raw_aux_publish(&rig.raw, 0, 64);
    expect_step(WEIR_READER_DRAINED);
    cr_assert(weir_reader_has_passed(&rig.readers[0], 1));
    struct weir_chunk *records = rig_pop(&rig);
    cr_assert(records && !records->opaque && records->used == sizeof(uint64_t) * 5); /* before what they are of */
    rig_return(&rig, records);
    expect_piece(0, 64);
    cr_assert_null(rig_pop(&rig));
    rig_fini(&rig);
}

Test(reader_aux, bytes_that_never_come_hold_up_no_recording_for_good)
{
    init(7, false);
    write_area(64);
    put_aux_record(0, 64, 0);
    rig.control.stop_epoch = 1;
    rig_open_epoch(&rig);
    unsigned steps = 1;
    while (weir_reader_step(&rig.readers[0]) == WEIR_READER_STARVED && steps < 5000)
        steps++;
    cr_assert(weir_reader_has_passed(&rig.readers[0], 1) && steps > 500, "%u steps", steps);
    cr_assert_eq(rig.readers[0].rings.at[0].discarded_bytes, 64);
    rig_fini(&rig);
}

/* The chunk with the record goes when it is full; what it tells of is held until it goes, too. */
Test(reader_aux, chunk_that_is_handed_over_before_the_area_leaves_the_reader_holding)
{
    init(7, false);
    write_area(64);
    put_aux_record(0, 64, 0);
    expect_step(WEIR_READER_STARVED);
    struct weir_reader *reader = &rig.readers[0];
    for (uint64_t n = 0; !rig.queue.pushed; n++) {
        rig_put_sample(&rig, 0, n + 1, 2048);
        weir_reader_step(reader);
    }
    cr_assert(atomic_load(&reader->sink.holding));
    raw_aux_publish(&rig.raw, 0, 64);
    rig_open_epoch(&rig);
    expect_step(WEIR_READER_DRAINED);
    cr_assert_not(atomic_load(&reader->sink.holding));
    rig_fini(&rig);
}

/* The chunk has no room for all records of the step. */
Test(reader_aux, full_chunk_takes_along_what_its_records_tell_of)
{
    rig_init(&rig, &(struct rig_options){.chunks = 14, .aux_bytes = AREA_BYTES, .ring_bytes = 256u * 1024});
    trace(300);
    unsigned samples = 0;
    for (; samples * 2048 < rig.pool.chunk_bytes; samples++)
        rig_put_sample(&rig, 0, samples + 1, 2048);
    trace(200); /* its record is in the next chunk */
    expect_step(WEIR_READER_DRAINED);
    struct weir_chunk *records = rig_pop(&rig);
    cr_assert(records && !records->opaque);
    cr_assert_gt(records->used + 2048, records->capacity);
    rig_return(&rig, records);
    struct weir_chunk *train = rig_pop(&rig);
    cr_assert(train && train->opaque, "another chunk of records is in between");
    cr_assert_eq(weir_auxtrace_read(train->data).bytes, 304);
    rig_return(&rig, train);
    records = rig_pop(&rig);
    cr_assert(records && !records->opaque);
    rig_return(&rig, records);
    expect_piece(300, 200);
    cr_assert_null(rig_pop(&rig));
    rig_fini(&rig);
}

Test(reader_aux, last_step_takes_all_there_is)
{
    init(7, false);
    trace(100);
    write_area(50);
    raw_aux_publish(&rig.raw, 0, 50);
    rig.control.stop_epoch = 1;
    rig_open_epoch(&rig);
    expect_step(WEIR_READER_STOPPED);
    expect_piece(0, 150);
    rig_fini(&rig);
}

/* ---- enabling ---- */

Test(reader_aux, event_is_to_be_enabled_again_when_its_area_may_have_been_full)
{
    init(28, false); /* nothing is popped */
    trace(AREA_BYTES / 2);
    expect_step(WEIR_READER_DRAINED);
    cr_assert_not(was_asked());
    trace(AREA_BYTES - AREA_BYTES / 4);
    expect_step(WEIR_READER_DRAINED);
    cr_assert(was_asked());
    trace_flagged(64, PERF_AUX_FLAG_TRUNCATED);
    expect_step(WEIR_READER_DRAINED);
    cr_assert(was_asked());
    trace(64);
    expect_step(WEIR_READER_DRAINED);
    cr_assert_not(was_asked());
    trace_flagged(0, PERF_AUX_FLAG_TRUNCATED); /* nothing to read, and stopped all the same */
    expect_step(WEIR_READER_DRAINED);
    cr_assert(was_asked());
    expect_step(WEIR_READER_DRAINED);
    cr_assert_not(was_asked());
    cr_assert_eq(rig.readers[0].rings.at[0].counts.aux_truncated, 2);
    rig_fini(&rig);
}

/* ---- snapshots ---- */

static void take_snapshot(enum weir_reader_state state)
{
    rig.control.snapshot_epoch = rig.control.epoch + 1;
    rig_open_epoch(&rig);
    expect_step(state);
}

/* The kernel writes on, whatever was read. */
static void overwrite(uint64_t count)
{
    write_area(count);
    raw_aux_set_head(&rig.raw, 0, raw_aux_head(&rig.raw, 0) + count);
}

Test(reader_aux, snapshot_has_what_was_written_since_the_last_one)
{
    init(7, true);
    cr_assert_not(rig.raw.rings[0].area_writable);
    overwrite(1000);
    expect_step(WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig)); /* nobody has asked */
    take_snapshot(WEIR_READER_DRAINED);
    expect_piece(0, 1000);
    overwrite(500);
    take_snapshot(WEIR_READER_DRAINED);
    expect_piece(1000, 500);
    take_snapshot(WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    cr_assert_eq(raw_aux_tail(&rig.raw, 0), 0);
    rig_fini(&rig);
}

Test(reader_aux, snapshot_of_a_full_area_is_all_of_it_oldest_first)
{
    init(14, true);
    overwrite(AREA_BYTES);
    overwrite(5000);
    take_snapshot(WEIR_READER_DRAINED);
    expect_piece(5000, AREA_BYTES);
    rig_fini(&rig);
}

/* As the drivers of Intel's have it: the head is a position within the area, and that it was full shows in its end. */
Test(reader_aux, head_that_counts_within_the_area_tells_the_same)
{
    init(14, true);
    overwrite(AREA_BYTES - 100);
    overwrite(100);
    raw_aux_set_head(&rig.raw, 0, 0);
    overwrite(5000);
    take_snapshot(WEIR_READER_DRAINED);
    struct weir_chunk *train = pop_train();
    struct weir_auxtrace record = weir_auxtrace_read(train->data);
    cr_assert(record.bytes == AREA_BYTES && record.offset == 5000);
    cr_assert_eq(train->data[WEIR_AUXTRACE_RECORD_BYTES], byte_at(5000));
    rig_return(&rig, train);
    rig_fini(&rig);
}

Test(reader_aux, snapshot_is_limited_to_the_newest_and_begins_with_a_whole_entry)
{
    init(14, true);
    aux()->snapshot_bytes = 10000;
    aux()->entry_bytes = ENTRY;
    overwrite(30000);
    take_snapshot(WEIR_READER_DRAINED);
    uint64_t from = 20000 + (ENTRY - 20000 % ENTRY) % ENTRY;
    expect_piece(from, 30000 - from);
    rig_fini(&rig);
}

Test(reader_aux, snapshot_waits_for_chunks_and_stays_one_piece)
{
    init(7, true);
    struct weir_chunk *taken[4];
    for (unsigned i = 0; i < 4; i++)
        taken[i] = weir_pool_take(&rig.pool, 0, true);
    overwrite(AREA_BYTES);
    take_snapshot(WEIR_READER_STARVED);
    cr_assert_not(weir_reader_has_passed(&rig.readers[0], 1));
    for (unsigned i = 0; i < 4; i++)
        weir_pool_put(&rig.pool, taken[i]);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, AREA_BYTES);
    cr_assert(weir_reader_has_passed(&rig.readers[0], 1));
    rig_fini(&rig);
}

Test(reader_aux, area_is_read_once_for_a_snapshot_in_which_the_next_one_waits_for_chunks)
{
    rig_init(&rig,
             &(struct rig_options){.chunks = 12, .rings_per_reader = 2, .aux_bytes = AREA_BYTES, .aux_newest = true});
    struct weir_chunk *taken[4];
    for (unsigned i = 0; i < 4; i++)
        taken[i] = weir_pool_take(&rig.pool, 0, true);
    overwrite(AREA_BYTES);
    raw_aux_set_head(&rig.raw, 1, AREA_BYTES);
    take_snapshot(WEIR_READER_STARVED); /* the first has its five chunks, the second two */
    expect_step(WEIR_READER_STARVED);
    for (unsigned i = 0; i < 4; i++)
        weir_pool_put(&rig.pool, taken[i]);
    expect_step(WEIR_READER_DRAINED);
    expect_piece(0, AREA_BYTES);
    struct weir_chunk *second = pop_train();
    struct weir_auxtrace record = weir_auxtrace_read(second->data);
    cr_assert(record.index == 1 && record.bytes == AREA_BYTES);
    rig_return(&rig, second);
    cr_assert_null(pop_train());

    take_snapshot(WEIR_READER_DRAINED); /* a full area is in each snapshot */
    expect_piece(0, AREA_BYTES);
    rig_fini(&rig);
}

Test(reader_aux, area_that_samples_are_cut_from_is_never_read)
{
    init(7, true);
    aux()->sampled = true;
    overwrite(1000);
    take_snapshot(WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    rig_fini(&rig);
}

/* ---- mapping ---- */

Test(reader_aux, area_that_cannot_be_mapped_leaves_the_ring_as_it_was)
{
    rig_init(&rig, &(struct rig_options){0});
    rig.raw.map_error = -EPERM;
    struct weir_aux_area area = {0};
    cr_assert_eq(weir_aux_area_map(&area, &rig.readers[0].rings.at[0].ring, 0, AREA_BYTES, false), -EPERM);
    cr_assert(!area.page && rig.raw.rings[0].page->aux_size == 0 && rig.raw.rings[0].page->aux_offset == 0);
    weir_aux_area_unmap(&area);
    weir_aux_area_unmap(NULL);
    rig_fini(&rig);
}
