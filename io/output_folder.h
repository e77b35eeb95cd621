/*
 * The folder of a recording with --kcore: the data and the copy of the kernel. The folder is made under a hidden name
 * beside the final one, so that a failure leaves nothing behind and an existing folder untouched. The files in it are
 * outputs of their own (io/output.h), in the directory weir_output_folder_directory(). Set-up and end only; one thread.
 * All functions block on the file system.
 *
 * The directory that holds the folder may belong to another user. So weir opens the directory and the folder once, and
 * takes all names relative to the two descriptors. Nobody can exchange a name for a link to another place.
 *
 * An existing folder of that path is renamed to path + ".old", and an existing path + ".old" is removed first. Both may
 * hold only files of a recording ("data", and "data.N" as perf makes them) and a copy of the kernel ("kcore_dir" with
 * "kallsyms", "kcore" and "modules"). Symbolic links are not followed.
 */
#ifndef WEIR_IO_OUTPUT_FOLDER_H
#define WEIR_IO_OUTPUT_FOLDER_H

#include <stddef.h>

#include "base/error.h"

#define WEIR_OUTPUT_KCORE_FOLDER "kcore_dir" /* as perf names it */

struct weir_output_folder; /* opaque */

/*
 * Makes the hidden folder with mode 0700. 0, or -errno with err: -ELOOP (symbolic link), -ENOTDIR (something else is at
 * the path), -ENOTEMPTY (a folder with other files), -EPERM (another user's, also one that took the place of the new
 * folder), -EBUSY (another recorder's), -EACCES, -ENOENT, -ENOSPC, -ENOMEM.
 */
int weir_output_folder_open(struct weir_output_folder **out, const char *path, struct weir_error *err);

/* Makes the checks of open(). Leaves nothing behind. 0 or -errno with err. */
int weir_output_folder_check(const char *path, struct weir_error *err);

/* Returns the open folder, for the outputs in it; borrowed. */
const int *weir_output_folder_directory(const struct weir_output_folder *folder);

/* Returns the names of the files of a copy of the kernel, from 0 on; NULL behind the last one. */
const char *weir_output_folder_kcore_file(size_t index);

/* Makes the folder of a copy of the kernel in a folder that is not published yet. Returns a descriptor of it, which the
 * caller owns, or -errno with err. */
int weir_output_folder_make_kcore(const struct weir_output_folder *folder, struct weir_error *err);

/* Gives the folder its name; files in it stay open. 0; or -errno with err, and then an existing folder is at its name
 * again. -ESTALE: somebody has moved the hidden folder. */
int weir_output_folder_publish(struct weir_output_folder *folder, struct weir_error *err);

/* Makes a published folder outlive the machine, with the names of its files and the copy of the kernel, by fsync(2).
 * Outputs sync their own bytes. 0 or -errno. */
int weir_output_folder_sync(const struct weir_output_folder *folder);

/* Closes; an unpublished folder vanishes with the files in it. NULL is allowed. */
void weir_output_folder_close(struct weir_output_folder *folder);

#endif
