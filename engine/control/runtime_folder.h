/*
 * The folder in which the running recordings of a user have their sockets (docs/control.md), one NAME.sock each.
 *
 *     $XDG_RUNTIME_DIR/weir    if the folder above belongs to the user
 *     /run/weir                of root
 *     /run/user/UID/weir       of others
 *
 * Nobody but its owner can enter the folder (mode 0700), so whoever connects is its owner or root. All files are
 * reached through a descriptor of the folder, which is opened without following a link and checked for its owner and
 * mode. A socket whose recorder was killed stays until a program tries to connect to it.
 *
 * Any thread. Calls block on the file system.
 */
#ifndef WEIR_ENGINE_CONTROL_RUNTIME_FOLDER_H
#define WEIR_ENGINE_CONTROL_RUNTIME_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define WEIR_RUNTIME_SUFFIX ".sock"

/* Writes the path of the folder of the calling process's user. 0 or -ENAMETOOLONG. Touches no file. */
int weir_runtime_folder_path(char path[PATH_MAX]);

/* Opens the folder of that owner, and makes the folder first if `makes`. Returns its descriptor; -ENOENT; -EPERM: it is
 * not the owner's, or others may enter it; or the -errno of mkdir(2) or open(2). */
int weir_runtime_folder_open(const char *path, uid_t owner, bool makes);

/* The listening socket of one recording. All zero: there is no socket. */
struct weir_runtime_socket {
    int folder_fd; /* owned, with a name */
    char name[32]; /* in the folder: the process id of the recorder, and the suffix; "": no socket */
};

/* Makes a socket in the user's folder that has room for `backlog` waiting clients. Returns the listening descriptor,
 * owned by the caller, or -errno. */
int weir_runtime_socket_listen(struct weir_runtime_socket *runtime_socket, int backlog);

/* Removes the socket's name. NULL-safe, idempotent. */
void weir_runtime_socket_remove(struct weir_runtime_socket *runtime_socket);

/* Connects to the socket `name` in an open folder of that owner. Waits at most timeout_ms for this and for each later
 * send and receive. Returns the descriptor, owned by the caller; -ECONNREFUSED: its recorder has gone; -EPERM: another
 * user listens; or another -errno. */
int weir_runtime_socket_connect(int folder_fd, const char *name, uid_t owner, unsigned timeout_ms);

#endif
