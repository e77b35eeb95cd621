/* The held child: what it may not do before it is let go, how it fails, what it inherits, how it ends. */
#include "engine/control/workload.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"

#define WAIT_STEP_NS   1000000
#define WAIT_STEPS_MAX 10000 /* 10 s: far beyond any wait that ends well */

/* ---- a folder to leave marks in ---- */

struct scratch {
    char folder[96];
    char mark[128]; /* a file that does not exist yet */
};

static void scratch_init(struct scratch *scratch)
{
    const char *folder = getenv("TMPDIR");
    snprintf(scratch->folder, sizeof(scratch->folder), "%s/weir-workload-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(scratch->folder));
    snprintf(scratch->mark, sizeof(scratch->mark), "%s/mark", scratch->folder);
}

static void scratch_fini(struct scratch *scratch)
{
    unlink(scratch->mark);
    cr_expect_eq(rmdir(scratch->folder), 0, "something was left behind in %s", scratch->folder);
}

static bool mark_exists(const struct scratch *scratch)
{
    return access(scratch->mark, F_OK) == 0;
}

/* Makes the mark a file of these contents and mode. */
static void make_mark(const struct scratch *scratch, const char *text, mode_t mode)
{
    int fd = open(scratch->mark, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(fd), 0);
}

static size_t read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    cr_assert_not_null(file, "%s", path);
    size_t got = fread(text, 1, bytes - 1, file);
    fclose(file);
    text[got] = '\0';
    return got;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_NS}, NULL);
}

static void wait_for_mark(const struct scratch *scratch)
{
    for (int i = 0; i < WAIT_STEPS_MAX && !mark_exists(scratch); i++)
        nap();
    cr_assert(mark_exists(scratch));
}

/* Until the child sleeps under its own name: it is then in the read of the go socket. */
static void wait_until_held(const struct weir_workload *workload)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)workload->pid);
    for (int i = 0; i < WAIT_STEPS_MAX && !strstr(text, "(weir-exec) S"); i++) {
        read_text(path, text, sizeof(text));
        nap();
    }
    cr_assert_not_null(strstr(text, "(weir-exec) S"), "%s", text);
}

/* Until it has ended, without reaping it. */
static void wait_until_ended(const struct weir_workload *workload)
{
    siginfo_t info;
    cr_assert_eq(waitid(P_PID, (id_t)workload->pid, &info, WEXITED | WNOWAIT), 0);
}

/* Asks it to end and waits until it does. */
static void ask_and_wait(struct weir_workload *workload)
{
    weir_workload_ask_to_end(workload);
    wait_until_ended(workload);
    cr_assert(weir_workload_poll(workload));
}

#define ARGV(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(script) ARGV("/bin/sh", "-c", (script))

static struct weir_workload prepare(const char *const *argv)
{
    struct weir_workload workload = WEIR_WORKLOAD_INIT;
    sigset_t none;
    sigemptyset(&none);
    struct weir_error err;
    cr_assert_eq(weir_workload_prepare(&workload, (char *const *)argv, &none, &err), 0);
    cr_assert_gt(workload.pid, 0);
    return workload;
}

static int start(struct weir_workload *workload, const char *const *argv, struct weir_error *err)
{
    return weir_workload_start(workload, (char *const *)argv, err);
}

/* Runs a command that can be run, to its end; its wait status. */
static int run(const char *const *argv)
{
    struct weir_workload workload = prepare(argv);
    struct weir_error err = {0};
    cr_assert_eq(start(&workload, argv, &err), 0, "%s", err.what);
    wait_until_ended(&workload);
    cr_assert(weir_workload_poll(&workload));
    int status = workload.status;
    weir_workload_fini(&workload);
    return status;
}

/* ---- commands that cannot be run ---- */

static void expect_refused(const char *command, int code, const char *what, const char *hint)
{
    const char *const *argv = ARGV(command);
    struct weir_workload workload = prepare(argv);
    pid_t pid = workload.pid;
    struct weir_error err = {0};
    cr_expect_eq(start(&workload, argv, &err), code);
    cr_expect_eq(err.code, code);
    cr_expect_str_eq(err.what, what, "%s", err.what);
    cr_expect_str_eq(err.hint, hint, "%s", err.hint);
    cr_expect(workload.reaped);
    cr_expect(weir_workload_poll(&workload));
    cr_expect_eq(waitpid(pid, NULL, WNOHANG), -1, "the child is reaped");
    weir_workload_fini(&workload);
}

