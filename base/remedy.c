/* The table of remedies. Pure; any thread. */
#include "base/remedy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/bits.h"

struct row {
    const char *text; /* the command, up to its value */
    bool has_value;
};

static const struct row rows[] = {
    [WEIR_REMEDY_PARANOID] = {"sudo sysctl kernel.perf_event_paranoid=", true},
    [WEIR_REMEDY_MLOCK_KB] = {"sudo sysctl kernel.perf_event_mlock_kb=", true},
    [WEIR_REMEDY_MAX_SAMPLE_RATE] = {"sudo sysctl kernel.perf_event_max_sample_rate=", true},
    [WEIR_REMEDY_NMI_WATCHDOG] = {"sudo sysctl kernel.nmi_watchdog=", true},
    [WEIR_REMEDY_KPTR_RESTRICT] = {"sudo sysctl kernel.kptr_restrict=", true},
    [WEIR_REMEDY_IO_URING] = {"sudo sysctl kernel.io_uring_disabled=", true},
    [WEIR_REMEDY_NOFILE] = {"ulimit -n ", true},
    [WEIR_REMEDY_NOFILE_HARD] = {"sudo prlimit --pid $$ --nofile=", true},
    [WEIR_REMEDY_MEMLOCK] = {"sudo prlimit --pid $$ --memlock=unlimited", false},
    [WEIR_REMEDY_CONTAINER] = {"start the container with --cap-add=PERFMON, or with --security-opt seccomp=unconfined",
                               false},
    [WEIR_REMEDY_CONTAINER_SECCOMP] = {"start the container with --security-opt seccomp=unconfined", false},
    [WEIR_REMEDY_CAPABILITIES] = {"sudo setcap cap_perfmon,cap_ipc_lock,cap_syslog,cap_sys_ptrace=ep "
                                  "\"$(command -v weir)\"",
                                  false},
    [WEIR_REMEDY_TRACEFS_MOUNT] = {"sudo mount -t tracefs nodev /sys/kernel/tracing", false},
    [WEIR_REMEDY_MEMORY_CGROUP] = {"echo ", true},
    [WEIR_REMEDY_TRACEFS_MODE] = {"mount -o remount,mode=755 ", false},
};
_Static_assert(WEIR_ARRAY_COUNT(rows) == WEIR_REMEDY_COUNT, "a row for each");

const char *weir_remedy(enum weir_remedy remedy, int64_t value, char text[WEIR_REMEDY_BYTES])
{
    weir_assert(remedy < WEIR_REMEDY_COUNT);
    if (rows[remedy].has_value)
        snprintf(text, WEIR_REMEDY_BYTES, "%s%" PRId64, rows[remedy].text, value);
    else
        snprintf(text, WEIR_REMEDY_BYTES, "%s", rows[remedy].text);
    return text;
}
