/* A list of events on the machine of FAKE_TRACE, and all that weir_aux_events_prepare() is told of its recording. */
#ifndef WEIR_TESTS_ENGINE_AUX_RIG_H
#define WEIR_TESTS_ENGINE_AUX_RIG_H

#include "engine/aux/aux_events.h"
#include "engine/aux/aux_info.h"
#include "engine/events/event_parse.h"
#include "tests/engine/fake_sysfs.h"

struct aux_rig {
    struct temp_tree tree;
    struct weir_event_list list;
    struct weir_kernel_limits limits; /* of root, with pages of 4 KiB */
    struct weir_cpuset cpus;          /* 0 and 1 */
    struct weir_aux_options options;  /* none */
    struct weir_aux_setting setting;  /* -a */
    struct weir_aux_plan plan;
    struct weir_notice_sink sink;
    char notices[1024]; /* one per line */
    struct weir_error err;
};

/* Parses the events, each of which is to be understood. */
void aux_rig_init(struct aux_rig *rig, const char *events);
void aux_rig_fini(struct aux_rig *rig);

/* Prepares; the test fails when that is refused. Then configures the list for a frequency of 4000 Hz. */
void aux_rig_prepare(struct aux_rig *rig);

/* Expects that it is refused with that text and hint. */
void aux_rig_refuse(struct aux_rig *rig, const char *what, const char *hint);

#endif
