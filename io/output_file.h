/*
 * The file of an output: which paths may be written, the nameless file, its lock, its name. Of /dev/null and of a
 * stream there is only the descriptor: functions that concern a name do nothing then.
 *
 * Set-up and end of a recording only, one thread at a time: the thread that owns the output. All functions block on the
 * file system, and those that return -errno with err allocate.
 */
#ifndef WEIR_IO_OUTPUT_FILE_H
#define WEIR_IO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

struct weir_output_file; /* opaque; weir_output_file_of() has the one of an output */

/* ---- before anything is opened ---- */

/* Makes the checks of weir_output_open(), so that a bad path is told before anything else begins. Leaves nothing
 * behind. 0 or -errno with err, as weir_output_open(). */
int weir_output_file_check(const char *path, struct weir_error *err);

/* Makes the checks of weir_output_open_stream(): fd can be written and is no terminal. 0 or -errno with err. */
int weir_output_file_check_stream(int fd, struct weir_error *err);

/* Whether another process has locked the file of fd as its output. 0, or -EBUSY with err, which has path and its pid.
 */
int weir_output_file_check_lock(int fd, const char *path, struct weir_error *err);

/* Locks the file of fd as an output of this process, until any descriptor of the file is closed. 0 or -errno. */
int weir_output_file_lock(int fd);

/* ---- a small file ---- */

/*
 * Writes a whole file in one step: any process finds the old bytes or the new ones. The rules for `path` are those of
 * an output. There is no ".old". A new file has mode 0600; a file that replaces one of this user gets that file's mode.
 * 0 or -errno with err, and then an existing file is as it was. Blocks, allocates.
 */
int weir_output_file_write_whole(const char *path, const void *data, size_t bytes, struct weir_error *err);

/* ---- the name ---- */

/* Gives the file its name. An existing file is first renamed to path + ".old" (replacing one of that name).
 * 0 or -errno with err; on failure the existing file is at its name again. */
int weir_output_file_publish(struct weir_output_file *file, struct weir_error *err);

/* Returns the path with the present name, for messages; borrowed until the next rename. */
const char *weir_output_file_path(const struct weir_output_file *file);

/* Returns the directory of the file, O_PATH, borrowed until close; NULL for /dev/null and streams. Later outputs beside
 * this one take it: the path may lead elsewhere by then. */
const int *weir_output_file_directory(const struct weir_output_file *file);

/* False for /dev/null and streams, which get no other name. */
bool weir_output_file_has_name(const struct weir_output_file *file);

/* Whether the path leads to this file. False: another file has the name, or none, or the file is not published. True
 * for /dev/null and streams. */
bool weir_output_file_is_at_name(const struct weir_output_file *file);

/* Whether another process has moved or removed the file since it was published. */
bool weir_output_file_was_taken(const struct weir_output_file *file);

/*
 * Gives the file another name in its directory (name has no slash) and never replaces a file of that name. A file that
 * was not published is published under that name. 0, or -errno with err, and then nothing has changed: -EEXIST,
 * -ENAMETOOLONG, -ENOENT (the file was removed, or is not at its name any more), -ENOMEM and those of renameat2(2).
 */
int weir_output_file_rename(struct weir_output_file *file, const char *name, struct weir_error *err);

/* Takes the name of a published file away: the file vanishes at close. A file that is not at its name stays. */
void weir_output_file_remove(struct weir_output_file *file);

/*
 * Instead of remove(): gives the name of a published file to another file of its directory, in one step. heir: the name
 * of that other file until then, without a slash; device and inode: which file that must be. 0; or -errno, and then
 * nothing has changed: -ENOENT (one of the two is not at its name any more), -EOPNOTSUPP (/dev/null, streams), those of
 * rename(2).
 */
int weir_output_file_pass_name(struct weir_output_file *file, const char *heir, dev_t device, ino_t inode);

/* Makes the present name outlive the machine: fsync(2) of the directory. 0 or -errno: -EACCES (the directory must be
 * readable) and those of fsync(2). */
int weir_output_file_sync_name(const struct weir_output_file *file);

/* ---- in the place of another file ---- */

struct weir_output_identity { /* which file, and in which state */
    uint64_t device, inode, bytes;
    int64_t changed_s, changed_ns;
    uint32_t mode, uid, gid;
};

void weir_output_file_identify(struct weir_output_identity *identity, const struct stat *st);

/* Gives a file that is going to replace() another one to the owner of that one, where this process may. Early: before
 * recording this process drops CAP_CHOWN. */
void weir_output_file_give_owner(struct weir_output_file *file, const struct weir_output_identity *was);

/*
 * Instead of publish(), once all is written and synced: takes the place of the existing file in one step. The file gets
 * the existing file's mode if it has the same owner (give_owner()). There is no ".old". 0 or -errno with err, and then
 * the existing file is as it was: -ESTALE (it is not as `was` says), those of linkat(2) and rename(2).
 */
int weir_output_file_replace(struct weir_output_file *file, const struct weir_output_identity *was,
                             struct weir_error *err);

/*
 * Gives the name PATH + suffix to a file that is going to replace() another one. So its bytes can be found if this
 * process is killed or the machine goes down before replace(). After a close without replace() the file vanishes all
 * the same. Never replaces a file of that name. 0 or -errno with err: -EEXIST, -ENAMETOOLONG, -ENOMEM, those of
 * linkat(2).
 */
int weir_output_file_name_beside(struct weir_output_file *file, const char *suffix, struct weir_error *err);

/* Keeps a file that could not replace() the other one under the name PATH + suffix, also after close. 0 or -errno with
 * err, as name_beside(); -ENOENT: somebody has removed the file. */
int weir_output_file_keep_beside(struct weir_output_file *file, const char *suffix, struct weir_error *err);

#endif
