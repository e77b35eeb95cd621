/*
 * What weir's readers say of a recording with AUX areas (aux_recording.h): its counts, each rule broken by itself, and
 * what is made of it when it was cut. test_aux_decode.c has what perf says.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "format/head.h"
#include "format/index_records.h"
#include "format/info.h"
#include "format/perf_input.h"
#include "format/records.h"
#include "format/recovery.h"
#include "format/scan_aux.h"
#include "format/verify.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/aux_recording.h"
#include "tests/format/image_file.h"

#define DATA_SIZE_AT (offsetof(struct weir_perf_header, data) + 8)
#define ENTRY_BYTES  AUX_RECORDING_ENTRY_BYTES
#define BYTES_AT     8u /* of AUXTRACE */
#define OFFSET_AT    16u
#define INDEX_AT     32u
#define CPU_AT       40u

static struct aux_recording recording;
static struct image_file file;
static struct weir_buf text;
static struct weir_recovery recovery;
static struct weir_error err;

static void make(const struct aux_recording_options *options)
{
    aux_recording_fini(&recording);
    aux_recording_build(&recording, options);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, recording.bytes.data, recording.bytes.used);
}

static void make_finished(void)
{
    image_file_init(&file, "", 0);
    make(&(struct aux_recording_options){.features = true});
}

static void free_all(void)
{
    image_file_fini(&file);
    aux_recording_fini(&recording);
    weir_buf_fini(&text);
    weir_recovery_fini(&recovery);
}

TestSuite(aux_readers, .init = make_finished, .fini = free_all);

static void put_u64(size_t offset, uint64_t value)
{
    image_file_write(&file, offset, &value, sizeof(value));
}

static const char *verify(unsigned expected_failures)
{
    unsigned failures = 0;
    weir_buf_reset(&text);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, expected_failures, "%s", weir_buf_str(&text));
    return weir_buf_str(&text);
}

static void expect_text(const char *said, const char *part)
{
    cr_expect_not_null(strstr(said, part), "'%s' is not in\n%s", part, said);
}

static int plan(void)
{
    const struct weir_recovery_options options = {.path = file.path, .proc_root = "/nonexistent"};
    weir_recovery_fini(&recovery);
    memset(&err, 0, sizeof(err));
    return weir_recovery_plan(&recovery, &options, &err);
}

/* ---- verify: areas ---- */

Test(aux_readers, stretch_that_begins_before_the_one_before_ends_breaks_areas)
{
    const uint64_t third = recording.index[2].file_offset, end = recording.payload_bytes[0];
    char what[128];
    snprintf(what, sizeof(what),
             "FAIL areas       1 stretches begin before the one before of their area ends, the first at %#" PRIx64 "\n",
             third);
    put_u64(third + OFFSET_AT, end - 8);
    expect_text(verify(1), what);
    put_u64(third + OFFSET_AT, end - 7); /* 7 bytes of it were padding */
    expect_text(verify(0), "ok   areas       3 stretches of 2 AUX areas, 8952 bytes, one behind the other\n");
}

Test(aux_readers, area_that_begins_anew_without_a_cpu_that_came_back_breaks_areas)
{
    put_u64(recording.index[2].file_offset + OFFSET_AT, 0);
    expect_text(verify(1), "FAIL areas       1 stretches begin anew, though no CPU came back");
}

/* As above, but one of the records says which CPUs there are from then on. */
Test(aux_readers, area_that_begins_anew_when_cpus_came_keeps_areas)
{
    static const int cpus[] = {0, 1};
    size_t at = recording.data_offset;
    struct perf_event_header header;
    for (;; at += header.size) {
        memcpy(&header, recording.bytes.data + at, sizeof(header));
        if (header.type == PERF_RECORD_ITRACE_START)
            break;
    }
    struct weir_buf update = WEIR_BUF_INIT;
    weir_record_cpus_changed(&update, 31, cpus, WEIR_ARRAY_COUNT(cpus));
    cr_assert_lt(update.used, header.size);
    size_t left = header.size - update.used;
    void *padding = weir_buf_extend(&update, left);
    cr_assert_not_null(padding);
    weir_record_fill_padding(padding, left);
    image_file_write(&file, at, update.data, update.used);
    weir_buf_fini(&update);
    put_u64(recording.index[2].file_offset + OFFSET_AT, 0);
    expect_text(verify(0), "ok   areas       3 stretches of 2 AUX areas, 8952 bytes, one behind the other\n");
}

