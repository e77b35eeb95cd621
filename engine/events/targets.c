/*
 * Lists threads from /proc. readdir(3) may miss threads that start meanwhile; targets.h says what follows. Source:
 * proc_pid_task(5), proc_pid_status(5).
 */
#include "engine/events/targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "format/proc_text.h"

#define STATUS_BYTES      4096 /* "Uid:" stands near the start of the file */
#define USER_RECORD_BYTES 16384

/* A growing list of thread ids. */
struct tid_list {
    pid_t *tids; /* owned */
    size_t count;
    size_t capacity;
};

static int append(struct tid_list *list, pid_t tid)
{
    pid_t *tids = weir_array_grow(list->tids, sizeof(*tids), list->count, 1, &list->capacity);
    if (!tids)
        return -ENOMEM;
    list->tids = tids;
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

/* Appends all entries of an open folder of /proc whose names are numbers. */
static int append_numbers(struct tid_list *list, DIR *folder)
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
    int result = folder ? append_numbers(list, folder) : -errno;
    if (folder)
        closedir(folder);

    if (result == -ENOENT || result == -ESRCH) { /* never there; ended meanwhile */
        weir_error_set(err, -ESRCH, "there is no process %d", (int)pid);
        weir_error_hint(err, "ps -e lists the processes");
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

static void fill(struct weir_targets *targets, struct tid_list *threads, struct tid_list *processes)
{
    sort_unique(threads);
    sort_unique(processes);
    *targets = (struct weir_targets){
        .tids = threads->tids,
        .count = threads->count,
        .pids = processes->tids,
        .pid_count = processes->count,
    };
}

/* Frees both lists and says that memory is out. -ENOMEM. */
static int release_lists(struct tid_list *threads, struct tid_list *processes, struct weir_error *err)
{
    free(threads->tids);
    free(processes->tids);
    return weir_error_set_errno(err, -ENOMEM, "cannot list tasks");
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
    struct tid_list processes = {0};
    for (size_t i = 0; i < count; i++) {
        if (append(&processes, pids[i]) < 0)
            return release_lists(&list, &processes, err);
    }
    fill(targets, &list, &processes);
    return 0;
}

void weir_targets_fini(struct weir_targets *targets)
{
    if (!targets)
        return;
    free(targets->tids);
    free(targets->pids);
    *targets = (struct weir_targets){0};
}

/* ---- threads and users ---- */

/* The status text of a task, ended by a zero. 0 or -errno; -ESRCH: there is no such task (any more). */
static int read_status(const char *proc_root, pid_t tid, char text[STATUS_BYTES])
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%d/status", proc_root, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    ssize_t got = read(fd, text, STATUS_BYTES - 1);
    int result = got < 0 ? -errno : 0;
    close(fd);
    if (result == 0)
        text[got] = '\0';
    return result;
}

/* Appends the siblings of the targets. A process whose threads cannot be listed, such as one that ends now, has none.
 */
static int add_siblings(struct weir_targets *targets, const char *proc_root, struct weir_error *err)
{
    struct tid_list all = {0};
    int result = 0;
    for (size_t i = 0; i < targets->pid_count && result != -ENOMEM; i++)
        result = append_process(&all, proc_root, targets->pids[i], NULL);
    sort_unique(&all);
    pid_t *tids = NULL;
    if (result != -ENOMEM) {
        tids = reallocarray(targets->tids, targets->count + all.count, sizeof(*tids));
        result = tids ? 0 : -ENOMEM;
    }
    if (result == 0) {
        targets->tids = tids;
        for (size_t i = 0; i < all.count; i++) {
            if (!bsearch(&all.tids[i], tids, targets->count, sizeof(*tids), compare_tids))
                tids[targets->count + targets->sibling_count++] = all.tids[i];
        }
    }
    free(all.tids);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list the threads of the targets' processes") : 0;
}

static int init_tids(struct weir_targets *targets, const pid_t *tids, size_t count, const char *proc_root,
                     struct weir_error *err)
{
    struct tid_list threads = {0}, processes = {0};
    char status[STATUS_BYTES];
    for (size_t i = 0; i < count; i++) {
        int result = read_status(proc_root, tids[i], status);
        pid_t tgid = result == 0 ? weir_proc_status_tgid(status) : 0;
        if (result < 0 || tgid <= 0) {
            free(threads.tids);
            free(processes.tids);
            if (result < 0 && result != -ESRCH)
                return weir_error_set_errno(err, result, "cannot inspect thread %d", (int)tids[i]);
            weir_error_set(err, -ESRCH, "there is no thread %d", (int)tids[i]);
            weir_error_hint(err, "ps -eLo pid,tid,comm lists the threads");
            return -ESRCH;
        }
        if (append(&threads, tids[i]) < 0 || append(&processes, tgid) < 0)
            return release_lists(&threads, &processes, err);
    }
    struct weir_targets found;
    fill(&found, &threads, &processes);
    int result = add_siblings(&found, proc_root, err);
    if (result < 0)
        weir_targets_fini(&found);
    else
        *targets = found;
    return result;
}

/* True when the process runs with the rights of that user: the second number of "Uid:". */
static bool is_of_user(const char *proc_root, pid_t pid, uid_t uid)
{
    char status[STATUS_BYTES];
    if (read_status(proc_root, pid, status) < 0)
        return false;
    const char *line = strstr(status, "\nUid:\t"); /* a newline in Name is escaped */
    char *end;
    if (!line)
        return false;
    strtoul(line + strlen("\nUid:\t"), &end, 10);
    return *end == '\t' && strtoul(end, NULL, 10) == uid;
}

/* Keeps the user's processes in the list, and appends their threads. */
static int keep_user(struct tid_list *threads, struct tid_list *processes, const char *proc_root, uid_t uid,
                     struct weir_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->count; i++) {
        pid_t pid = processes->tids[i];
        if (!is_of_user(proc_root, pid, uid))
            continue;
        struct weir_error below = {0};
        int result = append_process(threads, proc_root, pid, &below);
        if (result == -ESRCH) /* ended meanwhile */
            continue;
        if (result < 0)
            return weir_error_set(err, result, "%s", below.what);
        processes->tids[kept++] = pid;
    }
    processes->count = kept;
    if (threads->count > 0)
        return 0;
    weir_error_set(err, -ESRCH, "user %" PRIuMAX " has no tasks", (uintmax_t)uid);
    weir_error_hint(err, "ps -eo user,uid,pid,comm lists tasks and their users");
    return -ESRCH;
}

