/*
 * The coordinator's loop over a pipeline without readers: what ends it, in which order of precedence, and that signals
 * come back to where they were. Each test is a process of its own, so it may send itself signals.
 */
#include "engine/session/coordinator.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/kernel/test_point.h"
#include "tests/engine/fake_clock.h"

struct fixture {
    struct weir_coordinator coordinator;
    struct weir_pipeline pipeline; /* rounds without readers, two eventfds, a writer that never runs */
    struct weir_workload workload;
};

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void fixture_init(struct fixture *f)
{
    /* Whatever this test was started with: nohup(1) has SIGHUP ignored. */
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++)
        signal(ending[i], SIG_DFL);
    memset(f, 0, sizeof(*f));
    cr_assert_eq(weir_coordinator_init(&f->coordinator, NULL), 0);
    f->pipeline.setup.clock = &weir_clock_monotonic;
    f->pipeline.kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->pipeline.ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    weir_chunk_queue_init(&f->pipeline.queue);
    weir_rounds_init(&f->pipeline.rounds, &f->pipeline.control, NULL, 0, &f->pipeline.queue,
                     weir_clock_now_ns(&weir_clock_monotonic));
    f->workload = (struct weir_workload)WEIR_WORKLOAD_INIT;
}

static void fixture_fini(struct fixture *f)
{
    weir_workload_fini(&f->workload);
    weir_coordinator_fini(&f->coordinator);
    close(f->pipeline.kick_fd);
    close(f->pipeline.ended_fd);
}

static enum weir_record_end run(struct fixture *f)
{
    cr_assert_eq(weir_coordinator_watch(&f->coordinator, &f->pipeline, NULL, true), 0);
    return weir_coordinator_run(&f->coordinator);
}

/* As a recording of the workload alone: the end of its events ends nothing. */
static enum weir_record_end run_workload(struct fixture *f)
{
    cr_assert_eq(weir_coordinator_watch(&f->coordinator, &f->pipeline, &f->workload, false), 0);
    return weir_coordinator_run(&f->coordinator);
}

static void start_workload(struct fixture *f, const char *script)
{
    char shell[] = "/bin/sh", option[] = "-c";
    char *argv[] = {shell, option, (char *)(uintptr_t)script, NULL};
    struct weir_error err;
    cr_assert_eq(weir_workload_prepare(&f->workload, argv, &f->coordinator.mask_before, &err), 0, "%s", err.what);
    cr_assert_eq(weir_workload_start(&f->workload, argv, &err), 0, "%s", err.what);
}

/* ---- set-up ---- */

Test(coordinator, no_descriptor_left_is_reported_and_signals_are_as_before)
{
    struct weir_coordinator coordinator;
    struct weir_error err;
    struct rlimit before, none;
    sigset_t mask;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = weir_coordinator_init(&coordinator, &err);
    setrlimit(RLIMIT_NOFILE, &before); /* Criterion needs some itself */
    cr_assert_eq(result, -EMFILE);
    cr_assert_str_eq(err.what, "cannot make a signalfd and a timerfd: Too many open files");
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++)
        cr_assert_not(sigismember(&mask, ending[i]), "signal %d", ending[i]);
}

Test(coordinator, fini_takes_null)
{
    weir_coordinator_fini(NULL);
}

Test(coordinator, signals_are_blocked_until_fini_and_those_that_end_a_recording_still_then)
{
    const int blocked[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR2};
    struct fixture f;
    sigset_t mask;
    fixture_init(&f);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(blocked); i++)
        cr_assert(sigismember(&mask, blocked[i]), "signal %d", blocked[i]);
    cr_assert_not(sigismember(&mask, SIGUSR1));
    fixture_fini(&f);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++)
        cr_assert(sigismember(&mask, ending[i]), "signal %d", ending[i]);
    cr_assert_not(sigismember(&mask, SIGCHLD));
    cr_assert_not(sigismember(&mask, SIGUSR2));
}

/* ---- what ends a recording ---- */

