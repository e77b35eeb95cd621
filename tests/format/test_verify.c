/* Each rule broken by itself, and what a recording says of itself. */
#include "format/verify.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/info.h"
#include "format/perf_file.h"
#include "format/records.h"
#include "format/scan.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/image_file.h"
#include "tests/format/sample_recording.h"

#define DATA_OFFSET 4096u
#define DATA_SIZE   (offsetof(struct weir_perf_header, data) + 8)

static struct temp_tree tree;
static struct weir_buf image, text;
static struct image_file file;
static struct weir_error err;

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
    weir_buf_fini(&text);
    temp_tree_fini(&tree);
}

TestSuite(verify, .init = make_image, .fini = free_image);

/* The offset of record `index`, from 0. */
static size_t record_at(unsigned index)
{
    size_t at = DATA_OFFSET;
    for (; index > 0; index--) {
        uint16_t size;
        memcpy(&size, image.data + at + offsetof(struct perf_event_header, size), sizeof(size));
        at += size;
    }
    return at;
}

/* Verifies, and expects that only `rule` fails, and says `what`. */
static void expect_failure(const char *rule, const char *what)
{
    unsigned failures = 0;
    char line[32];
    weir_buf_reset(&text);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    snprintf(line, sizeof(line), "FAIL %-12s", rule);
    cr_expect_eq(failures, 1, "%s", weir_buf_str(&text));
    cr_expect_not_null(strstr(weir_buf_str(&text), line), "%s", weir_buf_str(&text));
    cr_expect_not_null(strstr(weir_buf_str(&text), what), "'%s' in %s", what, weir_buf_str(&text));
}

Test(verify, no_recording_is_an_error)
{
    unsigned failures = 0;
    image_file_resize(&file, 3);
    cr_expect_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), -EBADMSG);
    cr_expect_eq(text.used, 0);
}

/* Each allocation in turn: told as what it is, and all that was taken is given back (AddressSanitizer looks). */
Test(verify, out_of_memory_is_told_at_every_allocation)
{
    for (int what = 0; what < 3; what++) {
        int result = -ENOMEM;
        unsigned successes = 0;
        for (; result < 0 && successes < 10000; successes++) {
            unsigned failures = 0;
            weir_buf_fini(&text);
            memset(&err, 0, sizeof(err));
            failing_alloc_after(successes);
            result = what == 0 ? weir_verify_append(file.path, NULL, &text, &failures, &err)
                               : weir_info_append(file.path, NULL, what == 2, &text, &err);
            failing_alloc_never();
            cr_assert(result == 0 || result == -ENOMEM, "%d: allocation %u: %d, %s", what, successes, result, err.what);
            cr_assert_eq(result, err.code, "%d: allocation %u: %d, %s", what, successes, result, err.what);
        }
        cr_expect_gt(successes, 5);
        cr_expect_lt(successes, 10000);
    }
}

Test(verify, record_that_is_cut_breaks_boundaries)
{
    image_file_write(&file, record_at(3) + offsetof(struct perf_event_header, size), "\0\0", 2);
    char what[64];
    snprintf(what, sizeof(what), "record at %#zx: size 0", record_at(3));
    expect_failure("boundaries", what);
}

Test(verify, file_without_its_size_is_not_finished)
{
    static const struct sample_recording_options options = {.features = false};
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &options);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image.data, image.used);
    image_file_write(&file, DATA_SIZE, &(uint64_t){0}, sizeof(uint64_t));
    expect_failure("finished", "weir recover completes it");
}

Test(verify, feature_outside_of_the_file_breaks_features)
{
    uint64_t size;
    memcpy(&size, image.data + DATA_SIZE, sizeof(size));
    image_file_write(&file, DATA_OFFSET + size, &(uint64_t){1ull << 63}, sizeof(uint64_t));
    expect_failure("features", "offset 0x8000000000000000");
}

/* Where the table says that a feature is: its offset, and its size behind that. The image has all up to CMDLINE. */
static size_t table_entry_at(unsigned bit)
{
    uint64_t size, features;
    memcpy(&size, image.data + DATA_SIZE, sizeof(size));
    memcpy(&features, image.data + offsetof(struct weir_perf_header, features), sizeof(features));
    cr_assert(features >> bit & 1);
    unsigned before = (unsigned)__builtin_popcountll(features & ((1ull << bit) - 1));
    return DATA_OFFSET + size + before * sizeof(struct weir_perf_section);
}

