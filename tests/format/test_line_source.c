/* Lines through a buffer: whatever the sizes of lines, reads and buffer, lines come whole or cut, never joined. */
#include "format/line_source.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A pipe that holds text and whose other end is closed. */
static int open_text(const char *text, size_t bytes)
{
    int ends[2];
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    cr_assert_eq(write(ends[1], text, bytes), (ssize_t)bytes);
    cr_assert_eq(close(ends[1]), 0);
    return ends[0];
}

static void expect_lines(const char *text, size_t buffer_bytes, const char *const *expected)
{
    char data[64];
    struct weir_line_source lines;
    int fd = open_text(text, strlen(text));
    weir_line_source_init(&lines, fd, data, buffer_bytes);
    for (size_t i = 0; expected[i]; i++) {
        const char *line = weir_line_source_next(&lines);
        cr_assert_not_null(line, "line %zu of %zu-byte buffer", i, buffer_bytes);
        cr_expect_str_eq(line, expected[i], "line %zu of %zu-byte buffer", i, buffer_bytes);
    }
    cr_expect_null(weir_line_source_next(&lines), "%zu-byte buffer", buffer_bytes);
    cr_expect_null(weir_line_source_next(&lines), "%zu-byte buffer, again", buffer_bytes);
    cr_expect_eq(lines.error, 0);
    close(fd);
}

Test(line_source, failed_read_ends_the_lines_with_its_error)
{
    char data[64];
    struct weir_line_source lines;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    weir_line_source_init(&lines, fd, data, sizeof(data));
    cr_expect_null(weir_line_source_next(&lines));
    cr_expect_eq(lines.error, -EISDIR);
    cr_expect_null(weir_line_source_next(&lines));
    cr_expect_eq(lines.reads, 1);
    close(fd);
}

Test(line_source, empty_file_has_no_lines)
{
    expect_lines("", 8, (const char *const[]){NULL});
}

Test(line_source, overlong_line_is_cut_and_its_rest_dropped)
{
    expect_lines("12345678901234567890\nab\n", 8, (const char *const[]){"1234567", "ab", NULL});
    expect_lines("12345678\n", 8, (const char *const[]){"1234567", NULL});
    expect_lines("12345678", 8, (const char *const[]){"1234567", NULL});
    expect_lines("ab\n123456789", 4, (const char *const[]){"ab", "123", NULL});
}

Test(line_source, last_line_without_newline_counts)
{
    expect_lines("ab\ncd", 64, (const char *const[]){"ab", "cd", NULL});
}

Test(line_source, empty_lines_are_lines)
{
    expect_lines("\n\na\n\n", 64, (const char *const[]){"", "", "a", "", NULL});
}

Test(line_source, lines_are_the_same_for_every_buffer_that_holds_them)
{
    for (size_t bytes = 6; bytes <= 64; bytes++)
        expect_lines("a\nbcde\n\nfghi\njk\n", bytes, (const char *const[]){"a", "bcde", "", "fghi", "jk", NULL});
}

Test(line_source, reads_are_counted_so_that_waits_are_seen)
{
    char data[64];
    int ends[2];
    struct weir_line_source lines;
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    weir_line_source_init(&lines, ends[0], data, sizeof(data));
    cr_assert_eq(write(ends[1], "a\nb\n", 4), 4);
    cr_expect_str_eq(weir_line_source_next(&lines), "a");
    cr_expect_str_eq(weir_line_source_next(&lines), "b");
    cr_expect_eq(lines.reads, 1);
    cr_assert_eq(write(ends[1], "c\n", 2), 2);
    cr_expect_str_eq(weir_line_source_next(&lines), "c");
    cr_expect_eq(lines.reads, 2);
    close(ends[0]);
    close(ends[1]);
}
