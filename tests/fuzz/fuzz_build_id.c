/*
 * Build ids (format/build_id.h). Input: the bytes of a file, which are read as notes of either alignment, and as a
 * file.
 *
 * What is found is not empty, and stands in the input; what is not leaves the id alone.
 */
#include "format/build_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"

#define UNTOUCHED 0xee

static void *init(void)
{
    int *fd = malloc(sizeof(*fd));
    weir_assert(fd);
    *fd = memfd_create("fuzz_build_id", MFD_CLOEXEC);
    weir_assert(*fd >= 0);
    return fd;
}

static void fini(void *fd)
{
    close(*(int *)fd);
    free(fd);
}

static void check(int result, const struct weir_build_id *id, const uint8_t *data, size_t bytes)
{
    weir_assert(result == 0 || result == -ENODATA);
    if (result < 0) {
        weir_assert(id->bytes == UNTOUCHED);
        return;
    }
    weir_assert(id->bytes > 0 && id->bytes <= WEIR_BUILD_ID_MAX_BYTES);
    weir_assert(memmem(data, bytes, id->data, id->bytes));
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    const int fd = *(int *)fixture;
    for (size_t align = 4; align <= 8; align += 4) {
        struct weir_build_id id = {.bytes = UNTOUCHED};
        check(weir_build_id_of_notes(data, bytes, align, &id), &id, data, bytes);
    }
    weir_assert(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
    struct weir_build_id id = {.bytes = UNTOUCHED};
    check(weir_build_id_of_file(fd, &id), &id, data, bytes);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
