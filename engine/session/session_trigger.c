/* What asks for switches and snapshots by itself: events, the end of the command, and ftrace beside. Coordinator. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/bits.h"
#include "engine/session/session.h"

static int open_events(struct weir_session *session, struct weir_event_trigger *trigger, struct weir_event_list *list,
                       enum weir_trigger kind, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    bool snapshot = kind == WEIR_TRIGGER_DUMP;
    if (!list || list->count == 0)
        return 0;
    return weir_event_trigger_open(trigger,
                                   &(struct weir_event_trigger_setup){
                                       .events =
                                           {
                                               .kernel = session->kernel,
                                               .list = list,
                                               .cpus = &session->plan.cpus,
                                               .late_cpus = &session->machine.late_cpus,
                                               .targets = &session->targets,
                                               .per_thread = weir_recording_plan_per_thread(&session->plan),
                                               .limits = &session->machine.limits,
                                               .notices = options->notices,
                                           },
                                       .config = session->plan.config,
                                       .clock = session->clock,
                                       .sources = &session->coordinator.sources,
                                       .triggers = &session->coordinator.triggers,
                                       .trigger = kind,
                                       .hold_off_ms = snapshot ? options->snapshot_on.hold_off_ms : 0,
                                       .once = snapshot && options->snapshot_on.once,
                                   },
                                   err);
}

int weir_session_open_triggers(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    int result = open_events(session, &session->switch_trigger, options->switch_on, WEIR_TRIGGER_SWITCH, err);
    if (result == 0)
        result = open_events(session, &session->snapshot_trigger, options->snapshot_on.events, WEIR_TRIGGER_DUMP, err);
    const struct weir_event_trigger *const asking[] = {&session->switch_trigger, &session->snapshot_trigger};
    _Static_assert(WEIR_ARRAY_COUNT(asking) == WEIR_EVENT_SETS_ASKING, "each has its place");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(asking); i++)
        session->events.asking[i] = asking[i]->open ? &asking[i]->set : NULL;
    if (result == 0 && options->ftrace_snapshot)
        result = weir_ftrace_snapshot_open(&session->ftrace, NULL, err);
    return result;
}

int weir_session_add_cpu_to_triggers(struct weir_session *session, int cpu, struct weir_error *err)
{
    int switches = weir_event_trigger_add_cpu(&session->switch_trigger, cpu, err);
    int snapshots = weir_event_trigger_add_cpu(&session->snapshot_trigger, cpu, switches < 0 ? NULL : err);
    return switches < 0 ? switches : snapshots;
}

/* ---- ftrace ---- */

static void take_ftrace_snapshot(void *ctx, enum weir_trigger trigger)
{
    struct weir_session *session = ctx;
    if (trigger == WEIR_TRIGGER_DUMP || trigger == WEIR_TRIGGER_SNAPSHOT || trigger == WEIR_TRIGGER_SNAPSHOT_ALLOC)
        weir_ftrace_snapshot_take(&session->ftrace, session->options->notices);
}

/* Where weir keeps nothing in memory itself. */
static int take_no_other(void *ctx, struct weir_error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

void weir_session_follow_with_ftrace(struct weir_session *session)
{
    struct weir_triggers *triggers = &session->coordinator.triggers;
    if (!session->ftrace.open)
        return;
    static const enum weir_trigger kinds[] = {WEIR_TRIGGER_DUMP, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_SNAPSHOT_ALLOC};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        if (!triggers->actions[kinds[i]].run)
            weir_triggers_register(triggers, kinds[i], &(struct weir_trigger_action){.run = take_no_other});
    }
    if (triggers->on_signal == WEIR_TRIGGER_NONE)
        weir_triggers_set_signal(triggers, WEIR_TRIGGER_DUMP);
    triggers->begun = take_ftrace_snapshot;
    triggers->begun_ctx = session;
}

/* Not where --overwrite alone has the end of the recording in the file: ftrace has room for one snapshot, and the last
 * one that somebody asked for stays. */
void weir_session_end_with_ftrace(struct weir_session *session)
{
    if (session->ftrace.open && weir_session_end_asks_for_snapshot(session))
        weir_ftrace_snapshot_take(&session->ftrace, session->options->notices);
}

void weir_session_close_triggers(struct weir_session *session)
{
    weir_event_trigger_close(&session->switch_trigger);
    weir_event_trigger_close(&session->snapshot_trigger);
    weir_ftrace_snapshot_close(&session->ftrace);
}

/* ---- the end of the command ---- */

/* Killed by one of the signals that a program's own mistakes make. */
bool weir_session_command_crashed(const struct weir_session *session)
{
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    const struct weir_workload *workload = &session->workload;
    for (size_t i = 0; workload->reaped && i < WEIR_ARRAY_COUNT(signals); i++) {
        if (WIFSIGNALED(workload->status) && WTERMSIG(workload->status) == signals[i])
            return true;
    }
    return false;
}
