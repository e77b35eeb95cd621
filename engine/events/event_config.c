/*
 * Sets the attrs that perf 6.1 sets for the same command line; docs/compatibility.md lists the differences. Main
 * thread, set-up.
 *
 * Source: evsel__config(), tools/perf/util/evsel.c, and evlist__config(), tools/perf/util/record.c, Linux 6.1;
 * perf_event_open(2). tests/engine/test_event_config.c compares each value with the attrs that perf itself opened.
 */
#include "engine/events/event_config.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/events/event_ratio.h"
#include "engine/events/registers.h"
#include "format/event_desc.h"
#include "unwind/unwound_sample.h"

/* On every event: IP for samples; TID, TIME and CPU for samples and for the trailers of side records. */
#define SAMPLE_TYPE_ALL (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* The id comes on top, unless there is one event only. */
static uint64_t sample_type_of_all(const struct weir_event_config *config)
{
    return SAMPLE_TYPE_ALL | (config->without_ids ? 0 : PERF_SAMPLE_IDENTIFIER);
}

#define LBR_CALL_STACK                                                                        \
    (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES | \
     PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX)

/* The weight in three parts on the architectures whose CPUs have these, as in perf. */
#if defined(__x86_64__) || defined(__i386__) || defined(__powerpc__)
#define SAMPLE_WEIGHT PERF_SAMPLE_WEIGHT_STRUCT
#else
#define SAMPLE_WEIGHT PERF_SAMPLE_WEIGHT
#endif

/* ---- kinds of events ---- */

static bool is_software(const struct weir_event *event, uint64_t config)
{
    return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == config;
}

/* Events that are recorded for their raw data. */
static bool has_payload(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_TRACEPOINT || is_software(event, PERF_COUNT_SW_BPF_OUTPUT);
}

/* Events with period 1, unless -c or -F say otherwise. */
static bool is_sampled_each_time(const struct weir_event *event)
{
    return has_payload(event) || event->attr.type == PERF_TYPE_BREAKPOINT;
}

/* ftrace:function takes no user call chains: these fault pages in, and the page fault handler is itself traced. */
static bool is_function_trace(const struct weir_event *event)
{
    return event->tracepoint_system && strcmp(event->tracepoint_system, "ftrace") == 0 &&
           strcmp(event->tracepoint_name, "function") == 0;
}

static bool has_term(const struct weir_event *event, enum weir_event_term term)
{
    return event->terms.given & term;
}

/* The first member of the group besides its leader; the leader itself when it is alone. */
static size_t first_member(const struct weir_event_list *list, size_t leader)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i != leader && list->events[i].leader == leader)
            return i;
    }
    return leader;
}

static bool has_members(const struct weir_event_list *list, size_t leader)
{
    return first_member(list, leader) != leader;
}

static bool is_aux(const struct weir_event *event)
{
    return event->aux != WEIR_AUX_KIND_NONE;
}

/* The event of a :S group that samples: the leader, or the first member when the leader has an AUX area, which has no
 * samples. */
static size_t sampler_of(const struct weir_event_list *list, size_t index)
{
    size_t leader = list->events[index].leader;
    return is_aux(&list->events[leader]) ? first_member(list, leader) : leader;
}

/* Whether the event is only read into the samples of another one (:S), and its terms do not ask for own samples. */
static bool is_read_with_leader(const struct weir_event_list *list, size_t index)
{
    const struct weir_event *event = &list->events[index];
    return sampler_of(list, index) != index && list->events[event->leader].sample_read &&
           !(event->terms.given & (WEIR_TERM_PERIOD | WEIR_TERM_FREQ));
}

/* ---- call chains ---- */

