/* The start of the file: offsets by hand, then read back by the tests' own reader. */
#include "format/head.h"

#include "format/early_features.h"
#include "tests/format/perf_file_reader.h"

#include <criterion/criterion.h>
#include <string.h>

static uint64_t u64_at(const struct weir_buf *out, size_t offset)
{
    uint64_t value;
    cr_assert_leq(offset + sizeof(value), out->used);
    memcpy(&value, out->data + offset, sizeof(value));
    return value;
}

static const uint64_t first_ids[] = {0xa1, 0xa2};
static const uint64_t second_ids[] = {0xb1, 0xb2, 0xb3};

/* A plain event with two ids, and one whose attr needs 112 bytes with three. */
static void make_events(struct weir_event_desc events[2])
{
    events[0] = (struct weir_event_desc){.name = "cpu-clock", .ids = first_ids, .id_count = 2};
    events[0].attr.type = PERF_TYPE_SOFTWARE;
    events[1] = (struct weir_event_desc){.name = "cycles", .ids = second_ids, .id_count = 3};
    events[1].attr.sample_max_stack = 64;
}

Test(head, no_event_at_all_still_makes_a_head)
{
    const struct weir_head_input input = {.data_bytes = 0};
    struct weir_buf out = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&out, &input), 0);
    cr_expect_eq(out.used, 4096);
    cr_expect_eq(u64_at(&out, 16), 64 + 16); /* attr_size 0 would be fatal to perf */
    cr_expect_eq(u64_at(&out, 32), 0);
    cr_expect_eq(u64_at(&out, 40), 4096);
    weir_buf_fini(&out);
}

Test(head, every_offset_is_where_it_was_computed_by_hand)
{
    struct weir_event_desc events[2];
    make_events(events);
    const struct weir_head_input input = {
        .events = events,
        .event_count = 2,
        .id_room = 4,
        .data_bytes = 0x1234567,
        .features = {0x11, 0x22, 0x33, 0x44},
    };
    struct weir_buf out = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&out, &input), 0);

    cr_expect_eq(out.used, 4096);
    cr_expect_arr_eq(out.data, "PERFILE2", 8);
    cr_expect_eq(u64_at(&out, 8), 104);        /* size */
    cr_expect_eq(u64_at(&out, 16), 112 + 16);  /* attr_size */
    cr_expect_eq(u64_at(&out, 24), 104 + 64);  /* attrs.offset: behind 2 x 4 ids */
    cr_expect_eq(u64_at(&out, 32), 2 * 128);   /* attrs.size */
    cr_expect_eq(u64_at(&out, 40), 4096);      /* data.offset */
    cr_expect_eq(u64_at(&out, 48), 0x1234567); /* data.size */
    cr_expect_eq(u64_at(&out, 56), 0);         /* event_types */
    cr_expect_eq(u64_at(&out, 64), 0);
    for (size_t word = 0; word < 4; word++)
        cr_expect_eq(u64_at(&out, 72 + 8 * word), 0x11 * (word + 1));

    static const uint64_t ids[] = {0xa1, 0xa2, 0, 0, 0xb1, 0xb2, 0xb3, 0};
    for (size_t i = 0; i < 8; i++)
        cr_expect_eq(u64_at(&out, 104 + 8 * i), ids[i], "id word %zu", i);

    cr_expect_eq(u64_at(&out, 168), 1 | 112ull << 32); /* first attr: type 1, size 112 */
    cr_expect_eq(u64_at(&out, 168 + 112), 104);        /* its ids */
    cr_expect_eq(u64_at(&out, 168 + 120), 16);
    cr_expect_eq(u64_at(&out, 296), 112ull << 32); /* second attr */
    cr_expect_eq(u64_at(&out, 296 + 112), 104 + 32);
    cr_expect_eq(u64_at(&out, 296 + 120), 24);
    for (size_t at = 168 + 256; at < 4096; at += 8)
        cr_expect_eq(u64_at(&out, at), 0, "offset %zu", at);
    weir_buf_fini(&out);
}

Test(head, first_and_final_head_have_the_same_length_and_layout)
{
    struct weir_event_desc events[2];
    make_events(events);
    events[0].id_count = 0;
    events[1].id_count = 1;
    struct weir_head_input input = {.events = events, .event_count = 2, .id_room = 300};
    struct weir_buf first = WEIR_BUF_INIT, last = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&first, &input), 0);
    events[0].id_count = 2;
    events[1].id_count = 3;
    input.data_bytes = 1 << 20;
    input.features[0] = 1 << 3;
    cr_assert_eq(weir_head_build(&last, &input), 0);

    cr_expect_eq(first.used, 8192); /* 104 + 2 x 300 x 8 + 2 x 128 = 5160 */
    cr_expect_eq(last.used, 8192);
    cr_expect_arr_eq(first.data, last.data, 48); /* up to data.size */
    cr_expect_eq(u64_at(&first, 40), 8192);
    weir_buf_fini(&first);
    weir_buf_fini(&last);
}

