/*
 * The process that makes a report, and the file that the report goes to.
 *
 * A child process reads, confined by the gate of its caller, and can only write to descriptors that it has. This
 * process creates a file without a name, and names it when the child has succeeded. A report that fails, or is killed,
 * leaves no file behind and does not change an older file.
 */
#ifndef WEIR_REPORT_REPORT_FILE_H
#define WEIR_REPORT_REPORT_FILE_H

#include "base/error.h"

/* Makes the report in the child and writes it to fd; the child ends with the returned status, and 0 is success. */
struct weir_report_maker {
    int (*make)(void *ctx, int fd);
    void *ctx; /* borrowed */
    /* In this process, while the child works: answers it until it has ended. NULL: nothing is to be done. */
    void (*serve)(void *ctx);
};

/*
 * Runs maker in a child. path: of the file that is made or replaced; NULL: standard output. Main thread, which must be
 * the only thread; blocks until the child has ended.
 *
 * 0, and *status is the child's; -EPIPE without err: nobody reads the report any more, and SIGPIPE has ended the child;
 * or with err: -EBADMSG (the child was killed; err names the signal), -errno of creating
 * and naming the file, and of fork(2).
 */
int weir_report_file_run(const struct weir_report_maker *maker, const char *path, int *status, struct weir_error *err);

/* Copies a stream into a file without a name, in the folder for temporary files, as a report reads twice. fd: read to
 * its end. A descriptor, or -errno with err. */
int weir_report_spool(int fd, struct weir_error *err);

#endif
