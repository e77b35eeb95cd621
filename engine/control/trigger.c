#include "engine/control/trigger.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

static const char *const names[WEIR_TRIGGER_COUNT] = {
    [WEIR_TRIGGER_DUMP] = "dump",
    [WEIR_TRIGGER_SNAPSHOT] = "snapshot",
    [WEIR_TRIGGER_SNAPSHOT_ALLOC] = "snapshot-alloc",
    [WEIR_TRIGGER_ROTATE] = "switch",
    [WEIR_TRIGGER_ENABLE] = "enable",
    [WEIR_TRIGGER_DISABLE] = "disable",
    [WEIR_TRIGGER_STOP] = "stop",
};

static const char *const sources[WEIR_TRIGGER_SOURCES] = {
    [WEIR_TRIGGER_BY_SIGNAL] = "SIGUSR2",   [WEIR_TRIGGER_BY_CONTROL] = "the control channel",
    [WEIR_TRIGGER_BY_EVENT] = "an event",   [WEIR_TRIGGER_BY_API] = "a program",
    [WEIR_TRIGGER_BY_EXIT] = "the end",     [WEIR_TRIGGER_BY_TIMER] = "a timer",
    [WEIR_TRIGGER_BY_SIZE] = "a file size",
};

const char *weir_trigger_name(enum weir_trigger trigger)
{
    weir_assert(trigger < WEIR_TRIGGER_COUNT);
    return names[trigger];
}

void weir_triggers_init(struct weir_triggers *triggers, const struct weir_notice_sink *notices)
{
    *triggers = (struct weir_triggers){
        .on_signal = WEIR_TRIGGER_NONE,
        .running = WEIR_TRIGGER_NONE,
        .notices = notices,
    };
}

void weir_triggers_register(struct weir_triggers *triggers, enum weir_trigger trigger,
                            const struct weir_trigger_action *action)
{
    weir_assert(trigger < WEIR_TRIGGER_COUNT && action->run && !triggers->actions[trigger].run);
    triggers->actions[trigger] = *action;
}

void weir_triggers_set_signal(struct weir_triggers *triggers, enum weir_trigger trigger)
{
    weir_assert(trigger < WEIR_TRIGGER_COUNT);
    triggers->on_signal = trigger;
}

/* ---- outcomes ---- */

/* Tells each caller in the list, once. A callback may put its request back. */
static void tell(struct weir_trigger_request *list, int result, const struct weir_error *err)
{
    while (list) {
        struct weir_trigger_request *request = list;
        list = request->next;
        request->next = NULL;
        request->done(request->ctx, result, err);
    }
}

/* Warns of each reason once: a hundred signals a second give no hundred lines. source NULL: the action began, and then
 * failed. */
static void warn_once(struct weir_triggers *triggers, enum weir_trigger trigger, const char *source,
                      const struct weir_error *err)
{
    bool told = triggers->told[trigger] == err->code;
    triggers->told[trigger] = err->code;
    weir_notice(triggers->notices, told ? WEIR_NOTICE_VERBOSE : WEIR_NOTICE_WARNING, "%s%s%s: %s", names[trigger],
                source ? ", asked for by " : "", source ? source : "", err->what);
}

static void count_outcome(struct weir_triggers *triggers, enum weir_trigger trigger, int result)
{
    if (result < 0)
        triggers->refused++;
    else
        triggers->taken[trigger]++;
}

static int refuse_unregistered(enum weir_trigger trigger, struct weir_error *err)
{
    static const char *const hints[WEIR_TRIGGER_COUNT] = {
        [WEIR_TRIGGER_DUMP] = "record with -M SIZE or --overwrite",
        [WEIR_TRIGGER_SNAPSHOT] = "record with -M SIZE or --overwrite",
        [WEIR_TRIGGER_SNAPSHOT_ALLOC] = "record with -M SIZE or --overwrite",
        [WEIR_TRIGGER_ROTATE] = "record with --switch-output",
    };
    weir_error_set(err, -EOPNOTSUPP, "this recording has nothing to %s", names[trigger]);
    if (hints[trigger])
        weir_error_hint(err, "%s", hints[trigger]);
    return -EOPNOTSUPP;
}

/* Refuses an action with a `busy` reason while an action with the same reason is under way. */
static int refuse_busy(const struct weir_triggers *triggers, const struct weir_trigger_action *action,
                       struct weir_error *err)
{
    bool busy = triggers->running != WEIR_TRIGGER_NONE && action->busy &&
                action->busy == triggers->actions[triggers->running].busy;
    return busy ? weir_error_set(err, -EBUSY, "%s", action->busy) : 0;
}

/* Returns 0 when the action can begin or be remembered now; otherwise -errno with the reason in err. */
static int refuse(const struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_error *err)
{
    const struct weir_trigger_action *action = &triggers->actions[trigger];
    if (!action->run)
        return refuse_unregistered(trigger, err);
    if (triggers->ended)
        return weir_error_set(err, -ECANCELED, "the recording is ending");
    return refuse_busy(triggers, action, err);
}

