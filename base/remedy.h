/*
 * The commands that lift a limit of the system. This table is their only place: messages take commands from here
 * (tests/tidy). `weir doctor` shows all commands that apply to this system; a hint shows the one for its failure. Pure;
 * any thread.
 */
#ifndef WEIR_BASE_REMEDY_H
#define WEIR_BASE_REMEDY_H

#include <stdbool.h>
#include <stdint.h>

enum weir_remedy {                 /* value: what the command sets */
    WEIR_REMEDY_PARANOID,          /* kernel.perf_event_paranoid */
    WEIR_REMEDY_MLOCK_KB,          /* kernel.perf_event_mlock_kb */
    WEIR_REMEDY_MAX_SAMPLE_RATE,   /* kernel.perf_event_max_sample_rate */
    WEIR_REMEDY_NMI_WATCHDOG,      /* value 0 */
    WEIR_REMEDY_KPTR_RESTRICT,     /* kernel.kptr_restrict */
    WEIR_REMEDY_IO_URING,          /* kernel.io_uring_disabled */
    WEIR_REMEDY_NOFILE,            /* within the hard limit */
    WEIR_REMEDY_NOFILE_HARD,       /* beyond it */
    WEIR_REMEDY_MEMLOCK,           /* no value */
    WEIR_REMEDY_CONTAINER,         /* perf_event_open(2) in a container; no value */
    WEIR_REMEDY_CONTAINER_SECCOMP, /* other system calls in a container; no value */
    WEIR_REMEDY_CAPABILITIES,      /* file capabilities of the program, for a group; no value */
    WEIR_REMEDY_TRACEFS_MOUNT,     /* no value */
    WEIR_REMEDY_TRACEFS_MODE,      /* no value, for the mount point */
    WEIR_REMEDY_MEMORY_CGROUP,     /* bytes, for the file with the limit */
    WEIR_REMEDY_COUNT,
};

#define WEIR_REMEDY_BYTES 320

/* Writes the command, or the phrase, into text and returns text. */
const char *weir_remedy(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES]);

/* Does as weir_remedy() for a remedy that acts on an object, such as a file. A long object is cut. */
const char *weir_remedy_on(enum weir_remedy remedy, int64_t value, const char *object, char text[WEIR_REMEDY_BYTES]);

/*
 * Writes the command that makes the kernel show its addresses. Without CAP_SYSLOG they need kptr_restrict 0 and
 * perf_event_paranoid at most 1; with CAP_SYSLOG, kptr_restrict 1 is enough (kallsyms_show_value(), kernel/kallsyms.c
 * of Linux 6.18).
 */
const char *weir_remedy_hidden_kernel(long long kptr_restrict, long long paranoid, bool cap_syslog,
                                      char text[WEIR_REMEDY_BYTES]);

#endif
