/*
 * Events of a running recording on and off: at the word of a client of --control, and by the schedule of -D.
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_EVENT_TOGGLE_H
#define WEIR_ENGINE_SESSION_EVENT_TOGGLE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/aux/aux_keeper.h"
#include "engine/events/event_set.h"
#include "engine/session/snapshot.h"
#include "engine/session/trigger.h"

struct weir_event_toggle {
    struct weir_event_set *events;          /* borrowed, as all pointers here */
    struct weir_aux_keeper *aux;            /* keeps the AUX event as it is to be */
    const struct weir_snapshots *snapshots; /* while memory holds a permanent one, nothing is enabled */
    const struct weir_notice_sink *notices;
    bool on; /* samples count, or were last told to */
};

/* Notes that events were enabled, or left disabled, as the recording began; says nothing. */
void weir_event_toggle_begin(struct weir_event_toggle *toggle, bool on);

/* The recording ends: events are off, and the end of a snapshot enables none. */
void weir_event_toggle_end(struct weir_event_toggle *toggle);

/* Enables or disables all samples, and says so in perf's words, for scripts that wait for these. A permanent snapshot
 * keeps them off. ctx: the toggle. */
void weir_event_toggle_all(void *ctx, bool on);

/* The same for the events of that name. 0; -ENOENT: there is none; -EINVAL: its group's leader has to be named;
 * -EALREADY: memory holds a permanent snapshot. err says so. */
int weir_event_toggle_named(struct weir_event_toggle *toggle, const char *name, bool on, struct weir_error *err);

/* Takes the triggers "enable" and "disable". */
void weir_event_toggle_register(struct weir_event_toggle *toggle, struct weir_triggers *triggers);

#endif