static void move_feature(unsigned bit, int64_t bytes)
{
    uint64_t offset;
    memcpy(&offset, image.data + table_entry_at(bit), sizeof(offset));
    offset += (uint64_t)bytes;
    image_file_write(&file, 0, image.data, image.used);
    image_file_write(&file, table_entry_at(bit), &offset, sizeof(offset));
}

Test(verify, feature_that_ends_too_early_breaks_features)
{
    static const unsigned bits[] = {WEIR_FEATURE_HOSTNAME, WEIR_FEATURE_NRCPUS, WEIR_FEATURE_CMDLINE};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        image_file_write(&file, 0, image.data, image.used);
        image_file_write(&file, table_entry_at(bits[i]) + sizeof(uint64_t), &(uint64_t){7}, sizeof(uint64_t));
        expect_failure("features", "ends before what it says is in it");
    }
}

/* Behind the lists of CPU_TOPOLOGY are ids of as many CPUs as NRCPUS says, behind the head of MEM_TOPOLOGY bitmaps. */
Test(verify, topology_that_lacks_its_end_breaks_features)
{
    static const unsigned bits[] = {WEIR_FEATURE_CPU_TOPOLOGY, WEIR_FEATURE_MEM_TOPOLOGY};
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        uint64_t size;
        image_file_write(&file, 0, image.data, image.used);
        memcpy(&size, image.data + table_entry_at(bits[i]) + sizeof(uint64_t), sizeof(size));
        size -= sizeof(uint32_t);
        image_file_write(&file, table_entry_at(bits[i]) + sizeof(uint64_t), &size, sizeof(size));
        expect_failure("features", "ends before what it says is in it");
    }
}

Test(verify, feature_in_the_place_of_another_breaks_features)
{
    move_feature(WEIR_FEATURE_NRCPUS, 4); /* numbers: whatever is there can be read */
    expect_failure("features", "features 7 and 8 are in the same bytes at 0x");
    move_feature(WEIR_FEATURE_NRCPUS, -4);
    expect_failure("features", "features 6 and 7 are in the same bytes at 0x");
    uint64_t offset;
    memcpy(&offset, image.data + table_entry_at(WEIR_FEATURE_NRCPUS), sizeof(offset));
    move_feature(WEIR_FEATURE_NRCPUS, (int64_t)DATA_OFFSET - (int64_t)offset);
    expect_failure("features", "feature 7 at 0x1000 is inside the data");
}

Test(verify, feature_that_is_only_in_the_head_breaks_features)
{
    static const struct sample_recording_options options = {.features = true, .early = true};
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &options);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image.data, image.used - 1);
    expect_failure("features", "only in the copy in the head");
}

Test(verify, unknown_type_breaks_types)
{
    image_file_write(&file, record_at(4), &(uint32_t){99}, sizeof(uint32_t));
    expect_failure("types", "1 records of unknown types");
}

Test(verify, sample_of_no_event_breaks_ids)
{
    image_file_write(&file, record_at(3) + 8, &(uint64_t){9999}, sizeof(uint64_t));
    expect_failure("ids", "1 samples are of no event");
}

Test(verify, raw_beyond_its_record_breaks_shapes)
{
    image_file_write(&file, record_at(5) + 56, &(uint32_t){1 << 20}, sizeof(uint32_t));
    expect_failure("shapes", "1 records are too short");
}

Test(verify, record_behind_two_rounds_that_is_older_breaks_rounds)
{
    /* Round, newest 1.000003 s before it; round; then a record of 1 ns. */
    struct weir_buf data = WEIR_BUF_INIT;
    const struct weir_record_sample_id trailer = {
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
        .time_ns = 1,
        .id = 11,
    };
    uint64_t size;
    memcpy(&size, image.data + DATA_SIZE, sizeof(size));
    weir_record_finished_round(&data);
    size_t late_at = DATA_OFFSET + size + data.used;
    weir_record_lost_samples(&data, 1, &trailer);
    image_file_write(&file, DATA_OFFSET + size, data.data, data.used);
    image_file_resize(&file, DATA_OFFSET + size + data.used);
    image_file_write(&file, DATA_SIZE, &(uint64_t){size + data.used}, sizeof(uint64_t));
    image_file_write(&file, offsetof(struct weir_perf_header, features), &(uint64_t){0}, sizeof(uint64_t));
    unsigned failures = 0;
    char what[128];
    snprintf(what, sizeof(what), "1 records are older than the rounds before them allow, the first at %#zx", late_at);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0);
    cr_expect_eq(failures, 3, "%s", weir_buf_str(&text)); /* and features: no formats; and order: of id 11 */
    cr_expect_not_null(strstr(weir_buf_str(&text), what), "%s", weir_buf_str(&text));
    weir_buf_fini(&data);
}

