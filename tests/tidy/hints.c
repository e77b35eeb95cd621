/*
 * Hints and the tests that name them. The scanner goes by the code of a source, in which comments and literals are
 * blank: names, parentheses and semicolons are found there, literals in the text at the same place.
 */
#include "tests/tidy/hints.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/bits.h"

#define PIECE_LEAST 4u /* shorter ones are no text: "%s", "%s, " */
#define NAME_BYTES  64u

struct hint {
    char *path;  /* owned */
    char *piece; /* owned */
    unsigned line;
};

void hints_fini(struct hints *hints)
{
    for (size_t i = 0; i < hints->count; i++) {
        free(hints->all[i].path);
        free(hints->all[i].piece);
    }
    free(hints->all);
    weir_buf_fini(&hints->tests);
    *hints = (struct hints)HINTS_INIT;
}

/* ---- literals ---- */

static unsigned line_at(const char *text, size_t at)
{
    unsigned line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

/* The end of a conversion of printf(3) that begins at percent; of "%%" too. */
static const char *end_of_conversion(const char *percent)
{
    const char *at = percent + 1;
    at += strspn(at, "-+ #0123456789.*hljzt");
    return *at ? at + 1 : at;
}

/* The longest run of a format without conversions. */
static void longest_piece(const char *format, const char **start, size_t *length)
{
    *start = format;
    *length = 0;
    for (const char *from = format;;) {
        size_t run = strcspn(from, "%");
        if (run > *length) {
            *start = from;
            *length = run;
        }
        if (from[run] == '\0')
            return;
        from = end_of_conversion(from + run);
    }
}

static int add(struct hints *hints, const struct source *source, size_t at, struct weir_buf *literal)
{
    const char *start;
    size_t length;
    if (weir_buf_error(literal) < 0)
        return -ENOMEM;
    longest_piece(weir_buf_str(literal), &start, &length);
    if (length < PIECE_LEAST)
        return 0;
    struct hint *all = weir_array_grow(hints->all, sizeof(*all), hints->count, 1, &hints->capacity);
    if (!all)
        return -ENOMEM;
    hints->all = all;
    struct hint *hint = &all[hints->count];
    *hint = (struct hint){strdup(source->path), strndup(start, length), line_at(source->text, at)};
    if (hint->path && hint->piece) {
        hints->count++;
        return 0;
    }
    free(hint->path);
    free(hint->piece);
    return -ENOMEM;
}

/* Appends what stands between the quotes, the first of which is at text; returns what is behind the other one. */
static const char *append_literal(struct weir_buf *to, const char *text)
{
    for (text++; *text && *text != '"'; text++) {
        if (*text == '\\' && text[1])
            text++;
        weir_buf_append_u8(to, (uint8_t)*text);
    }
    return *text ? text + 1 : text;
}

/* Adds the literals in [start, end) of the source; those with nothing but white space in between are one. */
static int add_literals(struct hints *hints, const struct source *source, size_t start, size_t end)
{
    int result = 0;
    for (size_t at = start; result == 0 && at < end;) {
        if (source->text[at] != '"' || source->code[at] == '"') {
            at++;
            continue;
        }
        struct weir_buf literal = WEIR_BUF_INIT;
        size_t first = at;
        while (at < end && source->text[at] == '"') {
            at = (size_t)(append_literal(&literal, source->text + at) - source->text);
            at += strspn(source->text + at, " \n\\");
        }
        result = add(hints, source, first, &literal);
        weir_buf_fini(&literal);
    }
    return result;
}

/* ---- where they stand ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind the parenthesis that closes the one at open. */
static size_t end_of_call(const char *code, size_t open)
{
    unsigned depth = 0;
    size_t at = open;
    do {
        depth += code[at] == '(';
        depth -= code[at] == ')';
    } while (code[at++] && depth > 0);
    return at;
}

/* Whether a function of that name has a parameter "const char *hint" in this file. */
static bool takes_hint(const char *code, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(code, name); at; at = strstr(at + 1, name)) {
        if (at[length] != '(' || (at > code && is_word(at[-1])))
            continue;
        size_t end = end_of_call(at, length);
        const char *parameter = strstr(at, "const char *hint");
        if (parameter && parameter < at + end)
            return true;
    }
    return false;
}

