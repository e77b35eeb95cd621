/* The character classes of words, and the numbers. */
#include "engine/events/event_scan.h"

#include <ctype.h>
#include <string.h>

#define HEX_DIGIT_BITS 4

static bool is_word_character(char c, enum weir_event_scan_mode mode)
{
    return isalnum((unsigned char)c) || (c && strchr("_-.*?[]!@", c)) || (mode == WEIR_SCAN_TERMS && c == ':');
}

/* at: the opening quote. A quote that is not closed becomes a sign, which no production accepts. */
static const char *scan_quoted(struct weir_event_token *token, const char *at)
{
    const char *end = strchr(at + 1, '\'');
    if (!end) {
        token->kind = WEIR_TOKEN_SIGN;
        token->length = 1;
        return at + 1;
    }
    token->kind = WEIR_TOKEN_QUOTED;
    token->text = at + 1;
    token->length = (size_t)(end - token->text);
    return end + 1;
}

void weir_event_scan_next(struct weir_event_scanner *scanner, enum weir_event_scan_mode mode)
{
    const char *at = scanner->next;
    while (isspace((unsigned char)*at))
        at++;

    struct weir_event_token *token = &scanner->token;
    *token = (struct weir_event_token){.text = at, .column = (unsigned)(at - scanner->text) + 1};
    if (mode == WEIR_SCAN_TERMS && *at == '\'') {
        scanner->next = scan_quoted(token, at);
        return;
    }
    if (is_word_character(*at, mode)) {
        token->kind = WEIR_TOKEN_WORD;
        while (is_word_character(*at, mode))
            at++;
    } else if (*at) {
        token->kind = WEIR_TOKEN_SIGN;
        at++;
    }
    token->length = (size_t)(at - token->text);
    scanner->next = at;
}

void weir_event_scan_start(struct weir_event_scanner *scanner, const char *text)
{
    *scanner = (struct weir_event_scanner){.text = text, .next = text};
    weir_event_scan_next(scanner, WEIR_SCAN_EVENTS);
}

void weir_event_scan_shorten(struct weir_event_scanner *scanner, size_t length)
{
    scanner->token.text += length;
    scanner->token.length -= length;
    scanner->token.column += (unsigned)length;
}

bool weir_event_token_is_sign(const struct weir_event_token *token, char sign)
{
    return token->kind == WEIR_TOKEN_SIGN && token->text[0] == sign;
}

bool weir_event_token_is(const struct weir_event_token *token, const char *word)
{
    return token->kind == WEIR_TOKEN_WORD && strlen(word) == token->length &&
           memcmp(token->text, word, token->length) == 0;
}

static unsigned digit_value(char c)
{
    return isdigit((unsigned char)c) ? (unsigned)(c - '0') : (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

bool weir_event_token_number(const struct weir_event_token *token, uint64_t *number)
{
    bool hex = token->length > 2 && token->text[0] == '0' && token->text[1] == 'x';
    if (token->kind != WEIR_TOKEN_WORD || token->length == 0)
        return false;
    uint64_t value = 0;
    for (size_t i = hex ? 2 : 0; i < token->length; i++) {
        char c = token->text[i];
        if (hex ? !isxdigit((unsigned char)c) : !isdigit((unsigned char)c))
            return false;
        if (hex && value >> (64 - HEX_DIGIT_BITS))
            return false;
        if (hex)
            value = value << HEX_DIGIT_BITS | digit_value(c);
        else if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit_value(c), &value))
            return false;
    }
    *number = value;
    return true;
}

void weir_event_token_copy(const struct weir_event_token *token, char *text, size_t bytes)
{
    size_t length = token->length < bytes ? token->length : bytes - 1;
    memcpy(text, token->text, length);
    text[length] = '\0';
}
