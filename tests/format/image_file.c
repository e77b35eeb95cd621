/* Images in memfd_create(2) files, see image_file.h. */
#include "tests/format/image_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/dump.h"

/* libtraceevent forgets memory of formats that it cannot parse. For LeakSanitizer; unused without it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

void image_file_init(struct image_file *file, const void *data, size_t bytes)
{
    file->fd = memfd_create("recording", MFD_CLOEXEC);
    cr_assert_geq(file->fd, 0);
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
    image_file_write(file, 0, data, bytes);
}

void image_file_fini(struct image_file *file)
{
    close(file->fd);
}

void image_file_resize(const struct image_file *file, size_t bytes)
{
    cr_assert_eq(ftruncate(file->fd, (off_t)bytes), 0);
}

void image_file_write(const struct image_file *file, size_t offset, const void *data, size_t bytes)
{
    cr_assert_eq(pwrite(file->fd, data, bytes, (off_t)offset), (ssize_t)bytes);
}

/* Every line that is written can be shown: no control characters but the newline. */
static int check_text(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < bytes; i++) {
        bool is_clean = (unsigned char)text[i] >= ' ' || text[i] == '\n' || text[i] == '\t';
        if (!is_clean)
            cr_assert_fail("character %#x", (unsigned char)text[i]);
    }
    return 0;
}

struct image_reading image_read(const char *path)
{
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    struct weir_dump_options options = {.path = path, .filter = &all, .write = check_text};
    struct image_reading text = {0}, json = {0};
    text.result = weir_dump_run(&options, &text.records, &text.err);
    options.json = true;
    json.result = weir_dump_run(&options, &json.records, &json.err);
    cr_expect_eq(text.result, json.result);
    cr_expect_eq(text.records, json.records);
    cr_expect_eq(text.result, text.err.code);
    cr_expect_eq(text.result < 0, text.err.what[0] != '\0');
    cr_expect_null(strchr(text.err.what, '\n'));
    return text;
}
