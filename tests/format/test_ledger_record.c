/* The ledger in a file: records that are cut, missing or hostile, then what a whole one says. */
#include "format/ledger_record.h"

#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <string.h>

#include "format/perf_file.h"

#define ROWS_MANY 2000u /* 160 KB: three records */

static const char *const names[] = {"cycles", "odd \"name\"\n", "dummy:u"};

static struct weir_loss losses[WEIR_LOSS_CAUSES] = {
    [WEIR_LOSS_RING_FULL] = {7, "-m 4M (now 512K) or -r 1"},
    [WEIR_LOSS_WRITE_FAILED] = {2, ""},
};

static struct weir_ledger_row rows[ROWS_MANY];

static struct weir_ledger_content content_of(size_t row_count)
{
    for (unsigned i = 0; i < ROWS_MANY; i++)
        rows[i] = (struct weir_ledger_row){.cpu = i % 2 ? -1 : (int)i,
                                           .task = i % 2 ? (int)i : -1,
                                           .event = i % 3,
                                           .written = i,
                                           .filtered = 3 * i,
                                           .counted = 4 * i};
    return (struct weir_ledger_content){.rows = rows,
                                        .row_count = row_count,
                                        .event_names = names,
                                        .event_count = 3,
                                        .side_event = 2,
                                        .losses = losses};
}

static uint16_t size_at(const struct weir_buf *records, size_t at)
{
    struct perf_event_header header;
    cr_assert_leq(at + sizeof(header), records->used);
    memcpy(&header, records->data + at, sizeof(header));
    cr_assert_eq(header.type, WEIR_RECORD_EVENT_TYPE);
    cr_assert_eq(header.misc, 0);
    cr_assert_eq(header.size % 8, 0);
    return header.size;
}

/* Feeds the records but number `without`, and returns their JSON; released by the caller. */
static struct weir_buf read_all(const struct weir_buf *records, unsigned without)
{
    struct weir_ledger_reader reader = {0};
    unsigned number = 0;
    for (size_t at = 0; at < records->used; number++) {
        uint16_t size = size_at(records, at);
        if (number != without)
            cr_assert_eq(weir_ledger_reader_take(&reader, records->data + at, size), 0);
        at += size;
    }
    struct weir_buf json = WEIR_BUF_INIT;
    weir_ledger_reader_append_json(&reader, &json);
    weir_ledger_reader_fini(&reader);
    return json;
}

Test(ledger_record, missing_piece_costs_its_ledger_only)
{
    const struct weir_ledger_content content = content_of(ROWS_MANY);
    struct weir_buf records = WEIR_BUF_INIT;
    weir_ledger_append_records(&content, &records);
    cr_assert_gt(records.used, WEIR_RECORD_MAX_BYTES * 2);
    for (unsigned without = 0; without < 3; without++) {
        struct weir_buf json = read_all(&records, without);
        cr_expect_str_eq(weir_buf_str(&json), "[]", "without %u", without);
        weir_buf_fini(&json);
    }
    size_t before = records.used;
    const struct weir_ledger_content small = content_of(1);
    weir_ledger_append_records(&small, &records);
    cr_assert_gt(records.used, before);
    struct weir_buf json = read_all(&records, 1);
    cr_expect_eq(strncmp(weir_buf_str(&json), "[\n {\"written\":0,", 15), 0);
    weir_buf_fini(&json);
    weir_buf_fini(&records);
}

Test(ledger_record, no_byte_is_trusted)
{
    const struct weir_ledger_content content = content_of(5);
    struct weir_buf records = WEIR_BUF_INIT;
    weir_ledger_append_records(&content, &records);
    for (size_t at = 8; at < records.used; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            records.data[at] ^= (uint8_t)(1u << bit);
            struct weir_buf json = read_all(&records, UINT32_MAX);
            cr_assert_eq(weir_buf_error(&json), 0, "byte %zu bit %u", at, bit);
            weir_buf_fini(&json);
            records.data[at] ^= (uint8_t)(1u << bit);
        }
    }
    for (size_t bytes = 8; bytes < records.used; bytes++) {
        struct weir_ledger_reader reader = {0};
        cr_assert_eq(weir_ledger_reader_take(&reader, records.data, bytes), 0);
        cr_assert_eq(reader.whole.used, 0, "%zu bytes", bytes);
        weir_ledger_reader_fini(&reader);
    }
    weir_buf_fini(&records);
}

