/*
 * Lines of a file through a small buffer (format/line_source.h). Input: a byte that chooses the buffer's size, and the
 * file.
 *
 * The lines are those that a reading of the whole file in memory gives, each cut to what the buffer holds.
 */
#include "format/line_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define BUFFER_BYTES_MIN 2u
#define BUFFER_SIZES     64u

struct fixture {
    int fd; /* a file in memory */
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    fixture->fd = memfd_create("lines", MFD_CLOEXEC);
    weir_assert(fixture->fd >= 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->fd);
    free(fixture);
}

/* Takes the first line off the file. */
static struct fuzz_part take_line(struct fuzz_part *file)
{
    const uint8_t *newline = memchr(file->data, '\n', file->bytes);
    struct fuzz_part line = {.data = file->data, .bytes = newline ? (size_t)(newline - file->data) : file->bytes};
    size_t taken = line.bytes + (newline != NULL);
    file->data += taken;
    file->bytes -= taken;
    return line;
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    if (bytes == 0)
        return;
    size_t buffer_bytes = BUFFER_BYTES_MIN + data[0] % BUFFER_SIZES;
    struct fuzz_part file = {.data = data + 1, .bytes = bytes - 1};
    fuzz_file_write(fixture->fd, file);
    weir_assert(lseek(fixture->fd, 0, SEEK_SET) == 0);

    char *buffer = malloc(buffer_bytes);
    weir_assert(buffer);
    struct weir_line_source lines;
    weir_line_source_init(&lines, fixture->fd, buffer, buffer_bytes);
    while (file.bytes > 0) {
        struct fuzz_part expected = take_line(&file);
        if (expected.bytes > buffer_bytes - 1)
            expected.bytes = buffer_bytes - 1;
        const char *line = weir_line_source_next(&lines);
        weir_assert(line && line >= buffer && line + expected.bytes < buffer + buffer_bytes);
        weir_assert(memcmp(line, expected.data, expected.bytes) == 0 && line[expected.bytes] == '\0');
    }
    weir_assert(!weir_line_source_next(&lines));
    weir_assert(!weir_line_source_next(&lines) && lines.error == 0);
    free(buffer);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
