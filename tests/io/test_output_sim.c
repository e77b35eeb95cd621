/*
 * An output on every kind of bad disk, thousands of times by seed. What is promised of it is checked step by step in
 * output_rig.c; the tests here choose the disk and say what must come of it.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "io/output_internal.h"
#include "tests/io/output_rig.h"
#include "tests/io/span.h"

#define DEPTH_MAX   32u
#define SMALL_WORDS 129u /* of a span that fills no block */

/* A run of its own for each seed: how much is appended, in which sizes, how deep the queue is. */
static struct output_rig_profile profile_of(uint64_t seed)
{
    struct output_rig_profile profile = {
        .disk = {.seed = seed},
        .queue_depth = 1 + (unsigned)(seed * 7 % DEPTH_MAX),
        .steps = 20 + (unsigned)(seed * 13 % 180),
        .middle_per_mille = 100,
    };
    if (seed % 8 == 0) /* the costly ones */
        profile.large_per_mille = 100;
    if (seed % 8 == 3)
        profile.stage_bytes = 16u * 1024;
    profile.wholes = seed % 4 == 2;
    if (seed % 64 == 1) { /* more small spans than may be pending */
        profile.steps = 3000;
        profile.middle_per_mille = 0;
        profile.never_reaps = true;
    }
    return profile;
}

/* Everything came through. */
static void expect_whole(const struct output_rig_result *result, uint64_t seed)
{
    cr_assert(result->open == 0 && result->error == 0 && result->finish == 0 && result->whole == result->spans,
              "seed %ju: open %d, error %d, finish %d, %u of %u spans", (uintmax_t)seed, result->open, result->error,
              result->finish, result->whole, result->spans);
}

/* ---- disks that fail ---- */

/* Fails the N-th call of a kind, for each N that there is in the same run without failures. Returns how many. */
static uint64_t fail_each(enum fake_io_call call, bool sticky, int error, struct output_rig_profile profile,
                          void (*expect)(const struct output_rig_result *result, uint64_t nth))
{
    struct output_rig_result unharmed = output_rig_run(&profile);
    expect_whole(&unharmed, profile.disk.seed);
    for (uint64_t nth = 1; nth <= unharmed.calls[call]; nth++) {
        profile.disk.faults[call] = (struct fake_io_fault){.nth = nth, .sticky = sticky, .error = error};
        struct output_rig_result result = output_rig_run(&profile);
        expect(&result, nth);
    }
    return unharmed.calls[call];
}

static void expect_eio(const struct output_rig_result *result, uint64_t nth)
{
    cr_assert(result->error == -EIO && result->finish == 0 && result->whole < result->spans,
              "write %ju: error %d, finish %d, %u of %u", (uintmax_t)nth, result->error, result->finish, result->whole,
              result->spans);
}

Test(output_sim, each_write_that_fails_once_ends_the_prefix_there)
{
    struct output_rig_profile profile = profile_of(5);
    profile.steps = 400;
    profile.disk.reorders = true;
    profile.disk.short_per_mille = 100;
    fail_each(FAKE_IO_WRITE, false, -EIO, profile, expect_eio);
}

Test(output_sim, each_write_from_which_on_all_fail_ends_the_prefix_there)
{
    struct output_rig_profile profile = profile_of(6);
    profile.steps = 400;
    profile.disk.reorders = true;
    fail_each(FAKE_IO_WRITE, true, -EIO, profile, expect_eio);
}

static void expect_error(const struct output_rig_result *result, uint64_t nth)
{
    cr_assert(result->open == -EBADF || result->error == -EBADF || result->finish == -EBADF, "call %ju: %d, %d, %d",
              (uintmax_t)nth, result->open, result->error, result->finish);
}

Test(output_sim, a_queue_that_cannot_be_told_anything_any_more_gives_all_spans_back)
{
    fail_each(FAKE_IO_FLUSH, true, -EBADF, profile_of(7), expect_error);
    fail_each(FAKE_IO_REAP, true, -EBADF, profile_of(7), expect_error);
}

