/*
 * The names of the kernel's generic cache events: LEVEL[-OPERATION][-RESULT]. Constant; any thread; no allocation.
 *
 * Source: perf_event_open(2), PERF_TYPE_HW_CACHE. Spellings and defaults are those of perf 6.1: loads without an
 * operation, accesses without a result. Operation and result stand in either order (`perf record -vv -e
 * LLC-misses-loads` shows the config).
 */
#ifndef WEIR_ENGINE_EVENTS_CACHE_EVENTS_H
#define WEIR_ENGINE_EVENTS_CACHE_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds the config of an event by any of its spellings. The name need not be terminated. 0; -ENOENT: the name does not
 * begin with a cache; -EINVAL: it does, and the words after the cache are wrong: *what (a constant text) says how.
 */
int weir_cache_event_find(const char *name, size_t length, uint64_t *config, const char **what);

/* Calls visit with the canonical name of each event until visit returns non-zero, and returns that; else 0. */
int weir_cache_events_visit(int (*visit)(void *ctx, const char *name), void *ctx);

#endif
