/*
 * CPUs that come online and go while recording. Coordinator thread; nothing here waits for readers or the disk.
 *
 *     goes    its events are dead, its rings are drained by the next round as ever; nothing is closed
 *     comes   events open anew, ids into the id map and the file's head, rings mapped if it never had any, events on,
 *             reader pinned again (the kernel takes a thread off a CPU that goes and does not bring it back)
 *
 * Each change puts the list of CPUs that are recorded into the file (EVENT_UPDATE, docs/format.md), so that a gap can
 * be told from an idle CPU. Recordings of tasks have nothing to do here: their events stay with the tasks.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "engine/events/open_error.h"
#include "engine/session/session.h"
#include "format/index_records.h"
#include "format/perf_file.h"

#define LOOK_PERIOD_S 1

int weir_session_choose_late_cpus(struct weir_session *session, struct weir_error *err)
{
    const struct weir_cpuset *online = weir_topology_online(session->topology);
    weir_cpu_watch_open(&session->cpu_watch, "");
    /* Read after the socket was opened: what the topology says may be older than the first uevent. */
    int result = weir_cpu_watch_list(&session->cpu_watch, &session->cpus_online);
    if (result == -EIO)
        result = weir_cpuset_copy(&session->cpus_online, online);
    bool follows =
        session->config.system_wide && !session->options->cpus && weir_topology_is_this_machine(session->topology);
    if (result == 0 && follows)
        result = weir_cpu_watch_offline(&session->cpu_watch, online, &session->late_cpus);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list CPUs that are offline") : 0;
}

size_t weir_session_id_room(const struct weir_session *session)
{
    const struct weir_event_set *set = &session->events;
    size_t ids = (size_t)set->place_count * set->task_count;
    return weir_event_set_follows_cpus(set) ? (1 + WEIR_SESSION_RETURNS) * ids : ids;
}

static int place_of(const struct weir_event_set *set, int cpu)
{
    for (unsigned place = 0; place < set->place_count; place++) {
        if (set->places[place].cpu == cpu)
            return (int)place;
    }
    return -1;
}

/* Room for one more id of the event. What is outgrown stays: a file that has ended is finished with it. */
static int make_id_room(struct weir_session *session, unsigned event)
{
    struct weir_event_desc *description = &session->descriptions[event];
    size_t capacity = session->id_capacities[event];
    if (description->id_count < capacity)
        return 0;
    uint64_t **outgrown = weir_array_grow(session->outgrown_ids, sizeof(*outgrown), session->outgrown_count, 1,
                                          &session->outgrown_capacity);
    if (!outgrown)
        return -ENOMEM;
    session->outgrown_ids = outgrown;
    uint64_t *ids = calloc(2 * capacity, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    memcpy(ids, session->description_ids[event], description->id_count * sizeof(*ids));
    session->outgrown_ids[session->outgrown_count++] = session->description_ids[event];
    session->description_ids[event] = ids;
    session->id_capacities[event] = 2 * capacity;
    description->ids = ids;
    return 0;
}

static int make_room_for_ids(struct weir_session *session)
{
    int result = 0;
    for (unsigned event = 0; result == 0 && event < session->events.event_count; event++)
        result = make_id_room(session, event);
    return result;
}

/* The ids of a place that was opened anew: for the head, which is patched at once so that a recording that is killed
 * has them too. (Its first eight fields are the writer's.) */
static void add_ids(struct weir_session *session, unsigned place)
{
    for (unsigned event = 0; event < session->events.event_count; event++) {
        uint64_t id = session->events.ids[(size_t)event * session->events.place_count + place];
        struct weir_event_desc *description = &session->descriptions[event];
        if (id)
            session->description_ids[event][description->id_count++] = id;
    }
    weir_record_file_patch_ids(session->file, session);
    if (session->descriptions[0].id_count > session->id_room && !session->told_late_ids) {
        session->told_late_ids = true;
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "CPUs have come so often that the file's head is full of ids: further ones are written at the end, "
                    "and missing if the recording is killed");
    }
}

static int map_rings(struct weir_session *session, unsigned place, struct weir_error *err)
{
    for (int sideband = 0; sideband < 2; sideband++) {
        int result = weir_session_map_ring(session, place, sideband);
        if (result < 0) {
            struct weir_ring_sizes sizes = {session->ring_bytes, session->sideband_ring_bytes};
            return weir_ring_map_error_explain(err, result, &session->events.places[place],
                                               sideband ? sizes.sideband_bytes : sizes.data_bytes, &sizes,
                                               &session->limits);
        }
    }
    return 0;
}