/* The call chains of one event: its own terms override the options. */
static struct weir_call_graph_request call_graph_of(const struct weir_event *event,
                                                    const struct weir_event_config *config)
{
    struct weir_call_graph_request request = config->samples.call_graph;
    if (has_term(event, WEIR_TERM_CALL_GRAPH)) {
        request = (struct weir_call_graph_request){.mode = event->terms.call_graph};
        if (request.mode == WEIR_CALL_GRAPH_DWARF)
            request.stack_bytes = WEIR_STACK_BYTES_DEFAULT;
    }
    if (has_term(event, WEIR_TERM_MAX_STACK)) {
        request.max_stack = event->terms.max_stack;
        if (!has_term(event, WEIR_TERM_CALL_GRAPH))
            request.mode = WEIR_CALL_GRAPH_FP;
    }
    if (has_term(event, WEIR_TERM_STACK_SIZE) && request.mode == WEIR_CALL_GRAPH_DWARF)
        request.stack_bytes = (uint32_t)weir_align_up(event->terms.stack_bytes, sizeof(uint64_t));
    return request;
}

/* The branch registers hold either branches or the call stack, and as a call stack only that of user space. */
static bool lbr_is_free(const struct weir_event *event, const struct weir_event_config *config)
{
    return !config->samples.branch_filter && !event->attr.exclude_user;
}

static void configure_call_graph(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    const struct weir_sample_options *samples = &config->samples;
    struct weir_call_graph_request request = call_graph_of(event, config);
    bool is_function = is_function_trace(event);
    attr->exclude_callchain_user = is_function;
    if (request.mode == WEIR_CALL_GRAPH_NONE)
        return;

    attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr->sample_max_stack = (uint16_t)request.max_stack;
    attr->exclude_callchain_user = is_function || samples->kernel_callchains;
    attr->exclude_callchain_kernel = samples->user_callchains;
    attr->defer_callchain = request.defers && !attr->exclude_callchain_user;
    if (request.mode == WEIR_CALL_GRAPH_LBR && lbr_is_free(event, config)) {
        attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
        attr->branch_sample_type = LBR_CALL_STACK;
    }
    if (request.mode == WEIR_CALL_GRAPH_DWARF && !is_function) {
        const struct weir_register_set *registers = weir_registers_here();
        attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        if (!samples->call_graph.unwinds)
            attr->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
        attr->sample_regs_user |=
            samples->user_regs ? registers->unwind : registers->usual | samples->user_regs_extended;
        attr->sample_stack_user = request.stack_bytes;
        attr->exclude_callchain_user = 1; /* the user part is unwound from the stack */
    }
}

/* ---- samples ---- */

static void configure_period(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    bool has_own = (is_sampled_each_time(event) || is_aux(event)) && !config->period_or_freq_given;
    attr->freq = !has_own && config->freq_hz != 0;
    if (attr->freq)
        attr->sample_freq = config->freq_hz;
    else if (has_own)
        attr->sample_period = is_aux(event) ? event->aux_attr.period : 1;
    else
        attr->sample_period = config->period;
    /* With PERF_SAMPLE_PERIOD the kernel samples a software event or tracepoint at each occurrence and ignores its
     * period: perf_swevent_event(), kernel/events/core.c, Linux 6.12. So only period 1 and frequencies have it. */
    bool tells_period = attr->freq || (has_payload(event) && attr->sample_period == 1);
    if (config->samples.no_samples)
        attr->sample_period = 0; /* a union with sample_freq */

    if (has_term(event, WEIR_TERM_PERIOD)) {
        attr->freq = 0;
        attr->sample_period = event->terms.period;
        tells_period = false;
    } else if (has_term(event, WEIR_TERM_FREQ)) {
        attr->freq = 1;
        attr->sample_freq = event->terms.freq_hz;
        tells_period = true;
    }
    if (config->samples.period != WEIR_CHOICE_NONE)
        tells_period = config->samples.period == WEIR_CHOICE_YES;
    if (tells_period)
        attr->sample_type |= PERF_SAMPLE_PERIOD;
}

static void configure_branches(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    uint64_t filter = config->samples.branch_filter;
    if (has_term(event, WEIR_TERM_BRANCH))
        filter = event->terms.branch_filter;
    if (!filter || is_software(event, PERF_COUNT_SW_DUMMY)) /* the kernel refuses a dummy with branches */
        return;
    attr->sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr->branch_sample_type = filter;
}