Test(coordinator, every_ending_signal_ends_it, .timeout = 30)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ending); i++) {
        struct fixture f;
        fixture_init(&f);
        raise(ending[i]);
        cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
        cr_assert_eq(f.coordinator.ending_signal, ending[i]);
        cr_assert_not(weir_coordinator_is_hurried(&f.coordinator)); /* one signal is not haste */
        fixture_fini(&f);
    }
}

Test(coordinator, signals_behind_the_one_that_ended_it_wait, .timeout = 30)
{
    struct fixture f;
    sigset_t pending;
    fixture_init(&f);
    raise(SIGINT);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    raise(SIGTERM);
    fixture_fini(&f);
    raise(SIGHUP); /* else it ends this process */
    sigpending(&pending);
    cr_expect(sigismember(&pending, SIGHUP));
}

Test(coordinator, other_signals_do_not_end_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    raise(SIGUSR2);
    raise(SIGCHLD);
    eventfd_write(f.pipeline.ended_fd, 1);
    cr_assert_eq(run(&f), WEIR_RECORD_END_TARGETS);
    cr_assert_eq(f.coordinator.ending_signal, 0);
    fixture_fini(&f);
}

Test(coordinator, end_of_the_workload_ends_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exit 3");
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_WORKLOAD);
    cr_assert(f.workload.reaped);
    cr_assert(WIFEXITED(f.workload.status));
    cr_assert_eq(WEXITSTATUS(f.workload.status), 3);
    fixture_fini(&f);
}

Test(coordinator, failed_output_ends_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    f.pipeline.writer.error = -ENOSPC;
    eventfd_write(f.pipeline.kick_fd, 1);
    cr_assert_eq(run(&f), WEIR_RECORD_END_OUTPUT);
    fixture_fini(&f);
}

Test(coordinator, signal_goes_before_failed_output_and_gone_targets, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    f.pipeline.writer.error = -ENOSPC;
    eventfd_write(f.pipeline.ended_fd, 1);
    raise(SIGTERM);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    fixture_fini(&f);
}

/* As perf: under nohup(1) a hang-up is nothing to end for. */
Test(coordinator, signal_that_was_ignored_stays_so, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    weir_coordinator_fini(&f.coordinator);
    signal(SIGHUP, SIG_IGN);
    cr_assert_eq(weir_coordinator_init(&f.coordinator, NULL), 0);
    raise(SIGHUP);
    eventfd_write(f.pipeline.ended_fd, 1);
    cr_assert_eq(run(&f), WEIR_RECORD_END_TARGETS);
    cr_assert_eq(f.coordinator.ending_signal, 0);
    fixture_fini(&f);
}

/* Its events hang up before it can be reaped, or while it runs on as another program. */
Test(coordinator, hung_up_events_of_the_workload_do_not_end_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "sleep 0.05; exit 3");
    eventfd_write(f.pipeline.ended_fd, 1);
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_WORKLOAD);
    cr_assert_eq(WEXITSTATUS(f.workload.status), 3);
    fixture_fini(&f);
}

Test(coordinator, signal_goes_before_the_end_of_the_workload, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exit 3");
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)f.workload.pid, &info, WEXITED | WNOWAIT), 0);
    raise(SIGINT); /* Ctrl-C reaches both */
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_SIGNAL);
    fixture_fini(&f);
}

/* ---- triggers ---- */

struct counted {
    struct fixture *fixture;
    unsigned runs;
};

static int count_run(void *ctx, struct weir_error *err)
{
    struct counted *counted = ctx;
    (void)err;
    counted->runs++;
    weir_triggers_fire(&counted->fixture->coordinator.triggers, WEIR_TRIGGER_STOP, WEIR_TRIGGER_BY_CONTROL);
    return 0;
}

Test(coordinator, stop_ends_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    weir_triggers_fire(&f.coordinator.triggers, WEIR_TRIGGER_STOP, WEIR_TRIGGER_BY_CONTROL);
    cr_assert_eq(run(&f), WEIR_RECORD_END_ASKED);
    fixture_fini(&f);
}

