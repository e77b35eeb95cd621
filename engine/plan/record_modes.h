/* The modes that the options of a recording select. Pure; any thread. */
#ifndef WEIR_ENGINE_PLAN_RECORD_MODES_H
#define WEIR_ENGINE_PLAN_RECORD_MODES_H

#include "engine/modes/modes.h"
#include "engine/plan/record_options.h"

/* Returns the modes of the options alone. The events add others (weir_event_list_overwrites(),
 * weir_aux_events_find()). */
struct weir_modes weir_record_modes(const struct weir_record_options *options);

#endif