Test(aux_readers, stretch_of_another_cpu_breaks_areas)
{
    image_file_write(&file, recording.index[2].file_offset + CPU_AT, &(int32_t){1}, sizeof(int32_t));
    expect_text(verify(1), "FAIL areas       1 stretches are of another task or CPU");
}

Test(aux_readers, stretch_without_padding_breaks_areas)
{
    const uint64_t end = recording.index[2].file_offset + WEIR_AUXTRACE_RECORD_BYTES + recording.payload_bytes[2];
    make(&(struct aux_recording_options){.features = false});
    put_u64(recording.index[2].file_offset + BYTES_AT, recording.payload_bytes[2] + 4);
    put_u64(DATA_SIZE_AT, end + 4 - recording.data_offset);
    /* Four bytes of a round are behind it, and there is no index. */
    expect_text(verify(3), "FAIL areas       1 stretches are no multiple of 8 bytes long");
}

Test(aux_readers, bytes_between_stretches_are_told)
{
    put_u64(recording.index[2].file_offset + OFFSET_AT, recording.payload_bytes[0] + 64);
    expect_text(verify(0), "note aux         area 0 lacks 64 bytes between its stretches\n");
}

/* The driver of intel_bts leaves the end of an area unused where it has no room for a whole entry. */
Test(aux_readers, less_than_an_entry_of_bts_between_stretches_is_none)
{
    put_u64(recording.index[2].file_offset + OFFSET_AT, recording.payload_bytes[0] + ENTRY_BYTES - 1);
    cr_expect_null(strstr(verify(0), "lacks"), "%s", weir_buf_str(&text));
    put_u64(recording.index[2].file_offset + OFFSET_AT, recording.payload_bytes[0] + ENTRY_BYTES);
    expect_text(verify(0), "note aux         area 0 lacks 24 bytes between its stretches\n");
}

Test(aux_readers, stretches_of_snapshots_are_not_compared)
{
    make(&(struct aux_recording_options){.features = true, .snapshot = true});
    put_u64(recording.index[2].file_offset + OFFSET_AT, ENTRY_BYTES);
    expect_text(verify(0), "ok   areas       3 stretches of 2 AUX areas, 8952 bytes of snapshots\n");
    put_u64(recording.index[2].file_offset + OFFSET_AT, 1 << 20);
    cr_expect_null(strstr(verify(0), "lacks"));
}

Test(aux_readers, indices_of_areas_have_a_bound)
{
    image_file_write(&file, recording.index[2].file_offset + INDEX_AT, &(uint32_t){WEIR_SCAN_AREAS}, sizeof(uint32_t));
    expect_text(verify(0), "note aux         1 stretches are of areas from 65536 on: not compared\n");
    image_file_write(&file, recording.index[2].file_offset + INDEX_AT, &(uint32_t){UINT32_MAX}, sizeof(uint32_t));
    expect_text(verify(0), "note aux         1 stretches are of areas from 65536 on: not compared\n");
}

Test(aux_readers, sizes_that_cannot_be_end_the_data)
{
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 47, 1ull << 63, INT64_MAX, 1ull << 62, 1 << 20};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sizes); i++) {
        put_u64(recording.index[1].file_offset + BYTES_AT, sizes[i]);
        expect_text(verify(2), "FAIL boundaries  "); /* and the index */
        cr_expect_eq(image_read(file.path).result, -EBADMSG);
    }
}

