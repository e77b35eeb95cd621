/*
 * What to do about a limit of the system: the one table of commands that messages name, and no command stands anywhere
 * else (tests/tidy). `weir doctor` shows all that apply here, hints of single failures the one that does. Pure; any
 * thread.
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
    WEIR_REMEDY_CONTAINER_SECCOMP, /* other calls there; no value */
    WEIR_REMEDY_CAPABILITIES,      /* for the program; no value */
    WEIR_REMEDY_TRACEFS_MOUNT,     /* no value */
    WEIR_REMEDY_TRACEFS_MODE,      /* no value; of the mount point */
    WEIR_REMEDY_MEMORY_CGROUP,     /* bytes; of the file that has the limit */
    WEIR_REMEDY_COUNT,
};

#define WEIR_REMEDY_BYTES 320

/* Writes the command, or the phrase, into text and returns text. */
const char *weir_remedy(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES]);

/* The same of a remedy for an object, which is cut when it is too long. */
const char *weir_remedy_on(enum weir_remedy remedy, int64_t value, const char *object, char text[WEIR_REMEDY_BYTES]);

/*
 * What makes the kernel show its addresses, which need kptr_restrict 0, and perf_event_paranoid at 1 or less without
 * CAP_SYSLOG; with it 1 of the first will do (kallsyms_show_value(), kernel/kallsyms.c of Linux 6.18).
 */
const char *weir_remedy_hidden_kernel(long long kptr_restrict, long long paranoid, bool cap_syslog,
                                      char text[WEIR_REMEDY_BYTES]);

#endif
