/* The names of -G, and the folders behind them. Source of the rules: parse_cgroups(), tools/perf/util/cgroup.c,
 * Linux 6.1. */
#include "engine/events/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/cgroup_mount.h"

static int set_name(struct weir_event *event, const char *name, size_t length)
{
    char *copy = strndup(name, length);
    if (!copy)
        return -ENOMEM;
    free(event->cgroup);
    event->cgroup = copy;
    return 0;
}

static int no_event_left(const char *name, size_t length, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "cgroup '%.*s' has no event", (int)length, name);
    weir_error_hint(err, "events come before their cgroups: -e cs,faults -G A,B; one cgroup alone is for all of them");
    return -EINVAL;
}

int weir_cgroup_assign(struct weir_event_list *list, const char *names, size_t *given, struct weir_error *err)
{
    int result = 0;
    for (const char *name = names; result == 0 && name; (*given)++) {
        size_t length = strcspn(name, ",");
        if (length > 0 && *given >= list->count)
            return no_event_left(name, length, err);
        if (length > 0)
            result = set_name(&list->events[*given], name, length);
        name = name[length] ? name + length + 1 : NULL;
    }
    const char *only = list->count > 0 && *given == 1 ? list->events[0].cgroup : NULL;
    for (size_t i = 1; result == 0 && only && i < list->count; i++)
        result = set_name(&list->events[i], only, strlen(only));
    return result < 0 ? weir_error_set_errno(err, result, "cannot keep the cgroups '%s'", names) : 0;
}

int weir_cgroup_assign_path(struct weir_event_list *list, size_t first, const char *path, struct weir_error *err)
{
    int result = 0;
    for (size_t i = first; result == 0 && i < list->count; i++)
        result = set_name(&list->events[i], path, strlen(path));
    return result < 0 ? weir_error_set_errno(err, result, "cannot keep the cgroup '%s'", path) : 0;
}

/* The part of an absolute path that is below the hierarchy. Other paths, also such as /a, are below it anyway. */
static const char *below(const char *name, const char *hierarchy)
{
    size_t length = strlen(hierarchy);
    bool is_into = strncmp(name, hierarchy, length) == 0 && (name[length] == '/' || name[length] == '\0');
    return is_into ? name + length : name;
}

static int open_one(struct weir_event *event, const char *hierarchy, struct weir_error *err)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/%s", hierarchy, below(event->cgroup, hierarchy));
    int fd = (size_t)length < sizeof(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) {
        int code = (size_t)length < sizeof(path) ? -errno : -ENAMETOOLONG;
        weir_error_set_errno(err, code, "cannot open cgroup '%s' in %s", event->cgroup, hierarchy);
        weir_error_hint(err, "cgroups are the folders there: find %s -type d", hierarchy);
        return code;
    }
    event->cgroup_fd = fd;
    return 0;
}

/* The descriptor of an earlier event of the same cgroup; -1: there is none. */
static int find_open(const struct weir_event_list *list, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const struct weir_event *earlier = &list->events[i];
        if (earlier->cgroup && strcmp(earlier->cgroup, list->events[index].cgroup) == 0)
            return earlier->cgroup_fd;
    }
    return -1;
}

int weir_cgroup_open(struct weir_event_list *list, const char *mounts, struct weir_error *err)
{
    char hierarchy[PATH_MAX] = "";
    for (size_t i = 0; i < list->count; i++) {
        struct weir_event *event = &list->events[i];
        if (!event->cgroup || event->cgroup_fd >= 0)
            continue;
        event->cgroup_fd = find_open(list, i);
        event->shares_cgroup_fd = event->cgroup_fd >= 0;
        if (event->shares_cgroup_fd)
            continue;
        if (!hierarchy[0] && !weir_cgroup_mount_find(mounts ? mounts : "/proc/self/mounts", hierarchy)) {
            weir_error_set(err, -ENODEV, "no cgroup hierarchy is mounted that knows perf events (cgroup '%s')",
                           event->cgroup);
            weir_error_hint(err, "mount -t cgroup2 none /sys/fs/cgroup");
            return -ENODEV;
        }
        int result = open_one(event, hierarchy, err);
        if (result < 0)
            return result;
    }
    return 0;
}

unsigned weir_cgroup_count_fds(const struct weir_event_list *list)
{
    unsigned count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += list->events[i].cgroup_fd >= 0 && !list->events[i].shares_cgroup_fd;
    return count;
}
