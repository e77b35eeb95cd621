/* Takes snapshots of ftrace; see ftrace_snapshot.h. Coordinator thread. */
#include "engine/control/ftrace_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/tracefs.h"

int weir_ftrace_snapshot_open(struct weir_ftrace_snapshot *snapshot, const char *root, struct weir_error *err)
{
    char found[PATH_MAX / 2], path[PATH_MAX];
    if (!root) {
        int result = weir_tracefs_find(found, sizeof(found), err);
        if (result < 0)
            return result;
        root = found;
    }
    snprintf(path, sizeof(path), "%s/snapshot", root);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        *snapshot = (struct weir_ftrace_snapshot){.open = true, .fd = fd};
        return 0;
    }
    int code = weir_error_set_errno(err, -errno, "ftrace takes no snapshots here: cannot open %s", path);
    if (code == -ENOENT)
        weir_error_hint(err, "it needs a kernel with CONFIG_TRACER_SNAPSHOT; weir's own snapshots do without "
                             "--ftrace-snapshot");
    return code;
}

void weir_ftrace_snapshot_take(struct weir_ftrace_snapshot *snapshot, const struct weir_notice_sink *notices)
{
    if (pwrite(snapshot->fd, "1", 1, 0) == 1 || snapshot->has_told)
        return;
    weir_notice(notices, WEIR_NOTICE_WARNING, "ftrace took no snapshot: %s", strerror(errno));
    snapshot->has_told = true;
}

void weir_ftrace_snapshot_close(struct weir_ftrace_snapshot *snapshot)
{
    if (snapshot && snapshot->open)
        close(snapshot->fd);
    if (snapshot)
        *snapshot = (struct weir_ftrace_snapshot){0};
}
