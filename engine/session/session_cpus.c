/*
 * CPUs that come online and go while recording. Coordinator thread; nothing here waits for readers or the disk.
 *
 *     goes    its events of all tasks are dead, its rings are drained by the next round as ever; nothing is closed
 *     comes   events of all tasks open anew, ids into the id map, rings mapped if it never had any, events on, reader
 *             pinned again (the kernel takes a thread off a CPU that goes and does not bring it back)
 *
 * The file knows all ids from its start (event_set.h), so that a stream and a file that is killed have them too.
 *
 * A suspend of the machine takes all CPUs but the first one down and brings them back without a word of it
 * (freeze_secondary_cpus(), kernel/cpu.c): their events are dead all the same. What tells of it is a timer that goes by
 * the clock of day (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET): that clock goes on while the machine sleeps. Of less
 * than a second, and of a suspend that comes to nothing, it may not tell.
 *
 * With events of all tasks each change puts the list of CPUs that are recorded into the file (EVENT_UPDATE,
 * docs/format.md), so that a gap can be told from an idle CPU; so does each later file that begins. Events of single
 * tasks are open on offline CPUs from the start, and children have inherited them: a CPU that comes needs its rings
 * only. It runs tasks some milliseconds before it has them; samples of these are counted, and told as lost where each
 * is counted, but for side records.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/session/session.h"
#include "format/index_records.h"
#include "format/records.h"

#define LOOK_PERIOD_S 1
#define SUSPENDED_NS  (100 * WEIR_NS_PER_MS) /* less is the time between two readings */
#define NEVER_S       ((time_t)1 << 33)      /* the year 2242 */

/* Events of tasks cost each fork the more the more CPUs they are open on. With SMT switched off half of the CPUs are
 * offline to stay so. */
static bool may_come(const struct weir_session *session)
{
    return session->plan.config.system_wide || !weir_cpu_watch_smt_is_off(&session->cpu_watch);
}

int weir_session_choose_late_cpus(struct weir_session *session, struct weir_error *err)
{
    const struct weir_cpuset *online = weir_topology_online(session->machine.topology);
    weir_cpu_watch_open(&session->cpu_watch, "");
    /* Read after the socket was opened: what the topology says may be older than the first uevent. */
    int result = weir_cpu_watch_list(&session->cpu_watch, &session->cpus_online);
    if (result == -EIO)
        result = weir_cpuset_copy(&session->cpus_online, online);
    bool follows = !session->options->cpus && !session->plan.per_thread &&
                   weir_topology_is_this_machine(session->machine.topology);
    if (result == 0 && follows && may_come(session))
        result = weir_cpu_watch_offline(&session->cpu_watch, online, &session->machine.late_cpus);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list CPUs that are offline") : 0;
}

static int place_of(const struct weir_event_set *set, int cpu)
{
    for (unsigned place = 0; place < set->place_count; place++) {
        if (set->places[place].cpu == cpu)
            return (int)place;
    }
    return -1;
}

static int map_rings(struct weir_session *session, unsigned place, struct weir_error *err)
{
    for (int sideband = 0; sideband < 2; sideband++) {
        int result = weir_session_map_ring(session, place, sideband);
        if (result < 0)
            return weir_session_explain_map(session, place, sideband, result, err);
    }
    return 0;
}

/* What is told of losses is renamed on its way to the file; this is not. */
static void append_return(const struct weir_session *session, unsigned event, unsigned place, struct weir_buf *out)
{
    const struct weir_event_set *set = &session->events;
    const struct weir_record_sample_id trailer = {
        .sample_type = set->list->events[event].attr.sample_type,
        .id = set->file_ids[weir_event_set_slot(set, event, place, 0)],
        .cpu = (uint32_t)set->places[place].cpu,
    };
    if (trailer.id)
        weir_record_returned(out, &trailer);
}

/* Between what the old events have written and what the new ones will: weir info tells when the CPU was away by it.
 * Without memory it does not. */
static void note_return(struct weir_session *session, unsigned place)
{
    const struct weir_event_set *set = &session->events;
    for (int sideband = 0; sideband < 2; sideband++) {
        struct weir_buf records = WEIR_BUF_INIT;
        for (unsigned event = 0; event < set->event_count; event++) {
            if (set->list->events[event].sideband == (bool)sideband)
                append_return(session, event, place, &records);
        }
        if (weir_buf_error(&records) == 0 && records.used > 0)
            weir_pipeline_note_return(&session->pipeline, place, sideband, records.data, records.used);
        weir_buf_fini(&records);
    }
}

/* Of BPF programs, to the events that were opened anew there. */
static void direct_outputs(const struct weir_session *session, unsigned place)
{
    int result = weir_event_set_direct_outputs(&session->events, place);
    if (result < 0)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "what BPF programs send on CPU %d is not recorded: %s", session->events.places[place].cpu,
                    strerror(-result));
}

