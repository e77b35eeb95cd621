#include "engine/control/trigger_sources.h"

#include "base/bits.h"

static int open_events(struct weir_event_trigger *trigger, const struct weir_trigger_sources_setup *setup,
                       struct weir_event_list *list, enum weir_trigger kind, struct weir_error *err)
{
    const struct weir_record_options *options = setup->plan->options;
    bool snapshot = kind == WEIR_TRIGGER_DUMP;
    const struct weir_cpuset *late_cpus = options->targets.cpus ? NULL : &setup->plan->machine->late_cpus;
    if (!list || list->count == 0)
        return 0;
    return weir_event_trigger_open(trigger,
                                   &(struct weir_event_trigger_setup){
                                       .events =
                                           {
                                               .kernel = setup->kernel,
                                               .list = list,
                                               .cpus = &setup->plan->cpus,
                                               .late_cpus = late_cpus,
                                               .targets = setup->targets,
                                               .per_thread = weir_recording_plan_per_thread(setup->plan),
                                               .limits = &setup->plan->machine->limits,
                                               .notices = options->notices,
                                           },
                                       .config = setup->plan->config,
                                       .clock = setup->clock,
                                       .sources = setup->sources,
                                       .triggers = setup->triggers,
                                       .trigger = kind,
                                       .hold_off_ms = snapshot ? options->snapshot.on.hold_off_ms : 0,
                                   },
                                   err);
}

int weir_trigger_sources_open(struct weir_trigger_sources *sources, const struct weir_trigger_sources_setup *setup,
                              struct weir_event_set *recorded, struct weir_error *err)
{
    const struct weir_record_options *options = setup->plan->options;
    sources->options = options;
    int result = open_events(&sources->rotation, setup, options->rotation.events, WEIR_TRIGGER_ROTATE, err);
    if (result == 0)
        result = open_events(&sources->snapshot, setup, options->snapshot.on.events, WEIR_TRIGGER_DUMP, err);
    const struct weir_event_trigger *const asking[] = {&sources->rotation, &sources->snapshot};
    _Static_assert(WEIR_ARRAY_COUNT(asking) == WEIR_EVENT_SETS_ASKING, "each has its place");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(asking); i++)
        recorded->asking[i] = asking[i]->open ? &asking[i]->set : NULL;
    if (result == 0 && options->snapshot.ftrace)
        result = weir_ftrace_snapshot_open(&sources->ftrace, NULL, err);
    return result;
}

int weir_trigger_sources_add_cpu(struct weir_trigger_sources *sources, int cpu, struct weir_error *err)
{
    int rotations = weir_event_trigger_add_cpu(&sources->rotation, cpu, err);
    int snapshots = weir_event_trigger_add_cpu(&sources->snapshot, cpu, rotations < 0 ? NULL : err);
    return rotations < 0 ? rotations : snapshots;
}

/* ---- ftrace ---- */

static void take_ftrace_snapshot(void *ctx, enum weir_trigger trigger)
{
    struct weir_trigger_sources *sources = ctx;
    if (trigger == WEIR_TRIGGER_DUMP || trigger == WEIR_TRIGGER_SNAPSHOT || trigger == WEIR_TRIGGER_SNAPSHOT_ALLOC)
        weir_ftrace_snapshot_take(&sources->ftrace, sources->options->notices);
}

/* The action when weir itself keeps nothing in memory. */
static int take_no_other(void *ctx, struct weir_error *err)
{
    (void)ctx;
    (void)err;
    return 0;
}

void weir_trigger_sources_follow_with_ftrace(struct weir_trigger_sources *sources, struct weir_triggers *triggers)
{
    static const enum weir_trigger kinds[] = {WEIR_TRIGGER_DUMP, WEIR_TRIGGER_SNAPSHOT, WEIR_TRIGGER_SNAPSHOT_ALLOC};
    if (!sources->ftrace.open)
        return;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(kinds); i++) {
        if (!triggers->actions[kinds[i]].run)
            weir_triggers_register(triggers, kinds[i], &(struct weir_trigger_action){.run = take_no_other});
    }
    if (triggers->on_signal == WEIR_TRIGGER_NONE)
        weir_triggers_set_signal(triggers, WEIR_TRIGGER_DUMP);
    triggers->begun = take_ftrace_snapshot;
    triggers->begun_ctx = sources;
}

void weir_trigger_sources_end_with_ftrace(struct weir_trigger_sources *sources, bool asks_at_end)
{
    if (sources->ftrace.open && asks_at_end)
        weir_ftrace_snapshot_take(&sources->ftrace, sources->options->notices);
}

/* ---- the end ---- */

bool weir_trigger_sources_ask_at_end(const struct weir_recording_plan *plan, const struct weir_workload *workload)
{
    const struct weir_record_options *options = plan->options;
    return options->snapshot.at_exit || plan->aux.snapshot_on_exit ||
           (options->snapshot.on.crash && weir_workload_has_crashed(workload));
}

void weir_trigger_sources_close(struct weir_trigger_sources *sources)
{
    weir_event_trigger_close(&sources->rotation);
    weir_event_trigger_close(&sources->snapshot);
    weir_ftrace_snapshot_close(&sources->ftrace);
}
