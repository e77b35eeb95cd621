/* Reads procfs, rlimits and capabilities. Main thread, set-up. */
#include "engine/kernel/kernel_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"

/* The knobs at boot: kernel/events/core.c. */
#define PARANOID_AT_BOOT           2
#define MLOCK_KB_AT_BOOT(page_kb)  (512 + (page_kb))
#define MAX_SAMPLE_RATE_AT_BOOT_HZ 100000

/* user_namespaces(7): the map of the initial namespace is one line, all ids onto themselves. */
#define UID_MAP_INITIAL_LENGTH 4294967295u

#define KIB                   UINT64_C(1024)
#define MIB                   (1024 * KIB)
#define DATA_RING_BYTES       (8 * MIB)
#define DATA_RING_BYTES_LEAST (512 * KIB)
#define SIDEBAND_RING_BYTES   MIB
#define MEMORY_SHARE_OF_RINGS 64
#define CONTROL_PAGES_PER_CPU 2 /* one for each ring */

/* Reads the number in a file; all knobs here are ints in the kernel. The fallback where it cannot be read. */
static long long read_number(const char *proc_root, const char *name, long long fallback)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", proc_root, name);

    struct weir_buf text = WEIR_BUF_INIT;
    long long number = fallback;
    if (weir_buf_append_file(&text, path) == 0) {
        char *end;
        errno = 0;
        long long value = strtoll(weir_buf_str(&text), &end, 10);
        if (errno == 0 && end != weir_buf_str(&text) && value >= INT_MIN && value <= INT_MAX)
            number = value;
    }
    weir_buf_fini(&text);
    return number;
}

/* Reads a number that cannot be negative. */
static uint64_t read_amount(const char *proc_root, const char *name, uint64_t fallback)
{
    long long number = read_number(proc_root, name, -1);
    return number < 0 ? fallback : (uint64_t)number;
}

static bool read_in_user_namespace(const char *proc_root)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/self/uid_map", proc_root);

    struct weir_buf text = WEIR_BUF_INIT;
    bool inside = false;
    if (weir_buf_append_file(&text, path) == 0) {
        uint64_t inner, outer, length;
        int fields = sscanf(weir_buf_str(&text), "%" SCNu64 " %" SCNu64 " %" SCNu64, &inner, &outer, &length);
        inside = fields != 3 || inner != 0 || outer != 0 || length != UID_MAP_INITIAL_LENGTH;
    }
    weir_buf_fini(&text);
    return inside;
}

static void read_capabilities(struct weir_kernel_limits *limits)
{
    static const struct {
        cap_value_t value;
        bool is_perfmon; /* else CAP_IPC_LOCK */
    } wanted[] = {{CAP_PERFMON, true}, {CAP_SYS_ADMIN, true}, {CAP_IPC_LOCK, false}};

    limits->cap_perfmon = false;
    limits->cap_ipc_lock = false;
    cap_t caps = limits->in_user_namespace ? NULL : cap_get_proc();
    for (size_t i = 0; caps && i < WEIR_ARRAY_COUNT(wanted); i++) {
        cap_flag_value_t held = CAP_CLEAR;
        /* A kernel without the capability leaves it cleared. */
        if (cap_get_flag(caps, wanted[i].value, CAP_EFFECTIVE, &held) < 0 || held != CAP_SET)
            continue;
        if (wanted[i].is_perfmon)
            limits->cap_perfmon = true;
        else
            limits->cap_ipc_lock = true;
    }
    cap_free(caps);
}

static uint64_t from_rlimit(rlim_t limit)
{
    return limit == RLIM_INFINITY ? WEIR_LIMIT_NONE : limit;
}

