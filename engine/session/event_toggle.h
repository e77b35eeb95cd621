/*
 * Enables and disables events of a running recording: for clients of --control, and for the schedule of -D. Coordinator
 * thread.
 */
#ifndef WEIR_ENGINE_SESSION_EVENT_TOGGLE_H
#define WEIR_ENGINE_SESSION_EVENT_TOGGLE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/aux/aux_keeper.h"
#include "engine/control/trigger.h"
#include "engine/events/event_set.h"
#include "engine/session/snapshot.h"

struct weir_event_toggle { /* all pointers are borrowed */
    struct weir_event_set *events;
    struct weir_aux_keeper *aux;            /* told whether the AUX event is to be enabled */
    const struct weir_snapshots *snapshots; /* no event is enabled while memory holds a permanent snapshot */
    const struct weir_notice_sink *notices;
    bool on; /* set when any event is enabled, cleared when all are disabled */
};

/* Notes whether events were enabled at the start of the recording. Sends no notice. */
void weir_event_toggle_begin(struct weir_event_toggle *toggle, bool on);

/* Notes that events are disabled because the recording ends, so that the end of a snapshot does not enable them. */
void weir_event_toggle_end(struct weir_event_toggle *toggle);

/* Enables or disables all events except the side event, and sends perf's notice of it, for which scripts wait. While
 * memory holds a permanent snapshot, events stay disabled. ctx: the toggle. */
void weir_event_toggle_all(void *ctx, bool on);

/* Enables or disables the events of that name. 0, or with err: -ENOENT: no event has the name; -EINVAL: the event is a
 * group member, and only its leader can be named; -EALREADY: memory holds a permanent snapshot. */
int weir_event_toggle_named(struct weir_event_toggle *toggle, const char *name, bool on, struct weir_error *err);

/* Registers actions for the triggers "enable" and "disable". */
void weir_event_toggle_register(struct weir_event_toggle *toggle, struct weir_triggers *triggers);

#endif