/* Of a finished file, whose header says that they are there. */
Test(aux_readers, bytes_of_a_stretch_that_are_cut_off_are_told)
{
    const uint64_t behind = recording.index[2].file_offset + WEIR_AUXTRACE_RECORD_BYTES;
    char what[128];
    image_file_resize(&file, behind + recording.payload_bytes[2] - 1);
    snprintf(what, sizeof(what), ": the %" PRIu64 " bytes behind the record before %#" PRIx64 " are cut off\n",
             recording.payload_bytes[2], behind);
    const char *said = verify(3); /* boundaries, finished and features */
    expect_text(said, what);
    expect_text(said, "ok   areas       2 stretches of 2 AUX areas, 6528 bytes, one behind the other\n");
}

/* ---- verify: the index ---- */

/* Where its payload is in the file. */
static size_t index_payload_at(void)
{
    struct weir_perf_input input;
    cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
    size_t offset = input.sections[WEIR_FEATURE_AUXTRACE].offset;
    cr_assert_eq(input.sections[WEIR_FEATURE_AUXTRACE].size, 8 + 3 * 16);
    weir_perf_input_close(&input);
    return offset;
}

Test(aux_readers, index_of_other_records_breaks_index)
{
    const size_t at = index_payload_at();
    const uint64_t second = recording.index[1].file_offset;
    char what[128];
    put_u64(at + 8 + 16, second - 8);
    snprintf(what, sizeof(what),
             "FAIL index       entry 1 of AUXTRACE says %#" PRIx64 ", where no AUXTRACE record is\n", second - 8);
    expect_text(verify(1), what);
    put_u64(at + 8 + 16, second + 8);
    snprintf(what, sizeof(what), "FAIL index       AUXTRACE has no entry for the record at %#" PRIx64 " in its place\n",
             second);
    expect_text(verify(1), what);
    put_u64(at + 8 + 16, 1ull << 63);
    expect_text(verify(1), "FAIL index       AUXTRACE has no entry for the record at ");
    put_u64(at + 8 + 16, second);
    put_u64(at + 8 + 24, 40);
    snprintf(what, sizeof(what),
             "FAIL index       entry 1 of AUXTRACE says that the record at %#" PRIx64 " has 40 bytes\n", second);
    expect_text(verify(1), what);
}

Test(aux_readers, index_of_another_length_breaks_index)
{
    const size_t at = index_payload_at();
    static const uint64_t counts[] = {0, 2, 4, 1ull << 60, UINT64_MAX};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(counts); i++) {
        put_u64(at, counts[i]);
        bool ends_too_early = counts[i] > WEIR_ARRAY_COUNT(recording.index); /* features says so as well */
        expect_text(verify(ends_too_early ? 2 : 1), "FAIL index       AUXTRACE says that it has ");
    }
}

Test(aux_readers, index_with_one_entry_too_many_or_too_few_breaks_index)
{
    const struct weir_scan_aux three = {.index = recording.index, .index_count = 3};
    const struct weir_scan_aux two = {.index = recording.index, .index_count = 2};
    struct weir_buf payload = WEIR_BUF_INIT;
    char what[128];
    weir_buf_append_u64(&payload, 2);
    weir_buf_append(&payload, recording.index, 2 * sizeof(recording.index[0]));
    cr_expect(weir_scan_aux_match_index(&two, &payload, NULL, 0));
    cr_expect_not(weir_scan_aux_match_index(&three, &payload, what, sizeof(what)));
    expect_text(what, "has no entry for the record at ");
    weir_buf_reset(&payload);
    weir_buf_append_u64(&payload, 3);
    weir_buf_append(&payload, recording.index, sizeof(recording.index));
    cr_expect(weir_scan_aux_match_index(&three, &payload, NULL, 0));
    cr_expect_not(weir_scan_aux_match_index(&two, &payload, what, sizeof(what)));
    expect_text(what, "entry 2 of AUXTRACE says ");
    weir_buf_fini(&payload);
}

