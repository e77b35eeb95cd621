/* Characters of text that nobody has checked. Pure; any thread. */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character at text (RFC 3629), of which bytes > 0 are there; 0: it is none. */
size_t weir_utf8_length(const uint8_t *text, size_t bytes);

/*
 * Whether the character at text, of so many bytes, is a control character: of ASCII, or of C1 (U+0080 to U+009F), which
 * terminals obey as well. length 0: whether the first byte, which is no UTF-8, is one of C1 where characters are bytes.
 */
bool weir_utf8_is_control(const uint8_t *text, size_t length);

#endif
