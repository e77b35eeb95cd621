/*
 * weir_record_run(): a recording from options to a finished file. Runs on the calling thread, which is the coordinator.
 *
 *     prepare   what needs no event (session_prepare.c); with --dry-run it is described and that is all
 *     open      workload held, output nameless, events and rings open, disabled
 *     begin     threads, sideband on, synthesis, events on, workload let go, the file gets its name
 *     run       the coordinator's loop
 *     end       events off, last drain, losses, features, head, fsync
 *
 * Until the file gets its name every failure leaves nothing behind and an existing file untouched.
 */
#include "engine/session/record.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/events/open_error.h"
#include "engine/kernel/privileges.h"
#include "engine/session/ledger.h"
#include "engine/session/session.h"
#include "format/zstd_pack.h"

#define OWN_THREADS (1 + WEIR_FILE_SERIES_THREADS + WEIR_SIDEBAND_THREADS) /* beside the pipeline's */

#define HURRIED_WAIT_MS 300 /* for a command that was asked to end; most do so at once */

#define ATTACH_TRIES 4 /* while threads keep starting: each try opens everything */

_Static_assert(WEIR_RECORD_COMPRESSION_MAX == WEIR_ZSTD_LEVEL_MAX, "what -z takes is what the library has");

/* ---- open ---- */

static int init_targets(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    struct weir_target_spec spec = options->target;
    if (!session->plan.config.system_wide && !weir_recording_plan_has_tasks(session->options))
        spec = (struct weir_target_spec){.kind = WEIR_TARGET_PROCESSES, .ids = &session->workload.pid, .id_count = 1};
    int result = weir_targets_find(&session->targets, &spec, NULL, err);
    if (result == 0 && weir_recording_plan_per_thread(&session->plan))
        result = weir_recording_plan_fit_tasks(&session->plan, session->targets.count, err);
    return result;
}

static void raise_fd_limit(struct weir_session *session)
{
    /* If that is not enough, what fails says so, and weir_record_run() adds the number: the spare ones are a guess. */
    if (weir_recording_plan_fds_needed(&session->plan, session->targets.count) > session->machine.limits.nofile)
        weir_kernel_limits_raise_nofile(&session->machine.limits);
}

/*
 * Lists the targets again, now that all events are open. True when there are new ones: then everything is to be opened
 * for the list that is now session's (targets.h says why).
 */
static bool found_new_targets(struct weir_session *session, unsigned tries)
{
    const struct weir_record_options *options = session->options;
    if (options->target.kind != WEIR_TARGET_PROCESSES && options->target.kind != WEIR_TARGET_USER)
        return false;
    struct weir_targets now;
    if (weir_targets_find(&now, &options->target, NULL, NULL) < 0) /* all of them have ended */
        return false;
    size_t new_count = weir_targets_count_new(&session->targets, &now);
    if (new_count == 0 || tries == ATTACH_TRIES) {
        weir_targets_fini(&now);
        if (new_count > 0)
            weir_notice(
                options->notices, WEIR_NOTICE_WARNING,
                "threads start faster than they can be attached to: %zu that have just started are not recorded",
                new_count);
        return false;
    }
    weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "%zu threads have started meanwhile: attaching again",
                new_count);
    weir_event_set_close(&session->events);
    weir_targets_fini(&session->targets);
    session->targets = now;
    return true;
}

static int open_events(struct weir_session *session, struct weir_error *err)
{
    for (unsigned tries = 1;; tries++) {
        raise_fd_limit(session);
        int result = weir_session_open_events(session, err);
        if (result < 0 || !found_new_targets(session, tries))
            return result;
    }
}

/* Halves the rings for another try. False when the user chose the size or nothing smaller is left. */
static bool shrink_rings(struct weir_session *session, int code)
{
    if (code != -EPERM || !weir_recording_plan_shrink_rings(&session->plan))
        return false;
    weir_notice(session->options->notices, WEIR_NOTICE_VERBOSE,
                "the mlock limit does not take the rings; trying %llu KiB for each CPU",
                (unsigned long long)(session->plan.ring_bytes >> 10));
    return true;
}

