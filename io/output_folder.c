/* The folder of a recording: its rules, hidden name and final name. Protocol: output_folder.h. */
#include "io/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "io/output_file.h"
#include "io/output_refusal.h"

#define FOLDER_MODE  0700
#define OLD_SUFFIX   ".old"
#define MAIN_FILE    "data"
#define HIDDEN_TRIES 100u

static const char *const kcore_files[] = {"kallsyms", "kcore", "modules"};

struct weir_output_folder {
    char *path;   /* owned: as given */
    char *old;    /* owned: path + OLD_SUFFIX */
    char *hidden; /* owned: its path while unpublished; NULL: no folder of that path */
};

/* Whether the name is one of a recording: "data", or "data.N" as perf makes them. */
static bool is_recording_file(const char *name)
{
    size_t length = strlen(MAIN_FILE);
    if (strncmp(name, MAIN_FILE, length) != 0)
        return false;
    const char *rest = name + length;
    return rest[0] == '\0' || (rest[0] == '.' && rest[1] != '\0' && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

const char *weir_output_folder_kcore_file(size_t index)
{
    return index < WEIR_ARRAY_COUNT(kcore_files) ? kcore_files[index] : NULL;
}

static bool is_kcore_file(const char *name)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kcore_files); i++) {
        if (strcmp(name, kcore_files[i]) == 0)
            return true;
    }
    return false;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_folder_at(int parent_fd, const char *path)
{
    int fd = openat(parent_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !folder)
        close(fd);
    return folder;
}

static DIR *open_folder(const char *path)
{
    return open_folder_at(AT_FDCWD, path);
}

/* Whether name, in parent, is a copy of the kernel, with nothing else in it. */
static bool is_kcore_folder(DIR *parent, const char *name)
{
    DIR *folder = strcmp(name, WEIR_OUTPUT_KCORE_FOLDER) == 0 ? open_folder_at(dirfd(parent), name) : NULL;
    if (!folder)
        return false;
    bool is_one = true;
    for (const struct dirent *entry; is_one && (entry = readdir(folder));)
        is_one = is_dot(entry->d_name) || is_kcore_file(entry->d_name);
    closedir(folder);
    return is_one;
}

static int check_entries(const char *path, struct weir_error *err)
{
    DIR *folder = open_folder(path);
    if (!folder)
        return weir_error_set_errno(err, -errno, "cannot read the folder '%s'", path);
    int rc = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(folder));) {
        if (is_dot(entry->d_name) || is_recording_file(entry->d_name) || is_kcore_folder(folder, entry->d_name))
            continue;
        rc = weir_error_set(err, -ENOTEMPTY, "the folder '%s' holds other files than those of a recording ('%s')", path,
                            entry->d_name);
        weir_error_hint(err, "choose another name for the recording");
    }
    closedir(folder);
    return rc;
}

/* Checks that a folder of that path, if there is one (*exists), may be renamed or removed. 0 or -errno with err. */
static int check_existing(const char *path, bool *exists, struct weir_error *err)
{
    struct stat st;
    *exists = false;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : weir_output_fail_lookup(path, -errno, err);
    if (S_ISLNK(st.st_mode))
        return weir_output_refuse_link(path, err);
    if (!S_ISDIR(st.st_mode)) {
        weir_error_set(err, -ENOTDIR, "output '%s' is no directory, and a directory is to be written", path);
        weir_error_hint(err, "choose another name, or a recording without --kcore, which is a file");
        return -ENOTDIR;
    }
    int rc = weir_output_check_owner(path, st.st_uid, err);
    if (rc < 0)
        return rc;
    *exists = true;
    return check_entries(path, err);
}

/* Checks that no other recorder writes into the existing folder. 0 or -errno with err. */
static int check_lock(const char *path, struct weir_error *err)
{
    char main_path[PATH_MAX];
    if (snprintf(main_path, sizeof(main_path), "%s/" MAIN_FILE, path) >= (int)sizeof(main_path))
        return weir_error_set(err, -ENAMETOOLONG, "the name of the output is too long");
    return access(main_path, F_OK) == 0 ? weir_output_file_check(main_path, err) : 0;
}

static int check_paths(const struct weir_output_folder *folder, bool *exists, bool *old_exists, struct weir_error *err)
{
    int rc = check_existing(folder->path, exists, err);
    if (rc == 0 && *exists)
        rc = check_lock(folder->path, err);
    return rc < 0 ? rc : check_existing(folder->old, old_exists, err);
}

static void remove_kcore_folder(DIR *parent)
{
    DIR *folder = open_folder_at(dirfd(parent), WEIR_OUTPUT_KCORE_FOLDER);
    if (!folder)
        return;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kcore_files); i++)
        unlinkat(dirfd(folder), kcore_files[i], 0);
    closedir(folder);
    unlinkat(dirfd(parent), WEIR_OUTPUT_KCORE_FOLDER, AT_REMOVEDIR);
}