/* Makes a ledger of two rows one of an older version, whose rows are shorter, and expects its second row to be read. */
static void expect_older(uint8_t version, size_t row_bytes, const char *wanted)
{
    const struct weir_ledger_content content = content_of(2);
    struct weir_buf records = WEIR_BUF_INIT;
    rows[1].lost_in_sums = 9;
    weir_ledger_append_records(&content, &records);
    uint8_t *ledger = records.data + 24;
    size_t rows_at = 24 + 8 * WEIR_LOSS_CAUSES;
    memmove(ledger + rows_at + row_bytes, ledger + rows_at + 104, row_bytes);
    memmove(ledger + rows_at + 2 * row_bytes, ledger + rows_at + 208, records.used - 24 - rows_at - 208);
    ledger[0] = version;
    struct weir_buf json = read_all(&records, UINT32_MAX);
    cr_expect_eq(strncmp(weir_buf_str(&json), "[\n {\"written\":1,", 15), 0, "%s", weir_buf_str(&json));
    cr_expect_not_null(strstr(weir_buf_str(&json), wanted), "%s", weir_buf_str(&json));
    weir_buf_fini(&json);
    weir_buf_fini(&records);
}

/* Rows of version 1 end before `filtered` and `merged`, those of version 2 before `lost_in_sums`. */
Test(ledger_record, ledger_of_an_older_weir_is_read)
{
    expect_older(1, 80, "\"lost_in_sums\":0,\"left_out\":0,\"cut_off\":0,\"filtered\":0,\"merged\":0,\"counted\":4}");
    expect_older(2, 96, "\"lost_in_sums\":0,\"left_out\":0,\"cut_off\":0,\"filtered\":3,\"merged\":0,\"counted\":4}");
    expect_older(3, 104, "\"lost_in_sums\":9,\"left_out\":0,\"cut_off\":0,\"filtered\":3,\"merged\":0,\"counted\":4}");
}

Test(ledger_record, padding_is_no_ledger)
{
    static const uint8_t padding[64] = {WEIR_RECORD_EVENT_TYPE, [6] = 64};
    struct weir_ledger_reader reader = {0};
    for (size_t bytes = 8; bytes <= sizeof(padding); bytes += 8)
        cr_expect_eq(weir_ledger_reader_take(&reader, padding, bytes), 0);
    struct weir_buf json = WEIR_BUF_INIT;
    weir_ledger_reader_append_json(&reader, &json);
    cr_expect_str_eq(weir_buf_str(&json), "[]");
    weir_buf_fini(&json);
    weir_ledger_reader_fini(&reader);
}

Test(ledger_record, ledger_comes_back_as_it_went)
{
    static const size_t counts[] = {0, 1, 5, 817, 818, ROWS_MANY};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const struct weir_ledger_content content = content_of(counts[i]);
        struct weir_buf records = WEIR_BUF_INIT, direct = WEIR_BUF_INIT;
        weir_ledger_append_records(&content, &records);
        weir_buf_printf(&direct, "[\n ");
        weir_ledger_append_json(&content, &direct);
        weir_buf_printf(&direct, "]");
        struct weir_buf json = read_all(&records, UINT32_MAX);
        cr_expect_str_eq(weir_buf_str(&json), weir_buf_str(&direct), "%zu rows", counts[i]);
        weir_buf_fini(&json);
        weir_buf_fini(&direct);
        weir_buf_fini(&records);
    }
}

Test(ledger_record, json_has_every_cell_and_each_cause_that_lost)
{
    static const struct weir_ledger_row two[] = {
        {.cpu = 3,
         .task = -1,
         .written = 10,
         .evicted = 1,
         .shed = 2,
         .lost_ring_full = 5,
         .lost_write_failed = 2,
         .lost_in_sums = 1,
         .left_out = 4,
         .cut_off = 6,
         .filtered = 12,
         .merged = 3,
         .counted = 30},
        {.cpu = -1, .task = 77, .event = 2, .written = 8, .lost_ring_full = 3},
    };
    struct weir_ledger_content content = content_of(0);
    content.rows = two;
    content.row_count = 2;
    struct weir_buf json = WEIR_BUF_INIT;
    weir_ledger_append_json(&content, &json);
    cr_expect_str_eq(
        weir_buf_str(&json),
        "{\"written\":10,\"merged\":3,\"evicted\":1,\"lost\":10,\"left_out\":4,\"cut_off\":6,\"filtered\":12,\"side_"
        "lost\":3,\n "
        "\"causes\":[\n"
        "  {\"cause\":\"ring_full\",\"lost\":7,\"hint\":\"-m 4M (now 512K) or -r 1\"},\n"
        "  {\"cause\":\"write_failed\",\"lost\":2,\"hint\":null}],\n \"unwound\":null,\n \"joined\":null,\n "
        "\"cells\":[\n"
        "  {\"cpu\":3,\"task\":null,\"event\":\"cycles\",\"side\":false,\"written\":10,\"evicted\":1,\"shed\":2,"
        "\"lost_in_ring\":5,\"lost_writing\":2,\"lost_in_sums\":1,\"left_out\":4,\"cut_off\":6,\"filtered\":12,"
        "\"merged\":3,\"counted\":"
        "30},\n"
        "  {\"cpu\":null,\"task\":77,\"event\":\"dummy:u\",\"side\":true,\"written\":8,\"evicted\":0,\"shed\":0,"
        "\"lost_in_ring\":3,\"lost_writing\":0,\"lost_in_sums\":0,\"left_out\":0,\"cut_off\":0,\"filtered\":0,"
        "\"merged\":0,\"counted\":0}]"
        "}");
    weir_buf_fini(&json);
}