static void expect_refused_open(const struct output_rig_result *result, uint64_t nth)
{
    cr_assert(nth == 1 && result->open == -ENOMEM, "call %ju: %d", (uintmax_t)nth, result->open);
}

Test(output_sim, a_queue_that_cannot_be_opened_fails_the_open)
{
    uint64_t calls = fail_each(FAKE_IO_QUEUE_OPEN, false, -ENOMEM, profile_of(8), expect_refused_open);
    cr_assert(calls == 1, "%ju", (uintmax_t)calls);
}

static void expect_failed_end(const struct output_rig_result *result, uint64_t nth)
{
    cr_assert(nth == 1 && result->finish == -EIO && result->error == 0, "call %ju: %d", (uintmax_t)nth, result->finish);
}

Test(output_sim, a_file_that_cannot_be_cut_fails_finish)
{
    uint64_t calls = fail_each(FAKE_IO_FTRUNCATE, false, -EIO, profile_of(9), expect_failed_end);
    cr_assert(calls == 1, "%ju", (uintmax_t)calls);
}

Test(output_sim, a_tail_that_cannot_be_written_leaves_the_data_alone)
{
    struct output_rig_profile profile = profile_of(11);
    struct output_rig_result unharmed = output_rig_run(&profile);
    expect_whole(&unharmed, profile.disk.seed);
    profile.disk.faults[FAKE_IO_PWRITEV] = (struct fake_io_fault){unharmed.calls[FAKE_IO_PWRITEV], true, -ENOSPC};
    struct output_rig_result result = output_rig_run(&profile);
    cr_assert(result.finish == -ENOSPC && result.error == 0 && result.whole == unharmed.whole);
    cr_assert(result.stable_bytes == unharmed.stable_bytes);
}

Test(output_sim, a_file_system_that_cannot_allocate_ahead_is_written_all_the_same)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.faults[FAKE_IO_FALLOCATE] = (struct fake_io_fault){1, true, -EOPNOTSUPP};
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
    }
}

Test(output_sim, a_full_disk_or_quota_keeps_what_fits_and_the_tail_if_that_fits)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.reorders = seed % 2;
        profile.disk.short_per_mille = seed % 3 ? 0 : 200;
        profile.disk.space_bytes = OUTPUT_RIG_HEAD_BYTES + seed * 331;
        profile.disk.is_quota = seed % 5 == 0;
        int no_room = profile.disk.is_quota ? -EDQUOT : -ENOSPC;
        struct output_rig_result result = output_rig_run(&profile);
        bool tail_fits =
            OUTPUT_RIG_HEAD_BYTES + result.stable_bytes + OUTPUT_RIG_TAIL_BYTES <= profile.disk.space_bytes;
        cr_assert(result.open == 0 && result.finish == (tail_fits ? 0 : no_room), "seed %ju: finish %d",
                  (uintmax_t)seed, result.finish);
        cr_assert(result.error == (result.whole < result.spans ? no_room : 0), "seed %ju: error %d", (uintmax_t)seed,
                  result.error);
    }
}

Test(output_sim, whatever_fails_wherever_all_spans_come_back_and_the_prefix_is_whole)
{
    const int errors[] = {-EIO, -ENOSPC, -EFBIG, -EDQUOT};
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        enum fake_io_call call = (enum fake_io_call)(seed % FAKE_IO_CALL_COUNT);
        profile.disk.faults[call] = (struct fake_io_fault){
            .nth = 1 + seed * 17 % 40,
            .sticky = seed % 3 == 0,
            .error = errors[seed / 3 % 4],
        };
        profile.disk.reorders = seed % 5 > 0;
        profile.disk.short_per_mille = seed % 7 > 2 ? 150 : 0;
        profile.disk.refuse_per_mille = seed % 11 > 4 ? 150 : 0;
        profile.disk.pwritev_queue = seed % 13 == 0;
        output_rig_run(&profile);
    }
}

/* ---- disks that are only slow and fussy ---- */

