/* A writer, one step at a time. One thread. */
#include "tests/engine/writer_rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "format/perf_file.h"
#include "format/records.h"
#include "tests/engine/test_record.h"

#define STEPS_MAX 1000

uint64_t writer_rig_id(unsigned cpu, unsigned event)
{
    return 100 + cpu * WRITER_RIG_EVENTS + event;
}

static void open_output(struct writer_rig *f, const struct fake_io_options *disk)
{
    static const uint8_t head[WRITER_RIG_HEAD_BYTES];
    struct weir_error err = {0};
    f->disk = fake_io_new(disk);
    struct weir_output_options options = {
        .buffers = f->pool.buffers,
        .buffer_count = f->pool.buffer_count,
        .fill_padding = weir_record_fill_padding,
        .padding_least = WEIR_RECORD_PADDING_LEAST,
        .io = fake_io_ops(f->disk),
    };
    cr_assert_eq(weir_output_open(&f->output, "/dev/null", &options, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_write_head(f->output, head, sizeof(head)), 0);
}

void writer_rig_init(struct writer_rig *f, const struct fake_io_options *disk)
{
    const struct weir_pool_share share = {.node = -1, .readers = 1};
    memset(f, 0, sizeof(*f));
    f->fake_clock.now_ns = WRITER_RIG_START_NS;
    f->clock = fake_clock_interface(&f->fake_clock);
    cr_assert_eq(weir_pool_init(&f->pool, WRITER_RIG_CHUNKS * WEIR_CHUNK_MIN_BYTES, WEIR_POOL_ALL_READY,
                                WEIR_CHUNK_MAX_BYTES, 0, &share, 1, NULL),
                 0);
    weir_chunk_queue_init(&f->queue);
    cr_assert_eq(weir_id_map_init(&f->ids, WRITER_RIG_CPUS * WRITER_RIG_EVENTS), 0);
    for (unsigned cpu = 0; cpu < WRITER_RIG_CPUS; cpu++) {
        for (unsigned event = 0; event < WRITER_RIG_EVENTS; event++)
            weir_id_map_add(&f->ids, writer_rig_id(cpu, event), event, cpu);
    }
    open_output(f, disk);
    f->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct weir_writer_setup setup = {
        .queue = &f->queue,
        .pool = &f->pool,
        .output = f->output,
        .clock = &f->clock,
        .layout =
            {
                .ids = &f->ids,
                .id_offset = TEST_SAMPLE_ID_OFFSET,
                .time_offset = TEST_SAMPLE_TIME_OFFSET,
                .place_stride = WRITER_RIG_EVENTS,
                .sideband_event = WRITER_RIG_SIDEBAND,
            },
        .reader_count = 1,
        .failed_counters = WRITER_RIG_CPUS * WRITER_RIG_EVENTS,
        .rounds = {.bytes = WRITER_RIG_ROUND_BYTES, .patient_bytes = WRITER_RIG_PATIENT_BYTES},
        .kick_fd = f->kick_fd,
    };
    cr_assert_eq(weir_writer_init(&f->writer, &setup), 0);
}

void writer_rig_fini(struct writer_rig *f)
{
    weir_output_close(f->output);
    fake_io_free(f->disk);
    weir_writer_fini(&f->writer);
    cr_expect_eq(weir_pool_free_count(&f->pool), f->pool.chunk_count, "a chunk was lost");
    weir_pool_fini(&f->pool);
    weir_id_map_fini(&f->ids);
    close(f->kick_fd);
}

/* ---- what goes in ---- */

struct weir_chunk *writer_rig_take(struct writer_rig *f)
{
    struct weir_chunk *chunk = weir_pool_take(&f->pool, 0, true);
    cr_assert_not_null(chunk);
    chunk->returned = &f->returned;
    return chunk;
}

void writer_rig_add_sample(struct weir_chunk *chunk, uint64_t id, uint16_t bytes)
{
    chunk->used += (uint32_t)test_sample_put(chunk->data + chunk->used, id, 1, 1, bytes);
}

void writer_rig_push_sample(struct writer_rig *f, uint16_t bytes)
{
    struct weir_chunk *chunk = writer_rig_take(f);
    writer_rig_add_sample(chunk, writer_rig_id(0, 0), bytes);
    weir_chunk_queue_push(&f->queue, chunk);
}

void writer_rig_push_marker(struct writer_rig *f)
{
    static const struct perf_event_header round = {.type = WEIR_RECORD_FINISHED_ROUND, .size = sizeof(round)};
    cr_assert_eq(f->marker.state, WEIR_CHUNK_FREE);
    f->marker.kind = WEIR_CHUNK_ROUND;
    f->marker.buffer_index = -1;
    f->marker.data = (uint8_t *)(uintptr_t)&round;
    f->marker.used = sizeof(round);
    f->marker.state = WEIR_CHUNK_FILLING;
    weir_chunk_queue_push(&f->queue, &f->marker);
}

uint64_t writer_rig_kicks(const struct writer_rig *f)
{
    eventfd_t count;
    return eventfd_read(f->kick_fd, &count) == 0 ? count : 0;
}

void writer_rig_settle(struct writer_rig *f)
{
    for (unsigned n = 0; n < STEPS_MAX; n++) {
        bool moved = weir_writer_step(&f->writer, 0);
        if (!moved && weir_writer_is_idle(&f->writer))
            return;
    }
    cr_assert_fail("the writer does not get idle");
}
