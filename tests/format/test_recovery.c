/*
 * Files that were never finished, or were cut, and what they become. The tracefs and the proc that are asked are the
 * test's own; tests/engine/test_recover.c has the disk.
 */
#include "format/recovery.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/bits.h"
#include "format/early_features.h"
#include "format/perf_input.h"
#include "format/records.h"
#include "format/scan.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/image_file.h"
#include "tests/format/sample_recording.h"

#define DATA_OFFSET 4096u
#define DATA_SIZE   offsetof(struct weir_perf_header, data) + 8
#define RECORDS     9u /* of the sample recording with a tracepoint */

static struct temp_tree tree;
static struct weir_buf finished, unfinished; /* the same data, with and without features */
static struct image_file file;
static struct weir_recovery recovery;
static struct weir_error err;
static char tracefs[PATH_MAX], no_proc[PATH_MAX];

static void make_images(void)
{
    struct sample_recording_options options = {.tracepoint = true, .features = true};
    temp_tree_init(&tree);
    sample_recording_build(&finished, &tree, &options);
    options.features = false;
    sample_recording_build(&unfinished, &tree, &options);
    temp_tree_path(&tree, "tracing", tracefs);
    temp_tree_path(&tree, "proc", no_proc);
    temp_tree_make_folder(&tree, "proc");
    temp_tree_write_text(&tree, "tracing/events/sched/sched_switch/id", "316\n");
    image_file_init(&file, unfinished.data, unfinished.used);
}

static void free_images(void)
{
    weir_recovery_fini(&recovery);
    image_file_fini(&file);
    weir_buf_fini(&finished);
    weir_buf_fini(&unfinished);
    temp_tree_fini(&tree);
}

TestSuite(recovery, .init = make_images, .fini = free_images);

static bool makes_file;

static int plan(bool assume_same_boot)
{
    const struct weir_recovery_options options = {
        .path = file.path,
        .tracefs_root = tracefs,
        .proc_root = no_proc,
        .makes_file = makes_file,
        .assume_same_boot = assume_same_boot,
    };
    weir_recovery_fini(&recovery);
    memset(&err, 0, sizeof(err));
    return weir_recovery_plan(&recovery, &options, &err);
}

static void forget_data_size(void)
{
    image_file_write(&file, DATA_SIZE, &(uint64_t){0}, sizeof(uint64_t));
}

static uint64_t first_record_bytes(const struct weir_buf *image)
{
    uint16_t size;
    memcpy(&size, image->data + DATA_OFFSET + offsetof(struct perf_event_header, size), sizeof(size));
    return size;
}

/* What the plan makes of the file can be read whole. */
static void expect_recovered(uint64_t records)
{
    image_file_write(&file, recovery.data_end, recovery.tail.data, recovery.tail.used);
    image_file_resize(&file, recovery.data_end + recovery.tail.used);
    image_file_write(&file, 0, &recovery.header, sizeof(recovery.header));
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, records);
    cr_expect_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "it would be recovered again");
}

Test(recovery, tracepoints_of_an_unknown_kernel_are_refused)
{
    forget_data_size();
    cr_expect_eq(plan(false), -ESTALE);
    cr_expect_not_null(strstr(err.what, "does not contain the address of its kernel"), "%s", err.what);
    cr_expect_str_eq(err.hint, "recover it where it was recorded, before the next boot; --assume-this-kernel skips the "
                               "check, and decodes wrongly "
                               "if the kernel differs");
}

Test(recovery, tracepoint_that_this_kernel_does_not_have_is_refused)
{
    forget_data_size();
    temp_tree_write_text(&tree, "tracing/events/sched/sched_switch/id", "317\n");
    cr_expect_eq(plan(true), -ESTALE);
    cr_expect_not_null(strstr(err.what, "no tracepoint of id 316"), "%s", err.what);
}

