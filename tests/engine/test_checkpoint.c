/*
 * Checkpoints that outlive the machine (--sync), a pass of the writer at a time, on a disk in memory that knows what a
 * power cut would leave. Those without: test_writer.c.
 */
#include "engine/drain/checkpoint.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/perf_file.h"
#include "format/records.h"
#include "tests/engine/fake_clock.h"
#include "tests/io/fake_io.h"

#define HEAD_BYTES   4096u
#define START_NS     (7 * WEIR_NS_PER_S)
#define PASSES       300u
#define SEEDS        200u
#define SPAN_MAX     (200u * 1024) /* some staged, some in place */
#define COPIED_BYTES 5000          /* no whole number of blocks, but of records */

static const struct fake_io_options good_disk;
static uint8_t data[SPAN_MAX];

struct fixture {
    struct fake_clock fake_clock;
    struct weir_clock clock;
    struct fake_io *disk;
    struct weir_output *output;
    struct weir_checkpoint checkpoint;
    uint64_t appended;
};

static struct weir_output *open_output(struct fake_io *disk)
{
    static const uint8_t head[HEAD_BYTES];
    struct weir_output *output;
    struct weir_error err = {0};
    const struct weir_output_options options = {
        .fill_padding = weir_record_fill_padding, .padding_least = WEIR_RECORD_PADDING_LEAST, .io = fake_io_ops(disk)};
    cr_assert_eq(weir_output_open(&output, "/dev/null", &options, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    return output;
}

static void fixture_init(struct fixture *f, const struct fake_io_options *disk)
{
    memset(f, 0, sizeof(*f));
    memset(data, 0x5a, sizeof(data));
    f->fake_clock.now_ns = START_NS;
    f->clock = fake_clock_interface(&f->fake_clock);
    f->disk = fake_io_new(disk);
    f->output = open_output(f->disk);
    weir_checkpoint_init(&f->checkpoint, &f->clock, true);
}

static void fixture_fini(struct fixture *f)
{
    weir_output_close(f->output);
    fake_io_free(f->disk);
}

static void append(struct fixture *f, size_t bytes)
{
    if (!weir_output_can_append(f->output))
        return;
    weir_output_append(f->output, data, bytes, -1, false, NULL);
    f->appended += bytes;
}

/* As the writer does: what is queued, what is done, and then the checkpoint. */
static void pass(struct fixture *f)
{
    struct weir_output_done done[16];
    weir_output_push_tail(f->output);
    weir_output_flush(f->output);
    weir_output_reap(f->output, done, 16, 0);
    weir_checkpoint_run(&f->checkpoint, f->output);
}

static void pass_times(struct fixture *f, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        pass(f);
}

static uint64_t size_in(const uint8_t *file)
{
    uint64_t bytes;
    memcpy(&bytes, file + WEIR_PERF_DATA_SIZE_OFFSET, sizeof(bytes));
    return bytes;
}

static uint64_t size_on_disk(const struct fixture *f)
{
    return size_in(fake_io_bytes(f->disk));
}

/* Whatever of the head is on the disk by itself: what it tells of is there too. */
static bool survives_power_cut(const struct fixture *f)
{
    uint64_t told = size_on_disk(f), kept_bytes;
    const uint8_t *kept = fake_io_durable(f->disk, &kept_bytes);
    return told == 0 || (kept && kept_bytes >= HEAD_BYTES + told &&
                         memcmp(kept + HEAD_BYTES, fake_io_bytes(f->disk) + HEAD_BYTES, told) == 0);
}

Test(checkpoint, size_that_is_told_survives_a_power_cut_at_any_moment)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fixture f;
        fixture_init(&f, &(struct fake_io_options){.seed = seed,
                                                   .reorders = true,
                                                   .short_per_mille = 100,
                                                   .no_direct = seed % 2 == 0,
                                                   .pwritev_queue = seed % 5 == 0});
        for (unsigned n = 0; n < PASSES / 10; n++) {
            if (fake_io_random(f.disk, 2))
                append(&f, 8 * (1 + fake_io_random(f.disk, SPAN_MAX / 8)));
            f.fake_clock.now_ns += fake_io_random(f.disk, WEIR_CHECKPOINT_NS);
            pass(&f);
            cr_assert(survives_power_cut(&f), "seed %llu, pass %u", (unsigned long long)seed, n);
        }
        f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
        pass_times(&f, PASSES);
        f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
        pass_times(&f, PASSES);
        uint64_t kept_bytes;
        const uint8_t *kept = fake_io_durable(f.disk, &kept_bytes);
        cr_assert_eq(size_on_disk(&f), f.appended, "seed %llu", (unsigned long long)seed);
        cr_assert(f.appended == 0 || size_in(kept) == f.appended, "seed %llu: the size is not synced itself",
                  (unsigned long long)seed);
        fixture_fini(&f);
    }
}

