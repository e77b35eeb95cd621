/*
 * An event set about to be opened on a simulated kernel with refusals: two CPUs, up to three target tasks. One thread.
 */
#ifndef WEIR_TESTS_ENGINE_EVENT_SET_RIG_H
#define WEIR_TESTS_ENGINE_EVENT_SET_RIG_H

#include "engine/events/event_set.h"
#include "tests/engine/faulty_kernel.h"

#define CPUS    2
#define FIRST   701 /* target tasks */
#define SECOND  702
#define THIRD   703
#define NOTICES 8

struct event_set_rig {
    struct faulty_kernel faulty;
    struct weir_event_list list;
    struct weir_cpuset cpus;      /* 1 and 5 */
    struct weir_cpuset late_cpus; /* none */
    struct weir_cpuset side_cpus; /* none */
    bool late_are_side_only;
    pid_t tids[3];
    struct weir_targets targets; /* points to tids */
    bool per_thread, exclude_follows;
    struct weir_event_config config;
    struct weir_kernel_limits limits;
    struct weir_event_set set;
    struct weir_error err;
    struct weir_notice_sink sink;
    char notices[NOTICES][256];
    enum weir_notice_level levels[NOTICES];
    unsigned notice_count;
};

/* events: NULL for the default event. tasks: 0 for all tasks of the CPUs. */
void event_set_rig_init(struct event_set_rig *rig, const char *events, unsigned tasks);

/* Closes the set and expects that nothing was left behind. */
void event_set_rig_fini(struct event_set_rig *rig);

int event_set_rig_open(struct event_set_rig *rig);
void event_set_rig_expect_open(struct event_set_rig *rig);

/* A failed open leaves no descriptor, and a set that may be closed. */
void event_set_rig_expect_refused(struct event_set_rig *rig, int code);

#endif