static void configure_registers(struct weir_event *event, const struct weir_sample_options *samples)
{
    struct perf_event_attr *attr = &event->attr;
    if (is_software(event, PERF_COUNT_SW_DUMMY))
        return;
    if (samples->intr_regs) {
        attr->sample_type |= PERF_SAMPLE_REGS_INTR;
        attr->sample_regs_intr = samples->intr_regs;
    }
    if (samples->user_regs) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER;
        attr->sample_regs_user |= samples->user_regs;
    }
}

static uint64_t fields_of(const struct weir_sample_options *samples)
{
    const struct {
        bool wanted;
        uint64_t bits;
    } fields[] = {
        {samples->addresses, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC},
        {samples->data_sources, PERF_SAMPLE_DATA_SRC},
        {samples->physical_addresses, PERF_SAMPLE_PHYS_ADDR},
        {samples->data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE},
        {samples->code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE},
        {samples->raw, PERF_SAMPLE_RAW},
        {samples->weight, SAMPLE_WEIGHT},
        {samples->transaction, PERF_SAMPLE_TRANSACTION},
        {samples->cgroups, PERF_SAMPLE_CGROUP},
    };
    uint64_t bits = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fields); i++)
        bits |= fields[i].wanted ? fields[i].bits : 0;
    return bits;
}

/* Sets the AUX fields. */
static void configure_aux(struct weir_event *event)
{
    struct perf_event_attr *attr = &event->attr;
    attr->sample_type |= event->aux_attr.sample_type;
    attr->aux_watermark = event->aux_attr.watermark_bytes;
    attr->aux_sample_size = event->aux_attr.sample_bytes;
    attr->aux_action = event->aux_attr.action;
    if (event->aux_attr.sample_bytes)
        attr->sample_type |= PERF_SAMPLE_AUX;
    if (has_term(event, WEIR_TERM_AUX_OUTPUT))
        attr->aux_output = event->terms.aux_output;
}

static void configure_samples(struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    attr->sample_type = sample_type_of_all(config) | fields_of(&config->samples);
    if (has_payload(event))
        attr->sample_type |= PERF_SAMPLE_RAW;
    configure_period(event, config);
    if (event->aux == WEIR_AUX_KIND_INTEL_PT) { /* intel_pt has no samples that could hold the others, as in perf */
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
    } else {
        configure_registers(event, &config->samples);
        configure_call_graph(event, config);
        configure_branches(event, config);
    }
    configure_aux(event);
    if (config->samples.aggregate.interval_ns)
        attr->sample_type |= PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT;
    attr->write_backward = config->overwrite;
    if (has_term(event, WEIR_TERM_OVERWRITE))
        attr->write_backward = event->terms.overwrite;
}

/* The fields of the file, independent of the options for other events. The call chain tells where the task waits, the
 * weight its state (engine/drain/off_cpu_sample.h). */
static void configure_off_cpu(struct perf_event_attr *attr, const struct weir_event_config *config)
{
    attr->sample_period = 1;
    attr->sample_type = sample_type_of_all(config) | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT;
    if (config->samples.cgroups)
        attr->sample_type |= PERF_SAMPLE_CGROUP;
    attr->inherit = attr->inherit_stat = 0;
    attr->exclude_callchain_user = config->samples.kernel_callchains;
    attr->exclude_callchain_kernel = config->samples.user_callchains;
    /* A BPF program says where the command begins; an event of a CPU cannot wait for its execve(2). */
    attr->disabled &= !attr->enable_on_exec;
    attr->enable_on_exec = 0;
}

static void configure_wakeup(struct perf_event_attr *attr, const struct weir_event_config *config, uint32_t bytes)
{
    attr->watermark = !config->samples.no_buffering;
    if (config->samples.no_buffering)
        attr->wakeup_events = 1;
    else
        attr->wakeup_watermark = bytes;
}

