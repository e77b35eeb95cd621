/*
 * Follows CPUs that go online and offline during a recording.
 *
 * The kernel sends a uevent for each change, in order (lib/kobject_uevent.c, Linux 6.12:
 * "online@/devices/system/cpu/cpu1"). A new CPU is seen within milliseconds, a CPU that went and came back is seen
 * twice, and a machine without changes costs nothing. Uevents reach only network namespaces of the initial user
 * namespace. In a container with a network of its own there is no socket, and the caller reads the list in
 * /sys/devices/system/cpu/online from time to time. Reading the list also makes up for lost uevents.
 *
 * The kernel sends a uevent after the change, so the list may be ahead of the uevents. A caller that opens the watch,
 * reads the list and then follows uevents must skip uevents about changes that the list already shows.
 *
 * One thread. Source: netlink(7), Documentation/ABI/testing/sysfs-devices-system-cpu.
 */
#ifndef WEIR_TOPOLOGY_CPU_WATCH_H
#define WEIR_TOPOLOGY_CPU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cpuset.h"

struct weir_cpu_watch {
    int fd;              /* owned; readable when there are uevents; -1: no socket */
    const char *sysroot; /* borrowed; "" for this machine */
};

struct weir_cpu_change {
    unsigned cpu;
    bool came; /* true: it went online; false: offline */
};

/* Opens the watch. sysroot: "" for this machine; a recorded machine has no socket. Cannot fail: without a socket, fd is
 * -1. */
void weir_cpu_watch_open(struct weir_cpu_watch *watch, const char *sysroot);

/* Closes the watch. May be called twice. */
void weir_cpu_watch_close(struct weir_cpu_watch *watch);

/* Takes the next change from the uevents. 1 and *change; 0: no more for now; -ENOBUFS: uevents were lost, read the
 * list. Does not block. */
int weir_cpu_watch_next(const struct weir_cpu_watch *watch, struct weir_cpu_change *change);

/* Replaces *online by the CPUs that are online. 0, -ENOMEM, -EIO (the list cannot be read; *online unchanged). */
int weir_cpu_watch_list(const struct weir_cpu_watch *watch, struct weir_cpuset *online);

/* Replaces *offline by the CPUs that are present but not in online. 0 or -ENOMEM. */
int weir_cpu_watch_offline(const struct weir_cpu_watch *watch, const struct weir_cpuset *online,
                           struct weir_cpuset *offline);

/* Returns whether SMT is switched off. Sibling CPUs then stay offline until somebody switches it on. */
bool weir_cpu_watch_smt_is_off(const struct weir_cpu_watch *watch);

/* Reads the change from a uevent of `bytes` bytes; false: the uevent is about something else. Pure. */
bool weir_cpu_uevent_parse(const char *message, size_t bytes, struct weir_cpu_change *change);

#endif
