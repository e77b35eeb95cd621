/* The two tables of what older kernels refuse: what may be dropped, and what was asked for. Coordinator thread. */
#include "engine/event_ladder.h"

#include <errno.h>

#include "base/bits.h"
#include "engine/registers.h"

/* Functions that drop something take it out of an attr, and say whether it was there. */

#define DROP_FLAG(name)                                   \
    static bool drop_##name(struct perf_event_attr *attr) \
    {                                                     \
        bool had = attr->name;                            \
        attr->name = 0;                                   \
        return had;                                       \
    }

#define DROP_BITS(name, field, bits)                      \
    static bool drop_##name(struct perf_event_attr *attr) \
    {                                                     \
        bool had = attr->field & (bits);                  \
        attr->field &= ~(uint64_t)(bits);                 \
        return had;                                       \
    }

/* ---- what may be dropped ---- */

DROP_BITS(lost, read_format, PERF_FORMAT_LOST)
DROP_BITS(branch_hw_index, branch_sample_type, PERF_SAMPLE_BRANCH_HW_INDEX)

static bool drop_weight_struct(struct perf_event_attr *attr)
{
    bool had = attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT;
    if (had)
        attr->sample_type = (attr->sample_type & ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT) | PERF_SAMPLE_WEIGHT;
    return had;
}

static bool drop_bpf_records(struct perf_event_attr *attr)
{
    bool had = attr->ksymbol || attr->bpf_event;
    attr->ksymbol = attr->bpf_event = 0;
    return had;
}

/* Of call stacks only: with -j they were asked for. */
static bool drop_lbr_flags(struct perf_event_attr *attr)
{
    const uint64_t bits = PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES;
    bool is_call_stack = attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
    bool had = is_call_stack && (attr->branch_sample_type & bits);
    if (had)
        attr->branch_sample_type &= ~bits;
    return had;
}

static const struct {
    const char *what;
    bool (*drop)(struct perf_event_attr *attr);
} steps[] = {
    {"PERF_FORMAT_LOST (Linux 6.0): losses are known from LOST records only", drop_lost},
    {"the weight in parts (Linux 5.12): it is one number", drop_weight_struct},
    {"the index of branch registers (Linux 5.7): call stacks cannot be stitched together", drop_branch_hw_index},
    {"ksymbol and bpf_event records (Linux 5.1)", drop_bpf_records},
    {"leaving flags and cycles out of call stacks (Linux 4.4): samples are larger", drop_lbr_flags},
};

_Static_assert(WEIR_ARRAY_COUNT(steps) <= 32, "a bit for each in weir_event_ladder.dropped");

const char *weir_event_ladder_step(struct weir_event_ladder *ladder, const struct perf_event_attr *refused)
{
    while (ladder->next < WEIR_ARRAY_COUNT(steps)) {
        uint32_t row = ladder->next++;
        struct perf_event_attr weaker = *refused;
        if (!steps[row].drop(&weaker))
            continue;
        ladder->dropped |= 1u << row;
        return steps[row].what;
    }
    return NULL;
}

void weir_event_ladder_apply(const struct weir_event_ladder *ladder, struct weir_event_list *list)
{
    for (size_t row = 0; row < WEIR_ARRAY_COUNT(steps); row++) {
        for (size_t i = 0; (ladder->dropped & 1u << row) && i < list->count; i++)
            steps[row].drop(&list->events[i].attr);
    }
}

/* ---- what was asked for ---- */

DROP_BITS(branch_priv, branch_sample_type, PERF_SAMPLE_BRANCH_PRIV_SAVE)
DROP_FLAG(build_id)
DROP_BITS(code_page_size, sample_type, PERF_SAMPLE_CODE_PAGE_SIZE)
DROP_BITS(data_page_size, sample_type, PERF_SAMPLE_DATA_PAGE_SIZE)
DROP_FLAG(aux_output)
DROP_BITS(physical_addresses, sample_type, PERF_SAMPLE_PHYS_ADDR)
DROP_BITS(branch_types, branch_sample_type, PERF_SAMPLE_BRANCH_TYPE_SAVE)
DROP_FLAG(namespaces)
DROP_FLAG(sample_max_stack)
DROP_FLAG(write_backward)
DROP_FLAG(context_switch)

static bool drop_cgroups(struct perf_event_attr *attr)
{
    bool had = attr->cgroup || (attr->sample_type & PERF_SAMPLE_CGROUP);
    attr->cgroup = 0;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_CGROUP;
    return had;
}

static bool drop_clock(struct perf_event_attr *attr)
{
    bool had = attr->use_clockid;
    attr->use_clockid = 0;
    attr->clockid = 0;
    return had;
}

static bool drop_intr_regs(struct perf_event_attr *attr)
{
    bool had = attr->sample_type & PERF_SAMPLE_REGS_INTR;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_REGS_INTR;
    attr->sample_regs_intr = 0;
    return had;
}

static bool drop_extended_regs(struct perf_event_attr *attr)
{
    const struct weir_register_set *set = weir_registers_here();
    bool had = attr->sample_regs_intr & set->extended;
    attr->sample_regs_intr &= ~set->extended;
    return had && attr->sample_regs_intr;
}

/* Newest first; the hint is "NAME needs NEED". */
static const struct {
    const char *name;
    const char *need;
    bool (*drop)(struct perf_event_attr *attr);
} asked[] = {
    {"--branch-filter=priv", "Linux 6.1", drop_branch_priv},
    {"--buildid-mmap", "Linux 5.12", drop_build_id},
    {"--code-page-size", "Linux 5.11", drop_code_page_size},
    {"--data-page-size", "Linux 5.11", drop_data_page_size},
    {"--all-cgroups", "Linux 5.7", drop_cgroups},
    {"the term aux-output", "Linux 5.4 and a PMU that can do it", drop_aux_output},
    {"--intr-regs with XMM registers", "Linux 5.2 and a precise event of a CPU that can do it", drop_extended_regs},
    {"--phys-data", "Linux 4.14", drop_physical_addresses},
    {"--branch-filter=save_type", "Linux 4.14", drop_branch_types},
    {"--namespaces", "Linux 4.12", drop_namespaces},
    {"the number of frames (--call-graph=fp,N or max-stack=)",
     "Linux 4.8, and at most kernel.perf_event_max_stack of them", drop_sample_max_stack},
    {"--overwrite", "Linux 4.7", drop_write_backward},
    {"--switch-events", "Linux 4.3", drop_context_switch},
    {"--clockid", "Linux 4.1, and for other clocks than monotonic and monotonic_raw a software event such as cpu-clock",
     drop_clock},
    {"--intr-regs", "Linux 3.19", drop_intr_regs},
};

bool weir_event_ladder_blame(const struct weir_kernel *kernel, const struct weir_open_attempt *attempt,
                             unsigned long flags, struct weir_error *err)
{
    struct perf_event_attr attr = *attempt->attr;
    for (size_t row = 0; row < WEIR_ARRAY_COUNT(asked); row++) {
        if (!asked[row].drop(&attr))
            continue;
        int fd = kernel->ops->event_open(kernel->ctx, &attr, attempt->pid, attempt->cpu, -1, flags);
        if (fd < 0)
            continue;
        kernel->ops->event_close(kernel->ctx, fd);
        weir_error_set(err, -EINVAL, "cannot open event '%s': this kernel refuses %s", attempt->name, asked[row].name);
        weir_error_hint(err, "%s needs %s", asked[row].name, asked[row].need);
        return true;
    }
    return false;
}
