/*
 * All that reading takes, under the real filter: what weir says, memory, sorting, forks, clocks, terminals, signals
 * that come from outside, and the end of a process that breaks an assertion. Where another C library makes another call
 * than the one here, the call is made by its number. reading_calls.sh holds the code to the functions that are walked
 * here.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/sanitizer.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "format/elf_file.h"
#include "tests/engine/sandbox_rig.h"

#define PATIENCE_US 20000u

TestSuite(sandbox_walk, .init = sandbox_rig_init);

static void expect(bool holds)
{
    if (!holds)
        _exit(1);
}

/* ---- messages ---- */

static const enum weir_notice_level levels[] = {WEIR_NOTICE_WARNING, WEIR_NOTICE_INFO, WEIR_NOTICE_VERBOSE,
                                                WEIR_NOTICE_DEBUG};

/* Every kind of message, to a stream that is new: stdio looks at it only when it writes first. */
static void say_all(int fd)
{
    struct weir_print print = {.stream = fdopen(fd, "w"), .verbosity = 2};
    struct weir_error err = {0};
    expect(print.stream != NULL);
    const struct weir_notice_sink sink = weir_print_sink(&print);
    weir_sandbox_enter(WEIR_SANDBOX_READING, NULL); /* now: fdopen(3) is no call of a reader */
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(levels); i++)
        weir_notice(&sink, levels[i], "%s", "told");
    weir_error_set_errno(&err, -EIO, "cannot do it");
    weir_error_hint(&err, "do it");
    weir_print_error(&print, &err);
    weir_print_lines(&print, "[ lines ]\n");
    expect(fflush(print.stream) == 0 && print.left_out == 0);
}

static int outside(void (*say)(void))
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        say();
        _exit(SANDBOX_SURVIVED);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

static void say_to_pipe(void)
{
    int ends[2];
    expect(pipe2(ends, O_CLOEXEC) == 0);
    say_all(ends[1]);
}

static void say_to_terminal(void)
{
    int terminal, other;
    expect(openpty(&terminal, &other, NULL, NULL, NULL) == 0);
    say_all(other);
}

