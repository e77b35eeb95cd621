/* Synthesized records on their way to the pipeline, on simulated rings; and a series of files that was never set up. */
#include "engine/files/record_sink.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "engine/files/file_series.h"
#include "tests/engine/sim_rig.h"
#include "tests/engine/test_record.h"

static const struct sim_rig_options rig_options = {.cpus = 1, .ring_bytes = 4096, .buffer_bytes = 2 << 20};

static struct sim_rig rig;
static struct weir_record_sink sink;
static uint8_t record[TEST_SIDE_BYTES];
static size_t record_bytes;

static void set_up(void)
{
    sim_rig_init(&rig, &rig_options);
    weir_record_sink_init(&sink, &rig.pipeline, NULL);
    record_bytes = test_side_put(record, PERF_RECORD_COMM, 0);
}

static void tear_down(void)
{
    weir_record_sink_fini(&sink);
    sim_rig_fini(&rig);
}

TestSuite(record_sink, .init = set_up, .fini = tear_down);

Test(record_sink, output_that_failed_is_told_when_the_batch_goes)
{
    rig.pipeline.writer.error = -ENOSPC;
    cr_assert_eq(weir_record_sink_put(&sink, record, record_bytes), 0);
    cr_assert_eq(weir_record_sink_flush(&sink), -ENOSPC);
    cr_assert_eq(weir_record_sink_flush(&sink), 0, "nothing is left to fail with");
}

Test(record_sink, records_stay_until_the_batch_is_full_and_go_as_one_chunk)
{
    size_t most = WEIR_CHUNK_MIN_BYTES / record_bytes;
    for (size_t i = 0; i < most; i++)
        cr_assert_eq(weir_record_sink_put(&sink, record, record_bytes), 0);
    cr_assert_null(weir_chunk_queue_pop(&rig.pipeline.queue));
    cr_assert_eq(weir_record_sink_put(&sink, record, record_bytes), 0);
    const struct weir_chunk *chunk = weir_chunk_queue_pop(&rig.pipeline.queue);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->used, most * record_bytes);
    cr_assert_null(weir_chunk_queue_pop(&rig.pipeline.queue));
    cr_assert_eq(weir_record_sink_flush(&sink), 0);
    chunk = weir_chunk_queue_pop(&rig.pipeline.queue);
    cr_assert_eq(chunk->used, record_bytes);
    cr_assert_eq(memcmp(chunk->data, record, record_bytes), 0);
}

Test(record_sink, empty_batch_costs_no_chunk)
{
    cr_assert_eq(weir_record_sink_flush(&sink), 0);
    cr_assert_null(weir_chunk_queue_pop(&rig.pipeline.queue));
}

Test(record_sink, any_number_of_records_goes_in_whole_records)
{
    struct weir_buf records = WEIR_BUF_INIT;
    size_t count = 2 * WEIR_CHUNK_MIN_BYTES / record_bytes, sent = 0;
    for (size_t i = 0; i < count; i++)
        weir_buf_append(&records, record, record_bytes);
    cr_assert_eq(weir_record_sink_send(&rig.pipeline, &records), 0);
    for (const struct weir_chunk *chunk; (chunk = weir_chunk_queue_pop(&rig.pipeline.queue));) {
        cr_assert_eq(chunk->used % record_bytes, 0);
        sent += chunk->used;
    }
    cr_assert_eq(sent, count * record_bytes);
    weir_buf_fini(&records);
}

/* A dry run, and a recording that fails before its first file. */
Test(record_sink, series_of_files_that_was_never_set_up_closes_no_descriptor)
{
    struct weir_file_series series = {0};
    weir_file_series_close(&series);
    cr_assert_geq(fcntl(0, F_GETFD), 0, "standard input is not a series' to close");
}
