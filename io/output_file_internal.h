/*
 * The file behind an output: path rules, the nameless file, its lock, its name. Set-up and end only, any one thread.
 *
 * The directory is opened once and all names are taken relative to it, so that it cannot be exchanged in between. The
 * path's last component is never followed when it is a symbolic link; the directories before it are, as usual.
 */
#ifndef WEIR_IO_OUTPUT_FILE_INTERNAL_H
#define WEIR_IO_OUTPUT_FILE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/notice.h"

struct weir_output_file {
    char *path;     /* owned: as given, for messages */
    char *name;     /* owned: last component; NULL for /dev/null */
    char *hidden;   /* owned: name beside it while unpublished; NULL when the file is nameless or published */
    int dir_fd;     /* owned, O_PATH; -1 for /dev/null and streams */
    int fd;         /* owned, O_RDWR, page cache; -1 when the owner of the struct has closed it */
    bool published; /* has its name, or needs none */
    bool stream;    /* it goes where it goes: nothing of it can be written again */
};

/*
 * Checks the path and makes the file, see weir_output_open(). 0 or -errno with err; then *file needs no fini.
 * A lock that the file system does not offer is told to notices and done without.
 */
int weir_output_file_open(struct weir_output_file *file, const char *path, const struct weir_notice_sink *notices,
                          struct weir_error *err);

/*
 * Takes a stream, see weir_output_open_stream(). fd: borrowed. *piece: bytes that one write may have at most, after
 * poll(2) has found room; 0: writes do not block. 0 or -errno with err; then *file needs no fini.
 */
int weir_output_file_open_stream(struct weir_output_file *file, int fd, size_t *piece, struct weir_error *err);

/* Whether fd can be written and is no terminal. 0 or -errno with err. */
int weir_output_file_check_stream(int fd, struct weir_error *err);

/* Gives the file its name, see weir_output_publish(). 0 or -errno with err. */
int weir_output_file_publish(struct weir_output_file *file, struct weir_error *err);

/* Names a file that is not published in its directory, without replacing anything: it has no hidden name behind this.
 * 0 or -errno. */
int weir_output_file_give_name(struct weir_output_file *file, const char *name);

/* Whether what stands at that name in its directory is this file. */
bool weir_output_file_is_at(const struct weir_output_file *file, const char *name);

/* See weir_output_is_at_name(). */
bool weir_output_file_is_at_name(const struct weir_output_file *file);

/* Takes its name away, see weir_output_remove(). */
void weir_output_file_remove(struct weir_output_file *file);

/* Gives its name to another file, see weir_output_pass_name(). 0 or -errno. */
int weir_output_file_pass_name(struct weir_output_file *file, const char *heir, dev_t device, ino_t inode);

/* Gives the file that other name in its directory, see weir_output_rename(). 0 or -errno with err. */
int weir_output_file_rename(struct weir_output_file *file, const char *name, struct weir_error *err);

/* Makes its name outlive the machine, see weir_output_sync_name(). 0 or -errno. */
int weir_output_file_sync_name(const struct weir_output_file *file);

/* Takes the hidden name away, unless it is another file's by now. Before fd is closed. */
void weir_output_file_drop_hidden(struct weir_output_file *file);

/* Closes; an unpublished file vanishes. A file from a failed open or {.dir_fd = -1, .fd = -1} is allowed. */
void weir_output_file_fini(struct weir_output_file *file);

#endif
