/*
 * Fires a trigger when an event occurs (--switch-output-event, --snapshot-on). weir opens these trigger events beside
 * the recorded events, on the same CPUs and tasks. Each one has a ring of one page, which wakes the coordinator at
 * every record. Nobody reads the content of these rings.
 *
 * perf has a thread for trigger events, which sends SIGUSR2 to the main thread. weir collects their descriptors in one
 * epoll(7) descriptor among the coordinator's sources. The coordinator has to take the request anyway.
 *
 * Coordinator thread.
 */
#ifndef WEIR_ENGINE_CONTROL_EVENT_TRIGGER_H
#define WEIR_ENGINE_CONTROL_EVENT_TRIGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/control/trigger.h"
#include "engine/events/event_set.h"
#include "engine/kernel/poll_set.h"

/*
 * Appends the events of EVENT[:FILTER] to list. FILTER is a tracepoint filter as for --filter. It begins behind the
 * last colon before its first operator, as in sched:sched_switch:prev_pid == 1. An event that occurs all the time
 * (cycles, cpu-clock) must have a period. 0, or with err: the errors of weir_event_list_parse(); -EINVAL for an event
 * without the period that it needs, for an event that writes to an AUX area, and for a BPF program.
 */
int weir_event_trigger_parse(struct weir_event_list *list, const char *text, struct weir_error *err);

/* Checks the events from index `first` on by the rules of parse(), which calls this. 0, or -EINVAL with err. */
int weir_event_trigger_check(const struct weir_event_list *list, size_t first, struct weir_error *err);

/* Limits how often occurrences take effect: all do, or only one in hold_ns does. */
struct weir_hold_off {
    uint64_t hold_ns;      /* least time between two occurrences that take effect; 0: no limit */
    uint64_t passed_ns;    /* time of the last occurrence that took effect */
    uint64_t passed, held; /* numbers of occurrences with and without effect */
};

/* Counts an occurrence at now_ns and returns whether it takes effect. */
bool weir_hold_off_pass(struct weir_hold_off *hold_off, uint64_t now_ns);

struct weir_event_trigger_setup {
    struct weir_event_set_setup events; /* its config is unused; its list has no sideband event */
    struct weir_event_config config;    /* of the recording */
    const struct weir_clock *clock;     /* borrowed */
    struct weir_poll_set *sources;      /* borrowed */
    struct weir_triggers *triggers;     /* borrowed */
    enum weir_trigger trigger;          /* fired by occurrences */
    uint64_t hold_off_ms;
};

struct weir_event_trigger {
    struct weir_event_trigger_setup setup;
    bool open;
    struct weir_event_set set;
    struct weir_ring *rings; /* owned; [place] */
    int epoll_fd;            /* owned */
    struct weir_hold_off hold_off;
};

/*
 * Opens events and rings. The events count at once or, for a new workload, from its exec on. An occurrence before the
 * coordinator's loop fires the trigger when the loop begins. The trigger must stay in place until close(). 0, or -errno
 * with err, and then nothing is open.
 */
int weir_event_trigger_open(struct weir_event_trigger *trigger, const struct weir_event_trigger_setup *setup,
                            struct weir_error *err);

/* Opens the events on a CPU that has come online late or has come back, so that its occurrences fire the trigger. Does
 * nothing for events of tasks, which follow their tasks, and for a closed trigger. 0 or -errno with err. */
int weir_event_trigger_add_cpu(struct weir_event_trigger *trigger, int cpu, struct weir_error *err);

/* NULL-safe, idempotent. Accepts a trigger of all zeros. */
void weir_event_trigger_close(struct weir_event_trigger *trigger);

#endif