Test(recovery, sample_of_another_tracepoint_than_its_event_is_refused)
{
    static const uint8_t type_and_flags[] = {316 & 0xff, 316 >> 8, 0, 0};
    uint8_t *at =
        memmem(unfinished.data + DATA_OFFSET, unfinished.used - DATA_OFFSET, type_and_flags, sizeof(type_and_flags));
    cr_assert_not_null(at);
    forget_data_size();
    image_file_write(&file, (size_t)(at - unfinished.data), "\x3d", 1);
    cr_expect_eq(plan(true), -ESTALE);
    cr_expect_not_null(strstr(err.what, "has another type than its event"), "%s", err.what);
}

Test(recovery, file_without_a_record_is_refused)
{
    forget_data_size();
    image_file_resize(&file, DATA_OFFSET + 4);
    cr_expect_eq(plan(true), -ENODATA);
}

Test(recovery, out_of_memory_is_told_at_every_allocation)
{
    forget_data_size();
    int result = -ENOMEM;
    unsigned successes = 0;
    for (; result < 0 && successes < 10000; successes++) {
        const struct weir_recovery_options options = {
            .path = file.path, .tracefs_root = tracefs, .proc_root = no_proc, .assume_same_boot = true};
        weir_recovery_fini(&recovery);
        memset(&err, 0, sizeof(err));
        failing_alloc_after(successes);
        result = weir_recovery_plan(&recovery, &options, &err);
        failing_alloc_never();
        cr_assert(result == 0 || result == -ENOMEM, "allocation %u: %d, %s", successes, result, err.what);
    }
    cr_expect_gt(successes, 20);
    cr_expect_lt(successes, 10000);
}

Test(recovery, finished_file_is_left_alone)
{
    image_file_write(&file, 0, finished.data, finished.used);
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.records, RECORDS);
}

Test(recovery, killed_recording_becomes_whole)
{
    static const uint8_t zeros[65536]; /* what was preallocated */
    forget_data_size();
    image_file_write(&file, unfinished.used, zeros, sizeof(zeros));
    cr_assert_eq(plan(true), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.data_end, unfinished.used);
    cr_expect_eq(recovery.dropped_bytes, sizeof(zeros));
    cr_expect_eq(recovery.records, RECORDS);
    cr_expect_eq(recovery.samples, 3);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_TRACING_DATA & 1, 1);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_EVENT_DESC & 1, 1);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_SAMPLE_TIME & 1, 1);
    expect_recovered(RECORDS);
}

/* What had come since the last checkpoint, of which data.size tells. */
Test(recovery, records_behind_what_the_header_tells_of_are_added)
{
    uint64_t first = first_record_bytes(&unfinished), behind = unfinished.used - DATA_OFFSET - first;
    for (uint64_t told = first; told < first + behind; told += behind / 16 * 8) {
        image_file_resize(&file, 0);
        image_file_write(&file, 0, unfinished.data, unfinished.used);
        image_file_write(&file, DATA_SIZE, &told, sizeof(told));
        cr_assert_eq(plan(true), 0, "%s", err.what);
        cr_expect_eq(recovery.said_end, DATA_OFFSET + told);
        cr_expect_eq(recovery.data_end, unfinished.used, "told of %#" PRIx64 ": %#" PRIx64, told, recovery.data_end);
        cr_expect_eq(recovery.records, RECORDS);
        expect_recovered(RECORDS);
    }
}

/* The end, where a recorder tells of what was lost, is missing. A part of it may be there. */
Test(recovery, losses_that_the_kernel_has_told_are_told_at_the_end)
{
    for (uint64_t told = 0; told <= 8; told += 4) {
        struct weir_buf image = WEIR_BUF_INIT;
        const struct sample_recording_options options = {.tracepoint = true, .lost = 7, .lost_samples = told};
        sample_recording_build(&image, &tree, &options);
        image_file_resize(&file, 0);
        image_file_write(&file, 0, image.data, image.used);
        forget_data_size();
        weir_buf_fini(&image);
        cr_assert_eq(plan(true), 0, "%s", err.what);
        uint64_t records = RECORDS + 1 + (told > 0) + (told < 7);
        cr_expect_eq(recovery.records, records);
        expect_recovered(records);

        struct weir_perf_input input;
        struct weir_scan scan;
        cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
        cr_assert_eq(weir_scan_run(&scan, &input, false, &err), 0, "%s", err.what);
        cr_expect_eq(scan.lost, 7);
        cr_expect_eq(scan.events[0].lost_samples, weir_max_u64(told, 7));
        weir_scan_fini(&scan);
        weir_perf_input_close(&input);
    }
}

