/* What a process in a sandbox can and cannot ask of the kernel. Each call is made in a child, which is bound first. */
#include "engine/upkeep/sandbox.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"

#define SURVIVED 7 /* exit status of a child whose call was let through, whatever came of it */
#define UNBOUND  8

static void init(void)
{
    if (!weir_sandbox_is_built())
        cr_skip("built without libseccomp");
}

TestSuite(sandbox, .init = init);

/* The wait status of a child that enters the sandbox and makes the call. */
static int run(enum weir_sandbox kind, void (*call)(void))
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (weir_sandbox_enter(kind, NULL) < 0)
            _exit(UNBOUND);
        call();
        _exit(SURVIVED);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

static void expect_killed(enum weir_sandbox kind, void (*call)(void), const char *name)
{
    int status = run(kind, call);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: status %#x", name, (unsigned)status);
}

static void expect_survived(enum weir_sandbox kind, void (*call)(void), const char *name)
{
    int status = run(kind, call);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SURVIVED, "%s: status %#x", name, (unsigned)status);
}

static const char nowhere[] = "/nonexistent/weir";

static void open_for_writing(void)
{
    open("/dev/null", O_WRONLY | O_CLOEXEC);
}
static void open_for_both(void)
{
    open("/dev/null", O_RDWR | O_CLOEXEC);
}
static void create(void)
{
    open(nowhere, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
}
static void truncate_by_open(void)
{
    open(nowhere, O_RDONLY | O_TRUNC | O_CLOEXEC);
}
static void make_nameless(void)
{
    open("/nonexistent", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}
static void make_folder(void)
{
    mkdir(nowhere, 0700);
}
static void rename_it(void)
{
    rename(nowhere, "/nonexistent/other");
}
static void remove_it(void)
{
    unlink(nowhere);
}
static void link_it(void)
{
    linkat(AT_FDCWD, nowhere, AT_FDCWD, "/nonexistent/other", 0);
}
static void change_mode(void)
{
    chmod(nowhere, 0777);
}
static void cut(void)
{
    int result = ftruncate(-1, 0);
    (void)result;
}
static void execute(void)
{
    execl("/bin/true", "true", (char *)NULL);
}
static void get_socket(void)
{
    socket(AF_UNIX, SOCK_STREAM, 0);
}
static void end_other(void)
{
    kill(getppid(), 0);
}
static void abort_parent(void)
{
    syscall(SYS_kill, 1, SIGABRT);
}
static void limit_other(void)
{
    syscall(SYS_prlimit64, 1, RLIMIT_CORE, NULL, NULL);
}
static void write_elsewhere(void)
{
    syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0);
}
static void open_event(void)
{
    syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}
static void become_other(void)
{
    int result = setuid(65534);
    (void)result;
}
static void mount_it(void)
{
    syscall(SYS_mount, NULL, NULL, NULL, 0, NULL);
}
static void type_into_terminal(void)
{
    ioctl(-1, TIOCSTI, "x");
}
static void write_at(void)
{
    ssize_t count = pwrite(-1, "", 1, 0);
    (void)count;
}

#define ROW(function)       \
    {                       \
        function, #function \
    }

static const struct {
    void (*call)(void);
    const char *name;
} never[] = {
    ROW(open_for_writing),   ROW(open_for_both), ROW(create),
    ROW(truncate_by_open),   ROW(make_nameless), ROW(make_folder),
    ROW(rename_it),          ROW(remove_it),     ROW(link_it),
    ROW(change_mode),        ROW(cut),           ROW(execute),
    ROW(get_socket),         ROW(end_other),     ROW(abort_parent),
    ROW(limit_other),        ROW(open_event),    ROW(become_other),
    ROW(write_elsewhere),    ROW(mount_it),      ROW(write_at),
    ROW(type_into_terminal),
};

Test(sandbox, what_no_reader_does_ends_the_process)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(never); i++) {
        expect_killed(WEIR_SANDBOX_READING, never[i].call, never[i].name);
        expect_killed(WEIR_SANDBOX_RECOVERY, never[i].call, never[i].name);
    }
}

/* ---- what the sanitizers need themselves, so that their builds let it through ---- */