/* The kernel gives records that belong to no task only to events that ask for a side record. comm_exec counts as such a
 * request, but brings no side records (is_sb_event() and perf_event_comm_match() in kernel/events/core.c, Linux
 * 6.19). */
static void configure_deferred(struct perf_event_attr *attr, const struct weir_event_config *config)
{
    attr->sample_type = sample_type_of_all(config);
    attr->comm_exec = 1;
    attr->defer_output = 1;
    attr->inherit_stat = 0;
    attr->write_backward = config->overwrite;
    configure_wakeup(attr, config, config->watermark_bytes);
}

/* :S, of a group or of a single event. */
static void configure_reading(const struct weir_event_list *list, struct weir_event *event,
                              const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    if (event->sample_read)
        attr->sample_type |= PERF_SAMPLE_READ;
    if (event->sample_read && has_members(list, event->leader)) {
        attr->read_format |= PERF_FORMAT_GROUP;
        if (!has_term(event, WEIR_TERM_INHERIT)) /* perf report before 6.13 takes the counts of several tasks for one */
            attr->inherit = config->inherit && config->inherit_reads;
    }
}

/* Copies sample_type and the fields that belong to it: the kernel refuses one without the others. */
static void take_sample_fields(struct perf_event_attr *attr, const struct perf_event_attr *from)
{
    attr->sample_type = from->sample_type;
    if (from->sample_type & PERF_SAMPLE_REGS_USER)
        attr->sample_regs_user = from->sample_regs_user;
    if (from->sample_type & PERF_SAMPLE_REGS_INTR)
        attr->sample_regs_intr = from->sample_regs_intr;
    if (from->sample_type & PERF_SAMPLE_STACK_USER)
        attr->sample_stack_user = from->sample_stack_user;
    if (from->sample_type & PERF_SAMPLE_BRANCH_STACK)
        attr->branch_sample_type = from->branch_sample_type;
}

/* The members of a :S group only count, unless their terms say otherwise. They get the sampler's sample_type, for
 * consumers that parse its samples with a member's attr. Called when all attrs have their own sample_type. */
static void configure_read(struct weir_event_list *list, size_t index)
{
    struct weir_event *event = &list->events[index];
    const struct weir_event *leader = &list->events[event->leader];
    const struct weir_event *sampler = &list->events[sampler_of(list, index)];
    struct perf_event_attr *attr = &event->attr;
    if (is_read_with_leader(list, index)) {
        attr->freq = 0;
        attr->sample_period = 0;
        attr->write_backward = 0;
    }
    if (event != sampler && leader->sample_read) {
        uint64_t of_leader = leader->attr.sample_type;
        take_sample_fields(attr, &sampler->attr);
        attr->sample_type |= of_leader;
    }
}

int weir_event_list_overwrites(const struct weir_event_list *list, bool wanted, struct weir_error *err)
{
    bool any = false, all = true;
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (event->sideband)
            continue;
        bool overwritten = has_term(event, WEIR_TERM_OVERWRITE) ? event->terms.overwrite : wanted;
        any |= overwritten;
        all &= overwritten;
        if (overwritten && is_read_with_leader(list, i)) {
            weir_error_set(err, -EINVAL, "cannot overwrite samples of '%s': its group is read with its leader",
                           event->name);
            weir_error_hint(err, "leave out :S, or --overwrite and the term overwrite");
            return -EINVAL;
        }
    }
    if (any && !all) {
        weir_error_set(err, -EINVAL, "cannot overwrite samples of some events only: all of them share a ring");
        weir_error_hint(err, "--overwrite is for all events; leave out no-overwrite");
        return -EINVAL;
    }
    return any;
}

/* ---- all events ---- */

/* Whether the list has the side event of all tasks, which carries changes of the kernel's code. */
static bool has_all_tasks(const struct weir_event_list *list)
{
    return list->events[list->count - 1].all_tasks;
}

