/*
 * What a recording would meet on this system: limits, privileges and devices, each judged, with the command that mends
 * it. `weir doctor` prints it. Facts are gathered once and then judged by a pure function. One thread.
 *
 * Source: perf_event_open(2), Documentation/admin-guide/sysctl/kernel.rst and perf-security.rst, Linux 6.12.
 */
#ifndef WEIR_ENGINE_UPKEEP_DOCTOR_H
#define WEIR_ENGINE_UPKEEP_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/remedy.h"
#include "engine/kernel/kernel_limits.h"
#include "topology/memory_limit.h"

struct weir_doctor_setup {
    const char *proc_root; /* "/proc", or a copy of it (tests) */
    const char *folder;    /* where recordings are to be written */
};

struct weir_doctor_facts {
    struct weir_kernel_limits limits;
    unsigned cpus, nodes;
    uint64_t memory_bytes;
    struct weir_memory_limit memory_limit;
    long long kptr_restrict;     /* -1: not told, as in the next three */
    long long nmi_watchdog;      /* 1: it holds a counter of each CPU */
    long long io_uring_disabled; /* 0: for nobody; 1: for all but a group; 2: for all */
    long long seccomp;           /* of /proc/self/status: 2: a filter */
    bool cap_syslog, cap_sys_ptrace;
    int event_error;    /* of opening an event of our own, user space only: 0 or -errno */
    int hardware_error; /* the same of the cycles of the hardware */
    int uring_error;    /* 0 or -errno of io_uring_setup(2) */
    int direct_error;   /* 0 or -errno of a file with O_DIRECT in the folder */
    int space_error;
    uint64_t free_bytes;
    int tracefs_error; /* 0, -ENODEV: not mounted, -EACCES: not for us */
    char tracefs[128]; /* its mount point */
    char folder[128];
};

enum weir_verdict {
    WEIR_VERDICT_OK,
    WEIR_VERDICT_NOTE,    /* a recording works, with less than there could be */
    WEIR_VERDICT_LIMITED, /* some recordings are refused */
    WEIR_VERDICT_BAD,     /* none works */
};

struct weir_finding {
    const char *name; /* "paranoid"; constant */
    enum weir_verdict verdict;
    char state[200];             /* what is, and what follows */
    char fix[WEIR_REMEDY_BYTES]; /* the command; "": none is needed or known */
};

#define WEIR_FINDINGS_MAX 16u

/* Asks the system. 0 or -errno with err: the machine cannot be looked at. Opens and closes events and files. */
int weir_doctor_gather(struct weir_doctor_facts *facts, const struct weir_doctor_setup *setup, struct weir_error *err);

/* Fills findings; returns how many. Pure. */
size_t weir_doctor_judge(const struct weir_doctor_facts *facts, struct weir_finding findings[WEIR_FINDINGS_MAX]);

/* The word of a verdict: "ok", "note", "limited", "bad". */
const char *weir_verdict_word(enum weir_verdict verdict);

#endif
