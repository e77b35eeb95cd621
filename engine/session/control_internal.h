/* What control.c and control_socket.c share. engine/ only. */
#ifndef WEIR_ENGINE_SESSION_CONTROL_INTERNAL_H
#define WEIR_ENGINE_SESSION_CONTROL_INTERNAL_H

#include "engine/session/control.h"

/* Closes the socket and its clients. Idempotent. */
void weir_control_close_socket(struct weir_control *control);

#endif
