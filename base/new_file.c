#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define TRIES 100u

struct proc_fd_path {
    char text[32];
};

static struct proc_fd_path proc_fd_path_of(int fd)
{
    struct proc_fd_path path;
    snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
    return path;
}

static void hidden_name(char hidden[WEIR_HIDDEN_NAME_BYTES], unsigned number)
{
    snprintf(hidden, WEIR_HIDDEN_NAME_BYTES, ".weir-%d-%u", (int)getpid(), number);
}

static int open_nameless(int directory_fd, mode_t mode)
{
    int fd = openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    if (access(proc_fd_path_of(fd).text, F_OK) == 0)
        return fd;
    close(fd); /* linkat(2) would fail later */
    return -EOPNOTSUPP;
}

static int open_hidden(int directory_fd, mode_t mode, char hidden[WEIR_HIDDEN_NAME_BYTES])
{
    int fd = -EEXIST;
    for (unsigned i = 0; i < TRIES && fd == -EEXIST; i++) {
        hidden_name(hidden, i);
        fd = openat(directory_fd, hidden, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, mode);
        fd = fd < 0 ? -errno : fd;
    }
    if (fd < 0)
        hidden[0] = '\0';
    return fd;
}

int weir_new_file_open(int directory_fd, mode_t mode, char hidden[WEIR_HIDDEN_NAME_BYTES])
{
    hidden[0] = '\0';
    int fd = open_nameless(directory_fd, mode);
    /* EISDIR: kernels before 3.11; EINVAL, ENOENT: some network and stacked file systems. */
    if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL || fd == -ENOENT)
        fd = open_hidden(directory_fd, mode, hidden);
    return fd;
}

int weir_new_file_link(int directory_fd, int fd, const char *name)
{
    return linkat(AT_FDCWD, proc_fd_path_of(fd).text, directory_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int weir_new_file_hide(int directory_fd, int fd, char hidden[WEIR_HIDDEN_NAME_BYTES])
{
    int result = -EEXIST;
    for (unsigned i = 0; i < TRIES && result == -EEXIST; i++) {
        hidden_name(hidden, i);
        result = weir_new_file_link(directory_fd, fd, hidden);
    }
    if (result < 0)
        hidden[0] = '\0';
    return result;
}

int weir_new_file_end(int directory_fd, int fd, char hidden[WEIR_HIDDEN_NAME_BYTES], const char *name)
{
    int result = name && !hidden[0] ? weir_new_file_hide(directory_fd, fd, hidden) : 0; /* rename(2) takes names only */
    if (close(fd) < 0 && result == 0)
        result = -errno;
    if (name && result == 0 && renameat(directory_fd, hidden, directory_fd, name) < 0)
        result = -errno;
    if (hidden[0] && (!name || result < 0))
        unlinkat(directory_fd, hidden, 0);
    return result;
}
