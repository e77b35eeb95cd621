/*
 * CPUs that come online and go while something runs.
 *
 * The kernel's uevents tell of each, in order (lib/kobject_uevent.c, Linux 6.12: "online@/devices/system/cpu/cpu1"), so
 * that a CPU that comes is seen within milliseconds, one that went and came back is seen twice, and a machine whose
 * CPUs stay costs nothing. They reach network namespaces of the initial user namespace only: without a socket, in a
 * container whose network is its own, the list in /sys/devices/system/cpu/online has to be read now and then. It also
 * makes up for uevents that were lost.
 *
 * A uevent comes after what it tells of, so that a list may be ahead of it: who opens the watch, reads the list and
 * then follows uevents passes over those that tell what is known.
 *
 * One thread. Source: netlink(7), Documentation/ABI/testing/sysfs-devices-system-cpu.
 */
#ifndef WEIR_TOPOLOGY_CPU_WATCH_H
#define WEIR_TOPOLOGY_CPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cpuset.h"

struct weir_cpu_watch {
    int fd;              /* owned; readable when uevents are there; -1: none could be had */
    const char *sysroot; /* borrowed; "" for this machine */
};

struct weir_cpu_change {
    unsigned cpu;
    bool came; /* else it went */
};

/* sysroot: "" for this machine; another one has no socket. Cannot fail: fd tells. */
void weir_cpu_watch_open(struct weir_cpu_watch *watch, const char *sysroot);

/* Idempotent. */
void weir_cpu_watch_close(struct weir_cpu_watch *watch);

/* The next change that a uevent tells of: 1 and *change; 0: no more now; -ENOBUFS: some were lost, read the list. Does
 * not block. */
int weir_cpu_watch_next(const struct weir_cpu_watch *watch, struct weir_cpu_change *change);

/* Replaces *online by the CPUs that are online. 0, -ENOMEM, -EIO (the list cannot be read; *online unchanged). */
int weir_cpu_watch_list(const struct weir_cpu_watch *watch, struct weir_cpuset *online);

/* CPUs that are there but offline: present and not in online. *offline is replaced. 0 or -ENOMEM. */
int weir_cpu_watch_offline(const struct weir_cpu_watch *watch, const struct weir_cpuset *online,
                           struct weir_cpuset *offline);

/* Whether SMT is switched off: then the siblings are offline, and come only when it is switched on. */
bool weir_cpu_watch_smt_is_off(const struct weir_cpu_watch *watch);

/* What a uevent of `bytes` bytes tells; false: it is about something else. Pure. */
bool weir_cpu_uevent_parse(const char *message, size_t bytes, struct weir_cpu_change *change);

#endif