Test(workload, command_in_no_folder_of_path_is_not_found)
{
    /* A folder of the caller's own PATH that may not be entered would make it EACCES. */
    cr_assert_eq(setenv("PATH", "/usr/bin:/bin", 1), 0);
    expect_refused("weir-no-such-command", -ENOENT, "cannot run 'weir-no-such-command': No such file or directory",
                   "it is in no folder of PATH: give its path, as in ./weir-no-such-command");
}

Test(workload, without_path_the_default_folders_are_searched)
{
    cr_assert_eq(unsetenv("PATH"), 0);
    expect_refused("weir-no-such-command", -ENOENT, "cannot run 'weir-no-such-command': No such file or directory",
                   "it is in no folder of PATH: give its path, as in ./weir-no-such-command");
    cr_expect_eq(run(ARGV("true")), 0);
}

Test(workload, missing_file_is_not_found)
{
    expect_refused("/nowhere/at/all", -ENOENT, "cannot run '/nowhere/at/all': No such file or directory",
                   "there is no such file");
}

/* Any folder of PATH with nothing behind it exists. */
Test(workload, empty_word_is_no_command)
{
    expect_refused("", -ENOENT, "cannot run '': No such file or directory",
                   "the command is an empty word: a variable of the shell may be unset");
}

Test(workload, directory_is_not_run)
{
    expect_refused("/tmp", -EACCES, "cannot run '/tmp': Permission denied", "/tmp is a directory");
}

Test(workload, file_that_is_not_executable_is_not_run)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "#!/bin/sh\n", 0644);
    char what[256], hint[256];
    snprintf(what, sizeof(what), "cannot run '%s': Permission denied", scratch.mark);
    snprintf(hint, sizeof(hint), "it is not executable: chmod +x %s", scratch.mark);
    expect_refused(scratch.mark, -EACCES, what, hint);
    scratch_fini(&scratch);
}

Test(workload, file_in_path_that_is_not_executable_is_named_with_its_folder)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "#!/bin/sh\n", 0644);
    char path[256], hint[256];
    snprintf(path, sizeof(path), "/nowhere:%s", scratch.folder);
    cr_assert_eq(setenv("PATH", path, 1), 0);
    snprintf(hint, sizeof(hint), "it is not executable: chmod +x %s", scratch.mark);
    expect_refused("mark", -EACCES, "cannot run 'mark': Permission denied", hint);
    scratch_fini(&scratch);
}

Test(workload, script_with_a_missing_interpreter_names_it)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "#! /nowhere/python9 -E\nprint()\n", 0755);
    char what[256], hint[256];
    snprintf(what, sizeof(what), "cannot run '%s': No such file or directory", scratch.mark);
    snprintf(hint, sizeof(hint), "%s is a script for '/nowhere/python9', which is not there", scratch.mark);
    expect_refused(scratch.mark, -ENOENT, what, hint);
    scratch_fini(&scratch);
}

Test(workload, script_with_dos_line_ends_is_told_from_a_missing_interpreter)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "#!/bin/sh\r\nexit 0\r\n", 0755);
    char what[256], hint[512];
    snprintf(what, sizeof(what), "cannot run '%s': No such file or directory", scratch.mark);
    snprintf(hint, sizeof(hint), "the first line of %s ends in a carriage return: sed -i 's/\\r$//' %s", scratch.mark,
             scratch.mark);
    expect_refused(scratch.mark, -ENOENT, what, hint);
    scratch_fini(&scratch);
}

Test(workload, binary_with_a_missing_loader_names_itself)
{
    struct scratch scratch;
    scratch_init(&scratch);
    char copy[512], what[256], hint[512];
    snprintf(copy, sizeof(copy),
             "cp /bin/true %s && sed -i 's,/lib64/ld-linux,/lib64/no-linux,; s,/lib/ld-linux,/lib/no-linux,' %s",
             scratch.mark, scratch.mark);
    cr_assert_eq(run(SHELL(copy)), 0);
    snprintf(what, sizeof(what), "cannot run '%s': No such file or directory", scratch.mark);
    snprintf(hint, sizeof(hint), "the dynamic loader that %s asks for is not there: file %s", scratch.mark,
             scratch.mark);
    expect_refused(scratch.mark, -ENOENT, what, hint);
    scratch_fini(&scratch);
}

Test(workload, empty_folders_of_path_are_the_current_one)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "", 0644);
    cr_assert_eq(chdir(scratch.folder), 0);
    const char *const paths[] = {":/nowhere", "/nowhere::/nowhere", "/nowhere:"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(paths); i++) {
        cr_assert_eq(setenv("PATH", paths[i], 1), 0);
        expect_refused("mark", -EACCES, "cannot run 'mark': Permission denied", "it is not executable: chmod +x mark");
    }
    scratch_fini(&scratch);
}