/* Opens events, maps rings, opens the output. The watermark is part of the attr, so a smaller ring means new events. */
static int open_everything(struct weir_session *session, struct weir_error *err)
{
    int result = init_targets(session, err);
    if (result < 0)
        return result;
    for (;;) {
        result = open_events(session, err);
        if (result == 0)
            result = weir_session_init_pipeline(session, err);
        if (result < 0)
            return result;
        result = weir_session_map_rings(session, err);
        if (result == 0)
            break;
        weir_session_close_events(session);
        if (!shrink_rings(session, result))
            return result;
    }
    session->told_programs = weir_event_set_tell_programs(&session->events, session->options->notices);
    result = weir_event_set_start_programs(&session->events, session->options->notices, err);
    if (result < 0)
        return result;
    result = weir_session_open_files(session, err);
    if (result < 0)
        return result;
    result = weir_ledger_reserve(&session->events, &session->files.told_losses, session->result);
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up the ledger") : 0;
}

/* ---- begin ---- */

/* The kernel filters tracepoints by task, and nothing else. Of named tasks weir is none, unless a user's are named. */
static void warn_about_own_samples(const struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    if (!session->plan.config.system_wide && options->target.kind != WEIR_TARGET_USER)
        return;
    for (size_t i = 0; i < options->events->count; i++) {
        const struct weir_event *event = &options->events->events[i];
        if (!event->sideband && !event->tracepoint_system) {
            weir_notice(options->notices, WEIR_NOTICE_WARNING,
                        "weir's own samples of %s are recorded: the kernel leaves tasks out of tracepoints only",
                        event->name);
            return;
        }
    }
}

static int exclude_self(struct weir_session *session, struct weir_error *err)
{
    if (!session->options->exclude_self)
        return 0;
    unsigned most = weir_pipeline_tids_max(&session->pipeline) + OWN_THREADS;
    pid_t *tids = calloc(most, sizeof(*tids));
    if (!tids)
        return weir_error_set_errno(err, -ENOMEM, "cannot exclude weir's own threads");
    unsigned count = weir_pipeline_tids(&session->pipeline, tids);
    tids[count++] = gettid();
    if (session->sideband.sideband)
        count += weir_sideband_tids(session->sideband.sideband, tids + count);
    count += weir_file_series_tids(&session->files, tids + count);
    warn_about_own_samples(session);
    int result = weir_event_set_exclude_tasks(&session->events, tids, count, err);
    free(tids);
    return result;
}

static int start_workload(struct weir_session *session, bool *workload_failed, struct weir_error *err)
{
    if (!session->options->command)
        return 0;
    int result = weir_workload_start(&session->workload, session->options->command, err);
    *workload_failed = result < 0;
    return result;
}

static int begin(struct weir_session *session, bool *workload_failed, struct weir_error *err)
{
    int result = weir_sideband_host_make(&session->sideband, &session->plan, &session->facts, &session->events,
                                         &session->pipeline, err);
    session->beginning.setup.sideband = session->sideband.sideband;
    if (result == 0)
        result = weir_file_series_prepare(&session->files, err);
    if (result == 0)
        result = weir_session_guard_disk(session, err);
    if (result == 0)
        result = weir_pipeline_start(&session->pipeline, session->files.current->output, err);
    if (result == 0)
        result = weir_sideband_host_start(&session->sideband, err);
    if (result == 0)
        result = weir_file_series_start(&session->files, err);
    if (result == 0)
        result = exclude_self(session, err);
    if (result < 0)
        return result;
    weir_notice(session->options->notices, WEIR_NOTICE_VERBOSE, "output: %s",
                weir_output_describe(session->files.current->output));

    /* Sideband first: a mapping that changes while /proc is read is then in the file twice rather than not at all. */
    if (!session->plan.config.enable_on_exec)
        weir_event_set_enable(&session->events, true);
    result = session->options->kcore ? weir_record_file_copy_kernel(session->files.current, &session->facts, err) : 0;
    if (result == 0)
        result = weir_beginning_write_first(&session->beginning, err);
    bool is_stream = session->options->output_kind == WEIR_RECORD_OUTPUT_STREAM;
    session->files.given_up = is_stream && result == -ECANCELED;
    if (session->files.given_up || (is_stream && result == -EPIPE)) {
        *err = (struct weir_error){0}; /* the loop ends at once; the command is to run all the same */
        result = 0;
    }
    if (result < 0)
        return result;
    weir_disk_guard_start(&session->guard);
    if (session->plan.config.starts_disabled)
        weir_notice(session->options->notices, WEIR_NOTICE_INFO, "Events disabled");
    else if (!session->plan.config.enable_on_exec)
        weir_event_set_enable(&session->events, false);
    result = start_workload(session, workload_failed, err);
    return result < 0 ? result : weir_file_series_name(&session->files, err);
}

/* ---- end ---- */

