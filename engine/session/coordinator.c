/* Runs the coordinator's loop and reads its signals. Runs on the thread that called weir_record_run(). */
#include "engine/session/coordinator.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/kernel/test_point.h"
#include "engine/kernel/timer.h"

#define SAME_ASK_NS (10 * WEIR_NS_PER_MS)

/* Polls after the loop: a connection, each of its commands and each effect takes one poll. Clients that never rest get
 * so much time, or so many polls if a loaded machine makes the polls slow. */
#define LAST_LOOKS_NS (100 * WEIR_NS_PER_MS)
#define LAST_LOOKS    16

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/*
 * A blocked signal reaches a signalfd even when the process ignores it. For SIGINT and SIGQUIT this is welcome: shells
 * start background jobs with these signals ignored, and scripts end a recorder with them. An ignored SIGHUP must not
 * end the recording, because nohup(1) ignores it on purpose.
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
    sigaddset(set, SIGUSR2); /* triggers rotations and snapshots; dropped where neither is configured */
}

static bool is_ending(int signal_number)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending_signals); i++) {
        if (ending_signals[i] == signal_number)
            return true;
    }
    return false;
}

/* Whether an ending signal only repeats the previous one: same number and sender, within SAME_ASK_NS. */
static bool is_repeated(struct weir_coordinator *coordinator, const struct signalfd_siginfo *info)
{
    uint64_t now_ns = weir_clock_now_ns(coordinator->clock);
    int number = (int)info->ssi_signo;
    if (info->ssi_pid != 0 && info->ssi_pid == coordinator->asked_by && number == coordinator->asked_number &&
        now_ns - coordinator->asked_ns < SAME_ASK_NS)
        return true;
    coordinator->asked_by = info->ssi_pid;
    coordinator->asked_number = number;
    coordinator->asked_ns = now_ns;
    return false;
}