/* More records than the feature may have bytes for when it is read again. */
Test(aux_readers, records_of_an_index_have_a_bound)
{
    const size_t bound = (WEIR_FEATURE_MAX_BYTES - 8) / 16;
    struct weir_scan_aux aux = {.told = 0};
    uint8_t bytes[WEIR_AUXTRACE_RECORD_BYTES];
    weir_auxtrace_write(bytes, &(struct weir_auxtrace){.bytes = 8});
    struct weir_record_view record = {.data = bytes, .type = WEIR_RECORD_AUXTRACE, .bytes = sizeof(bytes)};
    for (size_t i = 0; i < bound; i++)
        cr_assert_eq(weir_scan_aux_note(&aux, &record, true), 0);
    cr_expect(aux.index_count == bound && !aux.is_index_full);
    cr_assert_eq(weir_scan_aux_note(&aux, &record, true), 0);
    cr_expect(aux.index_count == bound && aux.is_index_full);
    cr_expect_eq(aux.stretches, bound + 1);
    weir_scan_aux_fini(&aux);
}

Test(aux_readers, file_without_its_index_breaks_index)
{
    make(&(struct aux_recording_options){.features = false});
    expect_text(verify(1), "FAIL index       AUXTRACE records, but no feature AUXTRACE");
}

/* ---- what a whole one says ---- */

Test(aux_readers, whole_recording_keeps_the_rules)
{
    make(&(struct aux_recording_options){.features = true, .truncated = true});
    const char *said = verify(0);
    expect_text(said, "ok   areas       3 stretches of 2 AUX areas, 8952 bytes, one behind the other\n");
    expect_text(said, "ok   index       the feature lists exactly the 3 AUXTRACE records\n");
    expect_text(said, "note aux         1 of 3 AUX records are truncated, 0 partial, 0 collided\n");
}

Test(aux_readers, stream_keeps_the_rules_without_an_index)
{
    make(&(struct aux_recording_options){.stream = true});
    const char *said = verify(0);
    expect_text(said, "ok   areas       3 stretches of 2 AUX areas, 8952 bytes, one behind the other\n");
    cr_expect_null(strstr(said, "index  "), "%s", said);
}

Test(aux_readers, info_tells_of_bytes_areas_and_what_was_cut)
{
    make(&(struct aux_recording_options){.features = true, .truncated = true});
    weir_buf_reset(&text);
    cr_assert_eq(weir_info_append(file.path, NULL, false, &text, &err), 0, "%s", err.what);
    expect_text(weir_buf_str(&text),
                "AUX             intel_bts: 8952 bytes of 2 areas in 3 AUXTRACE records\n"
                "                3 AUX records of 8952 bytes, 1 truncated, 0 partial, 0 collided\n");
    char entries[128];
    snprintf(entries, sizeof(entries),
             "AUXTRACE        index of 3 entries: %#" PRIx64 " + 48, %#" PRIx64 " + 48, %#" PRIx64 " + 48\n",
             recording.index[0].file_offset, recording.index[1].file_offset, recording.index[2].file_offset);
    expect_text(weir_buf_str(&text), entries);

    make(&(struct aux_recording_options){.features = true, .snapshot = true});
    weir_buf_reset(&text);
    cr_assert_eq(weir_info_append(file.path, NULL, true, &text, &err), 0, "%s", err.what);
    expect_text(weir_buf_str(&text),
                "\"aux\":{\"type\":2,\"type_name\":\"intel_bts\",\"snapshots\":true,\"areas\":2,\"auxtrace_records\":3,"
                "\"auxtrace_bytes\":8952,\"aux_records\":3,\"aux_bytes\":8952,\"truncated\":0,\"partial\":0,"
                "\"collided\":0,\"samples\":0,\"sampled_bytes\":0}");
}

