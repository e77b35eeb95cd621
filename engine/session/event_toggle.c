/* Enables and disables events; see event_toggle.h. Coordinator thread. */
#include "engine/session/event_toggle.h"

#include <errno.h>
#include <string.h>

void weir_event_toggle_begin(struct weir_event_toggle *toggle, bool on)
{
    toggle->on = on;
    weir_aux_keeper_set_on(toggle->aux, on);
}

void weir_event_toggle_end(struct weir_event_toggle *toggle)
{
    weir_event_toggle_begin(toggle, false);
}

void weir_event_toggle_all(void *ctx, bool on)
{
    struct weir_event_toggle *toggle = ctx;
    if (on && toggle->snapshots->permanent)
        return; /* -D asks, and nobody waits for a refusal */
    if (on)
        weir_event_set_enable(toggle->events, false);
    else
        weir_event_set_disable_samples(toggle->events);
    toggle->on = on;
    weir_aux_keeper_set_on(toggle->aux, on);
    weir_notice(toggle->notices, WEIR_NOTICE_INFO, on ? "Events enabled" : "Events disabled");
}

/* Refuses to enable events while memory holds a permanent snapshot, which new samples would evict. */
static int refuse_permanent(const struct weir_event_toggle *toggle, struct weir_error *err)
{
    if (!toggle->snapshots->permanent)
        return 0;
    return weir_error_set(err, -EALREADY, "memory holds a permanent snapshot: it stays as it is until the end");
}

static int refuse_member(const struct weir_event_list *list, const struct weir_event *event, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "event '%s' counts with its group", event->name);
    weir_error_hint(err, "name the group's leader, '%s'", list->events[event->leader].name);
    return -EINVAL;
}

int weir_event_toggle_named(struct weir_event_toggle *toggle, const char *name, bool on, struct weir_error *err)
{
    const struct weir_event_list *list = toggle->events->list;
    const struct weir_aux_plan *aux = toggle->aux->setup.plan;
    unsigned found = 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (event->sideband || event->deferred || strcmp(event->name, name) != 0)
            continue;
        int result = event->leader != i ? refuse_member(list, event, err) : on ? refuse_permanent(toggle, err) : 0;
        if (result < 0)
            return result;
        weir_event_set_toggle(toggle->events, i, on);
        if (aux->mode != WEIR_AUX_NONE && i == aux->event)
            weir_aux_keeper_set_on(toggle->aux, on);
        found++;
    }
    if (found == 0) {
        weir_error_set(err, -ENOENT, "there is no event '%s'", name);
        weir_error_hint(err, "evlist tells which there are");
        return -ENOENT;
    }
    toggle->on |= on;
    weir_notice(toggle->notices, WEIR_NOTICE_INFO, "Event %s %s", name, on ? "enabled" : "disabled");
    return 0;
}

/* ---- as triggers ---- */

static int enable(void *ctx, struct weir_error *err)
{
    int result = refuse_permanent(ctx, err);
    if (result == 0)
        weir_event_toggle_all(ctx, true);
    return result;
}

static int disable(void *ctx, struct weir_error *err)
{
    (void)err;
    weir_event_toggle_all(ctx, false);
    return 0;
}

void weir_event_toggle_register(struct weir_event_toggle *toggle, struct weir_triggers *triggers)
{
    weir_triggers_register(triggers, WEIR_TRIGGER_ENABLE,
                           &(struct weir_trigger_action){.run = enable, .ctx = toggle, .immediate = true});
    weir_triggers_register(triggers, WEIR_TRIGGER_DISABLE,
                           &(struct weir_trigger_action){.run = disable, .ctx = toggle, .immediate = true});
}