static void tell_of_reader(struct weir_session *session, enum weir_record_end end)
{
    if (!session->files.reader_gone)
        return;
    bool runs_on = session->options->command && !weir_workload_poll(&session->workload);
    weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "the reader of the recording has gone%s%s",
                end == WEIR_RECORD_END_READER ? ": recording has ended" : " before its end",
                runs_on ? "; the command runs on" : "");
}

/*
 * The file is whole by now. A workload that outlives its recording is terminated, as perf does; but when recording has
 * failed, that is none of the workload's business: it runs on. A caller that waits for us gets to see its end; a
 * further signal ends that wait, not the workload; after one that came while the file was finished it is a short one.
 */
static void end_workload(struct weir_session *session, enum weir_record_end end, const struct weir_error *err)
{
    struct weir_workload *workload = &session->workload;
    tell_of_reader(session, end);
    if (!session->options->command)
        return;
    if (end == WEIR_RECORD_END_SIGNAL || end == WEIR_RECORD_END_TARGETS || end == WEIR_RECORD_END_SCHEDULE ||
        end == WEIR_RECORD_END_ASKED || end == WEIR_RECORD_END_SIZE)
        weir_workload_ask_to_end(workload);
    else if (end == WEIR_RECORD_END_SPACE && !weir_workload_poll(workload))
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "recording has ended; the command runs on");
    else if (end == WEIR_RECORD_END_OUTPUT && !weir_workload_poll(workload))
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING, "recording has ended (%s); the command runs on",
                    err->what);
    weir_coordinator_wait_workload(&session->coordinator,
                                   weir_coordinator_was_hurried(&session->coordinator) ? HURRIED_WAIT_MS : -1);
    session->result->has_workload_status = workload->reaped;
    session->result->workload_status = workload->status;
}

static void tell_of_output(void *ctx)
{
    struct weir_session *session = ctx;
    weir_file_series_tell_output(&session->files);
}

static int map_rings(void *ctx, unsigned place, struct weir_error *err)
{
    struct weir_session *session = ctx;
    for (int sideband = 0; sideband < 2; sideband++) {
        int result = weir_session_map_ring(session, place, sideband);
        if (result < 0)
            return weir_session_explain_map(session, place, sideband, result, err);
    }
    return 0;
}

static int add_to_triggers(void *ctx, int cpu, struct weir_error *err)
{
    return weir_session_add_cpu_to_triggers(ctx, cpu, err);
}

static int follow_cpus(struct weir_session *session)
{
    return weir_cpu_follower_watch(
        &session->cpu_follower,
        &(struct weir_cpu_follower_setup){
            .sources = &session->coordinator.sources,
            .events = &session->events,
            .cpus = &session->plan.cpus,
            .pipeline = &session->pipeline,
            .limits = &session->machine.limits,
            .suspended = &weir_clock_suspended,
            .notices = session->options->notices,
            .list_id = session->facts.descriptions[0].ids[0],
            .expects_all_cpus = !session->options->cpus && !weir_recording_plan_per_thread(&session->plan),
            .map_rings = map_rings,
            .add_to_triggers = add_to_triggers,
            .ctx = session,
        });
}

/* What the coordinator's loop listens to, and what it does of itself. */
static int watch(struct weir_session *session, struct weir_error *err)
{
    struct weir_coordinator *coordinator = &session->coordinator;
    struct weir_workload *workload = session->options->command ? &session->workload : NULL;
    coordinator->schedule = &session->options->schedule;
    coordinator->switch_events = weir_session_switch_samples;
    coordinator->switch_ctx = session;
    coordinator->writer_calls = tell_of_output;
    coordinator->writer_ctx = session;
    int result = weir_coordinator_watch(coordinator, &session->pipeline, workload,
                                        weir_recording_plan_has_tasks(session->options));
    if (result == 0)
        result = follow_cpus(session);
    if (result == 0)
        result = weir_aux_keeper_watch(&session->aux, &coordinator->sources);
    return result < 0 ? weir_error_set_errno(err, result, "cannot watch the recording") : 0;
}

/* The file could not get its name: nothing is recorded any more, and a command that was let go runs on, as it does when
 * recording fails later. */
static void abandon(struct weir_session *session, const struct weir_error *err)
{
    struct weir_workload *workload = &session->workload;
    if (workload->go_fd >= 0 || weir_workload_poll(workload))
        return;
    weir_event_set_disable(&session->events);
    weir_sideband_halt(session->sideband.sideband); /* it looks at the pipeline's epochs */
    weir_pipeline_stop(&session->pipeline);
    weir_control_end(&session->control, &session->coordinator.late_sources);
    end_workload(session, WEIR_RECORD_END_OUTPUT, err);
}