Test(output_sim, a_write_that_is_refused_for_ever_for_the_moment_fails_in_the_end)
{
    struct output_rig_profile profile = profile_of(10);
    profile.disk.faults[FAKE_IO_WRITE] = (struct fake_io_fault){3, true, -EAGAIN};
    struct output_rig_result result = output_rig_run(&profile);
    cr_assert(result.error == -EAGAIN && result.finish == 0, "error %d, finish %d", result.error, result.finish);
}

Test(output_sim, a_disk_that_does_as_it_is_told_gets_all)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
        cr_assert(result.stats.resubmitted == 0);
    }
}

Test(output_sim, late_short_and_refused_completions_lose_nothing)
{
    for (uint64_t seed = 0; seed < 1500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.reorders = true;
        profile.disk.short_per_mille = seed % 3 * 200;
        profile.disk.refuse_per_mille = seed % 4 * 100;
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
    }
}

Test(output_sim, without_direct_writes_nothing_is_padded)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.reorders = true;
        profile.disk.short_per_mille = 100;
        profile.disk.no_direct = seed % 2;
        profile.direct = seed % 2 ? WEIR_OUTPUT_DIRECT_AUTO : WEIR_OUTPUT_DIRECT_OFF;
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
        cr_assert(result.stats.padding_bytes == 0 && result.stats.direct_bytes == 0);
    }
}

Test(output_sim, refused_direct_writes_go_through_the_page_cache)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.reorders = true;
        profile.disk.refuses_direct = true;
        profile.disk.short_per_mille = seed % 2 * 100;
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
        cr_assert(result.stats.direct_bytes == 0);
    }
}

Test(output_sim, spans_in_late_buffers_are_written_as_those_in_registered_ones)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        struct output_rig_result early = output_rig_run(&profile);
        for (unsigned count = 1; count <= 4; count++) {
            profile.late_count = count;
            struct output_rig_result late = output_rig_run(&profile);
            expect_whole(&late, seed);
            cr_assert_eq(late.stats.direct_bytes, early.stats.direct_bytes, "seed %llu", (unsigned long long)seed);
            cr_assert_eq(late.stats.padding_bytes, early.stats.padding_bytes, "seed %llu", (unsigned long long)seed);
        }
    }
}

Test(output_sim, buffers_that_the_kernel_does_not_register_are_written_all_the_same)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.buffers_taken_max = 1;
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
    }
}

Test(output_sim, the_pwritev_queue_brings_the_same_bytes)
{
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct output_rig_profile profile = profile_of(seed);
        profile.disk.pwritev_queue = true;
        profile.disk.short_per_mille = seed % 3 * 200;
        profile.disk.refuse_per_mille = seed % 4 * 100;
        struct output_rig_result result = output_rig_run(&profile);
        expect_whole(&result, seed);
    }
}

/* ---- small spans ---- */

/* One with a head. buffer: where spans may lie; NULL: anywhere. */
static struct weir_output *open_output(struct fake_io *fake, const struct iovec *buffer)
{
    const struct weir_output_options options = {
        .buffers = buffer,
        .buffer_count = buffer != NULL,
        .fill_padding = span_fill_padding,
        .padding_least = SPAN_PADDING_LEAST,
        .io = fake_io_ops(fake),
    };
    struct weir_output *output = NULL;
    cr_assert(weir_output_open(&output, "/dev/null", &options, NULL) == 0);
    char head[OUTPUT_RIG_HEAD_BYTES] = {0};
    cr_assert(weir_output_write_head(output, head, sizeof(head)) == 0);
    return output;
}

struct small_spans {
    struct fake_io *fake;
    struct weir_output *output;
    uint64_t span[SMALL_WORDS]; /* appended again and again: the disk does not mind */
};

static void open_small(struct small_spans *small)
{
    *small = (struct small_spans){.fake = fake_io_new(&(struct fake_io_options){0})};
    small->output = open_output(small->fake, NULL);
    span_fill(small->span, 0, sizeof(small->span));
}

static void close_small(struct small_spans *small)
{
    weir_output_close(small->output);
    fake_io_free(small->fake);
}

static unsigned append_until_full(struct small_spans *small, size_t bytes)
{
    unsigned count = 0;
    for (; weir_output_can_append(small->output); count++)
        weir_output_append(small->output, small->span, bytes, -1, false, NULL);
    return count;
}

