/*
 * The reader of configuration files, by hand: the grammar has no nesting, and its errors are to name a line.
 *
 * parse_line() reads one line; a value may go on in the next. Names are collected in a buffer of the largest size that
 * they may have. Any thread.
 */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

struct parser {
    struct weir_config *config;
    const char *at, *end;
    const char *path;
    unsigned line;
    char section[WEIR_CONFIG_NAME_BYTES]; /* "": none yet */
    struct weir_error *err;
};

static void entry_fini(struct weir_config_entry *entry)
{
    free(entry->section);
    free(entry->key);
    free(entry->value);
    free(entry->path);
}

static void config_cut(struct weir_config *config, size_t count)
{
    while (config->count > count)
        entry_fini(&config->entries[--config->count]);
}

void weir_config_fini(struct weir_config *config)
{
    if (!config)
        return;
    config_cut(config, 0);
    free(config->entries);
    *config = (struct weir_config){0};
}

static int fail(struct parser *parser, const char *problem, const char *hint)
{
    weir_error_set(parser->err, -EINVAL, "%s:%u: %s", parser->path, parser->line, problem);
    weir_error_hint(parser->err, "%s", hint);
    return -EINVAL;
}

/* value: NULL for none. */
static int add_entry(struct parser *parser, const char *key, const char *value, unsigned line)
{
    struct weir_config *config = parser->config;
    struct weir_config_entry *entries =
        weir_array_grow(config->entries, sizeof(*entries), config->count, 1, &config->capacity);
    if (!entries)
        return weir_error_set_errno(parser->err, -ENOMEM, "cannot read %s", parser->path);
    config->entries = entries;
    struct weir_config_entry entry = {.section = strdup(parser->section),
                                      .key = strdup(key),
                                      .value = value ? strdup(value) : NULL,
                                      .path = strdup(parser->path),
                                      .line = line};
    if (!entry.section || !entry.key || (value && !entry.value) || !entry.path) {
        entry_fini(&entry);
        return weir_error_set_errno(parser->err, -ENOMEM, "cannot read %s", parser->path);
    }
    config->entries[config->count++] = entry;
    return 0;
}

/* The next character, '\n' at the end of a line (for "\r\n" too) and of the text. */
static char peek(const struct parser *parser)
{
    if (parser->at == parser->end)
        return '\n';
    if (*parser->at == '\r' && parser->at + 1 < parser->end && parser->at[1] == '\n')
        return '\n';
    return *parser->at;
}

static void advance(struct parser *parser)
{
    if (parser->at == parser->end)
        return;
    bool ends_line = peek(parser) == '\n';
    if (*parser->at == '\r' && ends_line)
        parser->at++;
    parser->at++;
    parser->line += ends_line;
}

static void skip_blanks(struct parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t')
        advance(parser);
}

static void skip_line(struct parser *parser)
{
    while (peek(parser) != '\n')
        advance(parser);
}

/* Reads letters of a name, in lower case, behind what is in it. False: too long. */
static bool read_name(struct parser *parser, const char *others, char name[WEIR_CONFIG_NAME_BYTES])
{
    size_t length = strlen(name);
    for (;; advance(parser)) {
        unsigned char letter = (unsigned char)peek(parser);
        if (letter == '\0' || (!isalnum(letter) && !strchr(others, letter)))
            return true;
        if (length + 1 == WEIR_CONFIG_NAME_BYTES)
            return false;
        name[length++] = (char)tolower(letter);
        name[length] = '\0';
    }
}

static const char section_hint[] = "a section is written [record]";

/* At '['. */
static int parse_section(struct parser *parser)
{
    advance(parser);
    parser->section[0] = '\0';
    if (!read_name(parser, "-._", parser->section) || !parser->section[0])
        return fail(parser, "bad section name", section_hint);
    skip_blanks(parser);
    if (peek(parser) == '"') {
        size_t length = strlen(parser->section);
        if (length + 1 >= WEIR_CONFIG_NAME_BYTES)
            return fail(parser, "bad section name", section_hint);
        parser->section[length++] = ' ';
        for (advance(parser); peek(parser) != '"'; advance(parser)) {
            if (peek(parser) == '\\')
                advance(parser);
            if (peek(parser) == '\n' || peek(parser) == '\0' || length + 1 >= WEIR_CONFIG_NAME_BYTES)
                return fail(parser, "bad section name", section_hint);
            parser->section[length++] = peek(parser);
        }
        parser->section[length] = '\0';
        advance(parser);
    }
    if (peek(parser) != ']')
        return fail(parser, "section name without a closing ']'", section_hint);
    advance(parser);
    return 0;
}

