/*
 * One recording, from plain options to a finished file: what `weir record` runs, and any other front end could.
 *
 * The caller fills struct weir_record_options (everything in it is borrowed until weir_record_run() returns), and gets
 * a result to print. Nothing here prints or exits. weir_record_run() blocks for the whole recording; the calling thread
 * becomes the coordinator (engine/session/coordinator.h), so it must be the main thread of a process that leaves
 * SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD and SIGUSR2 to it (they are blocked and read from a signalfd meanwhile).
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_H
#define WEIR_ENGINE_SESSION_RECORD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/aux/aux_events.h"
#include "engine/aux/aux_sum.h"
#include "engine/drain/drain_watch.h"
#include "engine/drain/pressure.h"
#include "engine/drain/shed.h"
#include "engine/events/event_list.h"
#include "engine/events/targets.h"
#include "engine/session/control.h"
#include "engine/session/schedule.h"

#define WEIR_RECORD_FREQ_DEFAULT_HZ     4000u
#define WEIR_RECORD_COMPRESSION_DEFAULT 1 /* -z */
#define WEIR_RECORD_COMPRESSION_MAX     22
#define WEIR_RECORD_HOLD_OFF_DEFAULT_MS 1000u
#define WEIR_RECORD_FREQ_MAX            UINT64_MAX /* -F max: what kernel.perf_event_max_sample_rate allows */

struct weir_synth_choice { /* --synth: which records of what was there before; those of the kernel always */
    bool tasks;            /* of other tasks than the workload */
    bool maps;             /* with tasks only */
    bool cgroups;
    unsigned threads;        /* 0: chosen */
    uint32_t map_timeout_ms; /* per process; 0: 500 */
};

struct weir_build_id_options {
    bool left_out;         /* -B: no BUILD_ID table */
    bool in_maps;          /* --buildid-mmap: the kernel puts them into MMAP2 records */
    bool fill_cache;       /* --buildid-cache: copy mapped files, once recording has ended */
    const char *cache_dir; /* --buildid-dir; NULL: $HOME/.debug */
};

struct weir_reader_options {
    const char *threads_spec;       /* --threads=SPEC; NULL: "cpu" */
    const struct weir_cpuset *cpus; /* --reader-cpus: where weir's threads run; NULL: not given */
    bool efficient;                 /* --reader-cpus=efficient; never with cpus */
    unsigned realtime_priority;     /* -r: SCHED_FIFO 1..99 for readers and writer; 0: none */
};

enum weir_record_output_kind {
    WEIR_RECORD_OUTPUT_FILE,   /* one seekable file */
    WEIR_RECORD_OUTPUT_STREAM, /* records as they come, to whoever reads: -o - */
};

struct weir_snapshot_condition {    /* --snapshot-on */
    struct weir_event_list *events; /* NULL or empty: none */
    uint64_t hold_off_ms;           /* after an occurrence that had an effect */
    bool once;                      /* the first one only */
    bool crash;                     /* the command's */
};

enum weir_record_on_full { /* --on-full: what a full file system does (engine/session/disk_guard.h) */
    WEIR_RECORD_ON_FULL_STOP,
    WEIR_RECORD_ON_FULL_ROTATE,  /* with switching enabled */
    WEIR_RECORD_ON_FULL_SUSPEND, /* these two without keep_free_bytes for a file only */
};

struct weir_switch_options { /* several files, one after another */
    bool enabled;         /* --switch-output, in whatever form; SIGUSR2 and the control channel may ask for it then */
    uint64_t bytes;       /* when a file has got so many; 0: no matter */
    uint64_t period_ns;   /* so often; 0: no matter */
    bool timestamp;       /* finished files get their time into their names; implied by the caller with enabled */
    unsigned max_files;   /* so many finished files stay; 0: all */
    bool each_snapshot;   /* --snapshot-keep: each snapshot ends its file; with enabled, timestamp and max_files */
    char *const *command; /* --on-rotate: gets the path of each finished file as its last argument; NULL: none */
};

struct weir_record_caller {          /* the program that records */
    bool drop_privileges;            /* the calling thread is the program's own: it keeps what recording needs */
    const char *const *command_line; /* the program's argv, for the CMDLINE feature */
    size_t command_line_count;
    /* Signals that the program was started with ignored, as the command and those of --on-rotate are to be; NULL: none
     * of those that the program ignores itself. */
    const sigset_t *ignored_before;
};

/* Which of them go together: engine/modes/modes.h. */
struct weir_record_options {
    /* What is recorded: -a, -C, tasks or a command; with none of them the caller sets system_wide, as perf does. */
    bool system_wide;
    const struct weir_cpuset *cpus; /* -C; NULL: all online CPUs; not with tasks */
    struct weir_target_spec target; /* -p, -t, -u; WEIR_TARGET_ALL: no tasks are named */
    bool per_thread;                /* a ring for each task instead of one for each CPU; not with system_wide, cpus */
    bool no_inherit;                /* -i: tasks that the targets make are not recorded; per_thread implies it */
    bool inherit_stat;              /* -s: a READ record for each thread that ends */
    struct weir_schedule schedule;  /* -D: when events count; borrowed windows */
    char *const *command;           /* argv of the workload, NULL-terminated; NULL: none */