Test(verify, findings_are_json_too)
{
    struct weir_buf json = WEIR_BUF_INIT;
    unsigned failures = 1, findings = 0, lines = 0;
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_assert_eq(weir_verify_append_json(file.path, NULL, &json, &failures, &err), 0, "%s", err.what);
    const char *said = weir_buf_str(&json);
    static const char first[] = "{\"findings\":[{\"verdict\":\"ok\",\"rule\":\"boundaries\",\"finding\":\"";
    cr_expect_eq(failures, 0);
    cr_expect_eq(strstr(said, first), said, "%s", said);
    cr_expect_not_null(strstr(said, "\"}],\"failures\":0}\n"), "%s", said);
    for (const char *at = said; (at = strstr(at, "{\"verdict\":")); at++)
        findings++;
    for (const char *at = weir_buf_str(&text); (at = strchr(at, '\n')); at++)
        lines++;
    cr_expect_eq(findings, lines, "%s", said);
    weir_buf_fini(&json);
}

/* Record 3 is of cpu-clock, id 11; the last sample of it is of the same CPU's ring only when it has the same id. */
Test(verify, record_that_is_older_than_the_one_before_of_its_id_breaks_order)
{
    unsigned last = 0;
    for (unsigned i = 4; i < 8; i++) {
        uint32_t type;
        memcpy(&type, image.data + record_at(i), sizeof(type));
        if (type == PERF_RECORD_SAMPLE)
            last = i;
    }
    /* IDENTIFIER, IP, TID, TIME */
    uint64_t id, time_ns;
    memcpy(&id, image.data + record_at(3) + 8, sizeof(id));
    memcpy(&time_ns, image.data + record_at(3) + 32, sizeof(time_ns));
    image_file_write(&file, record_at(last) + 8, &id, sizeof(id));
    time_ns -= WEIR_SCAN_STEP_BACK_NS;
    image_file_write(&file, record_at(last) + 32, &time_ns, sizeof(time_ns));
    unsigned failures = 0;
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 0, "%s", weir_buf_str(&text));
    cr_expect_not_null(strstr(weir_buf_str(&text), "note order       1 records are older than the one before, by "
                                                   "10000000 ns at most"));
    time_ns--;
    image_file_write(&file, record_at(last) + 32, &time_ns, sizeof(time_ns));
    expect_failure("order", "1 records are older than the one before of their event and CPU");
    cr_expect_null(strstr(weir_buf_str(&text), "note order"), "%s", weir_buf_str(&text)); /* it was no interrupt */
}

/* A recording without tracepoints and features, behind which stand a round and two records that are a second older. */
static size_t make_stepped(bool of_day)
{
    const struct sample_recording_options options = {.of_day = of_day};
    struct weir_record_sample_id trailer = {
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
        .id = 11,
    };
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &options);
    size_t step_at = 0;
    weir_record_finished_round(&image);
    for (trailer.time_ns = 1; trailer.time_ns <= 2; trailer.time_ns++) {
        step_at = trailer.time_ns == 1 ? image.used : step_at;
        weir_record_lost_samples(&image, 1, &trailer);
    }
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image.data, image.used);
    image_file_write(&file, DATA_SIZE, &(uint64_t){image.used - DATA_OFFSET}, sizeof(uint64_t));
    return step_at;
}

