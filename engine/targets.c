/*
 * From the processes of -p to the threads to attach to. Main thread, set-up. Source: proc_pid_task(5).
 *
 * Threads that start while the folder is read may be missed by readdir(3); their parents' inherited events catch those
 * that start after attaching.
 */
#include "engine/targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 16

/* A growing list of thread ids. */
struct tid_list {
    pid_t *tids; /* owned */
    size_t count;
    size_t capacity;
};

static int append(struct tid_list *list, pid_t tid)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : CAPACITY_FIRST;
        pid_t *tids = reallocarray(list->tids, capacity, sizeof(*tids));
        if (!tids)
            return -ENOMEM;
        list->tids = tids;
        list->capacity = capacity;
    }
    list->tids[list->count++] = tid;
    return 0;
}

/*
 * The positive number at the start of text; *end is set behind its digits. 0: there is none, or it is too large.
 * No blanks, no sign: strtol(3) would take both.
 */
static pid_t scan_pid(const char *text, const char **end)
{
    long long value = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at); at++)
        if (value <= INT_MAX)
            value = 10 * value + (*at - '0');
    *end = at;
    return value <= INT_MAX ? (pid_t)value : 0;
}

/* Appends all threads of an open /proc/PID/task. */
static int append_threads(struct tid_list *list, DIR *folder)
{
    for (;;) {
        errno = 0; /* readdir(3): the way to tell an error from the end */
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return -errno;
        const char *end;
        pid_t tid = scan_pid(entry->d_name, &end);
        if (tid <= 0 || *end) /* "." and ".." */
            continue;
        int result = append(list, tid);
        if (result < 0)
            return result;
    }
}

static int append_process(struct tid_list *list, const char *proc_root, pid_t pid, struct weir_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%d/task", proc_root, (int)pid);
    DIR *folder = opendir(path);
    int result = folder ? append_threads(list, folder) : -errno;
    if (folder)
        closedir(folder);

    if (result == -ENOENT || result == -ESRCH) { /* never there; ended meanwhile */
        weir_error_set(err, -ESRCH, "there is no process %d", (int)pid);
        weir_error_hint(err, "ps -e shows the processes that there are");
        return -ESRCH;
    }
    return result < 0 ? weir_error_set_errno(err, result, "cannot list the threads of process %d", (int)pid) : 0;
}

static int compare_tids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;
    return (left > right) - (left < right);
}

static void sort_unique(struct tid_list *list)
{
    if (list->count == 0)
        return;
    qsort(list->tids, list->count, sizeof(*list->tids), compare_tids);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (list->tids[i] != list->tids[kept - 1])
            list->tids[kept++] = list->tids[i];
    list->count = kept;
}

int weir_targets_init_all(struct weir_targets *targets)
{
    struct tid_list list = {0};
    int result = append(&list, -1);
    if (result < 0)
        return result;
    *targets = (struct weir_targets){.tids = list.tids, .count = list.count};
    return 0;
}

int weir_targets_init_pids(struct weir_targets *targets, const pid_t *pids, size_t count, const char *proc_root,
                           struct weir_error *err)
{
    struct tid_list list = {0};
    for (size_t i = 0; i < count; i++) {
        int result = append_process(&list, proc_root ? proc_root : "/proc", pids[i], err);
        if (result < 0) {
            free(list.tids);
            return result;
        }
    }
    sort_unique(&list);
    *targets = (struct weir_targets){.tids = list.tids, .count = list.count};
    return 0;
}

void weir_targets_fini(struct weir_targets *targets)
{
    if (!targets)
        return;
    free(targets->tids);
    *targets = (struct weir_targets){0};
}

int weir_targets_parse_pids(const char *list, pid_t **pids, size_t *count, struct weir_error *err)
{
    struct tid_list parsed = {0};
    const char *at = list, *end;
    int result = 0;
    do {
        pid_t pid = scan_pid(at, &end);
        if (pid <= 0 || (*end && *end != ',')) {
            const char *bad = pid > 0 ? end : at;
            result = weir_error_set(err, -EINVAL, "process id expected at column %zu of '%s'", (size_t)(bad - list) + 1,
                                    list);
            break;
        }
        result = append(&parsed, pid);
        at = end + 1;
    } while (result == 0 && *end);

    if (result < 0) {
        free(parsed.tids);
        return result == -ENOMEM ? weir_error_set_errno(err, result, "cannot parse '%s'", list) : result;
    }
    *pids = parsed.tids;
    *count = parsed.count;
    return 0;
}
