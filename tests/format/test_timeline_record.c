/* Records of the timeline: what is built is parsed again, and nothing else is; and their text. */
#include "format/timeline_record.h"

#include <criterion/criterion.h>
#include <string.h>

#include "format/index_records.h"
#include "format/records.h"
#include "format/timeline_text.h"

static const struct weir_timeline_interval first = {
    .begin_ns = 5000000000,
    .end_ns = 6000000000,
    .newest_sample_ns = 71,
    .output_bytes = 3000000,
    .lost_write_failed = 4,
    .latency_mean_us = 1500,
    .latency_max_us = 20000,
    .pool_per_mille = 125,
};

static const struct weir_timeline_reader readers[] = {
    {0, 0, 1, 250, 11, 2, 1000000, 900, 30, 10, 1, 5},
    {1, 1, 1, 999, 12, 3, 2000000, 800, 40, 20, 2, 6},
};

static struct weir_record_view view_of(const struct weir_buf *record)
{
    const struct perf_event_header *header = (const void *)record->data;
    return (struct weir_record_view){
        .data = record->data, .type = header->type, .misc = header->misc, .bytes = header->size};
}

static void build(struct weir_buf *out, const struct weir_timeline_interval *interval, size_t count)
{
    weir_buf_reset(out);
    weir_record_timeline(out, interval, readers, count);
    cr_assert_eq(weir_buf_error(out), 0);
}

/* Whether the record is parsed with four bytes at `offset` replaced. */
static bool parses_with(size_t offset, uint32_t value)
{
    struct weir_buf record = WEIR_BUF_INIT;
    struct weir_timeline_view view;
    build(&record, &first, 2);
    memcpy(record.data + offset, &value, sizeof(value));
    struct weir_record_view seen = view_of(&record);
    bool parses = weir_timeline_parse(&seen, &view);
    weir_buf_fini(&record);
    return parses;
}

Test(timeline_record, what_claims_more_than_it_holds_is_refused)
{
    cr_assert(parses_with(24, 2));
    cr_assert_not(parses_with(24, 3), "readers");
    cr_assert_not(parses_with(24, UINT32_MAX), "readers");
    cr_assert_not(parses_with(28, 63), "shorter entries");
    cr_assert_not(parses_with(28, 0), "no bytes for an entry");
    cr_assert_not(parses_with(28, UINT32_MAX), "longer entries than the record");
    cr_assert_not(parses_with(8, WEIR_EVENT_UPDATE_CPUS), "type of the update");
    cr_assert_not(parses_with(0, WEIR_RECORD_FINISHED_ROUND), "type");
}

Test(timeline_record, updates_of_events_and_padding_are_no_timeline)
{
    struct weir_buf record = WEIR_BUF_INIT;
    struct weir_timeline_view view;
    weir_record_event_unit(&record, 0xa1, "Joules");
    struct weir_record_view seen = view_of(&record);
    cr_assert_not(weir_timeline_parse(&seen, &view));
    weir_buf_fini(&record);
    uint64_t space[64];
    for (size_t bytes = WEIR_RECORD_PADDING_LEAST; bytes <= sizeof(space); bytes += 8) {
        weir_record_fill_padding(space, bytes);
        seen = (struct weir_record_view){
            .data = (const uint8_t *)space, .type = WEIR_RECORD_EVENT_TYPE, .bytes = (uint16_t)bytes};
        cr_assert_not(weir_timeline_parse(&seen, &view), "%zu bytes", bytes);
    }
}

Test(timeline_record, entries_of_a_later_version_are_longer)
{
    struct weir_buf record = WEIR_BUF_INIT;
    struct weir_timeline_view view;
    const uint32_t longer = 72;
    build(&record, &first, 2);
    weir_buf_append_zeros(&record, 16);
    memcpy(record.data + 28, &longer, sizeof(longer));
    struct weir_record_view seen = view_of(&record);
    seen.bytes = (uint16_t)record.used;
    cr_assert(weir_timeline_parse(&seen, &view));
    cr_assert_eq(weir_timeline_reader_at(&view, 0).shed, 5);
    cr_assert_eq(view.reader_bytes, longer);
    weir_buf_fini(&record);
}

Test(timeline_record, as_many_readers_as_a_record_holds)
{
    static struct weir_timeline_reader many[WEIR_TIMELINE_READERS_MAX];
    struct weir_buf record = WEIR_BUF_INIT;
    struct weir_timeline_view view;
    many[WEIR_TIMELINE_READERS_MAX - 1] = readers[1];
    weir_record_timeline(&record, &first, many, WEIR_TIMELINE_READERS_MAX);
    struct weir_record_view seen = view_of(&record);
    cr_assert_eq(seen.bytes, record.used);
    cr_assert(weir_timeline_parse(&seen, &view));
    struct weir_timeline_reader last = weir_timeline_reader_at(&view, WEIR_TIMELINE_READERS_MAX - 1);
    cr_assert_arr_eq(&last, &readers[1], sizeof(last));
    cr_assert_arr_eq(&view.interval, &first, sizeof(first));
    weir_buf_fini(&record);
}

