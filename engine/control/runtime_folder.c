/* Makes and opens the folder of sockets. Any thread. */
#include "engine/control/runtime_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define FOLDER         "weir"
#define FOLDER_MODE    0700
#define NAMES_MAX      8 /* processes with one id: of several pid namespaces */
#define US_PER_MS      1000
#define MS_PER_S       1000
#define OTHERS_MAY_USE 077

/* ---- the folder ---- */

/* Whether the user owns the folder that XDG_RUNTIME_DIR names. sudo(8) may keep the variable of another user. */
static bool is_own_folder(const char *path)
{
    struct stat status;
    return path && path[0] == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

int weir_runtime_folder_path(char path[PATH_MAX])
{
    const char *named = getenv("XDG_RUNTIME_DIR");
    int length;
    if (is_own_folder(named))
        length = snprintf(path, PATH_MAX, "%s/" FOLDER, named);
    else if (geteuid() == 0)
        length = snprintf(path, PATH_MAX, "/run/" FOLDER);
    else
        length = snprintf(path, PATH_MAX, "/run/user/%u/" FOLDER, (unsigned)geteuid());
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int weir_runtime_folder_open(const char *path, uid_t owner, bool makes)
{
    if (makes && mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat status;
    int result = fstat(fd, &status) < 0 ? -errno : 0;
    if (result == 0 && (status.st_uid != owner || (status.st_mode & OTHERS_MAY_USE)))
        result = -EPERM;
    if (result == 0)
        return fd;
    close(fd);
    return result;
}

/* ---- sockets ---- */

/* Names a socket relative to the folder's descriptor: bind(2) and connect(2) take no such descriptor. -ENAMETOOLONG */
static int address_in(int folder_fd, const char *name, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s", folder_fd, name);
    return length < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

static bool is_of_user(int fd, uid_t owner)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == owner;
}

int weir_runtime_socket_connect(int folder_fd, const char *name, uid_t owner, unsigned timeout_ms)
{
    struct sockaddr_un address;
    int result = address_in(folder_fd, name, &address);
    int fd = result == 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return result < 0 ? result : -errno;
    const struct timeval patience = {.tv_sec = timeout_ms / MS_PER_S, .tv_usec = timeout_ms % MS_PER_S * US_PER_MS};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* connect(2), too */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    result = connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    if (result == 0 && !is_of_user(fd, owner))
        result = -EPERM;
    if (result == 0)
        return fd;
    close(fd);
    return result;
}

/* Whether the name belongs to a recorder that was killed. */
static bool is_left_over(int folder_fd, const char *name)
{
    int fd = weir_runtime_socket_connect(folder_fd, name, geteuid(), 1);
    if (fd >= 0)
        close(fd);
    return fd == -ECONNREFUSED;
}

static int bind_to(int fd, int folder_fd, const char *name)
{
    struct sockaddr_un address;
    int result = address_in(folder_fd, name, &address);
    if (result == 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        result = -errno;
    if (result != -EADDRINUSE || !is_left_over(folder_fd, name))
        return result;
    unlinkat(folder_fd, name, 0);
    return bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static int bind_somewhere(struct weir_runtime_socket *runtime_socket, int fd)
{
    int result = -EADDRINUSE;
    for (unsigned i = 0; i < NAMES_MAX && result == -EADDRINUSE; i++) {
        int length = snprintf(runtime_socket->name, sizeof(runtime_socket->name), "%d", (int)getpid());
        if (i > 0)
            length += snprintf(runtime_socket->name + length, sizeof(runtime_socket->name) - (size_t)length, "-%u", i);
        snprintf(runtime_socket->name + length, sizeof(runtime_socket->name) - (size_t)length, WEIR_RUNTIME_SUFFIX);
        result = bind_to(fd, runtime_socket->folder_fd, runtime_socket->name);
    }
    return result;
}

int weir_runtime_socket_listen(struct weir_runtime_socket *runtime_socket, int backlog)
{
    char path[PATH_MAX];
    int result = weir_runtime_folder_path(path);
    int folder_fd = result == 0 ? weir_runtime_folder_open(path, geteuid(), true) : result;
    if (folder_fd < 0)
        return folder_fd;
    runtime_socket->folder_fd = folder_fd;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    result = fd < 0 ? -errno : bind_somewhere(runtime_socket, fd);
    bool is_bound = result == 0;
    if (is_bound && listen(fd, backlog) < 0)
        result = -errno;
    if (result == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    if (is_bound)
        unlinkat(folder_fd, runtime_socket->name, 0);
    close(folder_fd);
    *runtime_socket = (struct weir_runtime_socket){0};
    return result;
}

void weir_runtime_socket_remove(struct weir_runtime_socket *runtime_socket)
{
    if (!runtime_socket || runtime_socket->name[0] == '\0')
        return;
    unlinkat(runtime_socket->folder_fd, runtime_socket->name, 0);
    close(runtime_socket->folder_fd);
    *runtime_socket = (struct weir_runtime_socket){0};
}
