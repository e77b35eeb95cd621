/* What a recording does at the word of its clients: events on and off, what they are, how it goes. Coordinator thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/session/session.h"
#include "format/attr_text.h"

/* ---- events on and off ---- */

/* perf's words, for scripts that wait for them. */
void weir_session_switch_samples(void *ctx, bool on)
{
    struct weir_session *session = ctx;
    if (on && session->snapshots.permanent)
        return; /* a window of -D begins */
    if (on)
        weir_event_set_enable(&session->events, false);
    else
        weir_event_set_disable_samples(&session->events);
    session->samples_on = on;
    weir_aux_keeper_set_on(&session->aux, on);
    weir_notice(session->options->notices, WEIR_NOTICE_INFO, on ? "Events enabled" : "Events disabled");
}

/* What comes now would push the snapshot out of memory. */
static int refuse_permanent(const struct weir_session *session, struct weir_error *err)
{
    if (!session->snapshots.permanent)
        return 0;
    return weir_error_set(err, -EALREADY, "memory holds a permanent snapshot: it stays as it is until the end");
}

static int enable(void *ctx, struct weir_error *err)
{
    int result = refuse_permanent(ctx, err);
    if (result == 0)
        weir_session_switch_samples(ctx, true);
    return result;
}

static int disable(void *ctx, struct weir_error *err)
{
    (void)err;
    weir_session_switch_samples(ctx, false);
    return 0;
}

static int refuse_member(const struct weir_event_list *list, const struct weir_event *event, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "event '%s' counts with its group", event->name);
    weir_error_hint(err, "name the group's leader, '%s'", list->events[event->leader].name);
    return -EINVAL;
}

static int switch_event(void *ctx, const char *name, bool on, struct weir_error *err)
{
    struct weir_session *session = ctx;
    const struct weir_event_list *list = session->events.list;
    unsigned found = 0;
    for (unsigned i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (event->sideband || strcmp(event->name, name) != 0)
            continue;
        int result = event->leader != i ? refuse_member(list, event, err) : on ? refuse_permanent(session, err) : 0;
        if (result < 0)
            return result;
        weir_event_set_toggle(&session->events, i, on);
        if (session->plan.aux.mode != WEIR_AUX_NONE && i == session->plan.aux.event)
            weir_aux_keeper_set_on(&session->aux, on);
        found++;
    }
    if (found == 0) {
        weir_error_set(err, -ENOENT, "there is no event '%s'", name);
        weir_error_hint(err, "evlist tells which there are");
        return -ENOENT;
    }
    session->samples_on |= on;
    weir_notice(session->options->notices, WEIR_NOTICE_INFO, "Event %s %s", name, on ? "enabled" : "disabled");
    return 0;
}

/* ---- evlist ---- */

static bool leads_others(const struct weir_event_list *list, size_t leader)
{
    for (size_t i = leader + 1; i < list->count; i++) {
        if (list->events[i].leader == leader)
            return true;
    }
    return false;
}

/* "{a,b}", for a group's leader; nothing for its members. */
static void append_group(const struct weir_event_list *list, size_t leader, struct weir_buf *out)
{
    const struct weir_event *event = &list->events[leader];
    if (event->leader != leader)
        return;
    if (!leads_others(list, leader)) {
        weir_buf_printf(out, "%s\n", event->name);
        return;
    }
    weir_buf_printf(out, "%s{%s", event->group_name ? event->group_name : "", event->name);
    for (size_t i = leader + 1; i < list->count; i++) {
        if (list->events[i].leader == leader)
            weir_buf_printf(out, ",%s", list->events[i].name);
    }
    weir_buf_printf(out, "}\n");
}

/* As `perf evlist`, whose words these are. */
static void list_events(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    const struct weir_session *session = ctx;
    const struct weir_event_list *list = session->events.list;
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        const struct perf_event_attr *attr = &event->attr;
        if (detail == WEIR_CONTROL_GROUPS) {
            append_group(list, i, out);
            continue;
        }
        weir_buf_printf(out, "%s", event->name);
        if (detail == WEIR_CONTROL_FREQ)
            weir_buf_printf(out, ": sample_%s=%" PRIu64, attr->freq ? "freq" : "period", (uint64_t)attr->sample_period);
        if (detail == WEIR_CONTROL_VERBOSE) {
            weir_buf_printf(out, ": ");
            weir_attr_append_text(out, attr);
        }
        weir_buf_append_u8(out, '\n');
    }
}

/* ---- status ---- */

struct sums {
    uint64_t bytes, samples, wakeups, starved; /* of what the readers have handed over */
    uint64_t shed, trimmed, trimmed_bytes;     /* dropped, and cut, under pressure */
    enum weir_pressure pressure;               /* the highest that one of them sees */
    uint64_t rings;
};

static void sum_readers(const struct weir_pipeline *pipeline, struct sums *sums)
{
    /* Relaxed: numbers for their own sake. */
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        sums->bytes += atomic_load_explicit(&reader->sink.handed_bytes, memory_order_relaxed);
        sums->samples += atomic_load_explicit(&reader->handed_samples, memory_order_relaxed);
        sums->wakeups += atomic_load_explicit(&reader->handed_wakeups, memory_order_relaxed);
        sums->starved += atomic_load_explicit(&reader->handed_starved, memory_order_relaxed);
        sums->shed += atomic_load_explicit(&reader->shedder.shed_samples, memory_order_relaxed);
        sums->trimmed += atomic_load_explicit(&reader->shedder.trimmed_samples, memory_order_relaxed);
        sums->trimmed_bytes += atomic_load_explicit(&reader->shedder.trimmed_bytes, memory_order_relaxed);
        enum weir_pressure pressure = atomic_load_explicit(&reader->sink.pressure, memory_order_relaxed);
        sums->pressure = pressure > sums->pressure ? pressure : sums->pressure;
        sums->rings += reader->rings.count;
    }
}

