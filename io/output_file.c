/*
 * The file of an output: which paths are written at all, the nameless file, its lock, its name. Set-up and end of a
 * recording only, never on the data path.
 *
 * The lock is a POSIX record lock (fcntl(2)), because F_GETLK names the process that holds it; open file description
 * locks do not. It is advisory, not inherited by the workload, and goes away with the process however the process ends.
 * Its known trap: closing any descriptor of the same file in this process drops the lock. Within weir only the output
 * that holds a file opens it, and closes all descriptors at once.
 *
 * A file is made without a name or, where that does not work, with a hidden one (base/new_file.h).
 */
#include "io/output_file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/directory.h"
#include "base/new_file.h"
#include "io/output_refusal.h"

#define FILE_MODE  0600
#define OLD_SUFFIX ".old"
#define NULL_MAJOR 1u /* Documentation/admin-guide/devices.txt: 1:3 is /dev/null */
#define NULL_MINOR 3u

struct old_name {
    char text[NAME_MAX + sizeof(OLD_SUFFIX)];
};

static struct old_name old_name_of(const char *name)
{
    struct old_name old;
    snprintf(old.text, sizeof(old.text), "%s" OLD_SUFFIX, name);
    return old;
}

static int fail_directory(const struct weir_output_file *file, struct weir_error *err)
{
    weir_error_set(err, -EISDIR, "output '%s' is a directory", file->path);
    weir_error_hint(err, "-o takes the name of the file to write");
    return -EISDIR;
}

static int fail_open_directory(const struct weir_output_file *file, int code, struct weir_error *err)
{
    const char *slash = strrchr(file->path, '/');
    int bytes = !slash || slash == file->path ? 1 : (int)(slash - file->path);
    const char *directory = slash ? file->path : ".";
    weir_error_set_errno(err, code, "cannot open directory '%.*s' of the output", bytes, directory);
    if (code == -ENOENT)
        weir_error_hint(err, "make it first: mkdir -p '%.*s'", bytes, directory);
    else
        weir_output_hint_lookup(code, err);
    return code;
}

/* Splits path and opens its directory, or takes the one that is open. */
static int open_directory(struct weir_output_file *file, const int *directory_fd, struct weir_error *err)
{
    const char *name = weir_path_name(file->path);
    if (file->path[0] == '\0')
        return weir_error_set(err, -ENOENT, "the output path is empty");
    file->dir_fd =
        directory_fd ? fcntl(*directory_fd, F_DUPFD_CLOEXEC, 0) : weir_directory_open_parent(file->path, &name);
    if (file->dir_fd == -EINVAL)
        return fail_directory(file, err);
    if (file->dir_fd < 0)
        return fail_open_directory(file, directory_fd ? -errno : file->dir_fd, err);
    file->name = strdup(name);
    return file->name ? 0 : weir_error_set_errno(err, -ENOMEM, "cannot open output '%s'", file->path);
}

static bool is_null_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(NULL_MAJOR, NULL_MINOR);
}

static const char *kind_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFBLK:
        return "a block device";
    case S_IFCHR:
        return "a character device";
    default:
        return "not a regular file";
    }
}

/* Whether the rules allow that a file like this is replaced. */
static int check_kind(const struct weir_output_file *file, const struct stat *st, struct weir_error *err)
{
    int rc = 0;
    if (S_ISLNK(st->st_mode)) {
        rc = weir_output_refuse_link(file->path, err);
    } else if (S_ISDIR(st->st_mode)) {
        rc = fail_directory(file, err);
    } else if (!S_ISREG(st->st_mode)) {
        rc = weir_error_set(err, -EINVAL, "output '%s' is %s", file->path, kind_name(st->st_mode));
        weir_error_hint(err, "only regular files and /dev/null are written");
    } else if (st->st_nlink > 1) {
        rc =
            weir_error_set(err, -EINVAL, "output '%s' has %ju names (hard links)", file->path, (uintmax_t)st->st_nlink);
        weir_error_hint(err, "remove this one first: rm '%s'", file->path);
    } else {
        rc = weir_output_check_owner(file->path, st->st_uid, err);
    }
    return rc;
}

