/* Shared by the files that implement weir_control. Coordinator thread. */
#ifndef WEIR_ENGINE_CONTROL_CONTROL_INTERNAL_H
#define WEIR_ENGINE_CONTROL_CONTROL_INTERNAL_H

#include "engine/control/control.h"

/* Closes both doors and their clients. Connected clients see the end of file, and the kernel refuses later connections.
 * Call this when no request of a client is under way. Idempotent. */
void weir_control_close_doors(struct weir_control *control);

#endif
