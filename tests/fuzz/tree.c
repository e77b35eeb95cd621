/* A folder of files that a target rewrites for each run. One thread. */
#include "tests/fuzz/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_FOLDERS_MAX 16

static void require(bool done, const char *what)
{
    if (done)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

void fuzz_tree_init(struct fuzz_tree *tree)
{
    *tree = (struct fuzz_tree){.fds = NULL};
    const char *folder = getenv("TMPDIR");
    int length = snprintf(tree->root, sizeof(tree->root), "%s/weir-fuzz-XXXXXX", folder ? folder : "/tmp");
    require(length < (int)sizeof(tree->root) && mkdtemp(tree->root), tree->root);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void fuzz_tree_fini(struct fuzz_tree *tree)
{
    for (size_t i = 0; i < tree->fd_count; i++)
        close(tree->fds[i]);
    free(tree->fds);
    require(nftw(tree->root, remove_entry, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS) == 0, tree->root);
}

int fuzz_tree_create(const struct fuzz_tree *tree, const char *relative)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", tree->root, relative);
    require(length < (int)sizeof(path), relative);
    for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        require(mkdir(path, 0755) == 0 || errno == EEXIST, path);
        *slash = '/';
    }
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    require(fd >= 0, path);
    return fd;
}

void fuzz_tree_create_all(struct fuzz_tree *tree, const char *const *relatives, size_t count)
{
    tree->fds = calloc(count, sizeof(*tree->fds));
    require(tree->fds, "calloc");
    for (; tree->fd_count < count; tree->fd_count++)
        tree->fds[tree->fd_count] = fuzz_tree_create(tree, relatives[tree->fd_count]);
}

struct fuzz_tree *fuzz_tree_new(const char *const *relatives, size_t count)
{
    struct fuzz_tree *tree = malloc(sizeof(*tree));
    require(tree, "malloc");
    fuzz_tree_init(tree);
    fuzz_tree_create_all(tree, relatives, count);
    return tree;
}

void fuzz_tree_free(void *tree)
{
    fuzz_tree_fini(tree);
    free(tree);
}

void fuzz_file_write(int fd, struct fuzz_part part)
{
    require(ftruncate(fd, 0) == 0, "ftruncate");
    require(part.bytes == 0 || pwrite(fd, part.data, part.bytes, 0) == (ssize_t)part.bytes, "pwrite");
}
