/* Lists the events of a recording in the format of `perf evlist`, for the control command "evlist". Pure. */
#ifndef WEIR_ENGINE_CONTROL_EVLIST_TEXT_H
#define WEIR_ENGINE_CONTROL_EVLIST_TEXT_H

#include "base/buf.h"
#include "engine/control/control_line.h"
#include "engine/events/event_list.h"

/* Appends one line to out for each event, or for each group with WEIR_CONTROL_GROUPS. Any thread; allocates. */
void weir_evlist_append_text(const struct weir_event_list *list, enum weir_control_detail detail, struct weir_buf *out);

#endif
