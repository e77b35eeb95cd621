/* Rows of `weir record`: what is recorded: targets. Main thread. */
#include "cli/record_rows_internal.h"

#include "cli/target_options.h"

#define SECTION "What is recorded"

static const struct weir_option options[] = {
    {
        .short_name = 'a',
        .long_name = "all-cpus",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.system_wide, bool),
        .section = SECTION,
        .help = "record all tasks on all CPUs",
        .details = "This is what happens when neither a target nor a command is given. With a command, recording "
                   "lasts as long as the command runs.",
    },
    {
        .short_name = 'C',
        .long_name = "cpu",
        .argument = "LIST",
        .kind = WEIR_OPTION_CPU_LIST,
        .field = FIELD(cpus, struct weir_cpuset),
        .default_text = "all online CPUs",
        .section = SECTION,
        .help = "record all tasks on these CPUs only, such as 0-3,8",
    },
    {
        .short_name = 'p',
        .long_name = "pid",
        .argument = "PID[,PID...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_pids,
        .section = SECTION,
        .help = "record these running processes, all threads of each",
        .details =
            "Goes before -a, -C, -t and -u. With a command, recording lasts as long as the command runs; without, "
            "until the processes are gone or a signal comes.",
    },
    {
        .short_name = 't',
        .long_name = "tid",
        .argument = "TID[,TID...]",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_tids,
        .section = SECTION,
        .help = "record these running threads, and nothing that they start unless --inherit is given",
        .details = "Goes before -a, -C and -u.",
    },
    {
        .short_name = 'u',
        .long_name = "uid",
        .argument = "USER",
        .kind = WEIR_OPTION_TEXT,
        .field = FIELD(user, const char *),
        .section = SECTION,
        .help = "record all tasks that run as this user, who is given by name or number",
        .details = "Goes before -a and -C. Those are recorded that run when recording begins, and what they start.",
    },
    {
        .short_name = 'G',
        .long_name = "cgroup",
        .argument = "NAME[,NAME...]",
        .repeatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_cgroups,
        .section = SECTION,
        .help = "let the events of the -e before it count only what runs in these cgroups, on whole CPUs",
        .details =
            "One cgroup is for all events so far; of several, each is for one event, in their order, and an empty "
            "name leaves an event without. Names are paths in the hierarchy of version 1 with the perf_event "
            "controller or, where there is none, in that of version 2.",
    },
    {
        .long_name = "per-thread",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.per_thread, bool),
        .section = SECTION,
        .help = "give each recorded thread a ring of its own instead of one to each CPU; implies -i",
        .details = "For a few threads on a machine of many CPUs. -a and -C go before it.",
    },
    {
        .short_name = 'i',
        .long_name = "no-inherit",
        .negatable = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_target_options_apply_no_inherit,
        .clear = weir_target_options_clear_no_inherit,
        .section = SECTION,
        .help = "leave out threads and processes that the recorded ones start",
    },
    {
        .short_name = 's',
        .long_name = "stat",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(options.inherit_stat, bool),
        .section = SECTION,
        .help = "record the counts of each thread that ends, for perf report -T",
        .details =
            "For tasks on several CPUs the kernel (Linux 6.18) writes these counts into the rings of all of them, "
            "unsynchronised with what is sampled there, which can damage a ring of samples: the more threads end, "
            "the sooner. What is lost so is told where all is sampled (-c 1).",
    },
};

const struct weir_option_rows weir_record_target_rows = WEIR_OPTION_ROWS(options);
