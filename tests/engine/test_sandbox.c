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
#include "tests/engine/sandbox_rig.h"

TestSuite(sandbox, .init = sandbox_rig_init);

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

static const struct sandbox_call never[] = {
    SANDBOX_CALL(open_for_writing),   SANDBOX_CALL(open_for_both), SANDBOX_CALL(create),
    SANDBOX_CALL(truncate_by_open),   SANDBOX_CALL(make_nameless), SANDBOX_CALL(make_folder),
    SANDBOX_CALL(rename_it),          SANDBOX_CALL(remove_it),     SANDBOX_CALL(link_it),
    SANDBOX_CALL(change_mode),        SANDBOX_CALL(cut),           SANDBOX_CALL(execute),
    SANDBOX_CALL(get_socket),         SANDBOX_CALL(end_other),     SANDBOX_CALL(abort_parent),
    SANDBOX_CALL(limit_other),        SANDBOX_CALL(open_event),    SANDBOX_CALL(become_other),
    SANDBOX_CALL(write_elsewhere),    SANDBOX_CALL(mount_it),      SANDBOX_CALL(write_at),
    SANDBOX_CALL(type_into_terminal),
};

Test(sandbox, what_no_reader_does_ends_the_process)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(never); i++) {
        sandbox_rig_expect_killed(WEIR_SANDBOX_READING, &never[i]);
        sandbox_rig_expect_killed(WEIR_SANDBOX_RECOVERY, &never[i]);
        sandbox_rig_expect_killed(WEIR_SANDBOX_SYMBOLS, &never[i]);
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

static const struct sandbox_call sanitized[] = {SANDBOX_CALL(open_for_reading), SANDBOX_CALL(map_code),
                                                SANDBOX_CALL(trace_other), SANDBOX_CALL(read_link),
                                                SANDBOX_CALL(end_by_thread)};

Test(sandbox, reading_opens_nothing_and_maps_no_code)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
    cr_skip("sanitizers make these calls themselves");
#endif
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sanitized); i++)
        sandbox_rig_expect_killed(WEIR_SANDBOX_READING, &sanitized[i]);
    sandbox_rig_expect_killed(WEIR_SANDBOX_READING, &(struct sandbox_call)SANDBOX_CALL(make_thread));
    sandbox_rig_expect_killed(WEIR_SANDBOX_RECOVERY, &(struct sandbox_call)SANDBOX_CALL(map_code));
    sandbox_rig_expect_killed(WEIR_SANDBOX_RECOVERY, &(struct sandbox_call)SANDBOX_CALL(trace_other));
    sandbox_rig_expect_killed(WEIR_SANDBOX_RECOVERY, &(struct sandbox_call)SANDBOX_CALL(end_by_thread));
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
    sandbox_rig_expect_killed(WEIR_SANDBOX_READING, &(struct sandbox_call)SANDBOX_CALL(call_as_x32));
    sandbox_rig_expect_killed(WEIR_SANDBOX_RECOVERY, &(struct sandbox_call)SANDBOX_CALL(call_as_x32));
    int status = sandbox_rig_run(WEIR_SANDBOX_READING, call_as_32_bits);
    /* SIGSEGV: a kernel without CONFIG_IA32_EMULATION knows no such call. */
    cr_expect(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV), "status %#x",
              (unsigned)status);
}
#endif

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
    sandbox_rig_expect_survived(WEIR_SANDBOX_RECOVERY, &(struct sandbox_call)SANDBOX_CALL(expect_no_new_privileges));
}