Test(coordinator, trigger_signal_does_what_it_means_until_the_end, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    struct counted counted = {.fixture = &f};
    weir_triggers_register(&f.coordinator.triggers, WEIR_TRIGGER_ROTATE,
                           &(struct weir_trigger_action){.run = count_run, .ctx = &counted});
    weir_triggers_set_signal(&f.coordinator.triggers, WEIR_TRIGGER_ROTATE);
    raise(SIGUSR2);
    cr_assert_eq(run(&f), WEIR_RECORD_END_ASKED);
    raise(SIGUSR2);
    cr_assert_not(weir_coordinator_is_hurried(&f.coordinator));
    cr_assert_eq(counted.runs, 1);
    fixture_fini(&f);
}

static void stop_when_ready(void *ctx, short revents)
{
    struct fixture *f = ctx;
    cr_assert_eq(revents, POLLIN);
    weir_triggers_fire(&f->coordinator.triggers, WEIR_TRIGGER_STOP, WEIR_TRIGGER_BY_API);
}

Test(coordinator, source_of_another_is_called, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    cr_assert_eq(weir_poll_set_add(&f.coordinator.sources, fd, POLLIN, stop_when_ready, &f), 0);
    cr_assert_eq(run(&f), WEIR_RECORD_END_ASKED);
    close(fd);
    fixture_fini(&f);
}

struct asker {
    struct fixture *fixture;
    int fd;
};

static void ask_to_switch(void *ctx, short revents)
{
    struct asker *asker = ctx;
    (void)revents;
    eventfd_t ignored;
    eventfd_read(asker->fd, &ignored);
    weir_triggers_fire(&asker->fixture->coordinator.triggers, WEIR_TRIGGER_ROTATE, WEIR_TRIGGER_BY_API);
}

/* A connection, before it is known what the client says. */
static void listen_to(void *ctx, short revents)
{
    struct asker *asker = ctx;
    (void)revents;
    eventfd_t ignored;
    eventfd_read(asker->fd, &ignored);
    weir_poll_set_remove(&asker->fixture->coordinator.sources, asker->fd);
    weir_poll_set_add(&asker->fixture->coordinator.sources, asker->fd, POLLIN, ask_to_switch, asker);
    eventfd_write(asker->fd, 1);
}

Test(coordinator, what_was_asked_for_before_the_end_of_the_workload_counts, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    struct counted counted = {.fixture = &f};
    struct asker asker = {.fixture = &f, .fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
    weir_triggers_register(&f.coordinator.triggers, WEIR_TRIGGER_ROTATE,
                           &(struct weir_trigger_action){.run = count_run, .ctx = &counted});
    cr_assert_eq(weir_poll_set_add(&f.coordinator.sources, asker.fd, POLLIN, listen_to, &asker), 0);
    start_workload(&f, "exit 3");
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)f.workload.pid, &info, WEXITED | WNOWAIT), 0);
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_WORKLOAD);
    cr_assert_eq(counted.runs, 1);
    close(asker.fd);
    fixture_fini(&f);
}

/* A client that never rests. Each of its commands takes a while. */
struct talker {
    struct fixture *fixture;
    struct fake_clock clock;
    uint64_t takes_ns;
    unsigned calls;
    unsigned interrupted_at; /* the call during which another signal comes; 0: none */
};

static void talk(void *ctx, short revents)
{
    struct talker *talker = ctx;
    (void)revents;
    talker->clock.now_ns += talker->takes_ns;
    if (++talker->calls == talker->interrupted_at)
        raise(SIGTERM);
}

static unsigned talk_at_the_end(uint64_t takes_ns, unsigned interrupted_at)
{
    struct fixture f;
    fixture_init(&f);
    struct talker talker = {.fixture = &f, .takes_ns = takes_ns, .interrupted_at = interrupted_at};
    const struct weir_clock clock = fake_clock_interface(&talker.clock);
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK); /* nobody reads it: always ready */
    cr_assert_eq(weir_poll_set_add(&f.coordinator.sources, fd, POLLIN, talk, &talker), 0);
    raise(SIGINT);
    f.coordinator.clock = &clock;
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    cr_assert_eq(f.coordinator.ending_signal, SIGINT);
    cr_assert_eq(weir_coordinator_is_hurried(&f.coordinator), interrupted_at > 0);
    close(fd);
    fixture_fini(&f);
    return talker.calls;
}

