/*
 * The control protocol (engine/control/control_line.h). Input: the size of the pieces in which the rest arrives, then
 * the rest.
 *
 * Lines are the same in pieces of any size: neither empty nor longer than allowed, without newline or zero in them;
 * what is refused has a reason, and what is understood has a part of the line as its event.
 */
#include "engine/control/control_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

static void check_command(const char *line)
{
    struct weir_control_command command;
    struct weir_error err = {0};
    int result = weir_control_parse(line, &command, &err);
    weir_assert(command.quiet == (line[0] == '-'));
    if (result < 0)
        fuzz_check_error(&err, result);
    else
        weir_assert(!command.event || (command.event > line && command.event < line + strlen(line)));
}

/* What next() says, one line each, until it has no more. */
static void take(struct weir_control_lines *lines, int (*next)(struct weir_control_lines *, const char **),
                 struct weir_buf *seen)
{
    const char *line;
    int result;
    while ((result = next(lines, &line)) != WEIR_CONTROL_LINE_NONE) {
        if (result < 0) {
            weir_assert(result == -EMSGSIZE);
            weir_buf_printf(seen, "too long\n");
            continue;
        }
        size_t length = strlen(line);
        weir_assert(length > 0 && length <= WEIR_CONTROL_LINE_MAX && !strchr(line, '\n'));
        check_command(line);
        weir_buf_printf(seen, "%s\n", line);
        weir_control_lines_put_back(lines);
        weir_assert(next(lines, &line) == WEIR_CONTROL_LINE && strlen(line) == length);
    }
}

static void feed(const uint8_t *data, size_t bytes, size_t piece, struct weir_buf *seen)
{
    struct weir_control_lines lines;
    weir_control_lines_init(&lines);
    while (bytes > 0) {
        size_t room;
        char *to = weir_control_lines_room(&lines, &room);
        weir_assert(room > 0);
        size_t part = weir_min_u64(weir_min_u64(room, piece), bytes);
        memcpy(to, data, part);
        weir_control_lines_add(&lines, part);
        data += part;
        bytes -= part;
        take(&lines, weir_control_lines_next, seen);
    }
    take(&lines, weir_control_lines_last, seen);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    if (bytes == 0)
        return;
    struct weir_buf in_pieces = WEIR_BUF_INIT, at_once = WEIR_BUF_INIT;
    feed(data + 1, bytes - 1, data[0] + 1u, &in_pieces);
    feed(data + 1, bytes - 1, SIZE_MAX, &at_once);
    weir_assert(strcmp(weir_buf_str(&in_pieces), weir_buf_str(&at_once)) == 0);
    weir_buf_fini(&in_pieces);
    weir_buf_fini(&at_once);
}

const struct fuzz_target fuzz_target = {.run = run};
