/* The folder of sockets, and the sockets in it. */
#include "engine/control/runtime_folder.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char above[64], folder[PATH_MAX], name[32];
};

static void init(struct fixture *f)
{
    snprintf(f->above, sizeof(f->above), "/tmp/weir-runtime-XXXXXX");
    cr_assert_not_null(mkdtemp(f->above));
    setenv("XDG_RUNTIME_DIR", f->above, 1);
    cr_assert_eq(weir_runtime_folder_path(f->folder), 0);
    snprintf(f->name, sizeof(f->name), "%d.sock", (int)getpid());
}

static void fini(const struct fixture *f)
{
    cr_expect_eq(rmdir(f->folder), 0); /* nothing is left in it */
    cr_expect_eq(rmdir(f->above), 0);
}

Test(runtime_folder, folder_of_another_user_or_open_to_others_is_refused)
{
    struct fixture f;
    init(&f);
    cr_assert_eq(weir_runtime_folder_open(f.folder, geteuid(), false), -ENOENT);
    cr_assert_eq(mkdir(f.folder, 0700), 0);
    cr_expect_eq(weir_runtime_folder_open(f.folder, geteuid() + 1, false), -EPERM);
    cr_assert_eq(chmod(f.folder, 0701), 0);
    cr_expect_eq(weir_runtime_folder_open(f.folder, geteuid(), true), -EPERM);
    struct weir_runtime_socket listener = {0};
    cr_expect_eq(weir_runtime_socket_listen(&listener, 1), -EPERM);
    weir_runtime_socket_remove(&listener);
    weir_runtime_socket_remove(NULL);
    fini(&f);
}

Test(runtime_folder, link_in_place_of_the_folder_is_refused)
{
    struct fixture f;
    char other[128];
    init(&f);
    snprintf(other, sizeof(other), "%s/other", f.above);
    cr_assert_eq(mkdir(other, 0700), 0);
    cr_assert_eq(symlink(other, f.folder), 0);
    cr_expect_eq(weir_runtime_folder_open(f.folder, geteuid(), true), -ENOTDIR);
    unlink(f.folder);
    cr_assert_eq(rename(other, f.folder), 0);
    fini(&f);
}

Test(runtime_folder, variable_that_names_a_folder_of_another_user_is_ignored)
{
    struct fixture f;
    char path[PATH_MAX], wanted[PATH_MAX];
    if (geteuid() != 0)
        cr_skip_test("needs root to become another user");
    init(&f);
    cr_assert_eq(seteuid(65534), 0);
    cr_expect_eq(weir_runtime_folder_path(path), 0);
    cr_expect_str_eq(path, "/run/user/65534/weir");
    cr_assert_eq(seteuid(0), 0);
    cr_expect_eq(weir_runtime_folder_path(path), 0);
    snprintf(wanted, sizeof(wanted), "%s/weir", f.above);
    cr_expect_str_eq(path, wanted);
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    cr_expect_eq(weir_runtime_folder_path(path), 0);
    cr_expect_str_eq(path, "/run/weir");
    rmdir(f.above);
}

Test(runtime_folder, client_reaches_the_socket_until_it_is_removed)
{
    struct fixture f;
    struct stat status;
    init(&f);
    struct weir_runtime_socket listener = {0};
    int fd = weir_runtime_socket_listen(&listener, 1);
    cr_assert_geq(fd, 0);
    cr_expect_str_eq(listener.name, f.name);
    cr_assert_eq(stat(f.folder, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0700);

    int folder = weir_runtime_folder_open(f.folder, geteuid(), false);
    cr_assert_geq(folder, 0);
    int client = weir_runtime_socket_connect(folder, f.name, geteuid(), 1000);
    cr_expect_geq(client, 0);
    cr_expect_eq(weir_runtime_socket_connect(folder, f.name, geteuid() + 1, 1000), -EPERM);
    close(client);
    weir_runtime_socket_remove(&listener);
    weir_runtime_socket_remove(&listener);
    cr_expect_eq(weir_runtime_socket_connect(folder, f.name, geteuid(), 1000), -ENOENT);
    close(fd);
    close(folder);
    fini(&f);
}

/* A recorder that was killed leaves its name; the next process of that id takes it. */
Test(runtime_folder, name_of_a_killed_recorder_is_taken_and_that_of_a_living_one_is_not)
{
    struct fixture f;
    init(&f);
    struct weir_runtime_socket killed = {0}, next = {0}, beside = {0};
    int fd = weir_runtime_socket_listen(&killed, 1);
    cr_assert_geq(fd, 0);
    close(fd);
    fd = weir_runtime_socket_listen(&next, 1);
    cr_assert_geq(fd, 0);
    cr_expect_str_eq(next.name, f.name);
    int second = weir_runtime_socket_listen(&beside, 1);
    cr_assert_geq(second, 0);
    snprintf(f.name, sizeof(f.name), "%d-1.sock", (int)getpid());
    cr_expect_str_eq(beside.name, f.name);
    weir_runtime_socket_remove(&beside);
    weir_runtime_socket_remove(&next);
    close(fd);
    close(second);
    fini(&f);
}