    struct weir_event_list *events; /* not empty; attrs are completed by weir_record_run() */
    uint64_t freq_hz;               /* -F; 0: not given; WEIR_RECORD_FREQ_MAX */
    uint64_t period;                /* -c; 0: not given */
    bool strict_freq;               /* --strict-freq: a frequency above the limit is an error */
    bool all_kernel, all_user;      /* at most one */
    bool exclude_self;              /* --exclude-perf */

    struct weir_sample_options samples;
    bool no_switch_events; /* --no-switch-events: nor where a decoder of an AUX area needs them */
    struct weir_synth_choice synth;

    struct weir_aux_options aux; /* -S, --aux-sample, -m ,AUX */

    uint64_t ring_bytes;   /* -m: data bytes of each ring, a power of two; 0: chosen from memory and privileges */
    uint64_t buffer_bytes; /* --buffer-size: whole chunk pool; 0: chosen from memory and CPU count */
    /* -M: samples stay in so much memory and reach the file only in snapshots; 0: they go to the file. With a span
     * (retained_bytes may be 0 then: chosen) samples that are older than it are evicted too. */
    uint64_t retained_bytes;
    uint64_t retained_span_ns;
    bool overwrite;        /* --overwrite: the kernel's rings keep the newest samples */
    bool tail_synthesize;  /* --tail-synthesize: what was there before is described at the end; with several files at
                            * the start, too */
    bool snapshot_on_exit; /* what is retained at the end goes to the file; always with overwrite */
    struct weir_reader_options readers;
    const char *output_path; /* -o; of a stream, its name for messages */
    enum weir_record_output_kind output_kind;
    bool kcore;    /* --kcore: a copy of the kernel's code beside the data, in a folder */
    int output_fd; /* of WEIR_RECORD_OUTPUT_STREAM: where it goes; borrowed */
    bool append;   /* -A: continue the file that is there */

    enum weir_shed shed;   /* --shed: what may be done without while the output is behind (engine/drain/shed.h) */
    bool sync;             /* --sync: what checkpoints cover outlives the machine */
    uint64_t max_bytes;    /* --max-size: of data in all files, to a chunk; recording ends there. 0: no limit */
    int compression_level; /* -z: of zstd, 1 .. 22; 0: none */

    struct weir_switch_options switching;
    struct weir_event_list *switch_on; /* --switch-output-event; NULL or empty: none */
    struct weir_snapshot_condition snapshot_on;
    bool ftrace_snapshot; /* --ftrace-snapshot */
    enum weir_record_on_full on_full;
    uint64_t keep_free_bytes; /* --keep-free: of the output's file system; less is full. 0: only that itself is */

    struct weir_build_id_options build_ids;
    struct weir_control_spec control; /* --control; borrowed names */
    bool dry_run;                     /* stop after everything that needs no kernel event was checked and described */

    struct weir_record_caller caller;
    const struct weir_notice_sink *notices; /* may be NULL */
};

enum weir_record_end {        /* why it ended */
    WEIR_RECORD_END_WORKLOAD, /* the command exited or was killed: status is its wait status */
    WEIR_RECORD_END_SIGNAL,   /* a signal that asked for it */
    WEIR_RECORD_END_TARGETS,  /* all tasks of -p, -t or -u are gone */
    WEIR_RECORD_END_SCHEDULE, /* the last window of the schedule is over */
    WEIR_RECORD_END_ASKED,    /* the trigger "stop" */
    WEIR_RECORD_END_READER,   /* the reader of the stream has gone: the workload ran on, status as above */
    WEIR_RECORD_END_SIZE,     /* the output has reached max_bytes */
    WEIR_RECORD_END_SPACE,    /* less was free than keep_free_bytes: the workload ran on, status as above */
    WEIR_RECORD_END_OUTPUT,   /* the output failed: code says how; the file holds what was good */
    WEIR_RECORD_END_DRY_RUN,
};

/* One row of the loss ledger: produced = written + evicted + shed + lost, by cause, and counted = produced + cut off
 * for events that count their samples (weir_event_counts_samples()). */