static int open_place(struct weir_session *session, unsigned place, struct weir_error *err)
{
    int result = make_room_for_ids(session);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot keep their ids");
    result = weir_event_set_reopen(&session->events, place, &session->limits, err);
    if (result < 0)
        return result;
    add_ids(session, place);
    if (!weir_pipeline_has_place(&session->pipeline, place)) {
        result = map_rings(session, place, err);
        if (result < 0)
            return result;
        weir_pipeline_wake_place(&session->pipeline, place);
    }
    weir_event_set_enable_place(&session->events, place);
    struct weir_error why = {0};
    int cpu = session->events.places[place].cpu;
    if (weir_session_add_cpu_to_triggers(session, cpu, &why) < 0)
        weir_notice(session->options->notices, WEIR_NOTICE_WARNING,
                    "what occurs on CPU %d asks for no switch and no snapshot: %s", cpu, why.what);
    weir_pipeline_pin_again(&session->pipeline, (unsigned)session->events.places[place].cpu);
    return 0;
}

static void come(struct weir_session *session, int cpu)
{
    const struct weir_notice_sink *notices = session->options->notices;
    int place = place_of(&session->events, cpu);
    struct weir_error err = {0};
    if (!weir_event_set_follows_cpus(&session->events)) {
        if (place < 0 && session->events.places[0].cpu >= 0 && !session->options->cpus)
            weir_notice(notices, WEIR_NOTICE_WARNING,
                        "CPU %d came online: what the targets do there is not recorded (it is with -a)", cpu);
    } else if (place < 0) {
        if (!session->options->cpus)
            weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d was added to the machine: it is not recorded", cpu);
    } else if (session->file->kind == WEIR_RECORD_OUTPUT_STREAM) {
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "CPU %d came online: it is not recorded, because a stream names its events at its start", cpu);
    } else if (open_place(session, (unsigned)place, &err) < 0) {
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d came online, but is not recorded: %s", cpu, err.what);
    } else {
        session->cpus_changed = true;
        weir_cpuset_add(&session->cpus, (unsigned)cpu); /* no memory: the list in the file lacks it */
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d came online: it is recorded from here on", cpu);
    }
}

static void go(struct weir_session *session, int cpu)
{
    if (!weir_event_set_follows_cpus(&session->events) || !weir_cpuset_has(&session->cpus, (unsigned)cpu))
        return;
    session->cpus_changed = true;
    weir_cpuset_remove(&session->cpus, (unsigned)cpu);
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
        weir_record_cpus_changed(&record, session->descriptions[0].ids[0], cpus, count);
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

/* One that tells what is known is passed over: it was opened, or missed, after that had happened. */
static void follow(struct weir_session *session, const struct weir_cpu_change *change)
{
    if (change->came == weir_cpuset_has(&session->cpus_online, change->cpu))
        return;
    if (!change->came) {
        weir_cpuset_remove(&session->cpus_online, change->cpu);
        go(session, (int)change->cpu);
    } else if (weir_cpuset_add(&session->cpus_online, change->cpu) == 0) {
        come(session, (int)change->cpu);
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
    if (session->cpus_changed)
        note_cpus(session);
    set_timer(session);
}

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
    int result = session->cpu_timer_fd < 0 ? -errno : 0;
    if (result == 0)
        result = weir_poll_set_add(sources, session->cpu_timer_fd, POLLIN, on_timer, session);
    if (result == 0 && session->cpu_watch.fd >= 0)
        result = weir_poll_set_add(sources, session->cpu_watch.fd, POLLIN, on_uevent, session);
    if (result == 0)
        look(session);
    return result;
}

void weir_session_unwatch_cpus(struct weir_session *session)
{
    if (session->cpu_watch.fd >= 0)
        weir_poll_set_remove(&session->coordinator.sources, session->cpu_watch.fd);
    weir_cpu_watch_close(&session->cpu_watch);
    if (session->cpu_timer_fd >= 0) {
        weir_poll_set_remove(&session->coordinator.sources, session->cpu_timer_fd);
        close(session->cpu_timer_fd);
    }
    session->cpu_timer_fd = -1;
}
