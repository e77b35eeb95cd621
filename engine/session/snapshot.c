#include "engine/session/snapshot.h"

#include <errno.h>
#include <stdio.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/modes/modes.h"

#define PAUSE_GRACE_NS 100000

bool weir_snapshots_are_possible(const struct weir_snapshots *snapshots)
{
    return weir_modes_take_snapshots(&snapshots->pipeline->setup.modes);
}

/* Takes a snapshot. ends_file: the snapshot ends its file; otherwise it goes behind the present data. */
static int take(struct weir_snapshots *snapshots, bool ends_file, struct weir_error *err)
{
    if (!weir_snapshots_are_possible(snapshots)) {
        weir_error_set(err, -EOPNOTSUPP, "no snapshot: samples go to the file as they come");
        weir_error_hint(err, "record with -M SIZE or --overwrite to keep them in memory, or -S for AUX areas");
        return -EOPNOTSUPP;
    }
    if (snapshots->permanent)
        return weir_error_set(err, -EALREADY,
                              "no snapshot: recording has stopped; the samples in memory go to the file at the end");
    if (weir_rounds_snapshot_progress(&snapshots->pipeline->rounds) != WEIR_SNAPSHOT_NONE)
        return weir_error_set(err, -EBUSY, "no snapshot: the last snapshot is still being written");
    int result = ends_file ? snapshots->end_file(snapshots->end_file_ctx, err)
                           : weir_rounds_snapshot(&snapshots->pipeline->rounds);
    if (result == 0)
        snapshots->ends_file = ends_file;
    return result;
}

int weir_snapshot_dump(struct weir_snapshots *snapshots, struct weir_error *err)
{
    return take(snapshots, snapshots->end_file && snapshots->dumps_end_files, err);
}

static int take_of_pair(struct weir_snapshots *snapshots, struct weir_error *err)
{
    return take(snapshots, snapshots->end_file != NULL, err);
}

static bool needs_spare(const struct weir_snapshots *snapshots)
{
    return snapshots->pipeline->setup.retained_bytes > 0 && !weir_pipeline_has_spare(snapshots->pipeline);
}

int weir_snapshot_swap(struct weir_snapshots *snapshots, struct weir_error *err)
{
    if (snapshots->permanent || !needs_spare(snapshots))
        return take_of_pair(snapshots, err);
    weir_event_set_disable_samples(snapshots->events);
    snapshots->permanent = true;
    weir_notice(snapshots->notices, WEIR_NOTICE_WARNING,
                "snapshot not allocated: recording stops here; the samples in memory go to the file at the end");
    weir_error_set(err, -ENOSPC, "snapshot not allocated: recording has stopped");
    weir_error_hint(err, "snapshot-alloc makes the memory for it first");
    return -ENOSPC;
}

int weir_snapshot_alloc(struct weir_snapshots *snapshots, struct weir_error *err)
{
    int result = !snapshots->permanent && needs_spare(snapshots) ? weir_pipeline_make_spare(snapshots->pipeline) : 0;
    if (result == 0)
        return take_of_pair(snapshots, err);
    weir_notice(snapshots->notices, WEIR_NOTICE_WARNING,
                "no snapshot: there is no memory for a second %llu MiB; recording goes on",
                (unsigned long long)(snapshots->pipeline->retention.bytes >> 20));
    return weir_error_set_errno(err, result, "no snapshot: cannot make memory for it");
}

bool weir_snapshots_keep_end(const struct weir_snapshots *snapshots, bool asked)
{
    const struct weir_modes *modes = &snapshots->pipeline->setup.modes;
    return weir_modes_have(modes, WEIR_MODE_OVERWRITE) || snapshots->permanent ||
           (asked && weir_snapshots_are_possible(snapshots));
}

/* ---- paused rings ---- */

