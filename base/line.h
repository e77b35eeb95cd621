/*
 * What is shown as one line stays one line. Errors and notices quote what others chose: arguments, file names, what a
 * file in /proc says. A newline in one of them would split the message, an escape sequence would reach the terminal.
 */
#ifndef WEIR_BASE_LINE_H
#define WEIR_BASE_LINE_H

/* Replaces each control character of line (ASCII, so that UTF-8 stays whole) by '?'. Any thread. */
void weir_line_clean(char *line);

#endif