static int append_processes(struct tid_list *list, const char *proc_root)
{
    DIR *folder = opendir(proc_root);
    int result = folder ? append_numbers(list, folder) : -errno;
    if (folder)
        closedir(folder);
    return result;
}

int weir_targets_list_processes(pid_t **pids, size_t *count, const char *proc_root)
{
    struct tid_list list = {0};
    int result = append_processes(&list, proc_root ? proc_root : "/proc");
    if (result < 0) {
        free(list.tids);
        return result;
    }
    *pids = list.tids;
    *count = list.count;
    return 0;
}

static int init_user(struct weir_targets *targets, uid_t uid, const char *proc_root, struct weir_error *err)
{
    struct tid_list threads = {0}, processes = {0};
    int result = append_processes(&processes, proc_root);
    if (result < 0)
        weir_error_set_errno(err, result, "cannot list processes in %s", proc_root);
    else
        result = keep_user(&threads, &processes, proc_root, uid, err);
    if (result < 0) {
        free(threads.tids);
        free(processes.tids);
        return result;
    }
    fill(targets, &threads, &processes);
    return 0;
}

static uint64_t ticks_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * per_second + (uint64_t)now.tv_nsec * per_second / WEIR_NS_PER_S;
}

static int find(struct weir_targets *targets, const struct weir_target_spec *spec, const char *root,
                struct weir_error *err)
{
    int result = 0;
    switch (spec->kind) {
    case WEIR_TARGET_ALL:
        result = weir_targets_init_all(targets);
        return result < 0 ? weir_error_set_errno(err, result, "cannot list tasks") : 0;
    case WEIR_TARGET_PROCESSES:
        return weir_targets_init_pids(targets, spec->ids, spec->id_count, root, err);
    case WEIR_TARGET_THREADS:
        return init_tids(targets, spec->ids, spec->id_count, root, err);
    case WEIR_TARGET_USER:
        return init_user(targets, spec->uid, root, err);
    }
    return result;
}

int weir_targets_find(struct weir_targets *targets, const struct weir_target_spec *spec, const char *proc_root,
                      struct weir_error *err)
{
    uint64_t ticks = ticks_now();
    int result = find(targets, spec, proc_root ? proc_root : "/proc", err);
    if (result == 0)
        targets->listed_ticks = ticks;
    return result;
}

/* Both lists ascend. */
static size_t count_new(const pid_t *before, size_t before_count, const pid_t *now, size_t now_count)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < now_count; i++) {
        while (at < before_count && before[at] < now[i])
            at++;
        count += at == before_count || before[at] != now[i];
    }
    return count;
}

size_t weir_targets_count_new(const struct weir_targets *before, const struct weir_targets *now)
{
    return count_new(before->tids, before->count, now->tids, now->count) +
           count_new(before->tids + before->count, before->sibling_count, now->tids + now->count, now->sibling_count);
}

/* ---- arguments ---- */

int weir_targets_parse_user(const char *text, uid_t *uid, struct weir_error *err)
{
    char record[USER_RECORD_BYTES];
    struct passwd user, *found = NULL;
    int code = getpwnam_r(text, &user, record, sizeof(record), &found);
    if (found) {
        *uid = user.pw_uid;
        return 0;
    }
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 && number < (uid_t)-1) {
        *uid = (uid_t)number;
        return 0;
    }
    if (code != 0 && code != ENOENT && code != ESRCH && code != EBADF && code != EPERM) /* getpwnam(3), ERRORS */
        return weir_error_set_errno(err, -code, "cannot look up user '%s'", text);
    weir_error_set(err, -ENOENT, "there is no user '%s'", text);
    weir_error_hint(err, "getent passwd lists the users; a number need not be among them");
    return -ENOENT;
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
