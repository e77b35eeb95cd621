/*
 * Notices: lines in which a library layer tells its user about work in progress, such as a fallback taken or a limit
 * met.
 *
 * Libraries do not print. They hand a line to the sink that their caller has given them; cli/ writes it to stderr. The
 * threads of the data path (readers, writer) never call it.
 *
 * A sink may have a limiter. Other users and programs cause some messages: connections, commands, signals, CPUs that
 * come and go, file systems that fill up. So the limiter counts lines by kind, which is their format and level. It
 * passes WEIR_NOTICE_BURST lines of a kind in WEIR_NOTICE_WINDOW_NS and leaves out the others. The next line of the
 * kind in a later window, or the end of the limiter, tells the number of lines that were left out.
 */
#ifndef WEIR_BASE_NOTICE_H
#define WEIR_BASE_NOTICE_H

#include "base/clock.h"

#define WEIR_NOTICE_BURST     8
#define WEIR_NOTICE_WINDOW_NS (10 * WEIR_NS_PER_S)
#define WEIR_NOTICE_KINDS     32 /* all further kinds count as one */

enum weir_notice_level {
    WEIR_NOTICE_WARNING, /* weir does less than the user asked for; shown unless --quiet */
    WEIR_NOTICE_INFO,    /* shown unless --quiet */
    WEIR_NOTICE_VERBOSE, /* shown with -v */
    WEIR_NOTICE_DEBUG,   /* shown with -vv */
};

struct weir_notice_limiter; /* any thread; a lock guards it */

struct weir_notice_sink {
    /* line: no newline, no prefix; borrowed until return. Called on the thread that gives the notice. */
    void (*emit)(void *ctx, enum weir_notice_level level, const char *line);
    void *ctx;                           /* borrowed */
    struct weir_notice_limiter *limiter; /* borrowed; NULL: each line passes */
};

/* Formats a line and hands it to sink; NULL drops it. Lines are cut at 1023 bytes, and control characters become '?'
 * (base/line.h). format is a literal: it names the kind of the line for the limiter. */
void weir_notice(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As weir_notice(), but the limiter passes each line. For a line that names a file which the recording has made: the
 * user needs each of these lines, and each costs its cause a file. */
void weir_notice_product(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Hands each line of text to sink. For the limiter, text counts as one line. */
void weir_notice_text(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *text);

/* Makes a limiter that passes each line until start(): nobody else causes lines of the set-up. clock is borrowed and
 * monotonic. NULL: no memory. The caller frees it after the last notice. */
struct weir_notice_limiter *weir_notice_limiter_new(const struct weir_clock *clock);

/* NULL-safe. */
void weir_notice_limiter_start(struct weir_notice_limiter *limiter);

/* Tells sink the number of lines of each kind that were left out and not told yet, and frees the limiter. NULL-safe. */
void weir_notice_limiter_free(struct weir_notice_limiter *limiter, const struct weir_notice_sink *sink);

#endif
