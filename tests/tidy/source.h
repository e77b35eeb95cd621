/*
 * One file of the tree as the tidy rules see it: its text, and for C its code, the same text with comments and the
 * insides of literals blanked, so that a rule about code never trips over prose. Offsets and lines are those of the
 * text. One thread.
 */
#ifndef WEIR_TESTS_TIDY_SOURCE_H
#define WEIR_TESTS_TIDY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

enum source_kind {
    SOURCE_C,      /* .c and .h */
    SOURCE_CMAKE,  /* CMakeLists.txt and .cmake */
    SOURCE_SCRIPT, /* everything under scripts/ and .ci/, and .sh */
    SOURCE_PROSE,  /* .md, man pages, .json */
    SOURCE_OTHER,  /* anything else: not looked at */
};

struct source {
    const char *path; /* borrowed; from the root of the tree, "engine/kernel/ring.c" */
    const char *text; /* borrowed; zero terminated */
    char *code;       /* owned; as long as text; for SOURCE_C only, otherwise NULL */
    enum source_kind kind;
};

enum source_kind source_kind_of(const char *path);

/* Starts on a file; path and text are borrowed until source_fini. 0 or -ENOMEM. */
int source_init(struct source *source, const char *path, const char *text);
void source_fini(struct source *source);

/* Whether the path begins with prefix; "engine/kernel/ring." covers ring.c and ring.h. */
bool source_is_under(const struct source *source, const char *prefix);

struct source_line {
    const char *start; /* in the text or code that was iterated */
    size_t length;     /* bytes, without the newline */
    unsigned number;   /* from 1 */
};

/* Moves to the next line of text, the first one when line is all zero. False at the end. */
bool source_next_line(const char *text, struct source_line *line);

/*
 * If the line, one of the text, includes something: copies the path in it to header (cut if long) and returns its quote
 * or bracket. Otherwise returns 0.
 */
char source_parse_include(const struct source_line *line, char *header, size_t bytes);

#endif