/* pid: from F_GETLK; 0: a process of another pid namespace, -1: a lock that no single process owns. */
static int refuse_locked(const char *path, pid_t pid, struct weir_error *err)
{
    if (pid <= 0) { /* not for a command: kill(1) takes both for many processes */
        weir_error_set(err, -EBUSY, "output '%s' is being written by a process that cannot be seen from here", path);
        weir_error_hint(err, "choose another file; lslocks, run where that process runs, shows who holds this one");
        return -EBUSY;
    }
    weir_error_set(err, -EBUSY, "output '%s' is being written by another recorder (pid %d)", path, (int)pid);
    weir_error_hint(err, "choose another file, or end that recorder first: kill -INT %d", (int)pid);
    return -EBUSY;
}

int weir_output_file_check_lock(int fd, const char *path, struct weir_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? refuse_locked(path, lock.l_pid, err) : 0;
}

/* Whether another process records into the existing file. */
static int check_lock(const struct weir_output_file *file, struct weir_error *err)
{
    int fd = openat(file->dir_fd, file->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* unreadable or just gone: only renamed, which needs rights to the directory alone */

    int rc = weir_output_file_check_lock(fd, file->path, err);
    close(fd);
    return rc;
}

/* The backup name must be usable too. */
static int check_old(const struct weir_output_file *file, struct weir_error *err)
{
    if (strlen(file->name) + strlen(OLD_SUFFIX) > NAME_MAX) {
        weir_error_set(err, -ENAMETOOLONG, "output '%s' exists and its name is too long to add " OLD_SUFFIX,
                       file->path);
        weir_error_hint(err, "choose a shorter name, or move the file that is there away");
        return -ENAMETOOLONG;
    }
    struct old_name old = old_name_of(file->name);
    struct stat st;
    if (fstatat(file->dir_fd, old.text, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
        weir_error_set(err, -EISDIR, "'%s" OLD_SUFFIX "', the backup of the existing output, is a directory",
                       file->path);
        weir_error_hint(err, "choose another name, or move that directory away");
        return -EISDIR;
    }
    return 0;
}

enum existing {
    EXISTING_NONE,
    EXISTING_EMPTY, /* nothing of it is worth a backup */
    EXISTING_FILE,
};

/* 0 (*existing says what is to be replaced) or -errno with err. */
static int check_existing(const struct weir_output_file *file, enum existing *existing, struct weir_error *err)
{
    weir_assert(file->name);
    *existing = EXISTING_NONE;
    struct stat st;
    if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        int rc = -errno;
        return rc == -ENOENT ? 0 : weir_output_fail_lookup(file->path, rc, err);
    }
    *existing = st.st_size > 0 ? EXISTING_FILE : EXISTING_EMPTY;
    int rc = check_kind(file, &st, err);
    if (rc == 0)
        rc = check_lock(file, err);
    if (rc == 0 && *existing == EXISTING_FILE)
        rc = check_old(file, err);
    return rc;
}

/* Whether the output would be a new file beside the devices: the name of a device that is not there, then. */
static int check_folder(const struct weir_output_file *file, enum existing existing, struct weir_error *err)
{
    struct stat here, devices;
    if (existing != EXISTING_NONE || fstat(file->dir_fd, &here) < 0 || stat("/dev", &devices) < 0 ||
        here.st_dev != devices.st_dev || here.st_ino != devices.st_ino)
        return 0;
    weir_error_set(err, -EINVAL, "output '%s' would be a new file among the devices of /dev", file->path);
    weir_error_hint(err, "there is no such device, and of devices only /dev/null is written: choose another name");
    return -EINVAL;
}

/* Whether another process has removed the directory, which may be the current one. */
static bool directory_is_gone(const struct weir_output_file *file)
{
    struct stat st;
    return fstat(file->dir_fd, &st) == 0 && st.st_nlink == 0;
}

static int make_file(struct weir_output_file *file, struct weir_error *err)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES];
    int rc = weir_new_file_open(file->dir_fd, FILE_MODE, hidden);
    if (rc >= 0) {
        file->fd = rc;
        rc = weir_output_file_note_hidden(file, hidden);
    }
    if (rc < 0 && directory_is_gone(file)) { /* EPERM by ext4, ENOENT by others */
        rc = weir_error_set(err, -ENOENT, "cannot create output '%s': its directory was removed", file->path);
        weir_error_hint(err, "cd to one that is there, or name a file in another directory");
    } else if (rc < 0) {
        weir_error_set_errno(err, rc, "cannot create output '%s'", file->path);
        if (rc == -EACCES)
            weir_error_hint(err, "its directory must be writable for user %u", (unsigned)geteuid());
    }
    return rc;
}

