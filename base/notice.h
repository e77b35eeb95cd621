/*
 * Notices: lines in which a library layer tells its user about work in progress, such as a fallback taken or a limit
 * met.
 *
 * Libraries do not print. They hand a line to the sink that their caller has given them; cli/ writes it to stderr. The
 * threads of the data path (readers, writer) never call it.
 */
#ifndef WEIR_BASE_NOTICE_H
#define WEIR_BASE_NOTICE_H

enum weir_notice_level {
    WEIR_NOTICE_WARNING, /* weir does less than the user asked for; shown unless --quiet */
    WEIR_NOTICE_INFO,    /* shown unless --quiet */
    WEIR_NOTICE_VERBOSE, /* shown with -v */
    WEIR_NOTICE_DEBUG,   /* shown with -vv */
};

struct weir_notice_sink {
    /* line: no newline, no prefix; borrowed until return. Called on the thread that gives the notice. */
    void (*emit)(void *ctx, enum weir_notice_level level, const char *line);
    void *ctx; /* borrowed */
};

/* Formats a line and hands it to sink; NULL drops it. Lines are cut at 1023 bytes, and control characters become '?'
 * (base/line.h). */
void weir_notice(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
