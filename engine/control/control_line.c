/* Splits and parses lines of the control protocol. Pure; any thread. */
#include "engine/control/control_line.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/suggest.h"

/* ---- commands ---- */

enum argument {
    ARGUMENT_NONE,
    ARGUMENT_EVENT,
    ARGUMENT_DETAIL,
    ARGUMENT_VERBOSE,
};

static const struct {
    const char *word;
    enum weir_control_verb verb;
    enum argument argument;
} words[] = {
    {"enable", WEIR_CONTROL_ENABLE, ARGUMENT_EVENT},    {"disable", WEIR_CONTROL_DISABLE, ARGUMENT_EVENT},
    {"evlist", WEIR_CONTROL_EVLIST, ARGUMENT_DETAIL},   {"dump", WEIR_CONTROL_DUMP, ARGUMENT_NONE},
    {"snapshot", WEIR_CONTROL_SNAPSHOT, ARGUMENT_NONE}, {"snapshot-alloc", WEIR_CONTROL_SNAPSHOT_ALLOC, ARGUMENT_NONE},
    {"switch", WEIR_CONTROL_SWITCH, ARGUMENT_NONE},     {"ping", WEIR_CONTROL_PING, ARGUMENT_NONE},
    {"lease", WEIR_CONTROL_LEASE, ARGUMENT_NONE},       {"stop", WEIR_CONTROL_STOP, ARGUMENT_NONE},
    {"status", WEIR_CONTROL_STATUS, ARGUMENT_VERBOSE},
};

static int refuse_word(const char *line, int length, struct weir_error *err)
{
    char word[32];
    struct weir_suggest suggest;
    size_t bytes = weir_min_u64((uint64_t)length, sizeof(word) - 1);
    memcpy(word, line, bytes);
    word[bytes] = '\0';
    weir_suggest_init(&suggest, word);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++)
        weir_suggest_offer(&suggest, words[i].word);
    weir_error_set(err, -EINVAL, "unknown control command '%s'", word);
    if (weir_suggest_best(&suggest))
        weir_error_hint(err, "did you mean '%s'?", weir_suggest_best(&suggest));
    return -EINVAL;
}

static int parse_detail(const char *text, struct weir_control_command *command, struct weir_error *err)
{
    static const struct {
        const char *text;
        enum weir_control_detail detail;
    } details[] = {{"-v", WEIR_CONTROL_VERBOSE}, {"-g", WEIR_CONTROL_GROUPS}, {"-F", WEIR_CONTROL_FREQ}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(details); i++) {
        if (strcmp(text, details[i].text) == 0) {
            command->detail = details[i].detail;
            return 0;
        }
    }
    return weir_error_set(err, -EINVAL, "evlist takes -v, -g or -F, not '%s'", text);
}

static int parse_verbose(const char *text, struct weir_control_command *command, struct weir_error *err)
{
    if (strcmp(text, "-v") != 0)
        return weir_error_set(err, -EINVAL, "status takes -v, not '%s'", text);
    command->detail = WEIR_CONTROL_VERBOSE;
    return 0;
}

int weir_control_parse(const char *line, struct weir_control_command *command, struct weir_error *err)
{
    *command = (struct weir_control_command){.quiet = line[0] == '-'};
    line += command->quiet;
    size_t length = strcspn(line, " ");
    const char *argument = line[length] == ' ' ? line + length + 1 : NULL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (strlen(words[i].word) != length || memcmp(words[i].word, line, length) != 0)
            continue;
        command->verb = words[i].verb;
        if (!argument)
            return 0;
        if (argument[0] == '\0')
            return weir_error_set(err, -EINVAL, "control command '%s' ends with a blank", words[i].word);
        if (words[i].argument == ARGUMENT_DETAIL)
            return parse_detail(argument, command, err);
        if (words[i].argument == ARGUMENT_VERBOSE)
            return parse_verbose(argument, command, err);
        if (words[i].argument == ARGUMENT_NONE)
            return weir_error_set(err, -EINVAL, "control command '%s' takes no argument", words[i].word);
        command->event = argument;
        return 0;
    }
    return refuse_word(line, (int)length, err);
}

/* ---- lines ---- */

void weir_control_lines_init(struct weir_control_lines *lines)
{
    lines->used = lines->taken = 0;
    lines->skipping = false;
}

static void drop(struct weir_control_lines *lines, size_t bytes)
{
    lines->used -= bytes;
    memmove(lines->bytes, lines->bytes + bytes, lines->used);
}

static void drop_taken(struct weir_control_lines *lines)
{
    drop(lines, lines->taken);
    lines->taken = 0;
}

char *weir_control_lines_room(struct weir_control_lines *lines, size_t *room)
{
    drop_taken(lines);
    *room = sizeof(lines->bytes) - lines->used;
    return lines->bytes + lines->used;
}

void weir_control_lines_add(struct weir_control_lines *lines, size_t bytes)
{
    weir_assert(bytes <= sizeof(lines->bytes) - lines->used);
    lines->used += bytes;
}

/* Returns the index of the end of the first line, or `used` when the line has no end yet. */
static size_t find_end(const struct weir_control_lines *lines)
{
    for (size_t i = 0; i < lines->used; i++) {
        if (lines->bytes[i] == '\n' || lines->bytes[i] == '\0')
            return i;
    }
    return lines->used;
}

int weir_control_lines_next(struct weir_control_lines *lines, const char **line)
{
    drop_taken(lines);
    for (;;) {
        size_t end = find_end(lines);
        if (end == lines->used) {
            bool too_long = !lines->skipping && end > WEIR_CONTROL_LINE_MAX;
            lines->skipping |= too_long;
            if (lines->skipping)
                lines->used = 0;
            return too_long ? -EMSGSIZE : WEIR_CONTROL_LINE_NONE;
        }
        if (end == 0 || lines->skipping) {
            drop(lines, end + 1);
            lines->skipping = false;
            continue;
        }
        lines->bytes[end] = '\0';
        lines->taken = end + 1;
        *line = lines->bytes;
        return WEIR_CONTROL_LINE;
    }
}

void weir_control_lines_put_back(struct weir_control_lines *lines)
{
    lines->taken = 0; /* next() takes the zero byte that it wrote as the end of the line */
}

int weir_control_lines_last(struct weir_control_lines *lines, const char **line)
{
    int result = weir_control_lines_next(lines, line);
    if (result != WEIR_CONTROL_LINE_NONE || lines->used == 0)
        return result;
    lines->bytes[lines->used] = '\0'; /* in bounds, because next() discards a line that fills the buffer */
    lines->taken = lines->used;
    *line = lines->bytes;
    return WEIR_CONTROL_LINE;
}
