/* OPENING: opens events and rings, disabled, and the first file, without a name. Coordinator thread. */
#include <errno.h>

#include "base/remedy.h"
#include "engine/files/ledger.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/session/record_internal.h"

#define ATTACH_TRIES 4 /* while threads keep starting; each try opens all events again */

/* ---- targets ---- */

/* Leaves the siblings out when the limit on descriptors is too low for them. Returns whether it did. */
static bool leave_out_siblings(const struct weir_recording *recording, struct weir_targets *targets)
{
    if (targets->sibling_count == 0 ||
        weir_recording_plan_fds_needed(&recording->plan, targets) <= recording->machine.limits.nofile_max)
        return false;
    targets->sibling_count = 0;
    return true;
}

static void tell_left_out(const struct weir_recording *recording, uint64_t fds_needed)
{
    char command[WEIR_REMEDY_BYTES];
    weir_notice(recording->options->notices, WEIR_NOTICE_WARNING,
                "code that other threads of the process map from now on is not recorded: that takes %llu file "
                "descriptors, and at most %llu are allowed: %s",
                (unsigned long long)fds_needed, (unsigned long long)recording->machine.limits.nofile_max,
                weir_remedy(WEIR_REMEDY_NOFILE_HARD, (int64_t)fds_needed, command));
}

static int find_targets(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_target_spec spec = options->targets.spec;
    if (!recording->plan.config.system_wide && !weir_recording_plan_has_tasks(&options->targets))
        spec = (struct weir_target_spec){.kind = WEIR_TARGET_PROCESSES, .ids = &recording->workload.pid, .id_count = 1};
    int result = weir_targets_find(&recording->targets, &spec, NULL, err);
    if (result == 0 && weir_recording_plan_per_thread(&recording->plan))
        result = weir_recording_plan_fit_tasks(&recording->plan, recording->targets.count, err);
    uint64_t fds_needed = result == 0 ? weir_recording_plan_fds_needed(&recording->plan, &recording->targets) : 0;
    if (result == 0 && leave_out_siblings(recording, &recording->targets))
        tell_left_out(recording, fds_needed);
    return result;
}

static void raise_fd_limit(struct weir_recording *recording)
{
    struct weir_kernel_limits *limits = &recording->machine.limits;
    /* The number of spare descriptors is a guess. If the limit is too low, the failing call says so, and
     * weir_record_run() adds the needed number. */
    if (weir_recording_plan_fds_needed(&recording->plan, &recording->targets) > limits->nofile)
        weir_kernel_limits_raise_nofile(limits);
}

/*
 * Lists the targets again, now that all events are open. True when there are new targets. The new list is then the list
 * of the recording, and the caller opens everything again for it (targets.h says why).
 */
static bool found_new_targets(struct weir_recording *recording, unsigned tries)
{
    const struct weir_record_options *options = recording->options;
    if (!weir_recording_plan_has_tasks(&options->targets))
        return false;
    struct weir_targets now;
    if (weir_targets_find(&now, &options->targets.spec, NULL, NULL) < 0) /* all targets have ended */
        return false;
    (void)leave_out_siblings(recording, &now);
    size_t new_count = weir_targets_count_new(&recording->targets, &now);
    if (new_count == 0 || tries == ATTACH_TRIES) {
        weir_targets_fini(&now);
        if (new_count > 0)
            weir_notice(options->notices, WEIR_NOTICE_WARNING, "missed %zu newly started thread%s", new_count,
                        new_count == 1 ? "" : "s");
        return false;
    }
    weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "%zu threads have started meanwhile: attaching again",
                new_count);
    weir_event_set_close(&recording->path.events);
    weir_targets_fini(&recording->targets);
    recording->targets = now;
    return true;
}

/* ---- events and rings ---- */

static int open_events(struct weir_recording *recording, struct weir_error *err)
{
    for (unsigned tries = 1;; tries++) {
        raise_fd_limit(recording);
        int result = weir_data_path_open_events(&recording->path, err);
        if (result < 0 || !found_new_targets(recording, tries))
            return result;
    }
}

