/*
 * The options of `weir record`: the table, what it fills, and the rules between options. Touches neither kernel nor
 * files: what is wrong here is wrong on every machine. Main thread.
 */
#ifndef WEIR_CLI_RECORD_OPTIONS_H
#define WEIR_CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "cli/command.h"
#include "cli/value.h"
#include "engine/session/control.h"
#include "engine/session/record.h"
#include "engine/session/schedule.h"

#define WEIR_RECORD_OUTPUT_DEFAULT "perf.data"
#define WEIR_RECORD_OUTPUT_STDOUT  "-"

/* One --filter. */
struct weir_record_filter {
    const char *text;   /* borrowed from argv */
    size_t event_index; /* of the -e before it */
};

/* One -G. */
struct weir_record_cgroups {
    const char *names;    /* borrowed from argv */
    size_t events_before; /* number of -e before it */
};

struct weir_record_arguments {
    bool all_cpus;
    struct weir_cpuset cpus; /* empty: not given */
    pid_t *pids;             /* owned */
    size_t pid_count;
    pid_t *tids; /* owned */
    size_t tid_count;
    const char *user;                    /* borrowed from argv; NULL: not given */
    struct weir_record_cgroups *cgroups; /* owned; of -G, in order */
    size_t cgroups_count;
    bool per_thread;
    bool affinity_cpus;
    bool no_inherit;
    bool inherit_given; /* -i or --inherit */
    bool stat;
    struct weir_schedule schedule; /* -D */
    char *const *workload;         /* borrowed from argv, NULL-terminated; NULL: none */

    struct weir_text_list events;       /* texts of -e, in order */
    struct weir_record_filter *filters; /* owned; of --filter, in order */
    size_t filter_count;
    bool group;
    uint64_t freq_hz; /* 0: not given; WEIR_VALUE_FREQ_MAX */
    uint64_t period;  /* 0: not given */
    bool exclude_perf;
    struct weir_bpf_build bpf_build; /* borrowed from argv */
    bool strict_freq;
    bool all_kernel, all_user; /* not both, once resolved */

    struct weir_sample_options samples;
    bool no_switch_events;      /* --no-switch-events */
    bool timestamp, sample_cpu; /* asked for; both are always recorded */
    bool list_registers;        /* -I? or --user-regs=?: show them, and that is all */
    struct weir_synth_choice synth;
    uint64_t synth_threads;        /* 0: not given */
    uint64_t synth_map_timeout_ms; /* 0: not given */

    struct weir_ring_size_pair ring_sizes; /* as typed */
    uint64_t ring_bytes;                   /* by weir_record_arguments_resolve(); 0: not given */
    struct weir_aux_options aux;           /* -S, --aux-sample; area_bytes as ring_bytes */
    uint64_t buffer_bytes;                 /* 0: not given */
    enum weir_shed shed;
    uint64_t memory_bytes;   /* -M SIZE */
    uint64_t memory_span_ns; /* -M TIME; both 0: not given */
    bool snapshot_on_exit;
    bool overwrite;
    bool tail_synthesize;
    const char *threads_spec;       /* borrowed from argv; NULL: not given */
    struct weir_cpuset reader_cpus; /* empty: not given */
    bool efficient_readers;         /* --reader-cpus=efficient */
    uint64_t realtime_priority;     /* 0: not given */

    const char *output_path; /* borrowed; "-": standard output */
    bool output_given;
    bool output_directory;                /* --output-format=dir */
    bool kcore;                           /* --kcore: a folder, too */
    bool append, force;                   /* -A, -f; not both, once resolved */
    int compression_level;                /* -z; 0: none */
    bool sync;                            /* --sync */
    uint64_t max_bytes;                   /* --max-size; 0: none */
    bool timestamp_boundary;              /* accepted: it is what happens anyway */
    struct weir_switch_options switching; /* without max_files and command */
    enum weir_record_on_full on_full;
    uint64_t keep_free_bytes;  /* 0: not given */
    uint64_t switch_max_files; /* 0: all */
    char **on_rotate;          /* owned, one block; NULL: none */
    bool no_buildid;
    bool buildid_mmap;
    bool buildid_all;                  /* accepted: it is what happens anyway */
    bool no_buildid_cache;             /* true unless --buildid-cache was given */
    const char *buildid_dir;           /* borrowed from argv; NULL: not given */
    struct weir_control_spec control;  /* --control */
    struct weir_text_list switch_on;   /* texts of --switch-output-event */
    struct weir_text_list snapshot_on; /* of --snapshot-on, but for exit and crash */
    bool snapshot_on_crash;
    bool snapshot_on_once;
    uint64_t snapshot_keep; /* 0: not given */
    uint64_t snapshot_hold_off_ms;
    bool ftrace_snapshot;
    unsigned verbosity;
    bool quiet;
    bool max_loss_given;
    uint64_t max_loss_ppm; /* --max-loss, in millionths of all samples */
    bool dry_run;
    bool print_config;
};

extern const struct weir_command weir_record_command;

void weir_record_arguments_init(struct weir_record_arguments *arguments);
void weir_record_arguments_fini(struct weir_record_arguments *arguments);

/* Parses argv (the words behind `weir record`). As weir_options_parse(); arguments are to be given to _fini in any
 * case. */
int weir_record_arguments_parse(struct weir_record_arguments *arguments, char *const *argv, struct weir_error *err);

/* The same, and appends what was understood to settings. */
int weir_record_arguments_parse_noted(struct weir_record_arguments *arguments, char *const *argv,
                                      struct weir_settings *settings, struct weir_error *err);

/*
 * Applies the rules between options, as perf does: -F excludes -c; -p and -t go before -u, these before -C and -a, and
 * -a before --per-thread (with one warning); -t implies -i unless --inherit is given; -C implies -a; no target and no
 * workload means -a; --switch-output implies --timestamp-filename; -m becomes bytes (with a notice when it was
 * rounded). 0 or -EINVAL with err.
 */
int weir_record_arguments_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                  const struct weir_notice_sink *notices, struct weir_error *err);

/* Once the events are known: what their terms say of --overwrite goes before it, and the rules about memory apply
 * again. 0 or -EINVAL with err. */
int weir_record_arguments_resolve_terms(struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                        struct weir_error *err);

#endif
