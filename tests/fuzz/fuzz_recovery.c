/*
 * A file that is to be recovered (format/recovery.h). Input: the file.
 *
 * It ends, with an error that is one line or with a plan. What the plan makes of the file is whole: planned again there
 * is nothing to do, and it holds the same records and samples.
 */
#include "format/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
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

struct memory_file {
    int fd;
    char path[PATH_BYTES];
};

struct fixture {
    struct memory_file damaged, recovered;
    struct fuzz_tree nothing; /* in the place of tracefs and proc */
};

static void open_file(struct memory_file *file)
{
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(file->fd >= 0);
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    open_file(&fixture->damaged);
    open_file(&fixture->recovered);
    fuzz_tree_init(&fixture->nothing);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fuzz_tree_fini(&fixture->nothing);
    close(fixture->damaged.fd);
    close(fixture->recovered.fd);
    free(fixture);
}

static int plan(const struct fixture *fixture, const struct memory_file *file, bool makes_file,
                struct weir_recovery *recovery)
{
    static const struct weir_machine machine = {0};
    const struct weir_recovery_options options = {
        .path = file->path,
        .machine = &machine,
        .tracefs_root = fixture->nothing.root,
        .proc_root = fixture->nothing.root,
        .makes_file = makes_file,
    };
    struct weir_error err = {0};
    int result = weir_recovery_plan(recovery, &options, &err);
    if (result < 0)
        fuzz_check_error(&err, result);
    return result;
}

static void write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    weir_assert(bytes == 0 || pwrite(fd, data, bytes, (off_t)offset) == (ssize_t)bytes);
}

/* A file that is made of a stream is a recording that can be read to its end. */
static void make_file(const struct fixture *fixture, const uint8_t *data)
{
    const int fd = fixture->recovered.fd;
    struct weir_recovery made, again;
    if (plan(fixture, &fixture->damaged, true, &made) < 0)
        return;
    uint64_t at = made.head.used;
    fuzz_file_write(fd, (struct fuzz_part){.data = made.head.data, .bytes = made.head.used});
    for (size_t i = 0; i < made.kept_count; i++) {
        const struct weir_stream_range *range = &made.kept[i];
        weir_assert(range->begin < range->end && range->end <= made.data_end);
        write_at(fd, data + range->begin, range->end - range->begin, at);
        at += range->end - range->begin;
    }
    write_at(fd, made.tail.data, made.tail.used, at);
    weir_assert(plan(fixture, &fixture->recovered, false, &again) == 0);
    weir_assert(!again.is_stream && again.dropped_bytes == 0);
    weir_assert(again.records == made.records && again.samples == made.samples);
    weir_recovery_fini(&again);
    weir_recovery_fini(&made);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct weir_recovery first, second;
    fuzz_file_write(fixture->damaged.fd, (struct fuzz_part){.data = data, .bytes = bytes});
    if (plan(fixture, &fixture->damaged, false, &first) < 0)
        return;
    weir_assert(first.data_end <= bytes && first.records > 0 && first.samples <= first.records);
    if (!first.is_whole) {
        const int fd = fixture->recovered.fd;
        fuzz_file_write(fd, (struct fuzz_part){.data = data, .bytes = first.data_end});
        write_at(fd, first.tail.data, first.tail.used, first.data_end);
        if (!first.is_stream)
            write_at(fd, &first.header, sizeof(first.header), 0);
        weir_assert(plan(fixture, &fixture->recovered, false, &second) == 0);
        weir_assert(second.is_whole && second.dropped_bytes == 0);
        weir_assert(second.records == first.records && second.samples == first.samples);
        weir_recovery_fini(&second);
    }
    if (first.is_stream)
        make_file(fixture, data);
    weir_recovery_fini(&first);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
