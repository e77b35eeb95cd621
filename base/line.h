/*
 * Keeps text that is shown as one line on one line. Errors and notices quote text that others choose: arguments, file
 * names, files in /proc. A newline in it would split the message, and an escape sequence would reach the terminal.
 */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Replaces each byte of a control character (base/utf8.h) of line by '?'; other UTF-8 stays whole. Any thread. */
void weir_line_clean(char *line);

/* Does the same to `bytes` bytes, which may contain zeros. */
void weir_line_clean_bytes(uint8_t *line, size_t bytes);

#endif
