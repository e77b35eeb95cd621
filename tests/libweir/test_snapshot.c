/* What programs send and get, against an end of a socket that plays weir. */
#include <weir/snapshot.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bits.h"

struct ends {
    int program, weir;
};

static void open_ends(struct ends *ends)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    *ends = (struct ends){fds[0], fds[1]};
    errno = ENOTTY; /* stays */
}

static void close_ends(struct ends *ends)
{
    cr_assert_eq(errno, ENOTTY);
    close(ends->program);
    close(ends->weir);
}

static void expect_sent(const struct ends *ends, const char *wanted)
{
    char text[2048];
    int before = errno;
    ssize_t got = recv(ends->weir, text, sizeof(text) - 1, MSG_DONTWAIT);
    text[got > 0 ? got : 0] = '\0';
    cr_expect_str_eq(text, wanted);
    errno = before;
}

/* ---- what goes wrong ---- */

Test(snapshot, program_that_is_not_recorded_need_not_ask)
{
    cr_expect_eq(weir_snapshot(-ENOENT), -EBADF);
    cr_expect_eq(weir_snapshot_alloc(-ENOENT), -EBADF);
    cr_expect_eq(weir_enable(-1), -EBADF);
    cr_expect_eq(weir_disable(-1), -EBADF);
    cr_expect_eq(weir_switch_output(-1), -EBADF);
    cr_expect_eq(weir_ask(-1, "ping", NULL, 0), -EBADF);
}

Test(snapshot, addresses_that_are_none_are_refused)
{
    static const char *const addresses[] = {"", "unix:", "unix:@", "unix:x", "tcp:@a", "@a", "unix:/"};
    char long_one[256] = "unix:@";
    memset(long_one + 6, 'x', sizeof(long_one) - 7);
    errno = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(addresses); i++)
        cr_expect_eq(weir_connect_to(addresses[i]), -EINVAL, "'%s'", addresses[i]);
    cr_expect_eq(weir_connect_to(long_one), -EINVAL);
    cr_expect_eq(weir_connect_to("unix:@weir-test-nobody"), -ECONNREFUSED);
    cr_expect_eq(weir_connect_to("unix:/nowhere/weir"), -ENOENT);
    unsetenv("WEIR_CONTROL");
    cr_expect_eq(weir_connect(), -ENOENT);
    setenv("WEIR_CONTROL", "nonsense", 1);
    cr_expect_eq(weir_connect(), -EINVAL);
    cr_expect_eq(errno, 0);
}

Test(snapshot, commands_that_are_none_are_refused)
{
    struct ends ends;
    char answer[8] = "before", command[1026];
    open_ends(&ends);
    memset(command, 'x', sizeof(command));
    command[1025] = '\0';
    cr_expect_eq(weir_ask(ends.program, "", NULL, 0), -EINVAL);
    cr_expect_eq(weir_ask(ends.program, "ping\nstop", answer, sizeof(answer)), -EINVAL);
    cr_expect_eq(weir_ask(ends.program, "-ping", answer, sizeof(answer)), -EINVAL); /* nobody would answer */
    cr_expect_str_eq(answer, "");
    cr_expect_eq(weir_ask(ends.program, command, NULL, 0), -EMSGSIZE);
    expect_sent(&ends, "");
    close_ends(&ends);
}

Test(snapshot, weir_that_has_gone_is_told_without_a_signal)
{
    struct ends ends;
    open_ends(&ends);
    shutdown(ends.weir, SHUT_RDWR);
    cr_expect_eq(weir_snapshot(ends.program), -EPIPE);
    cr_expect_eq(weir_ask(ends.program, "ping", NULL, 0), -EPIPE);
    close_ends(&ends);
}

/* With the command on its way, and before it. */
Test(snapshot, program_that_is_turned_away_is_told_why, .timeout = 30)
{
    static const char why[] = "error: too many\n";
    for (int late = 0; late < 2; late++) {
        struct ends ends;
        char answer[64];
        open_ends(&ends);
        cr_assert_eq(write(ends.weir, why, sizeof(why)), (ssize_t)sizeof(why));
        if (late)
            cr_expect_eq(weir_snapshot(ends.program), 0); /* never read: the program's next call fails for it */
        close(ends.weir);
        cr_expect_eq(weir_ask(ends.program, "ping", answer, sizeof(answer)), -EREMOTEIO);
        cr_expect_str_eq(answer, "too many");
        cr_expect_eq(weir_snapshot(ends.program), -EPIPE);
        cr_expect_eq(weir_ask(ends.program, "ping", answer, sizeof(answer)), -EPIPE);
        ends.weir = -1;
        cr_assert_eq(errno, ENOTTY);
        close(ends.program);
    }
}

