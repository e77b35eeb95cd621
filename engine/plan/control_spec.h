/* The argument of --control: the descriptors or fifos through which a recording takes commands. Any thread. */
#ifndef WEIR_ENGINE_PLAN_CONTROL_SPEC_H
#define WEIR_ENGINE_PLAN_CONTROL_SPEC_H

#include <stdbool.h>

#include "base/error.h"

/* "fd:CTL[,ACK]" or "fifo:CTL[,ACK]". */
struct weir_control_spec {
    bool given;
    int ctl_fd, ack_fd;        /* owned by the caller; -1: none */
    char *ctl_path, *ack_path; /* owned; NULL: none */
};

#define WEIR_CONTROL_SPEC_INIT    \
    {                             \
        false, -1, -1, NULL, NULL \
    }

/* Parses text into *spec and frees the former content of *spec. Touches no file. 0, -EINVAL with err, or -ENOMEM;
 * *spec is untouched on failure. */
int weir_control_spec_parse(struct weir_control_spec *spec, const char *text, struct weir_error *err);

/* NULL-safe, idempotent. */
void weir_control_spec_fini(struct weir_control_spec *spec);

#endif