/* Reads all pending signals. Returns the first ending signal, or 0. Drops SIGUSR2 after the triggers have ended. */
static int read_signals(struct weir_coordinator *coordinator)
{
    struct signalfd_siginfo info;
    int first = 0;
    while (read(coordinator->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (is_ending((int)info.ssi_signo) && !is_repeated(coordinator, &info) && first == 0)
            first = (int)info.ssi_signo;
        if (info.ssi_signo == SIGUSR2 && !coordinator->triggers.ended)
            weir_triggers_signal(&coordinator->triggers);
    }
    return first;
}

/* ---- sources ---- */

/* Does nothing: the loop reads signals at its top, before all other work. */
static void on_signal(void *ctx, short revents)
{
    (void)ctx;
    (void)revents;
}

static void on_timer(void *ctx, short revents)
{
    const struct weir_coordinator *coordinator = ctx;
    (void)revents;
    weir_timer_drain(coordinator->timer_fd);
}

static void on_kick(void *ctx, short revents)
{
    struct weir_coordinator *coordinator = ctx;
    (void)revents;
    weir_pipeline_take_kick(coordinator->pipeline);
    if (coordinator->writer_calls)
        coordinator->writer_calls(coordinator->writer_ctx);
}

static void on_targets_ended(void *ctx, short revents)
{
    struct weir_coordinator *coordinator = ctx;
    (void)revents;
    coordinator->targets_ended = true;
}

void weir_coordinator_end(struct weir_coordinator *coordinator, enum weir_record_end end)
{
    if (!coordinator->end_asked)
        coordinator->asked_end = end;
    coordinator->end_asked = true;
}

static int stop(void *ctx, struct weir_error *err)
{
    struct weir_coordinator *coordinator = ctx;
    (void)err;
    weir_coordinator_end(coordinator, WEIR_RECORD_END_ASKED);
    return 0;
}

/* ---- life ---- */

int weir_coordinator_init(struct weir_coordinator *coordinator, struct weir_error *err)
{
    *coordinator = (struct weir_coordinator){.signal_fd = -1, .timer_fd = -1, .clock = &weir_clock_monotonic};
    weir_triggers_init(&coordinator->triggers, NULL);
    weir_triggers_register(&coordinator->triggers, WEIR_TRIGGER_STOP,
                           &(struct weir_trigger_action){.run = stop, .ctx = coordinator, .immediate = true});
    sigset_t watched;
    watched_signals(&watched);
    pthread_sigmask(SIG_BLOCK, &watched, &coordinator->mask_before);
    coordinator->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    coordinator->timer_fd = weir_timer_open();
    int code = coordinator->signal_fd >= 0 && coordinator->timer_fd >= 0 ? 0 : -errno;
    if (code == 0)
        code = weir_poll_set_add(&coordinator->sources, coordinator->signal_fd, POLLIN, on_signal, coordinator);
    if (code == 0)
        code = weir_poll_set_add(&coordinator->sources, coordinator->timer_fd, POLLIN, on_timer, coordinator);
    if (code == 0)
        code = weir_poll_set_add(&coordinator->late_sources, coordinator->signal_fd, POLLIN, on_signal, coordinator);
    if (code == 0)
        return 0;
    weir_coordinator_fini(coordinator);
    pthread_sigmask(SIG_SETMASK, &coordinator->mask_before, NULL);
    return weir_error_set_errno(err, code, "cannot make a signalfd and a timerfd");
}

/* Drops a late SIGUSR2, which would end the process once fini() unblocks it. */
static void drop_triggers(void)
{
    sigset_t triggers;
    sigemptyset(&triggers);
    sigaddset(&triggers, SIGUSR2);
    const struct timespec at_once = {0};
    while (sigtimedwait(&triggers, NULL, &at_once) > 0) {
    }
}

void weir_coordinator_fini(struct weir_coordinator *coordinator)
{
    if (!coordinator)
        return;
    weir_triggers_end(&coordinator->triggers);
    if (coordinator->signal_fd >= 0 && coordinator->ending_signal)
        read_signals(coordinator);
    drop_triggers();
    if (coordinator->signal_fd >= 0)
        close(coordinator->signal_fd);
    if (coordinator->timer_fd >= 0)
        close(coordinator->timer_fd);
    coordinator->signal_fd = coordinator->timer_fd = -1;
    weir_poll_set_fini(&coordinator->sources);
    weir_poll_set_fini(&coordinator->late_sources);
    sigset_t mask = coordinator->mask_before;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending_signals); i++)
        sigaddset(&mask, ending_signals[i]);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

static void set_timer(const struct weir_coordinator *coordinator, uint64_t at_ns)
{
    weir_timer_set_at(coordinator->timer_fd, at_ns);
}

/* Toggles events as the schedule says. Returns true when the schedule is over. */
static bool follow_schedule(const struct weir_coordinator *coordinator, struct weir_schedule_run *run, uint64_t now_ns)
{
    for (;;) {
        enum weir_schedule_action action = weir_schedule_next(run, now_ns);
        if (action == WEIR_SCHEDULE_WAIT || action == WEIR_SCHEDULE_END)
            return action == WEIR_SCHEDULE_END;
        coordinator->toggle_events(coordinator->toggle_ctx, action == WEIR_SCHEDULE_ENABLE);
    }
}

int weir_coordinator_watch(struct weir_coordinator *coordinator, struct weir_pipeline *pipeline,
                           struct weir_workload *workload, bool until_targets_end)
{
    coordinator->pipeline = pipeline;
    coordinator->workload = workload;
    int result = weir_poll_set_add(&coordinator->sources, pipeline->kick_fd, POLLIN, on_kick, coordinator);
    if (result == 0 && until_targets_end)
        result = weir_poll_set_add(&coordinator->sources, pipeline->ended_fd, POLLIN, on_targets_ended, coordinator);
    return result;
}

