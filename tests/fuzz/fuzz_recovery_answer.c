/*
 * What the process that plans a recovery says (engine/upkeep/recovery_answer.h). Input: its bytes, about a file of 4096
 * bytes, and then about a directory with parts of 4096 bytes.
 *
 * An answer that is taken stays within the file, and fails with an error that is one line or with none; written and
 * read again it is the same.
 */
#include "engine/upkeep/recovery_answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tree.h"

#define FILE_BYTES 4096u

struct fixture {
    struct fuzz_tree tree;
    char file[PATH_MAX], directory[PATH_MAX];
    int answer, again;
};

static void *init(void)
{
    static const char *const names[] = {"file", "directory/data", "directory/data.0", "directory/data.1"};
    static const uint8_t zeros[FILE_BYTES];
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture);
    fuzz_tree_init(&fixture->tree);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        int fd = fuzz_tree_create(&fixture->tree, names[i]);
        fuzz_file_write(fd, (struct fuzz_part){.data = zeros, .bytes = FILE_BYTES});
        close(fd);
    }
    snprintf(fixture->file, sizeof(fixture->file), "%s/file", fixture->tree.root);
    snprintf(fixture->directory, sizeof(fixture->directory), "%s/directory", fixture->tree.root);
    fixture->answer = memfd_create("answer", MFD_CLOEXEC);
    fixture->again = memfd_create("again", MFD_CLOEXEC);
    weir_assert(fixture->answer >= 0 && fixture->again >= 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->answer);
    close(fixture->again);
    fuzz_tree_fini(&fixture->tree);
    free(fixture);
}

static void check_taken(const struct weir_recovery *taken, const char *path, const struct fixture *fixture)
{
    weir_assert(taken->is_directory == (path == fixture->directory) && taken->data_end <= FILE_BYTES);
    weir_assert(taken->part_count <= 2);
    for (size_t i = 0; i < taken->part_count; i++)
        weir_assert(taken->parts[i].kept_bytes <= FILE_BYTES);
    fuzz_check_line(taken->cause.what);
    fuzz_check_line(taken->cause.hint);
}

static void check_again(const struct fixture *fixture, const char *path, int result, const struct weir_recovery *taken,
                        const struct weir_error *err)
{
    struct weir_recovery again = {0};
    struct weir_error again_err = {0};
    int again_result;
    weir_assert(ftruncate(fixture->again, 0) == 0 && lseek(fixture->again, 0, SEEK_SET) == 0);
    weir_assert(weir_recovery_answer_write(fixture->again, result, taken, err) == 0);
    weir_assert(lseek(fixture->again, 0, SEEK_SET) == 0);
    weir_assert(weir_recovery_answer_read(fixture->again, path, &again_result, &again, &again_err) == 0);
    weir_assert(again_result == result && strcmp(again_err.what, err->what) == 0);
    weir_assert(again.data_end == taken->data_end && again.is_whole == taken->is_whole);
    weir_assert(again.records == taken->records && again.part_count == taken->part_count);
    weir_assert(again.tail.used == taken->tail.used &&
                (taken->tail.used == 0 || memcmp(again.tail.data, taken->tail.data, taken->tail.used) == 0));
    weir_recovery_fini(&again);
}

static void run_about(const struct fixture *fixture, const char *path)
{
    struct weir_recovery taken = {0};
    struct weir_error err = {0};
    int result;
    weir_assert(lseek(fixture->answer, 0, SEEK_SET) == 0);
    int code = weir_recovery_answer_read(fixture->answer, path, &result, &taken, &err);
    weir_assert(code == 0 || code == -EBADMSG);
    if (code < 0)
        return;
    if (result < 0)
        fuzz_check_error(&err, result);
    else
        check_taken(&taken, path, fixture);
    check_again(fixture, path, result, &taken, &err);
    weir_recovery_fini(&taken);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    fuzz_file_write(fixture->answer, (struct fuzz_part){.data = data, .bytes = bytes});
    run_about(fixture, fixture->file);
    run_about(fixture, fixture->directory);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
