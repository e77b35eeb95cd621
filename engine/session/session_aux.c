/*
 * AUX areas of a recording: their sizes, mapping, what decoders are told of them, and when their event is switched.
 * Coordinator thread.
 *
 * The kernel disables an event whose area is full, and nothing else does it good than to be enabled by hand when there
 * is room again (perf_aux_output_begin(), kernel/events/ring_buffer.c). perf does so after each read. Here readers say
 * when it may be necessary, and it is done by the thread that knows whether the event is to be on: a disable, the end,
 * or a snapshot that comes at the same time is never undone.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/bits.h"
#include "engine/events/aux_events.h"
#include "engine/session/session.h"
#include "format/aux_records.h"

#define MEMORY_SHARE     4  /* snapshots of all areas take at most this part of the machine's memory */
#define AREA_PAGES_LEAST 2  /* of an area whose size nobody has named */
#define SPARE_PER_READER 4u /* chunks for all else, while a snapshot is taken */

static bool is_newest(const struct weir_session *session)
{
    return session->aux.mode != WEIR_AUX_FULL;
}

/* ---- before anything is opened ---- */

int weir_session_choose_aux(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    const struct weir_aux_setting setting = {
        .limits = &session->limits,
        .cpus = &session->cpus,
        .per_thread = session->per_thread,
        .system_wide = session->config.system_wide,
        .command_only = !session->config.system_wide && !weir_session_has_tasks(session) && !options->cpus,
        .clock_given = options->samples.clock.given,
        .ring_bytes_given = options->ring_bytes > 0,
        .notices = options->notices,
    };
    return weir_aux_events_prepare(options->events, &options->aux, &setting, &session->aux, err);
}

int weir_session_choose_aux_memory(struct weir_session *session, struct weir_error *err)
{
    if (session->aux.mode != WEIR_AUX_SNAPSHOT)
        return 0;
    /* All areas at once: each is one record, and no reader may wait for chunks that others wait with. */
    uint64_t memory = weir_min_u64(weir_topology_memory_bytes(session->topology), session->memory_limit.bytes);
    uint64_t places = weir_cpuset_count(&session->cpus) + weir_cpuset_count(&session->late_cpus);
    uint64_t each = weir_align_up(session->aux.snapshot_bytes, WEIR_CHUNK_MAX_BYTES) + WEIR_CHUNK_MAX_BYTES;
    uint64_t needed = places * each + (uint64_t)session->plan.reader_count * SPARE_PER_READER * WEIR_CHUNK_MAX_BYTES;
    if (session->options->buffer_bytes == 0 && needed <= memory / MEMORY_SHARE) {
        session->buffer_bytes = weir_max_u64(session->buffer_bytes, needed);
        return 0;
    }
    if (session->options->buffer_bytes >= needed)
        return 0;
    weir_error_set(err, -EINVAL, "the buffer takes no snapshot of all AUX areas: that is %llu MiB",
                   (unsigned long long)(needed >> 20));
    weir_error_hint(err,
                    "-S with a size below %llu KiB, smaller areas (-m ,SIZE), fewer CPUs (-C), or --buffer-size %lluM",
                    (unsigned long long)(session->aux.snapshot_bytes >> 10), (unsigned long long)(needed >> 20) + 1);
    return -EINVAL;
}

void weir_session_shrink_aux(struct weir_session *session)
{
    if (session->options->aux.area_bytes > 0 ||
        session->aux.area_bytes <= AREA_PAGES_LEAST * session->limits.page_bytes)
        return;
    session->aux.area_bytes /= 2;
    session->aux.snapshot_bytes = weir_min_u64(session->aux.snapshot_bytes, session->aux.area_bytes);
}

/* ---- areas ---- */