/* data.size tells of all that there is, and nothing follows: killed just after a checkpoint. */
Test(recovery, tracepoints_without_their_formats_are_not_whole)
{
    cr_assert_eq(plan(true), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.dropped_bytes, 0);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_TRACING_DATA & 1, 1);
    expect_recovered(RECORDS);
}

/* Where the last record ends that is whole in so many bytes of the finished file. */
static uint64_t whole_records_end(size_t bytes)
{
    uint64_t data_bytes, end = DATA_OFFSET, next = DATA_OFFSET;
    memcpy(&data_bytes, finished.data + DATA_SIZE, sizeof(data_bytes));
    while (next <= bytes && next < DATA_OFFSET + data_bytes) {
        struct perf_event_header header;
        memcpy(&header, finished.data + next, sizeof(header));
        end = next;
        next += header.size;
    }
    return next <= bytes ? next : end;
}

Test(recovery, file_cut_anywhere_becomes_its_whole_records)
{
    for (size_t bytes = finished.used - 1; bytes > DATA_OFFSET + 64; bytes -= 61) {
        image_file_resize(&file, 0);
        image_file_write(&file, 0, finished.data, bytes);
        cr_assert_eq(plan(true), 0, "%zu bytes: %s", bytes, err.what);
        cr_expect_not(recovery.is_whole);
        cr_expect_eq(recovery.data_end, whole_records_end(bytes), "%zu bytes: %#" PRIx64, bytes, recovery.data_end);
        uint64_t records = recovery.records;
        expect_recovered(records);
    }
}

/* The header is in a block that was written, and the rest was preallocated. */
Test(recovery, sample_whose_other_blocks_were_refused_is_no_record)
{
    static const uint8_t zeros[65536];
    const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = 64};
    forget_data_size();
    image_file_write(&file, unfinished.used, zeros, sizeof(zeros));
    image_file_write(&file, unfinished.used, &header, sizeof(header));
    cr_assert_eq(plan(true), 0, "%s", err.what);
    cr_expect_eq(recovery.data_end, unfinished.used);
    cr_expect_eq(recovery.samples, 3);
    cr_expect_eq(recovery.cause.code, -EBADMSG);
    expect_recovered(RECORDS);
}

Test(recovery, damage_inside_ends_the_data_and_keeps_the_features)
{
    static const uint8_t zeros[8];
    image_file_write(&file, 0, finished.data, finished.used);
    size_t second = DATA_OFFSET;
    uint16_t size;
    memcpy(&size, finished.data + second + 6, sizeof(size));
    image_file_write(&file, second + size, zeros, sizeof(zeros));
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect_eq(recovery.records, 1);
    cr_expect_eq(recovery.data_end, second + size);
    cr_expect_eq(recovery.cause.code, -EBADMSG);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_HOSTNAME & 1, 1);
    expect_recovered(1);
}

/* A frame that begins with other bytes than zstd's, behind one that is whole and holds a record. */
Test(recovery, compressed_record_that_is_damaged_is_left_out)
{
    struct weir_buf comm = WEIR_BUF_INIT;
    uint8_t packed[256];
    weir_record_comm(&comm, 1, 1, "weirtest", 0, 16);
    size_t bytes = ZSTD_compress(packed, sizeof(packed), comm.data, comm.used, 1);
    cr_assert_not(ZSTD_isError(bytes));
    const struct perf_event_header header = {.type = WEIR_RECORD_COMPRESSED, .size = (uint16_t)(8 + bytes)};
    size_t second = DATA_OFFSET + header.size;
    image_file_resize(&file, DATA_OFFSET);
    image_file_write(&file, DATA_OFFSET, &header, sizeof(header));
    image_file_write(&file, DATA_OFFSET + sizeof(header), packed, bytes);
    packed[0] ^= 0xff;
    image_file_write(&file, second, &header, sizeof(header));
    image_file_write(&file, second + sizeof(header), packed, bytes);
    forget_data_size();
    cr_assert_eq(plan(true), 0, "%s", err.what);
    cr_expect_eq(recovery.data_end, second);
    cr_expect_eq(recovery.records, 2);
    cr_expect_eq(recovery.dropped_bytes, header.size);
    expect_recovered(2);
    weir_buf_fini(&comm);
}

