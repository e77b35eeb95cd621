/* Lines of a file through a buffer of the caller. Each struct belongs to one thread. */
#include "format/line_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

void weir_line_source_init(struct weir_line_source *lines, int fd, char *data, size_t bytes)
{
    weir_assert(bytes >= 2);
    *lines = (struct weir_line_source){.fd = fd, .data = data, .bytes = bytes};
}

/* Moves the remaining bytes to the front and reads behind them; false when nothing came. One byte stays free for the
 * zero. */
static bool fill(struct weir_line_source *lines)
{
    if (lines->at_end)
        return false;
    memmove(lines->data, lines->data + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;

    ssize_t got;
    do {
        got = read(lines->fd, lines->data + lines->end, lines->bytes - 1 - lines->end);
        lines->reads++;
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        lines->error = -errno;
    if (got <= 0) {
        lines->at_end = true;
        return false;
    }
    lines->end += (size_t)got;
    return true;
}

/* Returns the bytes that were read and not yet returned, as one line. */
static char *take_rest(struct weir_line_source *lines)
{
    char *line = lines->data + lines->begin;
    lines->data[lines->end] = '\0';
    lines->begin = lines->end;
    return line;
}

char *weir_line_source_next(struct weir_line_source *lines)
{
    for (;;) {
        char *line = lines->data + lines->begin;
        char *newline = memchr(line, '\n', lines->end - lines->begin);
        if (newline) {
            *newline = '\0';
            lines->begin = (size_t)(newline - lines->data) + 1;
            if (!lines->cut)
                return line;
            lines->cut = false;
            continue;
        }
        if (lines->cut) {
            lines->begin = lines->end;
        } else if (lines->end - lines->begin == lines->bytes - 1) {
            lines->cut = true;
            return take_rest(lines);
        }
        if (!fill(lines))
            return lines->begin == lines->end ? NULL : take_rest(lines);
    }
}
