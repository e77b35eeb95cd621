/* What --control opens, and the socket of the workload's programs. */
#include "engine/control/control.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/control/control_internal.h"
#include "tests/engine/control_rig.h"

/* ---- opened ---- */

struct fixture {
    struct control_rig rig;
    struct weir_control control;
    char folder[64], ctl[96], ack[96];
};

static void init(struct fixture *f)
{
    control_rig_init(&f->rig);
    weir_control_init(&f->control, &f->rig.host);
    snprintf(f->folder, sizeof(f->folder), "/tmp/weir-control-XXXXXX");
    cr_assert_not_null(mkdtemp(f->folder));
    snprintf(f->ctl, sizeof(f->ctl), "%s/ctl", f->folder);
    snprintf(f->ack, sizeof(f->ack), "%s/ack", f->folder);
}

static void fini(struct fixture *f)
{
    weir_control_fini(&f->control);
    weir_control_fini(&f->control);
    control_rig_fini(&f->rig);
    unlink(f->ctl);
    unlink(f->ack);
    rmdir(f->folder);
}

static void expect_refused(struct fixture *f, struct weir_control_spec *spec, int code, const char *what)
{
    struct weir_error err;
    cr_expect_eq(weir_control_open(&f->control, spec, &err), code);
    cr_expect_not_null(strstr(err.what, what), "'%s' is not in '%s'", what, err.what);
}

