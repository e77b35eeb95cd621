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
    int *fds;                /* owned; of create_all(), for fuzz_file_write() */
    size_t fd_count;
};

void fuzz_tree_init(struct fuzz_tree *tree);

/* Removes the folder with all in it. */
void fuzz_tree_fini(struct fuzz_tree *tree);

/* One of its own, with the files of create_all(): all that most targets need. Freed as an object of theirs. */
struct fuzz_tree *fuzz_tree_new(const char *const *relatives, size_t count);
void fuzz_tree_free(void *tree);

/* Makes the empty file root/relative and the folders on the way. A descriptor for fuzz_file_write(), the caller's to
 * close. */
int fuzz_tree_create(const struct fuzz_tree *tree, const char *relative);

/* The same for `count` files, once: fds[i] is that of relatives[i]. */
void fuzz_tree_create_all(struct fuzz_tree *tree, const char *const *relatives, size_t count);

/* The contents of the file become those of the part. */
void fuzz_file_write(int fd, struct fuzz_part part);

#endif
