/*
 * weir_record_run(): from options to finished files. The calling thread is the coordinator. record_internal.h lists the
 * phases; each has a file of its own.
 *
 * A failure before the file gets its name leaves nothing behind, and an existing file untouched.
 */
#include "engine/session/record.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "engine/events/open_error.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/thread_priority.h"
#include "engine/session/record_internal.h"
#include "format/zstd_pack.h"

_Static_assert(WEIR_RECORD_COMPRESSION_MAX == WEIR_ZSTD_LEVEL_MAX, "-z takes the levels of the library");

#define TO(phase) (1u << (phase))

/* The phases that may follow each phase. */
static const unsigned transitions[WEIR_RECORDING_PHASES] = {
    [WEIR_RECORDING_PLANNING] = TO(WEIR_RECORDING_LISTENING) | TO(WEIR_RECORDING_OVER),
    [WEIR_RECORDING_LISTENING] = TO(WEIR_RECORDING_OPENING) | TO(WEIR_RECORDING_OVER),
    [WEIR_RECORDING_OPENING] = TO(WEIR_RECORDING_STARTING) | TO(WEIR_RECORDING_OVER),
    [WEIR_RECORDING_STARTING] = TO(WEIR_RECORDING_RUNNING) | TO(WEIR_RECORDING_OVER),
    [WEIR_RECORDING_RUNNING] = TO(WEIR_RECORDING_ENDING),
    [WEIR_RECORDING_ENDING] = TO(WEIR_RECORDING_OVER),
    [WEIR_RECORDING_OVER] = 0,
};

static void enter(struct weir_recording *recording, enum weir_recording_phase phase)
{
    weir_assert(transitions[recording->phase] & TO(phase));
    recording->phase = phase;
}

bool weir_recording_is_hurried(void *ctx)
{
    struct weir_recording *recording = ctx;
    return weir_coordinator_is_hurried(&recording->coordinator);
}

void weir_recording_enter_step(void *ctx, enum weir_ending_step step)
{
    const struct weir_recording *recording = ctx;
    const struct weir_record_watch *watch = recording->options->watch;
    if (watch && watch->enter_step)
        watch->enter_step(watch->ctx, step);
}

/* Goes from a held command to a running, recorded command. Returns 0 or -errno with err. */
static int bring_up(struct weir_recording *recording, bool *workload_failed, struct weir_error *err)
{
    int result = weir_recording_listen(recording, err);
    if (result < 0)
        return result;
    enter(recording, WEIR_RECORDING_OPENING);
    result = weir_recording_open(recording, err);
    if (result < 0)
        return result;
    if (recording->options->caller.drop_privileges)
        weir_privileges_drop_unneeded(); /* before the threads start, which inherit the remaining privileges */
    if (recording->options->caller.drop_privileges && !recording->options->rotation.command)
        weir_privileges_execute_nothing(); /* the command of --on-rotate may be any program of the user */
    result = weir_recording_watch(recording, err);
    if (result < 0)
        return result;
    enter(recording, WEIR_RECORDING_STARTING);
    return weir_recording_start(recording, workload_failed, err);
}

static int record(struct weir_recording *recording, bool *workload_failed, struct weir_error *err)
{
    int result = weir_recording_make_plan(recording, err);
    if (result < 0)
        return result;
    if (recording->options->dry_run) {
        recording->result->end = WEIR_RECORD_END_DRY_RUN;
        return 0;
    }
    result = weir_coordinator_init(&recording->coordinator, err);
    if (result < 0)
        return result;
    enter(recording, WEIR_RECORDING_LISTENING);
    result = bring_up(recording, workload_failed, err);
    if (result < 0) {
        weir_recording_abandon(recording, err);
        return result;
    }
    enter(recording, WEIR_RECORDING_RUNNING);
    weir_notice_limiter_start(recording->notices.limiter);
    if (weir_event_set_timer_storm(&recording->path.events))
        weir_thread_prioritize(0); /* or the end that a user asks for would come late */
    recording->running_since_ns = weir_clock_now_ns(&weir_clock_monotonic);
    if (recording->options->lease_s > 0)
        weir_lease_renew(&recording->lease, err); /* cannot fail: the lease is open */
    weir_event_toggle_begin(&recording->toggle, !recording->plan.config.starts_disabled);
    const struct weir_record_watch *watch = recording->options->watch;
    if (watch && watch->started)
        watch->started(watch->ctx);
    recording->result->end = weir_coordinator_run(&recording->coordinator);
    enter(recording, WEIR_RECORDING_ENDING);
    return weir_recording_end(recording, err);
}

int weir_record_run(const struct weir_record_options *options, struct weir_record_result *result, bool *workload_failed,
                    struct weir_error *err)
{
    memset(result, 0, sizeof(*result));
    *workload_failed = false;
    struct weir_record_options limited = *options;
    struct weir_recording recording = {
        .options = &limited,
        .result = result,
        .workload = WEIR_WORKLOAD_INIT,
        .cpu_follower = WEIR_CPU_FOLLOWER_INIT,
        .timeline = WEIR_TIMELINE_INIT,
        .metrics = WEIR_METRICS_INIT,
        .lease = WEIR_LEASE_INIT,
        .path.aux = WEIR_AUX_KEEPER_INIT,
    };
    if (options->notices)
        recording.notices = *options->notices;
    recording.notices.limiter = weir_notice_limiter_new(&weir_clock_monotonic);
    limited.notices = &recording.notices;
    int code = record(&recording, workload_failed, err);
    if (code == -EMFILE)
        weir_open_error_hint_files(err, weir_recording_plan_fds_needed(&recording.plan, &recording.targets),
                                   &recording.machine.limits);
    if (code == -EFBIG)
        weir_error_hint(err, "the size of files is limited: ulimit -f shows to how much");
    weir_recording_release(&recording);
    enter(&recording, WEIR_RECORDING_OVER);
    weir_notice_limiter_free(recording.notices.limiter, options->notices);
    return code;
}
