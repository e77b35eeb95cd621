/*
 * Where control commands come from: the descriptors or fifos of --control, and the socket that the workload's own
 * programs talk to (libweir). Each client is a channel (control_channel.h).
 *
 * The socket has an abstract address (unix(7)), which leaves nothing behind whatever happens to weir; the workload
 * finds it in its environment, WEIR_CONTROL=unix:@NAME. Whoever runs as the user that weir runs as, or as root, may
 * connect.
 *
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_CONTROL_H
#define WEIR_ENGINE_SESSION_CONTROL_H

#include <stdbool.h>

#include "base/error.h"
#include "engine/session/control_channel.h"

#define WEIR_CONTROL_ENVIRONMENT "WEIR_CONTROL"
#define WEIR_CONTROL_CLIENTS     128 /* of the socket, at a time; more are turned away */

/* The argument of --control: "fd:CTL[,ACK]" or "fifo:CTL[,ACK]". */
struct weir_control_spec {
    bool given;
    int ctl_fd, ack_fd;        /* of the caller's; -1: none */
    char *ctl_path, *ack_path; /* owned; NULL: none */
};

#define WEIR_CONTROL_SPEC_INIT    \
    {                             \
        false, -1, -1, NULL, NULL \
    }

/* Touches no file. 0, -EINVAL with err, -ENOMEM; *spec is untouched on failure, what it had is freed otherwise. */
int weir_control_spec_parse(struct weir_control_spec *spec, const char *text, struct weir_error *err);

/* NULL-safe, idempotent. */
void weir_control_spec_fini(struct weir_control_spec *spec);

struct weir_control {
    struct weir_control_host host;
    struct weir_control_channel channel; /* of --control */
    bool has_channel;
    bool has_socket;
    bool told_deaf;                                            /* that a client could not be accepted for now */
    int listen_fd;                                             /* owned, with has_socket; -1: none */
    int retry_fd;                                              /* the same; a timer, which is set meanwhile */
    struct weir_control_client *clients[WEIR_CONTROL_CLIENTS]; /* owned */
    char environment[64];                                      /* "WEIR_CONTROL=..." for the workload; "": none */
};

/* control must stay in place until fini(). */
void weir_control_init(struct weir_control *control, const struct weir_control_host *host);

/*
 * Opens what spec names, as perf does: fifos for reading and writing, so that the other end may be opened and closed at
 * will. Nothing that is shared with whoever gave us a descriptor is changed: it is opened anew where it does not
 * block. 0 or -errno with err (names the option's part).
 */
int weir_control_open(struct weir_control *control, const struct weir_control_spec *spec, struct weir_error *err);

/* Makes the socket and control->environment. 0 or -errno with err. */
int weir_control_listen(struct weir_control *control, struct weir_error *err);

/*
 * Recording has ended, but weir waits for its command: closes the socket, and has the channel of --control listen in
 * other sources from now on (borrowed until fini()), where it refuses what it is asked for. It stays open: whoever
 * waits there for an answer may have the descriptors from elsewhere, and would see no end. No request is under way.
 */
void weir_control_end(struct weir_control *control, struct weir_poll_set *sources);

/* Closes all; clients that wait for an answer see their end. After the triggers' last word. NULL-safe, idempotent. */
void weir_control_fini(struct weir_control *control);

#endif