static enum weir_record_end run(struct weir_coordinator *coordinator)
{
    struct weir_pipeline *pipeline = coordinator->pipeline;
    const struct weir_clock *clock = pipeline->setup.clock;
    struct weir_schedule_run schedule;
    weir_schedule_start(&schedule, coordinator->schedule, weir_clock_now_ns(clock));
    /* The loop checks signals and workload before its first poll, because both may have come before the loop. */
    for (;;) {
        if (!coordinator->ending_signal) /* set already if the signal came while the recording began */
            coordinator->ending_signal = read_signals(coordinator);
        if (coordinator->ending_signal)
            return WEIR_RECORD_END_SIGNAL;
        if (coordinator->workload && weir_workload_poll(coordinator->workload))
            return WEIR_RECORD_END_WORKLOAD;
        if (atomic_load_explicit(&pipeline->writer.error, memory_order_relaxed) < 0)
            return WEIR_RECORD_END_OUTPUT;
        if (atomic_load_explicit(&pipeline->writer.limited, memory_order_relaxed))
            return WEIR_RECORD_END_SIZE;
        if (coordinator->targets_ended)
            return WEIR_RECORD_END_TARGETS;
        if (coordinator->end_asked)
            return coordinator->asked_end;
        uint64_t now_ns = weir_clock_now_ns(clock);
        if (follow_schedule(coordinator, &schedule, now_ns))
            return WEIR_RECORD_END_SCHEDULE;
        uint64_t round_ns = weir_rounds_advance(&pipeline->rounds, now_ns);
        set_timer(coordinator, weir_min_u64(round_ns, weir_schedule_due_ns(&schedule)));
        weir_poll_set_wait(&coordinator->sources, -1);
    }
}

/* Reads signals after the loop has ended. */
static void read_late_signals(struct weir_coordinator *coordinator)
{
    int number = read_signals(coordinator);
    coordinator->hastened |= number != 0 && coordinator->ending_signal != 0;
    if (coordinator->ending_signal == 0)
        coordinator->ending_signal = number;
}

/*
 * Handles triggers that came before the end of the loop, because they still count. A program may ask for a snapshot as
 * its last action. Its end may then end the loop before the loop looks at its connection. A second signal ends the
 * looks at once.
 */
static void look_last(struct weir_coordinator *coordinator)
{
    uint64_t begun_ns = weir_clock_now_ns(coordinator->clock);
    for (unsigned looks = 0; !coordinator->hastened && weir_poll_set_wait(&coordinator->sources, 0) > 0; looks++) {
        read_late_signals(coordinator);
        if (looks >= LAST_LOOKS && weir_clock_now_ns(coordinator->clock) - begun_ns > LAST_LOOKS_NS)
            break;
    }
    read_late_signals(coordinator);
}

enum weir_record_end weir_coordinator_run(struct weir_coordinator *coordinator)
{
    enum weir_record_end end = run(coordinator);
    look_last(coordinator);
    weir_triggers_end(&coordinator->triggers);
    return end;
}

/* Whether another ending signal has come since the last call. */
static bool is_asked_again(struct weir_coordinator *coordinator)
{
    int number = read_signals(coordinator);
    bool came = number != 0 || coordinator->hastened;
    coordinator->hastened = false;
    if (number && !coordinator->ending_signal)
        coordinator->ending_signal = number;
    return came;
}

bool weir_coordinator_is_hurried(struct weir_coordinator *coordinator)
{
    coordinator->hurried |= is_asked_again(coordinator);
    return coordinator->hurried;
}

bool weir_coordinator_was_hurried(const struct weir_coordinator *coordinator)
{
    return coordinator->hurried;
}

bool weir_coordinator_wait_workload(struct weir_coordinator *coordinator, int patience_ms)
{
    uint64_t begun_ns = weir_clock_now_ns(coordinator->clock);
    for (;;) {
        bool asked_again =
            is_asked_again(coordinator); /* reads SIGCHLD, so it must come before the poll of the workload */
        weir_test_point(WEIR_AT_WORKLOAD_WAIT);
        if (weir_workload_poll(coordinator->workload) || asked_again)
            return true;
        uint64_t passed_ns = weir_clock_now_ns(coordinator->clock) - begun_ns;
        if (patience_ms >= 0 && passed_ns >= (uint64_t)patience_ms * WEIR_NS_PER_MS)
            return false;
        weir_poll_set_wait(&coordinator->late_sources, patience_ms);
    }
}
