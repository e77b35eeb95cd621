/* Rounds on hand-filled rings. One thread. */
#include "tests/engine/rounds_rig.h"

#include <criterion/criterion.h>

#include "base/bits.h"
#include "base/clock.h"
#include "format/perf_file.h"
#include "tests/engine/test_record.h"

void rounds_rig_init(struct rounds_rig *f, unsigned readers)
{
    rig_init(&f->rig, &(struct rig_options){.readers = readers, .ring_bytes = ROUNDS_RIG_RING_BYTES});
    weir_rounds_init(&f->rounds, &f->rig.control, f->rig.reader_list, readers, &f->rig.queue, ROUNDS_RIG_START_NS);
}

void rounds_rig_init_crowd(struct rounds_rig *f)
{
    rig_init(&f->rig, &(struct rig_options){.readers = 3, .ring_bytes = ROUNDS_RIG_RING_BYTES});
    for (unsigned i = 0; i < ROUNDS_RIG_CROWD; i++)
        f->crowd[i] = &f->rig.readers[weir_min_u64(i, 2)];
    weir_rounds_init(&f->rounds, &f->rig.control, f->crowd, ROUNDS_RIG_CROWD, &f->rig.queue, ROUNDS_RIG_START_NS);
}

void rounds_rig_step(struct rounds_rig *f, unsigned reader)
{
    weir_reader_step(&f->rig.readers[reader]);
}

uint64_t rounds_rig_wakes_sent(const struct rounds_rig *f, unsigned reader)
{
    return f->rig.readers[reader].wakes_sent;
}

uint64_t rounds_rig_advance_wanted(struct weir_rounds *rounds, uint64_t now_ns)
{
    weir_rounds_want(rounds, false);
    return weir_rounds_advance(rounds, now_ns);
}

void rounds_rig_expect_marker(struct rounds_rig *f)
{
    struct weir_chunk *chunk = rig_pop(&f->rig);
    cr_assert_not_null(chunk);
    cr_assert_eq(chunk->kind, WEIR_CHUNK_ROUND);
    cr_assert_eq(chunk->used, 8);
    cr_assert_eq(chunk->buffer_index, -1);
    cr_assert_eq(test_record_type(chunk->data), WEIR_RECORD_FINISHED_ROUND);
    cr_assert_eq(test_record_bytes(chunk->data), 8);
    weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
}

void rounds_rig_count_cut(void *ctx)
{
    (*(unsigned *)ctx)++;
}
