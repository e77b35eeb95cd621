/* Follows CPUs that come and go; see cpu_follower.h. Coordinator thread. */
#include "engine/session/cpu_follower.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/kernel/timer.h"
#include "format/index_records.h"
#include "format/records.h"

#define LOOK_PERIOD_NS WEIR_NS_PER_S
#define SUSPENDED_NS   (100 * WEIR_NS_PER_MS) /* a smaller difference is the time between two clock readings */
#define NEVER_S        ((time_t)1 << 33)      /* the year 2242 */

int weir_cpu_follower_open(struct weir_cpu_follower *follower, const char *sysroot, const struct weir_cpuset *online)
{
    weir_cpu_watch_open(&follower->watch, sysroot);
    /* Read after the socket was opened: the caller's list may be older than the first uevent. */
    int result = weir_cpu_watch_list(&follower->watch, &follower->online);
    if (result == -EIO)
        result = weir_cpuset_copy(&follower->online, online);
    return result;
}

int weir_cpu_follower_list_late(const struct weir_cpu_follower *follower, const struct weir_cpuset *online,
                                bool all_tasks, struct weir_cpuset *late)
{
    if (!all_tasks && weir_cpu_watch_smt_is_off(&follower->watch))
        return 0;
    return weir_cpu_watch_offline(&follower->watch, online, late);
}

/* ---- a CPU comes or goes ---- */

static int place_of(const struct weir_event_set *set, int cpu)
{
    for (unsigned place = 0; place < set->place_count; place++) {
        if (set->places[place].cpu == cpu)
            return (int)place;
    }
    return -1;
}

static void append_return(const struct weir_event_set *set, unsigned event, unsigned place, struct weir_buf *out)
{
    const struct weir_record_sample_id trailer = {
        .sample_type = set->list->events[event].attr.sample_type,
        .id = set->file_ids[weir_event_set_slot(set, event, place, 0)], /* nobody renames this record later */
        .cpu = (uint32_t)set->places[place].cpu,
    };
    if (trailer.id)
        weir_record_returned(out, &trailer);
}

/* Puts a record between the records of the old and of the new events. From this record `weir info` computes when the
 * CPU was offline. If memory runs out, puts no record. */
static void note_return(const struct weir_cpu_follower *follower, unsigned place)
{
    const struct weir_event_set *set = follower->setup.events;
    for (int sideband = 0; sideband < 2; sideband++) {
        struct weir_buf records = WEIR_BUF_INIT;
        for (unsigned event = 0; event < set->event_count; event++) {
            if (set->list->events[event].sideband == (bool)sideband)
                append_return(set, event, place, &records);
        }
        if (weir_buf_error(&records) == 0 && records.used > 0)
            weir_pipeline_note_return(follower->setup.pipeline, place, sideband, records.data, records.used);
        weir_buf_fini(&records);
    }
}

/* Points BPF programs at the new events. */
static void direct_outputs(const struct weir_cpu_follower *follower, unsigned place)
{
    const struct weir_event_set *set = follower->setup.events;
    int result = weir_event_set_direct_outputs(set, place);
    if (result < 0)
        weir_notice(follower->setup.notices, WEIR_NOTICE_WARNING,
                    "the output of BPF programs on CPU %d is not recorded: %s", set->places[place].cpu,
                    strerror(-result));
}

static int reopen_events(const struct weir_cpu_follower *follower, unsigned place, struct weir_error *err)
{
    const struct weir_cpu_follower_setup *setup = &follower->setup;
    int result = weir_event_set_reopen(setup->events, place, setup->limits, err);
    if (result < 0)
        return result;
    direct_outputs(follower, place);
    weir_pipeline_rename_place(setup->pipeline, place);
    /* A place without all of its rings was not recorded before, so the CPU does not return. */
    bool is_recorded = !setup->events->places[place].side_only;
    if (is_recorded && weir_event_set_follows_cpus(setup->events) && weir_pipeline_has_place(setup->pipeline, place))
        note_return(follower, place);
    return 0;
}

/* Maps the rings of a place that has none yet. */
static int begin_rings(const struct weir_cpu_follower *follower, unsigned place, struct weir_error *err)
{
    struct weir_pipeline *pipeline = follower->setup.pipeline;
    weir_pipeline_note_mapping(pipeline, true); /* events of single tasks are enabled already */
    int result = follower->setup.map_rings(follower->setup.ctx, place, err);
    if (result == 0)
        weir_pipeline_wake_place(pipeline, place);
    weir_pipeline_note_mapping(pipeline, false);
    return result;
}