/* ---- with a copy of the features in the head ---- */

#define EARLY_DATA_OFFSET 8192u

static void make_early(bool features)
{
    const struct sample_recording_options options = {.tracepoint = true, .features = features, .early = true};
    struct weir_buf *image = features ? &finished : &unfinished;
    weir_buf_reset(image);
    sample_recording_build(image, &tree, &options);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image->data, image->used);
}

/* The first byte behind the early header. */
static size_t early_payload_offset(void)
{
    static const uint64_t magic = WEIR_EARLY_MAGIC;
    const uint8_t *at = memmem(unfinished.data, EARLY_DATA_OFFSET, &magic, sizeof(magic));
    cr_assert_not_null(at);
    return (size_t)(at - unfinished.data) + sizeof(struct weir_early_header);
}

/* The lowest bits that are set in `finished`, so that the first sections of its table are theirs. */
static void find_first_features(unsigned *bits, unsigned count)
{
    struct weir_perf_header header;
    memcpy(&header, finished.data, sizeof(header));
    unsigned found = 0;
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN && found < count; bit++) {
        if (header.features[0] >> bit & 1)
            bits[found++] = bit;
    }
    cr_assert_eq(found, count);
}

/* Of bytes that take no room on a disk, and that all of them share. */
Test(recovery, features_that_take_more_than_the_limit_in_all_are_left_out)
{
    enum {
        COUNT = 3
    };
    unsigned bits[COUNT];
    struct weir_perf_header header;
    find_first_features(bits, COUNT);
    cr_assert_eq(bits[COUNT - 1], WEIR_FEATURE_OSRELEASE, "nothing makes it anew");
    memcpy(&header, finished.data, sizeof(header));
    const struct weir_perf_section large = {finished.used, WEIR_RECOVERY_FEATURES_MAX_BYTES / COUNT + 1};
    image_file_fini(&file);
    image_file_init(&file, finished.data, finished.used);
    image_file_resize(&file, finished.used + large.size);
    for (unsigned i = 0; i < COUNT; i++)
        image_file_write(&file, header.data.offset + header.data.size + i * sizeof(large), &large, sizeof(large));
    cr_assert_eq(plan(true), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.features[0] >> bits[0] & 1, 1);
    cr_expect_eq(recovery.features[0] >> bits[1] & 1, 1);
    cr_expect_eq(recovery.features[0] >> bits[2] & 1, 0);
    cr_expect_lt(recovery.tail.used, WEIR_RECOVERY_FEATURES_MAX_BYTES);
}

Test(recovery, early_features_that_are_damaged_are_not_there)
{
    make_early(false);
    size_t at = early_payload_offset();
    uint8_t other = unfinished.data[at + 300] ^ 1;
    image_file_write(&file, at + 300, &other, 1);
    cr_expect_eq(plan(false), -ESTALE, "%s", err.what);
}

Test(recovery, early_features_longer_than_the_head_are_not_there)
{
    make_early(false);
    static const uint64_t lengths[] = {EARLY_DATA_OFFSET, UINT64_MAX, UINT64_MAX - 55, 0, 8};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lengths); i++) {
        image_file_write(&file, early_payload_offset() - 48, &lengths[i], sizeof(lengths[i]));
        cr_expect_eq(plan(false), -ESTALE, "%#" PRIx64 ": %s", lengths[i], err.what);
    }
}

Test(recovery, killed_recording_of_another_boot_becomes_whole_by_its_early_features)
{
    make_early(false);
    temp_tree_write_text(&tree, "tracing/events/sched/sched_switch/id", "317\n"); /* another kernel's */
    for (int said = 0; said < 2; said++) {
        make_early(false);
        if (!said)
            forget_data_size();
        cr_assert_eq(plan(false), 0, "%s", err.what);
        cr_expect_not(recovery.is_whole);
        cr_expect_eq(recovery.records, RECORDS);
        for (unsigned bit = WEIR_FEATURE_HOSTNAME; bit <= WEIR_FEATURE_CMDLINE; bit++)
            cr_expect_eq(recovery.features[0] >> bit & 1, 1, "feature %u", bit);
        cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_TRACING_DATA & 1, 1);
        cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_SAMPLE_TIME & 1, 1);
        cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_GROUP_DESC & 1, 0);
        expect_recovered(RECORDS);
    }
}

