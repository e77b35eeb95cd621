/*
 * AUX areas of a recording: their sizes, mapping, what decoders are told of them, and when their event is switched.
 * Coordinator thread.
 *
 * The kernel disables an event whose area is full, and nothing else does it good than to be enabled by hand when there
 * is room again (perf_aux_output_begin(), kernel/events/ring_buffer.c). perf does so after each read. Here readers say
 * when it may be necessary, and it is done by the thread that knows whether the event is to be on: a disable, the end,
 * or a snapshot that comes at the same time is never undone.
 *
 * Once is not enough: the kernel tells that the area is full first, and disables the event a moment later, from an
 * interrupt (event->pending_disable, kernel/events/core.c). An event that is enabled in between is on already, and is
 * then disabled. Such a moment takes as long as the CPU is not run, in a virtual machine milliseconds. So each request
 * is carried out six more times, 1 ms to 1.4 s later; to enable what is enabled costs a system call, and nothing else.
 *
 * Nor does it help where the kernel forgets to disable the event, as was seen with Linux 6.1 on CPU 0: since
 * ca6c21327c6a pending_disable is yes or no, and ring_buffer.c still notes the number of the CPU there. The PMU has
 * stopped, the event is on, and stays so for good when it is not a task's, which a context switch would start again. So
 * an event whose area has got nothing since the time before is disabled and enabled. One that runs and has less to tell
 * of than a wakeup's worth is interrupted for that moment.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/aux/aux_drain.h"
#include "engine/aux/aux_events.h"
#include "engine/aux/aux_info.h"
#include "engine/session/session.h"
#include "format/aux_records.h"

#define MEMORY_SHARE     4  /* snapshots of all areas take at most this part of the machine's memory */
#define AREA_PAGES_LEAST 2  /* of an area whose size nobody has named */
#define SPARE_PER_READER 4u /* chunks for all else, while a snapshot is taken */

#define STEP_FIRST_NS WEIR_NS_PER_MS /* between being asked to enable an event and the second time */
#define STEP_FACTOR   4
#define STEP_LAST_NS  (1024 * WEIR_NS_PER_MS)

static bool is_newest(const struct weir_session *session)
{
    return session->plan.aux.mode != WEIR_AUX_FULL;
}

/* ---- before anything is opened ---- */

/* ---- areas ---- */

int weir_session_map_aux(struct weir_session *session, unsigned place, struct weir_reader_ring *r)
{
    if (session->plan.aux.mode == WEIR_AUX_NONE || r->aux->area.page)
        return 0;
    const struct weir_event_place *at = &session->events.places[place];
    pid_t task = at->task >= 0 ? at->task : session->targets.tids[0];
    struct weir_aux_area area = {0};
    int result = weir_event_set_map_aux(&session->events, (unsigned)session->plan.aux.event, place,
                                        session->plan.aux.area_bytes, is_newest(session), &r->ring, &area);
    if (result < 0) /* a CPU that the PMU is not for has a ring without an area */
        return result == -ENOENT ? 0 : result;
    r->aux->index = place;
    r->aux->task = at->task >= 0 || !session->plan.config.system_wide ? task : -1;
    r->aux->cpu = at->cpu;
    r->aux->entry_bytes = session->plan.aux.alignment;
    r->aux->snapshot_bytes = session->plan.aux.snapshot_bytes;
    r->aux->sampled = session->plan.aux.mode == WEIR_AUX_SAMPLE;
    r->aux->area = area;
    return 0;
}

/* ---- enabling ---- */

/* Whether the events are to be on: all of them, or this one by its name, may have been switched off. */
static bool is_on(const struct weir_session *session)
{
    return session->samples_on && !session->aux_off;
}

static void enable(struct weir_session *session, unsigned place)
{
    if (is_on(session))
        weir_event_set_enable_at(&session->events, (unsigned)session->plan.aux.event, place);
}

static void restart(struct weir_session *session, unsigned place)
{
    if (is_on(session))
        weir_event_set_restart_at(&session->events, (unsigned)session->plan.aux.event, place);
}

static void set_timer(struct weir_session *session, uint64_t at_ns)
{
    const struct itimerspec due = {.it_value = weir_clock_timespec(at_ns)};
    timerfd_settime(session->aux_timer_fd, TFD_TIMER_ABSTIME, &due, NULL); /* 0: never */
}

/* Calls look() for each area. */
static void for_each_area(struct weir_session *session,
                          void (*look)(struct weir_session *session, const struct weir_reader_ring *r))
{
    for (unsigned i = 0; i < session->pipeline.reader_count; i++) {
        const struct weir_reader *reader = session->pipeline.readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            const struct weir_reader_ring *r = &reader->rings.at[ring];
            if (r->aux && r->aux->area.page)
                look(session, r);
        }
    }
}