/* Removes a folder and what check_entries() allows in it. */
static void remove_folder(const char *path)
{
    DIR *folder = open_folder(path);
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (is_recording_file(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    remove_kcore_folder(folder);
    closedir(folder);
    rmdir(path);
}

static int make_hidden(struct weir_output_folder *folder)
{
    const char *slash = strrchr(folder->path, '/');
    int parent = slash ? (int)(slash - folder->path) + 1 : 0;
    for (unsigned i = 0; i < HIDDEN_TRIES; i++) {
        char *hidden;
        if (asprintf(&hidden, "%.*s.weir-%d-%u.dir", parent, folder->path, (int)getpid(), i) < 0)
            return -ENOMEM;
        if (mkdir(hidden, FOLDER_MODE) == 0) {
            folder->hidden = hidden;
            return 0;
        }
        int rc = -errno;
        free(hidden);
        if (rc != -EEXIST)
            return rc;
    }
    return -EEXIST;
}

/* Takes the path without the slashes at its end, which rename(2) and lstat(2) read differently. */
static int take_path(struct weir_output_folder *folder, const char *path, struct weir_error *err)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    size_t name_length = length - (size_t)(name - path);
    if (name_length == 0 || (name_length == 1 && name[0] == '.') || (name_length == 2 && memcmp(name, "..", 2) == 0)) {
        weir_error_set(err, -EINVAL, "output '%s' is no name for a new directory", path);
        return -EINVAL;
    }
    folder->path = strndup(path, length);
    char *old = NULL;
    if (folder->path && asprintf(&old, "%s" OLD_SUFFIX, folder->path) >= 0)
        folder->old = old;
    if (folder->old)
        return 0;
    weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    return -ENOMEM;
}

int weir_output_folder_open(struct weir_output_folder **out, const char *path, struct weir_error *err)
{
    struct weir_output_folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    bool exists, old_exists;
    int rc = take_path(folder, path, err);
    if (rc == 0)
        rc = check_paths(folder, &exists, &old_exists, err);
    if (rc == 0) {
        rc = make_hidden(folder);
        if (rc < 0)
            weir_error_set_errno(err, rc, "cannot make a directory for output '%s'", path);
    }
    if (rc < 0) {
        weir_output_folder_close(folder);
        return rc;
    }
    *out = folder;
    return 0;
}

int weir_output_folder_check(const char *path, struct weir_error *err)
{
    struct weir_output_folder *folder = NULL;
    int rc = weir_output_folder_open(&folder, path, err);
    if (rc == 0)
        weir_output_folder_close(folder);
    return rc;
}

const char *weir_output_folder_path(const struct weir_output_folder *folder)
{
    return folder->hidden;
}

int weir_output_folder_make_kcore(const struct weir_output_folder *folder, struct weir_error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/" WEIR_OUTPUT_KCORE_FOLDER, folder->hidden) >= (int)sizeof(path))
        return weir_error_set(err, -ENAMETOOLONG, "the name of the output is too long");
    int fd = mkdir(path, FOLDER_MODE) < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? weir_error_set_errno(err, -errno, "cannot make a directory in output '%s'", folder->path) : fd;
}

int weir_output_folder_publish(struct weir_output_folder *folder, struct weir_error *err)
{
    if (!folder->hidden)
        return 0;
    bool exists, old_exists;
    int rc = check_paths(folder, &exists, &old_exists, err); /* the path may have changed since open */
    if (rc < 0)
        return rc;
    if (exists && old_exists)
        remove_folder(folder->old);
    if (exists && rename(folder->path, folder->old) < 0)
        return weir_error_set_errno(err, -errno, "cannot rename '%s' to '%s'", folder->path, folder->old);
    if (rename(folder->hidden, folder->path) < 0) {
        rc = weir_error_set_errno(err, -errno, "cannot name the output '%s'", folder->path);
        if (exists)
            rename(folder->old, folder->path);
        return rc;
    }
    free(folder->hidden);
    folder->hidden = NULL;
    return 0;
}

/* fsync(2) of the file or folder of that name. 0 or -errno. */
static int sync_at(int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = fsync(fd) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

static int sync_kcore(int folder_fd)
{
    int fd = openat(folder_fd, WEIR_OUTPUT_KCORE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < WEIR_ARRAY_COUNT(kcore_files); i++)
        rc = sync_at(fd, kcore_files[i]);
    if (rc == 0)
        rc = sync_at(fd, ".");
    close(fd);
    return rc;
}

int weir_output_folder_sync(const struct weir_output_folder *folder)
{
    int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int rc = sync_kcore(fd);
    if (rc == 0)
        rc = sync_at(fd, ".");
    if (rc == 0)
        rc = sync_at(fd, "..");
    close(fd);
    return rc;
}

void weir_output_folder_close(struct weir_output_folder *folder)
{
    if (!folder)
        return;
    if (folder->hidden)
        remove_folder(folder->hidden);
    free(folder->hidden);
    free(folder->old);
    free(folder->path);
    free(folder);
}
