/* What the conditions of a dump select, of a recording whose records are known one by one (sample_recording.h). */
#include "format/dump.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "format/perf_file.h"
#include "tests/format/image_file.h"
#include "tests/format/sample_recording.h"

#define PID       4242
#define NO_PID    4343 /* of no record's own: only in the fields of the tracepoint */
#define FIRST_NS  1000001000u
#define SWITCH_NS 1000002000u
#define LAST_NS   1000003000u

static struct temp_tree tree;
static struct weir_buf image, text;
static struct image_file file;
static unsigned warnings;
static char warning[256];

static void init(void)
{
    static const struct sample_recording_options options = {.tracepoint = true, .features = true, .lost_samples = 3};
    temp_tree_init(&tree);
    sample_recording_build(&image, &tree, &options);
    image_file_init(&file, image.data, image.used);
}

static void fini(void)
{
    image_file_fini(&file);
    weir_buf_fini(&image);
    weir_buf_fini(&text);
    temp_tree_fini(&tree);
}

TestSuite(dump, .init = init, .fini = fini, .timeout = 60);

static void hear(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    warnings += level == WEIR_NOTICE_WARNING;
    snprintf(warning, sizeof(warning), "%s", line);
}

static int append(void *ctx, const char *part, size_t bytes, struct weir_error *err)
{
    (void)err;
    weir_buf_append(ctx, part, bytes);
    return 0;
}

/* Dumps what filter and limit leave as JSON; the number of records, each of which is a line. */
static uint64_t dump(const struct weir_dump_filter *filter, uint64_t limit)
{
    const struct weir_notice_sink notices = {.emit = hear};
    const struct weir_dump_options options = {.path = file.path,
                                              .filter = filter,
                                              .limit = limit,
                                              .json = true,
                                              .notices = &notices,
                                              .write = append,
                                              .ctx = &text};
    struct weir_error err = {0};
    uint64_t records = 0, lines = 0;
    weir_buf_reset(&text);
    warnings = 0;
    cr_assert_eq(weir_dump_run(&options, &records, &err), 0, "%s", err.what);
    for (const char *at = weir_buf_str(&text); (at = strchr(at, '\n')); at++)
        lines++;
    cr_expect_eq(lines, records);
    return records;
}

static bool holds(const char *part)
{
    return strstr(weir_buf_str(&text), part) != NULL;
}

Test(dump, without_a_condition_every_record_is_shown)
{
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    cr_expect_eq(dump(&all, 0), 10);
    cr_expect_eq(dump(&all, 4), 4);
    cr_expect_eq(dump(&all, 11), 10);
}

Test(dump, types_are_those_that_are_named)
{
    struct weir_dump_filter filter = {.last_ns = UINT64_MAX, .by_type = true};
    cr_expect_eq(dump(&filter, 0), 0);
    filter.types[PERF_RECORD_SAMPLE] = true;
    cr_expect_eq(dump(&filter, 0), 3);
    filter.types[PERF_RECORD_COMM] = true;
    cr_expect_eq(dump(&filter, 0), 4);
    cr_expect_eq(dump(&filter, 2), 2, "the limit is of what is shown");
}

/* COMM and MMAP2 were synthesized: their sample_id is of CPU 0 and time 0. */
Test(dump, cpu_of_a_record_is_that_of_its_sample_id)
{
    struct weir_dump_filter filter = {.last_ns = UINT64_MAX};
    cr_assert_eq(weir_cpuset_add(&filter.cpus, 1), 0);
    cr_expect_eq(dump(&filter, 0), 2);
    cr_expect(holds("\"prev_comm\":\"weirtest\"") && holds("1000003000"));
    cr_assert_eq(weir_cpuset_add(&filter.cpus, 0), 0);
    cr_expect_eq(dump(&filter, 0), 6, "three samples, COMM, MMAP2, LOST_SAMPLES; the others do not say");
    weir_cpuset_fini(&filter.cpus);
}

Test(dump, process_of_a_record_is_that_of_its_fields_or_sample_id)
{
    static const int pids[] = {NO_PID, PID};
    struct weir_dump_filter filter = {.last_ns = UINT64_MAX, .pids = pids, .pid_count = 1};
    cr_expect_eq(dump(&filter, 0), 0);
    filter.pid_count = 2;
    cr_expect_eq(dump(&filter, 0), 5);
}

Test(dump, own_process_of_a_record_may_stand_anywhere_in_it)
{
    static const int pids[] = {PID};
    const struct weir_dump_filter filter = {.last_ns = UINT64_MAX, .pids = pids, .pid_count = 1};
    uint32_t words[12] = {WEIR_RECORD_AUXTRACE_ERROR, sizeof(words) << 16};
    const struct weir_record_view record = {
        .data = (const uint8_t *)words, .type = WEIR_RECORD_AUXTRACE_ERROR, .bytes = sizeof(words)};
    struct weir_perf_input input = {0};
    words[2] = PID; /* its kind of error */
    cr_expect_not(weir_dump_filter_wants(&filter, &input, &record));
    words[5] = PID;
    cr_expect(weir_dump_filter_wants(&filter, &input, &record));
}