static void say_to_file(void)
{
    say_all(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

/* A pipe that nobody reads: the message is left out. */
static void say_to_full_pipe(void)
{
    int ends[2];
    expect(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    while (write(ends[1], "x", 1) == 1)
        ;
    struct weir_print print = {.stream = fdopen(ends[1], "w"), .left_out = 1};
    const struct weir_notice_sink sink = weir_print_sink(&print);
    weir_sandbox_enter(WEIR_SANDBOX_READING, NULL);
    weir_notice(&sink, WEIR_NOTICE_WARNING, "told");
    expect(print.left_out == 2);
}

/* Standard output of a process that has not written to it yet, and its end, which looks at standard input. */
static void answer_to_terminal(void)
{
    int terminal, other;
    struct weir_error err = {0};
    expect(openpty(&terminal, &other, NULL, NULL, NULL) == 0 && dup2(other, STDOUT_FILENO) >= 0);
    weir_sandbox_enter(WEIR_SANDBOX_READING, NULL);
    expect(weir_print_output_bytes("a\n", 2, &err) == 0 && weir_print_output("b\n", &err) == 0);
    exit(SANDBOX_SURVIVED);
}

Test(sandbox_walk, every_message_comes_through)
{
    static const struct sandbox_call calls[] = {SANDBOX_CALL(say_to_pipe), SANDBOX_CALL(say_to_terminal),
                                                SANDBOX_CALL(say_to_file), SANDBOX_CALL(say_to_full_pipe),
                                                SANDBOX_CALL(answer_to_terminal)};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++) {
        int status = outside(calls[i].call);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_SURVIVED, "%s: status %#x", calls[i].name,
                  (unsigned)status);
    }
}

/* ---- memory, data, processes ---- */

static void read_and_write(void)
{
    char byte;
    int ends[2];
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    expect(pipe2(ends, O_CLOEXEC) == 0);
    expect(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1);
    expect(writev(ends[1], &part, 1) == 1 && readv(ends[0], &part, 1) == 1);
}

static void use_memory(void)
{
    for (size_t bytes = 1; bytes < 64u << 20; bytes *= 2) {
        void *memory = realloc(malloc(bytes), 2 * bytes);
        expect(memory != NULL);
        memset(memory, 1, 2 * bytes);
        free(memory);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* qsort(3) of glibc asks the kernel for the size of the memory once the array has more than 1 KiB. */
static void sort_it(void)
{
    static int numbers[1 << 16];
    for (size_t count = 1; count <= WEIR_ARRAY_COUNT(numbers); count *= 2) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = (int)(count - i);
        qsort(numbers, count, sizeof(*numbers), compare_numbers);
        expect(numbers[0] == 1);
    }
}

static void expect_child(pid_t child)
{
    int status;
    if (child == 0)
        _exit(3);
    expect(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
}

static void fork_and_wait(void)
{
    const struct rlimit none = {0};
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
    }
    expect_child(child);
}

static void fork_as_musl(void)
{
    expect_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#ifdef SYS_fork
    expect_child((pid_t)syscall(SYS_fork));
#endif
    siginfo_t info;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    expect(waitid(P_PID, (id_t)child, &info, WEXITED) == 0);
    int word = 0;
    expect(syscall(SYS_set_tid_address, &word) == getpid());
}

/* As where the vDSO is off. */
static void look_at_clocks(void)
{
    struct timespec now;
    struct timeval day;
    expect(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0 && syscall(SYS_gettimeofday, &day, NULL) == 0);
#ifdef SYS_time
    expect(syscall(SYS_time, NULL) > 0);
#endif
}

static void look_at_terminal(void)
{
    char modes[256];
    ioctl(STDIN_FILENO, TIOCGWINSZ, modes);
    ioctl(STDIN_FILENO, _IOR('T', 0x2A, char[44]), modes); /* TCGETS2 */
}

static void look_at_file(void)
{
    struct statx attributes;
    struct stat status;
    expect(statx(STDIN_FILENO, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &attributes) == 0);
    expect(fstat(STDIN_FILENO, &status) == 0);
}

static void wait_for_room(void)
{
    struct pollfd none = {.fd = -1};
    const struct timespec short_time = {.tv_nsec = 1};
    expect(poll(&none, 1, 1) == 0 && ppoll(&none, 1, &short_time, NULL) == 0);
}

Test(sandbox_walk, reading_goes_on)
{
    static const struct sandbox_call calls[] = {
        SANDBOX_CALL(read_and_write),   SANDBOX_CALL(use_memory),   SANDBOX_CALL(sort_it),
        SANDBOX_CALL(fork_and_wait),    SANDBOX_CALL(fork_as_musl), SANDBOX_CALL(look_at_clocks),
        SANDBOX_CALL(look_at_terminal), SANDBOX_CALL(look_at_file), SANDBOX_CALL(wait_for_room)};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++) {
        sandbox_rig_expect_survived(WEIR_SANDBOX_READING, &calls[i]);
        sandbox_rig_expect_survived(WEIR_SANDBOX_RECOVERY, &calls[i]);
    }
}

/* ---- what recovery looks at ---- */

static void look_at_names(void)
{
    char text[16];
    struct statfs system;
    struct stat status;
    expect(readlink("/proc/self/exe", text, sizeof(text)) > 0 && statfs("/proc", &system) == 0 &&
           stat("/proc", &status) == 0 && access("/proc", R_OK) == 0 && faccessat(AT_FDCWD, "/proc", R_OK, 0) == 0 &&
           fstatat(AT_FDCWD, "/proc", &status, 0) == 0);
}

static void list_folder(void)
{
    DIR *folder = opendir("/proc/self");
    expect(folder && readdir(folder));
    int fd = openat(dirfd(folder), "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *inner = fdopendir(fd);
    expect(inner && readdir(inner));
    closedir(inner);
    closedir(folder);
}

static void read_mounts(void)
{
    char text[4096];
    struct mntent entry;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    expect(mounts && getmntent_r(mounts, &entry, text, sizeof(text)) != NULL);
    endmntent(mounts);
}

static void read_program(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    Elf *elf = weir_elf_begin(fd);
    expect(elf != NULL);
    elf_end(elf);
}

Test(sandbox_walk, recovery_goes_on)
{
    static const struct sandbox_call calls[] = {SANDBOX_CALL(look_at_names), SANDBOX_CALL(list_folder),
                                                SANDBOX_CALL(read_mounts), SANDBOX_CALL(read_program)};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++)
        sandbox_rig_expect_survived(WEIR_SANDBOX_RECOVERY, &calls[i]);
}

static void *do_nothing(void *argument)
{
    return argument;
}

static void start_thread(void)
{
    pthread_t thread;
    expect(pthread_create(&thread, NULL, do_nothing, NULL) == 0);
    expect(pthread_join(thread, NULL) == 0);
}

Test(sandbox_walk, symbols_are_read_by_threads)
{
    static const struct sandbox_call calls[] = {SANDBOX_CALL(read_program), SANDBOX_CALL(start_thread)};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++)
        sandbox_rig_expect_survived(WEIR_SANDBOX_SYMBOLS, &calls[i]);
}

