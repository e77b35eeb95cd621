/* A client of the control protocol: answers, order, garbage, and ends that are closed. */
#include "engine/control/control_channel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/control_rig.h"

struct fixture {
    struct control_rig rig;
    struct weir_control_channel channel;
    int to, from; /* the client's ends */
    unsigned ended;
};

static void note_end(void *ctx)
{
    struct fixture *f = ctx;
    f->ended++;
}

static int init(struct fixture *f, bool answered)
{
    int commands[2], answers[2];
    control_rig_init(&f->rig);
    cr_assert_eq(pipe2(commands, O_CLOEXEC | O_NONBLOCK), 0);
    cr_assert_eq(pipe2(answers, O_CLOEXEC | O_NONBLOCK), 0);
    f->to = commands[1];
    f->from = answers[0];
    f->ended = 0;
    if (!answered)
        close(answers[1]);
    return weir_control_channel_init(&f->channel, &(struct weir_control_channel){
                                                      .host = &f->rig.host,
                                                      .source = WEIR_TRIGGER_BY_CONTROL,
                                                      .in_fd = commands[0],
                                                      .out_fd = answered ? answers[1] : -1,
                                                      .lists_to_user = true,
                                                      .ended = note_end,
                                                      .ended_ctx = f,
                                                  });
}

static void fini(struct fixture *f)
{
    weir_control_channel_fini(&f->channel);
    control_rig_fini(&f->rig);
    close(f->to);
    close(f->from);
}

static void say(struct fixture *f, const char *text)
{
    cr_assert_eq(write(f->to, text, strlen(text)), (ssize_t)strlen(text));
    control_rig_turn(&f->rig);
}

static void expect_answer(struct fixture *f, const char *command, const char *answer)
{
    say(f, command);
    cr_expect_str_eq(control_rig_read(f->from), answer, "answer to '%s'", command);
}

/* ---- what goes wrong ---- */

Test(control_channel, no_memory_closes_the_descriptors)
{
    struct fixture f;
    failing_alloc_after(0);
    cr_assert_eq(init(&f, true), -ENOMEM);
    failing_alloc_never();
    cr_assert_eq(write(f.to, "x", 1), -1);
    cr_assert_eq(errno, EPIPE);
    fini(&f);
}

Test(control_channel, fini_takes_null)
{
    weir_control_channel_fini(NULL);
}

Test(control_channel, refused_commands_are_answered_and_the_first_is_a_warning)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    expect_answer(&f, "bogus\n", "error: unknown control command 'bogus'\n$");
    expect_answer(&f, "enable none\n", "error: there is no event 'none'\n$");
    expect_answer(&f, "switch\n", "error: this recording has nothing to switch\n$");
    cr_assert_eq(f.rig.warnings, 1);
    cr_assert_str_eq(f.rig.warning, "control: unknown control command 'bogus'");
    fini(&f);
}

Test(control_channel, megabyte_without_an_end_is_one_error_and_the_next_command_is_done)
{
    struct fixture f;
    char garbage[4096];
    memset(garbage, 0xa5, sizeof(garbage));
    cr_assert_eq(init(&f, true), 0);
    for (int i = 0; i < 256; i++) {
        cr_assert_eq(write(f.to, garbage, sizeof(garbage)), (ssize_t)sizeof(garbage));
        control_rig_turn(&f.rig);
    }
    expect_answer(&f, "\nping\n", "error: a control command is longer than 1024 bytes\n$ack\n$");
    cr_assert_eq(f.rig.warnings, 1);
    fini(&f);
}

Test(control_channel, answers_that_nobody_reads_are_dropped_with_one_warning)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    for (int i = 0; i < 20000; i++) /* of 5 bytes each: more than a pipe takes */
        say(&f, "ping\n");
    cr_assert_eq(f.rig.warnings, 1);
    cr_assert_str_eq(f.rig.warning,
                     "the answers to control commands are not read, and dropped: Resource temporarily unavailable");
    cr_assert_gt(f.channel.dropped, 1000);
    control_rig_read(f.from);
    expect_answer(&f, "stop\n", "ack\n$");
    cr_assert_eq(f.rig.stops, 1);
    fini(&f);
}