Test(coordinator, client_that_never_rests_gets_a_tenth_of_a_second_at_the_end, .timeout = 30)
{
    cr_assert_eq(talk_at_the_end(WEIR_NS_PER_MS, 0), 101);
}

Test(coordinator, client_that_never_rests_gets_a_few_looks_on_a_slow_machine, .timeout = 30)
{
    cr_assert_eq(talk_at_the_end(WEIR_NS_PER_S, 0), 17);
}

Test(coordinator, second_signal_ends_the_last_looks_at_once, .timeout = 30)
{
    cr_assert_eq(talk_at_the_end(WEIR_NS_PER_MS, 5), 5);
}

/* ---- while it runs ---- */

static void *end_after_a_kick(void *argument)
{
    struct fixture *f = argument;
    const struct timespec pause = {.tv_nsec = (long)(50 * WEIR_NS_PER_MS)};
    eventfd_write(f->pipeline.kick_fd, 1);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    eventfd_write(f->pipeline.ended_fd, 1);
    return NULL;
}

Test(coordinator, kick_opens_an_epoch_and_is_taken, .timeout = 30)
{
    struct fixture f;
    pthread_t thread;
    fixture_init(&f);
    cr_assert_eq(pthread_create(&thread, NULL, end_after_a_kick, &f), 0);
    cr_assert_eq(run(&f), WEIR_RECORD_END_TARGETS);
    pthread_join(thread, NULL);
    cr_assert_eq(f.pipeline.control.epoch, 1); /* the next one would have come after a second */
    eventfd_t count;
    cr_assert_eq(eventfd_read(f.pipeline.kick_fd, &count), -1);
    fixture_fini(&f);
}

static void *end_when_an_epoch_is_open(void *argument)
{
    struct fixture *f = argument;
    const struct timespec pause = {.tv_nsec = (long)(5 * WEIR_NS_PER_MS)};
    while (atomic_load_explicit(&f->pipeline.control.epoch, memory_order_acquire) < 1)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    eventfd_write(f->pipeline.ended_fd, 1);
    return NULL;
}

Test(coordinator, timer_opens_epochs_without_a_kick, .timeout = 30)
{
    struct fixture f;
    pthread_t thread;
    fixture_init(&f);
    uint64_t started_ns = weir_clock_now_ns(&weir_clock_monotonic);
    cr_assert_eq(pthread_create(&thread, NULL, end_when_an_epoch_is_open, &f), 0);
    cr_assert_eq(run(&f), WEIR_RECORD_END_TARGETS);
    pthread_join(thread, NULL);
    cr_assert_geq(weir_clock_now_ns(&weir_clock_monotonic) - started_ns, WEIR_ROUND_PERIOD_NS - 100 * WEIR_NS_PER_MS);
    cr_assert_eq(f.pipeline.control.epoch, 1);
    fixture_fini(&f);
}

/* ---- after it ---- */

Test(coordinator, second_ending_signal_is_haste, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    raise(SIGINT);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    raise(SIGUSR2);
    cr_assert_not(weir_coordinator_is_hurried(&f.coordinator));
    raise(SIGTERM);
    cr_assert(weir_coordinator_is_hurried(&f.coordinator));
    cr_assert_eq(f.coordinator.ending_signal, SIGINT); /* the first one is what is told */
    cr_assert(weir_coordinator_is_hurried(&f.coordinator), "haste does not pass");
    cr_assert(weir_coordinator_was_hurried(&f.coordinator));
    fixture_fini(&f);
}

Test(coordinator, signal_that_was_read_before_the_loop_ends_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    raise(SIGINT);
    cr_assert(weir_coordinator_is_hurried(&f.coordinator));
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    cr_assert_eq(f.coordinator.ending_signal, SIGINT);
    fixture_fini(&f);
}

static uint64_t told_ns;
static uint64_t tell_ns(void *ctx)
{
    (void)ctx;
    return told_ns;
}