static void open_for_reading(void)
{
    open("/dev/null", O_RDONLY | O_CLOEXEC);
}
static void make_thread(void)
{
    syscall(SYS_clone, CLONE_VM | SIGCHLD, NULL, NULL, NULL, 0);
}
static void map_code(void)
{
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void trace_other(void)
{
    syscall(SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, 1, NULL, NULL);
}
static void end_by_thread(void)
{
    syscall(SYS_tgkill, -1, -1, SIGTERM);
}
static void read_link(void)
{
    char text[16];
    ssize_t count = readlink("/proc/self/exe", text, 16);
    (void)count;
}

static const struct {
    void (*call)(void);
    const char *name;
} sanitized[] = {ROW(open_for_reading), ROW(map_code), ROW(trace_other), ROW(read_link), ROW(end_by_thread)};

Test(sandbox, reading_opens_nothing_and_maps_no_code)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
    cr_skip("sanitizers make these calls themselves");
#endif
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sanitized); i++)
        expect_killed(WEIR_SANDBOX_READING, sanitized[i].call, sanitized[i].name);
    expect_killed(WEIR_SANDBOX_READING, make_thread, "make_thread");
    expect_killed(WEIR_SANDBOX_RECOVERY, map_code, "map_code");
    expect_killed(WEIR_SANDBOX_RECOVERY, trace_other, "trace_other");
    expect_killed(WEIR_SANDBOX_RECOVERY, end_by_thread, "end_by_thread");
}

/* ---- what reading takes ---- */

static void read_and_write(void)
{
    char byte;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        _exit(1);
}

static void use_memory(void)
{
    for (size_t bytes = 1; bytes < 64u << 20; bytes *= 2) {
        void *memory = realloc(malloc(bytes), 2 * bytes);
        if (!memory)
            _exit(1);
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
        if (numbers[0] != 1)
            _exit(1);
    }
}

static void fork_and_wait(void)
{
    const struct rlimit none = {0};
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        _exit(3);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
        _exit(1);
}

static void print_it(void)
{
    if (printf("\n") < 0 || fflush(stdout) == EOF)
        _exit(1);
}

static void list_folder(void)
{
    DIR *folder = opendir("/proc/self");
    if (!folder || !readdir(folder))
        _exit(1);
    closedir(folder);
}

Test(sandbox, reading_goes_on)
{
    expect_survived(WEIR_SANDBOX_READING, read_and_write, "read_and_write");
    expect_survived(WEIR_SANDBOX_READING, use_memory, "use_memory");
    expect_survived(WEIR_SANDBOX_READING, sort_it, "sort_it");
    expect_survived(WEIR_SANDBOX_READING, fork_and_wait, "fork_and_wait");
    expect_survived(WEIR_SANDBOX_READING, print_it, "print_it");
    expect_survived(WEIR_SANDBOX_RECOVERY, open_for_reading, "open_for_reading");
    expect_survived(WEIR_SANDBOX_RECOVERY, read_link, "read_link");
    expect_survived(WEIR_SANDBOX_RECOVERY, list_folder, "list_folder");
}

#ifdef __x86_64__
/* Calls of other word sizes have other numbers: 5 of those is open(2), where 64 bits have fstat(2). */
static void call_as_32_bits(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L /* getpid(2) */) : "memory", "r8", "r9", "r10", "r11");
    (void)result;
}
static void call_as_x32(void)
{
    syscall(0x40000000L | SYS_read, -1, NULL, 0);
}

Test(sandbox, calls_of_other_word_sizes_end_the_process)
{
    expect_killed(WEIR_SANDBOX_READING, call_as_x32, "call_as_x32");
    expect_killed(WEIR_SANDBOX_RECOVERY, call_as_x32, "call_as_x32");
    int status = run(WEIR_SANDBOX_READING, call_as_32_bits);
    /* SIGSEGV: a kernel without CONFIG_IA32_EMULATION knows no such call. */
    cr_expect(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV), "status %#x",
              (unsigned)status);
}
#endif

/* A broken assertion is to be seen as one. */
Test(sandbox, abort_is_an_abort)
{
    int status = run(WEIR_SANDBOX_READING, abort);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %#x", (unsigned)status);
}

static void expect_no_new_privileges(void)
{
    /* prctl(2) itself is not on the list. */
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = read(fd, text, sizeof(text) - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (!strstr(text, "NoNewPrivs:\t1") || !strstr(text, "Seccomp:\t2"))
        _exit(1);
}

Test(sandbox, nothing_that_is_executed_later_could_have_more_rights)
{
    expect_survived(WEIR_SANDBOX_RECOVERY, expect_no_new_privileges, "expect_no_new_privileges");
}
