/*
 * Outputs that wait for space, on a disk that runs full again and again, by seed: whatever finds no room stays pending,
 * in order, until there is room; and it fails as ever once nobody wants to wait.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "io/output.h"
#include "tests/io/fake_io.h"
#include "tests/io/span.h"

#define HEAD_BYTES   4096u
#define SPANS        200u
#define SPAN_MAX     (96u * 1024)
#define MEMORY_BYTES ((size_t)SPANS * SPAN_MAX)
#define SEEDS        150u

struct fixture {
    struct fake_io *disk;
    struct weir_output *output;
    uint8_t *memory; /* owned */
    struct iovec buffer;
    size_t bytes[SPANS];
    unsigned appended, reaped;
    int result; /* of the last one reaped */
};

static void fixture_init(struct fixture *f, uint64_t seed)
{
    static const uint8_t head[HEAD_BYTES];
    memset(f, 0, sizeof(*f));
    f->memory = aligned_alloc(4096, MEMORY_BYTES);
    cr_assert_not_null(f->memory);
    memset(f->memory, 0, MEMORY_BYTES);
    f->buffer = (struct iovec){.iov_base = f->memory, .iov_len = MEMORY_BYTES};
    f->disk = fake_io_new(&(struct fake_io_options){
        .seed = seed,
        .reorders = seed % 2 == 0,
        .short_per_mille = seed % 3 == 0 ? 200 : 0,
        .pwritev_queue = seed % 5 == 0,
    });
    struct weir_output_options options = {
        .queue_depth = 1 + (unsigned)(seed % 16),
        .buffers = &f->buffer,
        .buffer_count = 1,
        .fill_padding = span_fill_padding,
        .padding_least = SPAN_PADDING_LEAST,
        .io = fake_io_ops(f->disk),
    };
    cr_assert_eq(weir_output_open(&f->output, "/dev/null", &options, NULL), 0);
    cr_assert_eq(weir_output_write_head(f->output, head, sizeof(head)), 0);
}

static void fixture_fini(struct fixture *f)
{
    weir_output_close(f->output);
    fake_io_free(f->disk);
    free(f->memory);
}

/* From the next write on nothing finds room, or all does. */
static void set_full(struct fixture *f, bool full)
{
    enum fake_io_call call = FAKE_IO_WRITE;
    fake_io_set_fault(f->disk, FAKE_IO_WRITE,
                      &(struct fake_io_fault){full ? fake_io_calls(f->disk, call) + 1 : 0, true, -ENOSPC});
    call = FAKE_IO_PWRITEV;
    fake_io_set_fault(f->disk, FAKE_IO_PWRITEV,
                      &(struct fake_io_fault){full ? fake_io_calls(f->disk, call) + 1 : 0, true, -EDQUOT});
}

static void append(struct fixture *f)
{
    size_t n = f->appended;
    bool large = fake_io_random(f->disk, 4) == 0;
    size_t bytes = 8 * (1 + fake_io_random(f->disk, (large ? SPAN_MAX - 4096 : 2048) / 8));
    f->bytes[n] = bytes;
    span_fill(f->memory + n * SPAN_MAX, n, bytes);
    weir_output_append(f->output, f->memory + n * SPAN_MAX, bytes, 0, false, &f->bytes[n]);
    f->appended++;
}

/* In order, each once. */
static void reap(struct fixture *f, uint64_t seed)
{
    struct weir_output_done done[32];
    unsigned count = weir_output_reap(f->output, done, 32, 0);
    for (unsigned i = 0; i < count; i++) {
        cr_assert_eq(done[i].token, &f->bytes[f->reaped], "seed %ju", (uintmax_t)seed);
        f->reaped++;
        f->result = done[i].result;
    }
}

static void expect_whole_file(const struct fixture *f, uint64_t seed)
{
    struct span_walk walk = {
        .data = fake_io_bytes(f->disk) + HEAD_BYTES,
        .end = weir_output_stable_bytes(f->output),
    };
    for (unsigned n = 0; n < SPANS; n++)
        cr_assert(span_walk_next(&walk, n, f->bytes[n]), "seed %ju: span %u", (uintmax_t)seed, n);
}

Test(output_space, a_quota_that_is_used_up_is_no_room_and_other_failures_are_something_else)
{
    cr_expect(weir_output_lacks_space(-ENOSPC) && weir_output_lacks_space(-EDQUOT));
    cr_expect_not(weir_output_lacks_space(0) || weir_output_lacks_space(-EIO) || weir_output_lacks_space(-EFBIG));
}

/* What is appended finds no room, which is known then. */
static void append_to_full(struct fixture *f)
{
    set_full(f, true);
    append(f);
    weir_output_push_tail(f->output);
    weir_output_flush(f->output);
    reap(f, 1);
}

Test(output_space, without_waiting_no_room_is_a_failure)
{
    struct fixture f;
    fixture_init(&f, 1);
    append_to_full(&f);
    cr_expect_eq(f.result, -ENOSPC);
    cr_expect_not(weir_output_is_full(f.output));
    cr_expect_eq(weir_output_error(f.output), -ENOSPC);
    fixture_fini(&f);
}

