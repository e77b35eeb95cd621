/* Scheduling of readers and writer; called by each thread for itself. */
#include "engine/kernel/thread_priority.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define SLICE_NS         (WEIR_NS_PER_MS / 10) /* the least that the kernel grants */
#define NICE_MOST_URGENT (-20)

static int set_attr(struct sched_attr *attr)
{
    attr->size = sizeof(*attr);
    return syscall(SYS_sched_setattr, 0, attr, 0) < 0 ? -errno : 0;
}

static int set_fair(int nice)
{
    struct sched_attr attr = {.sched_policy = SCHED_NORMAL,
                              .sched_flags = SCHED_FLAG_RESET_ON_FORK, /* a command of --on-rotate is not urgent */
                              .sched_nice = nice,
                              .sched_runtime = SLICE_NS};
    return set_attr(&attr);
}

int weir_thread_prioritize(int realtime)
{
    int result = 0;
    if (realtime > 0) {
        struct sched_attr attr = {.sched_policy = SCHED_FIFO, .sched_priority = (unsigned)realtime};
        result = set_attr(&attr);
        if (result == 0)
            return 0;
    }
    if (set_fair(NICE_MOST_URGENT) < 0)
        set_fair(0);
    return result;
}