Test(workload, child_killed_while_it_waits_is_reported_and_raises_no_sigpipe)
{
    const char *const *argv = ARGV("true");
    struct weir_workload workload = prepare(argv);
    cr_assert_eq(kill(workload.pid, SIGKILL), 0);
    wait_until_ended(&workload);
    struct weir_error err = {0};
    cr_expect_eq(start(&workload, argv, &err), -ESRCH);
    cr_expect_str_eq(err.what, "the process that was to run 'true' was killed before it could");
    cr_expect(workload.reaped);
    cr_expect_eq(WTERMSIG(workload.status), SIGKILL);
    weir_workload_fini(&workload);
}

Test(workload, child_killed_while_it_waits_may_be_polled_before_start)
{
    const char *const *argv = ARGV("true");
    struct weir_workload workload = prepare(argv);
    cr_assert_eq(kill(workload.pid, SIGKILL), 0);
    wait_until_ended(&workload);
    cr_expect(weir_workload_poll(&workload));
    cr_expect_eq(start(&workload, argv, NULL), -ESRCH);
    cr_expect_eq(WTERMSIG(workload.status), SIGKILL);
    weir_workload_fini(&workload);

    workload = prepare(argv);
    cr_assert_eq(kill(workload.pid, SIGKILL), 0);
    wait_until_ended(&workload);
    cr_expect(weir_workload_poll(&workload));
    weir_workload_fini(&workload);
}

/* ---- held ---- */

Test(workload, nothing_runs_before_start)
{
    struct scratch scratch;
    scratch_init(&scratch);
    const char *const *argv = ARGV("touch", scratch.mark);
    struct weir_workload workload = prepare(argv);
    wait_until_held(&workload);
    cr_expect_not(mark_exists(&scratch));
    cr_expect_not(weir_workload_poll(&workload));

    struct weir_error err;
    cr_assert_eq(start(&workload, argv, &err), 0);
    wait_until_ended(&workload);
    cr_expect(mark_exists(&scratch));
    cr_expect(weir_workload_poll(&workload));
    cr_expect_eq(workload.status, 0);
    weir_workload_fini(&workload);
    scratch_fini(&scratch);
}

Test(workload, fini_without_start_leaves_no_child_and_no_mark)
{
    struct scratch scratch;
    scratch_init(&scratch);
    struct weir_workload workload = prepare(ARGV("touch", scratch.mark));
    pid_t pid = workload.pid;
    weir_workload_fini(&workload);
    cr_expect_eq(waitpid(pid, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
    cr_expect_eq(workload.pid, 0);
    cr_expect_eq(workload.go_fd, -1);
    cr_expect_eq(workload.exec_error_fd, -1);
    cr_expect_not(mark_exists(&scratch));
    scratch_fini(&scratch);
}

Test(workload, death_of_weir_ends_the_held_child)
{
    struct scratch scratch;
    scratch_init(&scratch);
    int alive[2]; /* its write end is open as long as the recorder or the held child lives */
    cr_assert_eq(pipe2(alive, O_CLOEXEC), 0);
    pid_t recorder = fork();
    if (recorder == 0) {
        prepare(ARGV("touch", scratch.mark));
        _exit(0); /* as after SIGKILL: no fini */
    }
    close(alive[1]);
    char byte;
    cr_expect_eq(read(alive[0], &byte, 1), 0, "the held child has ended");
    close(alive[0]);
    cr_assert_eq(waitpid(recorder, NULL, 0), recorder);
    cr_expect_not(mark_exists(&scratch));
    scratch_fini(&scratch);
}

Test(workload, fini_takes_null_empty_and_running_ones)
{
    struct weir_workload workload = WEIR_WORKLOAD_INIT;
    weir_workload_fini(NULL);
    weir_workload_fini(&workload);
    cr_expect(weir_workload_poll(&workload), "there is none");
    weir_workload_ask_to_end(&workload);

    const char *const *argv = ARGV("sleep", "100");
    workload = prepare(argv);
    pid_t pid = workload.pid;
    cr_assert_eq(start(&workload, argv, NULL), 0);
    weir_workload_fini(&workload);
    cr_expect_eq(kill(pid, 0), 0, "a running workload is left alone");
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- how it ends ---- */

Test(workload, every_exit_code_comes_through)
{
    for (int code = 0; code < 256; code++) {
        char script[32];
        snprintf(script, sizeof(script), "exit %d", code);
        int status = run(SHELL(script));
        cr_assert(WIFEXITED(status));
        cr_assert_eq(WEXITSTATUS(status), code);
    }
}

Test(workload, death_by_signal_comes_through)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGUSR1, SIGUSR2, SIGPIPE, SIGTERM, SIGXFSZ};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(signals); i++) {
        char script[48];
        snprintf(script, sizeof(script), "ulimit -c 0; kill -%d $$", signals[i]);
        int status = run(SHELL(script));
        cr_expect(WIFSIGNALED(status), "signal %d", signals[i]);
        cr_expect_eq(WTERMSIG(status), signals[i], "signal %d", signals[i]);
    }
}

