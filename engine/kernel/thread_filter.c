/* One program per filter, made once by libseccomp and loaded by each thread: libseccomp would allocate in each of
 * hundreds of threads. */
#include "engine/kernel/thread_filter.h"

#include "base/sanitizer.h"

#if defined(WEIR_SECCOMP) && !defined(WEIR_HAS_SANITIZER)

#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/kernel/call_filter.h"

#define ANY WEIR_CALL_ANY

#define IOCTL_TYPE_MASK (0xffu << 8) /* the letter of a driver, asm-generic/ioctl.h */
#define IOCTL_OF_PERF   ((uint32_t)'$' << 8)
#define IOCTL_OF_PROC   ((uint32_t)'f' << 8) /* PROCMAP_QUERY, PAGEMAP_SCAN */

static const struct weir_call_rule data[] = {
    {SCMP_SYS(ioctl), 1, IOCTL_TYPE_MASK, IOCTL_OF_PERF},
    {SCMP_SYS(io_uring_enter), ANY},
    {SCMP_SYS(io_uring_register), ANY},
    {SCMP_SYS(pwrite64), ANY},
    {SCMP_SYS(pwritev), ANY},
    {SCMP_SYS(pwritev2), ANY},
    {SCMP_SYS(copy_file_range), ANY},
    {SCMP_SYS(fallocate), ANY},
    {SCMP_SYS(ftruncate), ANY},
    {SCMP_SYS(fsync), ANY},
    {SCMP_SYS(fdatasync), ANY},
    {SCMP_SYS(fstatfs), ANY},
    {SCMP_SYS(clock_nanosleep), ANY},
    {SCMP_SYS(nanosleep), ANY},
    {SCMP_SYS(sched_yield), ANY},
    {SCMP_SYS(sched_getaffinity), ANY},
    {SCMP_SYS(getcpu), ANY},
    {SCMP_SYS(mbind), ANY},
};

/* Threads that sleep and lower their own priority while they read files. */
static const struct weir_call_rule files[] = {
    {SCMP_SYS(ioctl), 1, IOCTL_TYPE_MASK, IOCTL_OF_PROC},
    {SCMP_SYS(setpriority), ANY},
    {SCMP_SYS(clock_nanosleep), ANY},
    {SCMP_SYS(nanosleep), ANY},
    {SCMP_SYS(sched_yield), ANY},
    {SCMP_SYS(sched_getaffinity), ANY},
};

static const struct weir_call_rule sideband[] = {
    {SCMP_SYS(bpf), 0, UINT32_MAX, BPF_PROG_GET_NEXT_ID},
    {SCMP_SYS(bpf), 0, UINT32_MAX, BPF_PROG_GET_FD_BY_ID},
    {SCMP_SYS(bpf), 0, UINT32_MAX, BPF_BTF_GET_FD_BY_ID},
    {SCMP_SYS(bpf), 0, UINT32_MAX, BPF_OBJ_GET_INFO_BY_FD},
    {SCMP_SYS(name_to_handle_at), ANY},
};

/* The thread of --metrics, which replaces its file. */
static const struct weir_call_rule replacing[] = {
    {SCMP_SYS(openat), ANY},    {SCMP_SYS(open), ANY},       {SCMP_SYS(fchmod), ANY}, {SCMP_SYS(renameat), ANY},
    {SCMP_SYS(renameat2), ANY}, {SCMP_SYS(unlinkat), ANY},   {SCMP_SYS(linkat), ANY}, {SCMP_SYS(access), ANY},
    {SCMP_SYS(faccessat), ANY}, {SCMP_SYS(faccessat2), ANY},
};

static const struct weir_call_rule never[] = {
    /* Other programs and processes. */
    {SCMP_SYS(execve), ANY},
    {SCMP_SYS(execveat), ANY},
    {SCMP_SYS(ptrace), ANY},
    {SCMP_SYS(process_vm_readv), ANY},
    {SCMP_SYS(process_vm_writev), ANY},
    {SCMP_SYS(process_madvise), ANY},
    {SCMP_SYS(pidfd_getfd), ANY},
    {SCMP_SYS(kcmp), ANY},
    /* Mounts and name spaces. */
    {SCMP_SYS(mount), ANY},
    {SCMP_SYS(umount2), ANY},
    {SCMP_SYS(move_mount), ANY},
    {SCMP_SYS(open_tree), ANY},
    {SCMP_SYS(mount_setattr), ANY},
    {SCMP_SYS(fsopen), ANY},
    {SCMP_SYS(fsconfig), ANY},
    {SCMP_SYS(fsmount), ANY},
    {SCMP_SYS(fspick), ANY},
    {SCMP_SYS(pivot_root), ANY},
    {SCMP_SYS(chroot), ANY},
    {SCMP_SYS(setns), ANY},
    {SCMP_SYS(unshare), ANY},
    /* The kernel and the machine. */
    {SCMP_SYS(init_module), ANY},
    {SCMP_SYS(finit_module), ANY},
    {SCMP_SYS(delete_module), ANY},
    {SCMP_SYS(kexec_load), ANY},
    {SCMP_SYS(kexec_file_load), ANY},
    {SCMP_SYS(reboot), ANY},
    {SCMP_SYS(swapon), ANY},
    {SCMP_SYS(swapoff), ANY},
    {SCMP_SYS(acct), ANY},
    {SCMP_SYS(iopl), ANY},
    {SCMP_SYS(ioperm), ANY},
    {SCMP_SYS(userfaultfd), ANY},
    {SCMP_SYS(personality), ANY},
    {SCMP_SYS(settimeofday), ANY},
    {SCMP_SYS(clock_settime), ANY},
    {SCMP_SYS(clock_adjtime), ANY},
    {SCMP_SYS(adjtimex), ANY},
    {SCMP_SYS(sethostname), ANY},
    {SCMP_SYS(setdomainname), ANY},
    /* Users and keys. */
    {SCMP_SYS(setuid), ANY},
    {SCMP_SYS(setgid), ANY},
    {SCMP_SYS(setreuid), ANY},
    {SCMP_SYS(setregid), ANY},
    {SCMP_SYS(setresuid), ANY},
    {SCMP_SYS(setresgid), ANY},
    {SCMP_SYS(setfsuid), ANY},
    {SCMP_SYS(setfsgid), ANY},
    {SCMP_SYS(setgroups), ANY},
    {SCMP_SYS(add_key), ANY},
    {SCMP_SYS(request_key), ANY},
    {SCMP_SYS(keyctl), ANY},
};