static int open_place(const struct weir_cpu_follower *follower, unsigned place, struct weir_error *err)
{
    const struct weir_cpu_follower_setup *setup = &follower->setup;
    int result = weir_event_set_reopens(setup->events) ? reopen_events(follower, place, err) : 0;
    if (result == 0 && !weir_pipeline_has_place(setup->pipeline, place))
        result = begin_rings(follower, place, err);
    if (result < 0)
        return result;
    weir_event_set_enable_place(setup->events, place);
    struct weir_error why = {0};
    int cpu = setup->events->places[place].cpu;
    if (setup->add_to_triggers(setup->ctx, cpu, &why) < 0)
        weir_notice(setup->notices, WEIR_NOTICE_WARNING, "events on CPU %d trigger no rotation and no snapshot: %s",
                    cpu, why.what);
    return 0;
}

static void tell_left_out(const struct weir_cpu_follower *follower, int cpu)
{
    const struct weir_notice_sink *notices = follower->setup.notices;
    if (!follower->setup.expects_all_cpus)
        return;
    if (weir_event_set_follows_cpus(follower->setup.events))
        weir_notice(notices, WEIR_NOTICE_WARNING, "CPU %d was added to the machine: it is not recorded", cpu);
    else
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "CPU %d came online: the targets are not recorded there (they are with -a)", cpu);
}

/* told: the caller has sent a notice that CPUs come. */
static void come(struct weir_cpu_follower *follower, int cpu, bool told)
{
    const struct weir_cpu_follower_setup *setup = &follower->setup;
    int place = place_of(setup->events, cpu);
    struct weir_error err = {0};
    weir_pipeline_pin_again(setup->pipeline, (unsigned)cpu);
    if (place < 0) {
        tell_left_out(follower, cpu);
        return;
    }
    bool is_side_only = setup->events->places[place].side_only;
    bool follows = weir_event_set_follows_cpus(setup->events) && !is_side_only;
    bool is_new = !is_side_only && !weir_pipeline_has_place(setup->pipeline, (unsigned)place);
    if (open_place(follower, (unsigned)place, &err) < 0) {
        weir_notice(setup->notices, WEIR_NOTICE_WARNING, "CPU %d came online, but %s not recorded: %s", cpu,
                    is_side_only ? "mappings and task names there are" : "is", err.what);
        return;
    }
    if (follows) {
        follower->untold = follower->moved = true;
        weir_cpuset_add(&follower->recorded,
                        (unsigned)cpu); /* if memory runs out, the list in the file lacks the CPU */
    }
    if (!told && (follows || is_new))
        weir_notice(setup->notices, WEIR_NOTICE_WARNING, "CPU %d came online: it is recorded from here on", cpu);
}

/* told: the caller has sent a notice that CPUs went. */
static void go(struct weir_cpu_follower *follower, int cpu, bool told)
{
    if (!weir_event_set_follows_cpus(follower->setup.events) || !weir_cpuset_has(&follower->recorded, (unsigned)cpu))
        return;
    follower->untold = follower->moved = true;
    weir_cpuset_remove(&follower->recorded, (unsigned)cpu);
    if (!told)
        weir_notice(follower->setup.notices, WEIR_NOTICE_WARNING,
                    "CPU %d went offline: it is not recorded until it comes back", cpu);
}

/* ---- records for the file ---- */

/* Puts the list of CPUs into the file. Without memory or a free chunk the next look tries again. */
static void note_cpus(struct weir_cpu_follower *follower)
{
    const struct weir_cpu_follower_setup *setup = &follower->setup;
    int *cpus = calloc(setup->events->place_count, sizeof(*cpus));
    size_t count = 0;
    struct weir_buf record = WEIR_BUF_INIT;
    if (cpus) {
        WEIR_CPUSET_FOREACH(cpu, &follower->recorded)
            cpus[count++] = cpu;
        weir_record_cpus_changed(&record, setup->list_id, cpus, count);
        follower->untold =
            weir_buf_error(&record) < 0 || !weir_pipeline_try_emit(setup->pipeline, record.data, record.used);
    }
    free(cpus);
    weir_buf_fini(&record);
}

/* Sets the timer for the next look, if the kernel sends no uevents or the record with the list is not written yet. */
static void set_look_timer(const struct weir_cpu_follower *follower)
{
    bool is_wanted = follower->watch.fd < 0 || follower->untold;
    weir_timer_set_after(follower->look_fd, is_wanted ? LOOK_PERIOD_NS : 0);
}

static void tell_changes(struct weir_cpu_follower *follower)
{
    if (follower->untold)
        note_cpus(follower);
    set_look_timer(follower);
}

void weir_cpu_follower_tell_again(struct weir_cpu_follower *follower)
{
    if (!follower->moved)
        return;
    follower->untold = true;
    tell_changes(follower);
}

/* ---- looks ---- */

/* Handles a uevent. Skips one whose change is in the list already, because weir read the list after the change. */
static void follow(struct weir_cpu_follower *follower, const struct weir_cpu_change *change)
{
    if (change->came == weir_cpuset_has(&follower->online, change->cpu))
        return;
    if (!change->came) {
        weir_cpuset_remove(&follower->online, change->cpu);
        go(follower, (int)change->cpu, false);
    } else if (weir_cpuset_add(&follower->online, change->cpu) == 0) {
        come(follower, (int)change->cpu, false);
    }
}

