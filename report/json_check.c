/* A parser that keeps nothing. */
#include "report/json_check.h"

#include <ctype.h>
#include <string.h>

struct check {
    const uint8_t *at, *end;
};

static bool check_value(struct check *check, unsigned depth);

static void skip_space(struct check *check)
{
    while (check->at < check->end && *check->at != 0 && strchr(" \t\r\n", *check->at))
        check->at++;
}

static bool take(struct check *check, char byte)
{
    bool is_there = check->at < check->end && *check->at == (uint8_t)byte;
    check->at += is_there;
    return is_there;
}

static bool take_word(struct check *check, const char *word)
{
    size_t bytes = strlen(word);
    bool is_there = (size_t)(check->end - check->at) >= bytes && memcmp(check->at, word, bytes) == 0;
    check->at += is_there ? bytes : 0;
    return is_there;
}

static bool take_escape(struct check *check)
{
    if (take(check, 'u')) {
        for (unsigned i = 0; i < 4; i++) {
            if (check->at == check->end || !isxdigit(*check->at++))
                return false;
        }
        return true;
    }
    return check->at < check->end && *check->at != 0 && strchr("\"\\/bfnrt", *check->at++);
}

static bool check_string(struct check *check)
{
    if (!take(check, '"'))
        return false;
    while (check->at < check->end && *check->at != '"') {
        if (*check->at < ' ' || (take(check, '\\') ? !take_escape(check) : !check->at++))
            return false;
    }
    return take(check, '"');
}

static bool take_digits(struct check *check)
{
    const uint8_t *start = check->at;
    while (check->at < check->end && isdigit(*check->at))
        check->at++;
    return check->at > start;
}

static bool check_number(struct check *check)
{
    take(check, '-');
    if (!take(check, '0') && !take_digits(check))
        return false;
    if (take(check, '.') && !take_digits(check))
        return false;
    if (take(check, 'e') || take(check, 'E')) {
        if (!take(check, '+'))
            take(check, '-');
        return take_digits(check);
    }
    return true;
}

/* Behind '{' or '['. */
static bool check_members(struct check *check, bool is_object, unsigned depth)
{
    char last = is_object ? '}' : ']';
    skip_space(check);
    if (take(check, last))
        return true;
    do {
        skip_space(check);
        if (is_object) {
            if (!check_string(check))
                return false;
            skip_space(check);
            if (!take(check, ':'))
                return false;
        }
        if (!check_value(check, depth + 1))
            return false;
        skip_space(check);
    } while (take(check, ','));
    return take(check, last);
}

static bool check_value(struct check *check, unsigned depth)
{
    skip_space(check);
    if (depth > WEIR_JSON_DEPTH_MAX || check->at == check->end)
        return false;
    switch (*check->at) {
    case '{':
    case '[':
        return check_members(check, *check->at++ == '{', depth);
    case '"':
        return check_string(check);
    case 't':
        return take_word(check, "true");
    case 'f':
        return take_word(check, "false");
    case 'n':
        return take_word(check, "null");
    default:
        return check_number(check);
    }
}

bool weir_json_is_value(const uint8_t *data, size_t bytes)
{
    struct check check = {.at = data, .end = data + bytes};
    skip_space(&check);
    if (check.at == check.end || (*check.at != '{' && *check.at != '['))
        return false;
    bool is_value = check_value(&check, 0);
    skip_space(&check);
    return is_value && check.at == check.end;
}