/* timeout(1) does that. */
Test(coordinator, signal_that_is_sent_twice_at_once_is_no_haste, .timeout = 30)
{
    static const struct weir_clock clock = {.now_ns = tell_ns};
    struct fixture f;
    fixture_init(&f);
    f.coordinator.clock = &clock;
    raise(SIGTERM);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    told_ns = 9 * WEIR_NS_PER_MS;
    raise(SIGTERM);
    cr_assert_not(weir_coordinator_is_hurried(&f.coordinator));
    cr_assert_not(weir_coordinator_was_hurried(&f.coordinator));
    told_ns = 10 * WEIR_NS_PER_MS;
    raise(SIGTERM);
    cr_assert(weir_coordinator_is_hurried(&f.coordinator));
    fixture_fini(&f);
}

Test(coordinator, another_signal_at_once_is_haste, .timeout = 30)
{
    static const struct weir_clock clock = {.now_ns = tell_ns};
    struct fixture f;
    fixture_init(&f);
    f.coordinator.clock = &clock;
    told_ns = 0;
    raise(SIGTERM);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    raise(SIGINT);
    cr_assert(weir_coordinator_is_hurried(&f.coordinator));
    fixture_fini(&f);
}

Test(coordinator, signal_after_another_end_is_haste_and_told, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    eventfd_write(f.pipeline.ended_fd, 1);
    cr_assert_eq(run(&f), WEIR_RECORD_END_TARGETS);
    raise(SIGHUP);
    cr_assert(weir_coordinator_is_hurried(&f.coordinator));
    cr_assert_eq(f.coordinator.ending_signal, SIGHUP);
    fixture_fini(&f);
}

Test(coordinator, wait_for_the_workload_ends_with_it, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "sleep 0.05; exit 4");
    f.pipeline.writer.error = -EIO;
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_OUTPUT);
    weir_coordinator_wait_workload(&f.coordinator, -1);
    cr_assert(f.workload.reaped);
    cr_assert_eq(WEXITSTATUS(f.workload.status), 4);
    fixture_fini(&f);
}

static void kill_workload(void *ctx, short revents)
{
    const struct fixture *f = ctx;
    (void)revents;
    kill(f->workload.pid, SIGKILL);
}

/* Else nobody would be answered meanwhile. */
Test(coordinator, wait_for_the_workload_looks_at_late_sources, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exec sleep 1000");
    f.pipeline.writer.error = -EIO;
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_OUTPUT);
    int fd = eventfd(1, EFD_CLOEXEC);
    cr_assert_eq(weir_poll_set_add(&f.coordinator.late_sources, fd, POLLIN, kill_workload, &f), 0);
    weir_coordinator_wait_workload(&f.coordinator, -1);
    cr_assert_eq(WTERMSIG(f.workload.status), SIGKILL);
    fixture_fini(&f);
    close(fd);
}

Test(coordinator, wait_for_the_workload_ends_with_patience, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exec sleep 100");
    raise(SIGINT);
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_SIGNAL);
    cr_assert_not(weir_coordinator_wait_workload(&f.coordinator, 10));
    cr_assert_not(f.workload.reaped);
    kill(f.workload.pid, SIGKILL);
    cr_assert(weir_coordinator_wait_workload(&f.coordinator, -1));
    cr_assert(f.workload.reaped);
    fixture_fini(&f);
}

Test(coordinator, wait_for_the_workload_ends_with_a_signal, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exec sleep 1000");
    f.pipeline.writer.error = -EIO;
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_OUTPUT);
    raise(SIGINT);
    weir_coordinator_wait_workload(&f.coordinator, -1);
    cr_assert_not(f.workload.reaped);
    cr_assert_eq(f.coordinator.ending_signal, SIGINT);
    weir_workload_ask_to_end(&f.workload);
    weir_coordinator_wait_workload(&f.coordinator, -1);
    cr_assert_eq(WTERMSIG(f.workload.status), SIGTERM);
    fixture_fini(&f);
}

#ifdef WEIR_TEST_POINTS
static pid_t dying; /* at the next look at it; 0: none */

void weir_test_point_reached(enum weir_test_point point)
{
    siginfo_t info;
    if (point != WEIR_AT_WORKLOAD_WAIT || dying == 0)
        return;
    kill(dying, SIGKILL);
    waitid(P_PID, (id_t)dying, &info, WEXITED | WNOWAIT); /* then SIGCHLD has been sent */
    dying = 0;
}

