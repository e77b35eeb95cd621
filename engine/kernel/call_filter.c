/* Lists of calls that several filters allow, read in the sources of glibc and musl (engine/upkeep/sandbox.c has the
 * table of functions). */
#include "engine/kernel/call_filter.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "base/bits.h"

#define ANY           WEIR_CALL_ANY
#define WRITING_FLAGS (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

static const struct weir_call_rule any_thread[] = {
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
};

static const struct weir_call_rule opening[] = {
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

const struct weir_call_list weir_calls_of_any_thread = {any_thread, WEIR_ARRAY_COUNT(any_thread), SCMP_ACT_ALLOW};
const struct weir_call_list weir_calls_of_opening = {opening, WEIR_ARRAY_COUNT(opening), SCMP_ACT_ALLOW};

static int add(scmp_filter_ctx filter, const struct weir_call_rule *rule, uint32_t action)
{
    const struct scmp_arg_cmp compare = {
        .arg = rule->argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = rule->mask, .datum_b = rule->value};
    int result = rule->argument == ANY ? seccomp_rule_add_array(filter, action, rule->call, 0, NULL)
                                       : seccomp_rule_add_array(filter, action, rule->call, 1, &compare);
    /* EEXIST: allowed by a list before. EDOM: no such call here, and the rule is not one that allows. */
    return result == -EEXIST || result == -EDOM ? 0 : result;
}

int weir_call_filter_make(scmp_filter_ctx *made, uint32_t otherwise, const struct weir_call_list *lists, size_t count)
{
    scmp_filter_ctx filter = seccomp_init(otherwise);
    if (!filter)
        return -ENOSYS; /* the kernel does not know the action; seccomp_init(3) gives no errno */
    /* Functions return the kernel's errno, not libseccomp's. Calls of another word size have no rules. */
    int result = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    for (size_t i = 0; result == 0 && i < count; i++) {
        for (size_t j = 0; result == 0 && j < lists[i].count; j++)
            result = add(filter, &lists[i].rules[j], lists[i].action);
    }
    if (result < 0)
        seccomp_release(filter);
    else
        *made = filter;
    return result;
}
