/*
 * Errors of set-up functions: what failed, on what, and one hint.
 *
 * A function that can fail returns 0 or -errno. Set-up functions also fill a struct weir_error where knowledge is
 * greatest, at the failed call; nobody below cli/ prints it. Data-path functions only return codes and count.
 */
#ifndef WEIR_BASE_ERROR_H
#define WEIR_BASE_ERROR_H

#define WEIR_ERROR_TEXT_BYTES 512

struct weir_error {
    int code;                         /* -errno, 0 while nothing failed */
    char what[WEIR_ERROR_TEXT_BYTES]; /* one line without "weir: " and without a full stop */
    char hint[WEIR_ERROR_TEXT_BYTES]; /* one line, empty when there is nothing to advise */
};

/*
 * Sets code and the formatted line, clears the hint, returns code, so that callers can write
 * `return weir_error_set(err, -EINVAL, ...)`. err may be NULL: then only the code is passed through.
 * The arguments may point into err: `weir_error_set(err, code, "%s: %s", object, err->what)` wraps an error.
 * Lines are cut at WEIR_ERROR_TEXT_BYTES - 1, and control characters in them become '?' (base/line.h). None of these
 * functions allocates or blocks.
 */
int weir_error_set(struct weir_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same, with ": " and the text of errno -code appended, which a long line before it does not push out.
 * For failed system calls. */
int weir_error_set_errno(struct weir_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Replaces the hint. err may be NULL. */
void weir_error_hint(struct weir_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
