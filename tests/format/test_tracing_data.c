/* TRACING_DATA: every byte on a fixture tree, failures that leave nothing behind, and perf's own section beside ours.
 */
#include "format/tracing_data.h"

#include "tests/format/temp_tree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

static struct temp_tree tree;

static void make_tree(void)
{
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "events/header_page", "page");
    temp_tree_write_text(&tree, "events/header_event", "event");
    temp_tree_write_text(&tree, "events/sched/sched_switch/format", "switch");
    temp_tree_write_text(&tree, "events/sched/sched_wakeup/format", "wake");
    temp_tree_write_text(&tree, "events/irq/irq_entry/format", "irq");
    temp_tree_write_text(&tree, "events/ftrace/function/format", "fn");
    temp_tree_write_text(&tree, "printk_formats", "printk");
    temp_tree_write_text(&tree, "saved_cmdlines", "1 init\n");
}

static void remove_tree(void)
{
    temp_tree_fini(&tree);
}

TestSuite(tracing_data, .init = make_tree, .fini = remove_tree);

static struct weir_event_desc tracepoint(const char *system, const char *name)
{
    return (struct weir_event_desc){.name = name, .tracepoint_system = system, .tracepoint_name = name};
}

static void expect_failure(const struct weir_event_desc *event, int code, const char *what)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_buf_printf(&out, "before");
    struct weir_error err = {0};
    cr_expect_eq(weir_tracing_data_build(&out, tree.root, event, 1, &err), code);
    cr_expect_eq(err.code, code);
    cr_expect_str_eq(err.what, what);
    cr_expect_eq(out.used, strlen("before"));
    weir_buf_fini(&out);
}

/* Removes a file of the tree and expects the build to name it. */
static void expect_missing(const char *relative)
{
    char path[PATH_MAX], what[WEIR_ERROR_TEXT_BYTES];
    temp_tree_path(&tree, relative, path);
    cr_assert_eq(unlink(path), 0);
    format_text(what, sizeof(what), "cannot read %s: No such file or directory", path);
    struct weir_event_desc event = tracepoint("sched", "sched_switch");
    expect_failure(&event, -ENOENT, what);
}

Test(tracing_data, missing_format_is_named_and_nothing_is_appended)
{
    expect_missing("events/sched/sched_switch/format");
}

Test(tracing_data, missing_header_page_is_named)
{
    expect_missing("events/header_page");
}

Test(tracing_data, missing_header_event_is_named)
{
    expect_missing("events/header_event");
}

/* What lets others read the events alone is not enough. */
Test(tracing_data, unreadable_file_is_told_with_the_command_that_opens_all)
{
    char path[PATH_MAX], what[WEIR_ERROR_TEXT_BYTES], hint[WEIR_ERROR_TEXT_BYTES];
    temp_tree_path(&tree, "printk_formats", path);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert_eq(chmod(tree.root, 0755), 0);
    format_text(what, sizeof(what), "cannot read %s: Permission denied", path);
    format_text(hint, sizeof(hint),
                "run as root, or let others read it: chmod -R o+rX %s/events %s/printk_formats %s/saved_cmdlines",
                tree.root, tree.root, tree.root);
    if (geteuid() == 0)
        cr_assert_eq(seteuid(NOBODY), 0);
    struct weir_event_desc event = tracepoint("sched", "sched_switch");
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_error err = {0};
    cr_expect_eq(weir_tracing_data_build(&out, tree.root, &event, 1, &err), -EACCES);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    weir_buf_fini(&out);
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
}

Test(tracing_data, names_with_a_slash_are_refused)
{
    struct weir_event_desc event = tracepoint("sched", "../irq/irq_entry");
    expect_failure(&event, -EINVAL, "'../irq/irq_entry' cannot be the name of a tracepoint");
    event = tracepoint("a/b", "x");
    expect_failure(&event, -EINVAL, "'a/b' cannot be the system of a tracepoint");
}

