/*
 * Where bytes of a recording come from: a regular file, read at any place, or a stream (FIFO, pipe, socket, terminal),
 * read once. Files are read with pread(2) and never mapped: a file that shrinks meanwhile ends early, it does not kill
 * the reader. One thread; all functions but close may block as read(2) does.
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
    int fd;              /* -1: closed */
    bool is_owned;       /* close(2) it; false: standard input */
    bool is_file;        /* regular: has a size and any place can be read */
    uint64_t file_bytes; /* when it was opened; 0 unless is_file */
    char path[PATH_MAX]; /* for messages: "-" becomes "standard input" */
};

/*
 * Opens path for reading, "-" for standard input. 0, or -errno with err: that of open(2), -EISDIR (a directory),
 * -ENAMETOOLONG. *source is untouched on failure.
 */
int weir_byte_source_open(struct weir_byte_source *source, const char *path, struct weir_error *err);

/* Takes fd, open for reading, over: it is closed with the source, and at once when this fails. shown: its name in
 * messages. Results as weir_byte_source_open(). */
int weir_byte_source_adopt(struct weir_byte_source *source, int fd, const char *shown, struct weir_error *err);

/* Closes it when it is owned. A zeroed struct with fd -1 and NULL are allowed. */
void weir_byte_source_close(struct weir_byte_source *source);

/* Reads bytes at offset of a file; fewer only at the file's end. The count, or -errno. */
ssize_t weir_byte_source_read_at(const struct weir_byte_source *source, uint64_t offset, void *data, size_t bytes);

/* Reads the next bytes of a stream; fewer only at its end. The count, or -errno. */
ssize_t weir_byte_source_read(const struct weir_byte_source *source, void *data, size_t bytes);

#endif