Test(output_sim, an_output_full_of_tiny_spans_is_on_its_way_without_being_pushed)
{
    struct small_spans small;
    open_small(&small);
    unsigned count = append_until_full(&small, sizeof(uint64_t));
    struct weir_output_done done[1];
    cr_assert(count == WEIR_OUTPUT_SPAN_MAX && weir_output_pending(small.output) == count);
    cr_assert(weir_output_reap(small.output, done, 1, 0) == 1 && done[0].result == 0);
    cr_assert(weir_output_can_append(small.output));
    cr_assert(weir_output_stable_bytes(small.output) == count * sizeof(uint64_t));
    close_small(&small);
}

Test(output_sim, tiny_spans_are_on_file_once_pushed_and_not_before)
{
    struct small_spans small;
    open_small(&small);
    weir_output_append(small.output, small.span, sizeof(uint64_t), -1, false, NULL);
    weir_output_flush(small.output);
    struct weir_output_done done[1];
    cr_assert(weir_output_reap(small.output, done, 1, 0) == 0 && weir_output_stable_bytes(small.output) == 0);
    weir_output_push_tail(small.output);
    cr_assert(weir_output_reap(small.output, done, 1, 0) == 1);
    cr_assert(weir_output_stable_bytes(small.output) == sizeof(uint64_t));
    cr_assert(fake_io_size(small.fake) == OUTPUT_RIG_HEAD_BYTES + sizeof(uint64_t)); /* not padded, not allocated */
    close_small(&small);
}

Test(output_sim, full_staging_buffers_are_written_direct_and_without_padding)
{
    struct small_spans small;
    open_small(&small);
    append_until_full(&small, sizeof(small.span)); /* does not divide a block */
    cr_assert(weir_output_flush(small.output) == 0);
    struct weir_output_done done[1];
    weir_output_reap(small.output, done, 1, 0);
    struct weir_output_stats stats;
    weir_output_get_stats(small.output, &stats);
    /* Of each buffer a block is room for padding, and of another the first part moves on; the last one was pushed. */
    uint64_t full = WEIR_OUTPUT_STAGE_BYTES - 2 * WEIR_OUTPUT_ALIGN_BYTES;
    cr_assert(stats.direct_bytes == (WEIR_OUTPUT_STAGE_COUNT - 1) * full, "%ju", (uintmax_t)stats.direct_bytes);
    cr_assert(stats.padding_bytes == 0 && stats.writes == WEIR_OUTPUT_STAGE_COUNT);
    close_small(&small);
}

/* ---- the padding behind large spans ---- */

#define PLACE_BYTES (256 * 1024)
#define LARGE_BYTES (WEIR_OUTPUT_STAGE_BYTES / WEIR_OUTPUT_COPY_SHARE + 8) /* to be padded by all of a block but 8 */
#define PADDED      (WEIR_OUTPUT_ALIGN_BYTES - 8)
#define LARGE_END   (OUTPUT_RIG_HEAD_BYTES + LARGE_BYTES)

struct padded_span {
    struct fake_io *fake;
    struct weir_output *output;
    struct iovec place;
    struct weir_output_stats stats;
};

/* Appends a large span of that size where it may be padded. */
static void open_padded_of(struct padded_span *padded, size_t bytes)
{
    *padded = (struct padded_span){.fake = fake_io_new(&(struct fake_io_options){0})};
    padded->place = (struct iovec){aligned_alloc(WEIR_OUTPUT_ALIGN_BYTES, PLACE_BYTES), PLACE_BYTES};
    cr_assert_not_null(padded->place.iov_base);
    padded->output = open_output(padded->fake, &padded->place);
    span_fill(padded->place.iov_base, 0, bytes);
    uint64_t at = weir_output_append(padded->output, padded->place.iov_base, bytes, 0, false, NULL);
    cr_assert_eq(at, OUTPUT_RIG_HEAD_BYTES);
}

static void open_padded(struct padded_span *padded)
{
    open_padded_of(padded, LARGE_BYTES);
}