Test(recovery, finished_file_with_early_features_is_left_alone)
{
    make_early(true);
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
}

Test(recovery, file_with_early_features_cut_anywhere_keeps_its_formats)
{
    make_early(true);
    uint64_t data_bytes;
    memcpy(&data_bytes, finished.data + DATA_SIZE, sizeof(data_bytes));
    for (size_t bytes = EARLY_DATA_OFFSET + data_bytes; bytes > EARLY_DATA_OFFSET + 64; bytes -= 61) {
        image_file_resize(&file, 0);
        image_file_write(&file, 0, finished.data, bytes);
        cr_assert_eq(plan(false), 0, "%zu bytes: %s", bytes, err.what);
        cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_TRACING_DATA & 1, 1, "%zu bytes", bytes);
        expect_recovered(recovery.records);
    }
}

/* What else there was before the file was cut within its features is taken from the head, on any machine. */
Test(recovery, file_with_early_features_cut_within_its_features_keeps_them)
{
    make_early(true);
    temp_tree_write_text(&tree, "tracing/events/sched/sched_switch/id", "317\n"); /* another kernel's */
    uint64_t data_bytes, features;
    memcpy(&data_bytes, finished.data + DATA_SIZE, sizeof(data_bytes));
    memcpy(&features, finished.data + offsetof(struct weir_perf_header, features), sizeof(features));
    size_t behind_table =
        EARLY_DATA_OFFSET + data_bytes + (size_t)__builtin_popcountll(features) * sizeof(struct weir_perf_section);
    size_t step = (finished.used - behind_table) / 6;
    for (size_t bytes = finished.used - 1; bytes > behind_table; bytes -= step) {
        image_file_resize(&file, 0);
        image_file_write(&file, 0, finished.data, bytes);
        cr_assert_eq(plan(false), 0, "%zu bytes: %s", bytes, err.what);
        cr_expect_not(recovery.is_whole);
        cr_expect_eq(recovery.features[0], features, "%zu bytes: %#" PRIx64 ", not %#" PRIx64, bytes,
                     recovery.features[0], features);
        expect_recovered(RECORDS);
    }
}

/* Those of a newer perf. */
Test(recovery, finished_file_with_a_feature_that_nobody_knows_is_left_alone)
{
    uint64_t features[4];
    memcpy(features, finished.data + offsetof(struct weir_perf_header, features), sizeof(features));
    unsigned last = 63 - (unsigned)__builtin_clzll(features[0]);
    features[0] = (features[0] & ~(1ull << last)) | 1ull << (WEIR_FEATURES_KNOWN + 8); /* stays the table's last */
    image_file_resize(&file, 0);
    image_file_write(&file, 0, finished.data, finished.used);
    image_file_write(&file, offsetof(struct weir_perf_header, features), features, sizeof(features));
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
}

/* ---- streams that were saved ---- */

/* As a whole one of weir's, or before anything was told at its end. */
static void build_stream(struct weir_buf *out, uint64_t lost, uint64_t lost_samples)
{
    const struct sample_recording_options options = {
        .tracepoint = true, .features = true, .stream = true, .lost = lost, .lost_samples = lost_samples};
    sample_recording_build(out, &tree, &options);
}

static void save_stream(const struct weir_buf *stream, size_t bytes)
{
    image_file_resize(&file, 0);
    image_file_write(&file, 0, stream->data, bytes);
}

/* The same of a stream: its head stays as it is. */
static void expect_recovered_stream(void)
{
    uint64_t records = recovery.records;
    image_file_write(&file, recovery.data_end, recovery.tail.data, recovery.tail.used);
    image_file_resize(&file, recovery.data_end + recovery.tail.used);
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, records);
    cr_expect_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "it would be recovered again");
    cr_expect_eq(recovery.records, records);
}