static int finish(struct weir_session *session, struct weir_error *err)
{
    struct weir_record_result *result = session->result;
    weir_session_end_with_ftrace(session);
    weir_event_set_end(&session->events);
    if (!session->told_programs) /* they may have come meanwhile */
        weir_event_set_tell_programs(&session->events, session->options->notices);
    session->samples_on = false;
    weir_aux_keeper_set_on(&session->aux, false); /* the end of a snapshot enables nothing any more */
    weir_disk_guard_settle(&session->guard);
    result->lost_suspended = session->guard.lost_suspended;
    weir_file_series_settle(&session->files);
    int described = session->options->tail_synthesize ? weir_beginning_synthesize(&session->beginning, err) : 0;
    weir_pipeline_stop_readers(&session->pipeline, weir_session_ends_with_snapshot(session));
    int code = weir_session_finish(session, err);
    if (result->end == WEIR_RECORD_END_OUTPUT && session->files.reader_gone)
        result->end = WEIR_RECORD_END_READER;
    weir_snapshots_end(&session->snapshots);
    /* Else a command that runs on would wait for answers, and we for it. */
    weir_control_end(&session->control, &session->coordinator.late_sources);
    if (code == 0 && described < 0 && session->files.reader_gone) { /* which is no failure, whoever met it first */
        *err = (struct weir_error){0};
        described = 0;
    }
    code = code < 0 ? code : described;
    end_workload(session, result->end, err);
    result->signal = session->coordinator.ending_signal;
    return code;
}

static int record(struct weir_session *session, bool *workload_failed, struct weir_error *err)
{
    int result = weir_session_prepare(session, err);
    if (result < 0)
        return result;
    result = weir_session_tell_plan(session, err);
    if (result < 0)
        return result;
    if (session->options->dry_run) {
        session->result->end = WEIR_RECORD_END_DRY_RUN;
        return 0;
    }

    result = weir_coordinator_init(&session->coordinator, err);
    session->coordinating = result == 0;
    if (result == 0)
        result = weir_session_open_control(session, err);
    session->workload.off_stdout = session->options->output_kind == WEIR_RECORD_OUTPUT_STREAM;
    session->workload.environment = session->control.environment;
    session->workload.ignored = session->options->caller.ignored_before;
    if (result == 0 && session->options->command)
        result = weir_workload_prepare(&session->workload, session->options->command, &session->coordinator.mask_before,
                                       err);
    weir_session_enter_house(session); /* after the workload was forked: it may run anywhere */
    if (result == 0)
        result = open_everything(session, err);
    if (result == 0)
        result = weir_session_open_triggers(session, err);
    if (result == 0) {
        if (session->options->caller.drop_privileges)
            weir_privileges_drop_unneeded(); /* before the threads, which inherit what is left */
        result = watch(session, err);
    }
    if (result == 0)
        result = begin(session, workload_failed, err);
    if (result < 0) {
        abandon(session, err);
        return result;
    }

    weir_session_begin_snapshots(session);
    weir_session_follow_with_ftrace(session);
    session->started_ns = weir_clock_now_ns(session->clock);
    session->samples_on = !session->plan.config.starts_disabled;
    weir_aux_keeper_set_on(&session->aux, session->samples_on);
    session->result->end = weir_coordinator_run(&session->coordinator);
    return finish(session, err);
}

int weir_record_run(const struct weir_record_options *options, struct weir_record_result *result, bool *workload_failed,
                    struct weir_error *err)
{
    memset(result, 0, sizeof(*result));
    *workload_failed = false;
    struct weir_session session = {
        .options = options,
        .kernel = &weir_kernel_linux,
        .clock = &weir_clock_monotonic,
        .day = &weir_clock_day,
        .result = result,
        .workload = WEIR_WORKLOAD_INIT,
        .cpu_follower = WEIR_CPU_FOLLOWER_INIT,
        .aux = WEIR_AUX_KEEPER_INIT,
    };
    int code = record(&session, workload_failed, err);
    if (code == -EMFILE)
        weir_open_error_hint_files(err, weir_recording_plan_fds_needed(&session.plan, session.targets.count),
                                   &session.machine.limits);
    if (code == -EFBIG)
        weir_error_hint(err, "the size of files is limited: ulimit -f shows to how much");
    weir_session_release(&session);
    return code;
}

void weir_record_result_fini(struct weir_record_result *result)
{
    if (result)
        weir_ledger_release(result);
}
