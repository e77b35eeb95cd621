/* Tracepoints decoded, from a TRACING_DATA section of our own. */
#include "format/trace_decode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define EVENT_ID 5u
#define ADDRESS  0xffffffff81000000ull

/* An event whose only field is the address of a text. */
static const char format[] = "name: told\n"
                             "ID: 5\n"
                             "format:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\n"
                             "\tfield:const char * what;\toffset:8;\tsize:8;\tsigned:0;\n"
                             "\n"
                             "print fmt: \"%s\", REC->what\n";

static void append_u32(struct weir_buf *section, uint32_t v)
{
    weir_buf_append(section, &v, sizeof(v));
}

static void append_sized(struct weir_buf *section, const char *text)
{
    uint64_t bytes = strlen(text);
    weir_buf_append(section, &bytes, sizeof(bytes));
    weir_buf_append(section, text, bytes);
}

/* Of one event, weir:ID 5. */
static struct weir_trace *trace_of(const char *event_format, const char *printk)
{
    struct weir_buf section = WEIR_BUF_INIT;
    weir_buf_append(&section, "\x17\x08\x44tracing0.6\0\0\x08", 16);
    append_u32(&section, 4096);
    weir_buf_append(&section, "header_page", sizeof("header_page"));
    append_sized(&section, "");
    weir_buf_append(&section, "header_event", sizeof("header_event"));
    append_sized(&section, "");
    append_u32(&section, 0); /* of ftrace */
    append_u32(&section, 1);
    weir_buf_append(&section, "weir", sizeof("weir"));
    append_u32(&section, 1);
    append_sized(&section, event_format);
    append_u32(&section, 0); /* kallsyms */
    append_u32(&section, (uint32_t)strlen(printk));
    weir_buf_append(&section, printk, strlen(printk));
    append_sized(&section, ""); /* names of tasks */

    struct weir_trace *trace;
    struct weir_error err = {0};
    cr_assert_eq(weir_trace_new(&trace, section.data, section.used, &err), 0, "%s", err.what);
    weir_buf_fini(&section);
    return trace;
}

/* line: what printk_formats says of the address. */
static void expect_told(const char *line, const char *expected)
{
    char printk[128];
    snprintf(printk, sizeof(printk), "0x%llx : %s\n", ADDRESS, line);
    struct weir_trace *trace = trace_of(format, printk);

    const uint64_t raw[2] = {EVENT_ID, ADDRESS};
    struct weir_buf out = WEIR_BUF_INIT;
    weir_trace_append_text(trace, EVENT_ID, (const uint8_t *)raw, sizeof(raw), &out);
    cr_expect_str_eq(weir_buf_str(&out), expected, "%s: '%s'", line, weir_buf_str(&out));
    weir_buf_fini(&out);
    weir_trace_free(trace);
}

Test(trace_decode, texts_that_the_kernel_keeps_are_found_by_their_address)
{
    expect_told("\"woken\\n\"", "woken");
    expect_told("\"woken\"", "woken");
    expect_told("\"a \"quoted\" word\"", "a \"quoted\" word");
    expect_told("\"\"woken\"\"", "\"woken\"");
}

/* libtraceevent looks at the last two characters of a text, also when there is but one. */
Test(trace_decode, short_texts_are_told_as_they_are)
{
    expect_told("\"abc\"", "abc");
    expect_told("\"ab\"", "ab");
    expect_told("\"a\"", "a");
    expect_told("\"\"a\"", "\"a");
    expect_told("\"\"\"", "\"");
    expect_told("\"\\n\"", "");
    expect_told("\"\"", "");
}

Test(trace_decode, lines_that_say_nothing_leave_the_address)
{
    expect_told("", "ffffffff81000000");
    expect_told("\"", "ffffffff81000000");
    expect_told("woken", "ffffffff81000000");
}

/* ---- what a sample says of itself ---- */

#define COMMON "name: made\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"

/* A field of so many bytes at an offset, without sign. */
#define FIELD(declaration, offset, size) "\tfield:" declaration ";\toffset:" #offset ";\tsize:" #size ";\tsigned:0;\n"

/* Where a dynamic field is: its length, and its offset. */
#define PLACE(offset, length) (uint32_t)((length) << 16 | (offset))

enum form {
    AS_TEXT,
    AS_JSON,
};

/* raw: a sample's bytes, behind which nothing is readable. */
static void expect_shown(enum form form, const char *event_format, const void *raw, size_t bytes, const char *expected)
{
    struct weir_trace *trace = trace_of(event_format, "");
    struct weir_buf out = WEIR_BUF_INIT;
    uint8_t *copy = malloc(bytes);
    cr_assert_not_null(copy);
    memcpy(copy, raw, bytes);
    if (form == AS_TEXT)
        weir_trace_append_text(trace, EVENT_ID, copy, bytes, &out);
    else
        cr_expect(weir_trace_append_json(trace, EVENT_ID, copy, bytes, &out));
    cr_expect_str_eq(weir_buf_str(&out), expected, "'%s'", weir_buf_str(&out));
    free(copy);
    weir_buf_fini(&out);
    weir_trace_free(trace);
}

