/*
 * The source of a recording's bytes: a regular file, read at any offset, or a stream (FIFO, pipe, socket, terminal),
 * read once. Files are read by base/read_whole.h and never mapped: a file that shrinks meanwhile ends early and does
 * not kill the process by SIGBUS. One thread; all functions but close may block as open(2) does.
 */
#ifndef WEIR_FORMAT_BYTE_SOURCE_H
#define WEIR_FORMAT_BYTE_SOURCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_byte_source {
    int fd;              /* to be read; -1: closed */
    bool is_owned;       /* fd is closed with the source; false: standard input */
    bool is_file;        /* a regular file: it has a size, and any offset can be read */
    uint64_t file_bytes; /* size at opening; 0 unless is_file */
    uint64_t device, inode;
    char path[PATH_MAX]; /* for messages: "-" becomes "standard input" */
};

/*
 * Opens path for reading, "-" for standard input. 0, or -errno with err: that of open(2), -EISDIR (a directory),
 * -ENAMETOOLONG. *source is untouched on failure.
 */
int weir_byte_source_open(struct weir_byte_source *source, const char *path, struct weir_error *err);

/* Takes over fd, which is open for reading: the source closes it, at once if this call fails. shown: its name in
 * messages. Results as weir_byte_source_open(). */
int weir_byte_source_adopt(struct weir_byte_source *source, int fd, const char *shown, struct weir_error *err);

/* Reads bytes: of a file those at the offset, of a stream the next ones. Results as weir_read_whole(). */
ssize_t weir_byte_source_read(const struct weir_byte_source *source, uint64_t offset, void *data, size_t bytes);

/* Closes the source's fd if it is owned. A zeroed struct with fd -1, and NULL, are allowed. */
void weir_byte_source_close(struct weir_byte_source *source);

#endif
