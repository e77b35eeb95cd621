/*
 * Tracepoints as tracefs describes them: the mount point, the id of an event, the names of all events.
 *
 * Runs on the caller's thread while a recording is set up. Reads only; never mounts. Source:
 * Documentation/trace/ftrace.rst ("The File System") and events.rst of Linux 6.12.
 */
#include "format/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/remedy.h"
#include "base/suggest.h"
#include "format/mount_line.h"
#include "format/tracefs_internal.h"

#define ID_TEXT_BYTES   32                 /* more than the 20 digits and the newline that an id can have */
#define NAME_PAIR_BYTES (2 * NAME_MAX + 2) /* "system:name" */
#define PERMISSION_BITS 07777u

struct search {
    char *path; /* borrowed: the result */
    size_t bytes;
    char denied[PATH_MAX]; /* first place that may be a tracefs but could not be entered; "" while none */
};

/* 0: a mounted tracefs whose events may be listed. -EACCES: may be one. Anything else: is none. */
static int probe(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) < 0)
        return -errno;
    if (fs.f_type != TRACEFS_MAGIC)
        return -ENOENT;

    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = faccessat(fd, "events", R_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
    close(fd);
    return result;
}

/* 0: found and written. -ENAMETOOLONG: found, does not fit. -ENOENT: look on. */
static int consider(struct search *search, const char *candidate)
{
    int result = probe(candidate);
    if (result == -EACCES && search->denied[0] == '\0')
        snprintf(search->denied, sizeof(search->denied), "%s", candidate);
    if (result < 0)
        return -ENOENT;
    if (strlen(candidate) >= search->bytes)
        return -ENAMETOOLONG;
    memcpy(search->path, candidate, strlen(candidate) + 1);
    return 0;
}

static int consider_mounts(struct search *search, const char *mounts)
{
    FILE *file = setmntent(mounts, "re");
    if (!file)
        return -ENOENT;

    struct mntent entry;
    char line[WEIR_MOUNT_LINE_BYTES];
    int result = -ENOENT;
    while (result == -ENOENT && getmntent_r(file, &entry, line, sizeof(line))) {
        if (strcmp(entry.mnt_type, "tracefs") == 0)
            result = consider(search, entry.mnt_dir);
    }
    endmntent(file);
    return result;
}

static int set_denied(struct weir_error *err, const char *path)
{
    weir_error_set_errno(err, -EACCES, "cannot enter tracefs at %s", path);
    struct stat status;
    char command[WEIR_REMEDY_BYTES];
    if (stat(path, &status) == 0)
        weir_error_hint(err, "run as root, or open it to others (its mode is %03o): %s",
                        status.st_mode & PERMISSION_BITS, weir_remedy_on(WEIR_REMEDY_TRACEFS_MODE, 0, path, command));
    else
        weir_error_hint(err, "run as root, or open it to others: %s",
                        weir_remedy_on(WEIR_REMEDY_TRACEFS_MODE, 0, path, command));
    return -EACCES;
}

int weir_tracefs_find_among(const char *const *candidates, const char *mounts, char *path, size_t bytes,
                            struct weir_error *err)
{
    struct search search = {.path = path, .bytes = bytes};
    int result = -ENOENT;
    for (size_t i = 0; candidates[i] && result == -ENOENT; i++)
        result = consider(&search, candidates[i]);
    if (result == -ENOENT)
        result = consider_mounts(&search, mounts);

    if (result == -ENAMETOOLONG)
        return weir_error_set(err, result, "the path of tracefs does not fit into %zu bytes", bytes);
    if (result == 0)
        return 0;
    if (search.denied[0] != '\0')
        return set_denied(err, search.denied);
    weir_error_set(err, -ENODEV, "tracefs is not mounted");
    weir_error_hint(err, "mount -t tracefs nodev /sys/kernel/tracing");
    return -ENODEV;
}

int weir_tracefs_find(char *path, size_t bytes, struct weir_error *err)
{
    static const char *const candidates[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing", NULL};
    return weir_tracefs_find_among(candidates, "/proc/mounts", path, bytes, err);
}

/* The stream owns the descriptor. NULL with errno set on failure. */
static DIR *open_directory_at(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    DIR *directory = fdopendir(fd);
    if (!directory) {
        int code = errno;
        close(fd);
        errno = code;
    }
    return directory;
}

/* The next entry that is a directory and not hidden; NULL at the end. */
static const char *next_directory(DIR *directory)
{
    struct dirent *entry;
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] == '.')
            continue;
        if (entry->d_type == DT_DIR)
            return entry->d_name;
        struct stat status;
        if (entry->d_type == DT_UNKNOWN && fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 &&
            S_ISDIR(status.st_mode))
            return entry->d_name;
    }
    return NULL;
}

static int visit_system(int events_fd, const char *system,
                        int (*visit)(void *ctx, const char *system, const char *name), void *ctx)
{
    DIR *directory = open_directory_at(events_fd, system);
    if (!directory)
        return errno == ENOENT ? 0 : -errno; /* its module was unloaded meanwhile */

    int result = 0;
    const char *name;
    while (result == 0 && (name = next_directory(directory)))
        result = visit(ctx, system, name);
    closedir(directory);
    return result;
}

