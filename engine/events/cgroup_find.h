/*
 * Finds cgroups by the names that users know: patterns of paths, units of systemd, containers. Main thread, set-up.
 *
 * All are folders of the hierarchy that perf events know (format/cgroup_mount.h).
 *
 *     unit        the folder of that name; weir adds ".service" to a name without a type. A template (getty@) and a
 *                 pattern mean all of their instances. Units of users' managers (below user@UID.service) count only
 *                 where the system's manager has no unit of the name
 *     container   the folder whose name ends in an id of 64 hexadecimal digits that begins with the given id:
 *                 docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, docker/ID,
 *                 kubepods/.../ID; or machine-NAME.scope of systemd-machined(8)
 *     pattern     as glob(7), of a path in the hierarchy or of an absolute path into it
 *
 * Folders below a found one belong to it and are not looked at. Any user who may make cgroups can shape the trees. So
 * weir follows no symbolic links, and depth and number are bounded.
 */
#ifndef WEIR_ENGINE_EVENTS_CGROUP_FIND_H
#define WEIR_ENGINE_EVENTS_CGROUP_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define WEIR_CGROUP_FIND_MAX 256 /* cgroups of one recording: each has all events on all CPUs */

enum weir_cgroup_kind {
    WEIR_CGROUP_PATTERN,
    WEIR_CGROUP_UNIT,
    WEIR_CGROUP_CONTAINER,
};

/* Paths in the hierarchy, each once, in the order of the names and then of the alphabet. All zero: none. */
struct weir_cgroup_paths {
    char **at; /* owned */
    size_t count, capacity;
};

/* NULL-safe, idempotent. */
void weir_cgroup_paths_fini(struct weir_cgroup_paths *paths);

/*
 * Appends the cgroups of a name. mounts NULL: /proc/self/mounts. 0; -ENODEV: no mounted hierarchy knows perf events;
 * -ENOENT: no cgroup has the name; -ENOTUNIQ: several containers have it; -E2BIG: there are too many; -ENOMEM; each
 * with err and hint. Reads folders, and blocks as they do.
 */
int weir_cgroup_find(enum weir_cgroup_kind kind, const char *name, const char *mounts, struct weir_cgroup_paths *paths,
                     struct weir_error *err);

/* Whether a name of -G is a pattern. */
bool weir_cgroup_is_pattern(const char *name);

/* Whether text may be the beginning of a container's id. */
bool weir_cgroup_is_container_id(const char *text);

#endif
