/* Byte buffers: failures are remembered, contents are exact, whatever the allocator and the files do. */
#include "base/buf.h"

#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* Writes a temporary file of that many bytes (0, 1, ... 250, 0, ...) and stores its path. */
static void make_file(char path[PATH_MAX], size_t bytes)
{
    const char *dir = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%s/weir-buf-XXXXXX", dir ? dir : "/tmp");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    FILE *file = fdopen(fd, "w");
    cr_assert_not_null(file);
    for (size_t i = 0; i < bytes; i++)
        fputc((int)(i % 251), file);
    cr_assert_eq(fclose(file), 0);
}

Test(buf, failed_append_is_remembered_and_keeps_what_was_there)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u32(&buf, 7);
    failing_alloc_after(0);
    weir_buf_append_zeros(&buf, 1000);
    cr_expect_eq(weir_buf_error(&buf), -ENOMEM);

    weir_buf_append_u8(&buf, 1); /* would fit, but must not follow a gap */
    weir_buf_printf(&buf, "text");
    cr_expect_null(weir_buf_extend(&buf, 1));
    cr_expect_null(weir_buf_extend(&buf, 0));
    cr_expect_str_eq(weir_buf_str(&buf), "");
    cr_expect_eq(weir_buf_append_file(&buf, "/dev/null"), -ENOMEM);
    cr_expect_eq(buf.used, 4);
    cr_expect_eq(weir_buf_error(&buf), -ENOMEM);
    weir_buf_fini(&buf);
}

Test(buf, size_that_no_memory_has_is_an_error_not_a_wrap)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u64(&buf, 1);
    cr_expect_null(weir_buf_extend(&buf, SIZE_MAX - 7));
    cr_expect_eq(weir_buf_error(&buf), -ENOMEM);
    cr_expect_eq(buf.used, 8);
    weir_buf_fini(&buf);
}

Test(buf, each_allocation_failing_in_turn_leaves_a_consistent_buffer)
{
    unsigned failures = 0;
    for (unsigned n = 0;; n++) {
        struct weir_buf buf = WEIR_BUF_INIT;
        failing_alloc_after(n);
        weir_buf_printf(&buf, "%0300d", 1);
        weir_buf_append_zeros(&buf, 1000);
        weir_buf_append_zeros(&buf, 5000);
        bool failed = weir_buf_error(&buf) == -ENOMEM;
        cr_expect_leq(buf.used, buf.capacity);
        if (!failed)
            cr_expect_eq(buf.used, 6300);
        weir_buf_fini(&buf);
        if (!failed)
            break;
        failures++;
    }
    cr_expect_eq(failures, 3);
}

Test(buf, text_that_cannot_be_formatted_is_an_error)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    const wchar_t no_character[] = {0x7fffffff, 0};
    weir_buf_printf(&buf, "%ls", no_character);
    cr_expect_eq(weir_buf_error(&buf), -EINVAL);
    cr_expect_eq(buf.used, 0);
    weir_buf_fini(&buf);
}

Test(buf, missing_file_is_told_and_is_not_an_error_of_the_buffer)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    cr_expect_eq(weir_buf_append_file(&buf, "/proc/self/no-such-file"), -ENOENT);
    cr_expect_eq(weir_buf_error(&buf), 0);
    weir_buf_fini(&buf);
}

Test(buf, unreadable_file_leaves_the_contents_alone)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_printf(&buf, "before");
    cr_expect_eq(weir_buf_append_file(&buf, "/proc/self"), -EISDIR);
    cr_expect_str_eq(weir_buf_str(&buf), "before");
    weir_buf_fini(&buf);
}

Test(buf, file_that_outgrows_memory_is_taken_back)
{
    char path[PATH_MAX];
    make_file(path, 200000);
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_printf(&buf, "before");
    failing_alloc_after(2);
    cr_expect_eq(weir_buf_append_file(&buf, path), -ENOMEM);
    cr_expect_eq(buf.used, strlen("before"));
    weir_buf_fini(&buf);
    unlink(path);
}