/* What is cut off is there again when the journal that says so is on the disk. */
Test(output_space, end_of_a_file_that_was_cut_is_written_again_behind_a_sync)
{
    static const uint8_t tail[5000] = {1};
    struct fixture f;
    fixture_init(&f, 1);
    append_to_full(&f);
    enum fake_io_call call = FAKE_IO_PWRITEV;
    fake_io_set_fault(f.disk, call, &(struct fake_io_fault){fake_io_calls(f.disk, call) + 1, false, -ENOSPC});
    uint64_t syncs = fake_io_calls(f.disk, FAKE_IO_FSYNC);
    cr_expect_eq(weir_output_finish(f.output, tail, sizeof(tail)), 0);
    cr_expect_eq(fake_io_calls(f.disk, FAKE_IO_FSYNC), syncs + 1);
    cr_expect_eq(fake_io_size(f.disk), HEAD_BYTES + sizeof(tail));
    fixture_fini(&f);
}

Test(output_space, other_failures_are_not_waited_for)
{
    struct fixture f;
    fixture_init(&f, 1);
    weir_output_wait_for_space(f.output, true);
    fake_io_set_fault(f.disk, FAKE_IO_WRITE, &(struct fake_io_fault){1, true, -EIO});
    append(&f);
    weir_output_push_tail(f.output);
    weir_output_flush(f.output);
    reap(&f, 1);
    cr_expect_eq(f.result, -EIO);
    cr_expect_not(weir_output_is_full(f.output));
    fixture_fini(&f);
}

/* The disk runs full and gets room at any step. While it is full nothing is submitted but by try_again(). */
Test(output_space, all_that_found_no_room_is_written_in_order_when_there_is_some)
{
    unsigned waits = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fixture f;
        fixture_init(&f, seed);
        weir_output_wait_for_space(f.output, true);
        while (f.reaped < SPANS) {
            if (fake_io_random(f.disk, 20) == 0)
                set_full(&f, fake_io_random(f.disk, 2) == 0);
            if (f.appended < SPANS && weir_output_can_append(f.output))
                append(&f);
            else
                weir_output_push_tail(f.output);
            weir_output_flush(f.output);
            reap(&f, seed);
            cr_assert_eq(f.result, 0, "seed %ju", (uintmax_t)seed);
            if (!weir_output_is_full(f.output))
                continue;
            waits++;
            if (fake_io_random(f.disk, 4) == 0)
                weir_output_try_again(f.output);
        }
        set_full(&f, false);
        cr_assert_eq(weir_output_error(f.output), 0);
        cr_assert_eq(weir_output_finish(f.output, "tail....", 8), 0);
        expect_whole_file(&f, seed);
        fixture_fini(&f);
    }
    cr_expect_gt(waits, SEEDS);
}

/* ext4 keeps the part that an allocation without enough room has found: behind the writes, where nobody sees it. */
Test(output_space, space_is_not_allocated_ahead_again_once_there_was_none)
{
    unsigned tried = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fixture f;
        fixture_init(&f, seed);
        weir_output_wait_for_space(f.output, true);
        fake_io_set_fault(f.disk, FAKE_IO_FALLOCATE, &(struct fake_io_fault){1, false, -ENOSPC});
        set_full(&f, true);
        while (f.reaped < SPANS) {
            if (f.appended < SPANS && weir_output_can_append(f.output))
                append(&f);
            else
                weir_output_push_tail(f.output);
            weir_output_flush(f.output);
            reap(&f, seed);
            if (!weir_output_is_full(f.output))
                continue;
            set_full(&f, false);
            weir_output_try_again(f.output);
        }
        cr_expect_leq(fake_io_calls(f.disk, FAKE_IO_FALLOCATE), 1, "seed %ju", (uintmax_t)seed);
        tried += fake_io_calls(f.disk, FAKE_IO_FALLOCATE) == 1;
        fixture_fini(&f);
    }
    cr_expect_gt(tried, SEEDS / 2);
}

Test(output_space, who_does_not_want_to_wait_any_longer_gets_the_failure)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fixture f;
        bool finishes = seed % 2;
        fixture_init(&f, seed);
        weir_output_wait_for_space(f.output, true);
        set_full(&f, true);
        for (unsigned n = 0; n < 20; n++) {
            if (weir_output_can_append(f.output))
                append(&f);
            weir_output_push_tail(f.output);
            weir_output_flush(f.output);
            reap(&f, seed);
        }
        cr_assert_eq(f.reaped, 0);
        cr_assert(weir_output_is_full(f.output));
        if (finishes)
            cr_assert_lt(weir_output_finish(f.output, "tail....", 8), 0, "seed %ju", (uintmax_t)seed);
        else
            weir_output_wait_for_space(f.output, false);
        for (unsigned n = 0; n < 100 && f.reaped < f.appended; n++) {
            weir_output_flush(f.output);
            reap(&f, seed);
        }
        cr_assert_eq(f.reaped, f.appended, "seed %ju", (uintmax_t)seed);
        cr_assert(f.result == -ENOSPC || f.result == -EDQUOT);
        cr_assert_not(weir_output_is_full(f.output));
        fixture_fini(&f);
    }
}