/* A recording that is continued (-A): what it begins with is covered before anything is told, and is there, too. */
Test(checkpoint, what_was_copied_in_survives_a_power_cut_as_well)
{
    int before = memfd_create("before", MFD_CLOEXEC);
    cr_assert_geq(before, 0);
    for (uint64_t seed = 0; seed < SEEDS / 10; seed++) {
        struct fixture f;
        fixture_init(&f, &(struct fake_io_options){
                             .seed = seed, .reorders = true, .short_per_mille = 100, .pwritev_queue = seed % 5 == 0});
        uint8_t copied[COPIED_BYTES];
        memset(copied, 0x11, sizeof(copied));
        cr_assert_eq(pwrite(before, copied, sizeof(copied), 0), COPIED_BYTES);
        cr_assert_eq(weir_output_copy_in(f.output, before, 0, COPIED_BYTES), 0);
        f.appended = COPIED_BYTES;
        cr_assert_eq(weir_checkpoint_due_in_ns(&f.checkpoint, f.output), 0);
        for (unsigned n = 0; n < PASSES / 10; n++) {
            if (fake_io_random(f.disk, 2))
                append(&f, 8 * (1 + fake_io_random(f.disk, SPAN_MAX / 8)));
            f.fake_clock.now_ns += fake_io_random(f.disk, WEIR_CHECKPOINT_NS);
            pass(&f);
            uint64_t told = size_on_disk(&f);
            cr_assert(told == 0 || told >= COPIED_BYTES, "seed %llu: %llu", (unsigned long long)seed,
                      (unsigned long long)told);
            cr_assert(survives_power_cut(&f), "seed %llu, pass %u", (unsigned long long)seed, n);
        }
        f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
        pass_times(&f, PASSES);
        f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
        pass_times(&f, PASSES);
        cr_assert_eq(size_on_disk(&f), f.appended, "seed %llu", (unsigned long long)seed);
        cr_assert_eq(fake_io_bytes(f.disk)[HEAD_BYTES + COPIED_BYTES - 1], 0x11);
        fixture_fini(&f);
    }
    close(before);
}

Test(checkpoint, size_waits_for_the_disk_and_nothing_else_does)
{
    struct fixture f;
    fixture_init(&f, &good_disk);
    append(&f, 64);
    pass_times(&f, 2);
    fake_io_stall(f.disk, true);
    append(&f, 64);
    f.fake_clock.now_ns += 2 * WEIR_CHECKPOINT_NS;
    pass_times(&f, 5);
    cr_assert_eq(size_on_disk(&f), 64);
    cr_assert(weir_output_can_append(f.output));
    fake_io_stall(f.disk, false);
    pass_times(&f, 5);
    cr_assert_eq(size_on_disk(&f), 128);
    fixture_fini(&f);
}

Test(checkpoint, quiet_file_is_left_alone)
{
    struct fixture f;
    fixture_init(&f, &good_disk);
    append(&f, 64);
    pass_times(&f, 10);
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_FDATASYNC), 2); /* the data, the size */
    cr_assert_eq(weir_checkpoint_due_in_ns(&f.checkpoint, f.output), UINT64_MAX);
    f.fake_clock.now_ns += 10 * WEIR_CHECKPOINT_NS;
    pass_times(&f, 10);
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_FDATASYNC), 2);
    fixture_fini(&f);
}

/* The kernel tells of it once, and not of what: the file ends with what was synced before, as after a failed write. */
Test(checkpoint, failed_sync_tells_no_size_and_fails_the_output)
{
    struct fixture f;
    fixture_init(&f, &good_disk);
    append(&f, 64);
    pass_times(&f, 5);
    fake_io_set_fault(f.disk, FAKE_IO_FDATASYNC,
                      &(struct fake_io_fault){.nth = fake_io_calls(f.disk, FAKE_IO_FDATASYNC) + 1, .error = -EIO});
    append(&f, 64);
    f.fake_clock.now_ns += WEIR_CHECKPOINT_NS;
    pass_times(&f, 5);
    cr_assert_eq(size_on_disk(&f), 64);
    cr_assert_eq(f.checkpoint.error, -EIO);
    cr_assert_eq(weir_output_error(f.output), -EIO);
    cr_assert_eq(weir_output_sync(f.output), -EIO, "nor is it forgotten at the end");
    fixture_fini(&f);
}

Test(checkpoint, interrupted_sync_is_begun_again)
{
    struct fixture f;
    fixture_init(&f, &(struct fake_io_options){.faults[FAKE_IO_FDATASYNC] = {.nth = 1, .error = -EINTR}});
    append(&f, 64);
    pass_times(&f, 6);
    cr_assert_eq(fake_io_calls(f.disk, FAKE_IO_FDATASYNC), 3);
    cr_assert_eq(size_on_disk(&f), 64);
    cr_assert_eq(f.checkpoint.error, 0);
    fixture_fini(&f);
}
