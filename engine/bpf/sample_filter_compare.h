/*
 * Compares a sample with a filter. For the BPF program of sample filters (sample_filter.bpf.c), and for its tests.
 *
 * bpf_overflow_handler(), kernel/events/core.c, fills in a sample as far as its sample type asks for, before the
 * program runs. The other fields hold arbitrary bytes of the kernel's stack, so they read as 0 here.
 */
#ifndef WEIR_ENGINE_BPF_SAMPLE_FILTER_COMPARE_H
#define WEIR_ENGINE_BPF_SAMPLE_FILTER_COMPARE_H

#include "engine/bpf/vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "engine/bpf/sample_filter_entry.h"

#define SAMPLE_IP             (1u << 0) /* PERF_SAMPLE_*, include/uapi/linux/perf_event.h */
#define SAMPLE_TID            (1u << 1)
#define SAMPLE_TIME           (1u << 2)
#define SAMPLE_ADDR           (1u << 3)
#define SAMPLE_CPU            (1u << 7)
#define SAMPLE_PERIOD         (1u << 8)
#define SAMPLE_WEIGHT         (1u << 14)
#define SAMPLE_DATA_SRC       (1u << 15)
#define SAMPLE_TRANSACTION    (1u << 17)
#define SAMPLE_PHYS_ADDR      (1u << 19)
#define SAMPLE_CGROUP         (1u << 21)
#define SAMPLE_DATA_PAGE_SIZE (1u << 22)
#define SAMPLE_CODE_PAGE_SIZE (1u << 23)
#define SAMPLE_WEIGHT_STRUCT  (1u << 24)

static __always_inline __u64 weight_part(struct perf_sample_data *data, unsigned term)
{
    __u64 full = data->weight.full; /* union perf_sample_weight, on a little-endian machine */
    if (term == WEIR_SAMPLE_WEIGHT1)
        return full & 0xffffffff;
    if (term == WEIR_SAMPLE_WEIGHT2)
        return full >> 32 & 0xffff;
    return term == WEIR_SAMPLE_WEIGHT3 ? full >> 48 : full;
}

/* union perf_mem_data_src */
static __always_inline __u64 source_part(struct perf_sample_data *data, unsigned term)
{
    __u64 source = data->data_src.val;
    switch (term) {
    case WEIR_SAMPLE_MEM_OP:
        return source & 0x1f;
    case WEIR_SAMPLE_MEM_SNOOP:
        return (source >> 38 & 3) << 5 | (source >> 19 & 0x1f);
    case WEIR_SAMPLE_MEM_LOCK:
        return source >> 24 & 3;
    case WEIR_SAMPLE_MEM_DTLB:
        return source >> 26 & 0x7f;
    case WEIR_SAMPLE_MEM_LVLNUM:
        return source >> 33 & 0xf;
    case WEIR_SAMPLE_MEM_REMOTE:
        return source >> 37 & 1;
    case WEIR_SAMPLE_MEM_BLK:
        return source >> 40 & 7;
    default:
        return source >> 43 & 7; /* mem_hops */
    }
}

static __always_inline __u64 identity(unsigned term)
{
    __u64 ids = bpf_get_current_uid_gid();
    return term == WEIR_SAMPLE_UID ? ids & 0xffffffff : ids >> 32;
}

static __always_inline __u64 value_of(struct perf_sample_data *data, __u64 id, unsigned term)
{
    __u64 has = data->sample_flags;
    switch (term) {
    case WEIR_SAMPLE_IP:
        return has & SAMPLE_IP ? data->ip : 0;
    case WEIR_SAMPLE_ID:
        return id;
    case WEIR_SAMPLE_TID:
        return has & SAMPLE_TID ? data->tid_entry.tid : 0;
    case WEIR_SAMPLE_PID:
        return has & SAMPLE_TID ? data->tid_entry.pid : 0;
    case WEIR_SAMPLE_CPU:
        return has & SAMPLE_CPU ? data->cpu_entry.cpu : 0;
    case WEIR_SAMPLE_TIME:
        return has & SAMPLE_TIME ? data->time : 0;
    case WEIR_SAMPLE_ADDR:
        return has & SAMPLE_ADDR ? data->addr : 0;
    case WEIR_SAMPLE_PERIOD:
        return has & SAMPLE_PERIOD ? data->period : 0;
    case WEIR_SAMPLE_TXN:
        return has & SAMPLE_TRANSACTION ? data->txn : 0;
    case WEIR_SAMPLE_WEIGHT:
    case WEIR_SAMPLE_WEIGHT1:
    case WEIR_SAMPLE_WEIGHT2:
    case WEIR_SAMPLE_WEIGHT3:
        return has & (SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT) ? weight_part(data, term) : 0;
    case WEIR_SAMPLE_PHYS_ADDR:
        return has & SAMPLE_PHYS_ADDR ? data->phys_addr : 0;
    case WEIR_SAMPLE_CODE_PGSZ:
        return has & SAMPLE_CODE_PAGE_SIZE ? data->code_page_size : 0;
    case WEIR_SAMPLE_DATA_PGSZ:
        return has & SAMPLE_DATA_PAGE_SIZE ? data->data_page_size : 0;
    case WEIR_SAMPLE_MEM_OP:
    case WEIR_SAMPLE_MEM_LVLNUM:
    case WEIR_SAMPLE_MEM_SNOOP:
    case WEIR_SAMPLE_MEM_REMOTE:
    case WEIR_SAMPLE_MEM_LOCK:
    case WEIR_SAMPLE_MEM_DTLB:
    case WEIR_SAMPLE_MEM_BLK:
    case WEIR_SAMPLE_MEM_HOPS:
        return has & SAMPLE_DATA_SRC ? source_part(data, term) : 0;
    case WEIR_SAMPLE_UID:
    case WEIR_SAMPLE_GID:
        return identity(term);
    case WEIR_SAMPLE_CGROUP:
        return has & SAMPLE_CGROUP ? data->cgroup : 0;
    default:
        return 0;
    }
}

static __always_inline bool holds(__u64 value, unsigned op, __u64 than)
{
    switch (op) {
    case WEIR_SAMPLE_EQ:
        return value == than;
    case WEIR_SAMPLE_NE:
        return value != than;
    case WEIR_SAMPLE_GT:
        return value > than;
    case WEIR_SAMPLE_GE:
        return value >= than;
    case WEIR_SAMPLE_LT:
        return value < than;
    case WEIR_SAMPLE_LE:
        return value <= than;
    default:
        return (value & than) != 0;
    }
}

static __always_inline bool passes(const struct weir_sample_filter *filter, struct perf_sample_data *data, __u64 id)
{
    bool clause = false;
    for (unsigned i = 0; i < WEIR_SAMPLE_FILTER_MAX && i < filter->count; i++) {
        const struct weir_sample_comparison *comparison = &filter->comparisons[i];
        clause |= holds(value_of(data, id, comparison->term), comparison->op, comparison->value);
        if (comparison->ends_clause && !clause)
            return false;
        clause &= !comparison->ends_clause;
    }
    return true;
}

#endif