Test(coordinator, workload_that_ends_between_two_looks_is_not_waited_for_in_vain, .timeout = 30)
{
    struct fixture f;
    fixture_init(&f);
    start_workload(&f, "exec sleep 1000");
    f.pipeline.writer.error = -EIO;
    cr_assert_eq(run_workload(&f), WEIR_RECORD_END_OUTPUT);
    dying = f.workload.pid;
    weir_coordinator_wait_workload(&f.coordinator, -1);
    cr_assert_eq(WTERMSIG(f.workload.status), SIGKILL);
    fixture_fini(&f);
}
#endif

/* ---- schedules ---- */

struct switches {
    uint64_t started_ns;
    uint64_t at_ms[8]; /* since the start */
    bool on[8];
    unsigned count;
};

static void note_switch(void *ctx, bool on)
{
    struct switches *switches = ctx;
    cr_assert_lt(switches->count, 8);
    switches->on[switches->count] = on;
    uint64_t passed_ns = weir_clock_now_ns(&weir_clock_monotonic) - switches->started_ns;
    switches->at_ms[switches->count++] = passed_ns / WEIR_NS_PER_MS;
}

Test(coordinator, schedule_switches_in_time_and_ends_the_recording, .timeout = 30)
{
    struct fixture f;
    struct switches switches = {.started_ns = weir_clock_now_ns(&weir_clock_monotonic)};
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    fixture_init(&f);
    cr_assert_eq(weir_schedule_parse(&schedule, "20-40,60-70", NULL), 0);
    f.coordinator.schedule = &schedule;
    f.coordinator.toggle_events = note_switch;
    f.coordinator.toggle_ctx = &switches;
    cr_assert_eq(run(&f), WEIR_RECORD_END_SCHEDULE);
    const uint64_t earliest_ms[] = {20, 40, 60, 70};
    cr_assert_eq(switches.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        cr_assert_eq(switches.on[i], i % 2 == 0);
        cr_assert_geq(switches.at_ms[i], earliest_ms[i]);
    }
    weir_schedule_fini(&schedule);
    fixture_fini(&f);
}

static void raise_signals(void *ctx, bool on)
{
    const int *number = ctx;
    if (!on) {
        raise(SIGUSR2);
        raise(*number);
    }
}

/* What came before the end was seen is no less than what was seen before. */
Test(coordinator, signals_that_come_while_the_loop_ends_count, .timeout = 30)
{
    struct fixture f;
    struct counted counted = {.fixture = &f};
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    int number = SIGTERM;
    fixture_init(&f);
    cr_assert_eq(weir_schedule_parse(&schedule, "10-20", NULL), 0);
    f.coordinator.schedule = &schedule;
    f.coordinator.toggle_events = raise_signals;
    f.coordinator.toggle_ctx = &number;
    weir_triggers_register(&f.coordinator.triggers, WEIR_TRIGGER_DUMP,
                           &(struct weir_trigger_action){.run = count_run, .ctx = &counted});
    weir_triggers_set_signal(&f.coordinator.triggers, WEIR_TRIGGER_DUMP);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SCHEDULE);
    cr_assert_eq(counted.runs, 1);
    cr_assert_eq(f.coordinator.ending_signal, SIGTERM);
    cr_assert_not(weir_coordinator_is_hurried(&f.coordinator)); /* it is the first one */
    weir_schedule_fini(&schedule);
    fixture_fini(&f);
}

Test(coordinator, signal_goes_before_a_schedule, .timeout = 30)
{
    struct fixture f;
    struct switches switches = {0};
    struct weir_schedule schedule = WEIR_SCHEDULE_INIT;
    fixture_init(&f);
    cr_assert_eq(weir_schedule_parse(&schedule, "2000000000", NULL), 0);
    f.coordinator.schedule = &schedule;
    f.coordinator.toggle_events = note_switch;
    f.coordinator.toggle_ctx = &switches;
    raise(SIGINT);
    cr_assert_eq(run(&f), WEIR_RECORD_END_SIGNAL);
    cr_assert_eq(switches.count, 0);
    weir_schedule_fini(&schedule);
    fixture_fini(&f);
}
