/*
 * Events that ask for something when they occur (--switch-output-event, --snapshot-on): open beside those that are
 * recorded, on the same CPUs and tasks, each with a ring of one page that wakes the coordinator at every record. What
 * stands in the rings is of no interest.
 *
 * perf has a thread of its own for them that sends it SIGUSR2. Here their descriptors are in one epoll(7) descriptor
 * among the coordinator's sources, which has to take the request anyway.
 *
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_EVENT_TRIGGER_H
#define WEIR_ENGINE_SESSION_EVENT_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/events/event_set.h"
#include "engine/kernel/poll_set.h"
#include "engine/session/trigger.h"

/*
 * Appends the events of EVENT[:FILTER] to list. The filter is that of tracepoints (--filter): it begins behind the last
 * colon before its first operator, as in sched:sched_switch:prev_pid == 1. An event that occurs all the time (cycles,
 * cpu-clock) has to name its period; one that writes to an AUX area is refused. As weir_event_list_parse(), and -EINVAL
 * for these.
 */
int weir_event_trigger_parse(struct weir_event_list *list, const char *text, struct weir_error *err);

/* Whether each event from index `first` on may occur now and then: 0, or -EINVAL with err. parse() asks it. */
int weir_event_trigger_check(const struct weir_event_list *list, size_t first, struct weir_error *err);

/* Lets occurrences pass: all, one in a while, or the first one. */
struct weir_hold_off {
    uint64_t hold_ns; /* after one that has passed no other does for so long */
    bool once;
    uint64_t passed_ns; /* when the last one passed */
    uint64_t passed, held;
};

/* Whether an occurrence at now_ns is to have an effect. */
bool weir_hold_off_pass(struct weir_hold_off *hold_off, uint64_t now_ns);

struct weir_event_trigger_setup {
    struct weir_event_set_setup events; /* config apart; list without its sideband event */
    struct weir_event_config config;    /* of the recording */
    const struct weir_clock *clock;
    struct weir_poll_set *sources; /* borrowed, as the next */
    struct weir_triggers *triggers;
    enum weir_trigger trigger;
    uint64_t hold_off_ms;
    bool once;
};

struct weir_event_trigger {
    struct weir_event_trigger_setup setup;
    bool open;
    struct weir_event_set set;
    struct weir_ring *rings; /* owned; [place] */
    int epoll_fd;            /* owned */
    struct weir_hold_off hold_off;
};

/* Opens events and rings; they count at once or, for a fresh workload, from its exec on. What occurs before the
 * coordinator's loop is heard when that begins. The trigger must stay in place until close(). 0 or -errno with err;
 * then nothing is open. */
int weir_event_trigger_open(struct weir_event_trigger *trigger, const struct weir_event_trigger_setup *setup,
                            struct weir_error *err);

/* A CPU has come online that was among the late ones, or was gone: its occurrences count from here on. Not for a set of
 * tasks, whose events stay with them: 0 then, as for a trigger that is not open. 0 or -errno with err. */
int weir_event_trigger_add_cpu(struct weir_event_trigger *trigger, int cpu, struct weir_error *err);

/* NULL-safe, idempotent; zeroed is fine. */
void weir_event_trigger_close(struct weir_event_trigger *trigger);

#endif