static void configure_all_tasks(struct perf_event_attr *attr, const struct weir_event_config *config)
{
    attr->text_poke = attr->ksymbol = config->text_pokes;
    attr->context_switch = config->all_switches;
    attr->inherit = 0;
}

static void configure_tasks(const struct weir_event_list *list, struct perf_event_attr *attr,
                            const struct weir_event_config *config)
{
    const struct weir_sample_options *samples = &config->samples;
    attr->mmap = 1;
    attr->mmap2 = 1;
    attr->comm = 1;
    attr->comm_exec = 1;
    attr->task = 1;
    bool has_code = !(config->text_pokes && has_all_tasks(list)); /* else the side event of all tasks carries them */
    attr->ksymbol = has_code;
    attr->text_poke = config->text_pokes && has_code;
    attr->bpf_event = !samples->no_bpf_events;
    attr->build_id = config->build_ids_in_maps;
    attr->context_switch = samples->switch_events;
    attr->namespaces = samples->namespaces;
    attr->cgroup = samples->cgroups;
    attr->mmap_data =
        samples->data_maps == WEIR_CHOICE_NONE ? samples->addresses : samples->data_maps == WEIR_CHOICE_YES;
}

static void configure_sideband(const struct weir_event_list *list, struct weir_event *event,
                               const struct weir_event_config *config)
{
    struct perf_event_attr *attr = &event->attr;
    attr->sample_period = 1; /* a frequency would start a timer for an event that never counts */
    attr->sample_type = sample_type_of_all(config);
    /* READ records of children may damage a ring (engine/files/ledger.c, may_be_damaged()): keep this one whole. */
    if (config->inherit && !config->system_wide)
        attr->inherit_stat = 0;
    if (event->all_tasks)
        configure_all_tasks(attr, config);
    else
        configure_tasks(list, attr, config);
    attr->disabled = attr->enable_on_exec = config->enable_on_exec && !event->all_tasks;
    configure_wakeup(attr, config, config->sideband_watermark_bytes);
}

/* The attr with only the fields that the text has set. */
static struct perf_event_attr attr_of_text(const struct perf_event_attr *attr)
{
    return (struct perf_event_attr){
        .type = attr->type,
        .config = attr->config,
        .config1 = attr->config1,
        .config2 = attr->config2,
        .config3 = attr->config3,
        .config4 = attr->config4,
        .bp_type = attr->bp_type,
        .precise_ip = attr->precise_ip,
        .pinned = attr->pinned,
        .exclusive = attr->exclusive,
        .exclude_user = attr->exclude_user,
        .exclude_kernel = attr->exclude_kernel,
        .exclude_hv = attr->exclude_hv,
        .exclude_idle = attr->exclude_idle,
        .exclude_host = attr->exclude_host,
        .exclude_guest = attr->exclude_guest,
    };
}

static void configure_common(struct perf_event_attr *attr, const struct weir_event_config *config, bool leads)
{
    attr->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
    if (config->samples.running_time || config->inherit_stat)
        attr->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr->inherit_stat = config->inherit_stat;
    attr->sample_id_all = 1;
    attr->inherit = config->inherit;
    attr->disabled = leads; /* members follow their leader */
    attr->enable_on_exec = leads && config->enable_on_exec && !config->starts_disabled;
    attr->use_clockid = config->samples.clock.given;
    attr->clockid = config->samples.clock.given ? config->samples.clock.id : 0;
}

/* The kernel reads attr.size bytes: those of Linux 5.13, or more for fields that came later and are in use. */
static void configure_sizes(struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct perf_event_attr *attr = &list->events[i].attr;
        attr->size = (uint32_t)weir_max_u64(PERF_ATTR_SIZE_VER7, weir_attr_least_size(attr));
    }
}

