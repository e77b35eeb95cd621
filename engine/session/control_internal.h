/* Between the files of the control host. Coordinator thread. */
#ifndef WEIR_ENGINE_SESSION_CONTROL_INTERNAL_H
#define WEIR_ENGINE_SESSION_CONTROL_INTERNAL_H

#include "engine/session/control.h"

/* Closes the socket and its clients: who waits for an answer there, and who asks from now on, sees the end of the
 * connection or is refused one. No request of theirs is under way. Idempotent. */
void weir_control_close_socket(struct weir_control *control);

#endif