/* A file of one event, of the id 7, and samples of two words each: the file's own, not of sample_recording.h. */
static void write_samples(uint64_t sample_type, const uint64_t (*words)[2], size_t count)
{
    const uint64_t id = 7;
    struct weir_perf_header header = {.magic = WEIR_PERF_MAGIC2, .size = sizeof(header)};
    const struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .sample_type = sample_type, .inherit = 1};
    const struct perf_event_header sample = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample) + sizeof(words[0])};
    const struct weir_perf_section ids = {sizeof(header), sizeof(id)};
    header.attr_size = sizeof(attr) + sizeof(ids);
    header.attrs = (struct weir_perf_section){sizeof(header) + sizeof(id), header.attr_size};
    header.data = (struct weir_perf_section){header.attrs.offset + header.attrs.size, count * sample.size};
    weir_buf_reset(&image);
    weir_buf_append(&image, &header, sizeof(header));
    weir_buf_append(&image, &id, sizeof(id));
    weir_buf_append(&image, &attr, sizeof(attr));
    weir_buf_append(&image, &ids, sizeof(ids));
    for (size_t i = 0; i < count; i++) {
        weir_buf_append(&image, &sample, sizeof(sample));
        weir_buf_append(&image, words[i], sizeof(words[i]));
    }
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image.data, image.used);
}

/* perf's recordings of events that have all the same sample_type: the id stands where the event says. */
Test(verify, order_is_that_of_ids_wherever_they_stand)
{
    static const uint64_t words[][2] = {{2000000000, 7}, {1000000000, 7}};
    write_samples(PERF_SAMPLE_TIME | PERF_SAMPLE_ID, words, 2);
    expect_failure("order", "1 records are older");
}

/* Of one event of tasks, whose records have no ids: each CPU has a ring. */
Test(verify, order_is_that_of_cpus_where_there_are_no_ids)
{
    static const uint64_t words[][2] = {{2000000000, 0}, {1000000000, 1}, {2000000001, 0}, {1000000001, 1}};
    static const uint64_t swapped[][2] = {{2000000000, 0}, {1000000000, 1}, {1000000001, 0}};
    unsigned failures = 0;
    write_samples(PERF_SAMPLE_TIME | PERF_SAMPLE_CPU, words, 4);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 0, "%s", weir_buf_str(&text));
    write_samples(PERF_SAMPLE_TIME | PERF_SAMPLE_CPU, swapped, 3);
    expect_failure("order", "1 records are older");
}

/* The ring of side records has an event of its own, which such a file does not tell of. */
Test(verify, lost_side_records_of_one_event_are_no_lost_samples)
{
    const struct sample_recording_options options = {.features = true, .lost = 7};
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &options);
    image_file_resize(&file, 0);
    image_file_write(&file, 0, image.data, image.used);
    expect_failure("balance", "0 lost by LOST_SAMPLES, 7 by LOST");

    size_t lost_at = 0;
    for (unsigned i = 0; lost_at == 0; i++) {
        uint32_t type;
        memcpy(&type, image.data + record_at(i), sizeof(type));
        lost_at = type == PERF_RECORD_LOST ? record_at(i) : 0;
    }
    image_file_write(&file, lost_at + sizeof(struct perf_event_header), &(uint64_t){999}, sizeof(uint64_t));
    unsigned failures = 0;
    weir_buf_reset(&text);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 0, "%s", weir_buf_str(&text));
    cr_expect_not_null(strstr(weir_buf_str(&text), "0 lost by LOST_SAMPLES, 0 by LOST"), "%s", weir_buf_str(&text));
}

Test(verify, ids_of_an_event_that_is_alone_take_no_memory_when_the_header_has_none_of_them)
{
    static const uint64_t words[][2] = {{9, 3000}, {7, 1000}, {8, 2000}, {6, 1}};
    struct weir_perf_input input;
    struct weir_scan scan;
    write_samples(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME, words, 4);
    cr_assert_eq(weir_perf_input_open(&input, file.path, &err), 0, "%s", err.what);
    cr_assert_eq(weir_scan_run(&scan, &input, false, &err), 0, "%s", err.what);
    cr_expect_eq(scan.samples, 4);
    cr_expect_eq(scan.order.count, 1);
    weir_scan_fini(&scan);
    weir_perf_input_close(&input);
}

/* A clock of day that was set back is no damage, and is said; a clock that never goes back tells of damage. */
Test(verify, clock_of_day_that_was_set_back_is_noted)
{
    unsigned failures = 0;
    char what[160];
    size_t step_at = make_stepped(true);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 0, "%s", weir_buf_str(&text));
    snprintf(what, sizeof(what),
             "note clock       the clock of samples was set back, by 1.000000999 s at most, the first time before the "
             "record at %#zx: ",
             step_at);
    cr_expect_not_null(strstr(weir_buf_str(&text), what), "%s", weir_buf_str(&text));
    cr_expect_not_null(strstr(weir_buf_str(&text), "2 records are older than they allow: the clock of samples was"));
    cr_expect_null(strstr(weir_buf_str(&text), "note order"), "%s", weir_buf_str(&text));

    make_stepped(false);
    failures = 0;
    weir_buf_reset(&text);
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 2, "%s", weir_buf_str(&text)); /* order and rounds */
    cr_expect_not_null(strstr(weir_buf_str(&text), "2 records are older than the one before of their event and CPU"));
    cr_expect_null(strstr(weir_buf_str(&text), "note clock"));
}