Test(recovery, whole_stream_is_left_alone)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    build_stream(&stream, 7, 7);
    save_stream(&stream, stream.used);
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect(recovery.is_stream);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.data_end, stream.used);
    weir_buf_fini(&stream);
}

Test(recovery, stream_cut_anywhere_ends_with_its_last_whole_record)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    build_stream(&stream, 0, 0);
    uint64_t end = 0, ends = 0, samples = 0;
    for (size_t bytes = WEIR_PIPE_HEADER_BYTES + 1; bytes <= stream.used; bytes++) {
        save_stream(&stream, bytes);
        int result = plan(false);
        if (result == -ENODATA && ends == 0)
            continue;
        cr_assert_eq(result, 0, "%zu bytes: %s", bytes, err.what);
        cr_assert_eq(recovery.data_end + recovery.dropped_bytes, bytes);
        cr_assert_eq(recovery.is_whole, recovery.data_end == bytes);
        cr_assert_geq(recovery.data_end, end, "%zu bytes: less than of fewer", bytes);
        bool is_next = recovery.data_end > end;
        ends += is_next;
        end = recovery.data_end;
        samples = recovery.samples;
        if (is_next)
            expect_recovered_stream();
    }
    cr_expect_eq(end, stream.used);
    cr_expect_eq(recovery.records, ends, "a record that was never the last one");
    cr_expect_eq(samples, 3);
    weir_buf_fini(&stream);
}

Test(recovery, cut_stream_tells_what_its_lost_records_tell)
{
    struct weir_buf stream = WEIR_BUF_INIT, untold = WEIR_BUF_INIT;
    build_stream(&stream, 7, 7);
    build_stream(&untold, 7, 0);
    save_stream(&untold, untold.used);
    cr_assert_eq(plan(false), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.dropped_bytes, 0);
    cr_expect_eq(recovery.tail.used, stream.used - untold.used);
    expect_recovered_stream();
    weir_buf_fini(&stream);
    weir_buf_fini(&untold);
}

/* Head, what is kept of the stream, and tail. */
static void write_made_file(const struct weir_buf *stream)
{
    uint64_t at = recovery.head.used;
    image_file_resize(&file, 0);
    image_file_write(&file, 0, recovery.head.data, recovery.head.used);
    for (size_t i = 0; i < recovery.kept_count; i++) {
        const struct weir_stream_range *range = &recovery.kept[i];
        image_file_write(&file, at, stream->data + range->begin, range->end - range->begin);
        at += range->end - range->begin;
    }
    image_file_write(&file, at, recovery.tail.data, recovery.tail.used);
}

/* Whatever its length: the file has the events, the features and the records of the stream, each once. */
Test(recovery, stream_cut_anywhere_becomes_a_file)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    build_stream(&stream, 7, 7);
    uint64_t samples = 0, files = 0, empty = 0;
    for (size_t bytes = stream.used; bytes > WEIR_PIPE_HEADER_BYTES + 37; bytes -= 37) {
        makes_file = true;
        save_stream(&stream, bytes);
        int result = plan(false);
        cr_assert(result == 0 || result == -ESTALE || result == -ENODATA, "%zu bytes: %s", bytes, err.what);
        empty += result == -ENODATA; /* there are no records but those of the head */
        if (result < 0)
            continue;
        uint64_t records = recovery.records;
        samples = weir_max_u64(samples, recovery.samples);
        files++;
        cr_assert(recovery.is_stream && !recovery.is_whole);
        write_made_file(&stream);
        struct image_reading reading = image_read(file.path);
        cr_assert_eq(reading.result, 0, "%zu bytes: %s", bytes, reading.err.what);
        cr_assert_eq(reading.records, records);
        makes_file = false;
        cr_assert_eq(plan(false), 0, "%s", err.what);
        cr_assert(recovery.is_whole && !recovery.is_stream, "%zu bytes", bytes);
        cr_assert_eq(recovery.records, records);
    }
    cr_expect_eq(samples, 3);
    cr_expect_gt(files, 10);
    cr_expect_gt(empty, 2);
    weir_buf_fini(&stream);
}