void weir_kernel_limits_read(struct weir_kernel_limits *limits, const char *proc_root)
{
    static const char paranoid[] = "sys/kernel/perf_event_paranoid";
    const char *root = proc_root ? proc_root : "/proc";

    limits->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    limits->has_perf_events = read_number(root, paranoid, LLONG_MAX) != LLONG_MAX;
    limits->perf_event_paranoid = (int)read_number(root, paranoid, PARANOID_AT_BOOT);
    limits->mlock_kb = read_amount(root, "sys/kernel/perf_event_mlock_kb", MLOCK_KB_AT_BOOT(limits->page_bytes / KIB));
    limits->max_sample_rate_hz = read_amount(root, "sys/kernel/perf_event_max_sample_rate", MAX_SAMPLE_RATE_AT_BOOT_HZ);

    /* getrlimit(2) fails only for a bad pointer or resource. */
    struct rlimit memlock = {0}, nofile = {0};
    getrlimit(RLIMIT_MEMLOCK, &memlock);
    getrlimit(RLIMIT_NOFILE, &nofile);
    limits->memlock_bytes = from_rlimit(memlock.rlim_cur);
    limits->nofile = from_rlimit(nofile.rlim_cur);
    limits->nofile_max = from_rlimit(nofile.rlim_max);

    limits->in_user_namespace = read_in_user_namespace(root);
    read_capabilities(limits);
}

int weir_kernel_limits_raise_nofile(struct weir_kernel_limits *limits)
{
    struct rlimit nofile;
    if (getrlimit(RLIMIT_NOFILE, &nofile) < 0)
        return -errno;
    nofile.rlim_cur = nofile.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &nofile) < 0)
        return -errno;
    limits->nofile = from_rlimit(nofile.rlim_cur);
    limits->nofile_max = from_rlimit(nofile.rlim_max);
    return 0;
}

bool weir_kernel_limits_rings_are_free(const struct weir_kernel_limits *limits)
{
    return limits->cap_ipc_lock || limits->perf_event_paranoid < 0;
}

static struct weir_ring_sizes choose_by_memory(uint64_t memory_bytes, unsigned cpus)
{
    uint64_t share_bytes = memory_bytes / MEMORY_SHARE_OF_RINGS / cpus;
    struct weir_ring_sizes sizes = {DATA_RING_BYTES, SIDEBAND_RING_BYTES};
    while (sizes.data_bytes > DATA_RING_BYTES_LEAST && sizes.data_bytes + sizes.sideband_bytes > share_bytes) {
        sizes.data_bytes /= 2;
        sizes.sideband_bytes = weir_min_u64(SIDEBAND_RING_BYTES, sizes.data_bytes / 2);
    }
    return sizes;
}

/* The data ring takes two thirds at most, so that the sideband ring can have half of its size. */
static struct weir_ring_sizes choose_by_mlock(const struct weir_kernel_limits *limits)
{
    uint64_t pages = limits->mlock_kb * KIB / limits->page_bytes;
    uint64_t ring_pages = pages > CONTROL_PAGES_PER_CPU ? pages - CONTROL_PAGES_PER_CPU : 0;
    uint64_t data_pages = weir_round_down_power_of_two(weir_max_u64(ring_pages * 2 / 3, 1));
    return (struct weir_ring_sizes){
        .data_bytes = data_pages * limits->page_bytes,
        .sideband_bytes = weir_max_u64(data_pages / 2, 1) * limits->page_bytes,
    };
}

struct weir_ring_sizes weir_ring_bytes_choose(const struct weir_kernel_limits *limits, uint64_t memory_bytes,
                                              unsigned cpus)
{
    weir_assert(cpus > 0);
    struct weir_ring_sizes by_memory = choose_by_memory(memory_bytes, cpus);
    if (weir_kernel_limits_rings_are_free(limits))
        return by_memory;

    /* A knob of gigabytes permits rings of gigabytes, but does not ask for them. */
    struct weir_ring_sizes by_mlock = choose_by_mlock(limits);
    return by_mlock.data_bytes < by_memory.data_bytes ? by_mlock : by_memory;
}

uint64_t weir_ring_sizes_mlock_kb(const struct weir_kernel_limits *limits, const struct weir_ring_sizes *sizes)
{
    uint64_t bytes =
        sizes->data_bytes + sizes->sideband_bytes + sizes->aux_bytes + CONTROL_PAGES_PER_CPU * limits->page_bytes;
    return (bytes + KIB - 1) / KIB;
}