Test(verify, description_that_is_not_the_heads_breaks_events)
{
    struct weir_perf_header header;
    memcpy(&header, image.data, sizeof(header));
    image_file_write(&file, header.attrs.offset + offsetof(struct perf_event_attr, sample_period), &(uint64_t){987654},
                     sizeof(uint64_t));
    expect_failure("events", "EVENT_DESC has another attr or other ids of event 0 than the head");
}

Test(verify, description_of_more_or_fewer_events_breaks_events)
{
    uint64_t offset;
    memcpy(&offset, image.data + table_entry_at(WEIR_FEATURE_EVENT_DESC), sizeof(offset));
    image_file_write(&file, offset, &(uint32_t){3}, sizeof(uint32_t));
    expect_failure("events", "3 in EVENT_DESC, 2 in the head");
    image_file_write(&file, offset, &(uint32_t){1}, sizeof(uint32_t));
    expect_failure("events", "1 in EVENT_DESC, 2 in the head");
}

Test(verify, description_that_ends_before_its_events_breaks_events)
{
    for (uint64_t bytes = 4; bytes < 8; bytes++) {
        image_file_write(&file, table_entry_at(WEIR_FEATURE_EVENT_DESC) + sizeof(uint64_t), &bytes, sizeof(bytes));
        expect_failure("events", "EVENT_DESC ends before the first event");
    }
}

Test(verify, whole_recording_keeps_all_rules)
{
    unsigned failures = 0;
    cr_assert_eq(weir_verify_append(file.path, NULL, &text, &failures, &err), 0, "%s", err.what);
    cr_expect_eq(failures, 0, "%s", weir_buf_str(&text));
    cr_expect_null(strstr(weir_buf_str(&text), "FAIL"));
    cr_expect_not_null(strstr(weir_buf_str(&text), "ok   balance     3 lost by LOST_SAMPLES, 0 by LOST\n"));
}

static void expect_info(bool json, const char *const *lines)
{
    weir_buf_reset(&text);
    cr_assert_eq(weir_info_append(file.path, NULL, json, &text, &err), 0, "%s", err.what);
    for (; *lines; lines++)
        cr_expect_not_null(strstr(weir_buf_str(&text), *lines), "'%s' is not in\n%s", *lines, weir_buf_str(&text));
}

Test(verify, info_says_what_is_in_the_recording)
{
    static const char *const lines[] = {
        "HOSTNAME        ",
        "TRACING_DATA    formats of tracepoints\n",
        "event           cpu-clock: type 1 config 0, period 250000, 2 ids, sample_type "
        "IP|TID|TIME|CPU|PERIOD|IDENTIFIER"
        ", read_format ID|LOST\n                2 samples, 3 lost, shed 0, throttled 0 times\n",
        "event           sched:sched_switch: type 2 config 0x13c",
        "records         10 in ",
        "                         3 SAMPLE\n",
        "CPU 1           2 samples, 0 lost, 2 records, 1.000002 s to 1.000003 s: 0.000 s\n",
        "samples         3, 1.000001 s to 1.000003 s\n",
        "lost            3 samples\n",
        "shed            0, while the output was behind\n",
        NULL,
    };
    static const char *const json[] = {
        "\"form\":\"file\"",
        "\"unfinished\":false",
        "\"types\":{\"COMM\":1,\"SAMPLE\":3,\"MMAP2\":1,\"LOST_SAMPLES\":1,\"EVENT_TYPE\":1,\"FINISHED_ROUND\":2,"
        "\"FINISHED_INIT\":1}",
        "{\"name\":\"cpu-clock\",\"type\":1,\"config\":0,",
        "\"samples\":3,\"merged\":0,\"first_sample_ns\":1000001000,\"last_sample_ns\":1000003000,\"lost_samples\":3,"
        "\"lost\":0",
        "\"error\":null}\n",
        NULL,
    };
    expect_info(false, lines);
    expect_info(true, json);
}
