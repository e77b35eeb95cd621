/*
 * Recordings that are damaged in every way that one can think of, and whole ones in every form: what is wrong is told
 * with its offset, what is before it is read, and nothing else happens.
 */
#include "format/perf_input.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/records.h"
#include "tests/format/image_file.h"
#include "tests/format/sample_recording.h"

#define DATA_OFFSET      4096u
#define DATA_AT          offsetof(struct weir_perf_header, data)
#define ATTRS_AT         offsetof(struct weir_perf_header, attrs)
#define ATTR_SIZE_AT     offsetof(struct weir_perf_header, attr_size)
#define RECORDS          8u /* of the sample recording with a tracepoint and a LOST_SAMPLES */
#define RECORD_COUNT_MAX 32u

static struct temp_tree tree;
static struct weir_buf image;
static struct image_file file;

static void make_image(void)
{
    static const struct sample_recording_options options = {.tracepoint = true, .features = true, .lost_samples = 3};
    temp_tree_init(&tree);
    sample_recording_build(&image, &tree, &options);
    image_file_init(&file, image.data, image.used);
}

static void free_image(void)
{
    image_file_fini(&file);
    weir_buf_fini(&image);
    temp_tree_fini(&tree);
}

TestSuite(perf_input, .init = make_image, .fini = free_image);

static uint64_t header_word(size_t offset)
{
    uint64_t word;
    memcpy(&word, image.data + offset, sizeof(word));
    return word;
}

static void set_word(size_t offset, uint64_t word)
{
    image_file_write(&file, offset, &word, sizeof(word));
}

/* Where records begin, and behind the last one where the data ends. */
static size_t find_records(size_t offsets[RECORD_COUNT_MAX])
{
    size_t count = 0, at = DATA_OFFSET, end = DATA_OFFSET + header_word(DATA_AT + 8);
    for (; at < end; count++) {
        uint16_t size;
        cr_assert_lt(count, RECORD_COUNT_MAX - 1);
        offsets[count] = at;
        memcpy(&size, image.data + at + offsetof(struct perf_event_header, size), sizeof(size));
        at += size;
    }
    offsets[count] = at;
    return count;
}

static void expect_refused(const char *what)
{
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, -EBADMSG, "%s: %d", what, reading.result);
    cr_expect_eq(reading.records, 0);
    cr_expect_not_null(strstr(reading.err.what, what), "'%s' does not say '%s'", reading.err.what, what);
}

/* ---- negative ---- */

Test(perf_input, file_cut_at_any_byte_of_its_head_is_refused)
{
    for (size_t bytes = DATA_OFFSET; bytes-- > 0;) {
        image_file_resize(&file, bytes);
        struct image_reading reading = image_read(file.path);
        cr_expect_eq(reading.result, -EBADMSG, "%zu bytes", bytes);
        cr_expect_eq(reading.records, 0, "%zu bytes", bytes);
        const char *place = bytes > 0 ? " at " : "file is empty";
        cr_expect_not_null(strstr(reading.err.what, place), "%zu bytes: no offset: %s", bytes, reading.err.what);
    }
}

Test(perf_input, file_cut_at_a_record_gives_the_records_before)
{
    size_t offsets[RECORD_COUNT_MAX];
    size_t count = find_records(offsets);
    cr_assert_eq(count, RECORDS + 2); /* and padding, and a round */
    for (size_t i = count; i-- > 0;) {
        for (int shift = 1; shift >= -1; shift--) {
            if (i == 0 && shift < 0)
                continue;
            size_t whole = shift < 0 ? i - 1 : i;
            image_file_resize(&file, offsets[i] + (size_t)(shift + 1) - 1);
            struct image_reading reading = image_read(file.path);
            char offset[32];
            snprintf(offset, sizeof(offset), "record at %#zx:", offsets[whole]);
            cr_expect_eq(reading.result, -EBADMSG);
            cr_expect_eq(reading.records, whole, "record %zu%+d", i, shift);
            cr_expect_not_null(strstr(reading.err.what, offset), "%s: %s", offset, reading.err.what);
            cr_expect_not_null(strstr(reading.err.hint, "weir recover"), "%s", reading.err.hint);
        }
    }
}

