/*
 * The coordinator's loop: what the calling thread of a recording does while data flows.
 *
 * It waits on a signalfd, a timerfd, the pipeline's two eventfds and what others add to its sources; it opens and
 * closes rounds, reaps the workload, hands triggers on, and returns when the recording is to end. No reader or writer
 * ever waits for it.
 */
#ifndef WEIR_ENGINE_SESSION_COORDINATOR_H
#define WEIR_ENGINE_SESSION_COORDINATOR_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/kernel/poll_set.h"
#include "engine/session/record_result.h"
#include "engine/session/schedule.h"
#include "engine/session/trigger.h"
#include "engine/session/workload.h"

struct weir_coordinator {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_workload *workload; /* borrowed; NULL: none */
    int signal_fd;                  /* owned; signals that end a recording, SIGCHLD, SIGUSR2 */
    int timer_fd;                   /* owned; the next call of weir_rounds_advance() */
    sigset_t mask_before;           /* restored by fini as far as it does, given to the workload */
    int ending_signal;              /* 0, or the first one that came */
    bool hastened;                  /* another came while the loop ended, and nobody was told yet */
    bool hurried;                   /* is_hurried() has found one */

    /* The last ending signal that was read, but for those that said the same again. */
    const struct weir_clock *clock; /* borrowed; monotonic */
    int asked_number;
    uint32_t asked_by; /* a process; 0: the terminal, or somebody outside of our pid namespace */
    uint64_t asked_ns;

    /* Others may add sources of their own from init() to fini(); their callbacks run on this thread, in run(). */
    struct weir_poll_set sources;
    struct weir_poll_set late_sources; /* the same, but run in wait_workload(): signals, and what others add */
    struct weir_triggers triggers;     /* of SIGUSR2 and all others; "stop" is registered by init() */

    /* What the sources said since the loop last looked. */
    bool targets_ended; /* never set when that ends nothing */
    bool end_asked;
    enum weir_record_end asked_end; /* with it */

    /* Set by the caller between init() and run(); without a schedule nothing is switched. */
    const struct weir_schedule *schedule;      /* borrowed; NULL: none */
    void (*toggle_events)(void *ctx, bool on); /* coordinator thread */
    void *toggle_ctx;                          /* borrowed */
    void (*writer_calls)(void *ctx); /* the writer wants something; coordinator thread; NULL: nobody asks what */
    void *writer_ctx;                /* borrowed */
};

/* Blocks the signals for this thread (and those it creates from now on) and makes the descriptors. 0 or -errno. The
 * coordinator must stay where it is until fini(). */
int weir_coordinator_init(struct weir_coordinator *coordinator, struct weir_error *err);

/* Restores the signal mask, but all signals that end a recording stay blocked, whatever has ended this one: the process
 * has its last lines to write before it ends by one of them, the first that was read or one that is pending. NULL-safe.
 */
void weir_coordinator_fini(struct weir_coordinator *coordinator);

/*
 * Names what run() is about: pipeline, and workload (NULL: none), both borrowed until fini(). until_targets_end: the
 * end of all target tasks ends the recording. 0 or -ENOMEM. Once.
 */
int weir_coordinator_watch(struct weir_coordinator *coordinator, struct weir_pipeline *pipeline,
                           struct weir_workload *workload, bool until_targets_end);

/*
 * Runs until a signal, the workload's end, an output that failed or reached its limit, the end of all targets, the
 * trigger "stop", or the end of the schedule's last window; then no trigger is taken any more. The schedule starts with
 * the call. After watch(). A workload that is the target itself is waited for by SIGCHLD: its events hang up before it
 * can be reaped, and they do so while it runs on when it executes a set-user-ID program. A signal goes before the rest:
 * Ctrl-C on a terminal reaches the workload too, and is to be re-raised all the same.
 */
enum weir_record_end weir_coordinator_run(struct weir_coordinator *coordinator);

/* Has run() return, for that reason or the one that was given before. From a source or a trigger. */
void weir_coordinator_end(struct weir_coordinator *coordinator, enum weir_record_end end);

/* Waits for the end of the workload given to watch(), or for an ending signal that came after run(), and for so long at
 * most; negative: however long that takes. */
void weir_coordinator_wait_workload(struct weir_coordinator *coordinator, int patience_ms);

/* True once a(nother) ending signal has come: finishing leaves out its slow parts. One that the same process sent again
 * within 10 ms is no other: timeout(1) signals its child, and then the child's group. Does not block. One thread at a
 * time: the coordinator, or a thread that it waits for. */
bool weir_coordinator_is_hurried(struct weir_coordinator *coordinator);

/* What is_hurried() has found so far; reads no signal. */
bool weir_coordinator_was_hurried(const struct weir_coordinator *coordinator);

#endif