Test(dump, both_ends_of_a_span_of_time_are_in_it)
{
    struct weir_dump_filter filter = {.first_ns = SWITCH_NS, .last_ns = SWITCH_NS};
    cr_expect_eq(dump(&filter, 0), 1);
    cr_expect(holds("\"prev_comm\":\"weirtest\""));
    filter.last_ns = UINT64_MAX;
    cr_expect_eq(dump(&filter, 0), 3, "LOST_SAMPLES is of the last sample's time");
    filter = (struct weir_dump_filter){.first_ns = LAST_NS + 1, .last_ns = UINT64_MAX};
    cr_expect_eq(dump(&filter, 0), 0);
    filter = (struct weir_dump_filter){.first_ns = 1, .last_ns = FIRST_NS};
    cr_expect_eq(dump(&filter, 0), 1);
}

Test(dump, event_of_a_record_is_that_of_its_id)
{
    static const char *const names[] = {"sched:*", "cpu-clock"};
    struct weir_dump_filter filter = {.last_ns = UINT64_MAX, .events = names, .event_count = 1};
    cr_expect_eq(dump(&filter, 0), 1);
    filter.event_count = 2;
    cr_expect_eq(dump(&filter, 0), 4, "LOST_SAMPLES names cpu-clock");
    cr_expect_eq(warnings, 0);
}

Test(dump, conditions_hold_together)
{
    static const char *const names[] = {"cpu-clock"};
    static const int pids[] = {PID};
    struct weir_dump_filter filter = {
        .last_ns = UINT64_MAX, .events = names, .event_count = 1, .pids = pids, .pid_count = 1, .by_type = true};
    filter.types[PERF_RECORD_SAMPLE] = true;
    cr_expect_eq(dump(&filter, 0), 2);
    cr_assert_eq(weir_cpuset_add(&filter.cpus, 1), 0);
    cr_expect_eq(dump(&filter, 0), 1);
    cr_expect(holds("1000003000"));
    filter.last_ns = SWITCH_NS;
    cr_expect_eq(dump(&filter, 0), 0);
    weir_cpuset_fini(&filter.cpus);
}

Test(dump, event_that_is_not_there_is_told_of)
{
    static const char *const names[] = {"cpu-clok", "sched:*", "cpu-clock"};
    struct weir_dump_filter filter = {.last_ns = UINT64_MAX, .events = names, .event_count = 2};
    cr_expect_eq(dump(&filter, 0), 1);
    cr_expect_eq(warnings, 1);
    cr_expect(strstr(warning, "has no event 'cpu-clok'; weir info shows those that it has") != NULL, "%s", warning);
    cr_expect_eq(dump(&filter, 1), 1);
    cr_expect_eq(warnings, 0, "what is behind the limit was not looked at");
    filter.events = names + 1;
    cr_expect_eq(dump(&filter, 0), 4);
    cr_expect_eq(warnings, 0);
}

static void append_record(struct weir_buf *stream, uint32_t type, const void *body, size_t bytes)
{
    const struct perf_event_header header = {.type = type, .size = (uint16_t)(sizeof(header) + bytes)};
    weir_buf_append(stream, &header, sizeof(header));
    weir_buf_append(stream, body, bytes);
}

/* What describes events may come between any two records of a stream, and takes time to read. */
Test(dump, formats_of_a_stream_are_read_once_however_often_it_describes_itself)
{
    static const uint64_t arch = WEIR_FEATURE_ARCH;
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    const struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = PERF_ATTR_SIZE_VER0};
    const char formats[8] = "damaged";
    const uint64_t head[] = {WEIR_PERF_MAGIC2, 16};
    const uint32_t tracing_data[] = {sizeof(formats)};
    struct weir_buf stream = WEIR_BUF_INIT;
    weir_buf_append(&stream, head, sizeof(head));
    append_record(&stream, WEIR_RECORD_TRACING_DATA, tracing_data, sizeof(tracing_data));
    weir_buf_append(&stream, formats, sizeof(formats));
    for (unsigned i = 0; i < 3; i++) {
        append_record(&stream, WEIR_RECORD_ATTR, &attr, PERF_ATTR_SIZE_VER0);
        append_record(&stream, WEIR_RECORD_FEATURE, &arch, sizeof(arch));
        append_record(&stream, WEIR_RECORD_FINISHED_ROUND, NULL, 0);
    }
    image_file_resize(&file, 0);
    image_file_write(&file, 0, stream.data, stream.used);
    cr_expect_eq(dump(&all, 0), 10);
    cr_expect_eq(warnings, 1, "%u: %s", warnings, warning);
    weir_buf_fini(&stream);
}