int weir_session_map_aux(struct weir_session *session, unsigned place, struct weir_reader_ring *r)
{
    if (session->aux.mode == WEIR_AUX_NONE || r->aux->area.page)
        return 0;
    const struct weir_event_place *at = &session->events.places[place];
    pid_t task = at->task >= 0 ? at->task : session->targets.tids[0];
    struct weir_aux_area area = {0};
    int result = weir_event_set_map_aux(&session->events, (unsigned)session->aux.event, place, session->aux.area_bytes,
                                        is_newest(session), &r->ring, &area);
    if (result < 0) /* a CPU that the PMU is not for has a ring without an area */
        return result == -ENOENT ? 0 : result;
    r->aux->index = place;
    r->aux->task = at->task >= 0 || !session->config.system_wide ? task : -1;
    r->aux->cpu = at->cpu;
    r->aux->entry_bytes = session->aux.alignment;
    r->aux->snapshot_bytes = session->aux.snapshot_bytes;
    r->aux->sampled = session->aux.mode == WEIR_AUX_SAMPLE;
    r->aux->area = area;
    return 0;
}

static void on_request(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    eventfd_t count;
    (void)revents;
    eventfd_read(session->pipeline.aux_fd, &count);
    for (unsigned place = 0; place < session->events.place_count; place++) {
        struct weir_reader_ring *r = weir_pipeline_ring(&session->pipeline, place, false);
        /* Acquire pairs with the reader's release: the room is there. */
        if (!r || !r->aux || !atomic_exchange_explicit(&r->aux->wants_enable, false, memory_order_acquire))
            continue;
        session->aux_requests++;
        if (session->samples_on)
            weir_event_set_enable_at(&session->events, (unsigned)session->aux.event, place);
    }
}

int weir_session_watch_aux(struct weir_session *session)
{
    if (session->aux.mode != WEIR_AUX_FULL)
        return 0;
    return weir_poll_set_add(&session->coordinator.sources, session->pipeline.aux_fd, POLLIN, on_request, session);
}

void weir_session_pause_aux(struct weir_session *session, bool paused)
{
    if (session->aux.mode != WEIR_AUX_SNAPSHOT)
        return;
    session->aux_paused = paused;
    if (session->samples_on)
        weir_event_set_switch(&session->events, (unsigned)session->aux.event, !paused);
}

void weir_session_sum_aux(struct weir_session *session)
{
    struct weir_record_aux *sum = &session->result->aux;
    sum->area_bytes = session->aux.area_bytes;
    sum->enabled_again = session->aux_requests;
    sum->bytes = session->pipeline.writer.aux_bytes;
    sum->failed_bytes = session->pipeline.writer.failed_aux_bytes;
    for (unsigned i = 0; i < session->pipeline.reader_count; i++) {
        const struct weir_reader *reader = session->pipeline.readers[i];
        for (unsigned ring = 0; ring < reader->ring_count; ring++) {
            const struct weir_reader_ring *r = &reader->rings[ring];
            if (!r->aux || !r->aux->area.page)
                continue;
            sum->areas++;
            sum->pieces += r->aux->pieces;
            sum->cut_pieces += r->aux->cut_pieces;
            sum->records += r->counts.aux_records;
            sum->truncated += r->counts.aux_truncated;
        }
    }
}

/* ---- for decoders ---- */

int weir_session_append_aux_info(const struct weir_session *session, struct weir_buf *out)
{
    if (session->aux.mode == WEIR_AUX_NONE)
        return 0;
    const struct weir_ring *ring = weir_pipeline_first_ring(&session->pipeline);
    struct weir_time_conversion conversion = {0};
    if (ring)
        weir_ring_time_conversion(ring, &conversion);
    const struct weir_aux_facts facts = {
        .time_shift = (uint16_t)conversion.shift,
        .time_mult = (uint32_t)conversion.multiplier,
        .time_zero = conversion.zero,
        .cap_user_time_zero = conversion.has_zero,
        .per_thread = session->per_thread,
        .system_wide = session->config.system_wide,
        .cpus = &session->cpus,
    };
    size_t count = weir_aux_words_max(session->events.list, weir_cpuset_count(&session->cpus));
    uint64_t *words = calloc(weir_max_u64(count, 1), sizeof(*words));
    if (!words)
        return -ENOMEM;
    uint32_t type;
    int result = weir_aux_events_describe(&session->aux, session->events.list, &facts, &type, words, &count);
    if (result == 0)
        result = weir_auxtrace_info_append(out, type, words, count);
    free(words);
    return result;
}
