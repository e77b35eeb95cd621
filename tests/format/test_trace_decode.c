/* Tracepoints decoded, from a TRACING_DATA section of our own. */
#include "format/trace_decode.h"

#include <criterion/criterion.h>
#include <stdio.h>
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

static struct weir_trace *trace_with(const char *printk)
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
    append_sized(&section, format);
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
    struct weir_trace *trace = trace_with(printk);

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
