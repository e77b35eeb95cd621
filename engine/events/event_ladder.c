/* The two tables of features: those that may be dropped, and those that an option asks for. Coordinator thread. */
#include "engine/events/event_ladder.h"

#include <errno.h>

#include "base/bits.h"
#include "engine/events/registers.h"

/* Each drop_*() clears a feature in an attr, and returns whether it was set. */

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

/* ---- features that may be dropped ---- */

DROP_BITS(lost, read_format, PERF_FORMAT_LOST)
DROP_FLAG(text_poke)

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

/* In call stacks only: with -j an option asks for the bits. */
static bool drop_of_call_stack(struct perf_event_attr *attr, uint64_t bits)
{
    bool is_call_stack = attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
    bool had = is_call_stack && (attr->branch_sample_type & bits);
    if (had)
        attr->branch_sample_type &= ~bits;
    return had;
}

static bool drop_lbr_flags(struct perf_event_attr *attr)
{
    return drop_of_call_stack(attr, PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES);
}

static bool drop_lbr_hw_index(struct perf_event_attr *attr)
{
    return drop_of_call_stack(attr, PERF_SAMPLE_BRANCH_HW_INDEX);
}

DROP_FLAG(mmap2)
DROP_FLAG(comm_exec)

static const struct {
    const char *what;
    bool (*drop)(struct perf_event_attr *attr); /* either this or drop_of_event; neither: a flag of every open */
    bool (*drop_of_event)(struct weir_event *event);
} steps[] = {
    {"PERF_FORMAT_LOST (Linux 6.0): losses are known from LOST records only", drop_lost},
    {"the weight in parts (Linux 5.12): it is one number", drop_weight_struct},
    {"text_poke records (Linux 5.8): changes of the kernel's code while it is recorded are not told", drop_text_poke},
    {"the index of branch registers (Linux 5.7): call stacks cannot be stitched together", drop_lbr_hw_index},
    {"ksymbol and bpf_event records (Linux 5.1)", drop_bpf_records},
    {"leaving flags and cycles out of call stacks (Linux 4.4): samples are larger", drop_lbr_flags},
    {"comm_exec (Linux 3.16): names by exec are like others", drop_comm_exec},
    {"mmap2 (Linux 3.16): mappings come without the file's inode", drop_mmap2},
    {"PERF_FLAG_FD_CLOEXEC (Linux 3.14): it is set after opening"},
    {"exclude_guest and exclude_host (Linux 3.2): guests are recorded, too", NULL, weir_event_include_machines},
};

_Static_assert(WEIR_ARRAY_COUNT(steps) <= 32, "a bit for each in weir_event_ladder.dropped");

static bool takes_from(size_t row, struct weir_event *event)
{
    if (steps[row].drop_of_event)
        return steps[row].drop_of_event(event);
    return !steps[row].drop || steps[row].drop(&event->attr);
}

const char *weir_event_ladder_step(struct weir_event_ladder *ladder, const struct weir_event *refused)
{
    for (uint32_t row = 0; row < WEIR_ARRAY_COUNT(steps); row++) {
        struct weir_event weaker = *refused;
        if ((ladder->dropped & 1u << row) || !takes_from(row, &weaker))
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
            takes_from(row, &list->events[i]);
    }
}

unsigned long weir_event_ladder_flags(const struct weir_event_ladder *ladder)
{
    for (uint32_t row = 0; row < WEIR_ARRAY_COUNT(steps); row++) {
        if (!steps[row].drop && !steps[row].drop_of_event && (ladder->dropped & 1u << row))
            return 0;
    }
    return PERF_FLAG_FD_CLOEXEC;
}

/* ---- features that an option asks for ---- */

DROP_BITS(config4, config4, UINT64_MAX)
DROP_BITS(branch_counters, branch_sample_type, PERF_SAMPLE_BRANCH_COUNTERS)
DROP_BITS(aux_action, aux_action, UINT32_MAX)
DROP_BITS(config3, config3, UINT64_MAX)
DROP_BITS(branch_priv, branch_sample_type, PERF_SAMPLE_BRANCH_PRIV_SAVE)
DROP_FLAG(build_id)
DROP_BITS(code_page_size, sample_type, PERF_SAMPLE_CODE_PAGE_SIZE)
DROP_BITS(data_page_size, sample_type, PERF_SAMPLE_DATA_PAGE_SIZE)
DROP_FLAG(aux_output)
DROP_BITS(physical_addresses, sample_type, PERF_SAMPLE_PHYS_ADDR)
DROP_BITS(branch_hw_index, branch_sample_type, PERF_SAMPLE_BRANCH_HW_INDEX)
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

