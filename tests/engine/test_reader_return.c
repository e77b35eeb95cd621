/* A CPU comes back: what its reader puts between what stands before and what comes then. One step at a time. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "format/records.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/reader_rig.h"
#include "tests/engine/test_record.h"

#define SAMPLE_BYTES 64u

static struct reader_rig rig; /* each test is a process of its own */

/* One of each event, numbered from 1 on by its id. */
static void append_returns(struct weir_buf *records, unsigned events)
{
    for (unsigned n = 1; n <= events; n++) {
        const struct weir_record_sample_id trailer = {
            .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
            .id = n,
        };
        weir_record_returned(records, &trailer);
    }
    cr_assert_eq(weir_buf_error(records), 0);
}

static uint64_t last_word(const uint8_t *record)
{
    uint64_t word;
    memcpy(&word, record + test_record_bytes(record) - sizeof(word), sizeof(word));
    return word;
}

Test(reader_return, no_memory_is_reported_and_the_ring_is_as_it_was)
{
    rig_init(&rig, &(struct rig_options){0});
    struct weir_buf records = WEIR_BUF_INIT;
    append_returns(&records, 1);
    failing_alloc_after(0);
    cr_assert_eq(weir_reader_ring_note_return(&rig.readers[0].rings.at[0], records.data, records.used), -ENOMEM);
    failing_alloc_never();
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);
    cr_assert_null(rig_pop(&rig));
    weir_buf_fini(&records);
    rig_fini(&rig);
}

/* Thousands of events, and small chunks. */
Test(reader_return, more_than_a_chunk_takes_goes_to_several_between_what_was_before_and_what_comes)
{
    enum {
        EVENTS = 2 * RIG_CHUNK_BYTES / 48
    };
    rig_init(&rig, &(struct rig_options){.chunks = 8});
    struct weir_buf records = WEIR_BUF_INIT;
    append_returns(&records, EVENTS);
    rig_put_sample(&rig, 0, 1, SAMPLE_BYTES);
    cr_assert_eq(weir_reader_ring_note_return(&rig.readers[0].rings.at[0], records.data, records.used), 0);
    rig_put_sample(&rig, 0, 2, SAMPLE_BYTES);
    rig_open_epoch(&rig);
    cr_assert_eq(weir_reader_step(&rig.readers[0]), WEIR_READER_DRAINED);

    unsigned samples = 0, told = 0;
    for (struct weir_chunk *chunk; (chunk = rig_pop(&rig)); rig_return(&rig, chunk)) {
        cr_assert(chunk->used > 0 && chunk->used <= chunk->capacity, "%u bytes", chunk->used);
        for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at)) {
            struct perf_event_header header;
            memcpy(&header, chunk->data + at, sizeof(header));
            if (header.type == PERF_RECORD_SAMPLE)
                cr_assert_eq(told, samples++ == 0 ? 0 : EVENTS);
            else
                cr_assert_eq(last_word(chunk->data + at), ++told);
        }
    }
    cr_assert(samples == 2 && told == EVENTS);
    weir_buf_fini(&records);
    rig_fini(&rig);
}