/* One bit of each byte, of zeros every 8th only: most are padding, and each reading starts a child (trace_formats.h).
 * Under AddressSanitizer, whose processes take their time to fork, of every fifth byte (fuzz_dump does more). */
#ifdef __SANITIZE_ADDRESS__
#define FLIP_STEP 5u
#else
#define FLIP_STEP 1u
#endif

Test(perf_input, any_flipped_bit_ends_in_records_or_one_error)
{
    for (size_t at = 0; at < image.used; at += FLIP_STEP) {
        if (image.data[at] == 0 && at % 8 != 0)
            continue;
        uint8_t flipped = image.data[at] ^ (uint8_t)(1u << at % 7);
        image_file_write(&file, at, &flipped, 1);
        image_read(file.path);
        image_file_write(&file, at, &image.data[at], 1);
    }
}

Test(perf_input, sizes_below_a_header_are_refused_where_they_stand)
{
    size_t offsets[RECORD_COUNT_MAX];
    find_records(offsets);
    for (uint16_t size = 0; size < 8; size++) {
        image_file_write(&file, offsets[2] + offsetof(struct perf_event_header, size), &size, sizeof(size));
        struct image_reading reading = image_read(file.path);
        char what[80];
        snprintf(what, sizeof(what), "record at %#zx: size %u is less than its header's 8", offsets[2], size);
        cr_expect_eq(reading.result, -EBADMSG);
        cr_expect_eq(reading.records, 2);
        cr_expect_not_null(strstr(reading.err.what, what), "%s", reading.err.what);
    }
}

Test(perf_input, attr_sizes_that_cannot_be_are_refused)
{
    static const uint64_t sizes[] = {0, 1, 79, 4097, 1ull << 63, UINT64_MAX};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sizes); i++) {
        set_word(ATTR_SIZE_AT, sizes[i]);
        expect_refused("attr_size at 0x10");
    }
    set_word(ATTR_SIZE_AT, header_word(ATTR_SIZE_AT) + 8);
    expect_refused("attrs at 0x18");
}

Test(perf_input, offsets_beyond_the_file_are_refused)
{
    static const uint64_t far[] = {1ull << 63, UINT64_MAX, UINT64_MAX - 7, 1ull << 40};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(far); i++) {
        set_word(ATTRS_AT, far[i]);
        expect_refused("attrs at 0x18");
        set_word(ATTRS_AT, header_word(ATTRS_AT));
        set_word(ATTRS_AT + 8, far[i]);
        expect_refused("attrs at 0x18");
        set_word(ATTRS_AT + 8, header_word(ATTRS_AT + 8));
        size_t ids_at = header_word(ATTRS_AT) + header_word(ATTR_SIZE_AT) - sizeof(struct weir_perf_section);
        set_word(ids_at, far[i]);
        expect_refused("its ids");
        set_word(ids_at, header_word(ids_at));
        set_word(ids_at + 8, far[i] & ~7ull);
        expect_refused("its ids");
        set_word(ids_at + 8, header_word(ids_at + 8));
    }
    set_word(DATA_AT, 1ull << 63);
    expect_refused("data at 0x28");
    set_word(DATA_AT, header_word(DATA_AT));
    set_word(DATA_AT + 8, 1ull << 63);
    expect_refused("data at 0x28");
}

Test(perf_input, data_over_the_attrs_is_refused)
{
    set_word(DATA_AT, header_word(ATTRS_AT) + 8);
    expect_refused("overlaps the attrs");
    set_word(DATA_AT + 8, 0); /* never finished */
    expect_refused("overlaps the attrs");
}

