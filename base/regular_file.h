/*
 * Opens files whose names others choose: files that a task has mapped, or that lie beside a recording.
 *
 * Opening alone can have effects. Opening and closing a watchdog's device may reset the machine; tapes rewind; opening
 * a FIFO wakes the process that waits at its other end. So weir opens regular files only.
 */
#ifndef WEIR_BASE_REGULAR_FILE_H
#define WEIR_BASE_REGULAR_FILE_H

#include <sys/stat.h>

/*
 * Opens the regular file at path for reading, relative to the folder behind dir_fd (AT_FDCWD: the working folder);
 * symbolic links are followed. *status: of the opened file. A descriptor, -ENODATA (not a regular file) or -errno of
 * open(2). Needs /proc. Any thread; may block as the file system does.
 */
int weir_regular_file_open(int dir_fd, const char *path, struct stat *status);

#endif