static void configure_event(struct weir_event_list *list, size_t index, const struct weir_event_config *config)
{
    struct weir_event *event = &list->events[index];
    event->attr = attr_of_text(&event->attr);
    configure_common(&event->attr, config, event->leader == index);
    if (event->sideband) {
        configure_sideband(list, event, config);
        return;
    }
    if (event->off_cpu) {
        configure_off_cpu(&event->attr, config);
        configure_wakeup(&event->attr, config, config->watermark_bytes);
        return;
    }
    if (event->deferred) {
        configure_deferred(&event->attr, config);
        return;
    }
    configure_samples(event, config);
    if (config->guests)
        weir_event_include_machines(event);
    if (has_term(event, WEIR_TERM_INHERIT))
        event->attr.inherit = event->terms.inherit;
    configure_wakeup(&event->attr, config, config->watermark_bytes);
    configure_reading(list, event, config);
}

static bool any_copies_stacks(const struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].attr.sample_type & PERF_SAMPLE_STACK_USER)
            return true;
    }
    return false;
}

void weir_event_list_configure(struct weir_event_list *list, const struct weir_event_config *config)
{
    weir_assert((config->freq_hz != 0) != (config->period != 0));
    weir_assert(!(config->system_wide && config->enable_on_exec));
    for (size_t i = 0; i < list->count; i++)
        configure_event(list, i, config);
    for (size_t i = 0; i < list->count; i++)
        configure_read(list, i);
    weir_event_ratios_apply(list);
    /* As in perf: consumers that unwind need data mappings beside the code. */
    bool adds_maps =
        config->samples.data_maps == WEIR_CHOICE_NONE && any_copies_stacks(list) && !config->samples.call_graph.unwinds;
    for (size_t i = 0; adds_maps && i < list->count; i++)
        list->events[i].attr.mmap_data |= list->events[i].sideband && !list->events[i].all_tasks;
    configure_sizes(list);
}

struct perf_event_attr weir_event_file_attr(const struct weir_event *event, const struct weir_event_config *config)
{
    struct perf_event_attr attr = event->attr;
    if (config->samples.call_graph.unwinds && weir_unwound_is_wanted(&attr))
        weir_unwound_attr(&attr);
    attr.defer_callchain = attr.defer_output = 0;
    return attr;
}

void weir_event_list_limit_to(struct weir_event_list *list, enum weir_event_side side)
{
    for (size_t i = 0; i < list->count; i++) {
        list->events[i].attr.exclude_kernel = side == WEIR_EVENT_SIDE_USER;
        list->events[i].attr.exclude_user = side == WEIR_EVENT_SIDE_KERNEL;
        list->events[i].modifiers_given = true;
    }
}

/* ---- limits ---- */

static void tell_limits_of(const struct weir_event *event, const struct weir_event_config *config,
                           const struct weir_notice_sink *notices)
{
    struct weir_call_graph_request request = call_graph_of(event, config);
    if (request.mode == WEIR_CALL_GRAPH_LBR && event->attr.exclude_user)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "event %s: the CPU keeps call stacks of user space only; recording call chains by frame pointers",
                    event->name);
    if (request.mode == WEIR_CALL_GRAPH_DWARF && is_function_trace(event))
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "event %s: the user stack cannot be copied there; recording the kernel's call chains", event->name);
}

void weir_event_list_tell_limits(const struct weir_event_list *list, const struct weir_event_config *config,
                                 const struct weir_notice_sink *notices)
{
    const struct weir_sample_options *samples = &config->samples;
    if (samples->call_graph.mode == WEIR_CALL_GRAPH_LBR && samples->branch_filter)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "--call-graph=lbr and a branch stack need the same registers; recording call chains by frame "
                    "pointers");
    if (samples->call_graph.mode == WEIR_CALL_GRAPH_DWARF && samples->user_regs &&
        (samples->user_regs & weir_registers_here()->usual) != weir_registers_here()->usual)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "--call-graph=dwarf may need all user registers; with --user-regs it has those, and instruction "
                    "and stack pointer");
    for (size_t i = 0; i < list->count; i++) {
        if (!list->events[i].sideband)
            tell_limits_of(&list->events[i], config, notices);
    }
}
