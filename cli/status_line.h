/*
 * One line on the terminal that says how far a long work is. weir erases the line before it prints a message (print.h).
 *
 * The line stands two lines below the cursor's, and the cursor stays where it was. So another program that writes to
 * the terminal, as a recorded command does, does so where it would have anyway. weir draws only
 *
 *     while the terminal's foreground process group is weir's (tcgetpgrp(3)), so never from the background;
 *     while the terminal takes bytes at once, so that a stopped terminal (Ctrl-S) stops nothing;
 *     on a shared terminal, after two seconds without a write by another program. Each time that a write meets the
 *     line, this time doubles, up to a minute.
 *
 * inotify(7) tells of others' writes: the kernel reports each write to the terminal's device. The owner of the line
 * polls watch_fd and calls notice_write(), which erases the line before the other program comes to it. Only a program
 * that breaks a silence with three lines at once is faster, and writes over the line. The watch then pauses until the
 * next draw(), so that a flood of output costs one event for each draw.
 *
 * Any thread. No function waits for the terminal.
 */
#ifndef WEIR_CLI_STATUS_LINE_H
#define WEIR_CLI_STATUS_LINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WEIR_STATUS_LINE_COLUMNS_MAX 256 /* a wider terminal's line is not longer */

struct weir_status_line {
    int fd;            /* owned; the terminal, opened anew, so that O_NONBLOCK is ours alone */
    pid_t group;       /* our process group */
    bool shared;       /* other programs write to the terminal, too */
    int watch_fd;      /* owned inotify(7) descriptor, to be polled; -1: nobody watches */
    int watch;         /* on the terminal; -1: paused. Under lock, as all below */
    bool drawn;        /* the line is on the terminal */
    bool interrupted;  /* another program has written since the last draw() */
    unsigned messages; /* that are being printed */
    uint64_t quiet_since_ns;
    uint64_t quiet_ns; /* so long must others be silent before the next draw */
    pthread_mutex_t lock;
};

/* Returns whether fd is a terminal that can move its cursor: TERM is set, and not "dumb". */
bool weir_status_line_suits(int fd);

/* Begins a line on a terminal. On a shared one that cannot be watched, no line is ever drawn. */
void weir_status_line_open(struct weir_status_line *line, int fd, bool shared);

/* Erases the line and ends the watch. */
void weir_status_line_close(struct weir_status_line *line);

/* Draws text, which may contain colors (SGR) and must fit weir_status_line_columns(). */
void weir_status_line_draw(struct weir_status_line *line, const char *text);

/* Returns the number of columns for the text. */
unsigned weir_status_line_columns(const struct weir_status_line *line);

/* Takes the event of watch_fd: another program has written. */
void weir_status_line_notice_write(struct weir_status_line *line);

/* Erases the line and keeps it away until end_message(); the caller prints a message meanwhile. NULL-safe. */
void weir_status_line_begin_message(struct weir_status_line *line);
void weir_status_line_end_message(struct weir_status_line *line);

#endif
