/*
 * The filters of engine/upkeep/sandbox.h. Any thread.
 *
 * The lists here and in engine/kernel/call_filter.c hold the calls that these functions of the C library make. They
 * were read in the sources of glibc 2.36 to 2.42 and of musl 1.2.5:
 *
 *     function             glibc                                    musl, where it differs
 *     stdio on any file    fstat, newfstatat or statx; write; lseek readv, writev
 *     stdio on a terminal  ioctl TCGETS, from 2.42 on TCGETS2       ioctl TIOCGWINSZ
 *     poll                 poll, or ppoll (arm64, riscv64); after SIGCONT restart_syscall
 *     malloc               brk, mmap, mremap, munmap, mprotect, madvise, getrandom
 *     messages of malloc   writev, mmap, then abort
 *     abort, raise         getpid, gettid, tgkill; rt_sigprocmask   tkill, rt_sigaction
 *     fork                 clone of CLONE_OF_FORK, set_robust_list  fork, or clone of SIGCHLD; set_tid_address
 *     pthread_create       clone of CLONE_OF_THREAD, rseq, set_robust_list; clone3 is refused, and then clone is tried
 *     waitpid              wait4, or waitid
 *     qsort                sysinfo
 *     clocks               the vDSO; without one, clock_gettime, gettimeofday, time
 *     exit                 exit_group; lseek of standard input
 *
 * The reading commands look up no time zone, user, locale or character set, and load no library: each of them would
 * open files. tests/engine/test_sandbox.c walks all of this, and holds the code to these functions.
 */
#include "engine/upkeep/sandbox.h"

#include <errno.h>

#ifdef WEIR_SECCOMP

#include <signal.h>

#include "base/bits.h"
#include "base/sanitizer.h"
#include "engine/kernel/call_filter.h"

#ifdef __s390x__
#define CLONE_FLAGS 1 /* the argument that holds them */
#else
#define CLONE_FLAGS 0
#endif
/* The values of clone(2), which some systems' sched.h names differently. */
#define CLONE_OF_FORK   (0x00200000u | 0x01000000u | SIGCHLD)     /* CHILD_CLEARTID, CHILD_SETTID */
#define CLONE_OF_THREAD (0x00000100u | 0x00000800u | 0x00010000u) /* VM, SIGHAND, THREAD */
#define ANY             WEIR_CALL_ANY

/* fork(3), and the calls of the child of format/trace_formats.c */
static const struct weir_call_rule forking[] = {
    {SCMP_SYS(clone), CLONE_FLAGS, UINT64_MAX, CLONE_OF_FORK},
    {SCMP_SYS(clone), CLONE_FLAGS, UINT64_MAX, SIGCHLD},
    {SCMP_SYS(fork), ANY},
    {SCMP_SYS(set_robust_list), ANY},
    {SCMP_SYS(set_tid_address), ANY},
    {SCMP_SYS(pipe2), ANY},
    {SCMP_SYS(wait4), ANY},
    {SCMP_SYS(waitid), ANY},
    {SCMP_SYS(prlimit64), 0, UINT32_MAX, 0},
};

/* pthread_create(3) of glibc: clone3(2) is answered as by a kernel without it, as its flags lie in memory, and clone(2)
 * makes threads only. */
static const struct weir_call_rule threads[] = {
    {SCMP_SYS(clone), CLONE_FLAGS, CLONE_OF_THREAD, CLONE_OF_THREAD},
    {SCMP_SYS(rseq), ANY},
    {SCMP_SYS(sched_getaffinity), ANY},
};

#ifdef WEIR_HAS_SANITIZER
/* The leak check at exit, which stops the process from a thread of its own and reports with symbols. */
static const struct weir_call_rule sanitizers[] = {
    {SCMP_SYS(clone), ANY},
    {SCMP_SYS(clone3), ANY},
    {SCMP_SYS(ptrace), ANY},
    {SCMP_SYS(prctl), ANY},
    {SCMP_SYS(mmap), ANY},
    {SCMP_SYS(mprotect), ANY},
    {SCMP_SYS(sigaltstack), ANY},
    {SCMP_SYS(sched_yield), ANY},
    {SCMP_SYS(getppid), ANY},
    {SCMP_SYS(tgkill), ANY},
    {SCMP_SYS(wait4), ANY},
    {SCMP_SYS(nanosleep), ANY},
    {SCMP_SYS(clock_nanosleep), ANY},
    {SCMP_SYS(sched_getaffinity), ANY},
    {SCMP_SYS(stat), ANY},
    {SCMP_SYS(statx), ANY},
    {SCMP_SYS(access), ANY},
    {SCMP_SYS(getrlimit), ANY},
    {SCMP_SYS(rseq), ANY},
    {SCMP_SYS(dup2), ANY},
    {SCMP_SYS(pipe), ANY},
    {SCMP_SYS(fcntl), ANY},
    {SCMP_SYS(uname), ANY},
};
#else
/* glibc goes on with clone(2). */
static const struct weir_call_rule absent[] = {
    {SCMP_SYS(clone3), ANY},
};
#endif

#define LIST(rules, action)                    \
    {                                          \
        rules, WEIR_ARRAY_COUNT(rules), action \
    }

static int load(enum weir_sandbox kind)
{
    struct weir_call_list lists[6] = {weir_calls_of_any_thread, LIST(forking, SCMP_ACT_ALLOW)};
    size_t count = 2;
#ifndef WEIR_HAS_SANITIZER /* whose reports open files */
    if (kind != WEIR_SANDBOX_READING)
#endif
        lists[count++] = weir_calls_of_opening;
    if (kind == WEIR_SANDBOX_SYMBOLS)
        lists[count++] = (struct weir_call_list)LIST(threads, SCMP_ACT_ALLOW);
#ifdef WEIR_HAS_SANITIZER
    lists[count++] = (struct weir_call_list)LIST(sanitizers, SCMP_ACT_ALLOW);
#else
    if (kind == WEIR_SANDBOX_SYMBOLS)
        lists[count++] = (struct weir_call_list)LIST(absent, SCMP_ACT_ERRNO(ENOSYS));
#endif
    scmp_filter_ctx filter;
    int result = weir_call_filter_make(&filter, SCMP_ACT_KILL_PROCESS, lists, count);
    if (result < 0)
        return result;
    result = seccomp_load(filter);
    seccomp_release(filter);
    return result;
}

bool weir_sandbox_is_built(void)
{
    return true;
}

#else

static int load(enum weir_sandbox kind)
{
    (void)kind;
    return 0;
}

bool weir_sandbox_is_built(void)
{
    return false;
}

#endif

int weir_sandbox_enter(enum weir_sandbox kind, const struct weir_notice_sink *notices)
{
    struct weir_error err = {0};
    int result = load(kind);
    if (result < 0) {
        weir_error_set_errno(&err, result, "cannot filter the system calls of this command, reading without a filter");
        weir_notice(notices, WEIR_NOTICE_WARNING, "%s", err.what);
    }
    return result;
}

static int enter(void *ctx, struct weir_error *err)
{
    const struct weir_sandbox_gate *gate = ctx;
    (void)err;
    weir_sandbox_enter(gate->kind, gate->notices);
    return 0;
}

struct weir_input_gate weir_sandbox_input_gate(struct weir_sandbox_gate *gate)
{
    return (struct weir_input_gate){.opened = enter, .ctx = gate};
}
