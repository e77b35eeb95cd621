/* Finds running recordings and talks to them. Main thread. */
#include "cli/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/control/runtime_folder.h"
#include "format/text_out.h"

#define PATIENCE_MS       2000
#define FOLDER_OF_ROOT    "/run/weir"
#define FOLDERS_OF_USERS  "/run/user"
#define COMMAND_BYTES_MAX 4096

/* ---- finding ---- */

struct search {
    struct weir_recordings *found;
    const pid_t *pids; /* borrowed */
    size_t pid_count;  /* 0: all */
};

static pid_t pid_of(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

static bool is_wanted(const struct search *search, pid_t pid)
{
    for (size_t i = 0; i < search->found->count; i++) {
        if (search->found->at[i].pid == pid)
            return false; /* XDG_RUNTIME_DIR may name a folder that is searched anyway */
    }
    for (size_t i = 0; i < search->pid_count; i++) {
        if (search->pids[i] == pid)
            return true;
    }
    return search->pid_count == 0;
}

static void add(struct search *search, int fd, uid_t owner)
{
    struct weir_recordings *found = search->found;
    pid_t pid = pid_of(fd);
    if (found->count < WEIR_RECORDINGS_MAX && is_wanted(search, pid))
        found->at[found->count++] = (struct weir_running){.fd = fd, .pid = pid, .user = owner};
    else
        close(fd);
}

static bool is_socket_name(const char *name)
{
    size_t length = strlen(name), suffix = strlen(WEIR_RUNTIME_SUFFIX);
    return length > suffix && strcmp(name + length - suffix, WEIR_RUNTIME_SUFFIX) == 0;
}

static void search_folder(struct search *search, const char *path, uid_t owner)
{
    int folder_fd = weir_runtime_folder_open(path, owner, false);
    if (folder_fd < 0)
        return;
    int listed_fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = listed_fd < 0 ? NULL : fdopendir(listed_fd);
    if (!folder && listed_fd >= 0)
        close(listed_fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!is_socket_name(entry->d_name))
            continue;
        int fd = weir_runtime_socket_connect(folder_fd, entry->d_name, owner, PATIENCE_MS);
        if (fd >= 0)
            add(search, fd, owner);
        else if (fd == -ECONNREFUSED && owner == geteuid())
            unlinkat(folder_fd, entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    close(folder_fd);
}

/* The folders are /run/user/UID, which pam_systemd(8) or its like makes. */
static void search_users(struct search *search)
{
    DIR *users = opendir(FOLDERS_OF_USERS);
    for (const struct dirent *entry; users && (entry = readdir(users));) {
        char path[PATH_MAX], *end;
        unsigned long user = strtoul(entry->d_name, &end, 10);
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || *end != '\0' || user > UINT32_MAX)
            continue;
        snprintf(path, sizeof(path), FOLDERS_OF_USERS "/%lu/weir", user);
        search_folder(search, path, (uid_t)user);
    }
    if (users)
        closedir(users);
}

static int by_pid(const void *a, const void *b)
{
    const struct weir_running *one = a, *other = b;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

int weir_recordings_find(struct weir_recordings *recordings, const pid_t *pids, size_t pid_count)
{
    char own[PATH_MAX];
    *recordings = (struct weir_recordings){.at = calloc(WEIR_RECORDINGS_MAX, sizeof(*recordings->at))};
    if (!recordings->at)
        return -ENOMEM;
    struct search search = {.found = recordings, .pids = pids, .pid_count = pid_count};
    if (weir_runtime_folder_path(own) == 0)
        search_folder(&search, own, geteuid());
    if (geteuid() == 0) {
        search_folder(&search, FOLDER_OF_ROOT, 0);
        search_users(&search);
    }
    qsort(recordings->at, recordings->count, sizeof(*recordings->at), by_pid);
    return 0;
}

/* The address of the other end is the name in the folder, by a descriptor that is closed: search again. */
int weir_recordings_connect_again(const struct weir_running *running)
{
    struct weir_recordings again;
    int fd = weir_recordings_find(&again, &running->pid, 1);
    if (fd == 0)
        fd = again.count == 1 && again.at[0].user == running->user ? again.at[0].fd : -ENOENT;
    if (fd >= 0)
        again.count = 0;
    weir_recordings_fini(&again);
    return fd;
}

void weir_recordings_fini(struct weir_recordings *recordings)
{
    if (!recordings)
        return;
    for (size_t i = 0; i < recordings->count; i++) {
        if (recordings->at[i].fd >= 0)
            close(recordings->at[i].fd);
    }
    free(recordings->at);
    *recordings = (struct weir_recordings){0};
}

void weir_recordings_append_command(struct weir_buf *out, pid_t pid)
{
    char path[64], text[COMMAND_BYTES_MAX];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        close(fd);
    if (got <= 0) {
        weir_buf_printf(out, "?");
        return;
    }
    got -= text[got - 1] == '\0';
    for (ssize_t i = 0; i < got; i++)
        text[i] = text[i] == '\0' ? ' ' : text[i];
    weir_text_append(out, text, (size_t)got);
}

/* ---- talking ---- */

static int fail(int code, struct weir_error *err)
{
    if (code == -EPIPE || code == -ECONNRESET)
        return weir_error_set(err, -EPIPE, "the recording has ended");
    if (code == -EAGAIN)
        return weir_error_set(err, code, "the recording does not answer");
    if (code == -EPROTO)
        return weir_error_set(err, code, "the answer is not one of a recording");
    return weir_error_set_errno(err, code, "cannot ask the recording");
}

int weir_recordings_conclude(struct weir_buf *answer, struct weir_error *err)
{
    static const char ack[] = "ack\n", refused[] = "error: ";
    size_t ack_bytes = sizeof(ack) - 1, refused_bytes = sizeof(refused) - 1;
    if (weir_buf_error(answer))
        return fail(weir_buf_error(answer), err);
    const char *text = weir_buf_str(answer);
    if (strncmp(text, refused, refused_bytes) == 0) {
        struct weir_buf reason = WEIR_BUF_INIT;
        weir_text_append(&reason, text + refused_bytes, strcspn(text + refused_bytes, "\n"));
        weir_error_set(err, -EREMOTEIO, "%s", weir_buf_str(&reason));
        weir_buf_fini(&reason);
        return -EREMOTEIO;
    }
    if (answer->used < ack_bytes || memcmp(answer->data + answer->used - ack_bytes, ack, ack_bytes) != 0)
        return fail(-EPROTO, err);
    answer->used -= ack_bytes;
    return 0;
}

int weir_recordings_ask(int fd, const char *command, struct weir_buf *answer, struct weir_error *err)
{
    char line[64], part[4096];
    int length = snprintf(line, sizeof(line), "%s\n", command);
    if (send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
        return fail(errno ? -errno : -EPIPE, err);
    for (;;) {
        ssize_t got = recv(fd, part, sizeof(part), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail(got < 0 ? -errno : -EPIPE, err);
        const char *end = memchr(part, '\0', (size_t)got);
        weir_buf_append(answer, part, end ? (size_t)(end - part) : (size_t)got);
        if (end)
            return weir_recordings_conclude(answer, err);
        if (answer->used > WEIR_ANSWER_BYTES_MAX)
            return fail(-EMSGSIZE, err);
    }
}
