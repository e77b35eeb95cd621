/*
 * Opening files whose names come from others: what a task has mapped, what a recording has beside it.
 *
 * Opening may do something by itself. A watchdog's device begins to count when it is opened, and the machine is reset
 * when it is closed again; tapes rewind; a FIFO lets go of who waits for its other end. So what is no regular file is
 * not opened at all.
 */
#ifndef WEIR_BASE_REGULAR_FILE_H
#define WEIR_BASE_REGULAR_FILE_H

#include <sys/stat.h>

/*
 * Opens the regular file at path (in the folder behind dir_fd, if relative; AT_FDCWD) for reading; symbolic links are
 * followed. *status: of what was opened. A descriptor, -ENODATA (it is no regular file) or -errno of open(2). Needs
 * /proc. Any thread; may block as the file system does.
 */
int weir_regular_file_open(int dir_fd, const char *path, struct stat *status);

#endif
