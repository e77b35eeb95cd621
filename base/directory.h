/*
 * Directories by descriptor. Another user may own the directory in which weir works and may rename or replace each name
 * in it at any moment. So weir opens a directory once, checks the descriptor, and names all files in it relative to the
 * descriptor. A symbolic link is never followed, but for those in a path that the user names.
 *
 * Any thread. All functions block on the file system, and none allocates. Descriptors are close-on-exec.
 */
#ifndef WEIR_BASE_DIRECTORY_H
#define WEIR_BASE_DIRECTORY_H

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

/* Returns the last component of path, which points into path; empty behind a slash at the end. */
static inline const char *weir_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * Opens the directory in which path lies, with O_PATH, and follows links on the way there. *name: the last component,
 * which points into path. Returns a descriptor that the caller owns, or -errno: -EINVAL (the last component is empty,
 * "." or ".."), -ENAMETOOLONG, and those of open(2).
 */
int weir_directory_open_parent(const char *path, const char **name);

/*
 * Opens the directory name of parent_fd for reading. name: one component. The directory must belong to this user or to
 * root. Returns a descriptor that the caller owns, or -errno: -ELOOP (a symbolic link), -EPERM (another user's), and
 * those of openat(2).
 */
int weir_directory_open_at(int parent_fd, const char *name);

/*
 * Makes a directory and opens it as open_at() does, but it must belong to this user: somebody may have replaced it
 * meanwhile. Returns a descriptor that the caller owns, or -errno: -EEXIST, and those of mkdirat(2) and open_at(). On
 * failure no new directory is left, unless somebody has replaced it.
 */
int weir_directory_make_at(int parent_fd, const char *name, mode_t mode);

/* Calls fsync(2) for the file or directory of that name, which may be "."; not through a link. 0 or -errno. */
int weir_directory_sync_at(int parent_fd, const char *name);

/* Whether the name in parent_fd leads to the file or directory of fd. A symbolic link does not. */
bool weir_directory_has(int parent_fd, const char *name, int fd);

#endif
