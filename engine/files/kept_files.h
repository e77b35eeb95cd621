/*
 * The finished files of a recording: their names, their number, and the command that runs for each. file_finisher.h has
 * the rules. One thread at a time may call these functions.
 */
#ifndef WEIR_ENGINE_FILES_KEPT_FILES_H
#define WEIR_ENGINE_FILES_KEPT_FILES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/files/record_file.h"

#define WEIR_KEPT_COMMANDS 16u /* most commands that run at a time */

struct weir_kept_files; /* opaque */

struct weir_kept_files_setup {
    bool stamped;               /* each file gets the time of its end into its name */
    unsigned most;              /* most files that stay; 0: all stay */
    bool whole_only;            /* a broken file stays and is not counted: it must not displace a whole file */
    bool droppable;             /* the caller will call weir_kept_files_drop_oldest() */
    char *const *command;       /* argv of the command; borrowed until free; NULL: none */
    const sigset_t *child_mask; /* signal mask of the command; borrowed until free */
    const sigset_t *ignored; /* of SIGPIPE, SIGXFSZ and SIGUSR2 those that the command ignores; borrowed; NULL: none */
    const struct weir_notice_sink *notices;
};

/* Returns 0 or -ENOMEM. With a command, sets SIGCHLD to its default disposition, which the commands inherit. */
int weir_kept_files_new(struct weir_kept_files **kept, const struct weir_kept_files_setup *setup);

/* Gives a file that has ended its name. Blocks on the file system. Returns 0; or -errno with err, and then the file
 * keeps its former name and the caller may try again. When somebody has moved or removed the file, warns, leaves the
 * file alone, and returns 0. */
int weir_kept_files_name(const struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err);

/*
 * Counts a file under its present name, tells the user of it, removes the oldest files beyond the limit, and starts the
 * command. Removes a file only if it is still the file that weir wrote. A lasting file is never removed: it only leaves
 * the count.
 *
 * Does nothing for a file that no longer stands at its name. The name may now belong to another file, perhaps to the
 * file that is being recorded.
 *
 * Blocks on the file system, and while WEIR_KEPT_COMMANDS commands run. During that wait, asks hurried() ten times a
 * second whether to stop waiting. If so, warns and starts no command for this file.
 */
void weir_kept_files_add(struct weir_kept_files *kept, const struct weir_record_file *file, bool (*hurried)(void *ctx),
                         void *ctx);

/* Counts a whole file that keeps its present name, without a notice and without a command. Blocks on the file
 * system. */
void weir_kept_files_add_last(struct weir_kept_files *kept, const struct weir_record_file *file);

/* Renames the newest counted file to the name of `file`, in the same folder and in one step. `file` has no name
 * afterwards. Returns 0 and tells the user; or -errno with err, and then both files keep their names. The errno is of
 * rename(2), or ENOENT: no file is known, or one of the two is gone. Forgets the newest file if it is gone. Blocks on
 * the file system. */
int weir_kept_files_pass_name(struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err);

/* Returns the path of the newest counted file, borrowed until the next file is counted. NULL: no file is known. */
const char *weir_kept_files_newest(const struct weir_kept_files *kept);

struct weir_removed_files {
    uint64_t files, bytes, samples;
};

/* Returns the sums of all files removed so far, beyond the limit or to make room. */
struct weir_removed_files weir_kept_files_removed(const struct weir_kept_files *kept);

/* Removes the oldest known file that still exists. Returns false when no such file is known. */
bool weir_kept_files_drop_oldest(struct weir_kept_files *kept);

/* Returns the number of known files. Somebody may have removed some of these files since. */
size_t weir_kept_files_count(const struct weir_kept_files *kept);

/* Waits for the commands, however long they take, and warns after some seconds. Asks hurried() ten times a second
 * whether to stop waiting. */
void weir_kept_files_await_commands(struct weir_kept_files *kept, bool (*hurried)(void *ctx), void *ctx);

/* Frees the state; NULL-safe. Commands that still run are left alone. */
void weir_kept_files_free(struct weir_kept_files *kept);

#endif
