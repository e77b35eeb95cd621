#include "base/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int weir_directory_open_parent(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX] = ".";
    *name = weir_path_name(path);
    if ((*name)[0] == '\0' || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return -EINVAL;
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length >= sizeof(parent))
        return -ENAMETOOLONG;
    if (length > 0) {
        memcpy(parent, path, length);
        parent[length] = '\0';
    } else if (slash) {
        parent[0] = '/';
    }
    int fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens the directory if its owner is one of the two. */
static int open_of(int parent_fd, const char *name, uid_t owner, uid_t other)
{
    struct stat status;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;
        /* openat(2) reports a symbolic link as ENOTDIR, too. */
        bool is_link =
            code == -ENOTDIR && fstatat(parent_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
        return is_link ? -ELOOP : code;
    }
    int code = fstat(fd, &status) < 0 ? -errno : status.st_uid == owner || status.st_uid == other ? 0 : -EPERM;
    if (code == 0)
        return fd;
    close(fd);
    return code;
}

int weir_directory_open_at(int parent_fd, const char *name)
{
    return open_of(parent_fd, name, geteuid(), 0);
}

int weir_directory_make_at(int parent_fd, const char *name, mode_t mode)
{
    if (mkdirat(parent_fd, name, mode) < 0)
        return -errno;
    int fd = open_of(parent_fd, name, geteuid(), geteuid());
    if (fd < 0)
        unlinkat(parent_fd, name, AT_REMOVEDIR); /* removes no link, and no directory that holds anything */
    return fd;
}

int weir_directory_sync_at(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* O_PATH is not enough for fsync(2) */
    if (fd < 0)
        return -errno;
    int result = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return result;
}

bool weir_directory_has(int parent_fd, const char *name, int fd)
{
    struct stat here, there;
    return fstat(fd, &here) == 0 && fstatat(parent_fd, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}