Test(control, what_is_no_fifo_is_refused)
{
    struct fixture f;
    init(&f);
    struct weir_control_spec spec = {.given = true, .ctl_fd = -1, .ack_fd = -1, .ctl_path = f.ctl};
    expect_refused(&f, &spec, -ENOENT, "' of --control: No such file or directory");
    close(open(f.ctl, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    expect_refused(&f, &spec, -EINVAL, "' of --control is not a fifo");
    unlink(f.ctl);
    cr_assert_eq(mkfifo(f.ctl, 0600), 0);
    spec.ack_path = f.ack;
    expect_refused(&f, &spec, -ENOENT, "ack' of --control: No such file or directory");
    struct weir_control_spec closed = {.given = true, .ctl_fd = 999, .ack_fd = -1};
    expect_refused(&f, &closed, -EBADF, "descriptor 999 of --control cannot be used: Bad file descriptor");
    fini(&f);
}

Test(control, not_given_is_nothing_to_do)
{
    struct fixture f;
    init(&f);
    cr_assert_eq(weir_control_open(&f.control, &(struct weir_control_spec)WEIR_CONTROL_SPEC_INIT, NULL), 0);
    fini(&f);
}

Test(control, clients_of_a_fifo_come_and_go)
{
    struct fixture f;
    init(&f);
    cr_assert_eq(mkfifo(f.ctl, 0600), 0);
    cr_assert_eq(mkfifo(f.ack, 0600), 0);
    struct weir_control_spec spec = {.given = true, .ctl_fd = -1, .ack_fd = -1, .ctl_path = f.ctl, .ack_path = f.ack};
    cr_assert_eq(weir_control_open(&f.control, &spec, NULL), 0);
    for (int i = 0; i < 3; i++) {
        int to = open(f.ctl, O_WRONLY | O_NONBLOCK | O_CLOEXEC), from = open(f.ack, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        cr_assert_eq(write(to, "ping\n", 5), 5);
        control_rig_turn(&f.rig);
        cr_assert_str_eq(control_rig_read(from), "ack\n$");
        close(to);
        close(from);
        control_rig_turn(&f.rig);
    }
    fini(&f);
}

Test(control, descriptors_keep_their_flags_and_stay_open)
{
    struct fixture f;
    int commands[2], answers[2];
    init(&f);
    cr_assert_eq(pipe2(commands, O_CLOEXEC), 0); /* which block */
    cr_assert_eq(pipe2(answers, O_CLOEXEC), 0);
    struct weir_control_spec spec = {.given = true, .ctl_fd = commands[0], .ack_fd = answers[1]};
    cr_assert_eq(weir_control_open(&f.control, &spec, NULL), 0);
    cr_assert_eq(fcntl(commands[0], F_GETFL) & O_NONBLOCK, 0);
    cr_assert_eq(fcntl(answers[1], F_GETFL) & O_NONBLOCK, 0);
    cr_assert_eq(write(commands[1], "ping\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(answers[0]), "ack\n$");
    fini(&f);
    cr_assert_neq(fcntl(commands[0], F_GETFD), -1);
    cr_assert_neq(fcntl(answers[1], F_GETFD), -1);
}

Test(control, descriptors_may_be_sockets)
{
    struct fixture f;
    int ends[2];
    init(&f);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct weir_control_spec spec = {.given = true, .ctl_fd = ends[0], .ack_fd = ends[0]};
    cr_assert_eq(weir_control_open(&f.control, &spec, NULL), 0);
    cr_assert_eq(write(ends[1], "ping\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(ends[1]), "ack\n$");
    fini(&f);
}

/* ---- the socket ---- */

static int connect_client(const struct weir_control *control)
{
    const char *name = strchr(control->environment, '@') + 1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, strlen(name));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&address,
                         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))),
                 0);
    return fd;
}

Test(control, socket_has_a_name_for_the_environment)
{
    struct fixture f;
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    cr_assert_eq(strncmp(f.control.environment, "WEIR_CONTROL=unix:@", 19), 0, "%s", f.control.environment);
    cr_assert_eq(strlen(f.control.environment), 19 + 5); /* unix(7): five hexadecimal digits */
    fini(&f);
}

Test(control, clients_of_the_socket_are_answered_each_for_itself)
{
    struct fixture f;
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    int first = connect_client(&f.control), second = connect_client(&f.control);
    control_rig_turn(&f.rig);
    cr_assert_eq(write(first, "evlist -F\n", 10), 10);
    cr_assert_eq(write(second, "bogus\n-ping\n", 12), 12);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(first), "first 3\nsecond\nack\n$");
    cr_assert_str_eq(control_rig_read(second), "error: unknown control command 'bogus'\n$");
    cr_assert_eq(f.rig.warnings, 0); /* it is the program's to say */
    close(first);
    control_rig_turn(&f.rig);
    cr_assert_eq(write(second, "ping\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(second), "ack\n$");
    close(second);
    fini(&f);
}

Test(control, door_of_the_user_needs_no_command)
{
    struct fixture f;
    char name[32];
    init(&f);
    setenv("XDG_RUNTIME_DIR", f.folder, 1);
    cr_assert_eq(weir_control_listen_to_user(&f.control, NULL), 0);
    cr_expect_str_eq(f.control.environment, "");
    char path[PATH_MAX];
    cr_assert_eq(weir_runtime_folder_path(path), 0);
    int folder = weir_runtime_folder_open(path, geteuid(), false);
    snprintf(name, sizeof(name), "%d.sock", (int)getpid());
    int client = weir_runtime_socket_connect(folder, name, geteuid(), 1000);
    cr_assert_geq(client, 0);
    cr_assert_eq(write(client, "ping\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_expect_str_eq(control_rig_read(client), "ack\n$");
    weir_control_close_doors(&f.control);
    cr_expect_eq(weir_runtime_socket_connect(folder, name, geteuid(), 1000), -ENOENT);
    close(client);
    close(folder);
    cr_expect_eq(rmdir(path), 0);
    fini(&f);
}

Test(control, door_of_the_user_that_cannot_be_opened_is_told)
{
    struct fixture f;
    struct weir_error err;
    char path[PATH_MAX];
    init(&f);
    setenv("XDG_RUNTIME_DIR", f.folder, 1);
    cr_assert_eq(weir_runtime_folder_path(path), 0);
    cr_assert_eq(mkdir(path, 0755), 0);
    cr_assert_eq(chmod(path, 0755), 0);
    cr_expect_eq(weir_control_listen_to_user(&f.control, &err), -EPERM);
    cr_expect_str_eq(err.what, "weir status and weir top cannot find this recording: Operation not permitted");
    cr_assert_eq(rmdir(path), 0);
    fini(&f);
}

/* Though no client leaves: what is missing may be missing for any reason. */
Test(control, client_for_whom_there_is_no_descriptor_waits_until_there_is_one, .timeout = 30)
{
    struct fixture f;
    struct rlimit limit;
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    int client = connect_client(&f.control);
    cr_assert_eq(write(client, "ping\n", 5), 5);

    getrlimit(RLIMIT_NOFILE, &limit);
    int next = dup(0);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max});
    control_rig_turn(&f.rig); /* or it would be found ready again and again */
    cr_expect_eq(f.rig.warnings, 1);
    cr_expect_eq(weir_poll_set_wait(&f.rig.sources, -1), 1); /* the next look */
    control_rig_turn(&f.rig);
    cr_expect_eq(f.rig.warnings, 1);
    setrlimit(RLIMIT_NOFILE, &limit);
    weir_poll_set_wait(&f.rig.sources, -1);
    control_rig_turn(&f.rig);
    cr_expect_str_eq(control_rig_read(client), "ack\n$");
    close(client);
    fini(&f);
}

Test(control, clients_beyond_the_bound_are_turned_away_until_one_leaves)
{
    struct fixture f;
    int clients[WEIR_CONTROL_CLIENTS + 1];
    char text[64] = "", byte;
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    for (int i = 0; i <= WEIR_CONTROL_CLIENTS; i++) {
        clients[i] = connect_client(&f.control);
        control_rig_turn(&f.rig);
    }
    cr_assert_eq(read(clients[WEIR_CONTROL_CLIENTS], text, sizeof(text)), 40); /* with its zero byte */
    cr_assert_str_eq(text, "error: too many programs are connected\n");
    cr_assert_eq(read(clients[WEIR_CONTROL_CLIENTS], &byte, 1), 0);
    close(clients[0]);
    control_rig_turn(&f.rig);
    clients[0] = connect_client(&f.control);
    cr_assert_eq(write(clients[0], "ping\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_assert_str_eq(control_rig_read(clients[0]), "ack\n$");
    for (int i = 0; i <= WEIR_CONTROL_CLIENTS; i++)
        close(clients[i]);
    fini(&f);
}

/* An abstract address has no permissions: who may talk to a recorder is whoever runs as its user, and root. */
Test(control, client_of_another_user_is_turned_away)
{
    struct fixture f;
    char text[64] = "";
    if (geteuid() != 0)
        cr_skip_test("needs root to become another user");
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    cr_assert_eq(seteuid(65534), 0);
    int client = connect_client(&f.control); /* its credentials are those of this moment */
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(write(client, "stop\n", 5), 5);
    control_rig_turn(&f.rig);
    cr_expect_gt(read(client, text, sizeof(text) - 1), 0);
    cr_expect_str_eq(text, "error: this user is neither weir's nor root\n");
    cr_expect_eq(f.rig.stops, 0);
    close(client);
    fini(&f);
}

Test(control, end_closes_the_clients)
{
    struct fixture f;
    char byte;
    init(&f);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    int client = connect_client(&f.control);
    control_rig_turn(&f.rig);
    fini(&f);
    cr_assert_eq(read(client, &byte, 1), 0);
    close(client);
}

Test(control, end_closes_the_clients_and_has_the_channel_refuse)
{
    struct fixture f;
    struct weir_poll_set late = WEIR_POLL_SET_INIT;
    char byte;
    init(&f);
    cr_assert_eq(mkfifo(f.ctl, 0600), 0);
    cr_assert_eq(mkfifo(f.ack, 0600), 0);
    struct weir_control_spec spec = {.given = true, .ctl_fd = -1, .ack_fd = -1, .ctl_path = f.ctl, .ack_path = f.ack};
    cr_assert_eq(weir_control_open(&f.control, &spec, NULL), 0);
    cr_assert_eq(weir_control_listen(&f.control, NULL), 0);
    int client = connect_client(&f.control);
    int to = open(f.ctl, O_WRONLY | O_NONBLOCK | O_CLOEXEC), from = open(f.ack, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    control_rig_turn(&f.rig);

    weir_control_end(&f.control, &late);
    cr_expect_eq(read(client, &byte, 1), 0);
    cr_assert_eq(write(to, "ping\nbogus\nenable first\n-stop\n", 31), 31);
    control_rig_turn(&f.rig);
    cr_expect_str_eq(control_rig_read(from), "");
    while (weir_poll_set_wait(&late, 0) > 0)
        ;
    cr_expect_str_eq(control_rig_read(from),
                     "error: the recording has ended\n$error: unknown control command 'bogus'\n$"
                     "error: the recording has ended\n$");
    cr_expect_eq(f.rig.stops, 0);
    cr_expect_str_eq(f.rig.switched, "");
    close(to);
    close(from);
    close(client);
    fini(&f);
    weir_poll_set_fini(&late);
}