/* At the end of a word: the end of what initialises it, or 0 when nothing does. */
static size_t end_of_initialiser(const char *code, size_t at)
{
    while (code[at] == '[')
        at += strcspn(code + at, "]") + 1;
    at += strspn(code + at, " ");
    return code[at] == '=' && code[at + 1] != '=' ? at + strcspn(code + at, ";") : 0;
}

static bool is_defined(const char *code, size_t start)
{
    static const char define[] = "#define ";
    return start >= strlen(define) && strncmp(code + start - strlen(define), define, strlen(define)) == 0;
}

static int collect_word(struct hints *hints, const struct source *source, size_t start, size_t end)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%.*s", (int)(end - start), source->code + start);
    if (source->code[end] == '(') {
        bool gives = strcmp(name, "weir_error_hint") == 0 || takes_hint(source->code, name);
        return gives ? add_literals(hints, source, end, end_of_call(source->code, end)) : 0;
    }
    if (!strcasestr(name, "hint"))
        return 0;
    size_t stop = end_of_initialiser(source->code, end);
    if (is_defined(source->code, start))
        for (stop = end; source->text[stop] && (source->text[stop] != '\n' || source->text[stop - 1] == '\\');)
            stop++;
    return add_literals(hints, source, end, stop);
}

static bool is_of_layers(const struct source *source)
{
    static const char *const folders[] = {"base/", "topology/", "io/", "format/", "engine/", "cli/", "libweir/"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(folders); i++) {
        if (source_is_under(source, folders[i]))
            return true;
    }
    return false;
}

int hints_collect(struct hints *hints, const struct source *source)
{
    int result = 0;
    if (source->kind != SOURCE_C || !is_of_layers(source))
        return 0;
    for (size_t at = 0; result == 0 && source->code[at];) {
        size_t start = at;
        while (is_word(source->code[at]))
            at++;
        if (at > start)
            result = collect_word(hints, source, start, at);
        else
            at++;
    }
    return result;
}

/* ---- tests ---- */

int hints_add_test(struct hints *hints, const char *path, const char *text)
{
    static const char own[] = "tests/tidy/", shell_quote[] = "'\\''";
    if (strncmp(path, own, strlen(own)) == 0)
        return 0;
    while (*text) {
        const char *next = *text == '"' ? text + 1 + strspn(text + 1, " \n\\") : text;
        if (*text == '"' && next > text + 1 && *next == '"') {
            text = next + 1; /* between two literals that are one */
        } else if (strncmp(text, shell_quote, strlen(shell_quote)) == 0) {
            weir_buf_append_u8(&hints->tests, '\'');
            text += strlen(shell_quote);
        } else {
            text += *text == '\\' && (text[1] == '"' || text[1] == '\\');
            weir_buf_append_u8(&hints->tests, (uint8_t)*text++);
        }
    }
    return weir_buf_error(&hints->tests);
}

int hints_check(struct hints *hints, const struct finding_sink *sink)
{
    const char *all = weir_buf_str(&hints->tests);
    if (weir_buf_error(&hints->tests) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < hints->count; i++) {
        char message[512];
        if (strstr(all, hints->all[i].piece))
            continue;
        snprintf(message, sizeof(message), "no test names this hint: \"%s\"", hints->all[i].piece);
        sink->report(sink->ctx, &(struct finding){.rule = "hint-without-test",
                                                  .path = hints->all[i].path,
                                                  .line = hints->all[i].line,
                                                  .message = message});
    }
    return 0;
}
