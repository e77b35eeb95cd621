/*
 * The coordinator: the loop of the thread that called weir_record_run(), while data flows.
 *
 * The loop waits for a signalfd, a timerfd, two eventfds of the pipeline, and further sources that others add. It opens
 * and closes rounds, reaps the workload, and passes triggers on. It returns when the recording is to end. No reader or
 * writer ever waits for the coordinator.
 */
#ifndef WEIR_ENGINE_SESSION_COORDINATOR_H
#define WEIR_ENGINE_SESSION_COORDINATOR_H

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "engine/control/trigger.h"
#include "engine/control/workload.h"
#include "engine/drain/pipeline.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/record_result.h"
#include "engine/plan/schedule.h"

struct weir_coordinator {
    struct weir_pipeline *pipeline; /* borrowed */
    struct weir_workload *workload; /* borrowed; NULL: none */
    int signal_fd;                  /* owned; signals that end a recording, SIGCHLD, SIGUSR2 */
    int timer_fd;                   /* owned; the next call of weir_rounds_advance() */
    sigset_t mask_before;           /* as init() found it; fini() restores most of it; the workload gets it */
    int ending_signal;              /* the first ending signal; 0: none */
    bool hastened;                  /* another ending signal came while the loop ended; not reported yet */
    bool hurried;                   /* weir_coordinator_is_hurried() has returned true */

    /* The last ending signal that weir has read, without repetitions. */
    const struct weir_clock *clock; /* borrowed; monotonic */
    int asked_number;
    uint32_t asked_by; /* process id of the sender; 0: the terminal, or a process outside of weir's pid namespace */
    uint64_t asked_ns;

    /* Others may add sources of their own from init() to fini(); their callbacks run on this thread, in run(). */
    struct weir_poll_set sources;
    struct weir_poll_set late_sources; /* wait_workload() waits for these: signals, and sources that others add */
    struct weir_triggers triggers;     /* of SIGUSR2 and all other triggers; init() registers "stop" */

    /* Set by callbacks of the sources, read by the loop. */
    bool targets_ended; /* set only where the end of all targets ends the recording */
    bool end_asked;
    enum weir_record_end asked_end; /* valid with end_asked */

    /* Set by the caller between init() and run(). */
    const struct weir_schedule *schedule;      /* borrowed; NULL: nobody toggles events by time */
    void (*toggle_events)(void *ctx, bool on); /* coordinator thread */
    void *toggle_ctx;                          /* borrowed */
    void (*writer_calls)(void *ctx);           /* the writer asks for attention; coordinator thread; NULL: no action */
    void *writer_ctx;                          /* borrowed */
};

/* Blocks the signals for this thread and for threads that it creates later, and makes the descriptors. 0 or -errno. The
 * coordinator must stay where it is until fini(). */
int weir_coordinator_init(struct weir_coordinator *coordinator, struct weir_error *err);

/*
 * Restores the signal mask, but leaves all ending signals blocked, whatever the reason for the end. The process still
 * has to write its last lines. Only then does it end by an ending signal: the first that weir has read, or a pending
 * one. NULL-safe.
 */
void weir_coordinator_fini(struct weir_coordinator *coordinator);

/*
 * Names pipeline and workload for run(). Both are borrowed until fini(); a NULL workload means none. until_targets_end:
 * the end of all target tasks ends the recording. 0 or -ENOMEM. Call this once.
 */
int weir_coordinator_watch(struct weir_coordinator *coordinator, struct weir_pipeline *pipeline,
                           struct weir_workload *workload, bool until_targets_end);

/*
 * Runs until a reason to end: a signal, the end of workload or all targets, the trigger "stop", the end of the last -D
 * window. A failed output and an output at its size limit are reasons, too. From then on no trigger is
 * accepted. The schedule starts with the call. Call this after watch().
 *
 * SIGCHLD reports the end of a workload, even if the workload is the target. A hang-up of its events would not do: it
 * comes before the workload can be reaped. It also comes when a running workload executes a set-user-ID program.
 *
 * A signal takes precedence over the other reasons. Ctrl-C on a terminal reaches the workload as well, but weir still
 * has to raise the signal again.
 */
enum weir_record_end weir_coordinator_run(struct weir_coordinator *coordinator);

/* Makes run() return `end`, or the reason of an earlier call. Sources and triggers call this. */
void weir_coordinator_end(struct weir_coordinator *coordinator, enum weir_record_end end);

/* Waits for the end of the workload, for an ending signal that came after run(), or for patience_ms. A negative
 * patience_ms means no time limit. False: only the patience is over. */
bool weir_coordinator_wait_workload(struct weir_coordinator *coordinator, int patience_ms);

/*
 * Returns true once another ending signal has come, or a first one if no signal ended the loop. The end of the
 * recording then leaves out its slow parts. A signal that the same process repeats within 10 ms does not count, because
 * timeout(1) signals its child and then the group of its child. Does not block. One thread at a time: the coordinator,
 * or a thread for which the coordinator waits.
 */
bool weir_coordinator_is_hurried(struct weir_coordinator *coordinator);

/* Returns the last result of weir_coordinator_is_hurried(). Reads no signal. */
bool weir_coordinator_was_hurried(const struct weir_coordinator *coordinator);

#endif
