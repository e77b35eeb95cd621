/* The start of a stream, read back: field by field where perf is particular, and as a whole by weir's own reader. */
#include "format/pipe_head.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_input.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/image_file.h"
#include "tests/format/sample_machine.h"
#include "tests/format/sample_recording.h"

#define MANY_IDS   20000u
#define ATTR_IDS   8174u /* (65528 - 8 - 128) / 8 */
#define ATTR_BYTES 128u

static const uint64_t some_ids[] = {11, 12, 14};

struct stream {
    struct weir_buf bytes;
    struct weir_machine machine;
    struct weir_event_desc event;
    struct weir_features_input input;
    struct image_file file;
    struct weir_perf_input reading;
    unsigned left_out;
};

static void init(struct stream *stream)
{
    *stream = (struct stream){.bytes = WEIR_BUF_INIT, .machine = sample_machine()};
    stream->event = (struct weir_event_desc){.name = "cpu-clock:u", .ids = some_ids, .id_count = 3};
    stream->event.attr.type = PERF_TYPE_SOFTWARE;
    stream->event.attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
    stream->input =
        (struct weir_features_input){.machine = &stream->machine, .events = &stream->event, .event_count = 1};
}

static void build(struct stream *stream)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_pipe_head_build(&stream->bytes, &stream->input, &stream->left_out), 0);
    image_file_init(&stream->file, stream->bytes.data, stream->bytes.used);
    cr_assert_eq(weir_perf_input_open(&stream->reading, stream->file.path, &err), 0, "%s", err.what);
    cr_assert(stream->reading.is_pipe);
}

static void fini(struct stream *stream)
{
    weir_perf_input_close(&stream->reading);
    image_file_fini(&stream->file);
    weir_buf_fini(&stream->bytes);
}

static void expect_record(struct stream *stream, uint32_t type, size_t bytes, struct weir_record_view *record)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_perf_input_next(&stream->reading, record, &err), 1, "%s", err.what);
    cr_assert_eq(record->type, type);
    if (bytes > 0)
        cr_assert_eq(record->bytes, bytes);
}

Test(pipe_head, each_allocation_failing_in_turn_is_an_error)
{
    struct stream stream;
    init(&stream);
    unsigned failures = 0;
    int result;
    do {
        struct weir_buf out = WEIR_BUF_INIT;
        failing_alloc_after(failures);
        result = weir_pipe_head_build(&out, &stream.input, &stream.left_out);
        failing_alloc_never();
        weir_buf_fini(&out);
        cr_assert(result == 0 || result == -ENOMEM, "allocation %u: %d", failures, result);
        failures++;
    } while (result != 0);
    cr_assert_gt(failures, 2);
}

Test(pipe_head, feature_that_no_record_holds_is_left_out_and_counted)
{
    struct stream stream;
    init(&stream);
    static char word[70000];
    memset(word, 'x', sizeof(word) - 1);
    const char *const command[] = {word};
    stream.input.command = command;
    stream.input.command_count = 1;
    build(&stream);
    cr_assert_eq(stream.left_out, 1);
    struct weir_record_view record;
    struct weir_error err = {0};
    unsigned features = 0;
    while (weir_perf_input_next(&stream.reading, &record, &err) == 1)
        features += record.type == WEIR_RECORD_FEATURE;
    cr_assert_eq(err.code, 0);
    cr_assert_geq(features, 10);
    cr_assert_not(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_CMDLINE));
    cr_assert(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_HOSTNAME));
    fini(&stream);
}

Test(pipe_head, attr_has_the_size_that_perf_takes_ids_behind)
{
    struct stream stream;
    init(&stream);
    build(&stream);
    cr_assert_eq(weir_load_u64(stream.bytes.data), WEIR_PERF_MAGIC2);
    cr_assert_eq(weir_load_u64(stream.bytes.data + 8), 16);
    struct weir_record_view record;
    expect_record(&stream, WEIR_RECORD_ATTR, 8 + ATTR_BYTES + sizeof(some_ids), &record);
    cr_assert_eq(weir_load_u32(record.data + 8 + 4), ATTR_BYTES);
    cr_assert_eq(memcmp(record.data + 8 + ATTR_BYTES, some_ids, sizeof(some_ids)), 0);
    expect_record(&stream, WEIR_RECORD_EVENT_UPDATE, 8 + 16 + 16, &record);
    cr_assert_eq(weir_load_u64(record.data + 8), 2);
    cr_assert_eq(weir_load_u64(record.data + 16), 11);
    cr_assert_str_eq((const char *)record.data + 24, "cpu-clock:u");
    fini(&stream);
}

