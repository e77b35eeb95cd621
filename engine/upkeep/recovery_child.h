/*
 * A process that plans a recovery and can write nothing but its answer (engine/upkeep/sandbox.h).
 *
 * Only that process parses the recording. This process checks the answer against the file's size, and then writes it
 * without parsing it: a header, the end of the data, and the bytes behind it. Main thread, which must be the only
 * thread; blocks until the child has ended, allocates.
 */
#ifndef WEIR_ENGINE_UPKEEP_RECOVERY_CHILD_H
#define WEIR_ENGINE_UPKEEP_RECOVERY_CHILD_H

#include "base/error.h"
#include "base/notice.h"
#include "format/recovery.h"

/*
 * Plans a recovery; results as weir_recovery_plan(). The gate in options is not called. Also -EBADMSG: the child did
 * not survive the recording (err names the signal), or its answer is impossible. notices: may be NULL; gets a warning
 * when the child cannot be confined.
 */
int weir_recovery_child_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                             const struct weir_notice_sink *notices, struct weir_error *err);

#endif
