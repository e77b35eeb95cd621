/*
 * What the sideband's two threads share. The one: sideband.c, its life and its answers, and sideband_intake.c, what it
 * takes in. The other, which reads build ids: sideband_ids.c. Everything in struct weir_sideband below `lock` is
 * guarded by it.
 *
 * Either thread may be left behind by stop(): from then on it touches nothing but its own stack, the lock and
 * `left_behind`, and the last of those that hold the struct frees it.
 */
#ifndef WEIR_ENGINE_TASKS_SIDEBAND_INTERNAL_H
#define WEIR_ENGINE_TASKS_SIDEBAND_INTERNAL_H

#include <pthread.h>

#include "engine/drain/side_queue.h"
#include "engine/tasks/sideband.h"

#define WEIR_SIDEBAND_NICE          10
#define WEIR_SIDEBAND_BUSY_PAUSE_MS 20u /* while something comes */

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
    bool is_done; /* has nothing left to do, and was not left behind */
    pid_t tid;    /* constant once is_ready */
};

struct weir_sideband {
    struct weir_sideband_setup setup;
    struct weir_side_layout layout;
    struct weir_side_tee *tees;              /* owned */
    struct weir_sideband_thread intake, ids; /* ids: started only when build ids are read */

    pthread_mutex_t feed_lock; /* guards the four below */
    struct weir_feed_block *feed_first, *feed_last;
    size_t feed_bytes;
    uint64_t feed_missed;
    bool feed_ended;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    pthread_cond_t unread;                   /* for the thread of build ids: there may be one to read, or the end */
    struct weir_sideband_question *question; /* borrowed; NULL: none */
    bool stopping;                           /* stop() waits */
    bool took_all;                           /* nothing comes any more whose build id is to be read */
    bool left_behind;                        /* stop() has given up waiting for a thread */
    unsigned holders;                        /* free(), and the threads that were left behind */
    uint64_t reading_since_ns;               /* a build id, without the lock; 0: none is being read */
    struct weir_mapped_files files;
    struct weir_task_map tasks;
    struct weir_bpf_images programs;
    struct weir_side_queue queue;
    struct weir_buf drained; /* what one look at a tee gave */
    struct weir_sideband_counts counts;
};

/* ---- sideband.c ---- */

/* Waits for `changed`, so long at most. Under the lock, which is given away meanwhile. */
void weir_sideband_pause(struct weir_sideband *sideband, unsigned ms);

/* Takes the lock; see struct weir_sideband_patience. Any thread. */
void weir_sideband_lock(struct weir_sideband *sideband, const struct weir_sideband_patience *patience);

/* Says that a thread runs. Under the lock, by that thread. */
void weir_sideband_thread_begin(struct weir_sideband *sideband, struct weir_sideband_thread *thread);

/* Says that it has ended, and gives the lock back; the struct may be gone when it returns. */
void weir_sideband_thread_end(struct weir_sideband *sideband, struct weir_sideband_thread *thread);

/* ---- sideband_intake.c ---- */

/* Takes in everything that is there now. True when that was anything. Under the lock, by the thread. */
bool weir_sideband_take_in(struct weir_sideband *sideband);

/* Whether records did not reach the map, as far as the last look knows. Under the lock. */
bool weir_sideband_has_missed(const struct weir_sideband *sideband);

/* Takes in the files of the maps in whole synthesised records, and nothing else of these. Under the lock. */
void weir_sideband_note_maps(struct weir_sideband *sideband, const uint8_t *records, size_t bytes);

/* Applies what is kept back for the order's sake, once nothing comes any more. Under the lock, by the thread. */
void weir_sideband_take_rest(struct weir_sideband *sideband);

/* Frees blocks that nobody has taken in. NULL is allowed. */
void weir_sideband_free_feed(struct weir_feed_block *block);

/* ---- sideband_ids.c ---- */

/* The thread that reads build ids. argument: the sideband. */
void *weir_sideband_ids_main(void *argument);

#endif
