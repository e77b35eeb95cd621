/* A folder of its own for a test, see temp_tree.h. */
#include "tests/format/temp_tree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_AT_ONCE 8

void temp_tree_init(struct temp_tree *tree)
{
    const char *dir = getenv("TMPDIR");
    snprintf(tree->root, sizeof(tree->root), "%s/weir-format-XXXXXX", dir ? dir : "/tmp");
    cr_assert_not_null(mkdtemp(tree->root));
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

void temp_tree_fini(struct temp_tree *tree)
{
    cr_expect_eq(nftw(tree->root, remove_entry, FOLDERS_AT_ONCE, FTW_DEPTH | FTW_PHYS), 0);
}

void temp_tree_remove(const struct temp_tree *tree, const char *relative)
{
    char path[PATH_MAX];
    temp_tree_path(tree, relative, path);
    nftw(path, remove_entry, FOLDERS_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

void temp_tree_path(const struct temp_tree *tree, const char *relative, char path[PATH_MAX])
{
    cr_assert_lt(snprintf(path, PATH_MAX, "%s/%s", tree->root, relative), PATH_MAX);
}

/* Makes every folder on the way to path, path itself not. */
static void make_parents(const struct temp_tree *tree, char *path)
{
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

void temp_tree_make_folder(const struct temp_tree *tree, const char *relative)
{
    char path[PATH_MAX];
    temp_tree_path(tree, relative, path);
    make_parents(tree, path);
    cr_assert_eq(mkdir(path, 0755), 0);
}

void temp_tree_write(const struct temp_tree *tree, const char *relative, const void *data, size_t bytes)
{
    char path[PATH_MAX];
    temp_tree_path(tree, relative, path);
    make_parents(tree, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, data, bytes), (ssize_t)bytes);
    cr_assert_eq(close(fd), 0);
}

void temp_tree_write_text(const struct temp_tree *tree, const char *relative, const char *text)
{
    temp_tree_write(tree, relative, text, strlen(text));
}

void format_text(char *text, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, bytes, format, args);
    va_end(args);
    cr_assert_geq(length, 0);
    cr_assert_lt((size_t)length, bytes);
}
