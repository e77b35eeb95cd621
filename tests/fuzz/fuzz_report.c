/*
 * A whole recording (report/report.h): side records, samples, folding, forms. Input: the file.
 *
 * Every form is made, with two threads, or fails with one line. JSON balances its brackets outside of strings and holds
 * no character that could end a script element. No file of this machine is read: symbols are looked for below a folder
 * that does not exist.
 */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

#define PATH_BYTES 64
#define NOWHERE    "/nonexistent"

/* libtraceevent forgets memory of formats that it cannot parse. For LeakSanitizer; unused without it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

static void check_json(const struct weir_buf *text)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text->used; i++) {
        char byte = (char)text->data[i];
        weir_assert(byte != '<' && byte != '>' && byte != '&');
        if (in_string && byte == '\\')
            i++;
        else if (byte == '"')
            in_string = !in_string;
        else if (!in_string)
            depth += byte == '{' || byte == '[' ? 1 : byte == '}' || byte == ']' ? -1 : 0;
        weir_assert(depth >= 0);
    }
    weir_assert(depth == 0 && !in_string);
}

static void check_lines(const struct weir_buf *text)
{
    for (size_t i = 0; i < text->used; i++)
        weir_assert(text->data[i] >= ' ' || text->data[i] == '\n' || text->data[i] == '\t');
}

static void make(const char *path, enum weir_report_form form)
{
    const char *const paths[] = {path, path};
    const struct weir_report_options options = {
        .paths = paths,
        .shown = paths,
        .path_count = form == WEIR_REPORT_JSON || form == WEIR_REPORT_HTML ? 2 : 1,
        .form = form,
        .threads = 2,
        .places = {.root = NOWHERE, .debug_root = NOWHERE, .kallsyms = "/proc/self/comm"},
    };
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_error err = {0};
    int result = weir_report_run(&options, &text, &err);
    if (result < 0)
        fuzz_check_error(&err, result);
    else if (form == WEIR_REPORT_JSON)
        check_json(&text);
    else if (form == WEIR_REPORT_STDIO || form == WEIR_REPORT_FOLDED)
        check_lines(&text);
    weir_buf_fini(&text);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    char path[PATH_BYTES];
    (void)object;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(fd >= 0);
    weir_assert(write(fd, data, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (enum weir_report_form form = WEIR_REPORT_HTML; form <= WEIR_REPORT_PERFETTO; form++) {
        if (weir_report_has_form(form))
            make(path, form);
    }
    close(fd);
}

const struct fuzz_target fuzz_target = {.run = run};
