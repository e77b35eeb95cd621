/*
 * The options of a recording, in plain values. The option table of cli/ fills them, and any other front end can. All
 * pointers are borrowed until weir_record_run() returns (record.h).
 */
#ifndef WEIR_ENGINE_PLAN_RECORD_OPTIONS_H
#define WEIR_ENGINE_PLAN_RECORD_OPTIONS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/notice.h"
#include "engine/aux/aux_events.h"
#include "engine/drain/shed.h"
#include "engine/events/event_list.h"
#include "engine/events/targets.h"
#include "engine/plan/control_spec.h"
#include "engine/plan/metrics_spec.h"
#include "engine/plan/record_watch.h"
#include "engine/plan/schedule.h"
#include "format/synth.h"

#define WEIR_RECORD_FREQ_DEFAULT_HZ     4000u
#define WEIR_RECORD_COMPRESSION_DEFAULT 1 /* -z */
#define WEIR_RECORD_COMPRESSION_MAX     22
#define WEIR_RECORD_HOLD_OFF_DEFAULT_MS 1000u
#define WEIR_RECORD_OFF_CPU_DEFAULT_MS  500u       /* as perf 6.16 */
#define WEIR_RECORD_FREQ_MAX            UINT64_MAX /* -F max: the rate that kernel.perf_event_max_sample_rate allows */

struct weir_record_targets { /* -a, -C, tasks or a command; without these the caller sets system_wide, as perf does */
    bool system_wide;
    const struct weir_cpuset *cpus; /* -C; NULL: all online CPUs; not with tasks */
    struct weir_target_spec spec;   /* -p, -t, -u; WEIR_TARGET_ALL: the user named no tasks */
    char *const *command;           /* argv of the workload, NULL-terminated; NULL: none */
    bool per_thread;                /* a ring for each task instead of one for each CPU; not with system_wide, cpus */
    bool no_inherit;                /* -i: child tasks of the targets are not recorded; per_thread implies it */
    bool inherit_reads;             /* --inherit: child tasks are recorded also where :S reads a group */
    bool inherit_stat;              /* -s: a READ record for each thread that ends */
    bool exclude_self;              /* --exclude-perf */
};

struct weir_rate_options { /* how often an event makes a sample */
    uint64_t freq_hz;      /* -F; 0: not given; WEIR_RECORD_FREQ_MAX */
    uint64_t period;       /* -c; 0: not given */
    bool strict;           /* --strict-freq: a frequency above the limit is an error */
};

struct weir_synth_choice { /* --synth: parts of the earlier state to describe; the kernel is always described */
    bool tasks;            /* for tasks other than the workload */
    bool maps;             /* with tasks only */
    bool cgroups;
    unsigned threads;        /* 0: chosen */
    uint32_t map_timeout_ms; /* per process; 0: 500 */
    bool at_end; /* --tail-synthesize: describe the earlier state at the end; of several files, at both ends */
};

struct weir_memory_options { /* between the kernel and the output */
    uint64_t ring_bytes;     /* -m: data bytes of each ring, a power of two; 0: chosen from memory and privileges */
    uint64_t buffer_bytes;   /* --buffer-size: whole chunk pool; 0: chosen from memory and CPU count */
    /* -M: samples stay in so much memory, and only snapshots write them to the file; 0: samples go to the file. With a
     * span, weir also evicts samples older than the span, and retained_bytes may be 0: chosen. */
    uint64_t retained_bytes;
    uint64_t retained_span_ns;
    bool overwrite;      /* --overwrite: the kernel's rings keep the newest samples */
    enum weir_shed shed; /* --shed: what weir may drop while the output is behind (engine/drain/shed.h) */
};

struct weir_build_id_options {
    bool left_out;         /* -B: no BUILD_ID table */
    bool in_maps;          /* --buildid-mmap: the kernel puts build ids into MMAP2 records */
    bool fill_cache;       /* --buildid-cache: copy mapped files after the recording has ended */
    const char *cache_dir; /* --buildid-dir; NULL: $HOME/.debug */
};

struct weir_reader_options {
    const char *threads_spec;       /* --threads=SPEC; NULL: "cpu" */
    const struct weir_cpuset *cpus; /* --reader-cpus: where weir's threads run; NULL: not given */
    unsigned realtime_priority;     /* -r: SCHED_FIFO 1..99 for readers and writer; 0: none */
};

enum weir_record_output_kind {
    WEIR_RECORD_OUTPUT_FILE,   /* one seekable file */
    WEIR_RECORD_OUTPUT_STREAM, /* -o -: a pipe or socket, for a consumer */
};