Test(pipe_head, features_are_closed_by_the_last_one)
{
    struct stream stream;
    init(&stream);
    build(&stream);
    struct weir_record_view record;
    expect_record(&stream, WEIR_RECORD_ATTR, 0, &record);
    expect_record(&stream, WEIR_RECORD_EVENT_UPDATE, 0, &record);
    uint64_t last = 0;
    struct weir_error err = {0};
    while (weir_perf_input_next(&stream.reading, &record, &err) == 1) {
        cr_assert_eq(record.type, WEIR_RECORD_FEATURE);
        cr_assert_lt(last, weir_load_u64(record.data + 8));
        last = weir_load_u64(record.data + 8);
    }
    cr_assert_eq(err.code, 0);
    cr_assert_eq(last, 32);
    cr_assert_not(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_CPU_DOMAIN_INFO));
    cr_assert_not(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_CACHE));
    cr_assert(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_MEM_TOPOLOGY));
    fini(&stream);
}

Test(pipe_head, ids_beyond_a_record_come_in_further_ones_with_the_same_name)
{
    struct stream stream;
    init(&stream);
    uint64_t *ids = calloc(MANY_IDS, sizeof(*ids));
    cr_assert(ids);
    for (unsigned i = 0; i < MANY_IDS; i++)
        ids[i] = 1000 + i;
    stream.event.ids = ids;
    stream.event.id_count = MANY_IDS;
    build(&stream);
    struct weir_record_view record;
    expect_record(&stream, WEIR_RECORD_ATTR, WEIR_RECORD_MAX_BYTES, &record);
    expect_record(&stream, WEIR_RECORD_EVENT_UPDATE, 0, &record);
    expect_record(&stream, WEIR_RECORD_ATTR, WEIR_RECORD_MAX_BYTES, &record);
    expect_record(&stream, WEIR_RECORD_EVENT_UPDATE, 0, &record);
    expect_record(&stream, WEIR_RECORD_ATTR, 8 + ATTR_BYTES + 8 * (MANY_IDS - 2 * ATTR_IDS), &record);
    expect_record(&stream, WEIR_RECORD_EVENT_UPDATE, 0, &record);
    cr_assert_eq(stream.left_out, 1); /* EVENT_DESC with all of them */
    for (unsigned i = 0; i < MANY_IDS; i++) {
        const struct weir_input_event *event = weir_input_event_by_id(&stream.reading.events, 1000 + i);
        cr_assert_not_null(event);
        cr_assert_str_eq(event->name, "cpu-clock:u");
        cr_assert_eq(event->attr.sample_type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME);
    }
    free(ids);
    fini(&stream);
}

Test(pipe_head, whole_recording_reads_like_a_file)
{
    static const struct sample_recording_options options = {.tracepoint = true, .stream = true, .lost_samples = 6};
    struct temp_tree tree;
    struct stream stream = {.bytes = WEIR_BUF_INIT};
    struct weir_error err = {0};
    temp_tree_init(&tree);
    sample_recording_build(&stream.bytes, &tree, &options);
    image_file_init(&stream.file, stream.bytes.data, stream.bytes.used);
    cr_assert_eq(weir_perf_input_open(&stream.reading, stream.file.path, &err), 0, "%s", err.what);
    struct weir_record_view record = {0};
    unsigned samples[2] = {0}, build_ids = 0;
    int result;
    while ((result = weir_perf_input_next(&stream.reading, &record, &err)) == 1) {
        const struct weir_input_event *event = weir_input_event_of(&stream.reading.events, &record);
        build_ids += record.type == WEIR_RECORD_BUILD_ID;
        if (record.type == PERF_RECORD_SAMPLE)
            samples[event - stream.reading.events.list]++;
    }
    cr_assert_eq(result, 0, "%s", err.what);
    cr_assert_eq(stream.reading.events.count, 2);
    cr_assert_eq(samples[0], 2);
    cr_assert_eq(samples[1], 1);
    cr_assert_eq(build_ids, 1);
    cr_assert_str_eq(stream.reading.events.list[1].name, "sched:sched_switch");
    cr_assert(weir_perf_input_has_feature(&stream.reading, WEIR_FEATURE_TRACING_DATA));
    fini(&stream);
    temp_tree_fini(&tree);
}