/* The events of all tasks there, and its rings if it has none yet. */
static int open_place(struct weir_session *session, unsigned place, struct weir_error *err)
{
    if (weir_event_set_reopens(&session->events)) {
        int result = weir_event_set_reopen(&session->events, place, &session->machine.limits, err);
        if (result < 0)
            return result;
        direct_outputs(session, place);
        weir_pipeline_rename_place(&session->pipeline, place);
        /* A place without rings, or with some of them for want of memory, was not there before. */
        if (weir_event_set_follows_cpus(&session->events) && weir_pipeline_has_place(&session->pipeline, place))
            note_return(session, place);
    }
    if (!weir_pipeline_has_place(&session->pipeline, place)) {
        weir_pipeline_note_mapping(&session->pipeline, true); /* events of single tasks are on already */
        int result = map_rings(session, place, err);
        if (result == 0)
            weir_pipeline_wake_place(&session->pipeline, place);
        weir_pipeline_note_mapping(&session->pipeline, false);
        if (result < 0)
            return result;
    }
    weir_event_set_enable_place(&session->events, place);
    struct weir_error why = {0};
    int cpu = session->events.places[place].cpu;
    if (weir_session_add_cpu_to_triggers(session, cpu, &why) < 0)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "what occurs on CPU %d asks for no switch and no snapshot: %s", cpu, why.what);
    return 0;
}

static void tell_left_out(const struct weir_session *session, int cpu)
{
    const struct weir_notice_sink *notices = session->options->notices;
    if (session->options->cpus || session->plan.per_thread)
        return;
    if (weir_event_set_follows_cpus(&session->events))
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d was added to the machine: it is not recorded", cpu);
    else
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "CPU %d came online: what the targets do there is not recorded (it is with -a)", cpu);
}

/* told: it is said already why. */
static void come(struct weir_session *session, int cpu, bool told)
{
    const struct weir_notice_sink *notices = session->options->notices;
    int place = place_of(&session->events, cpu);
    struct weir_error err = {0};
    weir_pipeline_pin_again(&session->pipeline, (unsigned)cpu);
    if (place < 0) {
        tell_left_out(session, cpu);
        return;
    }
    bool follows = weir_event_set_follows_cpus(&session->events);
    bool is_new = !weir_pipeline_has_place(&session->pipeline, (unsigned)place);
    if (open_place(session, (unsigned)place, &err) < 0) {
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d came online, but is not recorded: %s", cpu, err.what);
        return;
    }
    if (follows) {
        session->cpus_changed = session->cpus_moved = true;
        weir_cpuset_add(&session->cpus, (unsigned)cpu); /* no memory: the list in the file lacks it */
    }
    if (!told && (follows || is_new))
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d came online: it is recorded from here on", cpu);
}

/* told: as above. */
static void go(struct weir_session *session, int cpu, bool told)
{
    if (!weir_event_set_follows_cpus(&session->events) || !weir_cpuset_has(&session->cpus, (unsigned)cpu))
        return;
    session->cpus_changed = session->cpus_moved = true;
    weir_cpuset_remove(&session->cpus, (unsigned)cpu);
    if (!told)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "CPU %d went offline: it is not recorded until it comes back", cpu);
}

/* Puts the list of CPUs into the file, at the next look if no chunk is free. */
static void note_cpus(struct weir_session *session)
{
    const struct weir_event_set *set = &session->events;
    int *cpus = calloc(set->place_count, sizeof(*cpus));
    size_t count = 0;
    struct weir_buf record = WEIR_BUF_INIT;
    if (cpus) {
        WEIR_CPUSET_FOREACH(cpu, &session->cpus)
            cpus[count++] = cpu;
        weir_record_cpus_changed(&record, session->facts.descriptions[0].ids[0], cpus, count);
        session->cpus_changed =
            weir_buf_error(&record) < 0 || !weir_pipeline_try_emit(&session->pipeline, record.data, record.used);
    }
    free(cpus);
    weir_buf_fini(&record);
}

/* A look that nobody else asks for: without a socket, and when the file's record is still to be written. */
static void set_timer(const struct weir_session *session)
{
    bool is_wanted = session->cpu_watch.fd < 0 || session->cpus_changed;
    struct itimerspec when = {.it_value.tv_sec = is_wanted ? LOOK_PERIOD_S : 0};
    timerfd_settime(session->cpu_timer_fd, 0, &when, NULL);
}

/* What is to be told goes to the file now, or at a look of its own. */
static void tell_changes(struct weir_session *session)
{
    if (session->cpus_changed)
        note_cpus(session);
    set_timer(session);
}

void weir_session_tell_cpus_again(struct weir_session *session)
{
    if (!session->cpus_moved)
        return;
    session->cpus_changed = true;
    tell_changes(session);
}

