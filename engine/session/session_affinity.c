/*
 * Data rings for the CPUs that the targets may run on only (--affinity-cpus). Coordinator thread.
 *
 * Every CPU gets events of every task as ever, so that children inherit them and nothing has to be looked for later; a
 * data ring, which is what takes memory, is mapped at first only where the affinity mask of a target allows it to run.
 * Masks can be widened at any time, and nothing tells of that. What tells is the event: the kernel sends SIGIO for each
 * sample, with a ring or without. Then the data ring of that CPU is mapped. Samples from before have gone nowhere; the
 * event has counted them, and where each is counted (-c 1) the ledger tells how many were lost so.
 *
 * Sideband rings are mapped everywhere from the start: mappings, names and children of a task that comes to a new CPU
 * are never missed.
 */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "engine/session/session.h"

int weir_session_choose_waiting_cpus(struct weir_session *session, struct weir_error *err)
{
    weir_cpuset_fini(&session->waiting_cpus);
    if (!session->options->affinity_cpus || session->config.system_wide || session->per_thread)
        return 0;
    struct weir_cpuset allowed = WEIR_CPUSET_INIT;
    int result = weir_targets_allowed_cpus(&session->targets, &allowed);
    if (result == 0 && !weir_cpuset_is_empty(&allowed))
        result = weir_cpuset_without(&session->waiting_cpus, &session->cpus, &allowed);
    weir_cpuset_fini(&allowed);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read the affinity masks of the targets") : 0;
}

static void tell_waiting(const struct weir_session *session)
{
    char list[256];
    weir_cpuset_format(&session->waiting_cpus, list, sizeof(list));
    unsigned waiting = weir_cpuset_count(&session->waiting_cpus);
    weir_notice(session->options->notices, WEIR_NOTICE_VERBOSE,
                "no data rings on CPUs %s (%u of %u) until a target is seen there: no affinity mask allows it; saves "
                "%llu KiB",
                list, waiting, weir_cpuset_count(&session->cpus),
                (unsigned long long)(waiting * session->ring_bytes >> 10));
}

static void begin_ring(struct weir_session *session, unsigned place)
{
    const struct weir_notice_sink *notices = session->options->notices;
    int cpu = session->events.places[place].cpu;
    struct weir_error err = {0};
    weir_event_set_notify(&session->events, place, false);
    weir_cpuset_remove(&session->waiting_cpus, (unsigned)cpu);
    weir_pipeline_note_mapping(&session->pipeline, true);
    int result = weir_session_map_ring(session, place, false);
    if (result == 0)
        weir_pipeline_wake_place(&session->pipeline, place);
    weir_pipeline_note_mapping(&session->pipeline, false);
    if (result < 0) {
        weir_session_explain_map(session, place, false, result, &err);
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "a target runs on CPU %d, which its affinity mask did not allow at the start, but is not recorded "
                    "there: %s",
                    cpu, err.what);
        return;
    }
    weir_notice(notices, WEIR_NOTICE_WARNING,
                "a target runs on CPU %d, which its affinity mask did not allow at the start: samples there are "
                "recorded from here on",
                cpu);
}

void weir_session_look_for_targets(struct weir_session *session)
{
    for (unsigned place = 0; place < session->events.place_count; place++) {
        int cpu = session->events.places[place].cpu;
        bool waits = cpu >= 0 && weir_cpuset_has(&session->waiting_cpus, (unsigned)cpu);
        if (waits && weir_event_set_was_seen(&session->events, place))
            begin_ring(session, place);
    }
}

static void on_sample(void *ctx, short revents)
{
    struct weir_session *session = ctx;
    struct signalfd_siginfo info;
    (void)revents;
    while (read(session->affinity_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
    }
    weir_session_look_for_targets(session);
}

static void only_sigio(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGIO);
}

int weir_session_watch_affinity(struct weir_session *session)
{
    if (weir_cpuset_is_empty(&session->waiting_cpus))
        return 0;
    sigset_t signals;
    only_sigio(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* until the coordinator restores the mask; threads inherit it */
    session->affinity_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (session->affinity_fd < 0)
        return -errno;
    int result = weir_poll_set_add(&session->coordinator.sources, session->affinity_fd, POLLIN, on_sample, session);
    if (result < 0)
        return result;
    for (unsigned place = 0; place < session->events.place_count; place++) {
        if (session->events.places[place].waiting)
            weir_event_set_notify(&session->events, place, true);
    }
    tell_waiting(session);
    return 0;
}

void weir_session_unwatch_affinity(struct weir_session *session)
{
    if (session->affinity_fd >= 0) {
        weir_poll_set_remove(&session->coordinator.sources, session->affinity_fd);
        close(session->affinity_fd);
        /* One that came last must not end the process once the mask is restored. */
        sigset_t signals;
        only_sigio(&signals);
        const struct timespec at_once = {0};
        while (sigtimedwait(&signals, NULL, &at_once) > 0) {
        }
    }
    session->affinity_fd = -1;
    weir_cpuset_fini(&session->waiting_cpus);
}