static const char addresses[] = COMMON FIELD("__u8 saddr[4]", 4, 4) FIELD("unsigned char mac[6]", 8, 6)
    FIELD("char comm[8]", 16, 8) "\nprint fmt: \"%*pbl\", 4, REC->saddr\n";

/* libtraceevent calls them strings, too; a zero ends no address, and no address is letters. */
Test(trace_decode, arrays_of_bytes_are_no_text)
{
    static const uint8_t raw[24] = {EVENT_ID, 0, 0, 0, 127, 0, 0, 1, 'A', 'B', 0, 'D', 'E', 'F', 0, 0, 's', 'h'};
    expect_shown(AS_JSON, addresses, raw, sizeof(raw),
                 "{\"common_type\":5,\"saddr\":\"7f000001\",\"mac\":\"414200444546\",\"comm\":\"sh\"}");
    expect_shown(AS_TEXT, addresses, raw, sizeof(raw), "saddr=7f000001 mac=414200444546 comm=sh");
}

Test(trace_decode, signed_field_of_any_size_has_a_value)
{
    uint8_t raw[4 + UINT8_MAX];
    memset(raw, 0xff, sizeof(raw));
    memcpy(raw, &(uint32_t){EVENT_ID}, sizeof(uint32_t));
    for (unsigned size = 0; size <= UINT8_MAX; size++) {
        char text[512], expected[64 + 2 * UINT8_MAX], hex[2 * UINT8_MAX + 1] = "";
        snprintf(text, sizeof(text),
                 COMMON "\tfield:long v;\toffset:4;\tsize:%u;\tsigned:1;\n\nprint fmt: \"%%*pbl\", 4, REC->v\n", size);
        memset(hex, 'f', 2 * size);
        hex[2 * size] = '\0';
        snprintf(expected, sizeof(expected),
                 size > 8 ? "{\"common_type\":5,\"v\":\"%s\"}" : "{\"common_type\":5,\"v\":%s}",
                 size == 0  ? "0"
                 : size > 8 ? hex
                            : "-1");
        expect_shown(AS_JSON, text, raw, sizeof(raw), expected);
    }
}

Test(trace_decode, fields_that_all_events_have_come_first)
{
    static const char event[] = "name: made\nID: 5\nformat:\n" FIELD("unsigned short common_type", 0, 2)
        FIELD("unsigned char common_flags", 2, 1) FIELD(
            "unsigned char common_preempt_count", 3,
            1) "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" FIELD("int v", 8,
                                                                                  4) "\nprint fmt: \"v %d\", REC->v\n";
    static const uint8_t raw[] = {EVENT_ID, 0, 1, 2, 42, 0, 0, 0, 7, 0, 0, 0};
    expect_shown(AS_JSON, event, raw, sizeof(raw),
                 "{\"common_type\":5,\"common_flags\":1,\"common_preempt_count\":2,\"common_pid\":42,\"v\":7}");
    struct weir_trace *trace = trace_of(event, "");
    struct weir_buf out = WEIR_BUF_INIT;
    weir_trace_append_common(trace, EVENT_ID, raw, sizeof(raw), &out);
    cr_expect_str_eq(weir_buf_str(&out), "common_type=5 common_flags=1 common_preempt_count=2 common_pid=42");
    weir_trace_append_common(trace, EVENT_ID + 1, raw, sizeof(raw), &out);
    cr_expect_str_eq(weir_buf_str(&out), "common_type=5 common_flags=1 common_preempt_count=2 common_pid=42");
    weir_buf_fini(&out);
    weir_trace_free(trace);
}

Test(trace_decode, format_that_is_not_understood_to_its_end_is_told)
{
    static const char texts[] = COMMON FIELD("int number", 4, 4) FIELD("__data_loc char[][2] names", 8, 8)
        FIELD("int last", 16, 4) "\nprint fmt: \"%d\", REC->number\n";
    struct weir_trace *trace = trace_of(texts, "");
    cr_expect_not(weir_trace_knows_all(trace, EVENT_ID));
    cr_expect_not(weir_trace_knows_all(trace, EVENT_ID + 1));
    weir_trace_free(trace);
    trace = trace_of(format, "");
    cr_expect(weir_trace_knows_all(trace, EVENT_ID));
    weir_trace_free(trace);
}

Test(trace_decode, what_is_not_described_has_no_fields)
{
    struct weir_trace *trace = trace_of(format, "");
    struct weir_buf out = WEIR_BUF_INIT;
    cr_expect_not(weir_trace_append_json(trace, EVENT_ID + 1, (const uint8_t *)"", 0, &out));
    cr_expect_eq(out.used, 0);
    weir_buf_fini(&out);
    weir_trace_free(trace);
}

