/*
 * The answer of the process that plans a recovery, sent through a pipe. First comes the plan of format/recovery.h
 * without its pointers. Then come the bytes of the tail, head and kept ranges of a stream, and the parts of a
 * directory.
 *
 * That process has read a recording that anybody may have made, so it may be compromised and send anything. The
 * receiver trusts no count, flag or text of the answer. It compares sizes with the file, allocates memory as bytes
 * arrive, and makes texts fit for a terminal. Any thread; both functions block on the pipe.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVERY_ANSWER_H
#define WEIR_ENGINE_UPKEEP_RECOVERY_ANSWER_H

#include "base/error.h"
#include "format/recovery.h"

/* Writes the answer. result, err: of weir_recovery_plan(); recovery is used only if that succeeded. 0 or -errno of
 * write(2). */
int weir_recovery_answer_write(int fd, int result, const struct weir_recovery *recovery, const struct weir_error *err);

/*
 * Reads the answer about the recording at path. recovery: empty. 0: *result and err are those of the plan; release
 * recovery if *result is 0. -EBADMSG: no answer, or an impossible one; -ENOMEM.
 */
int weir_recovery_answer_read(int fd, const char *path, int *result, struct weir_recovery *recovery,
                              struct weir_error *err);

#endif
