/*
 * Serves one client of the control protocol (control_line.h): reads commands, executes them one after another, and
 * answers.
 *
 * An answer consists of the lines that the command prints, then the line "ack" or a line "error: REASON", then a zero
 * byte. So weir answers a command that prints nothing with "ack\n\0", as perf does. Unlike weir, perf sends no answer
 * to an unknown command, and acknowledges a command that failed.
 *
 * No function blocks. While a command takes time (a rotation), the client's next command waits. The exception is a
 * command without an answer that its trigger would refuse now, such as a snapshot during another one. weir refuses that
 * command at once, so that it takes no snapshot later than the client asked for.
 *
 * Each call of the loop handles one command of a client, and WEIR_CONTROL_COMMANDS of all clients. Clients take turns:
 * a client whose command was handled goes behind the others. So a turn of the loop stays short whatever clients send.
 *
 * weir drops an answer that the client does not read, and warns once. weir also drops an answer of more than PIPE_BUF
 * bytes to a pipe, because such a write is not atomic. (A status takes about 1200 bytes.) A client that sends an
 * incomplete line or too long a line harms only itself.
 *
 * The caller ignores SIGPIPE. Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_CONTROL_CHANNEL_H
#define WEIR_ENGINE_CONTROL_CONTROL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/notice.h"
#include "engine/control/control_line.h"
#include "engine/control/trigger.h"
#include "engine/kernel/poll_set.h"

#define WEIR_CONTROL_COMMANDS 8 /* of all clients, in a turn of the loop */

/* Commands that all channels have handled in this turn of the loop. */
struct weir_control_budget {
    uint64_t turn; /* turns of the poll set */
    unsigned used;
};

/* The services of the recording for its channels. All pointers are borrowed until the channel's fini(). */
struct weir_control_host {
    struct weir_poll_set *sources;
    struct weir_control_budget *budget;
    struct weir_triggers *triggers;
    const struct weir_notice_sink *notices; /* may be NULL */
    /* Enables or disables all events of that name. 0, or an error of weir_event_toggle_named() with err. */
    int (*toggle_event)(void *ctx, const char *name, bool on, struct weir_error *err);
    /* Renews the lease (lease.h). 0, or -EOPNOTSUPP with err: there is none. */
    int (*renew_lease)(void *ctx, struct weir_error *err);
    void (*list_events)(void *ctx, enum weir_control_detail detail, struct weir_buf *out); /* lines */
    void (*tell_status)(void *ctx, enum weir_control_detail detail, struct weir_buf *out); /* one line of JSON */
    void *ctx;
};

struct weir_control_channel {
    const struct weir_control_host *host; /* borrowed */
    enum weir_trigger_source source;
    int in_fd;          /* owned; -1: closed */
    int out_fd;         /* owned; -1: the client gets no answers; may equal in_fd */
    bool lists_to_user; /* event lists go to the notices, as in perf, and not into the answer */
    void (*ended)(
        void *ctx); /* the client has closed its end and waits for nothing; may free the channel. NULL: none */
    void *ended_ctx;

    struct weir_poll_set *sources; /* borrowed; in_fd is among them */
    struct weir_control_lines lines;
    struct weir_trigger_request request; /* of the command under way */
    struct weir_buf answer;              /* owned; of the command under way */
    int late_error;                      /* of a line that arrived while a command was under way; 0: none */
    bool quiet;                          /* the command under way wants no answer */
    bool busy;                           /* a command is under way */
    bool handling;                       /* handle() is on the stack */
    bool at_end;                         /* the client sends no more */
    bool over;                           /* recording has ended: each command is refused */
    unsigned refused;                    /* number of refused commands; the first refusal is a warning */
    unsigned dropped;                    /* number of dropped answers; the first one is a warning */
};

/* Takes ownership of both descriptors of setup and begins to wait for commands. The channel must stay in place until
 * fini(). 0, or -ENOMEM after closing the descriptors. */
int weir_control_channel_init(struct weir_control_channel *channel, const struct weir_control_channel *setup);

/* Moves the channel to other sources (borrowed until fini()), where it refuses each command because recording has
 * ended. Call this when no command is under way. If memory runs out, closes the channel. */
void weir_control_channel_end(struct weir_control_channel *channel, struct weir_poll_set *sources);

/* Closes the channel. Call this from ended(), or when no trigger will complete the command under way any more.
 * NULL-safe. */
void weir_control_channel_fini(struct weir_control_channel *channel);

#endif