/* ---- begin ---- */

static void remember(struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_trigger_request *request)
{
    for (unsigned i = 0;; i++) {
        if (i == triggers->wanted_count)
            triggers->wanted[triggers->wanted_count++] = trigger;
        if (triggers->wanted[i] == trigger)
            break;
    }
    if (!request)
        return;
    struct weir_trigger_request **end = &triggers->wanted_by[trigger];
    while (*end)
        end = &(*end)->next;
    *end = request;
}

/* Begins an action for the callers in `list`. With an empty list, a failure is a warning. */
static void begin(struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_trigger_request *list)
{
    const struct weir_trigger_action *action = &triggers->actions[trigger];
    struct weir_error err = {0};
    int result = action->run(action->ctx, &err);
    if (result >= 0 && !action->immediate && triggers->begun)
        triggers->begun(triggers->begun_ctx, trigger);
    if (result == WEIR_TRIGGER_BEGUN) {
        weir_assert(!action->immediate && triggers->running == WEIR_TRIGGER_NONE);
        triggers->running = trigger;
        triggers->running_for = list;
        return;
    }
    count_outcome(triggers, trigger, result);
    if (result < 0 && !list)
        warn_once(triggers, trigger, NULL, &err);
    tell(list, result, &err);
}

/* Begins remembered actions until one of them goes on. */
static void dispatch(struct weir_triggers *triggers)
{
    if (triggers->dispatching)
        return; /* called by a callback of the loop below */
    triggers->dispatching = true;
    while (triggers->wanted_count > 0 && triggers->running == WEIR_TRIGGER_NONE) {
        enum weir_trigger next = triggers->wanted[0];
        struct weir_trigger_request *list = triggers->wanted_by[next];
        triggers->wanted_count--;
        memmove(triggers->wanted, triggers->wanted + 1, triggers->wanted_count * sizeof(triggers->wanted[0]));
        triggers->wanted_by[next] = NULL;
        begin(triggers, next, list);
    }
    triggers->dispatching = false;
}

static void ask(struct weir_triggers *triggers, enum weir_trigger trigger, enum weir_trigger_source source,
                struct weir_trigger_request *request)
{
    weir_assert(trigger < WEIR_TRIGGER_COUNT && source < WEIR_TRIGGER_SOURCES);
    triggers->asked[source]++;
    struct weir_error err = {0};
    int result = refuse(triggers, trigger, &err);
    if (result < 0) {
        triggers->refused++;
        if (!request)
            warn_once(triggers, trigger, sources[source], &err);
        tell(request, result, &err);
        return;
    }
    if (triggers->actions[trigger].immediate) {
        begin(triggers, trigger, request);
        return;
    }
    remember(triggers, trigger, request);
    dispatch(triggers);
}

void weir_triggers_request(struct weir_triggers *triggers, struct weir_trigger_request *request)
{
    weir_assert(request->done && !request->next);
    ask(triggers, request->trigger, request->source, request);
}

void weir_triggers_fire(struct weir_triggers *triggers, enum weir_trigger trigger, enum weir_trigger_source source)
{
    ask(triggers, trigger, source, NULL);
}

int weir_triggers_refuse_busy(struct weir_triggers *triggers, enum weir_trigger trigger, struct weir_error *err)
{
    weir_assert(trigger < WEIR_TRIGGER_COUNT);
    int result = refuse_busy(triggers, &triggers->actions[trigger], err);
    triggers->refused += result < 0;
    return result;
}

void weir_triggers_signal(struct weir_triggers *triggers)
{
    if (triggers->on_signal != WEIR_TRIGGER_NONE)
        ask(triggers, triggers->on_signal, WEIR_TRIGGER_BY_SIGNAL, NULL);
}

void weir_triggers_complete(struct weir_triggers *triggers, enum weir_trigger trigger, int result,
                            const struct weir_error *err)
{
    weir_assert(triggers->running == trigger);
    struct weir_trigger_request *list = triggers->running_for;
    triggers->running = WEIR_TRIGGER_NONE;
    triggers->running_for = NULL;
    count_outcome(triggers, trigger, result);
    if (result < 0 && !list)
        warn_once(triggers, trigger, NULL, err);
    tell(list, result, err);
    dispatch(triggers);
}

void weir_triggers_end(struct weir_triggers *triggers)
{
    struct weir_error err;
    triggers->ended = true;
    weir_error_set(&err, -ECANCELED, "the recording is ending");
    while (triggers->wanted_count > 0) {
        enum weir_trigger trigger = triggers->wanted[--triggers->wanted_count];
        struct weir_trigger_request *list = triggers->wanted_by[trigger];
        triggers->wanted_by[trigger] = NULL;
        triggers->refused++;
        tell(list, -ECANCELED, &err);
    }
}