struct weir_ledger_row {
    int cpu;                    /* -1: of a task, wherever it ran */
    pid_t task;                 /* -1: of a CPU */
    unsigned event;             /* index into the recording's events; side events are the last ones */
    uint64_t written;           /* samples of it that are in the file (sideband: records) */
    uint64_t evicted;           /* -M, --overwrite: made room for newer ones in memory, and never asked for */
    uint64_t shed;              /* dropped under pressure, as --shed=cpus allows (engine/drain/shed.h) */
    uint64_t lost_ring_full;    /* the kernel found no room in the ring (PERF_FORMAT_LOST), or there was none yet */
    uint64_t lost_write_failed; /* drained, but the output failed */
    uint64_t left_out;          /* drained after max_bytes was reached */
    /* Counted in the moment in which the event was being disabled, or while the task slept that it happened to: the
     * kernel makes no sample of that, and loses none. Known for events that count their samples only
     * (engine/session/ledger.c). */
    uint64_t cut_off;
    uint64_t counted; /* the event's own count, PERF_EVENT read(2) value */
};

struct weir_record_result {
    enum weir_record_end end;
    int signal;          /* 0, or to be re-raised by the caller: it ended the recording, or came at its end */
    int workload_status; /* of waitpid(2), valid when a command was given and has_workload_status */
    bool has_workload_status;
    /* How often readers saw the pool enter each level from below. */
    uint64_t pressure_rises[WEIR_PRESSURE_COUNT];
    uint64_t wakeups;               /* times a reader woke with data */
    uint64_t samples;               /* samples in the file, exact */
    uint64_t evicted_samples;       /* see the ledger; not lost: nobody asked for them */
    uint64_t left_samples;          /* of these, in memory at the end: no newer ones wanted their room */
    uint64_t snapshots;             /* in the files, also in those that were removed since */
    uint64_t replaced_snapshots;    /* of these, of the pair, by newer ones; they count in all that is told here */
    uint64_t replaced_samples;      /* in these */
    uint64_t replaced_bytes;        /* of their files */
    bool overwritten;               /* --overwrite: samples were kept by the kernel */
    uint64_t overwritten_bytes;     /* of older records, by newer ones, in its rings */
    uint64_t retained_bytes;        /* -M: memory for samples; 0: none */
    uint64_t lost_samples;          /* all causes, shed among them */
    uint64_t shed_samples;          /* of these, dropped under pressure */
    uint64_t trimmed_samples;       /* in the file, with a shorter stack than the kernel had dumped */
    uint64_t trimmed_bytes;         /* of stack dumps that are not in the file */
    uint64_t lost_before_ring;      /* of these, on CPUs that came online, before their rings did; of period 1 events */
    uint64_t lost_damaged;          /* of these, in rings that -s had the kernel damage (engine/session/ledger.c) */
    uint64_t sleeper_counts;        /* of what is cut off, that of events that count what happens to tasks that sleep */
    uint64_t lost_suspended;        /* of these, while there was no room for the output (WEIR_RECORD_ON_FULL_SUSPEND) */
    uint64_t lost_while_pool_empty; /* of these, ring-full losses in rings whose reader was waiting for the disk */
    uint64_t lost_sideband;         /* mmap, comm and task records that the kernel had no room for */
    uint64_t discarded_bytes;       /* skipped in rings that held no valid record: a kernel bug; 0 otherwise */
    uint64_t unknown_samples;       /* in the file, but with an id of no event of ours; 0 otherwise */
    uint64_t file_bytes;            /* of all files; 0: none was made */
    uint64_t files;
    bool stamped; /* they have their times in their names */
    uint64_t rounds;
    uint64_t throttled;  /* PERF_RECORD_THROTTLE seen */
    uint64_t ring_bytes; /* data bytes per ring that were used */
    uint64_t rings;
    uint64_t pool_bytes;
    struct weir_aux_sum aux;   /* all 0 without AUX areas */
    uint64_t left_out_samples; /* recorded after max_bytes was reached; not among the lost ones */
    uint64_t compressed_in_bytes, compressed_out_bytes;   /* -z: of what was compressed and is in the files */
    uint64_t compressor_bytes;                            /* all that its threads were given: more with max_bytes */
    uint64_t compressed_raw_bytes;                        /* of what was not, because the threads were behind */
    uint64_t compressed_cpu_ns;                           /* of its threads */
    struct weir_drain_summary drains[WEIR_DRAIN_MOMENTS]; /* how the readers kept up */
    struct weir_ledger_row *ledger;                       /* owned; by place, then event */
    size_t ledger_count;
    char **event_names; /* owned; by event index */
    size_t event_count;
    size_t side_event; /* index of the first side event: its rows, and those of the events behind it, are no samples */
};

/*
 * Runs the recording. Returns 0 when a file was finished (result says why it ended), or when dry_run described the
 * plan; -errno with err when it failed. err->code and exit statuses: docs/exit-status in cli/. result is to be given to
 * weir_record_result_fini() in any case.
 *
 * A workload that could not be executed: returns -ENOENT, -EACCES, ... with *workload_failed true.
 */
int weir_record_run(const struct weir_record_options *options, struct weir_record_result *result, bool *workload_failed,
                    struct weir_error *err);

void weir_record_result_fini(struct weir_record_result *result);

#endif
