/* Arrays of sources, waited for with poll(2). */
#include "engine/kernel/poll_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bits.h"

#define FIRST_CAPACITY 8

void weir_poll_set_fini(struct weir_poll_set *set)
{
    if (!set)
        return;
    free(set->sources);
    free(set->fds);
    *set = (struct weir_poll_set)WEIR_POLL_SET_INIT;
}

static struct weir_poll_source *find(struct weir_poll_set *set, int fd)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->sources[i].fd == fd)
            return &set->sources[i];
    }
    return NULL;
}

static int grow(struct weir_poll_set *set)
{
    size_t capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY;
    struct weir_poll_source *sources = reallocarray(set->sources, capacity, sizeof(*sources));
    if (!sources)
        return -ENOMEM;
    set->sources = sources;
    struct pollfd *fds = reallocarray(set->fds, capacity, sizeof(*fds));
    if (!fds)
        return -ENOMEM;
    set->fds = fds;
    set->capacity = capacity;
    return 0;
}

int weir_poll_set_add(struct weir_poll_set *set, int fd, short events, weir_poll_ready ready, void *ctx)
{
    weir_assert(fd >= 0 && !find(set, fd));
    int result = set->count == set->capacity ? grow(set) : 0;
    if (result < 0)
        return result;
    set->sources[set->count++] = (struct weir_poll_source){.fd = fd, .events = events, .ready = ready, .ctx = ctx};
    return 0;
}

void weir_poll_set_change(struct weir_poll_set *set, int fd, short events)
{
    struct weir_poll_source *source = find(set, fd);
    weir_assert(source);
    source->events = events;
}

void weir_poll_set_call_again(struct weir_poll_set *set, int fd)
{
    struct weir_poll_source *source = find(set, fd);
    weir_assert(source);
    source->again = true;
}

void weir_poll_set_move_last(struct weir_poll_set *set, int fd)
{
    weir_assert(find(set, fd));
    if (set->count == set->capacity && grow(set) < 0)
        return;
    struct weir_poll_source *source = find(set, fd);
    set->sources[set->count++] = *source;
    source->fd = -1; /* as remove() leaves it: a wait() that is under way does not reach the new place */
}

void weir_poll_set_remove(struct weir_poll_set *set, int fd)
{
    struct weir_poll_source *source = fd >= 0 ? find(set, fd) : NULL;
    if (source)
        source->fd =
            -1; /* its place stays until the next wait(): this may be called while the sources are gone through */
}

static void forget_removed(struct weir_poll_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->sources[i].fd >= 0)
            set->sources[kept++] = set->sources[i];
    }
    set->count = kept;
}

unsigned weir_poll_set_wait(struct weir_poll_set *set, int timeout_ms)
{
    forget_removed(set);
    set->turns++;
    size_t waited_for = set->count;
    for (size_t i = 0; i < waited_for; i++) {
        const struct weir_poll_source *source = &set->sources[i];
        /* poll(2) ignores a negative descriptor. */
        set->fds[i] = (struct pollfd){.fd = source->events ? source->fd : -1, .events = source->events};
        if (source->again)
            timeout_ms = 0;
    }
    if (poll(set->fds, waited_for, timeout_ms) < 0)
        return 0; /* a source that is to be called again keeps its mark */
    unsigned called = 0;
    for (size_t i = 0; i < waited_for; i++) {
        /* A callback may reallocate both arrays: keep no pointer into them across one. */
        const struct weir_poll_source source = set->sources[i];
        short revents = set->fds[i].revents;
        if ((revents == 0 && !source.again) || source.fd < 0)
            continue;
        set->sources[i].again = false;
        source.ready(source.ctx, revents);
        called++;
    }
    return called;
}
