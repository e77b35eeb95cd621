/*
 * Notices: what a library layer wants its user to know while work goes on (a fallback taken, a limit met).
 *
 * Libraries do not print. They hand a line to the sink that their caller gave them; cli/ writes it to stderr.
 * Never called from the data path (readers, writer).
 */
#ifndef WEIR_BASE_NOTICE_H
#define WEIR_BASE_NOTICE_H

enum weir_notice_level {
    WEIR_NOTICE_WARNING, /* something the user asked for is weaker than asked; shown unless --quiet */
    WEIR_NOTICE_INFO,    /* shown unless --quiet */
    WEIR_NOTICE_VERBOSE, /* shown with -v */
    WEIR_NOTICE_DEBUG,   /* shown with -vv */
};

struct weir_notice_sink {
    /* line: no newline, no prefix; borrowed until return. Called on the thread that found out. */
    void (*emit)(void *ctx, enum weir_notice_level level, const char *line);
    void *ctx; /* borrowed */
};

/* Formats and passes on. sink may be NULL: the line is dropped. Lines are cut at 1023 bytes, and control
 * characters in them become '?' (base/line.h). */
void weir_notice(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