Test(snapshot, weir_that_takes_nothing_does_not_hold_up_the_program, .timeout = 30)
{
    struct ends ends;
    int result;
    open_ends(&ends);
    do
        result = weir_snapshot(ends.program);
    while (result == 0);
    cr_expect_eq(result, -EAGAIN);
    close_ends(&ends);
}

/* ---- what is sent and answered ---- */

Test(snapshot, what_does_not_wait_wants_no_answer)
{
    struct ends ends;
    open_ends(&ends);
    cr_expect_eq(weir_snapshot(ends.program), 0);
    expect_sent(&ends, "-snapshot\n");
    cr_expect_eq(weir_enable(ends.program), 0);
    expect_sent(&ends, "-enable\n");
    cr_expect_eq(weir_disable(ends.program), 0);
    expect_sent(&ends, "-disable\n");
    cr_expect_eq(weir_switch_output(ends.program), 0);
    expect_sent(&ends, "-switch\n");
    close_ends(&ends);
}

static int ask(struct ends *ends, const char *reply, size_t bytes, char *answer, size_t room)
{
    cr_assert_eq(write(ends->weir, reply, bytes), (ssize_t)bytes);
    return weir_ask(ends->program, "x", answer, room);
}

#define ASK(reply, room) ask(&ends, reply, sizeof(reply), answer, room)

Test(snapshot, answers_are_told_apart)
{
    struct ends ends;
    char answer[64];
    open_ends(&ends);
    cr_expect_eq(ASK("ack\n", sizeof(answer)), 0);
    cr_expect_str_eq(answer, "");
    cr_expect_eq(ASK("{\"state\":1}\nack\n", sizeof(answer)), 0);
    cr_expect_str_eq(answer, "{\"state\":1}\n");
    cr_expect_eq(ASK("first\nsecond\nack\n", 4), 0);
    cr_expect_str_eq(answer, "fir");
    cr_expect_eq(ASK("12\nack\n", 6), 0);
    cr_expect_str_eq(answer, "12\n");
    cr_expect_eq(ASK("error: no spare\n", sizeof(answer)), -EREMOTEIO);
    cr_expect_str_eq(answer, "no spare");
    cr_expect_eq(ASK("error: no spare\n", 3), -EREMOTEIO);
    cr_expect_str_eq(answer, "no");
    cr_expect_eq(ASK("error: no spare\n", 1), -EREMOTEIO);
    cr_expect_str_eq(answer, "");
    cr_expect_eq(ASK("error: nothing is called back\n", sizeof(answer)), -EREMOTEIO); /* no line of its own */
    cr_expect_str_eq(answer, "nothing is called back");
    cr_expect_eq(ASK("error: or not\nack\n", 10), 0);
    cr_expect_str_eq(answer, "error: or");
    cr_expect_eq(ask(&ends, "ack\n", 5, NULL, 0), 0);
    cr_expect_eq(ASK("", sizeof(answer)), -EPROTO);
    cr_expect_eq(ASK("x", sizeof(answer)), -EREMOTEIO);
    close_ends(&ends);
}

Test(snapshot, answer_comes_in_pieces_and_ends_with_weir)
{
    struct ends ends;
    char answer[64];
    open_ends(&ends);
    cr_assert_eq(write(ends.weir, "ac", 2), 2);
    shutdown(ends.weir, SHUT_WR);
    cr_expect_eq(weir_ask(ends.program, "ping", answer, sizeof(answer)), -EPIPE);
    close_ends(&ends);
}

Test(snapshot, address_of_the_environment_is_connected_to)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[64];
    int length = snprintf(text, sizeof(text), "unix:@weir-test-%d", (int)getpid());
    memcpy(address.sun_path + 1, text + 6, (size_t)length - 6);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length - 6)),
                 0);
    cr_assert_eq(listen(listener, 1), 0);
    setenv("WEIR_CONTROL", text, 1);
    int weir = weir_connect();
    cr_assert_geq(weir, 0);
    struct ends ends = {weir, accept(listener, NULL, NULL)};
    errno = ENOTTY;
    cr_expect_eq(weir_snapshot(weir), 0);
    expect_sent(&ends, "-snapshot\n");
    close_ends(&ends);
    close(listener);
}