/* Behind a backslash. */
static int read_escape(struct parser *parser, struct weir_buf *value)
{
    static const char escapes[] = "ntb\"\\", meanings[] = "\n\t\b\"\\";
    char letter = peek(parser);
    if (letter == '\n') {
        advance(parser);
        return 0;
    }
    const char *found = letter ? strchr(escapes, letter) : NULL;
    if (!found)
        return fail(parser, "bad character after a backslash", "a backslash itself is written twice");
    weir_buf_append_u8(value, (uint8_t)meanings[found - escapes]);
    advance(parser);
    return 0;
}

/* To the end of the line, without blanks at its ends. */
static int read_value(struct parser *parser, struct weir_buf *value)
{
    bool quoted = false;
    size_t kept = 0; /* bytes that are no blanks at the end */
    for (skip_blanks(parser); quoted || peek(parser) != '\n';) {
        char letter = peek(parser);
        if (letter == '\n')
            return fail(parser, "missing closing quote", "a value ends with its line");
        if (letter == '\0')
            return fail(parser, "zero byte", "a configuration file is text");
        if (!quoted && (letter == '#' || letter == ';')) {
            skip_line(parser);
            break;
        }
        advance(parser);
        int result = 0;
        if (letter == '"')
            quoted = !quoted;
        else if (letter == '\\')
            result = read_escape(parser, value);
        else
            weir_buf_append_u8(value, (uint8_t)letter);
        if (result < 0)
            return result;
        if (quoted || letter == '"' || letter == '\\' || !isspace((unsigned char)letter))
            kept = value->used;
        if (value->used >= WEIR_CONFIG_VALUE_BYTES)
            return fail(parser, "value too long", "4095 bytes are the most that a value may have");
    }
    value->used = kept;
    return 0;
}

static int parse_entry(struct parser *parser)
{
    char key[WEIR_CONFIG_NAME_BYTES] = "";
    unsigned line = parser->line;
    if (!isalpha((unsigned char)peek(parser)) || !read_name(parser, "-_", key))
        return fail(parser, "bad key name", "a key begins with a letter; letters, digits and '-' follow");
    if (!parser->section[0])
        return fail(parser, "key before the first section", section_hint);
    skip_blanks(parser);
    char next = peek(parser);
    if (next == '\n' || next == '#' || next == ';') {
        skip_line(parser);
        return add_entry(parser, key, NULL, line);
    }
    if (next != '=')
        return fail(parser, "'=' expected after the key", "a line is written KEY = VALUE");

    advance(parser);
    struct weir_buf value = WEIR_BUF_INIT;
    int result = read_value(parser, &value);
    const char *text = weir_buf_str(&value);
    if (result == 0 && weir_buf_error(&value) < 0)
        result = weir_error_set_errno(parser->err, -ENOMEM, "cannot read %s", parser->path);
    if (result == 0)
        result = add_entry(parser, key, text, line);
    weir_buf_fini(&value);
    return result;
}

static int parse_line(struct parser *parser)
{
    while (parser->at < parser->end && isspace((unsigned char)*parser->at))
        advance(parser);
    if (parser->at == parser->end)
        return 0;
    char first = peek(parser);
    if (first == '#' || first == ';') {
        skip_line(parser);
        return 0;
    }
    return first == '[' ? parse_section(parser) : parse_entry(parser);
}

int weir_config_parse(struct weir_config *config, const char *text, size_t bytes, const char *path,
                      struct weir_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
    size_t count = config->count, mark_bytes = strlen(mark);
    struct parser parser = {.config = config, .at = text, .end = text + bytes, .path = path, .line = 1, .err = err};
    if (bytes >= mark_bytes && memcmp(text, mark, mark_bytes) == 0)
        parser.at += mark_bytes;
    int result = 0;
    while (result == 0 && parser.at < parser.end)
        result = parse_line(&parser);
    if (result < 0)
        config_cut(config, count);
    return result;
}
