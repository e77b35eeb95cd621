/*
 * Separate debug files (format/debug_file.h). Input: a program, and behind the separator what is in each file that may
 * be its debug file: app/fuzz.debug, app/.debug/fuzz.debug, and by the build id 0102 030405 of the corpus.
 *
 * What is opened is one of these, whatever the program names: the same build id is in it or, where the program has
 * none, the checksum that the program tells.
 */
#include "format/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/build_id.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tree.h"

#define CRC_POLYNOMIAL 0xedb88320u

enum file {
    PROGRAM,
    OUTSIDE, /* has what a debug file has, where none may lie */
    BESIDE,
    BELOW,
    BY_ID,
    FILE_COUNT,
};

static const char *const names[FILE_COUNT] = {
    "app/program", "fuzz.debug", "app/fuzz.debug", "app/.debug/fuzz.debug", "root/.build-id/01/02030405.debug",
};

struct fixture {
    struct fuzz_tree tree;
    char program[PATH_MAX], root[PATH_MAX];
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    fuzz_tree_create_all(&fixture->tree, names, FILE_COUNT);
    snprintf(fixture->program, sizeof(fixture->program), "%s/%s", fixture->tree.root, names[PROGRAM]);
    snprintf(fixture->root, sizeof(fixture->root), "%s/root", fixture->tree.root);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

/* A bit at a time, as the standard has it. */
static uint32_t crc_of(struct fuzz_part part)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < part.bytes; i++) {
        crc ^= part.data[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
    }
    return ~crc;
}

static bool is_one_of_them(const struct fixture *fixture, int fd)
{
    struct stat found, there;
    weir_assert(fstat(fd, &found) == 0);
    for (enum file file = BESIDE; file < FILE_COUNT; file++) {
        weir_assert(fstat(fixture->tree.fds[file], &there) == 0);
        if (found.st_dev == there.st_dev && found.st_ino == there.st_ino)
            return true;
    }
    return false;
}

static void check_found(const struct fixture *fixture, int fd, struct fuzz_part program, struct fuzz_part debug)
{
    struct weir_build_id wanted, id;
    weir_assert(is_one_of_them(fixture, fd));
    if (weir_build_id_of_file(fixture->tree.fds[PROGRAM], &wanted) == 0) {
        weir_assert(weir_build_id_of_file(fd, &id) == 0 && id.bytes == wanted.bytes);
        weir_assert(memcmp(id.data, wanted.data, id.bytes) == 0);
        return;
    }
    uint32_t crc = crc_of(debug);
    weir_assert(memmem(program.data, program.bytes, &crc, sizeof(crc)));
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[2];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, WEIR_ARRAY_COUNT(parts));
    fuzz_file_write(fixture->tree.fds[PROGRAM], parts[0]);
    for (enum file file = OUTSIDE; file < FILE_COUNT; file++)
        fuzz_file_write(fixture->tree.fds[file], parts[1]);
    int fd = weir_debug_file_open(fixture->tree.fds[PROGRAM], fixture->program, fixture->root);
    if (fd < 0) {
        weir_assert(fd == -ENOENT);
        return;
    }
    check_found(fixture, fd, parts[0], parts[1]);
    close(fd);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