static void tell_at_length(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    (void)ctx;
    (void)detail;
    weir_buf_printf(out, "%*s\n", PIPE_BUF, "");
}

Test(control_channel, answer_that_a_pipe_may_not_take_as_a_whole_is_dropped)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    f.rig.host.tell_status = tell_at_length;
    expect_answer(&f, "status\n", "");
    cr_assert_str_eq(f.rig.warning, "the answers to control commands are not read, and dropped: Message too long");
    expect_answer(&f, "ping\n", "ack\n$");
    fini(&f);
}

Test(control_channel, closed_end_of_the_answers_is_one_warning_and_commands_are_done)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    close(f.from);
    f.from = open("/dev/null", O_RDONLY | O_CLOEXEC);
    say(&f, "ping\nstop\n");
    cr_assert_eq(f.rig.warnings, 1);
    cr_assert_str_eq(f.rig.warning, "the answers to control commands are not read, and dropped: Broken pipe");
    cr_assert_eq(f.rig.stops, 1);
    fini(&f);
}

/* ---- answers ---- */

Test(control_channel, every_command_is_answered_as_perf_does)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    expect_answer(&f, "ping\n", "ack\n$");
    expect_answer(&f, "snapshot\n", "ack\n$");
    expect_answer(&f, "enable a b\n", "ack\n$");
    cr_assert_str_eq(f.rig.switched, "+a b");
    expect_answer(&f, "disable c\n", "ack\n$");
    cr_assert_str_eq(f.rig.switched, "-c");
    expect_answer(&f, "evlist\n", "ack\n$");
    cr_assert_eq(f.rig.infos, 2); /* its lines are for the user's eyes */
    expect_answer(&f, "status\n", "{}\nack\n$");
    expect_answer(&f, "status -v\n", "{\"places\":{}}\nack\n$");
    expect_answer(&f, "status -g\n", "error: status takes -v, not '-g'\n$");
    expect_answer(&f, "-ping\n", "");
    expect_answer(&f, "-bogus\n", "");
    fini(&f);
}

Test(control_channel, without_a_place_for_answers_commands_are_done_and_told_to_the_user)
{
    struct fixture f;
    cr_assert_eq(init(&f, false), 0);
    say(&f, "snapshot\nstatus\nbogus\n");
    cr_assert_eq(f.rig.snapshots, 1);
    cr_assert_eq(f.rig.infos, 1);
    cr_assert_eq(f.rig.warnings, 1);
    fini(&f);
}

Test(control_channel, commands_come_in_pieces_and_in_one)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    expect_answer(&f, "pi", "");
    expect_answer(&f, "ng", "");
    expect_answer(&f, "\nping\nsnapshot\n\nbog", "ack\n$ack\n$ack\n$");
    expect_answer(&f, "us\n", "error: unknown control command 'bogus'\n$");
    fini(&f);
}

Test(control_channel, command_that_takes_time_holds_back_the_next_one)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    f.rig.slow = true;
    expect_answer(&f, "snapshot\nstop\nping\n", "");
    expect_answer(&f, "ping\n", "");
    cr_assert_eq(f.rig.stops, 0);
    weir_triggers_complete(&f.rig.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    cr_assert_eq(f.rig.stops, 1);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(f.from), "ack\n$ack\n$ack\n$ack\n$");
    fini(&f);
}

/* libweir's weir_snapshot() in a loop: each is taken when it is asked for, or not at all. */
Test(control_channel, snapshot_without_an_answer_is_refused_at_once_while_one_is_written)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    f.rig.slow = true;
    expect_answer(&f, "-snapshot\n-snapshot\n", "");
    expect_answer(&f, "-snapshot\nping\n-snapshot\n", "");
    cr_assert_eq(f.rig.snapshots, 1);
    cr_assert_eq(f.rig.triggers.refused, 2);
    cr_assert_str_eq(f.rig.warning, "control: busy");
    weir_triggers_complete(&f.rig.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(f.from), "ack\n$");
    cr_assert_eq(f.rig.snapshots, 2); /* behind the ping, which was to wait */
    weir_triggers_complete(&f.rig.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    fini(&f);
}

