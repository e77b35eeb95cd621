/* What is named, and what there is. */
#include "tests/tidy/mentions.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PREFIX "weir_"

struct mention {
    char *path; /* owned */
    char *name; /* owned */
    unsigned line;
};

void mentions_fini(struct mentions *mentions)
{
    for (size_t i = 0; i < mentions->count; i++) {
        free(mentions->all[i].path);
        free(mentions->all[i].name);
    }
    for (size_t i = 0; i < mentions->name_count; i++)
        free(mentions->names[i]);
    free(mentions->all);
    free(mentions->names);
    *mentions = (struct mentions)MENTIONS_INIT;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The bytes of a word with the prefix that begins there; 0: none does. */
static size_t name_at(const char *text, size_t at)
{
    if ((at > 0 && is_word(text[at - 1])) || strncmp(text + at, PREFIX, strlen(PREFIX)) != 0)
        return 0;
    size_t length = 0;
    while (is_word(text[at + length]))
        length++;
    return length;
}

static int add_name(struct mentions *mentions, const char *name, size_t length)
{
    char **names = weir_array_grow(mentions->names, sizeof(*names), mentions->name_count, 1, &mentions->name_capacity);
    char *copy = names ? strndup(name, length) : NULL;
    if (names)
        mentions->names = names;
    if (!copy)
        return -ENOMEM;
    mentions->names[mentions->name_count++] = copy;
    return 0;
}

static int add_mention(struct mentions *mentions, const char *path, unsigned line, const char *name, size_t length)
{
    struct mention *all = weir_array_grow(mentions->all, sizeof(*all), mentions->count, 1, &mentions->capacity);
    if (!all)
        return -ENOMEM;
    mentions->all = all;
    struct mention *mention = &all[mentions->count];
    *mention = (struct mention){.path = strdup(path), .name = strndup(name, length), .line = line};
    mentions->count++;
    return mention->path && mention->name ? 0 : -ENOMEM;
}

/* Of C what is code is no mention, and all else is; a script's functions are its own. */
static bool is_code(const struct source *source, size_t at)
{
    if (source->kind == SOURCE_C)
        return source->code[at] == source->text[at];
    return source->kind == SOURCE_CMAKE;
}

int mentions_collect(struct mentions *mentions, const struct source *source)
{
    if (source->kind == SOURCE_SCRIPT || source->kind == SOURCE_OTHER || source_is_under(source, "tests/tidy/"))
        return 0;
    int result = 0;
    unsigned line = 1;
    const char *text = source->text;
    for (size_t at = 0; result == 0 && text[at]; at++) {
        line += text[at] == '\n';
        size_t length = name_at(text, at);
        if (length == 0)
            continue;
        const char *behind = text + at + length;
        if (is_code(source, at)) {
            bool is_defined = source->kind == SOURCE_CMAKE || *behind == '(';
            result = is_defined ? add_name(mentions, text + at, length) : 0;
        } else if (strncmp(behind, "()", 2) == 0) {
            result = add_mention(mentions, source->path, line, text + at, length);
        }
        at += length - 1;
    }
    return result;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void mentions_check(struct mentions *mentions, const struct finding_sink *sink)
{
    if (mentions->name_count > 0)
        qsort(mentions->names, mentions->name_count, sizeof(*mentions->names), compare);
    for (size_t i = 0; i < mentions->count; i++) {
        const struct mention *mention = &mentions->all[i];
        char message[256];
        if (mentions->name_count > 0 &&
            bsearch(&mention->name, mentions->names, mentions->name_count, sizeof(*mentions->names), compare))
            continue;
        snprintf(message, sizeof(message), "there is no %s()", mention->name);
        sink->report(sink->ctx, &(struct finding){.rule = "mention-of-nothing",
                                                  .path = mention->path,
                                                  .line = mention->line,
                                                  .message = message});
    }
}