Test(buf, fini_accepts_null_and_twice)
{
    weir_buf_fini(NULL);
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u8(&buf, 1);
    weir_buf_fini(&buf);
    weir_buf_fini(&buf);
    cr_expect_null(buf.data);
    cr_expect_eq(buf.capacity, 0);
}

Test(buf, no_space_at_the_end_of_an_empty_buffer_is_not_a_failure)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    cr_expect_not_null(weir_buf_extend(&buf, 0));
    cr_expect_eq(buf.used, 0);
    cr_expect_eq(weir_buf_error(&buf), 0);
    weir_buf_fini(&buf);
}

Test(buf, empty_appends_add_nothing)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append(&buf, NULL, 0);
    weir_buf_append_zeros(&buf, 0);
    weir_buf_printf(&buf, "%s", "");
    cr_expect_eq(buf.used, 0);
    cr_expect_str_eq(weir_buf_str(&buf), "");
    weir_buf_fini(&buf);
}

Test(buf, integers_are_little_endian_and_unpadded)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u8(&buf, 0x01);
    weir_buf_append_u16(&buf, 0x0302);
    weir_buf_append_u32(&buf, 0x07060504);
    weir_buf_append_u64(&buf, 0x0f0e0d0c0b0a0908);
    cr_assert_eq(buf.used, 15);
    for (uint8_t i = 0; i < 15; i++)
        cr_expect_eq(buf.data[i], i + 1, "byte %u", i);
    weir_buf_fini(&buf);
}

Test(buf, contents_survive_growth)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    for (uint32_t i = 0; i < 10000; i++)
        weir_buf_append_u32(&buf, i);
    cr_assert_eq(buf.used, 40000);
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t v;
        memcpy(&v, buf.data + 4 * i, sizeof(v));
        cr_assert_eq(v, i);
    }
    weir_buf_fini(&buf);
}

Test(buf, printf_appends_without_the_terminator)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_printf(&buf, "cpu%d", 12);
    weir_buf_printf(&buf, ",%s", "node0");
    cr_expect_eq(buf.used, strlen("cpu12,node0"));
    cr_expect_str_eq(weir_buf_str(&buf), "cpu12,node0");
    cr_expect_eq(buf.used, strlen("cpu12,node0"));
    weir_buf_fini(&buf);
}

Test(buf, str_terminates_even_when_the_capacity_is_exactly_used)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u8(&buf, 'x');
    while (buf.used < buf.capacity)
        weir_buf_append_u8(&buf, 'x');
    size_t used = buf.used;
    cr_expect_eq(strlen(weir_buf_str(&buf)), used);
    weir_buf_fini(&buf);
}

Test(buf, file_longer_than_one_read_is_appended_whole)
{
    enum {
        FILE_BYTES = 150001
    };
    char path[PATH_MAX];
    make_file(path, FILE_BYTES);
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_u8(&buf, 0xff);
    cr_assert_eq(weir_buf_append_file(&buf, path), 0);
    unlink(path);
    cr_assert_eq(buf.used, 1 + FILE_BYTES);
    cr_expect_eq(buf.data[0], 0xff);
    for (size_t i = 0; i < FILE_BYTES; i++)
        cr_assert_eq(buf.data[1 + i], i % 251, "byte %zu", i);
    weir_buf_fini(&buf);
}

Test(buf, reset_forgets_contents_and_error_but_keeps_memory)
{
    struct weir_buf buf = WEIR_BUF_INIT;
    weir_buf_append_zeros(&buf, 1000);
    size_t capacity = buf.capacity;
    failing_alloc_after(0);
    weir_buf_append_zeros(&buf, capacity);
    cr_assert_eq(weir_buf_error(&buf), -ENOMEM);
    weir_buf_reset(&buf);
    cr_expect_eq(weir_buf_error(&buf), 0);
    cr_expect_eq(buf.used, 0);
    cr_expect_eq(buf.capacity, capacity);
    weir_buf_fini(&buf);
}
