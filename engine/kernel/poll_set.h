/*
 * What a thread waits for: descriptors, each with the function that is called when it is ready.
 *
 * A source is its descriptor: it is added once, and removed by it. Callbacks may add and remove sources, their own
 * among them; one that is added is waited for from the next call on, one that is removed is not called any more.
 * Callbacks run in the order in which the sources were added.
 *
 * One thread; not for hundreds of descriptors, which belong into an epoll(7) descriptor that is one source.
 */
#ifndef WEIR_ENGINE_KERNEL_POLL_SET_H
#define WEIR_ENGINE_KERNEL_POLL_SET_H

#include <poll.h>
#include <stddef.h>

typedef void (*weir_poll_ready)(void *ctx, short revents);

struct weir_poll_source {
    int fd;       /* borrowed; -1: removed */
    short events; /* POLLIN, POLLOUT */
    weir_poll_ready ready;
    void *ctx; /* borrowed */
};

struct weir_poll_set {
    struct weir_poll_source *sources; /* owned */
    struct pollfd *fds;               /* owned; scratch of wait(), as many as there is room for sources */
    size_t count;                     /* removed ones among them, until the next wait() */
    size_t capacity;
};

#define WEIR_POLL_SET_INIT \
    {                      \
        NULL, NULL, 0, 0   \
    }

/* Frees the memory; the descriptors are the callers'. NULL-safe, idempotent. */
void weir_poll_set_fini(struct weir_poll_set *set);

/* Waits for `events` of fd from now on, and for errors and hang-ups, which poll(2) always reports. 0 or -ENOMEM; fd >=
 * 0 must not be in the set. */
int weir_poll_set_add(struct weir_poll_set *set, int fd, short events, weir_poll_ready ready, void *ctx);

/* Waits for other events of fd, which is in the set, from now on. 0: for nothing, not even errors and hang-ups. */
void weir_poll_set_change(struct weir_poll_set *set, int fd, short events);

/* Takes fd out. One that is not in the set is passed over. Before fd is closed. */
void weir_poll_set_remove(struct weir_poll_set *set, int fd);

/* Sleeps until a source is ready, a signal handler ran or timeout_ms have passed (-1: for ever, 0: does not sleep), and
 * calls what is ready. Returns how many were called. */
unsigned weir_poll_set_wait(struct weir_poll_set *set, int timeout_ms);

#endif
