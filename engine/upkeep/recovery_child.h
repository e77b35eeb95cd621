/*
 * The plan of a recovery, made by a process of its own that can write nothing but its answer (engine/upkeep/sandbox.h).
 *
 * The recording is read there. What comes back is checked against the file's size and then written as it is: a header,
 * where the data ends, and the bytes behind it; none of them is looked into here. Main thread, which must be the only
 * one; blocks until the child has ended, allocates.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVERY_CHILD_H
#define WEIR_ENGINE_UPKEEP_RECOVERY_CHILD_H

#include "base/error.h"
#include "base/notice.h"
#include "format/recovery.h"

/*
 * As weir_recovery_plan(), whose results these are; the gate of options is not asked. -EBADMSG besides: the child did
 * not survive the recording (err says which signal ended it), or its answer cannot be. notices: may be NULL; the child
 * warns through it when it cannot be bound.
 */
int weir_recovery_child_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                             const struct weir_notice_sink *notices, struct weir_error *err);

#endif
