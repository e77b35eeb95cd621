/*
 * A file that takes the place of another one in one step, when it is whole. Set-up and end only.
 *
 * rename(2) replaces a name atomically, but cannot rename a nameless file. So the file first gets a hidden name beside
 * the final one (linkat(2)). name_beside() may have given the file a visible name, so that its bytes can be found
 * meanwhile. The directory is synced, so that a file whose bytes are on disk is found there after a power failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/new_file.h"
#include "base/write_whole.h"
#include "io/output_file_internal.h"

void weir_output_file_identify(struct weir_output_identity *identity, const struct stat *st)
{
    *identity = (struct weir_output_identity){
        .device = st->st_dev,
        .inode = st->st_ino,
        .bytes = (uint64_t)st->st_size,
        .changed_s = st->st_mtim.tv_sec,
        .changed_ns = st->st_mtim.tv_nsec,
        .mode = st->st_mode,
        .uid = st->st_uid,
        .gid = st->st_gid,
    };
}

static int check_unchanged(const struct weir_output_file *file, const struct weir_output_identity *was,
                           struct weir_error *err)
{
    struct stat st;
    struct weir_output_identity now;
    if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return weir_error_set_errno(err, -errno, "cannot replace '%s'", file->path);
    weir_output_file_identify(&now, &st);
    if (now.device == was->device && now.inode == was->inode && now.bytes == was->bytes &&
        now.changed_s == was->changed_s && now.changed_ns == was->changed_ns)
        return 0;
    return weir_error_set(err, -ESTALE, "'%s' was changed by somebody else meanwhile, and is left as it is now",
                          file->path);
}

void weir_output_file_give_owner(struct weir_output_file *file, const struct weir_output_identity *was)
{
    if (fchown(file->fd, was->uid, was->gid) < 0)
        return; /* replace() compares the owners */
}

int weir_output_file_name_beside(struct weir_output_file *file, const char *suffix, struct weir_error *err)
{
    weir_assert(!file->published && !file->stream);
    char *name;
    if (asprintf(&name, "%s%s", file->name, suffix) < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot name the output '%s%s'", file->path, suffix);
    int rc = weir_output_file_give_name(file, name);
    if (rc < 0) {
        free(name);
        return weir_error_set_errno(err, rc, "cannot name the output '%s%s'", file->path, suffix);
    }
    file->hidden = name;
    file->beside = true;
    return 0;
}

static bool is_named_beside(const struct weir_output_file *file, const char *suffix)
{
    size_t length = strlen(file->name);
    return file->hidden && strncmp(file->hidden, file->name, length) == 0 && strcmp(file->hidden + length, suffix) == 0;
}

int weir_output_file_keep_beside(struct weir_output_file *file, const char *suffix, struct weir_error *err)
{
    if (file->hidden && !weir_output_file_is_at(file, file->hidden))
        return weir_error_set(err, -ENOENT, "'%s' was removed while recording", file->hidden);
    int rc = is_named_beside(file, suffix) ? 0 : weir_output_file_name_beside(file, suffix, err);
    if (rc < 0)
        return rc;
    free(file->hidden);
    file->hidden = NULL;
    file->published = true;
    return 0;
}

/* 0 or -errno. */
static int give_hidden_name(struct weir_output_file *file)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES] = "";
    int rc = file->hidden ? 0 : weir_new_file_hide(file->dir_fd, file->fd, hidden);
    return rc < 0 ? rc : weir_output_file_note_hidden(file, hidden);
}

int weir_output_file_replace(struct weir_output_file *file, const struct weir_output_identity *was,
                             struct weir_error *err)
{
    weir_assert(!file->published && !file->stream);
    int rc = check_unchanged(file, was, err);
    if (rc < 0)
        return rc;
    if (file->hidden && !weir_output_file_is_at(file, file->hidden))
        return weir_error_set(err, -ENOENT, "'%s' was removed while recording, before it took the place of '%s'",
                              file->hidden, file->path);
    /* The rights stay as they were. A file that could not be given to its owner is ours alone. */
    struct stat st;
    if (fstat(file->fd, &st) == 0 && st.st_uid == was->uid && st.st_gid == was->gid)
        fchmod(file->fd, was->mode & 07777);
    rc = give_hidden_name(file);
    if (rc == 0 && renameat(file->dir_fd, file->hidden, file->dir_fd, file->name) < 0)
        rc = -errno;
    if (rc < 0)
        return weir_error_set_errno(err, rc, "cannot replace '%s'", file->path);
    free(file->hidden);
    file->hidden = NULL;
    file->published = true;
    weir_output_file_sync_name(file); /* advisory: all running processes see the name already */
    return 0;
}

/* ---- a small file ---- */

/* Gives the file its name, in the place of a file that has it. */
static int take_name(struct weir_output_file *file, struct weir_error *err)
{
    struct stat st;
    if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        struct weir_output_identity was;
        weir_output_file_identify(&was, &st);
        return weir_output_file_replace(file, &was, err);
    }
    int rc = weir_output_file_give_name(file, file->name);
    file->published = rc == 0;
    return rc < 0 ? weir_error_set_errno(err, rc, "cannot name '%s'", file->path) : 0;
}

int weir_output_file_write_whole(const char *path, const void *data, size_t bytes, struct weir_error *err)
{
    struct weir_output_file file;
    int rc = weir_output_file_open(&file, path, NULL, NULL, err);
    if (rc < 0)
        return rc;
    rc = weir_write_whole(file.fd, data, bytes);
    if (rc == 0 && file.name && fsync(file.fd) < 0)
        rc = -errno;
    if (rc < 0)
        weir_error_set_errno(err, rc, "cannot write '%s'", path);
    else if (file.name)
        rc = take_name(&file, err);
    weir_output_file_fini(&file);
    return rc;
}
