/*
 * The finished files of a recording: their names, how many of them stay, and the command that is told of each. The
 * rules are in file_finisher.h. One thread at a time.
 */
#ifndef WEIR_ENGINE_SESSION_KEPT_FILES_H
#define WEIR_ENGINE_SESSION_KEPT_FILES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/session/record_file.h"

#define WEIR_KEPT_COMMANDS 16u /* that run at a time */

struct weir_kept_files; /* opaque */

struct weir_kept_files_setup {
    bool stamped;               /* files get their time into their names */
    unsigned most;              /* so many stay; 0: all */
    bool whole_only;            /* one that is broken stays, and does not count: it is no reason to remove another */
    bool droppable;             /* weir_kept_files_drop_oldest() will be called */
    char *const *command;       /* borrowed until free; NULL: none */
    const sigset_t *child_mask; /* of the command; borrowed until free */
    const sigset_t *ignored;    /* likewise: of SIGPIPE, SIGXFSZ and SIGUSR2 those that it gets ignored; NULL: none */
    const struct weir_notice_sink *notices;
};

/* 0 or -ENOMEM. With a command SIGCHLD is at default from then on, in the commands as well. */
int weir_kept_files_new(struct weir_kept_files **kept, const struct weir_kept_files_setup *setup);

/* Names a file that has ended. Blocks on the file system. 0, also when somebody has moved or removed it, which is told:
 * it is left alone. Or -errno with err: it stays where it is then, and this may be tried again. */
int weir_kept_files_name(const struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err);

/*
 * Counts a file by the name that it has now, tells of it, removes the oldest ones that are too many, starts the
 * command. Only a file that is still what was written is removed, and none that is lasting: that one only counts no
 * more. One that is not at its name any more is nobody's here: what stands there now is another file, perhaps the one
 * that is being recorded. Blocks on the file system, and while too many commands run; hurried: asked ten times a second
 * then whether to give that up: there is no command for this file, which is told.
 */
void weir_kept_files_add(struct weir_kept_files *kept, const struct weir_record_file *file, bool (*hurried)(void *ctx),
                         void *ctx);

/* Counts a whole file that keeps the name that it has, as add() does otherwise; nobody is told. Blocks on the file
 * system. */
void weir_kept_files_add_last(struct weir_kept_files *kept, const struct weir_record_file *file);

/* Has the newest one take the name of this file, which is in the same folder, in one step; the file has none then. 0,
 * and says so; or -errno with err, and then both have the names that they had: -ENOENT (one of them is not there any
 * more, and is not known any more if it is the newest; or none is known) and those of rename(2). Blocks on the file
 * system. */
int weir_kept_files_pass_name(struct weir_kept_files *kept, struct weir_record_file *file, struct weir_error *err);

/* The path of the newest one; borrowed until another is counted. NULL: none is known. */
const char *weir_kept_files_newest(const struct weir_kept_files *kept);

struct weir_removed_files {
    uint64_t files, bytes, samples;
};

/* What was removed so far because it was too many, or to make room. */
struct weir_removed_files weir_kept_files_removed(const struct weir_kept_files *kept);

/* Removes the oldest one that is still there. False: there is none that is known. */
bool weir_kept_files_drop_oldest(struct weir_kept_files *kept);

/* How many are known, of which some may have been taken away since. */
size_t weir_kept_files_count(const struct weir_kept_files *kept);

/* Waits for the commands, however long they take, and says so after some seconds; hurried: asked ten times a second
 * whether to give that up. */
void weir_kept_files_await_commands(struct weir_kept_files *kept, bool (*hurried)(void *ctx), void *ctx);

/* NULL-safe. Commands that still run are left to themselves. */
void weir_kept_files_free(struct weir_kept_files *kept);

#endif
