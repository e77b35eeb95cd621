/* Rows of `weir record`: the targets of the recording. Main thread. */
#include "cli/record_rows_internal.h"

#include "cli/target_options.h"

static const struct weir_option options[] = {
    {
        WEIR_OPTION_FLAG_OF('a', "all-cpus", FIELD(options.targets.system_wide, bool)),
        .help = "record all tasks on all CPUs",
        .details = "The default without a target and a command. With a command, recording lasts as long as the "
                   "command runs.",
    },
    {
        WEIR_OPTION_VALUE_OF('C', "cpu", "LIST", WEIR_OPTION_CPU_LIST, FIELD(cpus, struct weir_cpuset)),
        .default_text = "all online CPUs",
        .help = "record all tasks on these CPUs only, such as 0-3,8",
        .details = "Mappings and task names come from all CPUs, because tasks move between CPUs.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('p', "pid", "PID[,PID...]", weir_target_options_apply_pids),
        .help = "record these running processes, all threads of each",
        .details = "Overrides -a, -C, -t and -u. With a command, recording lasts as long as the command runs; without, "
                   "until the processes are gone or a signal comes.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('t', "tid", "TID[,TID...]", weir_target_options_apply_tids),
        .help = "record these running threads, and no tasks that they start unless --inherit is given",
        .details = "Overrides -a, -C and -u. Mappings come from all threads of the same processes.",
    },
    {
        WEIR_OPTION_VALUE_OF('u', "uid", "USER", WEIR_OPTION_TEXT, FIELD(user, const char *)),
        .help = "record all tasks that run as this user, who is given by name or number",
        .details =
            "Overrides -a and -C. Where a sample filter is possible (--filter; all events take one, and the user "
            "may record all tasks), recording is of all tasks, and the kernel drops the samples of others: so "
            "tasks that start later anywhere are recorded. Otherwise, as for tracepoints, and with -i, -s, "
            "--per-thread and --latency, weir records the tasks that run when recording begins, and their "
            "children. -v says which. A filter compares real user ids, /proc shows effective ones.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('G', "cgroup", "CGROUP[,CGROUP...]", weir_target_options_apply_cgroups),
        .repeatable = true,
        .help = "count events only in tasks of these cgroups, on whole CPUs",
        .details = "One cgroup holds for all events of the -e before it; before the first -e, for all events. Several "
                   "cgroups hold for one event each, in order; an empty name leaves an event without a cgroup. Names "
                   "are paths in the hierarchy of version 1 with the perf_event controller or, where there is none, in "
                   "that of version 2; absolute paths into that hierarchy, too. A pattern, such as "
                   "'system.slice/*.service', stands for all cgroups that match: each has all events. It implies -a.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "unit", "UNIT[,UNIT...]", weir_target_options_apply_units),
        .repeatable = true,
        .help = "record the tasks of these units of systemd, such as nginx.service",
        .details = "Services, slices, scopes and so on; .service may be left out. A template, such as getty@, and a "
                   "pattern stand for all instances that run. Implies -a: events count on all CPUs, or on those of -C, "
                   "while a task of the unit runs there, also of processes that the unit starts later. Each unit has "
                   "all events.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "container", "CONTAINER[,CONTAINER...]", weir_target_options_apply_containers),
        .repeatable = true,
        .help = "record the tasks of these containers, given by the beginning of their ids, or by name",
        .details = "Containers of docker, podman, containerd, CRI-O and Kubernetes are found by id, those of docker, "
                   "podman and systemd-nspawn also by name. Names that containerd and CRI-O keep in databases are "
                   "not: crictl ps --name NAME -q prints the id. Otherwise as --unit.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "per-thread", FIELD(options.targets.per_thread, bool)),
        .help = "give each recorded thread a ring of its own instead of one to each CPU; implies -i",
        .details = "For a few threads on a machine of many CPUs. -a and -C override it.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('i', "no-inherit", NULL, weir_target_options_apply_no_inherit),
        .negatable = true,
        .clear = weir_target_options_clear_no_inherit,
        .help = "leave out threads and processes that the recorded ones start",
        .details =
            "--inherit records them also where -t or a group that is read (:S) leaves them out; the latter needs "
            "Linux 6.13, and perf 6.13 for a report.",
    },
    {
        WEIR_OPTION_FLAG_OF('s', "stat", FIELD(options.targets.inherit_stat, bool)),
        .help = "record the counts of each thread that ends, for perf report -T",
        .details = "For tasks on several CPUs the kernel (Linux 6.18) writes these counts into the rings of all of "
                   "them, unsynchronized with the samples there, which can damage a data ring: the more threads end, "
                   "the sooner. Such losses are reported where every occurrence is sampled (-c 1).",
    },
};

const struct weir_option_rows weir_record_target_rows = WEIR_OPTION_ROWS_OF("Targets", options);
