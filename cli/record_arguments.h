/*
 * The arguments of `weir record`: the options of the engine, which the rows of the table fill. Beside them stand texts
 * and lists that these options borrow or follow from. Main thread.
 */
#ifndef WEIR_CLI_RECORD_ARGUMENTS_H
#define WEIR_CLI_RECORD_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpuset.h"
#include "cli/option.h"
#include "cli/record_status.h"
#include "cli/ring_options.h"
#include "engine/events/cgroup_find.h"
#include "engine/events/event_list.h"
#include "engine/session/record.h"

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

/* One --unit or --container, or one -G with a pattern. */
struct weir_record_scope {
    enum weir_cgroup_kind kind;
    const char *names; /* borrowed from argv */
};

/* Not to be copied or moved: options point into it. Texts are borrowed from argv and from configuration files. */
struct weir_record_arguments {
    /* As struct weir_ring_arguments begins. */
    struct weir_record_options options;    /* for the engine, once all is resolved */
    struct weir_ring_size_pair ring_sizes; /* -m, as typed: for options.memory and options.aux, once resolved */

    /* -p, -t, -u, -C, -i: options.targets follows from them (cli/target_options.h). */
    struct weir_cpuset cpus; /* empty: not given */
    pid_t *pids;             /* owned */
    size_t pid_count;
    pid_t *tids; /* owned */
    size_t tid_count;
    const char *user;   /* NULL: not given */
    bool inherit_given; /* -i or --inherit */

    struct weir_text_list
        presets; /* --preset, in order: they are applied in front of the others (cli/preset_apply.h) */

    /* The lists of events follow from them (cli/event_options.h). */
    struct weir_text_list events; /* -e and --pfm-events, in order */
    size_t *pfm;                  /* owned; indexes of those of --pfm-events, ascending */
    size_t pfm_count;
    struct weir_record_filter *filters; /* owned; of --filter, in order */
    size_t filter_count;
    struct weir_record_cgroups *cgroups; /* owned; of -G, in order */
    size_t cgroups_count;
    struct weir_record_scope *scopes; /* owned; in order; the events of all -e, once for each cgroup of these */
    size_t scope_count;
    bool group;
    struct weir_bpf_build bpf_build;
    struct weir_text_list rotate_on;   /* --switch-output-event */
    struct weir_text_list snapshot_on; /* --snapshot-on, but for exit and crash */

    /* Owners of what options point to. */
    struct weir_cpuset reader_cpus; /* empty: not given */
    char **on_rotate;               /* one block; NULL: none */

    uint64_t snapshot_keep; /* options.rotation.max_files and .each_snapshot, once resolved; 0: not given */
    bool output_given;
    bool latency; /* --latency: implies options.samples.switch_events, once resolved */
    bool force;   /* -f; not with options.output.append, once resolved */

    /* Asks for what weir does anyway. */
    bool leaves_cache; /* -N: a directory that is named is not filled either */
    bool timestamp, sample_cpu;
    bool anyway; /* options of perf that change nothing: nobody reads it */

    /* What the command does beside the recording. */
    const char *report_path; /* --report; NULL: none */
    bool list_registers;     /* -I? or --user-regs=?: show them, and that is all */
    bool print_config;
    enum weir_setup_filter {
        WEIR_SETUP_FILTER_NONE,
        WEIR_SETUP_FILTER_PIN,
        WEIR_SETUP_FILTER_UNPIN
    } setup_filter;
    unsigned verbosity;
    bool quiet;
    struct weir_status_choice status; /* options.watch follows from it */
    bool max_loss_given;
    uint64_t max_loss_ppm; /* --max-loss, in millionths of all samples */
};
WEIR_RING_ARGUMENTS_ASSERT(struct weir_record_arguments);

void weir_record_arguments_init(struct weir_record_arguments *arguments);
void weir_record_arguments_fini(struct weir_record_arguments *arguments);

#endif