Test(perf_input, ids_that_all_attrs_share_are_refused)
{
    /* Each attr claims the whole file as its ids: read naively that is attrs x file in memory. */
    uint64_t head = sizeof(struct weir_perf_header), whole = (image.used - head) & ~7ull;
    for (size_t i = 0; i < 2; i++) {
        size_t at = header_word(ATTRS_AT) + (i + 1) * header_word(ATTR_SIZE_AT) - sizeof(struct weir_perf_section);
        set_word(at, head);
        set_word(at + 8, whole);
    }
    expect_refused("overlap those of other attrs");
}

Test(perf_input, features_outside_of_the_file_cost_the_features_only)
{
    uint64_t table = DATA_OFFSET + header_word(DATA_AT + 8);
    set_word(table, 1ull << 63); /* TRACING_DATA: the first */
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, 0);
    cr_expect_eq(reading.records, RECORDS + 2);
}

Test(perf_input, other_magics_say_what_they_are)
{
    struct weir_perf_input input;
    struct weir_error err = {0};
    image_file_write(&file, 0, "PERFFILE", 8);
    cr_expect_eq(weir_perf_input_open(&input, file.path, &err), -ENOTSUP);
    image_file_write(&file, 0, "2ELIFREP", 8); /* of the other byte order, by which the header's size is absurd */
    cr_expect_eq(weir_perf_input_open(&input, file.path, &err), -EBADMSG);
    image_file_write(&file, 0, "not perf", 8);
    cr_expect_eq(weir_perf_input_open(&input, file.path, &err), -EBADMSG);
    cr_expect_eq(weir_perf_input_open(&input, "/nonexistent/perf.data", &err), -ENOENT);
}

/* ---- a FIFO ---- */

/* Writes data into a new FIFO from a process of its own; its path. */
static pid_t write_fifo(const void *data, size_t bytes, char path[PATH_MAX])
{
    temp_tree_path(&tree, "fifo", path);
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        FILE *stream = fopen(path, "we");
        size_t written = stream ? fwrite(data, 1, bytes, stream) : 0;
        _exit(stream && fclose(stream) == 0 && written == bytes ? 0 : 1);
    }
    return child;
}

static void append_pipe_head(struct weir_buf *out)
{
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = PERF_ATTR_SIZE_VER0,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
    };
    const struct perf_event_header header = {.type = WEIR_RECORD_ATTR, .size = 8 + PERF_ATTR_SIZE_VER0 + 8};
    weir_buf_append_u64(out, WEIR_PERF_MAGIC2);
    weir_buf_append_u64(out, WEIR_PIPE_HEADER_BYTES);
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append(out, &attr, PERF_ATTR_SIZE_VER0);
    weir_buf_append_u64(out, 7);
}

Test(perf_input, stream_from_a_fifo_is_read)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    char path[PATH_MAX];
    append_pipe_head(&stream);
    for (int i = 0; i < 40000; i++)
        weir_record_comm(&stream, i, i, "weirtest", 0, 16);
    for (int pass = 0; pass < 2; pass++) { /* it is read twice, as text and as JSON */
        pid_t child = write_fifo(stream.data, stream.used, path);
        struct weir_perf_input input;
        struct weir_record_view record;
        struct weir_error err = {0};
        cr_assert_eq(weir_perf_input_open(&input, path, &err), 0, "%s", err.what);
        uint64_t count = 0;
        int result;
        while ((result = weir_perf_input_next(&input, &record, &err)) == 1)
            count++;
        cr_expect_eq(result, 0, "%s", err.what);
        cr_expect_eq(count, 40001);
        cr_expect_eq(input.events.count, 1);
        cr_expect_eq(input.events.list[0].ids[0], 7);
        cr_expect_str_eq(input.events.list[0].name, "cpu-clock");
        weir_perf_input_close(&input);
        int status;
        cr_expect_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(status, 0);
    }
    weir_buf_fini(&stream);
}

/* ids: with the attr. */
static void append_attr_with_ids(struct weir_buf *out, const uint64_t *ids, size_t count)
{
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER0, .sample_type = PERF_SAMPLE_IDENTIFIER};
    const struct perf_event_header header = {.type = WEIR_RECORD_ATTR,
                                             .size = (uint16_t)(8 + PERF_ATTR_SIZE_VER0 + 8 * count)};
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append(out, &attr, PERF_ATTR_SIZE_VER0);
    weir_buf_append(out, ids, count * sizeof(*ids));
}

