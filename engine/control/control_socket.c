/*
 * Serves the doors: the socket for programs of the workload, which weir makes before the workload, and the socket of
 * the user. Coordinator thread; only the opening of the user's door blocks, on the file system.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/control/control_internal.h"
#include "engine/kernel/timer.h"

#define BACKLOG  128 /* connections that may wait for accept(2); beyond that connect(2) blocks */
#define RETRY_MS 100 /* delay of accept(2) after it failed for lack of descriptors or memory */

struct weir_control_client {
    struct weir_control_channel channel;
    struct weir_control *control; /* borrowed */
};

static void free_client(void *ctx)
{
    struct weir_control_client *client = ctx;
    for (size_t i = 0; i < WEIR_CONTROL_CLIENTS; i++) {
        if (client->control->clients[i] == client)
            client->control->clients[i] = NULL;
    }
    weir_control_channel_fini(&client->channel);
    free(client);
}

/* An abstract address has no permissions, and a folder may be made accessible, so weir checks the user of the client.
 */
static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return false;
    return peer.uid == 0 || peer.uid == getuid() || peer.uid == geteuid();
}

/* Makes a channel that owns fd. 0; or -errno, when the caller has to turn the client away and close fd. */
static int add_client(struct weir_control *control, int fd)
{
    struct weir_control_client **place = control->clients;
    while (place < control->clients + WEIR_CONTROL_CLIENTS && *place)
        place++;
    if (place == control->clients + WEIR_CONTROL_CLIENTS)
        return -EUSERS;
    struct weir_control_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->control = control;
    *place = client;
    if (weir_control_channel_init(&client->channel, &(struct weir_control_channel){
                                                        .host = &control->host,
                                                        .source = WEIR_TRIGGER_BY_API,
                                                        .in_fd = fd,
                                                        .out_fd = fd,
                                                        .ended = free_client,
                                                        .ended_ctx = client,
                                                    }) < 0) {
        *place = NULL;
        free(client); /* the channel has closed fd */
    }
    return 0;
}

/* Sends the reason, which the client reads as the answer to its first command. */
static void turn_away(const struct weir_control *control, int fd, int result)
{
    char answer[64];
    const char *why = result == -EACCES   ? "this user is neither weir's nor root"
                      : result == -EUSERS ? "too many programs are connected"
                                          : strerror(-result);
    weir_notice(control->host.notices, WEIR_NOTICE_VERBOSE, "a client of the recording is rejected: %s", why);
    int length = snprintf(answer, sizeof(answer), "error: %s\n", why);
    ssize_t sent = send(fd, answer, (size_t)length + 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* with the zero byte */
    (void)sent;
    close(fd);
}

/* Stops waiting for connections for RETRY_MS, because poll(2) would report the pending connection at once. A timer ends
 * the pause: weir cannot know when another client, another part of weir or another process frees the resource. */
static void look_away(struct weir_control_door *door, int code)
{
    const struct weir_control_host *host = &door->control->host;
    weir_notice(host->notices, door->told_deaf ? WEIR_NOTICE_VERBOSE : WEIR_NOTICE_WARNING,
                "programs have to wait for their connection: %s", strerror(code));
    door->told_deaf = true;
    weir_poll_set_change(host->sources, door->listen_fd, 0);
    weir_timer_set_after(door->retry_fd, RETRY_MS * WEIR_NS_PER_MS);
}

static void on_retry(void *ctx, short revents)
{
    struct weir_control_door *door = ctx;
    (void)revents;
    weir_timer_drain(door->retry_fd);
    weir_poll_set_change(door->control->host.sources, door->listen_fd, POLLIN);
}

static void on_connection(void *ctx, short revents)
{
    struct weir_control_door *door = ctx;
    (void)revents;
    int fd = accept4(door->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
        look_away(door, errno);
    if (fd < 0)
        return; /* the client has gone again, or accept(2) will be repeated */
    int result = is_allowed(fd) ? add_client(door->control, fd) : -EACCES;
    if (result < 0)
        turn_away(door->control, fd, result);
}

/* ---- doors ---- */

static void close_door(struct weir_control_door *door)
{
    if (!door->control)
        return;
    const int fds[] = {door->listen_fd, door->retry_fd};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fds); i++) {
        weir_poll_set_remove(door->control->host.sources, fds[i]);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    door->control = NULL;
}

/* Takes ownership of listen_fd, which is a listening socket or the -errno of its making. 0 or -errno. */
static int open_door(struct weir_control *control, struct weir_control_door *door, int listen_fd)
{
    struct weir_poll_set *sources = control->host.sources;
    if (listen_fd < 0)
        return listen_fd;
    *door = (struct weir_control_door){.control = control, .listen_fd = listen_fd, .retry_fd = weir_timer_open()};
    int result = door->retry_fd < 0 ? door->retry_fd : 0;
    if (result == 0)
        result = weir_poll_set_add(sources, door->listen_fd, POLLIN, on_connection, door);
    if (result == 0)
        result = weir_poll_set_add(sources, door->retry_fd, POLLIN, on_retry, door);
    if (result < 0)
        close_door(door);
    return result;
}

/* Has the kernel choose an abstract address (unix(7), "Autobind feature"), and writes the variable for the workload.
 * Returns the listening descriptor or -errno. */
static int listen_somewhere(struct weir_control *control)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t bytes = sizeof(address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    int length = (int)(bytes - offsetof(struct sockaddr_un, sun_path)) - 1; /* without the leading zero byte */
    snprintf(control->environment, sizeof(control->environment), WEIR_CONTROL_ENVIRONMENT "=unix:@%.*s", length,
             address.sun_path + 1);
    return fd;
}

int weir_control_listen(struct weir_control *control, struct weir_error *err)
{
    int result = open_door(control, &control->workload_door, listen_somewhere(control));
    if (result == 0)
        return 0;
    control->environment[0] = '\0';
    return weir_error_set_errno(err, result, "cannot make the socket for programs of the workload");
}

int weir_control_listen_to_user(struct weir_control *control, struct weir_error *err)
{
    int fd = weir_runtime_socket_listen(&control->user_socket, BACKLOG);
    int result = open_door(control, &control->user_door, fd);
    if (result == 0)
        return 0;
    weir_runtime_socket_remove(&control->user_socket);
    return weir_error_set_errno(err, result, "weir status and weir top cannot find this recording");
}

void weir_control_close_doors(struct weir_control *control)
{
    for (size_t i = 0; i < WEIR_CONTROL_CLIENTS; i++) {
        if (control->clients[i])
            free_client(control->clients[i]);
    }
    weir_runtime_socket_remove(&control->user_socket);
    close_door(&control->user_door);
    close_door(&control->workload_door);
    control->environment[0] = '\0';
}