static uint64_t append_small(struct padded_span *padded, uint64_t number, size_t bytes)
{
    uint64_t small[WEIR_OUTPUT_ALIGN_BYTES / sizeof(uint64_t)];
    cr_assert_leq(bytes, sizeof(small));
    span_fill(small, number, bytes);
    return weir_output_append(padded->output, small, bytes, -1, false, NULL);
}

/* Writes it all; the file is to hold the spans of these sizes, in order, and nothing but padding between them. */
static void close_padded(struct padded_span *padded, const size_t *bytes, unsigned count)
{
    struct weir_output_done done[8];
    weir_output_push_tail(padded->output);
    cr_assert_eq(weir_output_flush(padded->output), 0);
    cr_assert_eq(weir_output_reap(padded->output, done, 8, 0), count);
    weir_output_get_stats(padded->output, &padded->stats);
    struct span_walk walk = {.data = fake_io_bytes(padded->fake), .at = OUTPUT_RIG_HEAD_BYTES};
    walk.end = OUTPUT_RIG_HEAD_BYTES + weir_output_stable_bytes(padded->output);
    for (unsigned i = 0; i < count; i++)
        cr_assert(span_walk_next(&walk, i, bytes[i]), "span %u", i);
    cr_assert_eq(walk.at, walk.end);
    weir_output_close(padded->output);
    fake_io_free(padded->fake);
    free(padded->place.iov_base);
}

Test(output_sim, small_spans_take_the_place_of_padding_while_the_write_is_not_flushed)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(append_small(&padded, 1, 8), LARGE_END);
    cr_assert_eq(append_small(&padded, 2, 24), LARGE_END + 8);
    close_padded(&padded, (size_t[]){LARGE_BYTES, 8, 24}, 3);
    cr_assert_eq(padded.stats.writes, 1);
    cr_assert_eq(padded.stats.padding_bytes, PADDED - 32);
    cr_assert_eq(padded.stats.copied_bytes, 32);
}

Test(output_sim, a_small_span_may_take_all_of_the_padding)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(append_small(&padded, 1, PADDED), LARGE_END);
    cr_assert_eq(append_small(&padded, 2, 8), LARGE_END + PADDED);
    close_padded(&padded, (size_t[]){LARGE_BYTES, PADDED, 8}, 3);
    cr_assert_eq(padded.stats.padding_bytes, 0);
}

Test(output_sim, what_is_larger_than_the_padding_stands_behind_it_and_all_that_follows_too)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(append_small(&padded, 1, PADDED + 8), LARGE_END + PADDED);
    cr_assert_eq(append_small(&padded, 2, 8), LARGE_END + PADDED + PADDED + 8);
    close_padded(&padded, (size_t[]){LARGE_BYTES, PADDED + 8, 8}, 3);
    cr_assert_eq(padded.stats.padding_bytes, PADDED);
}

Test(output_sim, padding_that_the_kernel_has_is_not_touched)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(weir_output_flush(padded.output), 0);
    cr_assert_eq(append_small(&padded, 1, 8), LARGE_END + PADDED);
    close_padded(&padded, (size_t[]){LARGE_BYTES, 8}, 2);
    cr_assert_eq(padded.stats.padding_bytes, PADDED);
}

Test(output_sim, small_spans_leave_all_of_the_padding_or_enough_for_one)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(append_small(&padded, 1, PADDED - SPAN_PADDING_LEAST), LARGE_END);
    cr_assert_eq(append_small(&padded, 2, 8), LARGE_END + PADDED, "would leave too little");
    close_padded(&padded, (size_t[]){LARGE_BYTES, PADDED - SPAN_PADDING_LEAST, 8}, 3);
    cr_assert_eq(padded.stats.padding_bytes, SPAN_PADDING_LEAST);
}

Test(output_sim, span_that_ends_at_the_end_of_the_padding_takes_what_would_be_too_little)
{
    struct padded_span padded;
    open_padded(&padded);
    cr_assert_eq(append_small(&padded, 1, PADDED - SPAN_PADDING_LEAST), LARGE_END);
    cr_assert_eq(append_small(&padded, 2, SPAN_PADDING_LEAST), LARGE_END + PADDED - SPAN_PADDING_LEAST);
    close_padded(&padded, (size_t[]){LARGE_BYTES, PADDED - SPAN_PADDING_LEAST, SPAN_PADDING_LEAST}, 3);
    cr_assert_eq(padded.stats.padding_bytes, 0);
}

