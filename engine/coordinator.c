/* The coordinator's loop and its signals. Runs on the thread that called weir_record_run(). */
#include "engine/coordinator.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bits.h"

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/*
 * A blocked signal reaches a signalfd even when it is ignored. For SIGINT and SIGQUIT that is wanted, because shells
 * start background jobs with these ignored, and scripts end a recorder by them; for SIGHUP it would undo nohup(1).
 */
static bool is_for_us(int signal_number)
{
    struct sigaction action;
    return signal_number != SIGHUP || sigaction(SIGHUP, NULL, &action) < 0 || action.sa_handler != SIG_IGN;
}

static void watched_signals(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending_signals); i++) {
        if (is_for_us(ending_signals[i]))
            sigaddset(set, ending_signals[i]);
    }
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGUSR2); /* the trigger of switches and snapshots; without one it is read and dropped */
}

static bool is_ending(int signal_number)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending_signals); i++) {
        if (ending_signals[i] == signal_number)
            return true;
    }
    return false;
}

/* Reads all pending signals. Returns the first ending one, or 0. */
static int read_signals(const struct weir_coordinator *coordinator)
{
    struct signalfd_siginfo info;
    int first = 0;
    while (read(coordinator->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (first == 0 && is_ending((int)info.ssi_signo))
            first = (int)info.ssi_signo;
    }
    return first;
}

int weir_coordinator_init(struct weir_coordinator *coordinator, struct weir_error *err)
{
    *coordinator = (struct weir_coordinator){.signal_fd = -1, .timer_fd = -1, .ended_fd = -1};
    sigset_t watched;
    watched_signals(&watched);
    pthread_sigmask(SIG_BLOCK, &watched, &coordinator->mask_before);
    coordinator->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    coordinator->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (coordinator->signal_fd >= 0 && coordinator->timer_fd >= 0)
        return 0;
    int code = -errno;
    weir_coordinator_fini(coordinator);
    return weir_error_set_errno(err, code, "cannot make a signalfd and a timerfd");
}

void weir_coordinator_fini(struct weir_coordinator *coordinator)
{
    if (!coordinator)
        return;
    if (coordinator->signal_fd >= 0 && coordinator->ending_signal)
        read_signals(coordinator);
    if (coordinator->signal_fd >= 0)
        close(coordinator->signal_fd);
    if (coordinator->timer_fd >= 0)
        close(coordinator->timer_fd);
    coordinator->signal_fd = coordinator->timer_fd = -1;
    pthread_sigmask(SIG_SETMASK, &coordinator->mask_before, NULL);
}

static void set_timer(const struct weir_coordinator *coordinator, uint64_t at_ns)
{
    struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(at_ns / WEIR_NS_PER_S), .tv_nsec = (long)(at_ns % WEIR_NS_PER_S)},
    };
    timerfd_settime(coordinator->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

enum source {
    SOURCE_SIGNAL,
    SOURCE_TIMER,
    SOURCE_KICK,
    SOURCE_ENDED,
    SOURCE_COUNT,
};

static void empty(int fd)
{
    uint64_t ignored;
    ssize_t got = read(fd, &ignored, sizeof(ignored)); /* EAGAIN when there is nothing: as good */
    (void)got;
}

static void wait_for_sources(const struct weir_coordinator *coordinator, bool ready[SOURCE_COUNT])
{
    struct pollfd fds[SOURCE_COUNT] = {
        [SOURCE_SIGNAL] = {.fd = coordinator->signal_fd, .events = POLLIN},
        [SOURCE_TIMER] = {.fd = coordinator->timer_fd, .events = POLLIN},
        [SOURCE_KICK] = {.fd = coordinator->pipeline->kick_fd, .events = POLLIN},
        [SOURCE_ENDED] = {.fd = coordinator->ended_fd, .events = POLLIN},
    };
    memset(ready, 0, SOURCE_COUNT * sizeof(*ready));
    if (poll(fds, SOURCE_COUNT, -1) < 0)
        return;
    for (int i = 0; i < SOURCE_COUNT; i++)
        ready[i] = (fds[i].revents & POLLIN) != 0;
    if (ready[SOURCE_TIMER])
        empty(coordinator->timer_fd);
    if (ready[SOURCE_KICK])
        empty(coordinator->pipeline->kick_fd);
}

/* Does what is due; true when the schedule is over. */
static bool follow_schedule(const struct weir_coordinator *coordinator, struct weir_schedule_run *run, uint64_t now_ns)
{
    for (;;) {
        enum weir_schedule_action action = weir_schedule_next(run, now_ns);
        if (action == WEIR_SCHEDULE_WAIT || action == WEIR_SCHEDULE_END)
            return action == WEIR_SCHEDULE_END;
        coordinator->switch_events(coordinator->switch_ctx, action == WEIR_SCHEDULE_ENABLE);
    }
}

enum weir_record_end weir_coordinator_run(struct weir_coordinator *coordinator, struct weir_pipeline *pipeline,
                                          struct weir_workload *workload, bool until_targets_end)
{
    coordinator->pipeline = pipeline;
    coordinator->workload = workload;
    coordinator->ended_fd = until_targets_end ? pipeline->ended_fd : -1;
    const struct weir_clock *clock = pipeline->setup.clock;
    bool ready[SOURCE_COUNT] = {false};
    struct weir_schedule_run schedule;
    weir_schedule_start(&schedule, coordinator->schedule, weir_clock_now_ns(clock));
    /* A workload may have ended, and a signal come, before the descriptors are looked at for the first time. */
    for (;;) {
        coordinator->ending_signal = read_signals(coordinator);
        if (coordinator->ending_signal)
            return WEIR_RECORD_END_SIGNAL;
        if (workload && weir_workload_poll(workload))
            return WEIR_RECORD_END_WORKLOAD;
        if (atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed) < 0)
            return WEIR_RECORD_END_OUTPUT;
        if (ready[SOURCE_ENDED])
            return WEIR_RECORD_END_TARGETS;
        uint64_t now_ns = weir_clock_now_ns(clock);
        if (follow_schedule(coordinator, &schedule, now_ns))
            return WEIR_RECORD_END_SCHEDULE;
        uint64_t round_ns = weir_rounds_advance(&pipeline->rounds, now_ns, ready[SOURCE_KICK]);
        set_timer(coordinator, weir_min_u64(round_ns, weir_schedule_due_ns(&schedule)));
        wait_for_sources(coordinator, ready);
    }
}

void weir_coordinator_wait_workload(struct weir_coordinator *coordinator)
{
    struct pollfd signals = {.fd = coordinator->signal_fd, .events = POLLIN};
    while (!weir_workload_poll(coordinator->workload) && !weir_coordinator_is_hurried(coordinator))
        poll(&signals, 1, -1);
}

bool weir_coordinator_is_hurried(struct weir_coordinator *coordinator)
{
    int number = read_signals(coordinator);
    if (number && !coordinator->ending_signal)
        coordinator->ending_signal = number;
    return number != 0;
}
