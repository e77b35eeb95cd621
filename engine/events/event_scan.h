/*
 * The scanner under the event grammar: words, quoted words and signs, each with its column. Keeps no state but the
 * place in the text; never fails. Any thread.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_SCAN_H
#define WEIR_ENGINE_EVENTS_EVENT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_EVENT_WORD_BYTES 256 /* for a copy of a word that is shown, or looked up in a directory */

enum weir_event_token_kind {
    WEIR_TOKEN_END,
    WEIR_TOKEN_WORD,
    WEIR_TOKEN_QUOTED, /* 'text', without the quotes; among terms only */
    WEIR_TOKEN_SIGN,   /* one character that no word has: , : / { } = ... */
};

struct weir_event_token {
    enum weir_event_token_kind kind;
    const char *text; /* borrowed from the scanned text, not terminated */
    size_t length;
    unsigned column; /* from 1; of a quoted word: of its quote */
};

/* Which characters a word has depends on where it stands. */
enum weir_event_scan_mode {
    WEIR_SCAN_EVENTS, /* letters, digits and _-.*?[]!@ */
    WEIR_SCAN_TERMS,  /* between slashes: also ':' */
};

struct weir_event_scanner {
    const char *text; /* borrowed */
    const char *next; /* behind the token */
    struct weir_event_token token;
};

/* Starts at text; its first token, an event's, is there. */
void weir_event_scan_start(struct weir_event_scanner *scanner, const char *text);

/* Goes to the next token. Blanks between tokens are passed over. */
void weir_event_scan_next(struct weir_event_scanner *scanner, enum weir_event_scan_mode mode);

/* Drops the first `length` bytes of the token. */
void weir_event_scan_shorten(struct weir_event_scanner *scanner, size_t length);

bool weir_event_token_is_sign(const struct weir_event_token *token, char sign);

/* The whole token is this word. */
bool weir_event_token_is(const struct weir_event_token *token, const char *word);

/* The token is a number, decimal or 0x and hex digits, that fits. */
bool weir_event_token_number(const struct weir_event_token *token, uint64_t *number);

/* Copies the token's text, cut at bytes - 1, for what wants a string. */
void weir_event_token_copy(const struct weir_event_token *token, char *text, size_t bytes);

#endif