/* Halves the rings for another try. False when the user chose the size, or the rings cannot get smaller. */
static bool shrink_rings(struct weir_recording *recording, int code)
{
    if (code != -EPERM || !weir_recording_plan_shrink_rings(&recording->plan))
        return false;
    weir_notice(recording->options->notices, WEIR_NOTICE_VERBOSE,
                "the mlock limit is too low for the rings; trying %llu KiB for each CPU",
                (unsigned long long)(recording->plan.ring_bytes >> 10));
    return true;
}

/* Opens events and maps their rings. The watermark is part of the attr, so smaller rings need new events. */
static int open_rings(struct weir_recording *recording, struct weir_error *err)
{
    struct weir_data_path *path = &recording->path;
    for (;;) {
        int result = open_events(recording, err);
        if (result == 0)
            result = weir_data_path_make_pipeline(path, err);
        if (result < 0)
            return result;
        result = weir_data_path_map_rings(path, err);
        if (result == 0)
            return 0;
        weir_data_path_close(path);
        if (!shrink_rings(recording, result))
            return result;
    }
}

static void tell_timer_storm(const struct weir_recording *recording)
{
    const char *event = weir_event_set_timer_storm(&recording->path.events);
    if (event)
        weir_notice(recording->options->notices, WEIR_NOTICE_WARNING,
                    "event %s interrupts each CPU %u times a second: programs may get little CPU time; -F 10000 leaves "
                    "most of it",
                    event, WEIR_TIMER_STORM_HZ);
}

static int start_programs(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_notice_sink *notices = recording->options->notices;
    tell_timer_storm(recording);
    recording->told_programs = weir_event_set_tell_programs(&recording->path.events, notices);
    int result = weir_event_set_start_programs(&recording->path.events, notices, err);
    if (result == 0 && recording->off_cpu)
        result = weir_off_cpu_measurement_find_tasks(recording->off_cpu, &recording->plan, err);
    return result;
}

/* ---- the first file ---- */

static int gather_facts(struct weir_recording *recording, struct weir_error *err)
{
    return weir_file_facts_gather(&recording->facts,
                                  &(struct weir_file_facts_sources){
                                      .options = recording->options,
                                      .events = &recording->path.events,
                                      .config = &recording->plan.config,
                                      .topology = recording->machine.topology,
                                      .clock_reference = &recording->machine.clock_reference,
                                      .append = recording->append,
                                      .kcore = &recording->kcore,
                                      .chunk_bytes = recording->path.pipeline.pool.chunk_bytes,
                                  },
                                  err);
}

static int append_aux_info(void *ctx, struct weir_buf *out)
{
    return weir_aux_keeper_append_info(ctx, out);
}

static void init_beginning(struct weir_recording *recording)
{
    weir_beginning_init(&recording->beginning, &(struct weir_beginning_setup){
                                                   .plan = &recording->plan,
                                                   .facts = &recording->facts,
                                                   .events = &recording->path.events,
                                                   .targets = &recording->targets,
                                                   .pipeline = &recording->path.pipeline,
                                                   .workload = &recording->workload.pid,
                                                   .append_aux_info = append_aux_info,
                                                   .aux_ctx = &recording->path.aux,
                                               });
}

static void tell_cpus_again(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_cpu_follower_tell_again(&recording->cpu_follower);
}

static void end_part_of_timeline(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_timeline_end_file(&recording->timeline);
}

static void end_timeline(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_timeline_end(&recording->timeline, recording->result);
    recording->result->longest_delay_ns = recording->timeline.longest_delay_ns;
}

static void complete_snapshot(void *ctx)
{
    struct weir_recording *recording = ctx;
    weir_snapshots_complete(&recording->snapshots);
}

