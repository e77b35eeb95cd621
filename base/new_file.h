/*
 * Files that get their name when they are whole. A new file has no name (O_TMPFILE), so that nothing is left of it if
 * its process dies. Where the file system knows no such files, or /proc is not mounted, the file has a hidden name,
 * .weir-PID-N, until then.
 *
 * All names are relative to a descriptor of their directory (base/directory.h). Any thread. All functions block on the
 * file system, and none allocates. Source: open(2) on O_TMPFILE.
 */
#ifndef WEIR_BASE_NEW_FILE_H
#define WEIR_BASE_NEW_FILE_H

#include <sys/types.h>

#define WEIR_HIDDEN_NAME_BYTES 48u /* of ".weir-PID-N" with its end */

/*
 * Creates a file, open for reading and writing, with `mode` less the umask. hidden: its name; empty if it has none.
 * Returns a descriptor that the caller owns, or -errno of openat(2), and then hidden is empty.
 */
int weir_new_file_open(int directory_fd, mode_t mode, char hidden[WEIR_HIDDEN_NAME_BYTES]);

/* Gives a file without a name the name `name`, which no other file has. 0 or -errno of linkat(2). */
int weir_new_file_link(int directory_fd, int fd, const char *name);

/* Gives a file without a name a hidden name. 0 or -errno of linkat(2), and then hidden is empty. */
int weir_new_file_hide(int directory_fd, int fd, char hidden[WEIR_HIDDEN_NAME_BYTES]);

/*
 * Closes a new file, and gives it its name in place of an older file of that name. Other processes see the old file or
 * the whole new one. name NULL: drops the new file. 0, or -errno of linkat(2), close(2) and renameat(2): then the new
 * file is dropped, and the older one is as it was.
 */
int weir_new_file_end(int directory_fd, int fd, char hidden[WEIR_HIDDEN_NAME_BYTES], const char *name);

#endif
