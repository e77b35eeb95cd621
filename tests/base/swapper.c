/* See swapper.h. Names and signatures are those of ld's --wrap, see ld(1). */
#include "tests/base/swapper.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    int directory_fd;
    const char *first, *second;
    enum swapper_way way;
    unsigned call, at;
    bool armed, reached, exchanged;
    pid_t process; /* a child of the code under test strikes nobody */
} attack;

static bool exchange(void)
{
    int fd = attack.directory_fd;
    return syscall(SYS_renameat2, fd, attack.first, fd, attack.second, RENAME_EXCHANGE) == 0;
}

void swapper_arm(int directory_fd, const char *first, const char *second, unsigned call, enum swapper_way way)
{
    attack.directory_fd = directory_fd;
    attack.first = first;
    attack.second = second;
    attack.at = call;
    attack.way = way;
    attack.call = 0;
    attack.reached = attack.exchanged = false;
    attack.process = getpid();
    attack.armed = true;
}

bool swapper_disarm(void)
{
    if (attack.exchanged)
        exchange();
    attack.armed = attack.exchanged = false;
    return attack.reached;
}

unsigned swapper_calls(void)
{
    return attack.call;
}

/* Before each call. */
static void strike(void)
{
    if (getpid() != attack.process)
        return;
    unsigned call = attack.call++;
    if (!attack.armed)
        return;
    if (attack.exchanged && attack.way == SWAPPER_RETURNS) {
        exchange();
        attack.exchanged = attack.armed = false;
    } else if (!attack.exchanged && call >= attack.at) {
        attack.reached = true;
        attack.exchanged = exchange();
    }
}

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
#define MODE_OF(flags, mode)                         \
    do {                                             \
        va_list args;                                \
        va_start(args, flags);                       \
        (mode) = (mode_t)va_arg(args, unsigned int); \
        va_end(args);                                \
    } while (0)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE))
        MODE_OF(flags, mode);
    strike();
    return __real_open(path, flags, mode);
}

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE))
        MODE_OF(flags, mode);
    strike();
    return __real_openat(fd, path, flags, mode);
}

/* The other calls have fixed parameters. */
#define WRAP(type, name, parameters, arguments) \
    type __real_##name parameters;              \
    type __wrap_##name parameters;              \
    type __wrap_##name parameters               \
    {                                           \
        strike();                               \
        return __real_##name arguments;         \
    }

WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, renameat, (int from_fd, const char *from, int to_fd, const char *to), (from_fd, from, to_fd, to))
WRAP(int, renameat2, (int from_fd, const char *from, int to_fd, const char *to, unsigned flags),
     (from_fd, from, to_fd, to, flags))
WRAP(int, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
     (from_fd, from, to_fd, to, flags))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(int, rmdir, (const char *path), (path))
WRAP(int, stat, (const char *path, struct stat *status), (path, status))
WRAP(int, lstat, (const char *path, struct stat *status), (path, status))
WRAP(int, fstatat, (int fd, const char *path, struct stat *status, int flags), (fd, path, status, flags))
WRAP(int, access, (const char *path, int mode), (path, mode))
WRAP(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAP(DIR *, opendir, (const char *path), (path))
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