Test(aux_readers, pieces_in_samples_are_told)
{
    static const uint64_t id = 31;
    struct weir_event_desc event = {.name = "cpu-clock", .ids = &id, .id_count = 1, .attr.type = PERF_TYPE_SOFTWARE};
    struct weir_head_input head = {.events = &event, .event_count = 1, .id_room = 1};
    struct weir_buf data = WEIR_BUF_INIT, bytes = WEIR_BUF_INIT;
    event.attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_AUX;
    cr_assert_eq(weir_auxtrace_info_append(&data, WEIR_AUX_INTEL_PT, NULL, 0), 0);
    for (uint64_t piece = 0; piece <= 32; piece += 16) {
        const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(8 + 8 + 8 + piece)};
        weir_buf_append(&data, &header, sizeof(header));
        weir_buf_append_u64(&data, id);
        weir_buf_append_u64(&data, piece);
        weir_buf_append_zeros(&data, piece);
    }
    head.data_bytes = data.used;
    cr_assert_eq(weir_head_build(&bytes, &head), 0);
    weir_buf_append(&bytes, data.data, data.used);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, bytes.data, bytes.used);
    weir_buf_fini(&bytes);
    weir_buf_fini(&data);

    expect_text(verify(0), "ok   areas       no AUXTRACE records\n");
    weir_buf_reset(&text);
    cr_assert_eq(weir_info_append(file.path, NULL, false, &text, &err), 0, "%s", err.what);
    expect_text(weir_buf_str(&text), "AUX             intel_pt: 0 bytes of 0 areas in 0 AUXTRACE records\n"
                                     "                0 AUX records of 0 bytes, 0 truncated, 0 partial, 0 collided\n"
                                     "                48 bytes in 2 samples\n");
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_AUXTRACE & 1, 0);
}

/* ---- recover ---- */

/* Carries the plan out, and expects a file that keeps all rules and needs no other plan. */
static void expect_recovered(void)
{
    image_file_write(&file, recovery.data_end, recovery.tail.data, recovery.tail.used);
    image_file_resize(&file, recovery.data_end + recovery.tail.used);
    image_file_write(&file, 0, &recovery.header, sizeof(recovery.header));
    verify(0);
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "it would be recovered again");
}

Test(aux_readers, finished_file_is_left_alone)
{
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.records, recording.records);
}

Test(aux_readers, killed_file_gets_its_index)
{
    static const uint8_t zeros[65536]; /* what was preallocated */
    make(&(struct aux_recording_options){.features = false});
    const uint64_t second = recording.index[1].file_offset; /* of a checkpoint before it */
    put_u64(DATA_SIZE_AT, second - recording.data_offset);
    image_file_write(&file, recording.data_end, zeros, sizeof(zeros));
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect_eq(recovery.records, recording.records);
    cr_expect_eq(recovery.data_end, recording.data_end);
    cr_expect_eq(recovery.dropped_bytes, sizeof(zeros));
    expect_recovered();
    index_payload_at();
}

/* data.size tells of all that there is, and nothing follows: killed just after a checkpoint. */
Test(aux_readers, file_that_lacks_its_index_only_gets_it)
{
    make(&(struct aux_recording_options){.features = false});
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.dropped_bytes, 0);
    expect_recovered();
    index_payload_at();
}

Test(aux_readers, index_that_is_wrong_is_made_anew)
{
    put_u64(index_payload_at() + 8 + 16, 1ull << 63);
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect_not(recovery.is_whole);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_HOSTNAME & 1, 1);
    expect_recovered();
}

/* The features are read, but their index has a record that is not kept. */
Test(aux_readers, damage_inside_ends_the_data_and_the_index)
{
    static const uint8_t zeros[8];
    const uint64_t end = recording.index[1].file_offset + WEIR_AUXTRACE_RECORD_BYTES + recording.payload_bytes[1];
    image_file_write(&file, end, zeros, sizeof(zeros));
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect_eq(recovery.data_end, end);
    cr_expect_eq(recovery.features[0] >> WEIR_FEATURE_HOSTNAME & 1, 1);
    expect_recovered();
}

