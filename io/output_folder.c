/* The folder of a recording: its rules, hidden name and final name. Protocol: output_folder.h. */
#include "io/output_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/directory.h"
#include "io/output_file.h"
#include "io/output_refusal.h"

#define FOLDER_MODE  0700
#define OLD_SUFFIX   ".old"
#define MAIN_FILE    "data"
#define HIDDEN_TRIES 100u

static const char *const kcore_files[] = {"kallsyms", "kcore", "modules"};

struct weir_output_folder {
    char *path;       /* owned: as given, for messages */
    char *old;        /* owned: path + OLD_SUFFIX */
    const char *name; /* last component of path */
    char hidden[64];  /* its name while unpublished; "": no folder of that name */
    int parent_fd;    /* owned, O_PATH: the directory that holds it; -1: not open */
    int fd;           /* owned: the folder; -1: not open */
};

/* One of the two folders that may be there already. */
struct existing {
    const char *path; /* borrowed, for messages */
    const char *name; /* last component of path */
    bool exists;
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

static DIR *open_folder_at(int parent_fd, const char *name)
{
    int fd = weir_directory_open_at(parent_fd, name);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !folder)
        close(fd);
    return folder;
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

static int check_entries(const char *path, DIR *folder, struct weir_error *err)
{
    int rc = 0;
    for (const struct dirent *entry; rc == 0 && (entry = readdir(folder));) {
        if (is_dot(entry->d_name) || is_recording_file(entry->d_name) || is_kcore_folder(folder, entry->d_name))
            continue;
        rc = weir_error_set(err, -ENOTEMPTY, "the folder '%s' holds other files than those of a recording ('%s')", path,
                            entry->d_name);
        weir_error_hint(err, "choose another name for the recording");
    }
    return rc;
}

/* Checks that no other recorder writes into the existing folder. 0 or -errno with err. */
static int check_lock(const char *path, DIR *folder, struct weir_error *err)
{
    int fd = openat(dirfd(folder), MAIN_FILE, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int rc = weir_output_file_check_lock(fd, path, err);
    close(fd);
    return rc;
}

static int check_content(const struct existing *existing, int parent_fd, struct weir_error *err)
{
    DIR *folder = open_folder_at(parent_fd, existing->name);
    if (!folder)
        return weir_error_set_errno(err, -errno, "cannot read the folder '%s'", existing->path);
    int rc = check_entries(existing->path, folder, err);
    if (rc == 0)
        rc = check_lock(existing->path, folder, err);
    closedir(folder);
    return rc;
}

/* Checks that a folder of that name, if there is one, may be renamed or removed. 0 or -errno with err. */
static int check_existing(struct existing *existing, int parent_fd, struct weir_error *err)
{
    struct stat st;
    existing->exists = false;
    if (fstatat(parent_fd, existing->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : weir_output_fail_lookup(existing->path, -errno, err);
    if (S_ISLNK(st.st_mode))
        return weir_output_refuse_link(existing->path, err);
    if (!S_ISDIR(st.st_mode)) {
        weir_error_set(err, -ENOTDIR, "output '%s' is no directory, and a directory is to be written", existing->path);
        weir_error_hint(err, "choose another name, or a recording without --kcore, which is a file");
        return -ENOTDIR;
    }
    int rc = weir_output_check_owner(existing->path, st.st_uid, err);
    if (rc < 0)
        return rc;
    existing->exists = true;
    return check_content(existing, parent_fd, err);
}

/* Checks the folder that is there and the one before it. */
static int check_both(const struct weir_output_folder *folder, struct existing *present, struct existing *old,
                      struct weir_error *err)
{
    *present = (struct existing){.path = folder->path, .name = folder->name};
    *old = (struct existing){.path = folder->old, .name = weir_path_name(folder->old)};
    int rc = check_existing(present, folder->parent_fd, err);
    return rc < 0 ? rc : check_existing(old, folder->parent_fd, err);
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

/* Removes the files that check_entries() allows in a folder. */
static void empty_folder(DIR *folder)
{
    rewinddir(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (is_recording_file(entry->d_name))
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    remove_kcore_folder(folder);
}

static void remove_folder(int parent_fd, const char *name)
{
    DIR *folder = open_folder_at(parent_fd, name);
    if (!folder)
        return;
    empty_folder(folder);
    closedir(folder);
    unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static int make_hidden(struct weir_output_folder *folder)
{
    for (unsigned i = 0; i < HIDDEN_TRIES; i++) {
        char hidden[sizeof(folder->hidden)];
        snprintf(hidden, sizeof(hidden), ".weir-%d-%u.dir", (int)getpid(), i);
        int fd = weir_directory_make_at(folder->parent_fd, hidden, FOLDER_MODE);
        if (fd >= 0) {
            folder->fd = fd;
            memcpy(folder->hidden, hidden, sizeof(hidden));
            return 0;
        }
        if (fd != -EEXIST)
            return fd;
    }
    return -EEXIST;
}

static int fail_make(const char *path, int code, struct weir_error *err)
{
    return weir_error_set_errno(err, code, "cannot make a directory for output '%s'", path);
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
    if (!folder->old) {
        weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
        return -ENOMEM;
    }
    folder->parent_fd = weir_directory_open_parent(folder->path, &folder->name);
    return folder->parent_fd < 0 ? fail_make(folder->path, folder->parent_fd, err) : 0;
}

int weir_output_folder_open(struct weir_output_folder **out, const char *path, struct weir_error *err)
{
    struct weir_output_folder *folder = calloc(1, sizeof(*folder));
    if (!folder)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    folder->parent_fd = folder->fd = -1;
    struct existing present, old;
    int rc = take_path(folder, path, err);
    if (rc == 0)
        rc = check_both(folder, &present, &old, err);
    if (rc == 0) {
        rc = make_hidden(folder);
        if (rc < 0)
            fail_make(path, rc, err);
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

const int *weir_output_folder_directory(const struct weir_output_folder *folder)
{
    return &folder->fd;
}

int weir_output_folder_make_kcore(const struct weir_output_folder *folder, struct weir_error *err)
{
    int fd = weir_directory_make_at(folder->fd, WEIR_OUTPUT_KCORE_FOLDER, FOLDER_MODE);
    return fd < 0 ? weir_error_set_errno(err, fd, "cannot make a directory in output '%s'", folder->path) : fd;
}

static int fail_exchanged(const struct weir_output_folder *folder, struct weir_error *err)
{
    return weir_error_set(err, -ESTALE, "somebody has moved the folder of output '%s' while it was written",
                          folder->path);
}

int weir_output_folder_publish(struct weir_output_folder *folder, struct weir_error *err)
{
    if (!folder->hidden[0])
        return 0;
    struct existing present, old;
    int parent_fd = folder->parent_fd, rc = check_both(folder, &present, &old, err); /* may have changed since open */
    if (rc < 0)
        return rc;
    if (!weir_directory_has(parent_fd, folder->hidden, folder->fd))
        return fail_exchanged(folder, err);
    if (present.exists && old.exists)
        remove_folder(parent_fd, old.name);
    if (present.exists && renameat(parent_fd, folder->name, parent_fd, old.name) < 0)
        return weir_error_set_errno(err, -errno, "cannot rename '%s' to '%s'", folder->path, folder->old);
    if (renameat(parent_fd, folder->hidden, parent_fd, folder->name) < 0) {
        rc = weir_error_set_errno(err, -errno, "cannot name the output '%s'", folder->path);
        if (present.exists)
            renameat(parent_fd, old.name, parent_fd, folder->name);
        return rc;
    }
    folder->hidden[0] = '\0';
    return weir_directory_has(parent_fd, folder->name, folder->fd) ? 0 : fail_exchanged(folder, err);
}

static int sync_kcore(int folder_fd)
{
    int fd = weir_directory_open_at(folder_fd, WEIR_OUTPUT_KCORE_FOLDER);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < WEIR_ARRAY_COUNT(kcore_files); i++)
        rc = weir_directory_sync_at(fd, kcore_files[i]);
    if (rc == 0)
        rc = weir_directory_sync_at(fd, ".");
    close(fd);
    return rc;
}

int weir_output_folder_sync(const struct weir_output_folder *folder)
{
    int rc = sync_kcore(folder->fd);
    if (rc == 0)
        rc = weir_directory_sync_at(folder->fd, ".");
    return rc < 0 ? rc : weir_directory_sync_at(folder->parent_fd, ".");
}

void weir_output_folder_close(struct weir_output_folder *folder)
{
    if (!folder)
        return;
    DIR *entries = folder->hidden[0] ? fdopendir(folder->fd) : NULL;
    if (entries) {
        empty_folder(entries);
        if (weir_directory_has(folder->parent_fd, folder->hidden, folder->fd))
            unlinkat(folder->parent_fd, folder->hidden, AT_REMOVEDIR);
        closedir(entries); /* with folder->fd */
    } else if (folder->fd >= 0) {
        close(folder->fd);
    }
    if (folder->parent_fd >= 0)
        close(folder->parent_fd);
    free(folder->old);
    free(folder->path);
    free(folder);
}
