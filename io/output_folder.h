/*
 * The folder that holds the files of one recording: its data and the copy of the kernel. Made under a hidden name
 * beside the final one, so that a failure leaves nothing behind and an existing folder untouched; the files in it are
 * outputs of their own (io/output.h), opened and published below weir_output_folder_path(). Set-up and end only; one
 * thread.
 *
 * An existing folder at the path is renamed to path + ".old", where one of that name is removed first, and both only if
 * they hold nothing but files of a recording ("data", "data.N") and a copy of the kernel ("kcore_dir" with "kallsyms",
 * "kcore" and "modules"). Paths that are symbolic links are not followed.
 */
#ifndef WEIR_IO_OUTPUT_FOLDER_H
#define WEIR_IO_OUTPUT_FOLDER_H

#include <stddef.h>

#include "base/error.h"

#define WEIR_OUTPUT_KCORE_FOLDER "kcore_dir" /* as perf names it */

struct weir_output_folder; /* opaque */

/*
 * Makes the hidden folder with mode 0700. 0, or -errno with err: -ELOOP (symbolic link), -ENOTDIR (something else is at
 * the path), -ENOTEMPTY (a folder with other files), -EPERM (another user's), -EBUSY (another recorder's), -EACCES,
 * -ENOENT, -ENOSPC, -ENOMEM.
 */
int weir_output_folder_open(struct weir_output_folder **out, const char *path, struct weir_error *err);

/* Only the checks of open(). Leaves nothing behind. */
int weir_output_folder_check(const char *path, struct weir_error *err);

/* Where it is until it is published. Borrowed. */
const char *weir_output_folder_path(const struct weir_output_folder *folder);

/* What is in the folder of a copy of the kernel: the names of its files, from 0 on; NULL behind the last one. */
const char *weir_output_folder_kcore_file(size_t index);

/* Makes the folder for a copy of the kernel in it, which is not published yet. Its descriptor, the caller's, or -errno
 * with err. */
int weir_output_folder_make_kcore(const struct weir_output_folder *folder, struct weir_error *err);

/* Gives it its name. The files in it stay open. 0 or -errno with err; then the existing folder is at its name again. */
int weir_output_folder_publish(struct weir_output_folder *folder, struct weir_error *err);

/* Makes a published one outlive the machine, with the names of the files in it and the copy of the kernel: fsync(2) of
 * all of them. What the files hold is for their outputs to sync. 0 or -errno. Blocks. */
int weir_output_folder_sync(const struct weir_output_folder *folder);

/* An unpublished one vanishes with the files in it. NULL is allowed. */
void weir_output_folder_close(struct weir_output_folder *folder);

#endif