static const struct weir_unwound_sum unwound = {
    .samples = 30,
    .unwound = 20,
    .frames = 200,
    .clipped = 1,
    .hurried = 2,
    .waits = 3,
    .late = 4,
    .malformed = 5,
    .ends = {14, 1, 0, 2, 0, 3, 0, 6},
};

Test(ledger_record, unwound_stacks_are_kept)
{
    struct weir_ledger_content content = content_of(0);
    struct weir_buf records = WEIR_BUF_INIT;
    content.unwound = &unwound;
    weir_ledger_append_records(&content, &records);
    struct weir_buf json = read_all(&records, UINT32_MAX);
    cr_expect_not_null(
        strstr(
            weir_buf_str(&json),
            "\"unwound\":{\"samples\":30,\"unwound\":20,\"frames\":200,\"clipped\":1,\"hurried\":2,\"waits\":3,"
            "\"late\":4,"
            "\"malformed\":5,\"ends\":{\"outermost\":14,\"stack_cut\":1,\"no_mapping\":0,\"no_table\":2,\"no_rule\":0,"
            "\"limit\":3,\"loop\":0,\"no_regs\":6}},"),
        "%s", weir_buf_str(&json));
    weir_buf_fini(&json);
    weir_buf_fini(&records);
}

static const struct weir_joined_sum joined = {10, 4, 3, 2, 1, 9, 2};

#define JOINED_JSON                                                                                     \
    "\"joined\":{\"samples\":10,\"joined\":4,\"apart\":3,\"unreadable\":2,\"no_room\":1,\"records\":9," \
    "\"unused\":2}"

Test(ledger_record, joined_call_chains_are_kept_with_and_without_unwound_stacks)
{
    for (int unwinds = 0; unwinds < 2; unwinds++) {
        struct weir_ledger_content content = content_of(0);
        struct weir_buf records = WEIR_BUF_INIT;
        content.joined = &joined;
        content.unwound = unwinds ? &unwound : NULL;
        weir_ledger_append_records(&content, &records);
        struct weir_buf json = read_all(&records, UINT32_MAX);
        cr_expect_not_null(strstr(weir_buf_str(&json), JOINED_JSON), "%s", weir_buf_str(&json));
        cr_expect_eq(strstr(weir_buf_str(&json), "\"unwound\":null") == NULL, unwinds);
        weir_buf_fini(&json);
        weir_buf_fini(&records);
    }
}

Test(ledger_record, unwound_stacks_in_words)
{
    struct weir_unwound_sum sum = unwound;
    struct weir_buf text = WEIR_BUF_INIT;
    weir_unwound_append_text(&sum, &text);
    cr_expect_str_eq(
        weir_buf_str(&text),
        "20 stacks to 200 frames; 1 end where the copied stack ends, 2 end in a file that is missing, has "
        "changed, or has no unwind tables, 3 have more frames than the limit, 6 are of a program of 32 bits, "
        "or have no registers; 2 have their innermost frames only, because weir was behind; 1 had no room "
        "for all frames; 5 malformed samples stay as they are");
    weir_buf_reset(&text);
    sum = (struct weir_unwound_sum){.samples = 1, .unwound = 1, .frames = 9, .ends = {1}};
    weir_unwound_append_text(&sum, &text);
    cr_expect_str_eq(weir_buf_str(&text), "1 stacks to 9 frames");
    weir_buf_fini(&text);
}
