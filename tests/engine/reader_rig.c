/* Readers over hand-filled rings. One thread. */
#include "tests/engine/reader_rig.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/aux/aux_drain.h"
#include "format/perf_file.h"
#include "tests/engine/test_record.h"

static const struct rig_options defaults = {.readers = 1, .rings_per_reader = 1, .ring_bytes = 4096, .chunks = 7};

static struct rig_options with_defaults(const struct rig_options *asked)
{
    struct rig_options options = *asked;
    options.readers = asked->readers ? asked->readers : defaults.readers;
    options.rings_per_reader = asked->rings_per_reader ? asked->rings_per_reader : defaults.rings_per_reader;
    options.ring_bytes = asked->ring_bytes ? asked->ring_bytes : defaults.ring_bytes;
    options.chunks = asked->chunks ? asked->chunks : defaults.chunks;
    return options;
}

static void init_reader(struct reader_rig *rig, unsigned index, const struct rig_options *options)
{
    struct weir_reader *reader = &rig->readers[index];
    struct weir_reader_setup setup = {
        .kernel = &rig->raw.kernel,
        .control = &rig->control,
        .sink = {.pool = &rig->pool, .queue = &rig->queue, .number = index},
        .layout =
            {
                .ids = &rig->ids,
                .id_offset = TEST_SAMPLE_ID_OFFSET,
                .time_offset = TEST_SAMPLE_TIME_OFFSET,
                .sideband_event = 1,
            },
        .event_count = RIG_EVENT_COUNT,
        .retained_chunks = options->retained_chunks,
        .retained_span_ns = options->retained_span_ns,
        .shed = options->shed,
        .reader_count = options->readers,
        .ring_count = options->rings_per_reader,
        .live_readers = &rig->live_readers,
        .ended_fd = rig->ended_fd,
        .aux = options->aux_bytes > 0 ? &weir_aux_drain_hooks : NULL,
        .aux_fd = rig->aux_fd,
    };
    cr_assert_eq(weir_reader_init(reader, &setup), 0);
    reader->sink.past_caches = options->past_caches;
    rig->reader_list[index] = reader;
    for (unsigned n = 0; n < options->rings_per_reader; n++) {
        unsigned ring = index * options->rings_per_reader + n;
        rig->raw.rings[ring].start = options->start;
        cr_assert_eq(weir_ring_map(&reader->rings.at[n].ring, &rig->raw.kernel, (int)ring, options->ring_bytes), 0);
        rig->poll_fds[ring] = 1000 + (int)ring;
        weir_reader_ring_set_poll_fds(&reader->rings.at[n], &rig->poll_fds[ring], 1);
        struct weir_aux_drain *aux = reader->rings.at[n].aux;
        if (!aux)
            continue;
        *aux = (struct weir_aux_drain){
            .index = ring, .task = -1, .cpu = (int)ring, .entry_bytes = 1, .snapshot_bytes = options->aux_bytes};
        cr_assert_eq(weir_aux_area_map(&aux->area, &reader->rings.at[n].ring, (int)ring, options->aux_bytes,
                                       options->aux_newest),
                     0);
    }
}

void rig_init(struct reader_rig *rig, const struct rig_options *asked)
{
    struct rig_options options = with_defaults(asked);
    memset(rig, 0, sizeof(*rig));
    raw_kernel_init(&rig->raw);
    struct weir_pool_share share = {.node = -1, .readers = options.readers};
    uint64_t ready_bytes = options.ready_chunks ? options.ready_chunks * RIG_CHUNK_BYTES : WEIR_POOL_ALL_READY;
    cr_assert_eq(weir_pool_init(&rig->pool, (uint64_t)options.chunks * RIG_CHUNK_BYTES, ready_bytes, RIG_CHUNK_BYTES, 0,
                                &share, 1, NULL),
                 0);
    cr_assert_eq(rig->pool.chunk_count, options.chunks);
    weir_chunk_queue_init(&rig->queue);
    rig->control.stop_epoch = UINT64_MAX;
    cr_assert_eq(weir_id_map_init(&rig->ids, 2), 0);
    weir_id_map_add(&rig->ids, RIG_ID, 0, 0);
    weir_id_map_add(&rig->ids, RIG_SIDE_ID, 1, 0);
    atomic_init(&rig->live_readers, options.readers);
    rig->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rig->aux_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cr_assert(rig->ended_fd >= 0 && rig->aux_fd >= 0);
    rig->reader_count = options.readers;
    for (unsigned i = 0; i < options.readers; i++)
        init_reader(rig, i, &options);
}

void rig_fini(struct reader_rig *rig)
{
    struct weir_chunk *chunk;
    while ((chunk = rig_pop(rig))) {
        if (chunk->kind == WEIR_CHUNK_DATA)
            weir_pool_put_train(&rig->pool, chunk);
    }
    for (unsigned i = 0; i < rig->reader_count; i++)
        weir_reader_fini(&rig->readers[i]);
    cr_expect_eq(weir_pool_free_count(&rig->pool), atomic_load(&rig->pool.ready_count), "a chunk was lost");
    weir_pool_fini(&rig->pool);
    weir_id_map_fini(&rig->ids);
    close(rig->ended_fd);
    close(rig->aux_fd);
}

void rig_put_sample(struct reader_rig *rig, unsigned ring, uint64_t sequence, uint16_t bytes)
{
    uint8_t record[WEIR_RECORD_MAX_BYTES];
    test_sample_put(record, RIG_ID, sequence, sequence, bytes);
    raw_ring_put(&rig->raw, ring, record, bytes);
}

void rig_open_epoch(struct reader_rig *rig)
{
    rig->control.epoch++;
}

struct weir_chunk *rig_pop(struct reader_rig *rig)
{
    return weir_chunk_queue_pop(&rig->queue);
}

void rig_return(struct reader_rig *rig, struct weir_chunk *chunk)
{
    weir_pool_put_train(&rig->pool, chunk);
}

void rig_expect_samples(struct reader_rig *rig, struct weir_chunk *chunk, uint64_t first_sequence, unsigned count)
{
    cr_assert_not_null(chunk);
    unsigned found = 0;
    for (uint32_t at = 0; at < chunk->used; at += test_record_bytes(chunk->data + at)) {
        cr_assert(test_sample_is_whole(chunk->data + at), "record %u of the chunk", found);
        cr_assert_eq(test_sample_sequence(chunk->data + at), first_sequence + found);
        found++;
    }
    cr_assert_eq(found, count);
    rig_return(rig, chunk);
}
