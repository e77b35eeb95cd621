/*
 * A file that is to be continued (engine/files/append.h): is it whole, of what kind, which build ids has it. Input:
 * the file.
 *
 * It ends, with an error that is one line or with what can be continued: every build id has a name and a length, and
 * adding what is there already adds nothing.
 */
#include "engine/files/append.h"

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

static void check_build_ids(struct weir_append *append)
{
    size_t count = append->build_id_count;
    for (size_t i = 0; i < count; i++) {
        const struct weir_build_id_entry *entry = &append->build_ids[i];
        weir_assert(entry->name[0] != '\0' && entry->id.bytes <= WEIR_BUILD_ID_MAX_BYTES);
    }
    if (count == 0)
        return;
    struct weir_build_id_entry copy = append->build_ids[count - 1];
    weir_assert(weir_append_add_build_ids(append, &copy, 1) == 0 && append->build_id_count == count);
    copy.name = "a name that is not there";
    weir_assert(weir_append_add_build_ids(append, &copy, 1) == 0 && append->build_id_count >= count);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct weir_append *append = NULL;
    struct weir_error err = {0};
    fuzz_file_write(fixture->fd, (struct fuzz_part){.data = data, .bytes = bytes});
    int result = weir_append_open(&append, fixture->path, &err);
    weir_assert((append != NULL) == (result == 0 && bytes > 0));
    if (result < 0)
        fuzz_check_error(&err, result);
    if (!append)
        return;
    check_build_ids(append);
    weir_assert(weir_append_id_room(append) <= bytes / sizeof(uint64_t));
    result = weir_append_check_events(append, NULL, 0, &err);
    weir_assert(append->input.events.count == 0 ? result == 0 : result < 0);
    if (result < 0)
        fuzz_check_error(&err, result);
    weir_append_free(append);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