/* ---- signals ---- */

static void wait_for_long(void)
{
    struct pollfd none = {.fd = -1};
    poll(&none, 1, -1);
    _exit(1);
}

/* The wait status of a child in the sandbox that waits, and gets the signal. */
static int send(int number, void (*wait)(void))
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (weir_sandbox_enter(WEIR_SANDBOX_READING, NULL) == 0)
            wait();
        _exit(2);
    }
    usleep(PATIENCE_US);
    kill(child, number);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(sandbox_walk, signals_end_it_as_they_end_any_process)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(numbers); i++) {
        int status = send(numbers[i], wait_for_long);
        cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i], "%s: status %#x", strsignal(numbers[i]),
                  (unsigned)status);
    }
}

static void write_to_nobody(void)
{
    int ends[2];
    expect(pipe2(ends, O_CLOEXEC) == 0);
    signal(SIGPIPE, SIG_DFL);
    close(ends[0]);
    ssize_t count = write(ends[1], "x", 1);
    (void)count;
}

Test(sandbox_walk, reader_that_has_gone_ends_it)
{
    int status = sandbox_rig_run(WEIR_SANDBOX_READING, write_to_nobody);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE, "status %#x", (unsigned)status);
}

static void on_signal(int number)
{
    _exit(number == SIGCONT ? SANDBOX_SURVIVED : 1);
}

static void no_effect(int number)
{
    (void)number;
}

/* A poll(2) that a stop interrupts goes on by restart_syscall(2). */
static void wait_for_a_moment(void)
{
    struct pollfd none = {.fd = -1};
    signal(SIGCONT, SIG_DFL);
    expect(poll(&none, 1, 100) == 0);
    _exit(SANDBOX_SURVIVED);
}

static void wait_for_handler(void)
{
    struct pollfd none = {.fd = -1};
    struct sigaction action = {.sa_handler = no_effect};
    sigaction(SIGCONT, &action, NULL);
    expect(poll(&none, 1, -1) == -1); /* the handler has returned, by rt_sigreturn(2) */
    signal(SIGCONT, on_signal);
    _exit(SANDBOX_SURVIVED);
}

static int stop_and_continue(void (*wait)(void))
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (weir_sandbox_enter(WEIR_SANDBOX_READING, NULL) == 0)
            wait();
        _exit(2);
    }
    int status;
    usleep(PATIENCE_US);
    kill(child, SIGSTOP);
    cr_assert_eq(waitpid(child, &status, WUNTRACED), child);
    cr_expect(WIFSTOPPED(status));
    kill(child, SIGCONT);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(sandbox_walk, stopped_process_goes_on)
{
    int status = stop_and_continue(wait_for_a_moment);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_SURVIVED, "status %#x", (unsigned)status);
    status = stop_and_continue(wait_for_handler);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_SURVIVED, "status %#x", (unsigned)status);
}

/* ---- our own bugs ---- */

static void break_assertion(void)
{
    weir_assert(getpid() == 0);
}

static void abort_as_musl(void)
{
    syscall(SYS_tkill, syscall(SYS_gettid), SIGABRT);
}

#ifndef WEIR_HAS_SANITIZER                            /* malloc's own message: sanitizers have another */
static void (*volatile const release)(void *) = free; /* analyzers know free(3) too well */

static void free_twice(void)
{
    char *volatile memory = malloc(2048), *volatile behind = malloc(2048);
    release(memory);
    release(memory);
    release(behind);
}
#endif

static void expect_abort(const struct sandbox_call *call)
{
    int status = sandbox_rig_run(WEIR_SANDBOX_READING, call->call);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: status %#x", call->name, (unsigned)status);
}

Test(sandbox_walk, broken_invariant_is_seen_as_one)
{
    expect_abort(&(struct sandbox_call)SANDBOX_CALL(abort));
    expect_abort(&(struct sandbox_call)SANDBOX_CALL(break_assertion));
    expect_abort(&(struct sandbox_call)SANDBOX_CALL(abort_as_musl));
#ifndef WEIR_HAS_SANITIZER
    expect_abort(&(struct sandbox_call)SANDBOX_CALL(free_twice));
#endif
}
