/* Files and streams behind one small interface. One thread per source. */
#include "format/byte_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_whole.h"

#define STDIN_WORD "-"

static int open_fd(const char *path, bool *is_owned)
{
    *is_owned = strcmp(path, STDIN_WORD) != 0;
    if (!*is_owned)
        return STDIN_FILENO;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int adopt(struct weir_byte_source *source, int fd, bool is_owned, const char *shown, struct weir_error *err)
{
    struct stat status;
    int code = fstat(fd, &status) < 0 ? -errno : S_ISDIR(status.st_mode) ? -EISDIR : 0;
    if (code < 0) {
        if (is_owned)
            close(fd);
        return weir_error_set_errno(err, code, "cannot read %s", shown);
    }
    *source = (struct weir_byte_source){.fd = fd, .is_owned = is_owned, .is_file = S_ISREG(status.st_mode)};
    source->device = status.st_dev;
    source->inode = status.st_ino;
    source->file_bytes = source->is_file ? (uint64_t)status.st_size : 0;
    snprintf(source->path, sizeof(source->path), "%s", shown);
    return 0;
}

int weir_byte_source_open(struct weir_byte_source *source, const char *path, struct weir_error *err)
{
    const char *shown = strcmp(path, STDIN_WORD) == 0 ? "standard input" : path;
    bool is_owned;
    int fd = strlen(path) < sizeof(source->path) ? open_fd(path, &is_owned) : -ENAMETOOLONG;
    if (fd < 0) {
        weir_error_set_errno(err, fd, "cannot open %s", *shown ? shown : "''");
        if (!*shown)
            weir_error_hint(err, "the name of the recording is empty");
        else if (fd == -ENOENT)
            weir_error_hint(err, "weir record -o %s makes a recording", shown);
        else if (fd == -EACCES)
            weir_error_hint(err, "only its owner can read a recording: see ls -l %s", shown);
        return fd;
    }
    return adopt(source, fd, is_owned, shown, err);
}

int weir_byte_source_adopt(struct weir_byte_source *source, int fd, const char *shown, struct weir_error *err)
{
    return adopt(source, fd, true, shown, err);
}

void weir_byte_source_close(struct weir_byte_source *source)
{
    if (source && source->fd >= 0 && source->is_owned)
        close(source->fd);
    if (source)
        source->fd = -1;
}

ssize_t weir_byte_source_read(const struct weir_byte_source *source, uint64_t offset, void *data, size_t bytes)
{
    return source->is_file ? weir_read_whole_at(source->fd, data, bytes, offset)
                           : weir_read_whole(source->fd, data, bytes);
}