#define LIST(rules, action)                    \
    {                                          \
        rules, WEIR_ARRAY_COUNT(rules), action \
    }

/* Written by weir_thread_filters_make() before threads start; len 0: no filter. */
static struct sock_fprog programs[WEIR_THREAD_FILTER_COUNT];

/* Reads a filter as libseccomp writes it to a descriptor. */
static struct sock_fprog read_program(int fd)
{
    struct sock_fprog program = {0};
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_size <= 0)
        return program;
    size_t bytes = (size_t)status.st_size, count = bytes / sizeof(struct sock_filter);
    struct sock_filter *code = malloc(bytes);
    if (code && count <= BPF_MAXINSNS && pread(fd, code, bytes, 0) == status.st_size) {
        program.filter = code;
        program.len = (unsigned short)count;
    } else {
        free(code);
    }
    return program;
}

static struct sock_fprog make(uint32_t otherwise, const struct weir_call_list *lists, size_t count)
{
    struct sock_fprog program = {0};
    scmp_filter_ctx filter;
    if (weir_call_filter_make(&filter, otherwise, lists, count) < 0)
        return program;
    int fd = memfd_create("weir-filter", MFD_CLOEXEC);
    if (fd >= 0 && seccomp_export_bpf(filter, fd) == 0)
        program = read_program(fd);
    if (fd >= 0)
        close(fd);
    seccomp_release(filter);
    return program;
}

bool weir_thread_filters_make(void)
{
    const struct weir_call_list of_data[] = {weir_calls_of_any_thread, LIST(data, SCMP_ACT_ALLOW)};
    const struct weir_call_list of_sideband[] = {weir_calls_of_any_thread, weir_calls_of_opening,
                                                 LIST(files, SCMP_ACT_ALLOW), LIST(sideband, SCMP_ACT_ALLOW)};
    const struct weir_call_list of_metrics[] = {weir_calls_of_any_thread, LIST(replacing, SCMP_ACT_ALLOW)};
    const struct weir_call_list of_recorder[] = {LIST(never, SCMP_ACT_ERRNO(EPERM))};

    if (programs[WEIR_THREAD_FILTER_DATA].len > 0)
        return true;
    programs[WEIR_THREAD_FILTER_DATA] = make(SCMP_ACT_ERRNO(EPERM), of_data, WEIR_ARRAY_COUNT(of_data));
    programs[WEIR_THREAD_FILTER_SIDEBAND] = make(SCMP_ACT_ERRNO(EPERM), of_sideband, WEIR_ARRAY_COUNT(of_sideband));
    programs[WEIR_THREAD_FILTER_FILES] = make(SCMP_ACT_ERRNO(EPERM), of_sideband, WEIR_ARRAY_COUNT(of_sideband) - 1);
    programs[WEIR_THREAD_FILTER_METRICS] = make(SCMP_ACT_ERRNO(EPERM), of_metrics, WEIR_ARRAY_COUNT(of_metrics));
    programs[WEIR_THREAD_FILTER_RECORDER] = make(SCMP_ACT_ALLOW, of_recorder, WEIR_ARRAY_COUNT(of_recorder));
    return programs[WEIR_THREAD_FILTER_DATA].len > 0;
}

void weir_thread_filter_enter(enum weir_thread_filter filter)
{
    struct sock_fprog *program = &programs[filter];
    if (program->len > 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program) < 0 && errno == EINVAL)
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program); /* Linux before 4.17 */
}

#else

bool weir_thread_filters_make(void)
{
    return false;
}

void weir_thread_filter_enter(enum weir_thread_filter filter)
{
    (void)filter;
}

#endif
