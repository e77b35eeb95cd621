/* The file of an output, for io/ and its tests: how it is opened and closed. Threads as in output_file.h. */
#ifndef WEIR_IO_OUTPUT_FILE_INTERNAL_H
#define WEIR_IO_OUTPUT_FILE_INTERNAL_H

#include <stddef.h>

#include "base/notice.h"
#include "io/output_file.h"

/*
 * The directory is opened once and all names are taken relative to it, so that nobody can exchange it in between. The
 * last component of the path is never followed when it is a symbolic link; the directories before it are, as usual.
 */
struct weir_output_file {
    char *path;     /* owned: as given, for messages */
    char *name;     /* owned: last component; NULL for /dev/null and streams */
    char *hidden;   /* owned: name beside it while unpublished; NULL when the file is nameless or published */
    int dir_fd;     /* owned, O_PATH; -1 for /dev/null and streams */
    int fd;         /* owned, O_RDWR, page cache; -1 when the owner of the struct has closed it */
    bool published; /* has its name, or needs none */
    bool beside;    /* had a name beside the one that it is to take */
    bool stream;    /* no byte of it can be written again */
};

/*
 * Checks the path and makes the file, see weir_output_open(). directory_fd: as the option of that name. 0 or -errno
 * with err; then *file needs no fini. A file system without locks is told to notices, and the file is not locked then.
 */
int weir_output_file_open(struct weir_output_file *file, const char *path, const int *directory_fd,
                          const struct weir_notice_sink *notices, struct weir_error *err);

/*
 * Takes a stream, see weir_output_open_stream(). fd: borrowed. *piece: bytes that one write may have at most, after
 * poll(2) has found room; 0: writes do not block. 0 or -errno with err; then *file needs no fini.
 */
int weir_output_file_open_stream(struct weir_output_file *file, int fd, size_t *piece, struct weir_error *err);

/* Gives an unpublished file a name in its directory, without replacing anything; its hidden name goes. 0 or -errno. */
int weir_output_file_give_name(struct weir_output_file *file, const char *name);

/* Keeps a copy of the hidden name; "": the file has none. 0, or -ENOMEM, and then the name is removed. */
int weir_output_file_note_hidden(struct weir_output_file *file, const char *hidden);

/* Whether that name in its directory is this file's. */
bool weir_output_file_is_at(const struct weir_output_file *file, const char *name);

/* Takes the hidden name away, unless another file has it by now. Before fd is closed. */
void weir_output_file_drop_hidden(struct weir_output_file *file);

/* Closes; an unpublished file vanishes. A file from a failed open or {.dir_fd = -1, .fd = -1} is allowed. */
void weir_output_file_fini(struct weir_output_file *file);

#endif