/* NULL with errno set on failure. */
static DIR *open_events(const char *root)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/events", root) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return open_directory_at(AT_FDCWD, path);
}

int weir_tracefs_visit(const char *root, int (*visit)(void *ctx, const char *system, const char *name), void *ctx)
{
    DIR *events = open_events(root);
    if (!events)
        return -errno;

    int result = 0;
    const char *system;
    while (result == 0 && (system = next_directory(events)))
        result = visit_system(dirfd(events), system, visit, ctx);
    closedir(events);
    return result;
}

static int offer_name(void *ctx, const char *system, const char *name)
{
    (void)system;
    weir_suggest_offer(ctx, name);
    return 0;
}

static int offer_pair(void *ctx, const char *system, const char *name)
{
    char pair[NAME_PAIR_BYTES];
    snprintf(pair, sizeof(pair), "%s:%s", system, name);
    weir_suggest_offer(ctx, pair);
    return 0;
}

/* The nearest name within the system, when that exists; else the nearest "system:name" of all. */
static void hint_nearest(struct weir_error *err, const char *root, const char *system, const char *name)
{
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, name);
    DIR *events = open_events(root);
    if (events) {
        visit_system(dirfd(events), system, offer_name, &suggest);
        closedir(events);
    }
    if (weir_suggest_best(&suggest)) {
        weir_error_hint(err, "did you mean %s:%s?", system, weir_suggest_best(&suggest));
        return;
    }

    char pair[NAME_PAIR_BYTES];
    snprintf(pair, sizeof(pair), "%s:%s", system, name);
    weir_suggest_init(&suggest, pair);
    weir_tracefs_visit(root, offer_pair, &suggest);
    if (weir_suggest_best(&suggest))
        weir_error_hint(err, "did you mean %s?", weir_suggest_best(&suggest));
    else
        weir_error_hint(err, "%s/events lists all systems and their tracepoints", root);
}

int weir_tracefs_check_name(const char *kind, const char *name, struct weir_error *err)
{
    if (name[0] == '\0')
        return weir_error_set(err, -EINVAL, "the %s of a tracepoint is empty", kind);
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return weir_error_set(err, -EINVAL, "'%s' cannot be the %s of a tracepoint", name, kind);
    return 0;
}

static bool has_directory(const char *root, const char *system, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    if ((size_t)snprintf(path, sizeof(path), "%s/events/%s/%s", root, system, name) >= sizeof(path))
        return false;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int set_unknown(struct weir_error *err, const char *root, const char *system, const char *name)
{
    if (has_directory(root, system, name))
        return weir_error_set(err, -ENOENT, "the tracepoint %s:%s has no id, so it cannot be recorded", system, name);
    weir_error_set(err, -ENOENT, "there is no tracepoint %s:%s", system, name);
    if (err)
        hint_nearest(err, root, system, name);
    return -ENOENT;
}

void weir_tracefs_hint_unreadable(struct weir_error *err, const char *root)
{
    weir_error_hint(err,
                    "run as root, or let others read it: chmod -R o+rX %s/events %s/printk_formats %s/saved_cmdlines",
                    root, root, root);
}

static int set_unreadable(struct weir_error *err, int code, const char *root, const char *path)
{
    weir_error_set_errno(err, code, "cannot read %s", path);
    if (code == -EACCES)
        weir_tracefs_hint_unreadable(err, root);
    return code;
}

/* Reads at most bytes - 1 and ends them with a zero. How many that were, or -errno. */
static ssize_t read_text(const char *path, char *text, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got;
    do
        got = read(fd, text, bytes - 1);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        got = -errno;
    else
        text[got] = '\0';
    close(fd);
    return got;
}

/* Decimal digits and at most one newline, nothing else: length bytes, with a zero behind them. */
static bool parse_id(const char *text, size_t length, uint64_t *id)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end + (*end == '\n') != text + length)
        return false;
    *id = value;
    return true;
}

int weir_tracefs_event_id(const char *root, const char *system, const char *name, uint64_t *id, struct weir_error *err)
{
    int result = weir_tracefs_check_name("system", system, err);
    if (result == 0)
        result = weir_tracefs_check_name("name", name, err);
    if (result < 0)
        return result;

    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/events/%s/%s/id", root, system, name) >= sizeof(path))
        return set_unknown(err, root, system, name);

    char text[ID_TEXT_BYTES] = "";
    ssize_t got = read_text(path, text, sizeof(text));
    if (got == -ENOENT || got == -ENOTDIR || got == -ENAMETOOLONG)
        return set_unknown(err, root, system, name);
    if (got < 0)
        return set_unreadable(err, (int)got, root, path);
    /* A full buffer may have cut the number. */
    if ((size_t)got == sizeof(text) - 1 || !parse_id(text, (size_t)got, id))
        return weir_error_set(err, -EINVAL, "%s does not hold a number", path);
    return 0;
}
