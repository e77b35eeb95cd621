/*
 * --lease: a recording ends by itself when no client controls it any more. A controller renews the lease by the command
 * "lease" (control_line.h). The lease runs out when no client renews it for its whole length.
 *
 * Time is monotonic: time in which the machine is suspended does not count. Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_LEASE_H
#define WEIR_ENGINE_CONTROL_LEASE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/kernel/poll_set.h"

struct weir_lease_setup {
    uint64_t length_s;
    const struct weir_clock *clock; /* borrowed; monotonic */
    struct weir_poll_set *polls;    /* borrowed until close() */
    void (*run_out)(void *ctx);     /* called once */
    void *ctx;                      /* borrowed */
};

struct weir_lease {
    struct weir_lease_setup setup;
    int timer_fd;      /* owned; -1: there is no lease */
    uint64_t until_ns; /* 0: the lease has not begun */
};

#define WEIR_LEASE_INIT \
    {                   \
        .timer_fd = -1  \
    }

/* Makes a lease, which begins with the first weir_lease_renew(). lease: as WEIR_LEASE_INIT; it stays where it is. 0 or
 * -errno with err. */
int weir_lease_open(struct weir_lease *lease, const struct weir_lease_setup *setup, struct weir_error *err);

/* Begins or renews the lease. 0; -EOPNOTSUPP with err: there is none. */
int weir_lease_renew(struct weir_lease *lease, struct weir_error *err);

/* The time left, at least 1. 0: there is no lease, or it has not begun. */
uint64_t weir_lease_left_ns(const struct weir_lease *lease);

/* Call this when `polls` is polled no more. NULL-safe, idempotent. */
void weir_lease_close(struct weir_lease *lease);

#endif