static void follow_list(struct weir_cpu_follower *follower)
{
    struct weir_cpuset online = WEIR_CPUSET_INIT, both = WEIR_CPUSET_INIT;
    if (weir_cpu_watch_list(&follower->watch, &online) == 0 && weir_cpuset_or(&both, &online, &follower->online) == 0) {
        WEIR_CPUSET_FOREACH(cpu, &both) {
            const struct weir_cpu_change change = {(unsigned)cpu, weir_cpuset_has(&online, (unsigned)cpu)};
            follow(follower, &change);
        }
    }
    weir_cpuset_fini(&online);
    weir_cpuset_fini(&both);
}

static void look(struct weir_cpu_follower *follower)
{
    struct weir_cpu_change change;
    int told;
    while ((told = weir_cpu_watch_next(&follower->watch, &change)) == 1)
        follow(follower, &change);
    if (told < 0 || follower->watch.fd < 0)
        follow_list(follower);
    tell_changes(follower);
}

/* ---- suspend ---- */

/* Sets the timer so that it expires when the clock of day leaps. */
static void set_resume_timer(const struct weir_cpu_follower *follower)
{
    const struct itimerspec never = {.it_value.tv_sec = NEVER_S};
    timerfd_settime(follower->resume_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

/* Opens anew the events of all online CPUs but the first one, because a suspend has taken these CPUs down. */
static void come_back(struct weir_cpu_follower *follower)
{
    struct weir_cpuset back = WEIR_CPUSET_INIT;
    if (weir_cpuset_copy(&back, &follower->online) < 0)
        return;
    weir_cpuset_remove(&back, (unsigned)weir_cpuset_next(&back, 0));
    WEIR_CPUSET_FOREACH(cpu, &back)
        go(follower, cpu, true);
    tell_changes(follower);
    WEIR_CPUSET_FOREACH(cpu, &back)
        come(follower, cpu, true);
    tell_changes(follower);
    weir_cpuset_fini(&back);
}

static void on_leap(void *ctx, short revents)
{
    struct weir_cpu_follower *follower = ctx;
    const struct weir_cpu_follower_setup *setup = &follower->setup;
    uint64_t suspended_ns = weir_clock_now_ns(setup->suspended);
    (void)revents;
    weir_timer_drain(follower->resume_fd); /* ECANCELED */
    set_resume_timer(follower);
    if (suspended_ns < follower->suspended_ns + SUSPENDED_NS)
        return; /* no suspend: the clock of day was set */
    if (weir_event_set_reopens(setup->events))
        weir_notice(setup->notices, WEIR_NOTICE_WARNING,
                    "the machine was suspended for %llu ms: CPUs that were offline meanwhile are recorded from here on",
                    (unsigned long long)((suspended_ns - follower->suspended_ns) / WEIR_NS_PER_MS));
    follower->suspended_ns = suspended_ns;
    look(follower); /* finds a CPU that has not come back */
    come_back(follower);
}

/* ---- sources ---- */

static void on_uevent(void *ctx, short revents)
{
    (void)revents;
    look(ctx);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_cpu_follower *follower = ctx;
    (void)revents;
    weir_timer_drain(follower->look_fd);
    look(follower);
}

int weir_cpu_follower_watch(struct weir_cpu_follower *follower, const struct weir_cpu_follower_setup *setup)
{
    follower->setup = *setup;
    follower->look_fd = weir_timer_open();
    follower->resume_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    follower->suspended_ns = weir_clock_now_ns(setup->suspended);
    int result = follower->look_fd < 0 || follower->resume_fd < 0 ? -errno : 0;
    if (result == 0)
        result = weir_cpuset_copy(&follower->recorded, setup->cpus);
    if (result == 0)
        result = weir_poll_set_add(setup->sources, follower->look_fd, POLLIN, on_timer, follower);
    if (result == 0)
        result = weir_poll_set_add(setup->sources, follower->resume_fd, POLLIN, on_leap, follower);
    if (result == 0 && follower->watch.fd >= 0)
        result = weir_poll_set_add(setup->sources, follower->watch.fd, POLLIN, on_uevent, follower);
    if (result == 0) {
        set_resume_timer(follower);
        look(follower);
    }
    return result;
}

static void close_timer(const struct weir_cpu_follower *follower, int *fd)
{
    if (*fd >= 0) {
        weir_poll_set_remove(follower->setup.sources, *fd);
        close(*fd);
    }
    *fd = -1;
}

void weir_cpu_follower_close(struct weir_cpu_follower *follower)
{
    if (follower->watch.fd >= 0 && follower->setup.sources)
        weir_poll_set_remove(follower->setup.sources, follower->watch.fd);
    weir_cpu_watch_close(&follower->watch);
    close_timer(follower, &follower->look_fd);
    close_timer(follower, &follower->resume_fd);
    weir_cpuset_fini(&follower->online);
    weir_cpuset_fini(&follower->recorded);
}
