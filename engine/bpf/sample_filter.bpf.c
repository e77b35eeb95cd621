/*
 * Decides which samples of an event the kernel writes (sample_filter_program.h).
 *
 * The kernel calls the program for each sample of an event to which weir attached it, in any context, NMI too. 0 drops
 * the sample.
 */
#include "engine/bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "engine/bpf/sample_filter_compare.h"

/* Filters by their numbers. weir sets the sizes of both maps. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct weir_sample_filter);
} filters SEC(".maps");

/* Events by the ids in their samples. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, struct weir_sample_event);
} events SEC(".maps");

/* A trusted pointer to the kernel's own context. Since Linux 6.2. */
extern void *bpf_cast_to_kern_ctx(void *) __ksym;

/* A sample of an event without a filter is kept: somebody else has removed the entry (--setup-filter). */
SEC("perf_event")
int weir_sample(struct bpf_perf_event_data *ctx)
{
    struct bpf_perf_event_data_kern *sample = bpf_cast_to_kern_ctx(ctx);
    struct perf_event *parent = sample->event->parent; /* samples of an inherited event have the id of its parent */
    __u64 id = parent ? parent->id : sample->event->id;
    struct weir_sample_event *event = bpf_map_lookup_elem(&events, &id);
    if (!event)
        return 1;
    __u32 number = event->filter;
    const struct weir_sample_filter *filter = bpf_map_lookup_elem(&filters, &number);
    if (!filter || passes(filter, sample->data, id))
        return 1;
    __sync_fetch_and_add(&event->filtered, 1);
    return 0;
}

char license_text[] SEC("license") = "GPL";
