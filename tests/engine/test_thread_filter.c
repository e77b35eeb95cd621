/* What a thread in a filter can and cannot ask of the kernel. Each call is made in a thread of its own, which is bound
 * first, with arguments for which the kernel has another answer than EPERM, and which do nothing. */
#include "engine/kernel/thread_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"

#define DATA     (1u << WEIR_THREAD_FILTER_DATA)
#define SIDEBAND (1u << WEIR_THREAD_FILTER_SIDEBAND)
#define FILES    (1u << WEIR_THREAD_FILTER_FILES)
#define METRICS  (1u << WEIR_THREAD_FILTER_METRICS)
#define RECORDER (1u << WEIR_THREAD_FILTER_RECORDER)
#define NOBODY   0u
#define READING  (DATA | SIDEBAND | FILES)
#define CONFINED (READING | METRICS)
#define ALL      (CONFINED | RECORDER)

#define PATH     "/nonexistent/weir"
#define TEXT(s)  (long)(uintptr_t)(s)
#define PRIVATE_ (MAP_PRIVATE | MAP_ANONYMOUS)

struct call {
    const char *name;
    long number, arguments[6];
    unsigned forbidden; /* to which filters */
};

static const struct call calls[] = {
    {"open to read", SYS_openat, {AT_FDCWD, TEXT(PATH), O_RDONLY}, DATA},
    {"open to write", SYS_openat, {AT_FDCWD, TEXT(PATH), O_WRONLY}, READING},
    {"open to create", SYS_openat, {AT_FDCWD, TEXT(PATH), O_RDONLY | O_CREAT, 0600}, READING},
    {"rename", SYS_renameat2, {AT_FDCWD, TEXT(PATH), AT_FDCWD, TEXT(PATH "2"), 0}, READING},
    {"remove", SYS_unlinkat, {AT_FDCWD, TEXT(PATH), 0}, READING},
    {"look", SYS_readlinkat, {AT_FDCWD, TEXT(PATH), 0, 0}, DATA | METRICS},
    {"read at", SYS_pread64, {-1, 0, 0, 0}, NOBODY}, /* stage workers read tables of files that others open */
    {"write", SYS_write, {-1, 0, 0}, NOBODY},
    {"write at", SYS_pwrite64, {-1, 0, 0, 0}, SIDEBAND | FILES | METRICS},
    {"cut", SYS_ftruncate, {-1, 0}, SIDEBAND | FILES | METRICS},
    {"submit writes", SYS_io_uring_enter, {-1, 0, 0, 0, 0, 0}, SIDEBAND | FILES | METRICS},
    {"make a queue", SYS_io_uring_setup, {0, 0}, CONFINED},
    {"pause a ring", SYS_ioctl, {-1, PERF_EVENT_IOC_PAUSE_OUTPUT, 1}, SIDEBAND | FILES | METRICS},
    {"type into a terminal", SYS_ioctl, {-1, TIOCSTI, 0}, CONFINED},
    {"find a BPF program", SYS_bpf, {BPF_PROG_GET_NEXT_ID, 0, 0}, DATA | FILES | METRICS},
    {"load a BPF program", SYS_bpf, {BPF_PROG_LOAD, 0, 1}, CONFINED},
    {"open an event", SYS_perf_event_open, {0, 0, -1, -1, 0}, CONFINED},
    {"lower the priority", SYS_setpriority, {PRIO_PROCESS, 0, 19}, DATA | METRICS},
    {"map memory", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, PRIVATE_, -1, 0}, NOBODY},
    {"map code", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, PRIVATE_, -1, 0}, CONFINED},
    {"make a socket", SYS_socket, {-1, 0, 0}, CONFINED},
    {"signal", SYS_kill, {1, 0}, CONFINED},
    {"execute", SYS_execve, {TEXT(PATH), 0, 0}, ALL},
    {"trace", SYS_ptrace, {-1, -1, 0, 0}, ALL},
    {"write into a process", SYS_process_vm_writev, {-1, 0, 0, 0, 0, 1}, ALL},
    {"mount", SYS_mount, {TEXT("none"), TEXT(PATH), TEXT("none"), 0, 0}, ALL},
    {"enter a name space", SYS_setns, {-1, 0}, ALL},
    {"load a module", SYS_finit_module, {-1, 0, 0}, ALL},
    {"become another user", SYS_setuid, {-1}, ALL},
};

struct attempt {
    const struct call *call;
    int filter; /* -1: none */
    int error;  /* errno, or 0 */
};

static void *make(void *argument)
{
    struct attempt *attempt = argument;
    const long *a = attempt->call->arguments;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (attempt->filter >= 0)
        weir_thread_filter_enter((enum weir_thread_filter)attempt->filter);
    attempt->error = syscall(attempt->call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
    return NULL;
}

static int error_of(const struct call *call, int filter)
{
    struct attempt attempt = {.call = call, .filter = filter};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, make, &attempt), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    return attempt.error;
}

Test(thread_filter, forbids_what_the_class_does_not_need)
{
    if (!weir_thread_filters_make())
        cr_skip_test("needs a build and a kernel with filters");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(calls); i++) {
        int free = error_of(&calls[i], -1);
        if (free == EPERM) /* this user may not anyway */
            continue;
        for (int filter = 0; filter < WEIR_THREAD_FILTER_COUNT; filter++) {
            int expected = calls[i].forbidden & 1u << filter ? EPERM : free;
            cr_expect_eq(error_of(&calls[i], filter), expected, "'%s' in filter %d, expected %d", calls[i].name, filter,
                         expected);
        }
    }
}

Test(thread_filter, does_nothing_before_the_filters_are_made)
{
    cr_assert_neq(error_of(&calls[0], WEIR_THREAD_FILTER_DATA), EPERM);
}
