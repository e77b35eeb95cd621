/*
 * Calls a watch (record_watch.h) in its period while data flows. Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_STATUS_TICKER_H
#define WEIR_ENGINE_SESSION_STATUS_TICKER_H

#include "base/buf.h"
#include "base/error.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/record_watch.h"
#include "engine/session/status.h"

struct weir_status_ticker {
    const struct weir_record_watch *watch; /* borrowed; NULL: the ticker is not open */
    struct weir_status_sources (*sources)(void *ctx);
    void *ctx;            /* borrowed */
    int timer_fd;         /* owned; -1: none */
    struct weir_buf line; /* owned; of the last tick */
};

/* Begins to tick, by `polls` (borrowed until close()). 0 or -errno with err. The ticker must stay where it is. */
int weir_status_ticker_open(struct weir_status_ticker *ticker, const struct weir_record_watch *watch,
                            struct weir_poll_set *polls, struct weir_error *err);

/* Call this when `polls` is polled no more. NULL-safe; an unopened ticker is fine. */
void weir_status_ticker_close(struct weir_status_ticker *ticker);

#endif