int weir_output_file_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
}

static void lock_file(const struct weir_output_file *file, const struct weir_notice_sink *notices)
{
    if (weir_output_file_lock(file->fd) < 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE,
                    "cannot lock '%s' (%m): a second recorder on the same output would not be noticed", file->path);
}

/* 1 when the path is the null device (file->fd is then open), 0 when it is not, or -errno with err. */
static int open_null_device(struct weir_output_file *file, struct weir_error *err)
{
    struct stat st;
    if (lstat(file->path, &st) < 0 || !is_null_device(&st))
        return 0;

    file->fd = open(file->path, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (file->fd < 0)
        return weir_error_set_errno(err, -errno, "cannot open output '%s'", file->path);
    if (fstat(file->fd, &st) < 0 || !is_null_device(&st))
        return weir_error_set(err, -EINVAL, "output '%s' was exchanged while it was opened", file->path);
    file->published = true;
    return 1;
}

static int open_checked(struct weir_output_file *file, const char *path, const int *directory_fd,
                        const struct weir_notice_sink *notices, struct weir_error *err)
{
    file->path = strdup(path);
    if (!file->path)
        return weir_error_set_errno(err, -ENOMEM, "cannot open output '%s'", path);

    int rc = directory_fd ? 0 : open_null_device(file, err);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    rc = open_directory(file, directory_fd, err);
    if (rc < 0)
        return rc;
    enum existing existing;
    rc = check_existing(file, &existing, err);
    if (rc == 0)
        rc = check_folder(file, existing, err);
    if (rc < 0)
        return rc;
    rc = make_file(file, err);
    if (rc < 0)
        return rc;
    lock_file(file, notices);
    return 0;
}

int weir_output_file_open(struct weir_output_file *file, const char *path, const int *directory_fd,
                          const struct weir_notice_sink *notices, struct weir_error *err)
{
    *file = (struct weir_output_file){.dir_fd = -1, .fd = -1};
    int rc = open_checked(file, path, directory_fd, notices, err);
    if (rc < 0)
        weir_output_file_fini(file);
    return rc;
}

int weir_output_file_check(const char *path, struct weir_error *err)
{
    struct weir_output_file file;
    int rc = weir_output_file_open(&file, path, NULL, NULL, err);
    if (rc == 0)
        weir_output_file_fini(&file);
    return rc;
}

/* 0 or -errno, -EEXIST when `to` is there. */
static int rename_without_replacing(int dir_fd, const char *from, const char *to)
{
    if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    /* Not every file system knows the flag. A link does not replace either. */
    if (linkat(dir_fd, from, dir_fd, to, 0) < 0)
        return -errno;
    unlinkat(dir_fd, from, 0);
    return 0;
}

int weir_output_file_note_hidden(struct weir_output_file *file, const char *hidden)
{
    if (!hidden[0])
        return 0;
    file->hidden = strdup(hidden);
    if (file->hidden)
        return 0;
    unlinkat(file->dir_fd, hidden, 0);
    return -ENOMEM;
}

int weir_output_file_give_name(struct weir_output_file *file, const char *name)
{
    if (!file->hidden)
        return weir_new_file_link(file->dir_fd, file->fd, name);
    int rc = rename_without_replacing(file->dir_fd, file->hidden, name);
    if (rc == 0) {
        free(file->hidden);
        file->hidden = NULL;
    }
    return rc;
}

/* A name for an empty file while the output takes its place. */
static struct old_name empty_name(void)
{
    struct old_name hidden;
    snprintf(hidden.text, sizeof(hidden.text), ".weir-%d-empty", (int)getpid());
    return hidden;
}

/* Removes the file, unless another process has written to it meanwhile. */
static void drop_empty(const struct weir_output_file *file, const struct old_name *hidden)
{
    struct stat st;
    if (fstatat(file->dir_fd, hidden->text, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 0)
        unlinkat(file->dir_fd, hidden->text, 0);
    else
        renameat(file->dir_fd, hidden->text, file->dir_fd, old_name_of(file->name).text);
}

int weir_output_file_publish(struct weir_output_file *file, struct weir_error *err)
{
    if (file->published)
        return 0;
    enum existing existing;
    int rc = check_existing(file, &existing, err); /* the path may have changed since open */
    if (rc < 0)
        return rc;

    const struct old_name old = existing == EXISTING_EMPTY ? empty_name() : old_name_of(file->name);
    if (existing != EXISTING_NONE && renameat(file->dir_fd, file->name, file->dir_fd, old.text) < 0)
        return weir_error_set_errno(err, -errno, "cannot rename '%s' out of the way", file->path);

    rc = weir_output_file_give_name(file, file->name);
    if (rc < 0) {
        weir_error_set_errno(err, rc, "cannot name the output '%s'", file->path);
        /* A process that took the name in between keeps it. */
        if (existing != EXISTING_NONE && rename_without_replacing(file->dir_fd, old.text, file->name) < 0)
            weir_error_hint(err, "the file that was there is now '%.*s%s'",
                            (int)(strlen(file->path) - strlen(file->name)), file->path, old.text);
        return rc;
    }
    if (existing == EXISTING_EMPTY)
        drop_empty(file, &old);
    file->published = true;
    return 0;
}

bool weir_output_file_is_at(const struct weir_output_file *file, const char *name)
{
    return weir_directory_has(file->dir_fd, name, file->fd);
}

const int *weir_output_file_directory(const struct weir_output_file *file)
{
    return file->dir_fd >= 0 ? &file->dir_fd : NULL;
}

const char *weir_output_file_path(const struct weir_output_file *file)
{
    return file->path;
}

bool weir_output_file_has_name(const struct weir_output_file *file)
{
    return file->name;
}

bool weir_output_file_was_taken(const struct weir_output_file *file)
{
    return file->published && !weir_output_file_is_at_name(file);
}

bool weir_output_file_is_at_name(const struct weir_output_file *file)
{
    return !file->name || (file->published && weir_output_file_is_at(file, file->name));
}

static int change_name(struct weir_output_file *file, const char *name)
{
    if (strlen(name) > NAME_MAX)
        return -ENAMETOOLONG;
    if (file->published)
        return weir_output_file_is_at(file, file->name) ? rename_without_replacing(file->dir_fd, file->name, name)
                                                        : -ENOENT;
    return weir_output_file_give_name(file, name);
}

int weir_output_file_rename(struct weir_output_file *file, const char *name, struct weir_error *err)
{
    if (!file->name)
        return 0;
    int dir_bytes = (int)(weir_path_name(file->path) - file->path);
    char *path = NULL, *copy = strdup(name);
    if (!copy || asprintf(&path, "%.*s%s", dir_bytes, file->path, name) < 0) {
        free(copy);
        return weir_error_set_errno(err, -ENOMEM, "cannot rename '%s'", file->path);
    }
    int rc = change_name(file, name);
    if (rc < 0) {
        weir_error_set_errno(err, rc, "cannot rename '%s' to '%s'", file->path, path);
        free(copy);
        free(path);
        return rc;
    }
    free(file->name);
    free(file->path);
    file->name = copy;
    file->path = path;
    file->published = true;
    return 0;
}

int weir_output_file_pass_name(struct weir_output_file *file, const char *heir, dev_t device, ino_t inode)
{
    struct stat st;
    if (!file->name)
        return -EOPNOTSUPP;
    if (!weir_output_file_is_at_name(file) || fstatat(file->dir_fd, heir, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        st.st_dev != device || st.st_ino != inode)
        return -ENOENT;
    if (renameat(file->dir_fd, heir, file->dir_fd, file->name) < 0)
        return -errno;
    file->published = false;
    return 0;
}

void weir_output_file_remove(struct weir_output_file *file)
{
    if (file->name && weir_output_file_is_at_name(file))
        unlinkat(file->dir_fd, file->name, 0);
}

int weir_output_file_sync_name(const struct weir_output_file *file)
{
    return file->dir_fd < 0 ? 0 : weir_directory_sync_at(file->dir_fd, ".");
}

void weir_output_file_drop_hidden(struct weir_output_file *file)
{
    if (file->hidden && weir_output_file_is_at(file, file->hidden))
        unlinkat(file->dir_fd, file->hidden, 0);
    free(file->hidden);
    file->hidden = NULL;
}

void weir_output_file_fini(struct weir_output_file *file)
{
    weir_output_file_drop_hidden(file);
    if (file->fd >= 0)
        close(file->fd);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    free(file->name);
    free(file->path);
    *file = (struct weir_output_file){.dir_fd = -1, .fd = -1};
}