Test(tracing_data, folder_in_the_place_of_a_file_is_an_error)
{
    temp_tree_make_folder(&tree, "events/sched/folder");
    temp_tree_make_folder(&tree, "events/sched/folder/format");
    char what[WEIR_ERROR_TEXT_BYTES];
    format_text(what, sizeof(what), "cannot read %s/events/sched/folder/format: Is a directory", tree.root);
    struct weir_event_desc event = tracepoint("sched", "folder");
    expect_failure(&event, -EISDIR, what);
}

static void append_u32(struct weir_buf *expected, uint32_t value)
{
    weir_buf_append_u32(expected, value);
}

static void append_sized64(struct weir_buf *expected, const char *text)
{
    weir_buf_append_u64(expected, strlen(text));
    weir_buf_append(expected, text, strlen(text));
}

static void append_start(struct weir_buf *expected)
{
    weir_buf_append(expected, "\x17\x08\x44tracing0.6\0\0\x08", 16);
    append_u32(expected, (uint32_t)getpagesize());
    weir_buf_append(expected, "header_page\0\x04\0\0\0\0\0\0\0page", 24);
    weir_buf_append(expected, "header_event\0\x05\0\0\0\0\0\0\0event", 26);
}

static void append_end(struct weir_buf *expected)
{
    weir_buf_append(expected, "\0\0\0\0\x06\0\0\0printk", 14);
    append_sized64(expected, "1 init\n");
}

static void expect_section(const struct weir_event_desc *events, size_t count, const struct weir_buf *expected)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_error err = {0};
    cr_assert_eq(weir_tracing_data_build(&out, tree.root, events, count, &err), 0, "%s", err.what);
    cr_assert_eq(out.used, expected->used, "%zu bytes instead of %zu", out.used, expected->used);
    for (size_t i = 0; i < out.used; i++)
        cr_assert_eq(out.data[i], expected->data[i], "byte %zu", i);
    weir_buf_fini(&out);
}

Test(tracing_data, one_tracepoint_byte_for_byte)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    append_start(&expected);
    append_u32(&expected, 0); /* of ftrace */
    append_u32(&expected, 1); /* other systems */
    weir_buf_append(&expected, "sched", 6);
    append_u32(&expected, 1);
    append_sized64(&expected, "switch");
    append_end(&expected);

    struct weir_event_desc event = tracepoint("sched", "sched_switch");
    expect_section(&event, 1, &expected);
    weir_buf_fini(&expected);
}

Test(tracing_data, systems_and_events_come_once_and_in_the_order_given)
{
    struct weir_event_desc events[] = {
        {.name = "cycles"},
        tracepoint("sched", "sched_wakeup"),
        tracepoint("ftrace", "function"),
        tracepoint("irq", "irq_entry"),
        tracepoint("sched", "sched_wakeup"),
        tracepoint("sched", "sched_switch"),
    };
    struct weir_buf expected = WEIR_BUF_INIT;
    append_start(&expected);
    append_u32(&expected, 1);
    append_sized64(&expected, "fn");
    append_u32(&expected, 2);
    weir_buf_append(&expected, "sched", 6);
    append_u32(&expected, 2);
    append_sized64(&expected, "wake");
    append_sized64(&expected, "switch");
    weir_buf_append(&expected, "irq", 4);
    append_u32(&expected, 1);
    append_sized64(&expected, "irq");
    append_end(&expected);
    expect_section(events, 6, &expected);
    weir_buf_fini(&expected);
}

Test(tracing_data, kernel_without_printk_formats_and_cmdlines_gets_sizes_of_zero)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, "printk_formats", path);
    cr_assert_eq(unlink(path), 0);
    temp_tree_path(&tree, "saved_cmdlines", path);
    cr_assert_eq(unlink(path), 0);

    struct weir_buf expected = WEIR_BUF_INIT;
    append_start(&expected);
    append_u32(&expected, 0);
    append_u32(&expected, 0);
    weir_buf_append_zeros(&expected, 4 + 4 + 8);
    expect_section(NULL, 0, &expected);
    weir_buf_fini(&expected);
}
