/*
 * The running recordings that the user may ask: connections to the sockets in runtime folders (docs/control.md).
 *
 * A user finds the recordings in the user's own folder; root also those in /run/weir and in the folder of each user
 * below /run/user. Each connection is checked: the owner of the folder must be the user who listens. A socket whose
 * recorder was killed is removed from the user's own folder, and left out.
 *
 * Main thread. The listening process may be slow or hostile. So each wait has a bound, and answers are bytes to be
 * parsed.
 */
#ifndef WEIR_CLI_RECORDINGS_H
#define WEIR_CLI_RECORDINGS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

#define WEIR_RECORDINGS_MAX   256u /* further ones are left out */
#define WEIR_ANSWER_BYTES_MAX (16u << 20)

struct weir_running {
    int fd; /* owned; the connection */
    pid_t pid;
    uid_t user;
};

struct weir_recordings {
    struct weir_running *at; /* owned; in the order of pid */
    size_t count;
};

/* Connects to the recordings of the given processes, or to all (pid_count 0). 0, or -ENOMEM; none found is no failure.
 */
int weir_recordings_find(struct weir_recordings *recordings, const pid_t *pids, size_t pid_count);

/* Connects once more to the same recording, for a second command under way. Returns the descriptor, owned by the
 * caller, or -errno. */
int weir_recordings_connect_again(const struct weir_running *running);

/* NULL-safe. */
void weir_recordings_fini(struct weir_recordings *recordings);

/* Appends the command line of a process, fit for a terminal; "?" where /proc does not tell. */
void weir_recordings_append_command(struct weir_buf *out, pid_t pid);

/* Sends a command, and waits for its answer, as long as the connection waits for each part (weir_runtime_socket_
 * connect()). answer: the lines before "ack". 0; -EREMOTEIO with err: the recording refuses; -EPIPE: it has ended;
 * -EAGAIN: it does not answer; -EMSGSIZE; -EPROTO; or -ENOMEM; each with err. */
int weir_recordings_ask(int fd, const char *command, struct weir_buf *answer, struct weir_error *err);

/* Takes the "ack" or the error from a whole answer, without its zero byte. Returns as weir_recordings_ask(). */
int weir_recordings_conclude(struct weir_buf *answer, struct weir_error *err);

#endif
