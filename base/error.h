/*
 * Errors of set-up functions: what failed, on what, and one hint.
 *
 * A function that can fail returns 0 or -errno. Set-up functions also fill a struct weir_error at the failed call,
 * where the cause is known best. Only cli/ prints errors. Functions on the data path return codes and count, no more.
 */
#ifndef WEIR_BASE_ERROR_H
#define WEIR_BASE_ERROR_H

#define WEIR_ERROR_TEXT_BYTES 512

struct weir_error {
    int code;                         /* -errno, 0 while nothing failed */
    char what[WEIR_ERROR_TEXT_BYTES]; /* one line without "weir: " and without a full stop */
    char hint[WEIR_ERROR_TEXT_BYTES]; /* one line; "": no advice */
};

/*
 * Sets code and the formatted line, and clears the hint. Returns code, also if err is NULL, so that callers can write
 * `return weir_error_set(err, -EINVAL, ...)`. The arguments may point into err: `weir_error_set(err, code, "%s: %s",
 * object, err->what)` wraps an error. Lines are cut at WEIR_ERROR_TEXT_BYTES
 * - 1 bytes, and control characters become '?' (base/line.h). None of these functions allocates or blocks.
 */
int weir_error_set(struct weir_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Does as weir_error_set(), and appends ": " and the text of errno -code, for failed system calls. A long line is cut
 * before that text. */
int weir_error_set_errno(struct weir_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the hint. Cut and cleaned as in weir_error_set(). err may be NULL. */
void weir_error_hint(struct weir_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
