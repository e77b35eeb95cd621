/*
 * The state of a recording: weir_record_run() builds it step by step, and can release it after any step. Only the files
 * of record.h's module know the struct.
 *
 * The coordinator writes all members. Where another thread writes a part of a member, the member's header says so.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_INTERNAL_H
#define WEIR_ENGINE_SESSION_RECORD_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/control/control.h"
#include "engine/control/lease.h"
#include "engine/control/trigger_sources.h"
#include "engine/control/workload.h"
#include "engine/files/append.h"
#include "engine/files/beginning.h"
#include "engine/files/file_facts.h"
#include "engine/files/file_series.h"
#include "engine/files/off_cpu_measurement.h"
#include "engine/files/sideband_host.h"
#include "engine/files/timeline.h"
#include "engine/plan/machine_facts.h"
#include "engine/plan/recording_plan.h"
#include "engine/session/coordinator.h"
#include "engine/session/cpu_follower.h"
#include "engine/session/data_path.h"
#include "engine/session/disk_guard.h"
#include "engine/session/event_toggle.h"
#include "engine/session/metrics.h"
#include "engine/session/record.h"
#include "engine/session/snapshot.h"
#include "engine/session/status_ticker.h"
#include "format/kcore.h"

/* The life of a recording. Each phase leads to the next; the table in record.c has the phases that may lead to OVER at
 * once. */
enum weir_recording_phase {
    WEIR_RECORDING_PLANNING,  /* reads the machine and makes the plan; the only phase of --dry-run */
    WEIR_RECORDING_LISTENING, /* the coordinator hears signals and clients; the command is forked and held */
    WEIR_RECORDING_OPENING,   /* opens events and rings, disabled, and the output, without a name */
    WEIR_RECORDING_STARTING,  /* threads run; side events count; the file gets its beginning and its name */
    WEIR_RECORDING_RUNNING,   /* events count; the coordinator runs its loop */
    WEIR_RECORDING_ENDING,    /* events are disabled: last drain, losses, features, fsync; the end of the command */
    WEIR_RECORDING_OVER,      /* all is released */
    WEIR_RECORDING_PHASES,
};

struct weir_recording {
    const struct weir_record_options *options; /* borrowed; with `notices` */
    struct weir_record_result *result;         /* borrowed */
    enum weir_recording_phase phase;
    struct weir_notice_sink notices; /* the caller's, with a limiter, which is owned and starts with RUNNING */

    struct weir_machine_facts machine; /* const after PLANNING, but for the limit on descriptors */
    struct weir_recording_plan plan;   /* const after OPENING */
    struct weir_append *append;        /* owned; the file that is continued; NULL: no file is continued */
    struct weir_kcore kcore;           /* owned; with --kcore */
    struct weir_cpuset cpus_before;    /* CPUs of the calling thread before it moved; empty: it has not moved */

    struct weir_coordinator coordinator;
    struct weir_control control; /* clients that may send requests */
    struct weir_workload workload;
    struct weir_cpu_follower cpu_follower;
    struct weir_targets targets;
    struct weir_off_cpu *off_cpu;             /* owned; NULL: without --off-cpu */
    struct weir_unwind_supply *unwind_supply; /* owned; NULL: the plan does not unwind */
    struct weir_data_path path;
    struct weir_event_toggle toggle;
    struct weir_snapshots snapshots;
    struct weir_trigger_sources asking;
    struct weir_status_ticker ticker;
    struct weir_metrics metrics;
    struct weir_lease lease;

    struct weir_file_facts facts; /* const after OPENING */
    struct weir_beginning beginning;
    struct weir_sideband_host sideband;
    struct weir_file_series files;
    struct weir_timeline timeline;
    struct weir_disk_guard guard;
    uint64_t running_since_ns;
    bool told_programs; /* a notice has told that others run BPF programs on the recorded tracepoints */
};

/* record_plan.c: reads the machine's facts, makes the plan and tells it. Returns 0 or -errno with err. */
int weir_recording_make_plan(struct weir_recording *recording, struct weir_error *err);

/* record_open.c: opens events, rings and the first file. Returns 0 or -errno with err. */
int weir_recording_open(struct weir_recording *recording, struct weir_error *err);

/* record.c: tells the watch that the end has come to a step. ctx: the recording. */
void weir_recording_enter_step(void *ctx, enum weir_ending_step step);

/* record.c: whether a signal has asked for a quick end. ctx: the recording; the hooks of its parts call this. */
bool weir_recording_is_hurried(void *ctx);

/* record_start.c: opens control, adds all descriptors to the coordinator's loop, and starts threads, file and command.
 * Each returns 0 or -errno with err. */
int weir_recording_listen(struct weir_recording *recording, struct weir_error *err);
int weir_recording_watch(struct weir_recording *recording, struct weir_error *err);
int weir_recording_start(struct weir_recording *recording, bool *workload_failed, struct weir_error *err);

/* record_end.c: disables events and finishes files. Returns 0 or -errno with err. */
int weir_recording_end(struct weir_recording *recording, struct weir_error *err);

/* record_end.c: ends a recording that failed before it ran. A command that already executes runs on, as after a later
 * failure. */
void weir_recording_abandon(struct weir_recording *recording, const struct weir_error *err);

/* record_end.c: releases everything, in any phase. Options and result stay, and so does a file with a name. */
void weir_recording_release(struct weir_recording *recording);

#endif
