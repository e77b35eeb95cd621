/* ENDING: disables events, finishes files, and releases everything. Coordinator thread. */
#include "engine/session/record_internal.h"
#include "topology/thread_affinity.h"

#define HURRIED_WAIT_MS 300  /* wait for a command after SIGTERM; most commands end at once */
#define TOLD_AFTER_MS   1000 /* then weir says that it waits */

/* ---- the command ---- */

static void tell_of_consumer(struct weir_recording *recording, enum weir_record_end end)
{
    if (!recording->files.consumer_gone)
        return;
    bool runs_on = recording->options->targets.command && !weir_workload_poll(&recording->workload);
    weir_notice(recording->options->notices, WEIR_NOTICE_WARNING, "the consumer of the recording has gone%s%s",
                end == WEIR_RECORD_END_CONSUMER ? ": recording has ended" : " before its end",
                runs_on ? "; the command runs on" : "");
}

/* Waits until the workload ends, and says so when that takes long. */
static void wait_for_command(struct weir_recording *recording)
{
    struct weir_coordinator *coordinator = &recording->coordinator;
    bool is_hurried = weir_coordinator_was_hurried(coordinator);
    if (weir_coordinator_wait_workload(coordinator, is_hurried ? HURRIED_WAIT_MS : TOLD_AFTER_MS) || is_hurried)
        return;
    weir_notice(
        recording->options->notices, WEIR_NOTICE_WARNING,
        "the file is complete; waiting for the command (pid %d), which has not ended: Ctrl-C ends weir and lets "
        "it run on",
        (int)recording->workload.pid);
    weir_coordinator_wait_workload(coordinator, -1);
}

/*
 * Ends the workload or lets it run on, once the file is whole. A workload that outlives its recording gets SIGTERM, as
 * in perf. When recording has failed, the workload is not to blame: it runs on.
 *
 * weir waits until the workload ends, for the sake of callers that wait for weir. A further signal ends the wait, not
 * the workload. After a signal that came while the file was finished, the wait is short.
 */
static void end_workload(struct weir_recording *recording, enum weir_record_end end, const struct weir_error *err)
{
    const struct weir_notice_sink *notices = recording->options->notices;
    struct weir_workload *workload = &recording->workload;
    tell_of_consumer(recording, end);
    if (!recording->options->targets.command)
        return;
    weir_recording_enter_step(recording, WEIR_ENDING_COMMAND);
    if (end == WEIR_RECORD_END_SIGNAL || end == WEIR_RECORD_END_TARGETS || end == WEIR_RECORD_END_SCHEDULE ||
        end == WEIR_RECORD_END_ASKED || end == WEIR_RECORD_END_LEASE || end == WEIR_RECORD_END_SIZE)
        weir_workload_ask_to_end(workload);
    else if (end == WEIR_RECORD_END_SPACE && !weir_workload_poll(workload))
        weir_notice(notices, WEIR_NOTICE_WARNING, "recording has ended; the command runs on");
    else if (end == WEIR_RECORD_END_OUTPUT && !weir_workload_poll(workload))
        weir_notice(notices, WEIR_NOTICE_WARNING, "recording has ended (%s); the command runs on", err->what);
    wait_for_command(recording);
    recording->result->has_workload_status = workload->reaped;
    recording->result->workload_status = workload->status;
}

void weir_recording_abandon(struct weir_recording *recording, const struct weir_error *err)
{
    struct weir_workload *workload = &recording->workload;
    if (workload->go_fd >= 0 || weir_workload_poll(workload))
        return;
    weir_event_set_disable(&recording->path.events);
    weir_sideband_halt(recording->sideband.sideband); /* the sideband thread reads the pipeline's epochs */
    weir_data_path_stop(&recording->path);
    weir_control_end(&recording->control, &recording->coordinator.late_sources);
    end_workload(recording, WEIR_RECORD_END_OUTPUT, err);
}

/* ---- the end of the data ---- */

/* Adds the sizes of rings and pool to the result. */
static void sum_rings(const struct weir_recording *recording)
{
    const struct weir_pipeline *pipeline = &recording->path.pipeline;
    struct weir_record_result *result = recording->result;
    result->ring_bytes = recording->plan.ring_bytes;
    result->rings = weir_pipeline_mapped_rings(pipeline);
    result->pool_bytes = (uint64_t)pipeline->pool.chunk_count * pipeline->pool.chunk_bytes;
}