/* Pauses AUX areas and overwritten rings while readers copy them. ctx: the snapshots. */
static void pause(void *ctx, bool paused)
{
    struct weir_snapshots *snapshots = ctx;
    if (snapshots->aux)
        weir_aux_keeper_pause(snapshots->aux, paused);
    if (!weir_modes_have(&snapshots->pipeline->setup.modes, WEIR_MODE_OVERWRITE))
        return;
    weir_event_set_pause(snapshots->events, WEIR_PAUSE_SNAPSHOT, paused);
    if (!paused)
        return;
    /* A CPU in the middle of a record needs about a microsecond. After this pause all CPUs have finished their
     * records. */
    weir_clock_pause_ns(PAUSE_GRACE_NS);
}

/* ---- triggers ---- */

static int begun(int result)
{
    return result == 0 ? WEIR_TRIGGER_BEGUN : result;
}

static int run_dump(void *ctx, struct weir_error *err)
{
    return begun(weir_snapshot_dump(ctx, err));
}

static int run_swap(void *ctx, struct weir_error *err)
{
    return begun(weir_snapshot_swap(ctx, err));
}

static int run_alloc(void *ctx, struct weir_error *err)
{
    return begun(weir_snapshot_alloc(ctx, err));
}

/* "snapshot 2 is in the file: 6012 samples, 3.2 s". The lines at a rotation and at the end name the file. */
static void tell(struct weir_snapshots *snapshots)
{
    const struct weir_pipeline *pipeline = snapshots->pipeline;
    uint64_t samples = weir_pipeline_snapshot_samples(pipeline), span_ns = weir_pipeline_snapshot_span_ns(pipeline);
    char span[32] = "";
    if (span_ns > 0)
        snprintf(span, sizeof(span), ", %.3f s", (double)span_ns / (double)WEIR_NS_PER_S);
    weir_notice(snapshots->notices, WEIR_NOTICE_INFO, "snapshot %llu is in %s: %llu samples%s",
                (unsigned long long)pipeline->rounds.snapshots, snapshots->ends_file ? "a file of its own" : "the file",
                (unsigned long long)(samples - snapshots->told_samples), span);
    snapshots->told_samples = samples;
}

void weir_snapshots_complete(struct weir_snapshots *snapshots)
{
    enum weir_trigger running = snapshots->triggers->running;
    if (running != WEIR_TRIGGER_DUMP && running != WEIR_TRIGGER_SNAPSHOT && running != WEIR_TRIGGER_SNAPSHOT_ALLOC)
        return; /* the running trigger is a rotation */
    tell(snapshots);
    weir_triggers_complete(snapshots->triggers, running, 0, NULL);
}

/* The marker of the snapshot is on file. */
static void complete(void *ctx)
{
    struct weir_snapshots *snapshots = ctx;
    if (!snapshots->ends_file) /* otherwise the end of the file, which comes later, completes it */
        weir_snapshots_complete(snapshots);
}

void weir_snapshots_begin(struct weir_snapshots *snapshots, struct weir_triggers *triggers)
{
    static const char busy[] = "the last snapshot is still being written";
    static const struct {
        enum weir_trigger trigger;
        int (*run)(void *ctx, struct weir_error *err);
    } actions[] = {
        {WEIR_TRIGGER_DUMP, run_dump},
        {WEIR_TRIGGER_SNAPSHOT, run_swap},
        {WEIR_TRIGGER_SNAPSHOT_ALLOC, run_alloc},
    };
    struct weir_rounds *rounds = &snapshots->pipeline->rounds;
    snapshots->triggers = triggers;
    if (weir_modes_pause_for_snapshots(&snapshots->pipeline->setup.modes)) {
        rounds->pause = pause;
        rounds->pause_ctx = snapshots;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(actions); i++)
        weir_triggers_register(triggers, actions[i].trigger,
                               &(struct weir_trigger_action){.run = actions[i].run, .ctx = snapshots, .busy = busy});
    if (triggers->on_signal == WEIR_TRIGGER_NONE) /* when SIGUSR2 rotates, the rotation is a snapshot as well */
        weir_triggers_set_signal(triggers, WEIR_TRIGGER_DUMP);
    rounds->snapshot_written = complete;
    rounds->snapshot_ctx = snapshots;
}

void weir_snapshots_end(struct weir_snapshots *snapshots)
{
    if (snapshots->triggers)
        weir_snapshots_complete(snapshots);
}