/* A thousand ids, then one more before each of a hundred samples. */
Test(perf_input, ids_that_come_between_samples_are_found_and_not_sorted_in_each_time)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    uint64_t ids[1000];
    const struct perf_event_header sample = {.type = PERF_RECORD_SAMPLE, .size = 16};
    for (uint64_t i = 0; i < 1000; i++)
        ids[i] = 5000 - i;
    weir_buf_append_u64(&stream, WEIR_PERF_MAGIC2);
    weir_buf_append_u64(&stream, WEIR_PIPE_HEADER_BYTES);
    append_attr_with_ids(&stream, ids, 1000);
    for (uint64_t id = 1; id <= 100; id++) {
        append_attr_with_ids(&stream, &id, 1);
        weir_buf_append(&stream, &sample, sizeof(sample));
        weir_buf_append_u64(&stream, id);
        weir_buf_append(&stream, &sample, sizeof(sample));
        weir_buf_append_u64(&stream, 4500 + id);
    }
    image_file_resize(&file, 0);
    image_file_write(&file, 0, stream.data, stream.used);

    struct weir_perf_input input;
    struct weir_record_view record;
    struct weir_error err = {0};
    size_t sorted = 0, sorts = 0, event = 0;
    cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
    while (weir_perf_input_next(&input, &record, &err) == 1) {
        const struct weir_input_event *found = weir_input_event_of(&input.events, &record);
        uint64_t id = record.type == PERF_RECORD_SAMPLE ? weir_load_u64(record.data + 8) : 0;
        event += record.type == WEIR_RECORD_ATTR;
        if (record.type == PERF_RECORD_SAMPLE)
            cr_expect_eq((size_t)(found - input.events.list), id <= 100 ? event - 1 : 0, "id %d", (int)id);
        sorts += input.events.sorted_ids != sorted;
        sorted = input.events.sorted_ids;
    }
    cr_expect_eq(err.code, 0, "%s", err.what);
    cr_expect_eq(event, 101);
    cr_expect(sorts > 0 && sorts <= 3, "%zu", sorts);
    cr_expect_null(weir_input_event_by_id(&input.events, 6000));
    weir_perf_input_close(&input);
    weir_buf_fini(&stream);
}

Test(perf_input, file_in_a_fifo_is_refused)
{
    char path[PATH_MAX];
    pid_t child = write_fifo(image.data, WEIR_PIPE_HEADER_BYTES, path);
    struct weir_perf_input input;
    struct weir_error err = {0};
    cr_expect_eq(weir_perf_input_open(&input, path, &err), -ENOTSUP);
    cr_expect_not_null(strstr(err.hint, "-o -"));
    waitpid(child, NULL, 0);
}

Test(perf_input, stream_cut_anywhere_gives_the_records_before)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    append_pipe_head(&stream);
    size_t head = stream.used;
    weir_record_comm(&stream, 1, 1, "weirtest", 0, 16);
    image_file_write(&file, 0, stream.data, stream.used);
    for (size_t bytes = stream.used; bytes-- > WEIR_PIPE_HEADER_BYTES + 1;) {
        image_file_resize(&file, bytes);
        struct image_reading reading = image_read(file.path);
        cr_expect_eq(reading.result, bytes == head ? 0 : -EBADMSG, "%zu bytes", bytes);
        cr_expect_eq(reading.records, bytes >= head ? 1 : 0, "%zu bytes", bytes);
        cr_expect_str_empty(reading.err.hint, "weir recover takes no stream: %s", reading.err.hint);
    }
    weir_buf_fini(&stream);
}

/* ---- compressed ---- */

