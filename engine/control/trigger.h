/*
 * Triggers: the actions that users and programs may request of a running recording, and their one dispatcher.
 *
 *     SIGUSR2 ─┐                    ┌─► dump, snapshot, ...-alloc  snapshots (snapshot.h)
 *     control ─┤  weir_triggers_    ├─► switch                     rotation of the output (file_series.h)
 *     events  ─┼──► request() ──────┼─► enable, disable            events (event_toggle.h)
 *     timers  ─┤                    └─► stop                       coordinator
 *     sizes   ─┘
 *
 * Each module registers the function that begins its action. The function returns 0 when the action is over. An action
 * that goes on (a rotation waits for a round) returns WEIR_TRIGGER_BEGUN, and its module calls weir_triggers_complete()
 * later. Only one such action is under way at a time.
 *
 * The dispatcher remembers requests that come meanwhile, each kind once, and begins their actions in the order of the
 * requests. An action may instead name a reason (busy), with which the dispatcher refuses the request. Immediate
 * actions wait for nothing.
 *
 * A caller that wants to know the outcome passes a request with a callback. The dispatcher calls it exactly once:
 * before request() returns, or later. For a refusal without a callback, the dispatcher warns, and repeats the warning
 * only with -v.
 *
 * All functions run on the coordinator thread, and none blocks or allocates.
 */
#ifndef WEIR_ENGINE_CONTROL_TRIGGER_H
#define WEIR_ENGINE_CONTROL_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"

enum weir_trigger {
    WEIR_TRIGGER_DUMP,           /* samples kept in memory go to the file, without allocating a spare */
    WEIR_TRIGGER_SNAPSHOT,       /* live and spare change places; without a spare, recording stops (snapshot.h) */
    WEIR_TRIGGER_SNAPSHOT_ALLOC, /* makes the spare if there is none, then as WEIR_TRIGGER_SNAPSHOT */
    WEIR_TRIGGER_ROTATE,         /* a new output file */
    WEIR_TRIGGER_ENABLE,         /* samples count */
    WEIR_TRIGGER_DISABLE,
    WEIR_TRIGGER_STOP, /* the recording ends */
    WEIR_TRIGGER_COUNT,
    WEIR_TRIGGER_NONE = WEIR_TRIGGER_COUNT,
};

enum weir_trigger_source {
    WEIR_TRIGGER_BY_SIGNAL, /* SIGUSR2 */
    WEIR_TRIGGER_BY_CONTROL,
    WEIR_TRIGGER_BY_EVENT,
    WEIR_TRIGGER_BY_API,
    WEIR_TRIGGER_BY_EXIT,
    WEIR_TRIGGER_BY_TIMER,
    WEIR_TRIGGER_BY_SIZE,
    WEIR_TRIGGER_SOURCES,
};

#define WEIR_TRIGGER_BEGUN 1

/* How the recording does one kind of action. */
struct weir_trigger_action {
    /* Begins the action. Returns 0 when it is done, WEIR_TRIGGER_BEGUN when it goes on, or -errno with err when it is
     * refused or has failed. Must not block, and must not call the dispatcher. */
    int (*run)(void *ctx, struct weir_error *err);
    void *ctx; /* borrowed until the last call of the dispatcher */
    /* Reason of the refusal while this action, or another action with the same string, is under way. NULL: the
     * dispatcher remembers the request. */
    const char *busy;
    bool immediate; /* the action waits for no other, and run() never returns WEIR_TRIGGER_BEGUN */
};

/* A request whose caller waits for the outcome. The caller owns it, and leaves it in place until done() was called. */
struct weir_trigger_request {
    enum weir_trigger trigger;
    enum weir_trigger_source source;
    /* result: 0, or -errno with err, which is borrowed until done() returns. The request is free again: done() may pass
     * it to the dispatcher. */
    void (*done)(void *ctx, int result, const struct weir_error *err);
    void *ctx;                         /* borrowed */
    struct weir_trigger_request *next; /* belongs to the dispatcher */
};

struct weir_triggers {
    struct weir_trigger_action actions[WEIR_TRIGGER_COUNT]; /* run NULL: not registered */
    enum weir_trigger on_signal;                            /* the action of SIGUSR2; NONE: no action */
    const struct weir_notice_sink *notices;                 /* borrowed; NULL: no warnings of refusals */
    bool ended;
    int told[WEIR_TRIGGER_COUNT]; /* [kind] errno of the last refusal or failure that was a warning */
    /* Called when an action was begun or done, unless it is immediate. NULL: no callback. */
    void (*begun)(void *ctx, enum weir_trigger trigger);
    void *begun_ctx; /* borrowed */

    enum weir_trigger running;                    /* NONE: no action is under way */
    struct weir_trigger_request *running_for;     /* the callers that wait for its outcome */
    enum weir_trigger wanted[WEIR_TRIGGER_COUNT]; /* remembered kinds, in the order of their requests */
    unsigned wanted_count;
    struct weir_trigger_request *wanted_by[WEIR_TRIGGER_COUNT]; /* [kind] callers of the remembered action */
    bool dispatching; /* the loop that begins remembered actions is on the stack */

    uint64_t asked[WEIR_TRIGGER_SOURCES]; /* requests, including refused ones */
    uint64_t taken[WEIR_TRIGGER_COUNT];   /* actions that succeeded */
    uint64_t refused;                     /* actions that were refused or failed */
};

/* Returns the word of the control protocol: "snapshot", "snapshot-alloc", "switch", ... */
const char *weir_trigger_name(enum weir_trigger trigger);

void weir_triggers_init(struct weir_triggers *triggers, const struct weir_notice_sink *notices);

/* Registers the action of a kind. Call once for each kind, before the first request. */
void weir_triggers_register(struct weir_triggers *triggers, enum weir_trigger trigger,
                            const struct weir_trigger_action *action);

/* Sets the action of SIGUSR2. Without an action, weir drops the signal, as perf does. */
void weir_triggers_set_signal(struct weir_triggers *triggers, enum weir_trigger trigger);

/* Requests an action, and calls request->done() with the outcome. */
void weir_triggers_request(struct weir_triggers *triggers, struct weir_trigger_request *request);

/* Requests an action without a caller that waits for the outcome. */
void weir_triggers_fire(struct weir_triggers *triggers, enum weir_trigger trigger, enum weir_trigger_source source);

/* Returns -EBUSY with err, and counts a refusal, if the dispatcher would now refuse this kind as busy. Otherwise
 * returns 0. Requests nothing. */
int weir_triggers_refuse_busy(struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_error *err);

/* Handles a SIGUSR2. */
void weir_triggers_signal(struct weir_triggers *triggers);

/* Reports that the action under way is over. result: 0, or -errno with err. Call only after its run() returned
 * WEIR_TRIGGER_BEGUN. */
void weir_triggers_complete(struct weir_triggers *triggers, enum weir_trigger trigger, int result,
                            const struct weir_error *err);

/* Refuses the remembered requests, and all later ones: the recording is ending. An action under way may still be
 * completed. Idempotent. */
void weir_triggers_end(struct weir_triggers *triggers);

#endif
