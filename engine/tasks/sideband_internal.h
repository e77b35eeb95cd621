/*
 * The state that the two threads of the sideband share. The sideband thread runs sideband.c (its life, its answers) and
 * sideband_intake.c (records); the build-id thread runs sideband_ids.c. `lock` guards all fields below it.
 *
 * stop() may leave either thread behind. Such a thread touches only its own stack, the lock and `left_behind`. The last
 * holder of the struct frees it.
 */
#ifndef WEIR_ENGINE_TASKS_SIDEBAND_INTERNAL_H
#define WEIR_ENGINE_TASKS_SIDEBAND_INTERNAL_H

#include <pthread.h>

#include "engine/drain/side_queue.h"
#include "engine/tasks/sideband.h"

#define WEIR_SIDEBAND_NICE          10
#define WEIR_SIDEBAND_BUSY_PAUSE_MS 20u /* while records come */

struct weir_feed_block {
    struct weir_feed_block *next;
    size_t bytes;
    uint8_t records[];
};

struct weir_sideband_thread {
    pthread_t thread;
    bool started; /* start() and stop() only */
    /* Guarded by the lock. */
    bool is_ready;
    bool is_done; /* it has ended, and was not left behind */
    pid_t tid;    /* constant once is_ready */
};

struct weir_sideband {
    struct weir_sideband_setup setup;
    struct weir_side_layout layout;
    struct weir_side_tee *tees;              /* owned */
    struct weir_sideband_thread intake, ids; /* ids: not started with -B */

    pthread_mutex_t feed_lock; /* guards the four below */
    struct weir_feed_block *feed_first, *feed_last;
    size_t feed_bytes;
    uint64_t feed_missed;
    bool feed_ended;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    pthread_cond_t unread;                   /* for the build-id thread: a file to read, or the end */
    struct weir_sideband_question *question; /* borrowed; NULL: none */
    bool stopping;                           /* stop() waits for the threads */
    bool took_all;                           /* no more files will need their build id */
    bool left_behind;                        /* stop() has given up waiting for a thread */
    unsigned holders;                        /* weir_sideband_free(), and the threads that were left behind */
    uint64_t reading_since_ns;               /* since when a build id is being read, without the lock; 0: none is */
    struct weir_mapped_files files;
    struct weir_task_map tasks;
    struct weir_bpf_images programs;
    struct weir_side_queue queue;
    struct weir_buf drained; /* scratch: records from one look at a tee */
    struct weir_sideband_counts counts;
};

/* ---- sideband.c ---- */

/* Takes the lock, and calls patience->meanwhile() while a question is answered. Any thread. */
void weir_sideband_lock(struct weir_sideband *sideband, const struct weir_sideband_patience *patience);

/* Marks the calling thread as running. Under the lock. */
void weir_sideband_thread_begin(struct weir_sideband *sideband, struct weir_sideband_thread *thread);

/* Marks the calling thread as ended, and releases the lock. The struct may be freed when it returns. */
void weir_sideband_thread_end(struct weir_sideband *sideband, struct weir_sideband_thread *thread);

/* ---- sideband_intake.c ---- */

/* Takes in all records that are there now. Returns whether there were any. Under the lock, on the sideband thread. */
bool weir_sideband_take_in(struct weir_sideband *sideband);

/* Whether records did not reach the task map, as of the last look. Under the lock. */
bool weir_sideband_has_missed(const struct weir_sideband *sideband);

/* Takes in only the files that whole synthesized records map. Under the lock. */
void weir_sideband_note_maps(struct weir_sideband *sideband, const uint8_t *records, size_t bytes);

/* Applies the records that are kept back, when no more will come. Under the lock, on the sideband thread. */
void weir_sideband_take_rest(struct weir_sideband *sideband);

/* Frees blocks that were not taken in. NULL-safe. */
void weir_sideband_free_feed(struct weir_feed_block *block);

/* ---- sideband_ids.c ---- */

/* The main function of the build-id thread. argument: the sideband. */
void *weir_sideband_ids_main(void *argument);

#endif
