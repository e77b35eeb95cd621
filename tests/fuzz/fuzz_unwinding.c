/*
 * A whole recording that is unwound (report/unwinding.h). Input: the file.
 *
 * It becomes a finished file, or fails with one line. That file can be read to its end, has as many records as the
 * result says, and no event with copied stacks; its samples and those that were left out are the input's. No file of
 * this machine is read: mapped files are looked for below a folder that does not exist.
 */
#include "report/unwinding.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "unwind/unwound_sample.h"

#define PATH_BYTES 64
#define NOWHERE    "/nonexistent"

static int make_file(char path[PATH_BYTES])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(fd >= 0);
    snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

struct contents {
    uint64_t records, samples;
};

/* Reads the records of a file up to its end, or to the damage in it. Returns whether there was none. */
static bool count(const char *path, bool is_unwound, struct contents *contents)
{
    struct weir_perf_input input;
    struct weir_record_view record;
    struct weir_error err = {0};
    int result = weir_perf_input_open(&input, path, &err);
    weir_assert(result == 0);
    while ((result = weir_perf_input_next(&input, &record, &err)) > 0) {
        contents->records++;
        contents->samples += record.type == PERF_RECORD_SAMPLE;
    }
    for (size_t i = 0; is_unwound && i < input.events.count; i++)
        weir_assert(!weir_unwound_is_wanted(&input.events.list[i].attr));
    weir_perf_input_close(&input);
    return result == 0;
}

static void check(const char *input_path, const char *output_path, const struct weir_unwinding_result *result)
{
    struct contents before = {0}, after = {0};
    weir_assert(count(output_path, true, &after));
    weir_assert(after.records == result->records - result->left_out && after.samples == result->samples);
    weir_assert(count(input_path, false, &before) == (result->damage.code == 0));
    weir_assert(before.samples == result->samples + result->left_out);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    char input_path[PATH_BYTES], output_path[PATH_BYTES];
    struct weir_unwinding_result result;
    struct weir_error err = {0};
    (void)object;
    int input = make_file(input_path), output = make_file(output_path);
    weir_assert(write(input, data, bytes) == (ssize_t)bytes);
    const struct weir_unwinding_options options = {
        .path = input_path,
        .shown = "it",
        .places = {.root = NOWHERE, .debug_root = NOWHERE, .kallsyms = "/proc/self/comm"},
    };
    int code = weir_unwinding_run(&options, output, &result, &err);
    if (code < 0)
        fuzz_check_error(&err, code);
    else
        check(input_path, output_path, &result);
    close(input);
    close(output);
}

const struct fuzz_target fuzz_target = {.run = run};
