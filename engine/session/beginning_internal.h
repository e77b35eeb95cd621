/* Between the files of the beginning. */
#ifndef WEIR_ENGINE_SESSION_BEGINNING_INTERNAL_H
#define WEIR_ENGINE_SESSION_BEGINNING_INTERNAL_H

#include "engine/session/beginning.h"

/* Appends TIME_CONV, ID_INDEX, EVENT_UPDATE, THREAD_MAP and CPU_MAP records. 0 or -ENOMEM. Coordinator, or the sideband
 * thread for a later file. */
int weir_beginning_append_index(const struct weir_beginning *beginning, struct weir_buf *out);

#endif
