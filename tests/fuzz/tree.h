/*
 * A folder of files that a target rewrites for each run: a proc, a sysfs, a tracefs. (That of the other tests fails by
 * Criterion.) Below $TMPDIR or /tmp. A folder or file that cannot be made ends the program. One thread.
 */
#ifndef WEIR_TESTS_FUZZ_TREE_H
#define WEIR_TESTS_FUZZ_TREE_H

#include <limits.h>
#include <stddef.h>

#include "tests/fuzz/input.h"

struct fuzz_tree {
    char root[PATH_MAX / 2]; /* without trailing slash */
};

void fuzz_tree_init(struct fuzz_tree *tree);

/* Removes the folder with all in it. */
void fuzz_tree_fini(struct fuzz_tree *tree);

/* Makes the empty file root/relative and the folders on the way. A descriptor for fuzz_file_write(), the caller's to
 * close. */
int fuzz_tree_create(const struct fuzz_tree *tree, const char *relative);

/* The same for `count` files; closed by fuzz_files_close(). */
void fuzz_tree_create_all(const struct fuzz_tree *tree, const char *const *relatives, int *fds, size_t count);

void fuzz_files_close(const int *fds, size_t count);

/* The contents of the file become those of the part. */
void fuzz_file_write(int fd, struct fuzz_part part);

#endif
