/*
 * The descriptors that a thread waits for, each with a function that is called when it is ready.
 *
 * A source is known by its descriptor, which is added once. Callbacks may add and remove sources, also their own. The
 * next weir_poll_set_wait() waits for an added source; a removed source is not called any more. Callbacks run in the
 * order in which the sources were added. weir_poll_set_move_last() changes this order, so that sources can take turns.
 *
 * One thread. For hundreds of descriptors use an epoll(7) descriptor as one source.
 */
#ifndef WEIR_ENGINE_KERNEL_POLL_SET_H
#define WEIR_ENGINE_KERNEL_POLL_SET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*weir_poll_ready)(void *ctx, short revents);

struct weir_poll_source {
    int fd;       /* borrowed; -1: removed */
    short events; /* POLLIN, POLLOUT */
    bool again;   /* the next wait() calls ready() in any case */
    weir_poll_ready ready;
    void *ctx; /* borrowed */
};

struct weir_poll_set {
    struct weir_poll_source *sources; /* owned */
    struct pollfd *fds;               /* owned; scratch of wait(), [capacity] */
    size_t count;                     /* with removed sources, until the next wait() */
    size_t capacity;
    uint64_t turns; /* calls of wait() so far */
};

#define WEIR_POLL_SET_INIT  \
    {                       \
        NULL, NULL, 0, 0, 0 \
    }

/* Frees the memory, and leaves the descriptors open. NULL-safe, idempotent. */
void weir_poll_set_fini(struct weir_poll_set *set);

/* Adds fd, which is >= 0 and not in the set: wait() waits for its `events`, and for errors and hang-ups, which poll(2)
 * always reports. 0 or -ENOMEM. */
int weir_poll_set_add(struct weir_poll_set *set, int fd, short events, weir_poll_ready ready, void *ctx);

/* Changes the events of fd, which is in the set. 0: nothing, not even errors and hang-ups. */
void weir_poll_set_change(struct weir_poll_set *set, int fd, short events);

/* Makes the next wait() call the function of fd, which is in the set, even if fd is not ready (revents 0). That wait()
 * does not sleep. For a source that has input left in a buffer of its own. */
void weir_poll_set_call_again(struct weir_poll_set *set, int fd);

/* Puts fd, which is in the set, behind all other sources. A wait() under way calls no source twice and leaves none out
 * because of the move. If memory runs out, the order stays. */
void weir_poll_set_move_last(struct weir_poll_set *set, int fd);

/* Removes fd if it is in the set. Call it before fd is closed. */
void weir_poll_set_remove(struct weir_poll_set *set, int fd);

/* Sleeps until a source is ready, a signal handler ran or timeout_ms have passed (-1: for ever, 0: does not sleep).
 * Calls the functions of the ready sources, and returns their number. */
unsigned weir_poll_set_wait(struct weir_poll_set *set, int timeout_ms);

#endif
