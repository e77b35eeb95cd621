#include "engine/plan/record_modes.h"

#include "base/bits.h"

static bool has_events(const struct weir_event_list *list)
{
    return list && list->count > 0;
}

struct weir_modes weir_record_modes(const struct weir_record_options *options)
{
    const struct weir_rotation_options *rotation = &options->rotation;
    const struct {
        bool on;
        enum weir_mode mode;
    } choices[] = {
        {options->output.kind == WEIR_RECORD_OUTPUT_STREAM, WEIR_MODE_STREAM},
        {options->output.kcore, WEIR_MODE_KCORE},
        {options->output.append, WEIR_MODE_APPEND},
        {options->output.compression_level > 0, WEIR_MODE_COMPRESSED},
        {options->output.sync, WEIR_MODE_SYNC},
        {options->output.max_bytes > 0, WEIR_MODE_MAX_SIZE},
        {rotation->each_snapshot, WEIR_MODE_SNAPSHOT_FILES},
        {has_events(options->rotation.events), WEIR_MODE_ROTATION_EVENT},
        {rotation->enabled, WEIR_MODE_ROTATION},
        {rotation->timestamp, WEIR_MODE_TIME_NAMES},
        {rotation->command != NULL, WEIR_MODE_ON_ROTATE},
        {rotation->max_files > 0 && !rotation->each_snapshot, WEIR_MODE_MAX_FILES},
        {options->output.on_full == WEIR_RECORD_ON_FULL_SUSPEND, WEIR_MODE_FULL_SUSPENDS},
        {options->output.on_full == WEIR_RECORD_ON_FULL_ROTATE, WEIR_MODE_FULL_ROTATES},
        {options->output.keep_free_bytes > 0, WEIR_MODE_KEEP_FREE},
        {options->memory.retained_bytes > 0 || options->memory.retained_span_ns > 0, WEIR_MODE_MEMORY},
        {options->memory.overwrite, WEIR_MODE_OVERWRITE},
        {has_events(options->snapshot.on.events) || options->snapshot.on.crash, WEIR_MODE_SNAPSHOT_ON},
        {options->snapshot.at_exit, WEIR_MODE_SNAPSHOT_ON_EXIT},
        {options->snapshot.ftrace, WEIR_MODE_FTRACE_SNAPSHOT},
        {options->aux.snapshot, WEIR_MODE_AUX_SNAPSHOT},
        {options->aux.sample, WEIR_MODE_AUX_SAMPLE},
        {options->targets.per_thread, WEIR_MODE_PER_THREAD},
        {options->readers.threads_spec != NULL, WEIR_MODE_THREADS},
        {options->memory.shed == WEIR_SHED_CPUS, WEIR_MODE_SHED_CPUS},
        {options->targets.system_wide, WEIR_MODE_SYSTEM_WIDE},
        {options->targets.inherit_stat, WEIR_MODE_THREAD_COUNTS},
        {!weir_schedule_starts_enabled(&options->schedule), WEIR_MODE_DELAY},
        {options->samples.identifiers, WEIR_MODE_IDENTIFIERS},
        {options->synth.at_end, WEIR_MODE_TAIL},
        {options->samples.aggregate.interval_ns > 0, WEIR_MODE_AGGREGATE},
        {options->samples.call_graph.unwinds, WEIR_MODE_UNWIND},
        {options->samples.call_graph.defers, WEIR_MODE_DEFER},
        {options->off_cpu.wanted, WEIR_MODE_OFF_CPU},
    };
    struct weir_modes modes = {0};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(choices); i++) {
        if (choices[i].on)
            weir_modes_add(&modes, choices[i].mode);
    }
    return modes;
}
