/*
 * The facts that `weir doctor` judges: the kernel's limits, and what became of trying events, io_uring, O_DIRECT and
 * tracefs. One thread.
 *
 * Source: perf_event_open(2), Documentation/admin-guide/sysctl/kernel.rst and perf-security.rst, Linux 6.12.
 */
#ifndef WEIR_ENGINE_UPKEEP_DOCTOR_FACTS_H
#define WEIR_ENGINE_UPKEEP_DOCTOR_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/kernel/kernel_limits.h"
#include "topology/memory_limit.h"

struct weir_doctor_setup {
    const char *proc_root; /* "/proc", or a copy of it (tests) */
    const char *sys_root;  /* "/sys", likewise */
    const char *folder;    /* where recordings will be written */
};

struct weir_doctor_facts {
    struct weir_kernel_limits limits;
    unsigned cpus, nodes;
    uint64_t memory_bytes;
    struct weir_memory_limit memory_limit;
    long long kptr_restrict;     /* -1: unknown, as in the next three */
    long long nmi_watchdog;      /* 1: it occupies a counter on each CPU */
    long long io_uring_disabled; /* 0: for nobody; 1: for all but one group; 2: for everybody */
    long long seccomp;           /* of /proc/self/status; 2: a filter is in force */
    bool cap_syslog, cap_sys_ptrace;
    int event_error;     /* 0 or -errno of opening an event on this process, user space only */
    int hardware_error;  /* 0 or -errno of opening hardware cycles on this process, user space only */
    int uring_error;     /* 0 or -errno of io_uring_setup(2) */
    int direct_error;    /* 0 or -errno of opening a file with O_DIRECT in the folder */
    int space_error;     /* 0 or -errno of asking the folder's file system for its free space */
    uint64_t free_bytes; /* of that file system */
    int tracefs_error;   /* 0; -ENODEV: not mounted; -EACCES: not readable for us */
    char tracefs[128];   /* its mount point */
    long long yama;      /* kernel.yama.ptrace_scope; -1: unknown */
    bool selinux_enforces;
    char lockdown[64]; /* of securityfs: "none [integrity] confidentiality"; "": unknown, as in the next */
    char profile[128]; /* of this process: of AppArmor "weir (enforce)", of SELinux its context */
    char folder[128];
};

/* Asks the system; opens and closes events and files. 0 or -errno with err: the machine cannot be looked at. */
int weir_doctor_gather(struct weir_doctor_facts *facts, const struct weir_doctor_setup *setup, struct weir_error *err);

#endif