Test(control_channel, line_that_is_too_long_is_told_behind_the_command_that_is_being_done)
{
    struct fixture f;
    char garbage[2000];
    memset(garbage, 'x', sizeof(garbage));
    cr_assert_eq(init(&f, true), 0);
    f.rig.slow = true;
    say(&f, "snapshot\n");
    cr_assert_eq(write(f.to, garbage, sizeof(garbage)), (ssize_t)sizeof(garbage));
    control_rig_turn(&f.rig);
    expect_answer(&f, "\nping\n", "");
    weir_triggers_complete(&f.rig.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(f.from), "ack\n$error: a control command is longer than 1024 bytes\n$ack\n$");
    fini(&f);
}

/* ---- the budget ---- */

static unsigned answers(int fd)
{
    unsigned count = 0;
    for (const char *text = control_rig_read(fd); *text; text++)
        count += *text == '$';
    return count;
}

Test(control_channel, client_has_one_command_done_in_each_turn)
{
    struct fixture f;
    const char commands[] = "ping\nping\nbogus\n-ping\nping\n";
    const unsigned expected[] = {1, 1, 1, 0, 1, 0};
    cr_assert_eq(init(&f, true), 0);
    cr_assert_eq(write(f.to, commands, sizeof(commands) - 1), (ssize_t)sizeof(commands) - 1);
    for (size_t turn = 0; turn < sizeof(expected) / sizeof(expected[0]); turn++) {
        cr_assert_eq(weir_poll_set_wait(&f.rig.sources, 0), 1);
        cr_assert_eq(answers(f.from), expected[turn], "turn %zu", turn);
    }
    cr_assert_eq(weir_poll_set_wait(&f.rig.sources, 0), 0);
    fini(&f);
}

#define CLIENTS (2 * WEIR_CONTROL_COMMANDS + 3)

Test(control_channel, clients_that_never_rest_share_the_budget_of_a_turn)
{
    struct control_rig rig;
    struct weir_control_channel channels[CLIENTS];
    int ends[CLIENTS];
    unsigned answered[CLIENTS] = {0};
    control_rig_init(&rig);
    for (unsigned i = 0; i < CLIENTS; i++) {
        int pair[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        ends[i] = pair[1];
        const struct weir_control_channel setup = {
            .host = &rig.host, .source = WEIR_TRIGGER_BY_API, .in_fd = pair[0], .out_fd = pair[0]};
        cr_assert_eq(weir_control_channel_init(&channels[i], &setup), 0);
    }
    for (unsigned turn = 1; turn <= CLIENTS; turn++) { /* CLIENTS turns of so many commands: so many for each client */
        unsigned in_turn = 0;
        for (unsigned i = 0; i < CLIENTS; i++)
            cr_assert_eq(write(ends[i], "status\n", 7), 7);
        weir_poll_set_wait(&rig.sources, 0);
        for (unsigned i = 0; i < CLIENTS; i++) {
            unsigned got = answers(ends[i]);
            in_turn += got;
            answered[i] += got;
        }
        cr_assert_eq(in_turn, WEIR_CONTROL_COMMANDS, "turn %u", turn);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        cr_expect_eq(answered[i], WEIR_CONTROL_COMMANDS, "client %u: %u", i, answered[i]);
        weir_control_channel_fini(&channels[i]);
        close(ends[i]);
    }
    control_rig_fini(&rig);
}

/* ---- the end ---- */

Test(control_channel, client_that_leaves_gets_its_last_line_done)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    say(&f, "stop");
    cr_assert_eq(f.rig.stops, 0);
    close(f.to);
    control_rig_turn(&f.rig);
    cr_assert_eq(f.rig.stops, 1);
    cr_assert_eq(f.ended, 1);
    cr_assert_str_eq(control_rig_read(f.from), "ack\n$");
    f.to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fini(&f);
}

Test(control_channel, client_that_leaves_during_a_command_is_let_go_after_it)
{
    struct fixture f;
    cr_assert_eq(init(&f, true), 0);
    f.rig.slow = true;
    say(&f, "snapshot\n");
    close(f.to);
    control_rig_turn(&f.rig);
    cr_assert_eq(f.ended, 0);
    weir_triggers_complete(&f.rig.triggers, WEIR_TRIGGER_SNAPSHOT, 0, NULL);
    control_rig_turn(&f.rig);
    cr_assert_eq(f.ended, 1);
    f.to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fini(&f);
}