/* A stream of one COMPRESSED record of what is given, by a HEADER_COMPRESSED that says mmap_len. */
static void write_compressed(const void *data, size_t bytes, uint32_t mmap_len)
{
    struct weir_buf stream = WEIR_BUF_INIT;
    append_pipe_head(&stream);
    const struct perf_event_header feature = {.type = WEIR_RECORD_FEATURE, .size = 8 + 8 + 24};
    weir_buf_append(&stream, &feature, sizeof(feature));
    weir_buf_append_u64(&stream, WEIR_FEATURE_COMPRESSED);
    const uint32_t words[] = {0, 1, 1, 1, mmap_len, 0};
    weir_buf_append(&stream, words, sizeof(words));

    uint8_t packed[60000];
    size_t packed_bytes = ZSTD_compress(packed, sizeof(packed), data, bytes, 1);
    cr_assert_not(ZSTD_isError(packed_bytes));
    const struct perf_event_header header = {.type = WEIR_RECORD_COMPRESSED, .size = (uint16_t)(8 + packed_bytes)};
    weir_buf_append(&stream, &header, sizeof(header));
    weir_buf_append(&stream, packed, packed_bytes);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, stream.data, stream.used);
    weir_buf_fini(&stream);
}

Test(perf_input, zstd_bomb_is_stopped_at_the_limit_of_its_file)
{
    struct weir_buf rounds = WEIR_BUF_INIT;
    for (int i = 0; i < 4 << 20; i++)
        weir_record_finished_round(&rounds);
    write_compressed(rounds.data, rounds.used, 1u << 20);
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, -EBADMSG);
    cr_expect_not_null(strstr(reading.err.what, "expands to more than the limit of 1048576 bytes"), "%s",
                       reading.err.what);
    weir_buf_fini(&rounds);
}

Test(perf_input, compressed_zeros_are_no_records)
{
    static const uint8_t zeros[1 << 20];
    write_compressed(zeros, sizeof(zeros), 1u << 30);
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, -EBADMSG);
    cr_expect_eq(reading.records, 3);
    cr_expect_not_null(strstr(reading.err.what, "an invalid record (type 0, size 0)"), "%s", reading.err.what);
}

Test(perf_input, records_of_a_compressed_one_are_returned_behind_it)
{
    struct weir_buf records = WEIR_BUF_INIT;
    for (int i = 0; i < 30000; i++)
        weir_record_comm(&records, i % 8, i % 8, "weirtest", 0, 16);
    write_compressed(records.data, records.used, 2u << 20);
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, 30003);

    write_compressed(records.data, records.used - 8, 2u << 20);
    reading = image_read(file.path);
    cr_expect_eq(reading.result, -EBADMSG);
    cr_expect_eq(reading.records, 30002);
    cr_expect_not_null(strstr(reading.err.what, "are not a whole record"), "%s", reading.err.what);
    weir_buf_fini(&records);
}

Test(perf_input, damaged_zstd_is_told_with_its_record)
{
    static const uint8_t garbage[64] = {0xff, 0xee};
    struct weir_buf stream = WEIR_BUF_INIT;
    append_pipe_head(&stream);
    size_t at = stream.used;
    const struct perf_event_header header = {.type = WEIR_RECORD_COMPRESSED, .size = 8 + sizeof(garbage)};
    weir_buf_append(&stream, &header, sizeof(header));
    weir_buf_append(&stream, garbage, sizeof(garbage));
    image_file_resize(&file, 0);
    image_file_write(&file, 0, stream.data, stream.used);
    struct image_reading reading = image_read(file.path);
    char what[64];
    snprintf(what, sizeof(what), "compressed record at %#zx:", at);
    cr_expect_eq(reading.result, -EBADMSG);
    cr_expect_not_null(strstr(reading.err.what, what), "%s", reading.err.what);
    weir_buf_fini(&stream);
}

/* ---- forms ---- */

