/*
 * A recording in the making: what weir_record_run() builds step by step, and takes apart in any state.
 * engine/ only. All of it belongs to the coordinator.
 */
#ifndef WEIR_ENGINE_SESSION_SESSION_H
#define WEIR_ENGINE_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/aux/aux_keeper.h"
#include "engine/drain/pipeline.h"
#include "engine/drain/shed.h"
#include "engine/aux/aux_events.h"
#include "engine/events/event_set.h"
#include "engine/events/targets.h"
#include "engine/kernel/kernel.h"
#include "engine/session/append.h"
#include "engine/session/beginning.h"
#include "engine/session/control.h"
#include "engine/session/coordinator.h"
#include "engine/session/cpu_follower.h"
#include "engine/session/disk_guard.h"
#include "engine/session/event_trigger.h"
#include "engine/session/file_facts.h"
#include "engine/session/file_series.h"
#include "engine/session/ftrace_snapshot.h"
#include "engine/session/machine_facts.h"
#include "engine/session/record.h"
#include "engine/session/recording_plan.h"
#include "engine/session/sideband_host.h"
#include "engine/session/snapshot.h"
#include "engine/session/workload.h"
#include "engine/tasks/sideband.h"
#include "format/event_desc.h"
#include "format/kcore.h"
#include "format/synth.h"

struct weir_session {
    const struct weir_record_options *options; /* borrowed */
    const struct weir_kernel *kernel;          /* borrowed */
    const struct weir_clock *clock;            /* borrowed; monotonic */
    const struct weir_clock *day;              /* borrowed; the time of day, which may be set */
    struct weir_record_result *result;         /* borrowed */

    struct weir_machine_facts machine; /* but for the limit on descriptors const once it was read */
    struct weir_recording_plan plan;   /* const once events stay open */
    struct weir_cpu_follower cpu_follower;
    bool staged;                /* plan says where readers run on this machine, although topology is that of another */
    struct weir_cpuset outside; /* where the calling thread ran before; empty: it has not moved */
    struct weir_targets targets;

    struct weir_aux_keeper aux;
    struct weir_snapshots snapshots;
    bool snapshot_pauses; /* rings are paused for one that is being taken */
    struct weir_event_trigger switch_trigger, snapshot_trigger;
    struct weir_ftrace_snapshot ftrace;

    struct weir_coordinator coordinator;
    bool coordinating;           /* coordinator was initialised */
    struct weir_control control; /* clients that may ask for something */
    uint64_t started_ns;         /* when the coordinator's loop began */
    bool samples_on;             /* events count, or were last said to */
    struct weir_workload workload;
    struct weir_event_set events;
    struct weir_shed_plan shed; /* borrowed by the pipeline */
    struct weir_pipeline pipeline;
    bool piped;                   /* pipeline was initialised */
    const struct weir_io_ops *io; /* borrowed; what files are written with; NULL: the real system calls */
    struct weir_append *append;   /* owned; the file that is continued; NULL: none is */
    struct weir_kcore kcore;      /* owned; with --kcore */
    struct weir_file_facts facts; /* const once the first file is open */
    struct weir_beginning beginning;
    struct weir_sideband_host sideband;
    struct weir_file_series files;
    struct weir_disk_guard guard;
    bool told_programs; /* of others, on tracepoints of ours */
};

/* Reads the machine's facts and makes the plan, with the list of events as they are to be opened. 0 or -errno with err.
 */
int weir_session_prepare(struct weir_session *session, struct weir_error *err);

/* Tells the plan. 0, or -ENOMEM with err: more than the memory cgroup allows. */
int weir_session_tell_plan(const struct weir_session *session, struct weir_error *err);

/* Moves the calling thread into the house, so that the threads that it makes run there too; and back. */
void weir_session_enter_house(struct weir_session *session);
void weir_session_leave_house(struct weir_session *session);
/* Once the pipeline runs: session->snapshots may be used. */
void weir_session_begin_snapshots(struct weir_session *session);

/* Pauses the output of all data rings, or lets it go on: both a snapshot and want of room on disk may ask for the
 * first, and have said so in session. */
void weir_session_pause_rings(struct weir_session *session);

/* Whether the end of the recording, or a crash of its command that was reaped, is to take a snapshot: by option. */
bool weir_session_end_asks_for_snapshot(const struct weir_session *session);

/* Whether what is kept at the end goes to the file. */
bool weir_session_ends_with_snapshot(const struct weir_session *session);

/* Opens the events of options->events on the plan's CPUs and session->targets, with watermarks for session->ring_bytes.
 * 0 or -errno with err. */
int weir_session_open_events(struct weir_session *session, struct weir_error *err);

/* Makes the pipeline for the open events. 0 or -errno with err. */
int weir_session_init_pipeline(struct weir_session *session, struct weir_error *err);

/* Maps every ring into the pipeline, but for those of late places. 0, or -errno with err; after -EPERM a smaller size
 * may still fit. */
int weir_session_map_rings(struct weir_session *session, struct weir_error *err);

/* Maps one of them, if there is anything to map; a late one only when its CPU has come. As above, but without err. */
int weir_session_map_ring(struct weir_session *session, unsigned place, bool sideband);

/* Fills err for what map_ring() has returned, and returns that. */
int weir_session_explain_map(struct weir_session *session, unsigned place, bool sideband, int code,
                             struct weir_error *err);

/* Undoes the three above, in any state, and closes the file. */
void weir_session_close_events(struct weir_session *session);

/* Undoes everything, in any state. The options and the result stay, and a file that was published. */
void weir_session_release(struct weir_session *session);

/* Gathers session->facts and opens the first file at options->output_path. After map_rings(). 0 or -errno with err. */
int weir_session_open_files(struct weir_session *session, struct weir_error *err);

/* Has the guard look at the free space of the output, if options ask for it. The pipeline and the series are prepared.
 * 0 or -errno with err. */
int weir_session_guard_disk(struct weir_session *session, struct weir_error *err);

/* Ends a recording whose readers have ended: weir_file_series_finish(), and what the result says of rings and AUX
 * areas. 0 or -errno with err. */
int weir_session_finish(struct weir_session *session, struct weir_error *err);

/* Registers the triggers that every recording has, opens --control and, for a workload, the socket of libweir. After
 * weir_coordinator_init(). 0 or -errno with err. */
int weir_session_open_control(struct weir_session *session, struct weir_error *err);

/* Opens what asks for switches and snapshots by itself. After the events. 0 or -errno with err. */
int weir_session_open_triggers(struct weir_session *session, struct weir_error *err);
/* What occurs on a CPU that came online asks too. 0 or -errno with err. */
int weir_session_add_cpu_to_triggers(struct weir_session *session, int cpu, struct weir_error *err);
/* From here on ftrace takes its snapshots with ours. After weir_session_begin_snapshots(). */
void weir_session_follow_with_ftrace(struct weir_session *session);
/* The recording ends: ftrace takes the snapshot that was asked for of the end, if one was. Before the events end. */
void weir_session_end_with_ftrace(struct weir_session *session);
void weir_session_close_triggers(struct weir_session *session);
/* Once the workload was reaped. */
bool weir_session_command_crashed(const struct weir_session *session);

/* Switches samples on or off, and says so. ctx: the session. */
void weir_session_switch_samples(void *ctx, bool on);

#endif
