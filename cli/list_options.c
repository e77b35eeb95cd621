/* The options of `weir list`: the words are those of perf-list(1). Constant data. */
#include "cli/list_options.h"

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/surroundings.h"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_list_arguments, name, type)
#define OUTPUT            "Output"

static const struct weir_option options[] = {
    {
        WEIR_OPTION_FLAG_OF(0, "details", FIELD(details, bool)),
        .section = OUTPUT,
        .help = "show the terms behind each alias of a PMU, and what libpfm4 says of its events",
    },
    {
        WEIR_OPTION_FLAG_OF('j', "json", FIELD(json, bool)),
        .section = OUTPUT,
        .help = "print a JSON array, one object for each event",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "raw-dump", FIELD(raw_dump, bool)),
        .section = OUTPUT,
        .help = "print names only, one on each line, for completion of -e in a shell",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...] [SECTION|PATTERN]...", "[OPTION...] presets [PRESET...]", NULL};

static const char *const description[] = {
    "Lists the events of this machine that -e takes: generic hardware, software and cache events that "
    "the kernel can open, events of PMUs in sysfs, the forms of raw events and breakpoints, those that "
    "libpfm4 knows of the CPU, tracepoints and dynamic probes.",
    "SECTION is one of hw, sw, cache, pmu, raw, breakpoint, pfm and tracepoint. A pattern shows the events "
    "that it matches: with a colon, as in 'sched:*', whole names of tracepoints; without, any part of "
    "a name. Several words show the events of any of them. Quote patterns, or the shell expands them.",
    "'weir list presets' shows the presets of weir record with their options and events, as they are typed; names "
    "behind it choose among them.",
    "Tracepoints need a readable tracefs; without it weir lists the rest and prints a hint. Of "
    "libpfm4's events the first name is for -e, the second one for --pfm-events. Events of a CPU that libpfm4 "
    "does not know are written as cpu/event=0xNN,umask=0xNN/.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir list hw cache", "The generic events of the CPU."},
    {"weir list 'sched:*'", "The tracepoints of the scheduler."},
    {"weir list --json pmu", "The events of PMUs, with units and scales, for a program."},
    {"weir list presets sched", "What weir record --preset sched records."},
    {NULL, NULL},
};

const struct weir_command weir_list_command = {
    .name = "list",
    .summary = "list the events of this machine",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings,
    .examples = examples,
    .files = weir_files_of_events,
    .options = {.command = "weir list", WEIR_OPTION_ONE_PART(options)},
};

int weir_list_arguments_parse(struct weir_list_arguments *arguments, char *const *argv, struct weir_error *err)
{
    size_t used;
    int result = weir_options_parse(&weir_list_command.options, arguments, argv, &used, err);
    if (result == WEIR_OPTIONS_PARSED)
        arguments->words = argv + used;
    return result;
}