Test(workload, file_without_a_header_is_a_shell_script)
{
    struct scratch scratch;
    scratch_init(&scratch);
    make_mark(&scratch, "exit 33\n", 0755);
    cr_expect_eq(WEXITSTATUS(run(ARGV(scratch.mark))), 33);
    scratch_fini(&scratch);
}

Test(workload, poll_tells_running_from_ended_and_goes_on_saying_so)
{
    const char *const *argv = ARGV("sleep", "100");
    struct weir_workload workload = prepare(argv);
    cr_assert_eq(start(&workload, argv, NULL), 0);
    cr_expect_not(weir_workload_poll(&workload));
    cr_assert_eq(kill(workload.pid, SIGKILL), 0);
    wait_until_ended(&workload);
    cr_expect(weir_workload_poll(&workload));
    cr_expect(weir_workload_poll(&workload));
    cr_expect_eq(WTERMSIG(workload.status), SIGKILL);
    weir_workload_fini(&workload);
}

Test(workload, asking_it_to_end_sends_sigterm)
{
    const char *const *argv = ARGV("sleep", "100");
    struct weir_workload workload = prepare(argv);
    cr_assert_eq(start(&workload, argv, NULL), 0);
    ask_and_wait(&workload);
    cr_expect(workload.reaped);
    cr_expect(WIFSIGNALED(workload.status));
    cr_expect_eq(WTERMSIG(workload.status), SIGTERM);
    weir_workload_fini(&workload);
}

Test(workload, workload_that_is_asked_to_end_may_clean_up)
{
    struct scratch scratch;
    scratch_init(&scratch);
    char script[256];
    snprintf(script, sizeof(script), "trap 'exit 7' TERM; : > %s; while :; do sleep 0.01; done", scratch.mark);
    struct weir_workload workload = prepare(SHELL(script));
    cr_assert_eq(start(&workload, SHELL(script), NULL), 0);
    wait_for_mark(&scratch);
    ask_and_wait(&workload);
    cr_expect(WIFEXITED(workload.status));
    cr_expect_eq(WEXITSTATUS(workload.status), 7);
    weir_workload_fini(&workload);
    scratch_fini(&scratch);
}

Test(workload, asking_it_to_end_reaches_a_stopped_workload)
{
    const char *const *argv = ARGV("sleep", "100");
    struct weir_workload workload = prepare(argv);
    cr_assert_eq(start(&workload, argv, NULL), 0);
    cr_assert_eq(kill(workload.pid, SIGSTOP), 0);
    cr_assert_eq(waitid(P_PID, (id_t)workload.pid, &(siginfo_t){0}, WSTOPPED), 0);
    ask_and_wait(&workload);
    cr_expect_eq(WTERMSIG(workload.status), SIGTERM);
    weir_workload_fini(&workload);
}

Test(workload, child_that_was_never_let_go_is_ended_even_when_stopped_or_deaf)
{
    struct scratch scratch;
    scratch_init(&scratch);
    void (*const end[])(struct weir_workload *) = {weir_workload_ask_to_end, weir_workload_fini};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(end); i++) {
        struct weir_workload workload = WEIR_WORKLOAD_INIT;
        sigset_t all;
        sigfillset(&all);
        cr_assert_eq(weir_workload_prepare(&workload, (char *const *)ARGV("touch", scratch.mark), &all, NULL), 0);
        pid_t pid = workload.pid;
        cr_assert_eq(kill(pid, SIGSTOP), 0);
        cr_assert_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WSTOPPED), 0);
        end[i](&workload);
        cr_expect_eq(waitpid(pid, NULL, WNOHANG), -1, "it is reaped");
        weir_workload_fini(&workload);
        cr_expect_not(mark_exists(&scratch));
    }
    scratch_fini(&scratch);
}

Test(workload, status_is_had_even_when_sigchld_was_inherited_as_ignored)
{
    signal(SIGCHLD, SIG_IGN);
    cr_expect_eq(WEXITSTATUS(run(SHELL("exit 5"))), 5);
}