/* Two intervals, of which the first has two records. */
static void expect_text(bool json, const char *expected)
{
    struct weir_timeline_text text = {.json = json};
    struct weir_buf record = WEIR_BUF_INIT, out = WEIR_BUF_INIT;
    struct weir_timeline_interval more = first, second = first;
    more.continues = 1;
    second.begin_ns = first.end_ns;
    second.end_ns = 8500000000;
    build(&record, &first, 1);
    struct weir_record_view seen = view_of(&record);
    cr_assert(weir_timeline_text_take(&text, &seen, &out));
    weir_buf_reset(&record);
    weir_record_timeline(&record, &more, &readers[1], 1);
    seen = view_of(&record);
    cr_assert(weir_timeline_text_take(&text, &seen, &out));
    build(&record, &second, 0);
    seen = view_of(&record);
    cr_assert(weir_timeline_text_take(&text, &seen, &out));
    weir_timeline_text_end(&text, &out);
    cr_assert_eq(text.intervals, 2);
    cr_assert_str_eq(weir_buf_str(&out), expected);
    weir_buf_fini(&record);
    weir_buf_fini(&out);
}

Test(timeline_record, table_sums_the_readers_of_all_records_of_an_interval)
{
    expect_text(
        false,
        "    time s length s drained MB    samples       lost  (waiting)       shed     side   fullest ring    waits "
        "written MB   mean ms    max ms   pool\n"
        "     0.000    1.000      3.000       1700         74         30         11        3      99% CPU 1        5 "
        "     3.000     1.500    20.000  12.5%\n"
        "     1.000    2.500      0.000          0          4          0          0        0              -        0 "
        "     3.000     1.500    20.000  12.5%\n");
}

Test(timeline_record, json_has_the_readers_of_all_records_of_an_interval)
{
    expect_text(
        true,
        "[\n {\"begin_ns\":5000000000,\"end_ns\":6000000000,\"newest_sample_ns\":71,\"output_bytes\":3000000,"
        "\"lost_write_failed\":4,\"latency_mean_us\":1500,\"latency_max_us\":20000,\"pool_per_mille\":125,"
        "\"readers\":["
        "{\"reader\":0,\"first_cpu\":0,\"cpus\":1,\"fullest_per_mille\":250,\"wakeups\":11,\"waits\":2,"
        "\"bytes\":1000000,\"samples\":900,\"lost_ring_full\":30,\"lost_waiting\":10,\"lost_side\":1,\"shed\":5},"
        "{\"reader\":1,\"first_cpu\":1,\"cpus\":1,\"fullest_per_mille\":999,\"wakeups\":12,\"waits\":3,"
        "\"bytes\":2000000,\"samples\":800,\"lost_ring_full\":40,\"lost_waiting\":20,\"lost_side\":2,\"shed\":6}]},\n"
        " {\"begin_ns\":6000000000,\"end_ns\":8500000000,\"newest_sample_ns\":71,\"output_bytes\":3000000,"
        "\"lost_write_failed\":4,\"latency_mean_us\":1500,\"latency_max_us\":20000,\"pool_per_mille\":125,"
        "\"readers\":[]}]\n");
}

Test(timeline_record, json_without_intervals_is_an_empty_list)
{
    struct weir_timeline_text text = {.json = true};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_timeline_text_end(&text, &out);
    cr_assert_str_eq(weir_buf_str(&out), "[]\n");
    weir_buf_fini(&out);
}

/* A continued file: times of the second recording may be those of another boot. */
Test(timeline_record, recording_that_continues_a_file_begins_anew)
{
    struct weir_timeline_text text = {0};
    struct weir_buf record = WEIR_BUF_INIT, out = WEIR_BUF_INIT;
    struct weir_timeline_interval earlier = first;
    earlier.begin_ns = 100;
    earlier.end_ns = 50; /* damaged: no length */
    const struct weir_timeline_interval *const intervals[] = {&first, &earlier};
    for (size_t i = 0; i < 2; i++) {
        build(&record, intervals[i], 2);
        struct weir_record_view seen = view_of(&record);
        weir_timeline_text_take(&text, &seen, &out);
    }
    weir_timeline_text_end(&text, &out);
    const char *second = strstr(strstr(weir_buf_str(&out), "time s") + 1, "time s");
    cr_assert_not_null(second);
    cr_assert_not_null(strstr(second, "\n     0.000    0.000 "));
    weir_buf_fini(&record);
    weir_buf_fini(&out);
}
