/* Each fact comes from /proc, from a system call that is tried, or from the CPU topology. One thread. */
#include "engine/upkeep/doctor_facts.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>

#include "base/buf.h"
#include "engine/kernel/kernel.h"
#include "format/tracefs.h"
#include "io/probe.h"
#include "topology/topology.h"

/* The number that follows `key` in a file; with key "" the number that the file starts with. -1: unknown. */
static long long read_number(const char *root, const char *name, const char *key)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    struct weir_buf text = WEIR_BUF_INIT;
    long long number = -1;
    if (weir_buf_append_file(&text, path) == 0) {
        const char *at = strstr(weir_buf_str(&text), key);
        char *end;
        const char *from = at ? at + strlen(key) : "";
        long long value = strtoll(from, &end, 10);
        number = end != from ? value : -1;
    }
    weir_buf_fini(&text);
    return number;
}

/* The first line of a file; "" when it cannot be read. */
static void read_line(const char *root, const char *name, char *line, size_t bytes)
{
    char path[PATH_MAX];
    struct weir_buf text = WEIR_BUF_INIT;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    line[0] = '\0';
    if (weir_buf_append_file(&text, path) == 0) {
        const char *from = weir_buf_str(&text);
        snprintf(line, bytes, "%.*s", (int)strcspn(from, "\n"), from);
    }
    weir_buf_fini(&text);
}

static bool holds(cap_value_t capability)
{
    cap_t caps = cap_get_proc();
    cap_flag_value_t held = CAP_CLEAR;
    bool has = caps && cap_get_flag(caps, capability, CAP_EFFECTIVE, &held) == 0 && held == CAP_SET;
    cap_free(caps);
    return has;
}

/* Opens and closes an event on this process, user space only: that needs no privilege. */
static int probe_event(uint32_t type, uint64_t config)
{
    const struct weir_kernel *kernel = &weir_kernel_linux;
    struct perf_event_attr attr = {
        .type = type, .size = sizeof(attr), .config = config, .disabled = 1, .exclude_kernel = 1, .exclude_hv = 1};
    int fd = kernel->ops->event_open(kernel->ctx, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return fd;
    kernel->ops->event_close(kernel->ctx, fd);
    return 0;
}

int weir_doctor_gather(struct weir_doctor_facts *facts, const struct weir_doctor_setup *setup, struct weir_error *err)
{
    memset(facts, 0, sizeof(*facts));
    struct weir_topology *topology;
    int result = weir_topology_load(&topology, err);
    if (result < 0)
        return result;
    facts->cpus = weir_cpuset_count(weir_topology_online(topology));
    facts->nodes = weir_topology_node_count(topology);
    facts->memory_bytes = weir_topology_memory_bytes(topology);
    weir_topology_free(topology);
    result = weir_memory_limit_read(&facts->memory_limit, "");
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read the limit of memory");

    weir_kernel_limits_read(&facts->limits, setup->proc_root);
    facts->kptr_restrict = read_number(setup->proc_root, "sys/kernel/kptr_restrict", "");
    facts->nmi_watchdog = read_number(setup->proc_root, "sys/kernel/nmi_watchdog", "");
    facts->io_uring_disabled = read_number(setup->proc_root, "sys/kernel/io_uring_disabled", "");
    facts->seccomp = read_number(setup->proc_root, "self/status", "\nSeccomp:");
    facts->yama = read_number(setup->proc_root, "sys/kernel/yama/ptrace_scope", "");
    facts->selinux_enforces = read_number(setup->sys_root, "fs/selinux/enforce", "") == 1;
    read_line(setup->sys_root, "kernel/security/lockdown", facts->lockdown, sizeof(facts->lockdown));
    read_line(setup->proc_root, "self/attr/current", facts->profile, sizeof(facts->profile));
    facts->cap_syslog = holds(CAP_SYSLOG);
    facts->cap_sys_ptrace = holds(CAP_SYS_PTRACE);
    facts->event_error = probe_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    facts->hardware_error = probe_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    facts->uring_error = weir_io_probe_uring();
    facts->direct_error = weir_io_probe_direct(setup->folder);
    facts->space_error = weir_io_probe_space(setup->folder, &facts->free_bytes);
    facts->tracefs_error = weir_tracefs_find(facts->tracefs, sizeof(facts->tracefs), NULL);
    snprintf(facts->folder, sizeof(facts->folder), "%s", setup->folder);
    return 0;
}
