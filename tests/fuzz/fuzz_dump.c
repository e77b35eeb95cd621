/*
 * A whole recording (format/dump.h): header, attrs, ids, features, records, compression, tracepoints. Input: the file.
 *
 * It is dumped as text and as JSON: both see the same records and end in the same way, an error is one line that says
 * where, and every line can be shown.
 */
#include "format/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "format/info.h"
#include "format/verify.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tree.h"

#define PATH_BYTES 64

/* libtraceevent forgets memory of formats that it cannot parse. For LeakSanitizer; unused without it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

struct fixture {
    int fd;
    char path[PATH_BYTES];
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    fixture->fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(fixture->fd >= 0);
    snprintf(fixture->path, sizeof(fixture->path), "/proc/self/fd/%d", fixture->fd);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->fd);
    free(fixture);
}

static int check_text(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < bytes; i++)
        weir_assert((unsigned char)text[i] >= ' ' || text[i] == '\n' || text[i] == '\t');
    return 0;
}

/* info and verify: they end, and JSON of what could be opened is one object. */
static void check_inspection(const char *path)
{
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    unsigned failures;
    weir_verify_append(path, NULL, &text, &failures, &err);
    weir_buf_reset(&text);
    weir_info_append(path, NULL, false, &text, &err);
    weir_buf_reset(&text);
    weir_info_append(path, NULL, true, &text, &err);
    weir_assert(text.used == 0 || (text.data[0] == '{' && text.data[text.used - 2] == '}'));
    weir_buf_fini(&text);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    const struct weir_dump_filter all = {.last_ns = UINT64_MAX};
    struct weir_dump_options options = {.path = fixture->path, .filter = &all, .write = check_text};
    fuzz_file_write(fixture->fd, (struct fuzz_part){.data = data, .bytes = bytes});
    uint64_t as_text, as_json;
    struct weir_error err = {0};
    int result = weir_dump_run(&options, &as_text, &err);
    if (result < 0)
        fuzz_check_error(&err, result);
    options.json = true;
    weir_assert(weir_dump_run(&options, &as_json, &err) == result && as_json == as_text);
    check_inspection(fixture->path);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
