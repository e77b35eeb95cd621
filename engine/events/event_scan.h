/*
 * The scanner of the event grammar: splits a text into words, quoted words and signs, each with its column. It never
 * fails and allocates nothing. Any thread.
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
    WEIR_TOKEN_SIGN,   /* one character that cannot be in a word: , : / { } = ... */
};

struct weir_event_token {
    enum weir_event_token_kind kind;
    const char *text; /* borrowed from the scanned text, not terminated */
    size_t length;
    unsigned column; /* from 1; for a quoted word: the column of its quote */
};

/* The characters that a word may have depend on where the word stands. */
enum weir_event_scan_mode {
    WEIR_SCAN_EVENTS, /* letters, digits and _-.*?[]!@ */
    WEIR_SCAN_TERMS,  /* between slashes: also ':' */
};

struct weir_event_scanner {
    const char *text; /* borrowed */
    const char *next; /* behind the token */
    struct weir_event_token token;
};

/* Starts at text, and reads the first token in WEIR_SCAN_EVENTS mode. */
void weir_event_scan_start(struct weir_event_scanner *scanner, const char *text);

/* Reads the next token. Skips blanks before it. */
void weir_event_scan_next(struct weir_event_scanner *scanner, enum weir_event_scan_mode mode);

/* Drops the first `length` bytes of the token. */
void weir_event_scan_shorten(struct weir_event_scanner *scanner, size_t length);

bool weir_event_token_is_sign(const struct weir_event_token *token, char sign);

/* Whether the whole token is this word. */
bool weir_event_token_is(const struct weir_event_token *token, const char *word);

/* Reads the token as a number of 64 bits, decimal or 0x and hex digits. False: it is none. */
bool weir_event_token_number(const struct weir_event_token *token, uint64_t *number);

/* Copies the token's text as a string, cut to bytes - 1 characters. */
void weir_event_token_copy(const struct weir_event_token *token, char *text, size_t bytes);

#endif
