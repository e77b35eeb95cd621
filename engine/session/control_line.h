/*
 * The control protocol's lines: out of a stream of bytes, and into commands. Pure; any thread; allocates nothing.
 *
 * It is that of `perf record --control` (perf-record(1); tools/perf/util/evlist.c of Linux 6.1): a command is a line,
 * ended by a newline or a zero byte. perf's commands are
 *
 *     enable [EVENT]     disable [EVENT]     evlist [-v|-g|-F]     snapshot     ping     stop
 *
 * and weir's are dump, snapshot-alloc, switch and status. A command may be preceded by a minus sign, which means that
 * no answer is wanted. Empty lines are passed over.
 */
#ifndef WEIR_ENGINE_SESSION_CONTROL_LINE_H
#define WEIR_ENGINE_SESSION_CONTROL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define WEIR_CONTROL_LINE_MAX 1024 /* bytes without its end; perf's is 62 */

enum weir_control_verb {
    WEIR_CONTROL_ENABLE, /* with an event: that one alone */
    WEIR_CONTROL_DISABLE,
    WEIR_CONTROL_EVLIST,
    WEIR_CONTROL_DUMP,
    WEIR_CONTROL_SNAPSHOT,
    WEIR_CONTROL_SNAPSHOT_ALLOC,
    WEIR_CONTROL_SWITCH,
    WEIR_CONTROL_PING,
    WEIR_CONTROL_STOP,
    WEIR_CONTROL_STATUS,
};

enum weir_control_detail { /* of evlist */
    WEIR_CONTROL_NAMES,
    WEIR_CONTROL_VERBOSE, /* -v: attrs */
    WEIR_CONTROL_GROUPS,  /* -g */
    WEIR_CONTROL_FREQ,    /* -F */
};

struct weir_control_command {
    enum weir_control_verb verb;
    bool quiet;                      /* no answer is wanted */
    const char *event;               /* of enable and disable, borrowed from the line; NULL: all */
    enum weir_control_detail detail; /* of evlist */
};

/*
 * Understands one line, ended by a zero byte. 0, or -EINVAL with err (and the nearest command as hint). *command is
 * filled either way as far as `quiet` is concerned.
 */
int weir_control_parse(const char *line, struct weir_control_command *command, struct weir_error *err);

/* Bytes of a stream, in the order of arrival, until a line is whole. */
struct weir_control_lines {
    char bytes[WEIR_CONTROL_LINE_MAX + 1];
    size_t used;
    size_t taken;  /* of the line that was returned last */
    bool skipping; /* what is left of a line that was too long */
};

#define WEIR_CONTROL_LINE_NONE 0
#define WEIR_CONTROL_LINE      1

void weir_control_lines_init(struct weir_control_lines *lines);

/* Where to put the next bytes, and how many there is room for: at least 1 once next() has returned LINE_NONE. Takes
 * back what next() returned. */
char *weir_control_lines_room(struct weir_control_lines *lines, size_t *room);

/* So many bytes were put there. */
void weir_control_lines_add(struct weir_control_lines *lines, size_t bytes);

/*
 * The next whole line, not empty, in *line, borrowed until the next call for lines: WEIR_CONTROL_LINE. None is whole
 * yet: WEIR_CONTROL_LINE_NONE. -EMSGSIZE: a line is too long; it is passed over, and this is told once.
 */
int weir_control_lines_next(struct weir_control_lines *lines, const char **line);

/* next() or last() returned a line: the next call returns it again. */
void weir_control_lines_put_back(struct weir_control_lines *lines);

/* The stream has ended: what is there is a line, too. As next(). */
int weir_control_lines_last(struct weir_control_lines *lines, const char **line);

#endif
