/* perf's parallel layout: what each reader has filled goes to an output of its own. One step at a time. */
#include <criterion/criterion.h>

#include "format/records.h"
#include "tests/engine/writer_rig.h"

#define READERS 2u

struct fixture {
    struct writer_rig rig;
    struct fake_io *disks[READERS];
    struct weir_output *parts[READERS];
};

static void init(struct fixture *f)
{
    writer_rig_init(&f->rig, &(struct fake_io_options){.no_direct = true});
    for (unsigned i = 0; i < READERS; i++) {
        struct weir_error err = {0};
        f->disks[i] = fake_io_new(&(struct fake_io_options){.no_direct = true});
        const struct weir_output_options options = {
            .engine = WEIR_OUTPUT_WRITEV,
            .direct = WEIR_OUTPUT_DIRECT_OFF,
            .fill_padding = weir_record_fill_padding,
            .io = fake_io_ops(f->disks[i]),
        };
        cr_assert_eq(weir_output_open(&f->parts[i], "/dev/null", &options, &err), 0, "%s", err.what);
        cr_assert_eq(weir_output_write_head(f->parts[i], NULL, 0), 0);
    }
    f->rig.writer.setup.parts = f->parts;
    f->rig.writer.setup.reader_count = READERS;
}

static void fini(struct fixture *f)
{
    for (unsigned i = 0; i < READERS; i++) {
        weir_output_close(f->parts[i]);
        fake_io_free(f->disks[i]);
    }
    writer_rig_fini(&f->rig);
}

static void push(struct fixture *f, unsigned reader, unsigned samples, uint16_t bytes)
{
    struct weir_chunk *chunk = writer_rig_take(&f->rig);
    for (unsigned i = 0; i < samples; i++)
        writer_rig_add_sample(chunk, writer_rig_id(0, 0), bytes);
    chunk->reader = 1 + reader;
    weir_chunk_queue_push(&f->rig.queue, chunk);
}

Test(writer_parts, little_of_one_reader_is_on_file_within_a_second_however_much_others_have)
{
    struct fixture f;
    init(&f);
    weir_writer_step(&f.rig.writer, 0); /* nothing: whatever waits for more is pushed */
    push(&f, 0, 1, 64);
    uint64_t until_ns = f.rig.fake_clock.now_ns + WEIR_NS_PER_S;
    for (;; f.rig.fake_clock.now_ns += 40 * WEIR_NS_PER_MS) {
        push(&f, 1, 3, 40000); /* nearly a chunk: written at once */
        weir_writer_step(&f.rig.writer, 0);
        if (f.rig.fake_clock.now_ns >= until_ns)
            break;
        cr_assert_eq(weir_output_stable_bytes(f.parts[0]), 0, "each step makes a write of its own");
    }
    cr_assert_eq(weir_output_stable_bytes(f.parts[0]), 64);
    writer_rig_settle(&f.rig);
    fini(&f);
}

/* The answer to a client that has asked for a snapshot: its marker is free. */
Test(writer_parts, marker_that_is_awaited_is_free_when_what_stands_before_it_is_on_file)
{
    struct fixture f;
    init(&f);
    weir_writer_step(&f.rig.writer, 0); /* nothing: whatever waits for more is pushed */
    push(&f, 0, 1, 64);
    push(&f, 1, 1, 72);
    struct weir_chunk *marker = &f.rig.marker;
    marker->kind = WEIR_CHUNK_ROUND;
    weir_chunk_advance(marker, WEIR_CHUNK_FREE, WEIR_CHUNK_FILLING);
    marker->awaited = true;
    weir_chunk_queue_push(&f.rig.queue, marker);
    weir_writer_step(&f.rig.writer, 0);
    cr_assert_eq(atomic_load(&marker->state), WEIR_CHUNK_FREE);
    cr_assert_eq(weir_output_stable_bytes(f.parts[0]), 64);
    cr_assert_eq(weir_output_stable_bytes(f.parts[1]), 72);
    writer_rig_settle(&f.rig);
    fini(&f);
}