static void init_files(struct weir_recording *recording)
{
    weir_file_series_init(&recording->files, &(struct weir_file_series_setup){
                                                 .plan = &recording->plan,
                                                 .limits = &recording->machine.limits,
                                                 .facts = &recording->facts,
                                                 .beginning = &recording->beginning,
                                                 .events = &recording->path.events,
                                                 .pipeline = &recording->path.pipeline,
                                                 .sideband = &recording->sideband,
                                                 .append = recording->append,
                                                 .result = recording->result,
                                                 .clock = &weir_clock_monotonic,
                                                 .day = &weir_clock_day,
                                                 .sources = &recording->coordinator.sources,
                                                 .triggers = &recording->coordinator.triggers,
                                                 .child_mask = &recording->coordinator.mask_before,
                                                 .hooks = {.file_ends = end_part_of_timeline,
                                                           .later_file_began = tell_cpus_again,
                                                           .losses_counted = end_timeline,
                                                           .snapshot_ended = complete_snapshot,
                                                           .is_hurried = weir_recording_is_hurried,
                                                           .enter_step = weir_recording_enter_step,
                                                           .ctx = recording},
                                             });
}

/* ---- sources of triggers ---- */

static int open_asking(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_trigger_sources_setup setup = {
        .plan = &recording->plan,
        .kernel = &weir_kernel_linux,
        .targets = &recording->targets,
        .clock = &weir_clock_monotonic,
        .sources = &recording->coordinator.sources,
        .triggers = &recording->coordinator.triggers,
    };
    return weir_trigger_sources_open(&recording->asking, &setup, &recording->path.events, err);
}

/* ---- opening ---- */

/* Called while a thread waits for the output. Any thread calls, one at a time; the coordinator waits for the caller, or
 * is the caller. */
static void while_waiting(void *ctx)
{
    struct weir_recording *recording = ctx;
    struct weir_coordinator *coordinator = &recording->coordinator;
    if (recording->options->output.kind != WEIR_RECORD_OUTPUT_STREAM) {
        weir_disk_guard_tend(&recording->guard);
        return;
    }
    bool was_hurried = weir_coordinator_was_hurried(coordinator);
    if (!weir_coordinator_is_hurried(coordinator))
        return;
    if (!was_hurried)
        weir_notice(recording->options->notices, WEIR_NOTICE_WARNING,
                    "signal while the consumer of the recording does not read: its unread rest is given up");
    weir_writer_give_up_stream(&recording->path.pipeline.writer);
}

static int make_unwind_supply(struct weir_recording *recording, struct weir_error *err)
{
    if (!recording->plan.unwinds)
        return 0;
    int result = weir_unwind_supply_new(&recording->unwind_supply, &(struct weir_file_opener_setup){.open = NULL});
    return result < 0 ? weir_error_set_errno(err, result, "cannot set up the unwinding of stacks") : 0;
}

int weir_recording_open(struct weir_recording *recording, struct weir_error *err)
{
    int result = find_targets(recording, err);
    if (result == 0 && weir_modes_have(&recording->plan.modes, WEIR_MODE_OFF_CPU))
        result = weir_off_cpu_measurement_open(&recording->off_cpu, &recording->plan, &recording->targets,
                                               recording->workload.pid, err);
    if (result == 0)
        result = make_unwind_supply(recording, err);
    if (result < 0)
        return result;
    weir_data_path_init(&recording->path,
                        &(struct weir_data_path_setup){
                            .plan = &recording->plan,
                            .kernel = &weir_kernel_linux,
                            .clock = &weir_clock_monotonic,
                            .targets = &recording->targets,
                            .off_cpu = recording->off_cpu,
                            .unwind_source = weir_unwind_supply_source(recording->unwind_supply),
                            .pins_readers = weir_topology_is_this_machine(recording->machine.topology),
                            .while_waiting = while_waiting,
                            .waiting_ctx = recording,
                        });
    result = open_rings(recording, err);
    if (result == 0)
        result = start_programs(recording, err);
    if (result == 0)
        result = gather_facts(recording, err);
    if (result < 0)
        return result;
    init_beginning(recording);
    init_files(recording);
    result = weir_ledger_reserve(&recording->path.events, &recording->files.told_losses, recording->result);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the ledger");
    result = weir_file_series_open(&recording->files, err);
    return result < 0 ? result : open_asking(recording, err);
}
