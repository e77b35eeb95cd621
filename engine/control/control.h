/*
 * Receives control commands, from the descriptors or fifos of --control and from a socket for programs of the workload
 * (libweir). Each client is a channel (control_channel.h).
 *
 * weir listens at two doors. The door of the workload has an abstract address (unix(7)), which the workload finds in
 * its environment: WEIR_CONTROL=unix:@NAME. The door of the user is a socket in the user's runtime folder
 * (runtime_folder.h). `weir status` and `weir top` find the socket there. weir accepts clients of its own user and of
 * root.
 *
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_CONTROL_H
#define WEIR_ENGINE_CONTROL_CONTROL_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/control/control_channel.h"
#include "engine/control/runtime_folder.h"
#include "engine/plan/control_spec.h"

#define WEIR_CONTROL_ENVIRONMENT "WEIR_CONTROL"
#define WEIR_CONTROL_CLIENTS     128 /* of both doors, at a time; weir turns further clients away */

struct weir_control;

struct weir_control_door {
    struct weir_control *control; /* borrowed; NULL: the door is closed */
    int listen_fd;                /* owned; -1: none */
    int retry_fd;                 /* owned timerfd: the next accept(2); -1: none */
    bool told_deaf;               /* warned that a client has to wait for accept(2) */
};

struct weir_control {
    struct weir_control_host host;
    struct weir_control_budget budget;
    struct weir_control_channel channel; /* of --control */
    bool has_channel;
    struct weir_control_door workload_door, user_door;
    struct weir_runtime_socket user_socket;                    /* the name of the user's door */
    struct weir_control_client *clients[WEIR_CONTROL_CLIENTS]; /* owned; of both doors */
    char environment[64];                                      /* "WEIR_CONTROL=..." for the workload; "": none */
};

/* control must stay in place until fini(). */
void weir_control_init(struct weir_control *control, const struct weir_control_host *host);

/*
 * Opens the descriptors or fifos of spec. Like perf, weir opens each fifo for reading and writing. So the other end may
 * be closed and opened again at any time. weir does not change flags of a description that it shares with the caller.
 * Where a descriptor might block, weir opens the file anew. 0 or -errno with err, which names the part of the option.
 */
int weir_control_open(struct weir_control *control, const struct weir_control_spec *spec, struct weir_error *err);

/* Opens the door of the workload, and makes control->environment. 0 or -errno with err. */
int weir_control_listen(struct weir_control *control, struct weir_error *err);

/* Opens the door of the user. 0 or -errno with err; the recording can do without. */
int weir_control_listen_to_user(struct weir_control *control, struct weir_error *err);

/*
 * Ends the service of commands after recording has ended, while weir waits for the workload. Closes the doors, and
 * moves the channel of --control to other sources (borrowed until fini()), where it refuses each command. The channel
 * stays open: another process may hold its descriptors as well, so a waiting client would see no end of file. Call this
 * when no request is under way.
 */
void weir_control_end(struct weir_control *control, struct weir_poll_set *sources);

/* Closes all channels and the doors; clients that wait for an answer see the end of file. Call this
 * when no trigger will complete a command any more. NULL-safe, idempotent. */
void weir_control_fini(struct weir_control *control);

#endif