/* One that tells what is known is passed over: it was opened, or missed, after that had happened. */
static void follow(struct weir_session *session, const struct weir_cpu_change *change)
{
    if (change->came == weir_cpuset_has(&session->cpus_online, change->cpu))
        return;
    if (!change->came) {
        weir_cpuset_remove(&session->cpus_online, change->cpu);
        go(session, (int)change->cpu, false);
    } else if (weir_cpuset_add(&session->cpus_online, change->cpu) == 0) {
        come(session, (int)change->cpu, false);
    }
}

static void follow_list(struct weir_session *session)
{
    struct weir_cpuset online = WEIR_CPUSET_INIT, both = WEIR_CPUSET_INIT;
    if (weir_cpu_watch_list(&session->cpu_watch, &online) == 0 &&
        weir_cpuset_or(&both, &online, &session->cpus_online) == 0) {
        WEIR_CPUSET_FOREACH(cpu, &both) {
            const struct weir_cpu_change change = {(unsigned)cpu, weir_cpuset_has(&online, (unsigned)cpu)};
            follow(session, &change);
        }
    }
    weir_cpuset_fini(&online);
    weir_cpuset_fini(&both);
}

static void look(struct weir_session *session)
{
    struct weir_cpu_change change;
    int told;
    while ((told = weir_cpu_watch_next(&session->cpu_watch, &change)) == 1)
        follow(session, &change);
    if (told < 0 || session->cpu_watch.fd < 0)
        follow_list(session);
    tell_changes(session);
}

/* ---- suspended ---- */

/* Waits for the next time that the clock of day leaps. */
static void set_resume_timer(const struct weir_session *session)
{
    const struct itimerspec never = {.it_value.tv_sec = NEVER_S};
    timerfd_settime(session->resume_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* All that are online now, but the first one, have been away. */
static void come_back(struct weir_session *session)
{
    struct weir_cpuset back = WEIR_CPUSET_INIT;
    if (weir_cpuset_copy(&back, &session->cpus_online) < 0)
        return;
    weir_cpuset_remove(&back, (unsigned)weir_cpuset_next(&back, 0));
    WEIR_CPUSET_FOREACH(cpu, &back)
        go(session, cpu, true);
    tell_changes(session);
    WEIR_CPUSET_FOREACH(cpu, &back)
        come(session, cpu, true);
    tell_changes(session);
    weir_cpuset_fini(&back);
}

static void on_leap(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    uint64_t ignored, slept_ns = weir_clock_suspended_ns();
    ssize_t got = read(session->resume_fd, &ignored, sizeof(ignored)); /* ECANCELED */
    (void)got, (void)revents;
    set_resume_timer(session);
    if (slept_ns < session->slept_ns + SUSPENDED_NS)
        return; /* somebody has set the clock */
    if (weir_event_set_reopens(&session->events))
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "the machine was suspended for %llu ms: CPUs that were offline meanwhile are recorded from here on",
                    (unsigned long long)((slept_ns - session->slept_ns) / WEIR_NS_PER_MS));
    session->slept_ns = slept_ns;
    look(session); /* one of them may not have come back */
    come_back(session);
}

/* ---- sources ---- */

static void on_uevent(void *ctx, short revents)
{
    (void)revents;
    look(ctx);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    uint64_t ignored;
    ssize_t got = read(session->cpu_timer_fd, &ignored, sizeof(ignored));
    (void)got, (void)revents;
    look(session);
}

int weir_session_watch_cpus(struct weir_session *session)
{
    struct weir_poll_set *sources = &session->coordinator.sources;
    session->cpu_timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    session->resume_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    session->slept_ns = weir_clock_suspended_ns();
    int result = session->cpu_timer_fd < 0 || session->resume_fd < 0 ? -errno : 0;
    if (result == 0)
        result = weir_poll_set_add(sources, session->cpu_timer_fd, POLLIN, on_timer, session);
    if (result == 0)
        result = weir_poll_set_add(sources, session->resume_fd, POLLIN, on_leap, session);
    if (result == 0 && session->cpu_watch.fd >= 0)
        result = weir_poll_set_add(sources, session->cpu_watch.fd, POLLIN, on_uevent, session);
    if (result == 0) {
        set_resume_timer(session);
        look(session);
    }
    return result;
}

void weir_session_unwatch_cpus(struct weir_session *session)
{
    if (session->cpu_watch.fd >= 0)
        weir_poll_set_remove(&session->coordinator.sources, session->cpu_watch.fd);
    weir_cpu_watch_close(&session->cpu_watch);
    const int timers[] = {session->cpu_timer_fd, session->resume_fd};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(timers); i++) {
        weir_poll_set_remove(&session->coordinator.sources, timers[i]);
        if (timers[i] >= 0)
            close(timers[i]);
    }
    session->cpu_timer_fd = session->resume_fd = -1;
}
