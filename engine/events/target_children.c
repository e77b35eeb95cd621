/* Walks /proc/PID/task/TID/children from the targets down. */
#include "engine/events/target_children.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "format/proc_text.h"

#define STAT_BYTES 1024 /* 52 numbers and a name */

/* Rounds over all targets, until one finds nobody new or this many are done: tasks may fork on for ever. One round may
 * miss children. When the child at which the kernel stands has ended, it continues by index, and skips as many
 * children as have ended before (get_children_pid(), fs/proc/array.c). */
#define LOOKS 4

struct search {
    struct weir_targets *targets;
    size_t capacity, listed; /* of targets->pids; number of pids before the call */
    const char *proc_root;
};

static bool is_young(const struct search *search, pid_t pid)
{
    char path[PATH_MAX], text[STAT_BYTES];
    snprintf(path, sizeof(path), "%s/%d/stat", search->proc_root, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    struct weir_proc_stat stat;
    text[got > 0 ? got : 0] = '\0';
    return weir_proc_stat_parse(text, &stat) && stat.start_ticks >= search->targets->listed_ticks;
}

static bool is_found(const struct search *search, pid_t pid)
{
    const struct weir_targets *targets = search->targets;
    size_t i = search->listed;
    while (i < targets->pid_count && targets->pids[i] != pid)
        i++;
    return i < targets->pid_count;
}

static int add(struct search *search, pid_t pid)
{
    struct weir_targets *targets = search->targets;
    if (is_found(search, pid) || !is_young(search, pid))
        return 0;
    pid_t *pids = weir_array_grow(targets->pids, sizeof(*pids), targets->pid_count, 1, &search->capacity);
    if (!pids)
        return -ENOMEM;
    targets->pids = pids;
    targets->pids[targets->pid_count++] = pid;
    return 0;
}

/* The file has numbers, each followed by a blank. */
static int add_of_thread(struct search *search, int task_fd, const char *tid)
{
    char path[NAME_MAX + sizeof("/children")];
    snprintf(path, sizeof(path), "%s/children", tid);
    int fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC), child, result = 0;
    FILE *children = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!children) {
        if (fd >= 0)
            close(fd);
        return 0; /* the task has ended, or this kernel lists no children */
    }
    while (result == 0 && fscanf(children, "%d", &child) == 1)
        result = add(search, child);
    fclose(children);
    return result;
}

static int add_of_process(struct search *search, pid_t pid)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%d/task", search->proc_root, (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int result = 0;
    while (folder && result == 0 && (entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            result = add_of_thread(search, dirfd(folder), entry->d_name);
    }
    if (folder)
        closedir(folder);
    return result;
}

int weir_targets_add_children(struct weir_targets *targets, const char *proc_root)
{
    struct search search = {
        .targets = targets,
        .capacity = targets->pid_count,
        .listed = targets->pid_count,
        .proc_root = proc_root ? proc_root : "/proc",
    };
    int result = 0;
    bool is_new = true;
    for (unsigned times = 0; result == 0 && is_new && times < LOOKS; times++) {
        size_t before = targets->pid_count;
        for (size_t i = 0; result == 0 && i < targets->pid_count; i++) /* it grows meanwhile */
            result = add_of_process(&search, targets->pids[i]);
        is_new = targets->pid_count > before;
    }
    return result;
}
