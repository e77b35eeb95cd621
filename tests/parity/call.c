/*
 * Lines of strace to calls. The form of a line:
 *
 *   PID perf_event_open({name=value, name=value DECORATION, ...}, pid, cpu, group_fd, flags) = fd | -1 ERRNO (text)
 *   PID ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "text") = 0
 *
 * where DECORATION is a comment. With -f a call may be cut in two ("<unfinished ...>") only when two threads make calls
 * at the same time; the threads that open events do so alone.
 */
#include "tests/parity/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static char *copy(const char *text, size_t length)
{
    char *owned = strndup(text, length);
    weir_assert(owned);
    return owned;
}

static struct call_field *find(const struct call *call, const char *name)
{
    for (size_t i = 0; i < call->count; i++) {
        if (strcmp(call->fields[i].name, name) == 0)
            return (struct call_field *)&call->fields[i];
    }
    return NULL;
}

const char *call_get(const struct call *call, const char *name)
{
    const struct call_field *field = find(call, name);
    return field ? field->value : "";
}

bool call_is(const struct call *call, const char *name, const char *value)
{
    return strcmp(call_get(call, name), value) == 0;
}

bool call_is_twin(const struct call *a, const struct call *b)
{
    static const char *const names[] = {"type", "config", "cpu", "pid"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!call_is(a, names[i], call_get(b, names[i])))
            return false;
    }
    return true;
}

void call_set(struct call *call, const char *name, const char *value)
{
    struct call_field *field = find(call, name);
    char *owned = copy(value, strlen(value));
    if (!field) {
        weir_assert(call->count < CALL_FIELDS_MAX);
        field = &call->fields[call->count++];
        *field = (struct call_field){.name = copy(name, strlen(name))};
    }
    free(field->value);
    field->value = owned;
}

/* Where the word begins; NULL: the list does not have it. */
static const char *find_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at;) {
        size_t span = strcspn(at, "|");
        if (span == length && strncmp(at, word, length) == 0)
            return at;
        at += span;
        at += *at == '|';
    }
    return NULL;
}

bool call_has_word(const struct call *call, const char *name, const char *word)
{
    return find_word(call_get(call, name), word) != NULL;
}

void call_remove_word(struct call *call, const char *name, const char *word)
{
    const char *list = call_get(call, name), *at = find_word(list, word);
    if (!at)
        return;
    const char *rest = at + strlen(word);
    size_t head = (size_t)(at - list);
    if (*rest == '|')
        rest++;
    else if (head > 0)
        head--; /* the last of several: the bar before it goes */
    char *shorter = NULL;
    weir_assert(asprintf(&shorter, "%.*s%s", (int)head, list, rest) >= 0);
    call_set(call, name, *shorter ? shorter : "0");
    free(shorter);
}

/* A field of this length, with or without a comment behind it; without "name=" it is called name. */
static void add_field(struct call *call, const char *text, size_t length, const char *name)
{
    const char *equals = memchr(text, '=', length);
    const char *value = text;
    char *owned_name;
    if (name) {
        owned_name = copy(name, strlen(name));
    } else {
        weir_assert(equals);
        owned_name = copy(text, (size_t)(equals - text));
        value = equals + 1;
    }
    size_t value_length = length - (size_t)(value - text);
    const char *comment = memmem(value, value_length, " /*", 3);
    if (comment)
        value_length = (size_t)(comment - value);
    weir_assert(call->count < CALL_FIELDS_MAX);
    call->fields[call->count++] = (struct call_field){.name = owned_name, .value = copy(value, value_length)};
}

/* text: behind "perf_event_open(". */
static void read_open(struct call *call, const char *text)
{
    weir_assert(*text == '{');
    for (text++; *text != '}';) {
        size_t length = strcspn(text, ",}");
        if (strncmp(text, "...", strlen("...")) != 0) /* words behind those that strace knows, all zero */
            add_field(call, text, length, NULL);
        text += length;
        text += strspn(text, ", ");
        weir_assert(*text);
    }
    static const char *const arguments[] = {"pid", "cpu", "group_fd", "flags"};
    text++;
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
        text += strspn(text, ", ");
        size_t length = strcspn(text, ",)");
        add_field(call, text, length, arguments[i]);
        text += length;
    }
    text += strspn(text, ") =");
    if (*text == '-')
        text += strcspn(text, " ") + 1; /* the name of the error, instead of -1 */
    add_field(call, text, strcspn(text, " \n"), "result");
}

/* text: behind "ioctl(". The event that has the descriptor now is the last one that was opened as it. */
static void read_ioctl(struct calls *calls, const char *text)
{
    static const char filter[] = "PERF_EVENT_IOC_SET_FILTER, ";
    size_t fd_length = strcspn(text, ",");
    char *fd = copy(text, fd_length);
    text += fd_length + strspn(text + fd_length, ", ");
    bool is_filter = strncmp(text, filter, strlen(filter)) == 0;
    for (size_t i = calls->count; is_filter && i > 0; i--) {
        if (!call_is(&calls->items[i - 1], "result", fd))
            continue;
        const char *value = text + strlen(filter);
        const char *end = strrchr(value, ')');
        char *owned = copy(value, end ? (size_t)(end - value) : strlen(value));
        call_set(&calls->items[i - 1], "filter", owned);
        free(owned);
        break;
    }
    free(fd);
}

void calls_read(struct calls *calls, const char *path)
{
    *calls = (struct calls){0};
    FILE *file = fopen(path, "re");
    weir_assert(file);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) >= 0) {
        const char *open = strstr(line, "perf_event_open("), *ioctl = strstr(line, "ioctl(");
        weir_assert(!strstr(line, "<unfinished") || !open);
        if (open) {
            calls->items = reallocarray(calls->items, calls->count + 1, sizeof(*calls->items));
            weir_assert(calls->items);
            struct call *call = &calls->items[calls->count++];
            *call = (struct call){.count = 0};
            read_open(call, open + strlen("perf_event_open("));
        } else if (ioctl) {
            read_ioctl(calls, ioctl + strlen("ioctl("));
        }
    }
    free(line);
    fclose(file);
}

static void call_fini(struct call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        free(call->fields[i].name);
        free(call->fields[i].value);
    }
}

void calls_drop(struct calls *calls, size_t index)
{
    call_fini(&calls->items[index]);
    calls->count--;
    memmove(&calls->items[index], &calls->items[index + 1], (calls->count - index) * sizeof(*calls->items));
}

void calls_fini(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        call_fini(&calls->items[i]);
    free(calls->items);
    *calls = (struct calls){0};
}
