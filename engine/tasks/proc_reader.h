/*
 * Reads processes from /proc on a thread of its own, so that no other thread hangs. A read of /proc/PID/maps waits for
 * the memory lock of the process. A task that waits for a dead server may hold that lock (proc(5); mmap_lock in
 * fs/proc/task_mmu.c of Linux 6.12). With build ids in maps, reading opens the mapped files as well.
 *
 * A request ends when all processes are read, or when none was finished for a while. The thread then hangs alone. Until
 * the thread comes back, further requests end at once with nothing read. So never more than one thread hangs.
 */
#ifndef WEIR_ENGINE_TASKS_PROC_READER_H
#define WEIR_ENGINE_TASKS_PROC_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "format/synth.h"

struct weir_proc_reader; /* on the heap: its thread may outlive the recording */

/* Starts the thread. options is copied, but its texts are borrowed for as long as the thread lives; emit and notices
 * are not used. Signals must be blocked. 0, -ENOMEM or -errno of pthread_create(3). */
int weir_proc_reader_start(struct weir_proc_reader **reader, const struct weir_synth_options *options);

/* The id of the thread. */
pid_t weir_proc_reader_tid(const struct weir_proc_reader *reader);

struct weir_proc_reading {
    size_t processes; /* number of processes read: the first ones of the request */
    uint64_t cut;     /* those of them whose list of maps took longer than options.map_timeout_ms */
};

/*
 * Appends the records of weir_synth_processes() for these processes. Ends early when no process was finished for
 * hang_ms, or when the time of weir_proc_reader_hurry() is up. 0: all were read; -ETIMEDOUT, -ENOMEM or -errno of the
 * synthesis: only the first taken->processes were. *taken is set in any case. Blocks. One thread at a time.
 */
int weir_proc_reader_read(struct weir_proc_reader *reader, const pid_t *pids, size_t count, unsigned hang_ms,
                          struct weir_buf *records, struct weir_proc_reading *taken);

/* Limits all present and further requests to ms from now on: a request that is not done by then ends with -ETIMEDOUT,
 * however many processes it has finished. NULL-safe. Any thread. */
void weir_proc_reader_hurry(struct weir_proc_reader *reader, unsigned ms);

/* Ends the thread and frees. Does not wait for a thread that hangs: it frees when it comes back. NULL-safe. */
void weir_proc_reader_free(struct weir_proc_reader *reader);

#endif
