/* A control host of fakes: triggers that are done at once or when told, and events that only count. For tests. */
#ifndef WEIR_TESTS_ENGINE_CONTROL_RIG_H
#define WEIR_TESTS_ENGINE_CONTROL_RIG_H

#include "engine/control/control.h"

struct control_rig {
    struct weir_poll_set sources;
    struct weir_triggers triggers;
    struct weir_notice_sink sink;
    struct weir_control_host host;
    struct weir_control_budget budget;
    unsigned stops, snapshots;
    bool slow;          /* snapshots go on until weir_triggers_complete() */
    char switched[128]; /* the last event, with + or - before it */
    unsigned warnings, infos;
    char warning[1024]; /* the last one */
};

void control_rig_init(struct control_rig *rig);
void control_rig_fini(struct control_rig *rig);

/* Lets the loop go round until nothing is ready any more. */
void control_rig_turn(struct control_rig *rig);

/* What can be read from fd without waiting: zero bytes as '$'. Borrowed until the next call. */
const char *control_rig_read(int fd);

#endif
