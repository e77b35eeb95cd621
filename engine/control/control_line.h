/*
 * Splits a stream of bytes into lines of the control protocol, and parses lines into commands. Pure; any thread;
 * allocates nothing.
 *
 * The protocol is that of `perf record --control` (perf-record(1); tools/perf/util/evlist.c of Linux 6.1). A command is
 * a line, which ends with a newline or a zero byte. perf has these commands:
 *
 *     enable [EVENT]     disable [EVENT]     evlist [-v|-g|-F]     snapshot     ping     stop
 *
 * weir adds dump, snapshot-alloc, switch and status [-v]. A minus sign before a command says that the client wants no
 * answer. weir ignores empty lines.
 */
#ifndef WEIR_ENGINE_CONTROL_CONTROL_LINE_H
#define WEIR_ENGINE_CONTROL_CONTROL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define WEIR_CONTROL_LINE_MAX 1024 /* bytes without the end of the line; perf's maximum is 62 */

enum weir_control_verb {
    WEIR_CONTROL_ENABLE, /* all events, or the named event only */
    WEIR_CONTROL_DISABLE,
    WEIR_CONTROL_EVLIST,
    WEIR_CONTROL_DUMP,
    WEIR_CONTROL_SNAPSHOT,
    WEIR_CONTROL_SNAPSHOT_ALLOC,
    WEIR_CONTROL_SWITCH,
    WEIR_CONTROL_PING,
    WEIR_CONTROL_LEASE, /* renews the lease */
    WEIR_CONTROL_STOP,
    WEIR_CONTROL_STATUS,
};

enum weir_control_detail { /* of evlist; of status: the first two */
    WEIR_CONTROL_NAMES,
    WEIR_CONTROL_VERBOSE, /* -v: attrs; of status: the values of each place */
    WEIR_CONTROL_GROUPS,  /* -g */
    WEIR_CONTROL_FREQ,    /* -F */
};

struct weir_control_command {
    enum weir_control_verb verb;
    bool quiet;                      /* the client wants no answer */
    const char *event;               /* of enable and disable, borrowed from the line; NULL: all events */
    enum weir_control_detail detail; /* of evlist and status */
};

/*
 * Parses one zero-terminated line. 0, or -EINVAL with err, whose hint names the most similar command. Sets
 * command->quiet in both cases.
 */
int weir_control_parse(const char *line, struct weir_control_command *command, struct weir_error *err);

/* Bytes of a stream, in the order of arrival, until they form a whole line. */
struct weir_control_lines {
    char bytes[WEIR_CONTROL_LINE_MAX + 1];
    size_t used;
    size_t taken;  /* bytes of the line that next() or last() has returned */
    bool skipping; /* the next bytes are the rest of a line that was too long */
};

#define WEIR_CONTROL_LINE_NONE 0
#define WEIR_CONTROL_LINE      1

void weir_control_lines_init(struct weir_control_lines *lines);

/* Returns the place for the next bytes and sets *room to their maximal number. Once next() has returned LINE_NONE,
 * *room is at least 1. Invalidates the line that next() returned. */
char *weir_control_lines_room(struct weir_control_lines *lines, size_t *room);

/* Notes that the caller has put this many bytes into the room. */
void weir_control_lines_add(struct weir_control_lines *lines, size_t bytes);

/*
 * Finds the next whole line that is not empty. WEIR_CONTROL_LINE: *line is the line, borrowed until the next call for
 * lines. WEIR_CONTROL_LINE_NONE: no line is whole yet. -EMSGSIZE, once for each line that is too long: the line is
 * skipped.
 */
int weir_control_lines_next(struct weir_control_lines *lines, const char **line);

/* Puts back the line that next() or last() returned, so that the next call returns this line again. */
void weir_control_lines_put_back(struct weir_control_lines *lines);

/* Finds the next line after the stream has ended: bytes without an end of line form a line, too. Returns as next(). */
int weir_control_lines_last(struct weir_control_lines *lines, const char **line);

#endif
