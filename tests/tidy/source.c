/*
 * Files as the tidy rules see them. The C scanner knows comments, literals and escapes and nothing else: no
 * preprocessing, no trigraphs, no line continued inside a token, none of which this tree has.
 */
#include "tests/tidy/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCLUDE_BYTES 240 /* of a line; the scan below takes one less */

enum scan_state {
    IN_CODE,
    IN_LINE_COMMENT,
    IN_BLOCK_COMMENT,
    IN_STRING,
    IN_CHARACTER,
};

static bool ends_with(const char *text, const char *suffix)
{
    size_t text_bytes = strlen(text), suffix_bytes = strlen(suffix);
    return text_bytes >= suffix_bytes && strcmp(text + text_bytes - suffix_bytes, suffix) == 0;
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

enum source_kind source_kind_of(const char *path)
{
    if (ends_with(path, ".c") || ends_with(path, ".h"))
        return SOURCE_C;
    if (ends_with(path, "CMakeLists.txt") || ends_with(path, ".cmake"))
        return SOURCE_CMAKE;
    if (ends_with(path, ".md") || ends_with(path, ".json") || ends_with(path, ".1"))
        return SOURCE_PROSE;
    if (starts_with(path, "scripts/") || starts_with(path, ".ci/") || ends_with(path, ".sh"))
        return SOURCE_SCRIPT;
    return SOURCE_OTHER;
}

bool source_is_under(const struct source *source, const char *prefix)
{
    return starts_with(source->path, prefix);
}

/* What the scanner is in after the one or two characters at text; *length says how many of them it took. */
static enum scan_state next_state(enum scan_state state, const char *text, size_t *length)
{
    *length = 1;
    switch (state) {
    case IN_CODE:
        if (starts_with(text, "//") || starts_with(text, "/*")) {
            *length = 2;
            return text[1] == '/' ? IN_LINE_COMMENT : IN_BLOCK_COMMENT;
        }
        return *text == '"' ? IN_STRING : *text == '\'' ? IN_CHARACTER : IN_CODE;
    case IN_LINE_COMMENT:
        return *text == '\n' ? IN_CODE : IN_LINE_COMMENT;
    case IN_BLOCK_COMMENT:
        if (!starts_with(text, "*/"))
            return IN_BLOCK_COMMENT;
        *length = 2;
        return IN_CODE;
    case IN_STRING:
    case IN_CHARACTER:
        if (*text == '\\' && text[1] != '\0') {
            *length = 2;
            return state;
        }
        return *text == (state == IN_STRING ? '"' : '\'') ? IN_CODE : state;
    }
    return state;
}

/* Blanks code, a copy of the text; newlines stay, so that line numbers do. */
static void blank_comments_and_literals(char *code)
{
    enum scan_state state = IN_CODE;
    while (*code) {
        size_t length;
        enum scan_state next = next_state(state, code, &length);
        bool blank = state != IN_CODE || next != IN_CODE;
        for (; length > 0; length--, code++) {
            if (blank && *code != '\n')
                *code = ' ';
        }
        state = next;
    }
}

int source_init(struct source *source, const char *path, const char *text)
{
    *source = (struct source){.path = path, .text = text, .kind = source_kind_of(path)};
    if (source->kind != SOURCE_C)
        return 0;
    source->code = strdup(text);
    if (!source->code)
        return -ENOMEM;
    blank_comments_and_literals(source->code);
    return 0;
}

void source_fini(struct source *source)
{
    free(source->code);
    source->code = NULL;
}

bool source_next_line(const char *text, struct source_line *line)
{
    const char *start = line->start ? line->start + line->length : text;
    if (line->start && *start == '\n')
        start++;
    if (*start == '\0')
        return false;
    line->start = start;
    line->length = strcspn(start, "\n");
    line->number++;
    return true;
}

char source_parse_include(const struct source_line *line, char *header, size_t bytes)
{
    char open = '\0';
    char copy[INCLUDE_BYTES];
    char path[sizeof(copy)];
    snprintf(copy, sizeof(copy), "%.*s", (int)line->length, line->start);
    if (sscanf(copy, " # include %c%239[^\">]", &open, path) != 2)
        return '\0';
    snprintf(header, bytes, "%.*s", (int)bytes - 1, path);
    return open;
}