/* Enables an event that it is time for, and notes when the timer is to come for the next. */
static void enable_in_time(struct weir_session *session, const struct weir_reader_ring *r)
{
    struct weir_aux_drain *aux = r->aux;
    uint64_t now_ns = session->aux_now_ns;
    if (aux->enable_step_ns == 0)
        return;
    if (aux->enable_at_ns <= now_ns) {
        uint64_t head = weir_aux_area_head(&aux->area);
        if (head == aux->head_then)
            restart(session, r->place);
        else
            enable(session, r->place);
        aux->head_then = head;
        aux->enable_step_ns *= STEP_FACTOR;
        aux->enable_at_ns = now_ns + aux->enable_step_ns;
    }
    if (aux->enable_step_ns > STEP_LAST_NS)
        aux->enable_step_ns = 0;
    else if (session->aux_next_ns == 0 || aux->enable_at_ns < session->aux_next_ns)
        session->aux_next_ns = aux->enable_at_ns;
}

static void take_request(struct weir_session *session, const struct weir_reader_ring *r)
{
    struct weir_aux_drain *aux = r->aux;
    /* Acquire pairs with the reader's release: the room is there. */
    if (!atomic_exchange_explicit(&aux->wants_enable, false, memory_order_acquire))
        return;
    enable(session, r->place);
    aux->head_then = weir_aux_area_head(&aux->area);
    aux->enable_step_ns = STEP_FIRST_NS;
    aux->enable_at_ns = session->aux_now_ns + STEP_FIRST_NS;
}

static void enable_and_set_timer(struct weir_session *session)
{
    session->aux_next_ns = 0;
    for_each_area(session, enable_in_time);
    set_timer(session, session->aux_next_ns);
}

static void on_request(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    eventfd_t count;
    (void)revents;
    eventfd_read(session->pipeline.aux_fd, &count);
    session->aux_now_ns = weir_clock_now_ns(session->clock);
    for_each_area(session, take_request);
    enable_and_set_timer(session);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    uint64_t expired;
    (void)revents;
    if (read(session->aux_timer_fd, &expired, sizeof(expired)) != (ssize_t)sizeof(expired))
        return;
    session->aux_now_ns = weir_clock_now_ns(session->clock);
    enable_and_set_timer(session);
}

int weir_session_watch_aux(struct weir_session *session)
{
    if (session->plan.aux.mode != WEIR_AUX_FULL)
        return 0;
    session->aux_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (session->aux_timer_fd < 0)
        return -errno;
    struct weir_poll_set *sources = &session->coordinator.sources;
    int result = weir_poll_set_add(sources, session->aux_timer_fd, POLLIN, on_timer, session);
    return result < 0 ? result : weir_poll_set_add(sources, session->pipeline.aux_fd, POLLIN, on_request, session);
}

void weir_session_unwatch_aux(struct weir_session *session)
{
    if (session->aux_timer_fd >= 0)
        close(session->aux_timer_fd);
    session->aux_timer_fd = -1;
}

/* ---- snapshots ---- */

void weir_session_pause_aux(struct weir_session *session, bool paused)
{
    if (session->plan.aux.mode != WEIR_AUX_SNAPSHOT)
        return;
    session->aux_paused = paused;
    if (is_on(session))
        weir_event_set_toggle(&session->events, (unsigned)session->plan.aux.event, !paused);
}

static void add_area(struct weir_session *session, const struct weir_reader_ring *r)
{
    struct weir_record_aux *sum = &session->result->aux;
    sum->areas++;
    sum->records += r->counts.aux_records;
    sum->truncated += r->counts.aux_truncated;
}

void weir_session_sum_aux(struct weir_session *session)
{
    struct weir_record_aux *sum = &session->result->aux;
    sum->area_bytes = session->plan.aux.area_bytes;
    sum->kept_newest = session->plan.aux.mode == WEIR_AUX_SNAPSHOT;
    sum->failed_bytes = session->pipeline.writer.failed_train_bytes;
    for_each_area(session, add_area);
}

/* ---- for decoders ---- */

/* perf takes an AUXTRACE record only behind this one (perf_event__process_auxtrace()), and what stands behind a switch
 * may come before the rest of a file's beginning: so the order carries it (weir_writer_rotation_set_first()). */
int weir_session_append_aux_info(const struct weir_session *session, const struct weir_cpuset *cpus,
                                 struct weir_buf *out)
{
    if (session->plan.aux.mode == WEIR_AUX_NONE)
        return 0;
    struct weir_time_conversion conversion;
    weir_pipeline_time_conversion(&session->pipeline, &conversion);
    const struct weir_aux_facts facts = {
        .time_shift = (uint16_t)conversion.shift,
        .time_mult = (uint32_t)conversion.multiplier,
        .time_zero = conversion.zero,
        .cap_user_time_zero = conversion.has_zero,
        .per_thread = weir_recording_plan_per_thread(&session->plan),
        .system_wide = session->plan.config.system_wide,
        .cpus = cpus,
    };
    size_t count = weir_aux_info_words_max(session->events.list, weir_cpuset_count(cpus));
    uint64_t *words = calloc(weir_max_u64(count, 1), sizeof(*words));
    if (!words)
        return -ENOMEM;
    uint32_t type;
    int result = weir_aux_info_describe(&session->plan.aux, session->events.list, &facts, &type, words, &count);
    if (result == 0)
        result = weir_auxtrace_info_append(out, type, words, count);
    free(words);
    return result;
}
