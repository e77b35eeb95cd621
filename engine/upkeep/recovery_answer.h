/*
 * What the process that plans a recovery tells the one that carries it out, through a pipe: the plan of
 * format/recovery.h without its pointers, then the bytes of the tail, then the parts of a directory.
 *
 * That process has read a recording that anybody may have made, and may say anything by then. So whoever reads an
 * answer takes no count, flag or text of it for granted: sizes are held against the file, memory is taken as bytes
 * come, and texts are made fit for a terminal. Any thread; both block on the pipe.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVERY_ANSWER_H
#define WEIR_ENGINE_UPKEEP_RECOVERY_ANSWER_H

#include "base/error.h"
#include "format/recovery.h"

/* result, err: of weir_recovery_plan(); recovery is not looked at when that has failed. 0 or -errno of write(2). */
int weir_recovery_answer_write(int fd, int result, const struct weir_recovery *recovery, const struct weir_error *err);

/*
 * Reads the answer about the recording at path. 0: there is one; *result and err are those of the plan, and recovery
 * is to be freed when it has succeeded. -EBADMSG: there is none that could be; -ENOMEM. recovery: empty.
 */
int weir_recovery_answer_read(int fd, const char *path, int *result, struct weir_recovery *recovery,
                              struct weir_error *err);

#endif
