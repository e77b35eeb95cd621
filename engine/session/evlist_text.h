/* The events of a recording as text, in the words of `perf evlist`: what the control command "evlist" answers. Pure. */
#ifndef WEIR_ENGINE_SESSION_EVLIST_TEXT_H
#define WEIR_ENGINE_SESSION_EVLIST_TEXT_H

#include "base/buf.h"
#include "engine/events/event_list.h"
#include "engine/session/control_line.h"

/* Appends a line for each event, or with WEIR_CONTROL_GROUPS for each group, to out. Any thread; allocates. */
void weir_evlist_append_text(const struct weir_event_list *list, enum weir_control_detail detail, struct weir_buf *out);

#endif