/* Disables events and drains the rings. Returns 0; or -errno with err when writing the records of --tail-synthesize
 * failed. */
static int drain(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_event_set *events = &recording->path.events;
    weir_recording_enter_step(recording, WEIR_ENDING_DRAIN);
    bool asks_at_end = weir_trigger_sources_ask_at_end(&recording->plan, &recording->workload);
    weir_trigger_sources_end_with_ftrace(&recording->asking, asks_at_end);
    weir_event_set_end(events);
    if (!recording->told_programs) /* programs may have started during the recording */
        weir_event_set_tell_programs(events, options->notices);
    weir_event_toggle_end(&recording->toggle);
    weir_disk_guard_begin_tending(&recording->guard);
    recording->result->lost_suspended = recording->guard.lost_suspended;
    weir_file_series_conclude_rotation(&recording->files);
    int described = options->synth.at_end ? weir_beginning_synthesize(&recording->beginning, err) : 0;
    bool asked = asks_at_end || recording->files.rotation.taken_back;
    weir_pipeline_stop_readers(&recording->path.pipeline, weir_snapshots_keep_end(&recording->snapshots, asked));
    if (recording->off_cpu && described == 0)
        described = weir_off_cpu_measurement_finish(recording->off_cpu, events, &recording->path.pipeline,
                                                    recording->result, options->notices, err);
    return described;
}

int weir_recording_end(struct weir_recording *recording, struct weir_error *err)
{
    struct weir_record_result *result = recording->result;
    int described = drain(recording, err);
    sum_rings(recording);
    int code = weir_file_series_finish(&recording->files, recording->snapshots.permanent, err);
    weir_metrics_end(&recording->metrics, result, weir_recording_is_hurried, recording);
    weir_aux_keeper_sum(&recording->path.aux, &result->aux);
    if (result->end == WEIR_RECORD_END_OUTPUT && recording->files.consumer_gone)
        result->end = WEIR_RECORD_END_CONSUMER;
    weir_snapshots_end(&recording->snapshots);
    /* Otherwise a command that runs on would wait for answers of weir, and weir for the command. */
    weir_control_end(&recording->control, &recording->coordinator.late_sources);
    if (code == 0 && described < 0 && recording->files.consumer_gone) { /* a stream without a consumer is no failure */
        *err = (struct weir_error){0};
        described = 0;
    }
    code = code < 0 ? code : described;
    end_workload(recording, result->end, err);
    result->signal = recording->coordinator.ending_signal;
    return code;
}

/* ---- release ---- */

void weir_recording_release(struct weir_recording *recording)
{
    weir_sideband_halt(recording->sideband.sideband); /* the sideband thread reads the pipeline's epochs */
    weir_data_path_stop(&recording->path);
    weir_file_series_close(&recording->files);
    weir_timeline_fini(&recording->timeline);
    weir_file_facts_fini(&recording->facts); /* before the events, which own the names */
    weir_data_path_close(&recording->path);
    weir_off_cpu_free(recording->off_cpu);
    weir_sideband_host_fini(&recording->sideband);     /* after the readers, which write to its tees */
    weir_unwind_supply_free(recording->unwind_supply); /* after the stage and the sideband thread */
    weir_beginning_fini(&recording->beginning);
    weir_disk_guard_fini(&recording->guard);
    weir_append_free(recording->append);
    weir_kcore_close(&recording->kcore);
    weir_workload_fini(&recording->workload);
    weir_control_fini(&recording->control);
    weir_trigger_sources_close(&recording->asking);
    weir_status_ticker_close(&recording->ticker);
    weir_metrics_fini(&recording->metrics);
    weir_lease_close(&recording->lease);
    weir_targets_fini(&recording->targets);
    weir_cpu_follower_close(&recording->cpu_follower);
    if (recording->phase >= WEIR_RECORDING_LISTENING)
        weir_coordinator_fini(&recording->coordinator);
    weir_thread_pin(&recording->cpus_before); /* back to the CPUs of before; an empty set does nothing */
    weir_cpuset_fini(&recording->cpus_before);
    weir_recording_plan_fini(&recording->plan);
    weir_machine_facts_fini(&recording->machine);
}
