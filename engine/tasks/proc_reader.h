/*
 * Reads processes from /proc on a thread of its own, so that nobody hangs who needs them: /proc/PID/maps waits for a
 * lock of the process's memory, which a task may hold that itself waits for a dead server (proc(5); mmap_lock in
 * fs/proc/task_mmu.c of Linux 6.12), and with build ids in maps its files are opened.
 *
 * A request ends when all is read, or when no process was finished for a while. The thread is left to itself then;
 * until it comes back further requests end at once with nothing read, so there is never more than one that hangs.
 */
#ifndef WEIR_ENGINE_TASKS_PROC_READER_H
#define WEIR_ENGINE_TASKS_PROC_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "format/synth.h"

struct weir_proc_reader; /* on the heap: its thread may outlive the recording */

/* Starts the thread. options: copied, but for its texts, which are borrowed for good; emit and notices are not used.
 * 0, -ENOMEM or -errno of pthread_create(3). Signals must be blocked. */
int weir_proc_reader_start(struct weir_proc_reader **reader, const struct weir_synth_options *options);

/* Of its thread. */
pid_t weir_proc_reader_tid(const struct weir_proc_reader *reader);

struct weir_proc_reading {
    size_t processes; /* the first so many were read */
    uint64_t cut;     /* of these, whose list of maps took longer than options.map_timeout_ms */
};

/*
 * Appends to records what weir_synth_processes() says of these processes: of all, unless none was finished for hang_ms,
 * or the time of hurry() is up.
 * 0; -ETIMEDOUT: not of all; -errno of the synthesis, or -ENOMEM: nor then. *taken is set in any case. Blocks. One
 * thread at a time.
 */
int weir_proc_reader_read(struct weir_proc_reader *reader, const pid_t *pids, size_t count, unsigned hang_ms,
                          struct weir_buf *records, struct weir_proc_reading *taken);

/* From now on there are so many milliseconds for all that is requested: a request that is not done by then ends as if
 * it hung, however many processes are finished meanwhile. NULL-safe. Any thread. */
void weir_proc_reader_hurry(struct weir_proc_reader *reader, unsigned ms);

/* NULL-safe. Does not wait for a thread that hangs: that frees when it comes back. */
void weir_proc_reader_free(struct weir_proc_reader *reader);

#endif
