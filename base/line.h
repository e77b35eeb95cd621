/*
 * What is shown as one line stays one line. Errors and notices quote what others chose: arguments, file names, what a
 * file in /proc says. A newline in one of them would split the message, an escape sequence would reach the terminal.
 */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

#include <stddef.h>
#include <stdint.h>

/* Replaces each byte of a control character (base/utf8.h) of line by '?'; other UTF-8 stays whole. Any thread. */
void weir_line_clean(char *line);

/* The same of so many bytes. */
void weir_line_clean_bytes(uint8_t *line, size_t bytes);

#endif
