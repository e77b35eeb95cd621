#include "cli/record_needs.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"

static bool measures_off_cpu(const struct weir_record_arguments *arguments)
{
    return arguments->options.off_cpu.wanted;
}

static bool has_trigger(const struct weir_record_arguments *arguments)
{
    return arguments->snapshot_on.count > 0;
}

static bool makes_files(const struct weir_record_arguments *arguments)
{
    return arguments->options.rotation.enabled;
}

static bool has_chains(const struct weir_record_arguments *arguments)
{
    const struct weir_event_list *events = arguments->options.events;
    bool has = arguments->options.samples.call_graph.mode != WEIR_CALL_GRAPH_NONE || measures_off_cpu(arguments);
    for (size_t i = 0; i < events->count && !has; i++)
        has = events->events[i].terms.given & WEIR_TERM_CALL_GRAPH;
    return has;
}

static bool reads_counts(const struct weir_record_arguments *arguments)
{
    const struct weir_event_list *events = arguments->options.events;
    bool has = arguments->options.targets.inherit_stat;
    for (size_t i = 0; i < events->count && !has; i++)
        has = events->events[i].sample_read;
    return has;
}

static bool has_programs(const struct weir_record_arguments *arguments)
{
    return arguments->options.events->bpf_count > 0;
}

static const struct need {
    const char *option; /* its long name */
    bool (*is_met)(const struct weir_record_arguments *arguments);
    const char *what; /* that would meet it */
    const char *why;  /* the option has no effect */
    const char *hint; /* NULL: a warning instead of a refusal */
} needs[] = {
    {"off-cpu-thresh", measures_off_cpu, "--off-cpu", "no time off the CPUs is measured", "add --off-cpu"},
    {"snapshot-hold-off", has_trigger, "--snapshot-on EVENT", "no event takes a snapshot",
     "--snapshot-on sched:sched_process_exit takes one when a task ends"},
    {"switch-max-files", makes_files, "--switch-output", "there is one file only", NULL},
    {"kernel-callchains", has_chains, "-g", "samples have no call chains", NULL},
    {"user-callchains", has_chains, "-g", "samples have no call chains", NULL},
    {"running-time", reads_counts, "-s or events with :S", "no counts are recorded", NULL},
    {"clang-path", has_programs, "-e FILE.c", "there is no BPF program to compile", NULL},
    {"clang-opt", has_programs, "-e FILE.c", "there is no BPF program to compile", NULL},
    {"vmlinux", has_programs, "-e FILE.c", "there is no BPF program to load", NULL},
};

static const struct need *find_need(const struct weir_setting *setting)
{
    if (setting->path || setting->preset || setting->negated || !setting->option->long_name)
        return NULL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(needs); i++) {
        if (strcmp(needs[i].option, setting->option->long_name) == 0)
            return &needs[i];
    }
    return NULL;
}

int weir_record_needs_check(const struct weir_record_arguments *arguments, const struct weir_settings *settings,
                            const struct weir_notice_sink *notices, struct weir_error *err)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct weir_setting *setting = &settings->items[i];
        const struct need *need = find_need(setting);
        if (!need || weir_settings_last(settings, setting->option) != setting || need->is_met(arguments))
            continue;
        if (need->hint) {
            weir_error_set(err, -EINVAL, "option '--%s' needs %s: %s", need->option, need->what, need->why);
            weir_error_hint(err, "%s", need->hint);
            return -EINVAL;
        }
        weir_notice(notices, WEIR_NOTICE_WARNING, "option '--%s' has no effect without %s: %s", need->option,
                    need->what, need->why);
    }
    return 0;
}