static const char cut_text[] = COMMON FIELD("int length", 4, 4)
    FIELD("__data_loc char[] name", 8, 4) "\nprint fmt: \"100%% %.*s end\", REC->length, __get_str(name)\n";

/* As the names in directories of xfs. A negative length has libtraceevent call printf(3) without it. */
Test(trace_decode, texts_may_have_their_length_beside_them)
{
    struct {
        uint32_t common, length, place;
        char name[8];
    } raw = {EVENT_ID, 3, PLACE(12, 6), "named"};
    expect_shown(AS_TEXT, cut_text, &raw, sizeof(raw), "100% nam end");
    raw.length = UINT32_MAX;
    expect_shown(AS_TEXT, cut_text, &raw, sizeof(raw), "length=4294967295 name=named");
}

static const char masks[] = COMMON FIELD("__data_loc cpumask_t cpus", 4, 4)
    FIELD("__data_loc unsigned long[] bits", 8, 4) "\nprint fmt: \"%s %s\", __get_cpumask(cpus), __get_bitmask(bits)\n";

Test(trace_decode, masks_are_told_as_by_the_kernel)
{
    struct {
        uint32_t common, cpus, bits, none;
        uint8_t bytes[8];
    } raw = {EVENT_ID, PLACE(16, 8), PLACE(16, 8), 0, {0x0d, 0x80, 0, 0, 1}};
    expect_shown(AS_TEXT, masks, &raw, sizeof(raw), "0,2-3,15,32 00000001,0000800d");
    raw.cpus = PLACE(16, 0);
    expect_shown(AS_TEXT, masks, &raw, sizeof(raw), "cpus= bits=0d80000001000000");
}

static const char hex[] = COMMON FIELD("__data_loc u64[] words", 4, 4) FIELD("u8 address[4]", 8, 4)
    FIELD("u8 length", 12,
          1) "\nprint fmt: \"%s %s\", __print_hex(__get_dynamic_array(words), __get_dynamic_array_len(words) / 4), "
             "__print_hex_str(REC->address, REC->length)\n";

static const char array[] = COMMON FIELD("__data_loc u64[] words", 4, 4) FIELD(
    "u32 count", 8, 4) "\nprint fmt: \"words are %s\", __print_array(__get_dynamic_array(words), REC->count, 8)\n";

/* An array that the sample has is hex, however many elements it has. */
Test(trace_decode, arrays_are_shown_as_far_as_they_are_inside)
{
    struct {
        uint32_t common, words;
        uint8_t address[4], length, none[3];
        uint64_t word;
    } raw = {EVENT_ID, PLACE(16, 8), {1, 2, 3, 4}, 3, {0}, 0x1234};
    expect_shown(AS_TEXT, hex, &raw, sizeof(raw), "34 12 010203");
    raw.length = 5;
    expect_shown(AS_TEXT, hex, &raw, sizeof(raw), "words=3412000000000000 address=01020304 length=5");
}

Test(trace_decode, arrays_are_shown_with_no_more_elements_than_they_have)
{
    const struct {
        uint32_t common, words, count, none;
        uint64_t values[2];
    } raw = {EVENT_ID, PLACE(16, 16), 3, 0, {1, 2}};
    expect_shown(AS_TEXT, array, &raw, sizeof(raw), "words=01000000000000000200000000000000 count=3");
}

/* libtraceevent goes by the first four bytes of whatever is said to be a text. */
Test(trace_decode, texts_of_fields_that_are_none_are_not_looked_for)
{
    static const char no_text[] = COMMON FIELD("int number", 4, 4) "\nprint fmt: \"%s\", __get_str(number)\n";
    const uint32_t raw[] = {EVENT_ID, PLACE(0xf000, 1)};
    expect_shown(AS_TEXT, no_text, raw, sizeof(raw), "number=126976");
}

/* Those of maple_tree:ma_op and its like. */
Test(trace_decode, texts_with_a_tab_are_parsed)
{
    static const char tab[] = COMMON FIELD("int number", 4, 4) "\nprint fmt: \"is\t%d\", REC->number\n";
    const uint32_t raw[] = {EVENT_ID, 7};
    expect_shown(AS_TEXT, tab, raw, sizeof(raw), "is 7");
}

Test(trace_decode, widths_are_bounded)
{
    static const char wide[] = COMMON FIELD("int number", 4, 4) "\nprint fmt: \"%1999999999d\", REC->number\n";
    static const char narrow[] = COMMON FIELD("int number", 4, 4) "\nprint fmt: \"%5d\", REC->number\n";
    const uint32_t raw[] = {EVENT_ID, 7};
    expect_shown(AS_TEXT, wide, raw, sizeof(raw), "number=7");
    expect_shown(AS_TEXT, narrow, raw, sizeof(raw), "    7");
}