/* Cut at `bytes`, the file has the records that end there or before; `records` of them. */
static void expect_cut(size_t bytes, uint64_t end, uint64_t records)
{
    image_file_resize(&file, 0);
    image_file_write(&file, 0, recording.bytes.data, bytes);
    cr_assert_eq(plan(), 0, "%zu bytes: %s", bytes, err.what);
    cr_expect_eq(recovery.data_end, end, "%zu bytes: up to %" PRIu64, bytes, recovery.data_end);
    cr_expect_eq(recovery.records, records, "%zu bytes", bytes);
    expect_recovered();
}

Test(aux_readers, stretch_that_is_cut_is_left_out_with_its_entry)
{
    for (int features = 0; features < 2; features++) {
        make(&(struct aux_recording_options){.features = features});
        for (size_t i = 0; i < AUX_RECORDING_STRETCHES; i++) {
            const uint64_t at = recording.index[i].file_offset, behind = at + WEIR_AUXTRACE_RECORD_BYTES;
            const uint64_t end = behind + recording.payload_bytes[i], before = 8 + 3 * i + 1;
            const uint64_t cuts[] = {at + 1, behind - 1, behind, behind + 1, end - 8, end - 1};
            for (size_t cut = 0; cut < WEIR_ARRAY_COUNT(cuts); cut++)
                expect_cut(cuts[cut], at, before);
            expect_cut(end, end, before + 1);
            expect_cut(end + 1, end, before + 1);
        }
    }
}

/* ---- any bytes ---- */

/* Every reader ends, and says what is wrong in one line; what is recovered of it keeps the rules. */
static void expect_read(size_t offset, unsigned bit)
{
    uint8_t flipped = (uint8_t)(recording.bytes.data[offset] ^ 1u << bit);
    unsigned failures = 0;
    image_file_resize(&file, 0);
    image_file_write(&file, 0, recording.bytes.data, recording.bytes.used);
    image_file_write(&file, offset, &flipped, 1);
    image_read(file.path);
    weir_buf_reset(&text);
    cr_expect_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_assert_eq(plan(), 0, "bit %u of byte %zu: %s", bit, offset, err.what);
    if (recovery.is_whole)
        return;
    image_file_write(&file, recovery.data_end, recovery.tail.data, recovery.tail.used);
    image_file_resize(&file, recovery.data_end + recovery.tail.used);
    image_file_write(&file, 0, &recovery.header, sizeof(recovery.header));
    cr_assert_eq(plan(), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "bit %u of byte %zu: it would be recovered again", bit, offset);
}

Test(aux_readers, flipped_bits_do_no_harm)
{
    const size_t index = index_payload_at(), record = recording.index[1].file_offset;
    for (unsigned i = 0; i < WEIR_AUXTRACE_RECORD_BYTES; i++)
        expect_read(record + i, i * 5 % 8);
    for (unsigned i = 0; i < 8 + 3 * 16; i++)
        expect_read(index + i, i * 3 % 8);
}

/* ---- memory ---- */

Test(aux_readers, out_of_memory_is_told_at_every_allocation)
{
    for (int what = 0; what < 2; what++) {
        int result = -ENOMEM;
        unsigned successes = 0;
        make(&(struct aux_recording_options){.features = what == 0});
        for (; result < 0 && successes < 10000; successes++) {
            unsigned failures = 0;
            weir_buf_fini(&text);
            failing_alloc_after(successes);
            result = what == 0 ? weir_verify_append(file.path, NULL, &text, &failures, &err) : plan();
            failing_alloc_never();
            cr_assert(result == 0 || result == -ENOMEM, "%d: allocation %u: %d, %s", what, successes, result, err.what);
        }
        cr_expect_gt(successes, 8);
        cr_expect_lt(successes, 10000);
    }
}