Test(output_sim, span_that_leaves_too_little_for_padding_goes_through_the_page_cache)
{
    enum {
        BYTES = LARGE_BYTES + PADDED - 8,
        SECOND_AT = PLACE_BYTES / 2
    };
    struct padded_span padded;
    open_padded_of(&padded, BYTES);
    uint8_t *second = (uint8_t *)padded.place.iov_base + SECOND_AT;
    span_fill(second, 1, LARGE_BYTES);
    uint64_t at = weir_output_append(padded.output, second, LARGE_BYTES, 0, false, NULL);
    cr_assert_eq(at, OUTPUT_RIG_HEAD_BYTES + BYTES + 8 + WEIR_OUTPUT_ALIGN_BYTES);
    close_padded(&padded, (size_t[]){BYTES, LARGE_BYTES}, 2);
    cr_assert_eq(padded.stats.copied_bytes, 0);
    cr_assert_eq(padded.stats.padding_bytes, 8 + WEIR_OUTPUT_ALIGN_BYTES + PADDED);
    cr_assert_eq(padded.stats.buffered_bytes, BYTES + 8 + WEIR_OUTPUT_ALIGN_BYTES);
}

Test(output_sim, a_whole_does_not_begin_in_padding)
{
    struct padded_span padded;
    open_padded(&padded);
    weir_output_begin_whole(padded.output);
    cr_assert_eq(append_small(&padded, 1, 8), LARGE_END + PADDED);
    weir_output_end_whole(padded.output);
    cr_assert_eq(append_small(&padded, 2, 8), LARGE_END + PADDED + 8);
    close_padded(&padded, (size_t[]){LARGE_BYTES, 8, 8}, 3);
}

/* ---- a span that finds room for its first bytes ---- */

/* Room for some of the second span: the caller keeps what it likes of that. */
static void check_kept(size_t room_bytes)
{
    struct fake_io *fake =
        fake_io_new(&(struct fake_io_options){.space_bytes = OUTPUT_RIG_HEAD_BYTES + PLACE_BYTES + room_bytes});
    struct weir_output *output = open_output(fake, NULL);
    uint64_t *spans[] = {malloc(PLACE_BYTES), malloc(PLACE_BYTES), malloc(PLACE_BYTES)};
    for (unsigned i = 0; i < 3; i++) {
        span_fill(spans[i], i, PLACE_BYTES);
        weir_output_append(output, spans[i], PLACE_BYTES, -1, false, spans[i]);
    }
    struct weir_output_done done[3];
    unsigned count = 0;
    for (unsigned i = 0; i < 3 && count < 3; i++)
        count += weir_output_reap(output, done + count, 3 - count, 1);
    cr_assert(count == 3 && done[0].result == 0 && done[1].result < 0 && done[2].result < 0);
    cr_expect(done[1].begun_bytes == room_bytes && done[2].begun_bytes == 0, "%zu", done[1].begun_bytes);
    size_t kept = room_bytes / 2 / 8 * 8;
    weir_output_keep(output, kept);
    cr_expect_eq(weir_output_stable_bytes(output), PLACE_BYTES + kept);
    cr_expect_eq(weir_output_finish(output, "", 0), 0);
    cr_expect_eq(fake_io_size(fake), OUTPUT_RIG_HEAD_BYTES + PLACE_BYTES + kept);
    cr_expect_eq(memcmp(fake_io_bytes(fake) + OUTPUT_RIG_HEAD_BYTES + PLACE_BYTES, spans[1], kept), 0);
    weir_output_close(output);
    fake_io_free(fake);
    for (unsigned i = 0; i < 3; i++)
        free(spans[i]);
}

Test(output_sim, first_bytes_of_a_span_that_found_no_room_may_be_kept)
{
    check_kept(100000);
    check_kept(0);
}
