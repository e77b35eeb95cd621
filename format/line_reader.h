/*
 * Lines of a file through a buffer of the caller: no allocation, no stdio, one read(2) per buffer.
 *
 * The files of /proc give at most a page per read(2), whatever the buffer holds; each read ends at a line's end there,
 * elsewhere a line that was read in part is completed by the next read.
 */
#ifndef WEIR_FORMAT_LINE_READER_H
#define WEIR_FORMAT_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_line_reader {
    int fd;         /* borrowed; blocking */
    char *data;     /* borrowed; where lines are returned */
    size_t bytes;   /* size of data; lines of bytes - 1 and more are cut */
    size_t begin;   /* of what was read and not yet returned */
    size_t end;     /* of what was read */
    uint64_t reads; /* read(2) calls so far: a line that came with a new one was waited for */
    int error;      /* -errno of the read that ended the file, or 0 */
    bool at_end;    /* read(2) has nothing more */
    bool cut;       /* the rest of an overlong line is still to be skipped */
};

void weir_line_reader_init(struct weir_line_reader *reader, int fd, char *data, size_t bytes);

/*
 * The next line without its newline, terminated by a zero and writable, valid until the next call; NULL at the end or
 * after a failed read (reader->error). A last line without newline counts. What does not fit into data is dropped.
 */
char *weir_line_reader_next(struct weir_line_reader *reader);

#endif
