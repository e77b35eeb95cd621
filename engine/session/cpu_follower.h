/*
 * Follows CPUs that come online and go offline while a recording runs.
 *
 *     goes    Events of all tasks on the CPU are dead. The next round drains its rings; nothing is closed.
 *     comes   Events of all tasks are opened anew, their ids go into the id map, and the events are enabled. Rings are
 *             mapped if the CPU never had any. The CPU's reader is pinned again: the kernel moves a thread off a CPU
 *             that goes, and does not move the thread back.
 *
 * The file knows all ids from its start (event_set.h), so a stream and a file of a killed recording have them too.
 *
 * Linux takes all CPUs but the first one down for a suspend and brings them back without a uevent
 * (freeze_secondary_cpus(), kernel/cpu.c). Their events are dead all the same. A timer that follows the clock of day
 * notices the suspend (timerfd_create(2), TFD_TIMER_CANCEL_ON_SET), because that clock runs while the machine sleeps.
 * The timer may miss a suspend of less than a second, and one that the kernel aborts.
 *
 * With events of all tasks each change puts the list of recorded CPUs into the file (EVENT_UPDATE, docs/format.md), so
 * a consumer can tell a gap from an idle CPU. Each later file gets the list as well, by tell_again().
 *
 * Events of single tasks are open on offline CPUs from the start, and children have inherited them: a CPU that comes
 * needs its rings only. The CPU runs tasks some milliseconds before it has rings. Their samples are counted, and told
 * as lost where the event counts each sample; their side records are neither.
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
    /* A CPU came, and its events are on: has the triggers listen there, too. 0 or -errno with err, which is a warning.
     */
    int (*add_to_triggers)(void *ctx, int cpu, struct weir_error *err);
    void *ctx; /* of both calls */
};

struct weir_cpu_follower {
    struct weir_cpu_watch watch;
    struct weir_cpuset online;            /* at the last look */
    struct weir_cpuset recorded;          /* of the CPUs to record on, those that are there; by watch() */
    int look_fd;                          /* owned timerfd: the next look that no uevent asks for; -1: closed */
    int resume_fd;                        /* owned timerfd: the machine may have been suspended; -1: closed */
    uint64_t suspended_ns;                /* time of setup.suspended at the last look */
    bool untold;                          /* recorded has changed, and the file does not say so yet */
    bool moved;                           /* recorded differs from the CPUs of the start, or did so once */
    struct weir_cpu_follower_setup setup; /* by watch() */
};

#define WEIR_CPU_FOLLOWER_INIT                                             \
    {                                                                      \
        .watch = {.fd = -1, .sysroot = ""}, .look_fd = -1, .resume_fd = -1 \
    }

/*
 * Opens the watch and lists the CPUs that are online, so that watch() misses no change from here on. online: as an
 * earlier look found them, for a machine whose list cannot be read. sysroot: "" for this machine, else borrowed until
 * close(). 0 or -ENOMEM.
 */
int weir_cpu_follower_open(struct weir_cpu_follower *follower, const char *sysroot, const struct weir_cpuset *online);

/*
 * Replaces *late by the CPUs that are present but not in online, and that may come while recording. Events of tasks
 * cost each fork more with each CPU that they are open on; with SMT switched off half of the CPUs are offline to stay
 * so, and for events of tasks (all_tasks false) *late stays as it was. After open(). 0 or -ENOMEM.
 */
int weir_cpu_follower_list_late(const struct weir_cpu_follower *follower, const struct weir_cpuset *online,
                                bool all_tasks, struct weir_cpuset *late);

/*
 * Has the coordinator's loop follow the CPUs, beginning with what has happened since open(). After open(), while the
 * pipeline runs. 0 or -errno.
 */
int weir_cpu_follower_watch(struct weir_cpu_follower *follower, const struct weir_cpu_follower_setup *setup);

/*
 * A later file has its beginning, which knows the CPUs of the start only: puts the list into that file if it ever
 * changed. After watch(), while the pool is there.
 */
void weir_cpu_follower_tell_again(struct weir_cpu_follower *follower);

/* Takes its sources out of the loop and releases all. Before the poll set ends. In any state; idempotent. */
void weir_cpu_follower_close(struct weir_cpu_follower *follower);

#endif
