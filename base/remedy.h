/*
 * What to do about a limit of the system: the one table of commands that messages name. `weir doctor` shows all that
 * apply here, hints of single failures the one that does. Pure; any thread.
 */
#ifndef WEIR_BASE_REMEDY_H
#define WEIR_BASE_REMEDY_H

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
    WEIR_REMEDY_TRACEFS_MODE,      /* no value; the mount point follows the command */
    WEIR_REMEDY_MEMORY_CGROUP,     /* bytes for a limit; the file that they go to follows the command */
    WEIR_REMEDY_COUNT,
};

#define WEIR_REMEDY_BYTES 160

/* Writes the command, or the phrase, into text and returns text. */
const char *weir_remedy(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES]);

#endif
