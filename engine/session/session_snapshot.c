/* What a recording keeps in memory: sizes, description, and when it goes to the file. Coordinator thread. */
#include <errno.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/session/session.h"

#define RETAINED_MEMORY_SHARE 4 /* live and spare are each at most this part of the machine's memory */
#define PAUSE_GRACE_NS        100000
#define PASSING_PER_READER    (8ull << 20) /* side records, and what comes while a snapshot is being written */

int weir_session_choose_memory(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    uint64_t memory = weir_min_u64(weir_topology_memory_bytes(session->topology), session->memory_limit.bytes);
    unsigned readers = session->plan.reader_count;
    uint64_t bytes = options->retained_bytes;
    if (session->overwrite) {
        /* All rings at once, in whole chunks, so that a snapshot need not wait for the disk while they are paused. */
        uint64_t rings_bytes = session->ring_bytes * weir_session_places(session);
        uint64_t wanted = weir_max_u64(session->buffer_bytes, weir_align_up(rings_bytes, WEIR_CHUNK_MAX_BYTES));
        session->grow_pool = false;
        if (options->buffer_bytes == 0)
            session->buffer_bytes = weir_min_u64(wanted, memory / RETAINED_MEMORY_SHARE);
    }
    if (bytes == 0 && options->retained_span_ns == 0)
        return 0;
    if (bytes == 0)
        bytes = weir_retention_default_bytes(memory, readers);
    session->retained_bytes = weir_retention_plan(bytes, options->retained_span_ns, readers).bytes;
    if (session->retained_bytes > memory / RETAINED_MEMORY_SHARE) {
        weir_error_set(err, -EINVAL, "cannot keep %llu MiB in memory: %s has %llu MiB",
                       (unsigned long long)(session->retained_bytes >> 20),
                       memory == session->memory_limit.bytes ? "its cgroup" : "the machine",
                       (unsigned long long)(memory >> 20));
        weir_error_hint(err,
                        "at most a quarter of it, -M %lluM; each of %u readers needs %u KiB or more, see --threads",
                        (unsigned long long)(memory / RETAINED_MEMORY_SHARE >> 20), readers,
                        WEIR_RETENTION_CHUNKS_MIN * WEIR_CHUNK_MIN_BYTES >> 10);
        return -EINVAL;
    }
    session->grow_pool = false; /* a recorder that runs for days needs its memory from the start */
    if (options->buffer_bytes == 0)
        session->buffer_bytes = weir_min_u64(session->buffer_bytes, readers * PASSING_PER_READER);
    return 0;
}

void weir_session_describe_memory(const struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    if (session->retained_bytes == 0)
        return;
    struct weir_retention_plan plan =
        weir_retention_plan(session->retained_bytes, options->retained_span_ns, session->plan.reader_count);
    weir_notice(options->notices, WEIR_NOTICE_VERBOSE,
                "memory: %llu KiB of the pool for samples (%u chunks of %u KiB for each of %u readers), and as much "
                "again when snapshot-alloc asks for it",
                (unsigned long long)(plan.bytes >> 10), plan.chunks_per_reader, plan.chunk_bytes >> 10,
                session->plan.reader_count);
}

void weir_session_pause_rings(struct weir_session *session)
{
    weir_event_set_pause(&session->events, session->snapshot_pauses || session->guard.suspended);
}

static void pause_rings(void *ctx, bool paused)
{
    struct weir_session *session = ctx;
    weir_session_pause_aux(session, paused); /* disabling waits for the CPU that runs it: what it wrote is whole */
    if (!session->overwrite)
        return;
    session->snapshot_pauses = paused;
    weir_session_pause_rings(session);
    if (!paused)
        return;
    /* Who is in the middle of a record holds its CPU for about a microsecond; all are out of it after this. */
    weir_clock_pause_ns(PAUSE_GRACE_NS);
}

bool weir_session_pair_ends_file(const struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    const struct weir_switch_options *asked = &options->switching;
    bool is_plain = options->output_kind == WEIR_RECORD_OUTPUT_FILE && !options->kcore && !options->append;
    bool keeps_samples = session->retained_bytes > 0 || session->overwrite;
    return is_plain && keeps_samples && !asked->enabled && !asked->timestamp && !asked->command;
}

static int end_file(void *ctx, struct weir_error *err)
{
    struct weir_session *session = ctx;
    return weir_session_switch_begin(&session->change, err);
}

void weir_session_begin_snapshots(struct weir_session *session)
{
    session->snapshots = (struct weir_snapshots){
        .pipeline = &session->pipeline,
        .events = &session->events,
        .notices = session->options->notices,
        .end_file = session->options->switching.each_snapshot || weir_session_pair_ends_file(session) ? end_file : NULL,
        .end_file_ctx = session,
        .dumps_end_files = session->options->switching.each_snapshot,
    };
    if (session->overwrite || session->aux.mode == WEIR_AUX_SNAPSHOT) {
        session->pipeline.rounds.pause = pause_rings;
        session->pipeline.rounds.pause_ctx = session;
    }
    if (weir_snapshots_are_possible(&session->snapshots))
        weir_snapshots_begin(&session->snapshots, &session->coordinator.triggers);
}

bool weir_session_end_asks_for_snapshot(const struct weir_session *session)
{
    return session->options->snapshot_on_exit || session->aux.snapshot_on_exit ||
           (session->options->snapshot_on.crash && weir_session_command_crashed(session));
}

bool weir_session_ends_with_snapshot(const struct weir_session *session)
{
    bool is_asked = weir_snapshots_are_possible(&session->snapshots) && weir_session_end_asks_for_snapshot(session);
    return session->overwrite || is_asked || session->snapshots.permanent || session->change.taken_back;
}
