/*
 * Opens mapped files for threads that may not (engine/kernel/thread_filter.h), and that must not hang: stage workers
 * which unwind stacks.
 *
 * The sideband thread notes each file that is mapped, by the number that the table of files gave it (mapped_files.h).
 * A worker asks for a number, and waits at most WEIR_FILE_OPENER_TIMEOUT_MS. One of WEIR_FILE_OPENER_THREADS threads
 * opens the very file that was mapped (mapped_file_id.h), checks its build id where that is known, and hands the
 * descriptor over. The thread closes a descriptor for which no other thread waits any more.
 *
 * A thread that hangs in a file system hangs alone. No two threads open the same file. While the thread of a file
 * hangs, requests for that file fail at once. free() leaves the thread behind. While all threads hang, every request
 * fails.
 *
 * Bounds: the newest WEIR_MAPPED_FILES_MAX numbers, WEIR_MAPPED_NAMES_BYTES_MAX bytes of names, REQUESTS requests
 * (file_opener.c). Beyond them open() returns -ENOENT, or -ETIMEDOUT for a request without room.
 *
 * One lock guards everything; nobody holds it while it calls the kernel.
 */
#ifndef WEIR_ENGINE_TASKS_FILE_OPENER_H
#define WEIR_ENGINE_TASKS_FILE_OPENER_H

#include <stdint.h>
#include <sys/types.h>

#include "engine/tasks/mapped_file_id.h"
#include "engine/tasks/mapped_files.h"

#define WEIR_FILE_OPENER_THREADS    4u
#define WEIR_FILE_OPENER_TIMEOUT_MS 200u

struct weir_file_opener; /* on the heap: a thread that hangs may outlive its recording */

struct weir_file_opener_setup {
    struct weir_mapped_file_roots roots; /* begin_s is set by new() */
    /* Opens a file; may block. NULL: weir_mapped_file_open(). */
    int (*open)(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots);
};

/* Makes the object, with a copy of the vDSO, which is no file. 0 or -ENOMEM. */
int weir_file_opener_new(struct weir_file_opener **made, const struct weir_file_opener_setup *setup);

/* Starts the threads. Signals must be blocked. 0 or -errno of pthread_create(3). */
int weir_file_opener_start(struct weir_file_opener *opener);

/* Fills in the ids of the threads, and returns their number. After start(). */
unsigned weir_file_opener_tids(const struct weir_file_opener *opener, pid_t tids[WEIR_FILE_OPENER_THREADS]);

/* Notes a file by its number, again with each newer mapping, by which it may be reached. Any thread; allocates. */
void weir_file_opener_note(struct weir_file_opener *opener, uint32_t number, const struct weir_mapped_file *file,
                           const char *name);

/* Notes the build id of a noted file: another file is not opened from now on. Any thread. */
void weir_file_opener_note_id(struct weir_file_opener *opener, uint32_t number, const struct weir_build_id *id);

/* Returns a descriptor for reading, which the caller closes; -ENOENT: the number is not known; -ETIMEDOUT; -ESTALE: the
 * file is not the mapped one any more; or -errno of opening. Any thread; blocks for the timeout at most. */
int weir_file_opener_open(struct weir_file_opener *opener, uint32_t number);

/* Ends the threads and frees. Does not wait for a thread that is opening a file: the last one frees when it comes back.
 * Nobody may be waiting for a file. NULL-safe. */
void weir_file_opener_free(struct weir_file_opener *opener);

#endif
