/*
 * A folder of its own for a test, with files that the test writes: fixture trees and tool output.
 *
 * Below $TMPDIR or /tmp. Failures are Criterion assertions. One thread.
 */
#ifndef WEIR_TESTS_FORMAT_TEMP_TREE_H
#define WEIR_TESTS_FORMAT_TEMP_TREE_H

#include <limits.h>
#include <stddef.h>

struct temp_tree {
    char root[PATH_MAX - 256];
};

void temp_tree_init(struct temp_tree *tree);
/* Removes the folder and all below it. */
void temp_tree_fini(struct temp_tree *tree);

/* Removes a file, or a folder and all below it, if it is there. */
void temp_tree_remove(const struct temp_tree *tree, const char *relative);

/* Writes a file, making its folders. relative: below root. */
void temp_tree_write(const struct temp_tree *tree, const char *relative, const void *data, size_t bytes);
void temp_tree_write_text(const struct temp_tree *tree, const char *relative, const char *text);
/* Makes an empty folder. */
void temp_tree_make_folder(const struct temp_tree *tree, const char *relative);
/* path becomes root/relative. */
void temp_tree_path(const struct temp_tree *tree, const char *relative, char path[PATH_MAX]);

/* Like snprintf(3), but text that does not fit fails the test. */
void format_text(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
