/* A connection to a recording on which one question at a time is under way. Never waits for the answer. Main thread. */
#ifndef WEIR_CLI_TOP_LINK_H
#define WEIR_CLI_TOP_LINK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

struct weir_top_link {
    int fd;        /* owned; -1: closed */
    bool awaiting; /* a question is under way */
    struct weir_buf answer;
};

#define WEIR_TOP_LINK_INIT       \
    {                            \
        -1, false, WEIR_BUF_INIT \
    }

/* Takes ownership of fd. */
void weir_top_link_open(struct weir_top_link *link, int fd);
void weir_top_link_close(struct weir_top_link *link);

/* Asks, unless a question is under way. 0, -EALREADY, or another -errno with err. */
int weir_top_link_ask(struct weir_top_link *link, const char *command, struct weir_error *err);

/* Takes the bytes that have come, as fd is readable. 1: the answer is whole and stands in link->answer, without its
 * "ack"; 0: more is to come; -EREMOTEIO with err: the recording refuses; -EPIPE or another -errno with err: the
 * connection is over. */
int weir_top_link_take(struct weir_top_link *link, struct weir_error *err);

#endif
