/* Characters of unchecked text. Pure; any thread. */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the UTF-8 character at text (RFC 3629), of which `bytes` > 0 are there; 0: not UTF-8. */
size_t weir_utf8_length(const uint8_t *text, size_t bytes);

/* Returns the number of the character at text, `length` > 0 bytes long, which is UTF-8. */
uint32_t weir_utf8_number(const uint8_t *text, size_t length);

/*
 * Returns whether the character at text, `length` bytes long, may do harm on a terminal. These are the control
 * characters of ASCII and of C1 (U+0080 to U+009F). Characters that end a line or turn the direction of text belong to
 * them as well (U+202E and its kin). length 0: text is not UTF-8; returns whether its first byte is a C1 character of
 * an 8-bit encoding.
 */
bool weir_utf8_is_control(const uint8_t *text, size_t length);

#endif
