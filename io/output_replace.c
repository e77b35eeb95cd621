/*
 * An output that takes the place of a file: it begins with bytes of that file, and replaces it in one step when it is
 * whole. Set-up and end only.
 *
 * rename(2) replaces a name atomically, and a file without a name cannot be renamed: it first gets a hidden name beside
 * the final one (linkat(2)), or it has had one that everybody sees, for what is on file meanwhile to be found. The
 * directory is synced, so that a file whose bytes are on disk is found there after a power failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "io/output_internal.h"

#define COPY_BYTES      (1ull << 30) /* in one call of copy_file_range(2) */
#define COPY_STEP_BYTES (1u << 20)   /* where that is refused */
#define HIDDEN_TRIES    100u

void weir_output_identity_of(struct weir_output_identity *identity, const struct stat *st)
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

/* ---- the bytes ---- */

/* Through memory: for file systems that cannot copy among themselves. 0 or -errno; -ENODATA: `from` has ended. */
static int copy_by_hand(struct weir_output *output, int from, uint64_t at, uint64_t end, uint64_t bytes)
{
    uint8_t *buffer = malloc(COPY_STEP_BYTES);
    int rc = buffer ? 0 : -ENOMEM;
    while (rc == 0 && bytes > 0) {
        ssize_t got = pread(from, buffer, weir_min_u64(bytes, COPY_STEP_BYTES), (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            rc = got < 0 ? -errno : -ENODATA;
            continue;
        }
        rc = weir_output_write_whole(output, buffer, (size_t)got, end);
        at += (uint64_t)got;
        end += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
    free(buffer);
    return rc;
}

int weir_output_copy_in(struct weir_output *output, int fd, uint64_t offset, uint64_t bytes)
{
    weir_assert(output->begun && !output->file.stream && output->span_added == 0 && output->end == output->head_bytes);
    off_t from = (off_t)offset, to = (off_t)output->end;
    uint64_t left = bytes;
    int rc = 0;
    while (left > 0 && rc == 0) {
        ssize_t copied = output->writes.file_ops->copy_range(output->writes.ctx, fd, &from, output->file.fd, &to,
                                                             weir_min_u64(left, COPY_BYTES));
        if (copied == -EINTR)
            continue;
        if (copied <= 0) { /* kernels and file systems differ; what cannot be will fail again */
            rc = copy_by_hand(output, fd, (uint64_t)from, (uint64_t)to, left);
            break;
        }
        left -= (uint64_t)copied;
    }
    if (rc < 0)
        return rc;
    output->end += bytes;
    output->stable_end = output->writes.written_end = output->end;
    return 0;
}

int weir_output_lock(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &lock) < 0 ? -errno : 0;
}

/* ---- the name ---- */

static int check_unchanged(const struct weir_output_file *file, const struct weir_output_identity *was,
                           struct weir_error *err)
{
    struct stat st;
    struct weir_output_identity now;
    if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return weir_error_set_errno(err, -errno, "cannot replace '%s'", file->path);
    weir_output_identity_of(&now, &st);
    if (now.device == was->device && now.inode == was->inode && now.bytes == was->bytes &&
        now.changed_s == was->changed_s && now.changed_ns == was->changed_ns)
        return 0;
    return weir_error_set(err, -ESTALE, "'%s' was changed by somebody else meanwhile, and is left as it is now",
                          file->path);
}

void weir_output_give_owner(struct weir_output *output, const struct weir_output_identity *was)
{
    if (fchown(output->file.fd, was->uid, was->gid) < 0)
        return; /* replace() looks whose it is */
}

int weir_output_name_beside(struct weir_output *output, const char *suffix, struct weir_error *err)
{
    struct weir_output_file *file = &output->file;
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
    output->was_named = true;
    return 0;
}

static bool is_named_beside(const struct weir_output_file *file, const char *suffix)
{
    size_t length = strlen(file->name);
    return file->hidden && strncmp(file->hidden, file->name, length) == 0 && strcmp(file->hidden + length, suffix) == 0;
}

int weir_output_keep_beside(struct weir_output *output, const char *suffix, struct weir_error *err)
{
    struct weir_output_file *file = &output->file;
    if (file->hidden && !weir_output_file_is_at(file, file->hidden))
        return weir_error_set(err, -ENOENT, "'%s' was removed while recording", file->hidden);
    int rc = is_named_beside(file, suffix) ? 0 : weir_output_name_beside(output, suffix, err);
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
    char hidden[64];
    for (unsigned i = 0; i < HIDDEN_TRIES && !file->hidden; i++) {
        snprintf(hidden, sizeof(hidden), ".weir-%d-%u", (int)getpid(), i);
        int rc = weir_output_file_give_name(file, hidden);
        if (rc == 0) {
            file->hidden = strdup(hidden);
            if (!file->hidden)
                unlinkat(file->dir_fd, hidden, 0);
            return file->hidden ? 0 : -ENOMEM;
        }
        if (rc != -EEXIST)
            return rc;
    }
    return file->hidden ? 0 : -EEXIST;
}

static void sync_directory(const struct weir_output_file *file)
{
    int fd = openat(file->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd); /* advisory: the name is there for everybody that runs */
    close(fd);
}

int weir_output_replace(struct weir_output *output, const struct weir_output_identity *was, struct weir_error *err)
{
    struct weir_output_file *file = &output->file;
    weir_assert(!file->published && !file->stream);
    int rc = check_unchanged(file, was, err);
    if (rc < 0)
        return rc;
    if (file->hidden && !weir_output_file_is_at(file, file->hidden))
        return weir_error_set(err, -ENOENT, "'%s' was removed while recording, before it took the place of '%s'",
                              file->hidden, file->path);
    /* Who may read it stays as it was; where it could not be given back, it is ours alone. */
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
    sync_directory(file);
    return 0;
}