static void append_triggers(const struct weir_triggers *triggers, struct weir_buf *out)
{
    weir_buf_printf(out, "\"triggers\":{");
    for (unsigned i = 0; i < WEIR_TRIGGER_COUNT; i++)
        weir_buf_printf(out, "\"%s\":%" PRIu64 ",", weir_trigger_name((enum weir_trigger)i), triggers->taken[i]);
    weir_buf_printf(out, "\"refused\":%" PRIu64 "}", triggers->refused);
}

static void append_spread(const char *name, const struct weir_drain_spread *spread, struct weir_buf *out)
{
    weir_buf_printf(out, "\"%s\":{\"p50\":%" PRIu64 ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}", name, spread->p50,
                    spread->p99, spread->max);
}

static void append_drains(const struct weir_pipeline *pipeline, struct weir_buf *out)
{
    static const char *const names[] = {[WEIR_DRAIN_ELSEWHERE] = "elsewhere", [WEIR_DRAIN_AT_ROTATION] = "at_switch"};
    for (unsigned moment = 0; moment < WEIR_DRAIN_MOMENTS; moment++) {
        struct weir_drain_summary drains;
        weir_pipeline_summarize_drains(pipeline, (enum weir_drain_moment)moment, &drains);
        weir_buf_printf(out, "%s\"%s\":{\"drains\":%" PRIu64 ",", moment ? "," : "\"drains\":{", names[moment],
                        drains.gap_us.count);
        append_spread("gap_us", &drains.gap_us, out);
        weir_buf_append_u8(out, ',');
        append_spread("fill_per_mille", &drains.fill_per_mille, out);
        weir_buf_printf(out, ",\"waits\":%" PRIu64 ",", drains.wait_us.count);
        append_spread("wait_us", &drains.wait_us, out);
        weir_buf_append_u8(out, '}');
    }
    weir_buf_printf(out, "},");
}

static const char *state_of(const struct weir_session *session)
{
    if (session->snapshots.permanent)
        return "stopped";
    if (!session->samples_on)
        return "disabled";
    return session->guard.suspended ? "suspended" : "enabled";
}

static void tell_status(void *ctx, struct weir_buf *out)
{
    struct weir_session *session = ctx;
    const struct weir_pool *pool = &session->pipeline.pool;
    struct sums sums = {0};
    sum_readers(&session->pipeline, &sums);
    uint64_t passed_ns = weir_clock_now_ns(session->clock) - session->started_ns;
    int failed = atomic_load_explicit(&session->pipeline.writer.error, memory_order_relaxed);
    weir_buf_printf(out, "{\"state\":\"%s\",\"elapsed_ms\":%" PRIu64 ",", state_of(session),
                    (uint64_t)(passed_ns / WEIR_NS_PER_MS));
    weir_buf_printf(out, "\"samples\":%" PRIu64 ",\"bytes\":%" PRIu64 ",", sums.samples, sums.bytes);
    weir_buf_printf(out, "\"lost\":{\"ring_full\":%" PRIu64 ",\"of_these_waiting_for_output\":%" PRIu64 "},",
                    weir_event_set_read_lost(&session->events), sums.starved);
    weir_buf_printf(out,
                    "\"pressure\":\"%s\",\"shed\":{\"most\":\"%s\",\"samples\":%" PRIu64 ",\"trimmed_samples\":%" PRIu64
                    ",\"trimmed_bytes\":%" PRIu64 "},",
                    weir_pressure_word(sums.pressure), weir_shed_word(session->options->shed), sums.shed, sums.trimmed,
                    sums.trimmed_bytes);
    weir_buf_printf(out, "\"output_error\":%d,\"rings\":%" PRIu64 ",\"ring_bytes\":%" PRIu64 ",", -failed, sums.rings,
                    session->plan.ring_bytes);
    weir_buf_printf(out, "\"pool\":{\"bytes\":%" PRIu64 ",\"used_bytes\":%" PRIu64 "},", session->plan.buffer_bytes,
                    (uint64_t)weir_pool_used_count(pool) * pool->chunk_bytes);
    weir_buf_printf(out, "\"wakeups\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"files\":%" PRIu64 ",", sums.wakeups,
                    session->pipeline.rounds.pushed, session->files.rotation.count + 1);
    weir_buf_printf(out, "\"snapshots\":%" PRIu64 ",", session->pipeline.rounds.snapshots);
    append_drains(&session->pipeline, out);
    append_triggers(&session->coordinator.triggers, out);
    weir_buf_printf(out, "}\n");
}

/* ---- life ---- */

int weir_session_open_control(struct weir_session *session, struct weir_error *err)
{
    struct weir_triggers *triggers = &session->coordinator.triggers;
    triggers->notices = session->options->notices;
    weir_triggers_register(triggers, WEIR_TRIGGER_ENABLE,
                           &(struct weir_trigger_action){.run = enable, .ctx = session, .immediate = true});
    weir_triggers_register(triggers, WEIR_TRIGGER_DISABLE,
                           &(struct weir_trigger_action){.run = disable, .ctx = session, .immediate = true});
    weir_control_init(&session->control, &(struct weir_control_host){
                                             .sources = &session->coordinator.sources,
                                             .triggers = triggers,
                                             .notices = session->options->notices,
                                             .switch_event = switch_event,
                                             .list_events = list_events,
                                             .tell_status = tell_status,
                                             .ctx = session,
                                         });
    int result = weir_control_open(&session->control, &session->options->control, err);
    if (result == 0 && session->options->command)
        result = weir_control_listen(&session->control, err);
    return result;
}