struct weir_snapshot_condition {    /* --snapshot-on */
    struct weir_event_list *events; /* NULL or empty: none */
    uint64_t hold_off_ms;           /* after an occurrence that had an effect */
    bool crash;                     /* a crash of the command is an occurrence, too */
};

struct weir_snapshot_options {
    struct weir_snapshot_condition on;
    bool at_exit; /* --snapshot-on-exit: samples in memory at the end go to the file; always with overwrite */
    bool ftrace;  /* --ftrace-snapshot */
};

enum weir_record_on_full { /* --on-full: the reaction to a full file system (engine/session/disk_guard.h) */
    WEIR_RECORD_ON_FULL_STOP,
    WEIR_RECORD_ON_FULL_ROTATE,  /* with rotation enabled; without keep_free_bytes for a file only */
    WEIR_RECORD_ON_FULL_SUSPEND, /* without keep_free_bytes for a file only */
};

struct weir_record_output {
    const char *path; /* -o; for a stream, its name in messages */
    enum weir_record_output_kind kind;
    int fd;                /* of WEIR_RECORD_OUTPUT_STREAM; borrowed */
    bool kcore;            /* --kcore: a copy of the kernel's code beside the data, in a folder */
    bool append;           /* -A: continue the existing file */
    bool sync;             /* --sync: data under a checkpoint survives a crash of the machine */
    int compression_level; /* -z: of zstd, 1 .. 22; 0: none */
    uint64_t max_bytes;    /* --max-size: data in all files, to a record; recording ends there. 0: no limit */
    enum weir_record_on_full on_full;
    uint64_t keep_free_bytes; /* --keep-free: with less free, the file system counts as full; 0: with nothing free */
};

struct weir_off_cpu_options {
    bool wanted;           /* --off-cpu */
    uint64_t threshold_ms; /* --off-cpu-thresh: shorter stretches are summed */
    bool of_user;          /* -u of a recording of all tasks: those of user `uid` only */
    uid_t uid;
};

struct weir_rotation_options { /* several files, one after another */
    bool enabled;       /* --switch-output in any form; SIGUSR2 and the control channel may then ask for a rotation */
    uint64_t bytes;     /* rotate when a file has so many; 0: not by size */
    uint64_t period_ns; /* rotate so often; 0: not by time */
    bool timestamp;     /* finished files get their time into their names; the caller sets it with enabled */
    unsigned max_files; /* most finished files that stay; 0: all stay */
    bool each_snapshot; /* --snapshot-keep: each snapshot ends its file; comes with enabled, timestamp and max_files */
    struct weir_event_list *events; /* --switch-output-event: their occurrences rotate; NULL or empty: none */
    char *const *command; /* --on-rotate: gets the path of each finished file as its last argument; NULL: none */
};

struct weir_record_caller { /* the program that records */
    bool drop_privileges; /* the calling thread belongs to the program: it keeps the privileges that recording needs */
    const char *const *command_line; /* the program's argv, for the CMDLINE feature */
    size_t command_line_count;
    /* Signals that the program ignored at its start. The workload and the command of --on-rotate get these ignored,
     * too. NULL: none of the signals that the program itself ignores. */
    const sigset_t *ignored_before;
};

/* engine/modes/modes.h says which options go together. */
struct weir_record_options {
    struct weir_record_targets targets;
    struct weir_schedule schedule; /* -D: when events count; borrowed windows */

    struct weir_event_list *events; /* not empty; attrs are completed by weir_record_run() */
    struct weir_rate_options rate;
    bool all_kernel, all_user; /* at most one */

    struct weir_sample_options samples;
    struct weir_off_cpu_options off_cpu;
    bool no_switch_events; /* --no-switch-events: no context switches, even where a decoder of an AUX area needs them */
    struct weir_synth_choice synth;
    struct weir_guests
        guests; /* --guestkallsyms, --guestmodules, --guestmount; with any, events count in guests, too */
    struct weir_aux_options aux; /* -S, --aux-sample, -m ,AUX */

    struct weir_memory_options memory;
    struct weir_snapshot_options snapshot;
    struct weir_reader_options readers;
    struct weir_record_output output;
    struct weir_rotation_options rotation;
    struct weir_build_id_options build_ids;

    struct weir_control_spec control; /* --control; borrowed names */
    uint64_t lease_s;                 /* --lease: the recording ends without a renewal for so long; 0: no lease */
    struct weir_metrics_spec metrics; /* --metrics; borrowed path */
    bool dry_run;                     /* stop after all checks and descriptions that need no kernel event */

    struct weir_record_caller caller;
    const struct weir_notice_sink *notices; /* may be NULL */
    const struct weir_record_watch *watch;  /* borrowed; NULL: nobody watches */
};

#endif
