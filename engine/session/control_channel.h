/*
 * One client of the control protocol (control_line.h): reads its commands, has them done one after the other, answers.
 *
 * An answer is what the command has to say, if anything, one line each; then the line "ack", or "error: " and why; then
 * a zero byte. So a command without words of its own is answered by "ack\n\0", which is what perf writes. perf answers
 * no command that it does not know and acknowledges those that it could not do.
 *
 * Nothing here blocks. A command that takes time (a switch) holds back the next one of the same client, but for one
 * that wants no answer and would be refused meanwhile (a snapshot, while one is being written): that is refused at
 * once, so that none is taken later than it was asked for. What a client does not read is dropped, and told once; so is
 * an answer of more than PIPE_BUF bytes to a pipe, which could not be written as a whole (a status takes about 1200). A
 * client that sends no whole line, or too long a one, harms itself only.
 *
 * The caller has SIGPIPE ignored. Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_CONTROL_CHANNEL_H
#define WEIR_ENGINE_SESSION_CONTROL_CHANNEL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/notice.h"
#include "engine/kernel/poll_set.h"
#include "engine/session/control_line.h"
#include "engine/session/trigger.h"

/* What the recording does for its clients, besides triggers. */
struct weir_control_host {
    struct weir_poll_set *sources; /* borrowed, as all of this */
    struct weir_triggers *triggers;
    const struct weir_notice_sink *notices; /* may be NULL */
    /* Switches all events of that name on or off. 0, or -ENOENT or -EINVAL with err. */
    int (*toggle_event)(void *ctx, const char *name, bool on, struct weir_error *err);
    void (*list_events)(void *ctx, enum weir_control_detail detail, struct weir_buf *out); /* lines */
    void (*tell_status)(void *ctx, struct weir_buf *out);                                  /* one line of JSON */
    void *ctx;
};

struct weir_control_channel {
    const struct weir_control_host *host; /* borrowed */
    enum weir_trigger_source source;
    int in_fd;                /* owned, does not block; -1: closed */
    int out_fd;               /* owned, does not block; -1: nobody is answered; may be in_fd */
    bool lists_to_user;       /* event lists are for the user's eyes, as perf has them, not answers */
    void (*ended)(void *ctx); /* the client has gone and owes nothing; may free the channel. NULL: none */
    void *ended_ctx;

    struct weir_poll_set *sources; /* borrowed; what in_fd is in */
    struct weir_control_lines lines;
    struct weir_trigger_request request; /* of the command that is being done */
    struct weir_buf answer;              /* owned; of the command that is being done */
    int late_error;                      /* of a line that came while a command was being done; 0: none */
    bool quiet;                          /* that command wants no answer */
    bool busy;                           /* a command is being done */
    bool handling;                       /* handle() is on the stack */
    bool at_end;                         /* the client sends no more */
    bool over;                           /* nothing can be asked for any more */
    unsigned refused;                    /* commands; the first is told */
    unsigned dropped;                    /* answers; the first is told */
};

/* Takes both descriptors over and waits for commands. The channel must stay in place until fini(). 0 or -ENOMEM, and
 * then the descriptors are closed. */
int weir_control_channel_init(struct weir_control_channel *channel, const struct weir_control_channel *setup);

/* Has it listen in other sources from now on (borrowed until fini()), and refuse all commands, because recording has
 * ended. None is being done. Without memory it is closed. */
void weir_control_channel_end(struct weir_control_channel *channel, struct weir_poll_set *sources);

/* Closes. A command that is being done must not be completed any more, so this comes after the triggers' last word,
 * or from ended(). NULL-safe. */
void weir_control_channel_fini(struct weir_control_channel *channel);

#endif