Test(perf_input, directory_is_read_file_after_file)
{
    struct weir_buf part = WEIR_BUF_INIT;
    weir_record_finished_round(&part);
    weir_record_finished_round(&part);
    temp_tree_write(&tree, "dir/data", image.data, image.used);
    temp_tree_write(&tree, "dir/data.0", part.data, part.used);
    temp_tree_write(&tree, "dir/data.1", NULL, 0);
    temp_tree_write(&tree, "dir/data.2", part.data, part.used);
    char path[PATH_MAX];
    temp_tree_path(&tree, "dir", path);
    struct image_reading reading = image_read(path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, RECORDS + 2 + 4);

    temp_tree_write(&tree, "dir/data.1", part.data, part.used - 1);
    reading = image_read(path);
    cr_expect_eq(reading.result, -EBADMSG);
    cr_expect_eq(reading.records, RECORDS + 2 + 3);
    cr_expect_not_null(strstr(reading.err.what, "data.1: record at 0x8"), "%s", reading.err.what);
    weir_buf_fini(&part);
}

/* Of FIFOs nobody may ever open the other end. */
Test(perf_input, directory_with_what_is_no_file_is_refused, .timeout = 20)
{
    static const char *const names[] = {"dir/data.0", "dir/data"};
    char path[PATH_MAX], other[PATH_MAX];
    temp_tree_write(&tree, "dir/data", image.data, image.used);
    temp_tree_path(&tree, "dir", path);
    for (size_t i = 0; i < 2; i++) {
        temp_tree_path(&tree, names[i], other);
        unlink(other);
        cr_assert_eq(mkfifo(other, 0600), 0);
        struct image_reading reading = image_read(path);
        cr_expect_eq(reading.result, -EINVAL);
        cr_expect_not_null(strstr(reading.err.what, names[i]), "%s", reading.err.what);
        cr_expect_not_null(strstr(reading.err.what, " is not a regular file"), "%s", reading.err.what);
        unlink(other);
    }
}

Test(perf_input, directory_that_lacks_a_file_before_others_is_refused)
{
    temp_tree_write(&tree, "dir/data", image.data, image.used);
    temp_tree_write(&tree, "dir/data.1", NULL, 0);
    temp_tree_write(&tree, "dir/data.x", NULL, 0);
    char path[PATH_MAX];
    temp_tree_path(&tree, "dir", path);
    struct image_reading reading = image_read(path);
    cr_expect_eq(reading.result, -ENOENT);
    cr_expect_not_null(strstr(reading.err.what, "dir/data.0 is missing, and "), "%s", reading.err.what);
    cr_expect_not_null(strstr(reading.err.what, "dir/data.1 is there"), "%s", reading.err.what);
    cr_expect_not_null(strstr(reading.err.hint, "to read the others, put an empty file in its place: touch "));
    temp_tree_write(&tree, "dir/data.0", NULL, 0);
    reading = image_read(path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, RECORDS + 2);
}

Test(perf_input, file_without_a_data_size_is_read_up_to_its_end)
{
    set_word(DATA_AT + 8, 0);
    for (unsigned i = 0; i < 4; i++)
        set_word(offsetof(struct weir_perf_header, features) + 8 * i, 0);
    image_file_resize(&file, DATA_OFFSET + header_word(DATA_AT + 8));
    struct weir_perf_input input;
    struct weir_error err = {0};
    cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
    cr_expect(input.is_unfinished);
    weir_perf_input_close(&input);
    struct image_reading reading = image_read(file.path);
    cr_expect_eq(reading.result, 0, "%s", reading.err.what);
    cr_expect_eq(reading.records, RECORDS + 2);
}

Test(perf_input, events_have_the_names_and_ids_of_the_file)
{
    struct weir_perf_input input;
    struct weir_error err = {0};
    cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
    cr_assert_eq(input.events.count, 2);
    cr_expect_not(input.is_unfinished);
    cr_expect_str_eq(input.events.list[0].name, "cpu-clock");
    cr_expect_str_eq(input.events.list[1].name, "sched:sched_switch");
    cr_expect_eq(weir_input_event_by_id(&input.events, 12), &input.events.list[0]);
    cr_expect_eq(weir_input_event_by_id(&input.events, 21), &input.events.list[1]);
    cr_expect_null(weir_input_event_by_id(&input.events, 13));
    weir_perf_input_close(&input);
}
