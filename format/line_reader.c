/* Lines of a file through a buffer of the caller. Each struct belongs to one thread. */
#include "format/line_reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"

void weir_line_reader_init(struct weir_line_reader *reader, int fd, char *data, size_t bytes)
{
    weir_assert(bytes >= 2);
    *reader = (struct weir_line_reader){.fd = fd, .data = data, .bytes = bytes};
}

/* Moves what is left to the front and reads behind it; false when nothing came. One byte stays free for the zero. */
static bool fill(struct weir_line_reader *reader)
{
    if (reader->at_end)
        return false;
    memmove(reader->data, reader->data + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;

    ssize_t got;
    do {
        got = read(reader->fd, reader->data + reader->end, reader->bytes - 1 - reader->end);
        reader->reads++;
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        reader->error = -errno;
    if (got <= 0) {
        reader->at_end = true;
        return false;
    }
    reader->end += (size_t)got;
    return true;
}

/* Returns what was read and not yet returned, as one line. */
static char *take_rest(struct weir_line_reader *reader)
{
    char *line = reader->data + reader->begin;
    reader->data[reader->end] = '\0';
    reader->begin = reader->end;
    return line;
}

char *weir_line_reader_next(struct weir_line_reader *reader)
{
    for (;;) {
        char *line = reader->data + reader->begin;
        char *newline = memchr(line, '\n', reader->end - reader->begin);
        if (newline) {
            *newline = '\0';
            reader->begin = (size_t)(newline - reader->data) + 1;
            if (!reader->cut)
                return line;
            reader->cut = false;
            continue;
        }
        if (reader->cut) {
            reader->begin = reader->end;
        } else if (reader->end - reader->begin == reader->bytes - 1) {
            reader->cut = true;
            return take_rest(reader);
        }
        if (!fill(reader))
            return reader->begin == reader->end ? NULL : take_rest(reader);
    }
}
