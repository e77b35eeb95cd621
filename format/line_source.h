/*
 * Reads the lines of a file through a buffer of the caller: no allocation, no stdio, one read(2) per buffer.
 *
 * The files of /proc return at most a page per read(2), and each such read ends at a line's end. In other files, the
 * next read completes a line that was read in part.
 */
#ifndef WEIR_FORMAT_LINE_SOURCE_H
#define WEIR_FORMAT_LINE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_line_source {
    int fd;         /* borrowed; blocking */
    char *data;     /* borrowed; the buffer that lines are returned in */
    size_t bytes;   /* size of data; lines of bytes - 1 and more are cut */
    size_t begin;   /* start of the bytes that are read but not returned */
    size_t end;     /* end of the bytes that are read */
    uint64_t reads; /* read(2) calls so far; the caller sees by it whether a line had to be waited for */
    int error;      /* -errno of the read that failed, or 0 */
    bool at_end;    /* read(2) has reached the end */
    bool cut;       /* the rest of an overlong line is to be skipped */
};

void weir_line_source_init(struct weir_line_source *lines, int fd, char *data, size_t bytes);

/*
 * Returns the next line without its newline, terminated by a zero and writable, valid until the next call; NULL at the
 * end or after a failed read (error). A last line without newline counts. The part of a line that does not fit into
 * data is dropped.
 */
char *weir_line_source_next(struct weir_line_source *lines);

#endif