static bool drop_deferral(struct perf_event_attr *attr)
{
    bool had = attr->defer_callchain || attr->defer_output;
    attr->defer_callchain = attr->defer_output = 0;
    return had;
}

static bool drop_aux_samples(struct perf_event_attr *attr)
{
    bool had = attr->aux_sample_size;
    attr->aux_sample_size = 0;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_AUX;
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

static bool drop_levels(struct perf_event_attr *attr)
{
    bool had = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv || attr->exclude_idle ||
               attr->exclude_host || attr->exclude_guest;
    attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = attr->exclude_idle = 0;
    attr->exclude_host = attr->exclude_guest = 0;
    return had;
}

static bool drop_extended_user_regs(struct perf_event_attr *attr)
{
    const struct weir_register_set *set = weir_registers_here();
    bool had = attr->sample_regs_user & set->user_extended;
    attr->sample_regs_user &= ~set->user_extended;
    return had && attr->sample_regs_user;
}

/* Newest first; the hint is "NAME needs NEED". */
static const struct {
    const char *name;
    const char *need;
    bool (*drop)(struct perf_event_attr *attr);
} asked[] = {
    {"a term in config4", "Linux 7.0", drop_config4},
    {"--call-graph=fp,defer", "Linux 6.19", drop_deferral},
    {"the term aux-action", "Linux 6.13 and a PMU that can do it", drop_aux_action},
    {"--branch-filter=counter", "Linux 6.8 and a CPU that counts events between branches", drop_branch_counters},
    {"a term in config3", "Linux 6.3", drop_config3},
    {"--branch-filter=priv", "Linux 6.1", drop_branch_priv},
    {"--user-regs with vg", "Linux 6.1 and a CPU with SVE", drop_extended_user_regs},
    {"--buildid-mmap", "Linux 5.12", drop_build_id},
    {"--code-page-size", "Linux 5.11", drop_code_page_size},
    {"--data-page-size", "Linux 5.11", drop_data_page_size},
    {"--branch-filter=hw_index", "Linux 5.7", drop_branch_hw_index},
    {"--all-cgroups", "Linux 5.7", drop_cgroups},
    {"to put pieces of an AUX area into samples", "Linux 5.5 and an AUX area event that can do it, as intel_pt can",
     drop_aux_samples},
    {"the term aux-output", "Linux 5.4 and a PMU that can do it", drop_aux_output},
    {"--intr-regs with XMM registers", "Linux 5.2 and a precise event of a CPU that can do it", drop_extended_regs},
    {"--phys-data", "Linux 4.14", drop_physical_addresses},
    {"--branch-filter=save_type", "Linux 4.14", drop_branch_types},
    {"--namespaces", "Linux 4.12", drop_namespaces},
    {"the number of frames (--call-graph=fp,N or max-stack=)",
     "Linux 4.8, and at most kernel.perf_event_max_stack of them", drop_sample_max_stack},
    {"--overwrite or the term overwrite", "Linux 4.7", drop_write_backward},
    {"--switch-events", "Linux 4.3", drop_context_switch},
    {"--clockid", "Linux 4.1, and for other clocks than monotonic and monotonic_raw a software event such as cpu-clock",
     drop_clock},
    {"--intr-regs", "Linux 3.19", drop_intr_regs},
    {"to leave out user space, kernel, hypervisor, idle time or guests", "a PMU that can tell them apart", drop_levels},
};

bool weir_event_ladder_blame(const struct weir_kernel *kernel, const struct weir_open_attempt *attempt, pid_t pid,
                             unsigned long flags, struct weir_error *err)
{
    struct perf_event_attr attr = *attempt->attr;
    for (size_t row = 0; row < WEIR_ARRAY_COUNT(asked); row++) {
        if (!asked[row].drop(&attr))
            continue;
        int fd = kernel->ops->event_open(kernel->ctx, &attr, pid, attempt->cpu, -1, flags);
        if (fd < 0 && fd != -ENOENT) /* ENOENT: the attr is good, and the machine has no such event */
            continue;
        if (fd >= 0)
            kernel->ops->event_close(kernel->ctx, fd);
        weir_error_set(err, -EINVAL, "cannot open event '%s': this kernel refuses %s", attempt->name, asked[row].name);
        weir_error_hint(err, "%s needs %s", asked[row].name, asked[row].need);
        return true;
    }
    return false;
}
