/*
 * The filters of engine/upkeep/sandbox.h. A rule is a call, or a call with one argument masked and compared; several
 * rules of one call are alternatives. Any thread.
 *
 * libseccomp leaves out a rule whose call an architecture does not have. The lists hold the calls that these functions
 * of the C library make, read in the sources of glibc 2.36 to 2.42 and of musl 1.2.5:
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

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/sanitizer.h"

#ifdef __s390x__
#define CLONE_FLAGS 1 /* the argument that holds them */
#else
#define CLONE_FLAGS 0
#endif
/* The values of clone(2), which some systems' sched.h names differently. */
#define CLONE_OF_FORK   (0x00200000u | 0x01000000u | SIGCHLD)     /* CHILD_CLEARTID, CHILD_SETTID */
#define CLONE_OF_THREAD (0x00000100u | 0x00000800u | 0x00010000u) /* VM, SIGHAND, THREAD */
#define ANY             UINT32_MAX                                /* in place of an argument's number */
#define WRITING_FLAGS   (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

struct rule {
    int call;
    uint32_t argument; /* ANY: all arguments are allowed */
    uint64_t mask, value;
};

static const struct rule reading[] = {
    {SCMP_SYS(read), ANY},
    {SCMP_SYS(pread64), ANY},
    {SCMP_SYS(lseek), ANY},
    {SCMP_SYS(readv), ANY},
    {SCMP_SYS(write), ANY},
    {SCMP_SYS(writev), ANY},
    {SCMP_SYS(poll), ANY}, /* before each message (cli/print.h) */
    {SCMP_SYS(ppoll), ANY},
    {SCMP_SYS(close), ANY},
    {SCMP_SYS(fstat), ANY},
    {SCMP_SYS(newfstatat), ANY},
    {SCMP_SYS(statx), ANY},
    {SCMP_SYS(ioctl), 1, UINT32_MAX, TCGETS},
    {SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCGPGRP}, /* before each status line (cli/status_line.h) */
#ifdef TCGETS2
    {SCMP_SYS(ioctl), 1, UINT32_MAX, (uint32_t)TCGETS2},
#endif
    {SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCGWINSZ},
    {SCMP_SYS(brk), ANY},
    {SCMP_SYS(mmap), 2, PROT_EXEC, 0},
    {SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
    {SCMP_SYS(mremap), ANY},
    {SCMP_SYS(munmap), ANY},
    {SCMP_SYS(madvise), ANY},
    {SCMP_SYS(futex), ANY},
    {SCMP_SYS(getrandom), ANY},
    {SCMP_SYS(sysinfo), ANY}, /* qsort(3) of more than 1 KiB asks for the size of memory */
    {SCMP_SYS(clock_gettime), ANY},
    {SCMP_SYS(gettimeofday), ANY},
    {SCMP_SYS(time), ANY},
    {SCMP_SYS(restart_syscall), ANY},
    {SCMP_SYS(rt_sigaction), ANY},
    {SCMP_SYS(rt_sigprocmask), ANY},
    {SCMP_SYS(rt_sigreturn), ANY},
    {SCMP_SYS(exit), ANY},
    {SCMP_SYS(exit_group), ANY},
    /* abort(3) */
    {SCMP_SYS(getpid), ANY},
    {SCMP_SYS(gettid), ANY},
    {SCMP_SYS(tgkill), 2, UINT32_MAX, SIGABRT},
    {SCMP_SYS(tkill), 1, UINT32_MAX, SIGABRT},
    /* fork(3), and the calls of the child of format/trace_formats.c */
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

/* Opening for reading; access and reading of names. */
static const struct rule recovery[] = {
    {SCMP_SYS(openat), 2, WRITING_FLAGS, O_RDONLY},
    {SCMP_SYS(open), 1, WRITING_FLAGS, O_RDONLY},
    {SCMP_SYS(getdents), ANY},
    {SCMP_SYS(getdents64), ANY},
    {SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL},
    {SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD}, /* libelf */
    {SCMP_SYS(fcntl), 1, UINT32_MAX, F_SETFD},
    {SCMP_SYS(statfs), ANY},
    {SCMP_SYS(fstatfs), ANY},
    {SCMP_SYS(readlink), ANY},
    {SCMP_SYS(readlinkat), ANY},
    {SCMP_SYS(access), ANY},
    {SCMP_SYS(faccessat), ANY},
    {SCMP_SYS(faccessat2), ANY},
    {SCMP_SYS(uname), ANY},
};

/* pthread_create(3) of glibc: clone3(2) is answered as by a kernel without it, as its flags lie in memory, and clone(2)
 * makes threads only. */
static const struct rule threads[] = {
    {SCMP_SYS(clone), CLONE_FLAGS, CLONE_OF_THREAD, CLONE_OF_THREAD},
    {SCMP_SYS(rseq), ANY},
    {SCMP_SYS(sched_getaffinity), ANY},
};

/* The leak check at exit, which stops the process from a thread of its own and reports with symbols. */
static const struct rule sanitizers[] = {
#ifdef WEIR_HAS_SANITIZER
    {SCMP_SYS(clone), ANY},
    {SCMP_SYS(clone3), ANY},
    {SCMP_SYS(ptrace), ANY},
    {SCMP_SYS(prctl), ANY},
    {SCMP_SYS(mmap), ANY},
    {SCMP_SYS(mprotect), ANY},
    {SCMP_SYS(openat), 2, WRITING_FLAGS, O_RDONLY},
    {SCMP_SYS(open), 1, WRITING_FLAGS, O_RDONLY},
    {SCMP_SYS(getdents), ANY},
    {SCMP_SYS(getdents64), ANY},
    {SCMP_SYS(readlink), ANY},
    {SCMP_SYS(readlinkat), ANY},
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
#else
    {SCMP_SYS(read), ANY}, /* a list cannot be empty */
#endif
};

static int add(scmp_filter_ctx filter, const struct rule *rules, size_t count)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        const struct rule *rule = &rules[i];
        const struct scmp_arg_cmp compare = {
            .arg = rule->argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = rule->mask, .datum_b = rule->value};
        result = rule->argument == ANY ? seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, 0, NULL)
                                       : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->call, 1, &compare);
        if (result == -EEXIST) /* allowed by another list */
            result = 0;
    }
    return result;
}

/* glibc goes on with clone(2). Builds with a sanitizer allow both calls. */
static int refuse_clone3(scmp_filter_ctx filter)
{
#ifdef WEIR_HAS_SANITIZER
    (void)filter;
    return 0;
#else
    int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return result == -EDOM ? 0 : result; /* no such call here */
#endif
}

static int load(enum weir_sandbox kind)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter)
        return -ENOSYS; /* the kernel does not know the action; seccomp_init(3) gives no errno */
    /* Functions return the kernel's errno, not libseccomp's. Calls of another word size have no rules. */
    int result = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (result == 0)
        result = add(filter, reading, WEIR_ARRAY_COUNT(reading));
    if (result == 0 && kind != WEIR_SANDBOX_READING)
        result = add(filter, recovery, WEIR_ARRAY_COUNT(recovery));
    if (result == 0 && kind == WEIR_SANDBOX_SYMBOLS)
        result = add(filter, threads, WEIR_ARRAY_COUNT(threads));
    if (result == 0 && kind == WEIR_SANDBOX_SYMBOLS)
        result = refuse_clone3(filter);
    if (result == 0)
        result = add(filter, sanitizers, WEIR_ARRAY_COUNT(sanitizers));
    if (result == 0)
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