Test(head, head_behind_other_bytes_counts_from_its_own_start)
{
    struct weir_event_desc events[2];
    make_events(events);
    const struct weir_head_input input = {.events = events, .event_count = 2, .id_room = 3};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_buf_append_zeros(&out, 24);
    cr_assert_eq(weir_head_build(&out, &input), 0);
    cr_expect_eq(out.used, 24 + 4096);
    cr_expect_eq(u64_at(&out, 24 + 24), 104 + 48);
    weir_buf_fini(&out);
}

Test(head, reader_gets_attrs_and_ids_back)
{
    struct weir_event_desc events[2];
    make_events(events);
    const struct weir_head_input input = {.events = events, .event_count = 2, .id_room = 5};
    struct weir_buf out = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&out, &input), 0);

    struct perf_file file;
    const char *problem = perf_file_open(&file, out.data, out.used);
    cr_assert_null(problem, "%s", problem);
    cr_assert_eq(file.attr_count, 2);
    struct perf_file_event event;
    cr_assert(perf_file_event(&file, 0, &event));
    cr_expect_eq(event.attr.type, PERF_TYPE_SOFTWARE);
    cr_assert_eq(event.id_count, 2);
    cr_expect_arr_eq(event.ids, first_ids, sizeof(first_ids));
    cr_assert(perf_file_event(&file, 1, &event));
    cr_expect_eq(event.attr.sample_max_stack, 64);
    cr_assert_eq(event.id_count, 3);
    cr_expect_arr_eq(event.ids, second_ids, sizeof(second_ids));
    cr_expect(!perf_file_event(&file, 2, &event));
    weir_buf_fini(&out);
}

/* One for the end of a file: the places are those of the copy. */
static void expect_table_of_the_copy(const uint8_t *written, uint64_t offset)
{
    struct weir_buf table = WEIR_BUF_INIT;
    uint64_t features[4];
    struct weir_perf_section places[2];
    cr_assert_eq(weir_early_features_append_table(&table, written, features), 0);
    cr_expect_eq(features[0], 1ull << WEIR_FEATURE_HOSTNAME | 1ull << WEIR_FEATURE_EVENT_DESC);
    cr_expect_eq(features[1] | features[2] | features[3], 0);
    cr_assert_eq(table.used, sizeof(places));
    memcpy(places, table.data, sizeof(places));
    cr_expect_eq(places[0].offset, offset + sizeof(struct weir_early_header) + table.used);
    cr_expect_str_eq((const char *)written + (places[0].offset - offset) + sizeof(uint32_t), "here");
    cr_expect_eq(places[1].offset, places[0].offset + places[0].size);
    weir_buf_fini(&table);
}

Test(head, early_features_stand_behind_the_attrs_and_move_the_data)
{
    char hostname[] = "here";
    const struct weir_machine machine = {.hostname = hostname};
    struct weir_event_desc event = {.name = "cycles"};
    const struct weir_features_input early = {.machine = &machine, .events = &event, .event_count = 1};
    struct weir_head_input input = {.events = &event, .event_count = 1, .id_room = 1, .early = &early};
    struct weir_buf first = WEIR_BUF_INIT, last = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&first, &input), 0);
    uint64_t fixed = weir_head_fixed_bytes(&input);
    struct weir_early_header header;
    memcpy(&header, first.data + weir_early_features_offset(fixed), sizeof(header));
    cr_expect_eq(header.magic, WEIR_EARLY_MAGIC);
    cr_expect_eq(header.features[0], 1ull << WEIR_FEATURE_HOSTNAME | 1ull << WEIR_FEATURE_EVENT_DESC);
    cr_expect(weir_early_header_is_sane(&header, first.used - weir_early_features_offset(fixed)));
    cr_expect(weir_early_features_are_whole(&header, first.data + weir_early_features_offset(fixed) + sizeof(header)));
    cr_expect_eq(first.used % 4096, 0);

    expect_table_of_the_copy(first.data + weir_early_features_offset(fixed), weir_early_features_offset(fixed));

    /* The final head has no copy, and leaves the first one's where it is. */
    input.early = NULL;
    input.head_bytes = first.used + 4096;
    cr_assert_eq(weir_head_build(&last, &input), 0);
    cr_expect_eq(last.used, first.used + 4096);
    cr_expect_eq(weir_head_fixed_bytes(&input), fixed);
    weir_buf_fini(&first);
    weir_buf_fini(&last);
}
