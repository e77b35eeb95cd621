/* Counts context switches, for test_skeleton.c. */
#include "engine/bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "tests/engine/switch_count.h"

const volatile struct switch_count_config config SEC(".rodata.config");
struct switch_count_state state SEC(".data.state");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} totals SEC(".maps");

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
    if (prev->pid != config.pid)
        return 0;
    __sync_fetch_and_add(&state.switches, 1);
    __u32 zero = 0;
    __u64 *total = bpf_map_lookup_elem(&totals, &zero);
    if (total)
        *total = state.switches;
    return 0;
}

SEC("tp_btf/no_such_tracepoint")
int BPF_PROG(never_loads)
{
    return 0;
}

char license_text[] SEC("license") = "GPL";
