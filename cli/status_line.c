/* The status line on a terminal. Any thread. */
#include "cli/status_line.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"

#define QUIET_NS        (2 * WEIR_NS_PER_S)
#define QUIET_NS_MAX    (60 * WEIR_NS_PER_S)
#define COLUMNS_DEFAULT 80

/* ECMA-48, and DECSC, DECRC of the VT100. IND and CUU make room below the cursor without a change of its column. */
#define MAKE_ROOM  "\033D\033D\033[2A"
#define SAVE       "\0337"
#define LINE_BELOW "\033[2B\r\033[2K"
#define RESTORE    "\0338"
#define ERASE      "\033[J" /* from the cursor to the end of the screen */

bool weir_status_line_suits(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

/* ---- others' writes ---- */

static void resume_watch(struct weir_status_line *line)
{
    char path[64];
    if (line->watch_fd < 0 || line->watch >= 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", line->fd);
    line->watch = inotify_add_watch(line->watch_fd, path, IN_MODIFY);
}

static void pause_watch(struct weir_status_line *line)
{
    if (line->watch >= 0)
        inotify_rm_watch(line->watch_fd, line->watch);
    line->watch = -1;
}

/* Takes all events. Returns whether there was a write. */
static bool take_writes(const struct weir_status_line *line)
{
    char events[16 * sizeof(struct inotify_event)] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool wrote = false;
    for (ssize_t got; line->watch_fd >= 0 && (got = read(line->watch_fd, events, sizeof(events))) > 0;) {
        for (char *at = events; at < events + got;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            wrote |= (event->mask & IN_MODIFY) != 0;
            at += sizeof(*event) + event->len;
        }
    }
    return wrote;
}

/* Writes where there is room at once. Our own write is no other program's. */
static void write_now(struct weir_status_line *line, const char *text, size_t bytes)
{
    struct pollfd terminal = {.fd = line->fd, .events = POLLOUT};
    if (poll(&terminal, 1, 0) != 1 || !(terminal.revents & POLLOUT))
        return;
    ssize_t written = write(line->fd, text, bytes);
    (void)written; /* a line that is cut is drawn again */
    take_writes(line);
}

static void erase(struct weir_status_line *line)
{
    if (line->drawn)
        write_now(line, ERASE, sizeof(ERASE) - 1);
    line->drawn = false;
}

/* ---- life ---- */

/* Opens the terminal anew without blocking. Who became another user may not: then a write may block, as a message's. */
static int open_anew(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own_fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return own_fd < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : own_fd;
}

void weir_status_line_open(struct weir_status_line *line, int fd, bool shared)
{
    *line = (struct weir_status_line){
        .fd = open_anew(fd), .group = getpgrp(), .shared = shared, .quiet_ns = QUIET_NS, .watch_fd = -1, .watch = -1};
    pthread_mutex_init(&line->lock, NULL);
    if (!shared)
        return;
    line->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    resume_watch(line);
}

void weir_status_line_close(struct weir_status_line *line)
{
    pthread_mutex_lock(&line->lock);
    erase(line);
    if (line->watch_fd >= 0)
        close(line->watch_fd);
    if (line->fd >= 0)
        close(line->fd);
    line->fd = line->watch_fd = line->watch = -1;
    pthread_mutex_unlock(&line->lock);
    pthread_mutex_destroy(&line->lock);
}

/* ---- drawing ---- */

unsigned weir_status_line_columns(const struct weir_status_line *line)
{
    struct winsize size;
    unsigned columns = ioctl(line->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS_DEFAULT;
    columns = columns < WEIR_STATUS_LINE_COLUMNS_MAX ? columns : WEIR_STATUS_LINE_COLUMNS_MAX;
    return columns - 1; /* some terminals go on in the next line after the last column */
}

/* Whether the terminal is ours to draw on. */
static bool may_draw(struct weir_status_line *line, uint64_t now_ns)
{
    if (line->shared && (take_writes(line) || line->interrupted))
        line->quiet_since_ns = now_ns;
    line->interrupted = false;
    if (line->shared) {
        resume_watch(line);
        if (line->watch < 0 || now_ns - line->quiet_since_ns < line->quiet_ns)
            return false;
    }
    return tcgetpgrp(line->fd) == line->group;
}

void weir_status_line_draw(struct weir_status_line *line, const char *text)
{
    char out[4 * WEIR_STATUS_LINE_COLUMNS_MAX + 64];
    pthread_mutex_lock(&line->lock);
    if (line->messages == 0 && may_draw(line, weir_clock_now_ns(&weir_clock_monotonic))) {
        int length = snprintf(out, sizeof(out), MAKE_ROOM SAVE LINE_BELOW "%s" RESTORE, text);
        if (length < (int)sizeof(out))
            write_now(line, out, (size_t)length);
        line->drawn = true;
    }
    pthread_mutex_unlock(&line->lock);
}

void weir_status_line_notice_write(struct weir_status_line *line)
{
    pthread_mutex_lock(&line->lock);
    if (take_writes(line) && line->messages == 0) {
        line->interrupted = true;
        if (line->drawn)
            line->quiet_ns = weir_min_u64(2 * line->quiet_ns, QUIET_NS_MAX);
        pause_watch(line);
        take_writes(line); /* the end of the watch */
        erase(line);
    }
    pthread_mutex_unlock(&line->lock);
}

void weir_status_line_begin_message(struct weir_status_line *line)
{
    if (!line)
        return;
    pthread_mutex_lock(&line->lock);
    line->messages++;
    erase(line);
    pthread_mutex_unlock(&line->lock);
}

void weir_status_line_end_message(struct weir_status_line *line)
{
    if (!line)
        return;
    pthread_mutex_lock(&line->lock);
    take_writes(line); /* the message is ours */
    line->messages--;
    pthread_mutex_unlock(&line->lock);
}