/* ---- what it inherits ---- */

/* Descriptors of this process that an exec would keep. */
static size_t count_inheritable_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        char *end;
        long fd = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && !(fcntl((int)fd, F_GETFD) & FD_CLOEXEC))
            count++;
    }
    closedir(folder);
    return count;
}

Test(workload, no_descriptor_of_ours_is_inherited)
{
    struct scratch scratch;
    scratch_init(&scratch);
    size_t inheritable = count_inheritable_fds();
    char script[256];
    snprintf(script, sizeof(script), "ls /proc/self/fd > %s", scratch.mark);
    cr_assert_eq(run(SHELL(script)), 0);

    char text[4096];
    size_t bytes = read_text(scratch.mark, text, sizeof(text)), lines = 0;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    cr_expect_eq(lines, inheritable + 1, "ls has one more, the folder it reads:\n%s", text);
    scratch_fini(&scratch);
}

Test(workload, no_descriptor_stays_open_here)
{
    const char *const *argv = ARGV("true");
    struct weir_workload workload = prepare(argv);
    int go_fd = workload.go_fd, exec_error_fd = workload.exec_error_fd;
    cr_expect_eq(fcntl(go_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    cr_expect_eq(fcntl(exec_error_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    cr_assert_eq(start(&workload, argv, NULL), 0);
    cr_expect_eq(fcntl(go_fd, F_GETFD), -1);
    cr_expect_eq(fcntl(exec_error_fd, F_GETFD), -1);
    wait_until_ended(&workload);
    cr_expect(weir_workload_poll(&workload));
    weir_workload_fini(&workload);
}

/* A signal set of /proc/PID/status, bit 0 for signal 1. */
static uint64_t signal_set(const char *status_path, const char *field)
{
    char text[8192];
    read_text(status_path, text, sizeof(text));
    const char *line = strstr(text, field);
    cr_assert_not_null(line);
    return strtoull(line + strlen(field), NULL, 16);
}

static uint64_t bit_of(int signal)
{
    return 1ull << (signal - 1);
}

/* Into the mark. */
static void copy_status_of_child(const struct scratch *scratch, const sigset_t *mask, const sigset_t *ignored)
{
    const char *const *argv = ARGV("cp", "/proc/self/status", scratch->mark);
    struct weir_workload workload = WEIR_WORKLOAD_INIT;
    workload.ignored = ignored;
    cr_assert_eq(weir_workload_prepare(&workload, (char *const *)argv, mask, NULL), 0);
    cr_assert_eq(start(&workload, argv, NULL), 0);
    wait_until_ended(&workload);
    cr_assert(weir_workload_poll(&workload));
    cr_expect_eq(workload.status, 0);
    weir_workload_fini(&workload);
}

Test(workload, child_has_the_given_mask_and_default_dispositions)
{
    struct scratch scratch;
    scratch_init(&scratch);
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGUSR2};
    sigset_t blocked, child_mask;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGUSR2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGHUP, SIG_IGN); /* as nohup(1) does: must stay */
    uint64_t ignored_before = signal_set("/proc/self/status", "SigIgn:");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ours); i++) {
        signal(ours[i], SIG_IGN);
        ignored_before &= ~bit_of(ours[i]);
    }
    sigemptyset(&child_mask);
    sigaddset(&child_mask, SIGWINCH);

    copy_status_of_child(&scratch, &child_mask, NULL);
    cr_expect_eq(signal_set(scratch.mark, "SigBlk:"), bit_of(SIGWINCH));
    cr_expect_eq(signal_set(scratch.mark, "SigIgn:"), ignored_before);
    cr_expect_neq(ignored_before & bit_of(SIGHUP), 0);
    scratch_fini(&scratch);
}

Test(workload, child_has_what_weir_was_started_with_ignored)
{
    struct scratch scratch;
    scratch_init(&scratch);
    static const int ours[] = {SIGPIPE, SIGXFSZ, SIGUSR2, SIGCHLD};
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ours); i++)
        signal(ours[i], SIG_IGN);
    sigaddset(&ignored, SIGPIPE);
    sigaddset(&ignored, SIGCHLD);

    copy_status_of_child(&scratch, &none, &ignored);
    uint64_t mask = bit_of(SIGPIPE) | bit_of(SIGXFSZ) | bit_of(SIGUSR2) | bit_of(SIGCHLD);
    cr_expect_eq(signal_set(scratch.mark, "SigIgn:") & mask, bit_of(SIGPIPE) | bit_of(SIGCHLD));
    scratch_fini(&scratch);
}
