/* Samples that hold counts become one for each event whose count has grown. */
#include "report/sample_split.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/buf.h"

static struct weir_input_events events;
static struct weir_sample_split split;

static void init(void)
{
    weir_sample_split_init(&split, 1);
}

static void fini(void)
{
    weir_sample_split_fini(&split);
    weir_input_events_fini(&events);
}

TestSuite(sample_split, .init = init, .fini = fini);

static void add_event(uint64_t read_format, uint64_t id)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ, .read_format = read_format};
    uint8_t ids[8];
    memcpy(ids, &id, sizeof(ids));
    const struct weir_input_attr given = {
        .attr = (const uint8_t *)&attr, .attr_bytes = sizeof(attr), .ids = ids, .id_count = 1, .path = "it"};
    cr_assert_eq(weir_input_events_add(&events, &given, NULL), 0);
}

/* Takes a sample of the first event with these words behind its header. */
static void take(const uint64_t *words, size_t count)
{
    struct weir_buf record = WEIR_BUF_INIT;
    weir_buf_append_u32(&record, PERF_RECORD_SAMPLE);
    weir_buf_append_u16(&record, PERF_RECORD_MISC_USER);
    weir_buf_append_u16(&record, (uint16_t)(8 + 8 * count));
    weir_buf_append(&record, words, 8 * count);
    const struct weir_record_view view = {
        .data = record.data, .type = PERF_RECORD_SAMPLE, .bytes = (uint16_t)record.used};
    cr_assert_eq(weir_sample_split_take(&split, &events, &events.list[0], &view), 0);
    weir_buf_fini(&record);
}

static void expect_part(size_t part, uint32_t event, uint64_t weight)
{
    cr_assert_lt(part, split.count);
    cr_expect_eq(split.parts[part].event, event);
    cr_expect_eq(split.parts[part].weight, weight);
}

Test(sample_split, malformed_sample_has_no_parts)
{
    add_event(PERF_FORMAT_GROUP | PERF_FORMAT_ID, 7);
    take((const uint64_t[]){7, 1000}, 2);
    cr_expect_eq(split.count, 0);
    take((const uint64_t[]){7}, 1);
    cr_expect_eq(split.count, 0);
}

Test(sample_split, members_whose_count_has_grown_have_a_part)
{
    add_event(PERF_FORMAT_GROUP | PERF_FORMAT_ID, 7);
    add_event(PERF_FORMAT_GROUP | PERF_FORMAT_ID, 8);
    take((const uint64_t[]){7, 2, 100, 7, 3, 8}, 6);
    cr_expect_eq(split.count, 2);
    expect_part(0, 0, 100);
    expect_part(1, 1, 3);
    take((const uint64_t[]){7, 2, 150, 7, 3, 8}, 6);
    cr_expect_eq(split.count, 1);
    expect_part(0, 0, 50);
}

Test(sample_split, member_that_the_header_does_not_name_is_left_out)
{
    add_event(PERF_FORMAT_GROUP | PERF_FORMAT_ID, 7);
    take((const uint64_t[]){7, 2, 100, 9, 5, 7}, 6);
    cr_expect_eq(split.count, 1);
    expect_part(0, 0, 5);
}

Test(sample_split, single_count_stands_in_front_of_its_times)
{
    add_event(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID, 7);
    take((const uint64_t[]){7, 40, 999, 7}, 4);
    take((const uint64_t[]){7, 42, 1999, 7}, 4);
    cr_expect_eq(split.count, 1);
    expect_part(0, 0, 2);
}
