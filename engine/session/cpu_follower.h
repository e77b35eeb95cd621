/*
 * Follows CPUs that come online and go offline while a recording runs.
 *
 *     goes    Events of all tasks on the CPU are dead. The next round drains its rings; nothing is closed.
 *     comes   Events of all tasks are opened anew, their ids go into the id map, and the events are enabled. Rings are
 *             mapped if the CPU never had any. The CPU's reader is pinned again: the kernel moves a thread off a CPU
 *             that goes, and does not move the thread back.
 *
 * A CPU outside of -C (weir_event_place.side_only) has side events only. They are opened anew in the same way, but the
 * CPU stays out of the list of recorded CPUs, and only a failure is told.
 *
 * The file knows all ids from its start (event_set.h), so a stream and a file of a killed recording have them too.
 *
 * Linux takes all CPUs but the first one down for a suspend and brings them back without a uevent
 * (freeze_secondary_cpus(), kernel/cpu.c). The events of these CPUs are dead nevertheless. A timer that follows the
 * clock of day notices the suspend (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET), because the clock of day runs while
 * the machine sleeps. The timer may miss a suspend of less than a second, and one that the kernel aborts.
 *
 * With events of all tasks each change puts the list of recorded CPUs into the file (EVENT_UPDATE, docs/format.md). The
 * list lets a consumer tell a gap from an idle CPU. Each later file gets the list as well, by tell_again().
 *
 * Events of single tasks are open on offline CPUs from the start, and children have inherited them: a CPU that comes
 * needs its rings only. The CPU runs tasks some milliseconds before it has rings. The kernel counts the samples of
 * those milliseconds, and weir reports them as lost where the event counts each sample. Nobody counts side records
 * that find no ring.
 *
 * The coordinator calls all functions and alone writes the struct. No function waits for readers or for the disk.
 */
#ifndef WEIR_ENGINE_SESSION_CPU_FOLLOWER_H
#define WEIR_ENGINE_SESSION_CPU_FOLLOWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/error.h"
#include "base/notice.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/kernel/kernel_limits.h"
#include "engine/kernel/poll_set.h"
#include "topology/cpu_watch.h"

/* All pointers but cpus are borrowed until close(). */
struct weir_cpu_follower_setup {
    struct weir_poll_set *sources;  /* of the coordinator's loop */
    struct weir_event_set *events;  /* open */
    const struct weir_cpuset *cpus; /* recorded from the start; borrowed for the call of watch() only */
    struct weir_pipeline *pipeline;
    const struct weir_kernel_limits *limits;
    const struct weir_clock *suspended;     /* how long the machine has been suspended in all */
    const struct weir_notice_sink *notices; /* NULL: none */
    uint64_t list_id;      /* of an event that the head has at all times; EVENT_UPDATE lists the CPUs under this id */
    bool expects_all_cpus; /* the user chose neither CPUs nor rings per task: a CPU that stays out is worth a warning */
    /* Maps data and sideband rings of a place. 0 or -errno with err. */
    int (*map_rings)(void *ctx, unsigned place, struct weir_error *err);
    /* Makes the trigger events listen on a CPU that came, after its own events are enabled. 0, or -errno with err; the
     * follower makes err a warning. */
    int (*add_to_triggers)(void *ctx, int cpu, struct weir_error *err);
    void *ctx; /* of both calls */
};

struct weir_cpu_follower {
    struct weir_cpu_watch watch;
    struct weir_cpuset online;            /* at the last look */
    struct weir_cpuset recorded;          /* CPUs that are online and recorded; set by watch() */
    int look_fd;                          /* owned timerfd: the next look without a uevent; -1: closed */
    int resume_fd;                        /* owned timerfd: the machine may have been suspended; -1: closed */
    uint64_t suspended_ns;                /* time of setup.suspended at the last look */
    bool untold;                          /* the file does not have the latest content of `recorded` yet */
    bool moved;                           /* `recorded` has changed since the start */
    struct weir_cpu_follower_setup setup; /* set by watch() */
};

#define WEIR_CPU_FOLLOWER_INIT                                             \
    {                                                                      \
        .watch = {.fd = -1, .sysroot = ""}, .look_fd = -1, .resume_fd = -1 \
    }

/*
 * Opens the watch and lists the online CPUs, so that watch() learns of each later change. online: the CPUs that were
 * online earlier, for a machine whose list weir cannot read. sysroot: "" for this machine, else borrowed until close().
 * 0 or -ENOMEM.
 */
int weir_cpu_follower_open(struct weir_cpu_follower *follower, const char *sysroot, const struct weir_cpuset *online);

/*
 * Replaces *late by the CPUs that are present but not in online, and that may come while recording. An event of a task
 * makes each fork slower with each CPU on which the event is open. With SMT switched off, half of the CPUs are offline
 * for good. So in that case *late stays unchanged for events of tasks (all_tasks false). Call this after open(). 0 or
 * -ENOMEM.
 */
int weir_cpu_follower_list_late(const struct weir_cpu_follower *follower, const struct weir_cpuset *online,
                                bool all_tasks, struct weir_cpuset *late);

/*
 * Makes the coordinator's loop follow the CPUs, beginning with all changes since open(). Call this after open(), while
 * the pipeline runs. 0 or -errno.
 */
int weir_cpu_follower_watch(struct weir_cpu_follower *follower, const struct weir_cpu_follower_setup *setup);

/*
 * Puts the list of CPUs into a later file if the list ever changed. The beginning of that file names the CPUs of the
 * start only. Call this after watch(), while the pool exists.
 */
void weir_cpu_follower_tell_again(struct weir_cpu_follower *follower);

/* Removes the follower's sources from the loop and releases everything. Call this before the poll set ends. In any
 * state; idempotent. */
void weir_cpu_follower_close(struct weir_cpu_follower *follower);

#endif
