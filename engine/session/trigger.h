/*
 * Triggers: what may be asked of a running recording, by whom, and the one dispatcher that all of it goes through.
 *
 *     SIGUSR2 ─┐                    ┌─► dump, snapshot, ...-alloc  the part that keeps samples in memory
 *     control ─┤  weir_triggers_    ├─► switch                     the part that changes the output
 *     events  ─┼──► request() ──────┼─► enable, disable            the events
 *     timers  ─┤                    └─► stop                       the coordinator
 *     sizes   ─┘
 *
 * A part registers the function that begins its action. An action that is over when that function returns says so by 0;
 * one that goes on (a switch waits for a round) returns WEIR_TRIGGER_BEGUN, and the part calls weir_triggers_complete()
 * later. Of these only one is under way at a time. What is asked for meanwhile is remembered, each kind once however
 * often it was asked for, and begun in the order of asking; or refused with the action's reason, where it gave one.
 * Immediate actions wait for nothing.
 *
 * Whoever wants to know the outcome gives a request with a callback, which is called exactly once: before request()
 * returns, or later. Nobody else hears of a refusal but by a warning, which is not repeated but with -v.
 *
 * All of it on the coordinator thread; nothing here blocks or allocates.
 */
#ifndef WEIR_ENGINE_SESSION_TRIGGER_H
#define WEIR_ENGINE_SESSION_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"

enum weir_trigger {
    WEIR_TRIGGER_DUMP,     /* what is kept in memory goes to the file, with the memory that there is */
    WEIR_TRIGGER_SNAPSHOT, /* the same; without memory set aside for it recording stops (engine/session/snapshot.h) */
    WEIR_TRIGGER_SNAPSHOT_ALLOC, /* the same; makes that memory first */
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

/* How a kind is done. */
struct weir_trigger_action {
    /* Begins it: 0 when it is done, WEIR_TRIGGER_BEGUN, or -errno with err when it is refused or has failed. Does not
     * block, and does not call the dispatcher. */
    int (*run)(void *ctx, struct weir_error *err);
    void *ctx; /* borrowed for as long as the dispatcher is asked anything */
    /* Why it cannot be asked for while it is under way, or another kind that has the same string; NULL: it is
     * remembered then. */
    const char *busy;
    bool immediate; /* does not wait for other actions, and run() never returns WEIR_TRIGGER_BEGUN */
};

/* Somebody who waits for the outcome. The caller's; must stay in place until done() was called. */
struct weir_trigger_request {
    enum weir_trigger trigger;
    enum weir_trigger_source source;
    /* result: 0 or -errno, then with err, which is borrowed until return. May ask for more; the request is free again.
     */
    void (*done)(void *ctx, int result, const struct weir_error *err);
    void *ctx;                         /* borrowed */
    struct weir_trigger_request *next; /* the dispatcher's */
};

struct weir_triggers {
    struct weir_trigger_action actions[WEIR_TRIGGER_COUNT]; /* run NULL: not registered */
    enum weir_trigger on_signal;                            /* what SIGUSR2 asks for; NONE: nothing */
    const struct weir_notice_sink *notices; /* borrowed; NULL: refusals that nobody hears of are silent */
    bool ended;
    int told[WEIR_TRIGGER_COUNT]; /* the errno of the refusal or failure of that kind that was a warning last */
    /* Called when an action other than an immediate one was begun or done. NULL: nobody wants to know. */
    void (*begun)(void *ctx, enum weir_trigger trigger);
    void *begun_ctx; /* borrowed */

    enum weir_trigger running;                    /* NONE: no action is under way */
    struct weir_trigger_request *running_for;     /* who waits for its outcome */
    enum weir_trigger wanted[WEIR_TRIGGER_COUNT]; /* remembered, in the order of asking */
    unsigned wanted_count;
    struct weir_trigger_request *wanted_by[WEIR_TRIGGER_COUNT]; /* [kind] who waits for the remembered one */
    bool dispatching; /* the loop that begins remembered ones is on the stack */

    uint64_t asked[WEIR_TRIGGER_SOURCES]; /* requests, refused ones among them */
    uint64_t taken[WEIR_TRIGGER_COUNT];   /* actions that were done */
    uint64_t refused;                     /* actions that were not, or failed */
};

/* "snapshot", "snapshot-alloc", "switch", ...: the words of the control protocol. */
const char *weir_trigger_name(enum weir_trigger trigger);

void weir_triggers_init(struct weir_triggers *triggers, const struct weir_notice_sink *notices);

/* Says how a kind is done. Once for each kind, before anything asks for it. */
void weir_triggers_register(struct weir_triggers *triggers, enum weir_trigger trigger,
                            const struct weir_trigger_action *action);

/* Says what SIGUSR2 asks for. Without that it asks for nothing and is dropped, as perf does. */
void weir_triggers_set_signal(struct weir_triggers *triggers, enum weir_trigger trigger);

/* Asks, and has request->done() called with the outcome. */
void weir_triggers_request(struct weir_triggers *triggers, struct weir_trigger_request *request);

/* Asks, with nobody to wait for the outcome. */
void weir_triggers_fire(struct weir_triggers *triggers, enum weir_trigger trigger, enum weir_trigger_source source);

/* Refuses a kind that has a reason not to be remembered while that holds: -EBUSY with err, and it counts as refused.
 * Otherwise 0, and nothing was asked for. */
int weir_triggers_refuse_busy(struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_error *err);

/* SIGUSR2 came. */
void weir_triggers_signal(struct weir_triggers *triggers);

/* The action under way is over: result is 0, or -errno with err. Only after its run() returned WEIR_TRIGGER_BEGUN. */
void weir_triggers_complete(struct weir_triggers *triggers, enum weir_trigger trigger, int result,
                            const struct weir_error *err);

/* The recording is ending: what is remembered is refused, as is all that is asked for from now on. An action under way
 * may still be completed. Idempotent. */
void weir_triggers_end(struct weir_triggers *triggers);

#endif
