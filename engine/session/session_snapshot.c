/* What a recording keeps in memory: sizes, description, and when it goes to the file. Coordinator thread. */
#include <errno.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/session/session.h"

#define RETAINED_MEMORY_SHARE 4 /* live and spare are each at most this part of the machine's memory */
#define PAUSE_GRACE_NS        100000
#define PASSING_PER_READER    (8ull << 20) /* side records, and what comes while a snapshot is being written */

void weir_session_pause_rings(struct weir_session *session)
{
    weir_event_set_pause(&session->events, session->snapshot_pauses || session->guard.suspended);
}

static void pause_rings(void *ctx, bool paused)
{
    struct weir_session *session = ctx;
    weir_aux_keeper_pause(&session->aux, paused);
    if (!weir_modes_have(&session->plan.modes, WEIR_MODE_OVERWRITE))
        return;
    session->snapshot_pauses = paused;
    weir_session_pause_rings(session);
    if (!paused)
        return;
    /* Who is in the middle of a record holds its CPU for about a microsecond; all are out of it after this. */
    weir_clock_pause_ns(PAUSE_GRACE_NS);
}

static int end_file(void *ctx, struct weir_error *err)
{
    struct weir_session *session = ctx;
    return weir_file_series_rotate(&session->files, err);
}

void weir_session_begin_snapshots(struct weir_session *session)
{
    session->snapshots = (struct weir_snapshots){
        .pipeline = &session->pipeline,
        .events = &session->events,
        .notices = session->options->notices,
        .end_file = weir_modes_snapshots_end_files(&session->plan.modes) ? end_file : NULL,
        .end_file_ctx = session,
        .dumps_end_files = session->options->switching.each_snapshot,
    };
    if (weir_modes_pause_for_snapshots(&session->plan.modes)) {
        session->pipeline.rounds.pause = pause_rings;
        session->pipeline.rounds.pause_ctx = session;
    }
    if (weir_snapshots_are_possible(&session->snapshots))
        weir_snapshots_begin(&session->snapshots, &session->coordinator.triggers);
}

bool weir_session_end_asks_for_snapshot(const struct weir_session *session)
{
    return session->options->snapshot_on_exit || session->plan.aux.snapshot_on_exit ||
           (session->options->snapshot_on.crash && weir_session_command_crashed(session));
}

bool weir_session_ends_with_snapshot(const struct weir_session *session)
{
    bool is_asked = weir_snapshots_are_possible(&session->snapshots) && weir_session_end_asks_for_snapshot(session);
    return weir_modes_have(&session->plan.modes, WEIR_MODE_OVERWRITE) || is_asked || session->snapshots.permanent ||
           session->files.rotation.taken_back;
}
