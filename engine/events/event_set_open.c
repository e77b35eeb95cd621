/* Opens the events of a recording, and weakens an event or its attr when the kernel refuses it. Coordinator thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/events/event_ladder.h"
#include "engine/events/event_set_internal.h"
#include "engine/events/open_error.h"

#define FILE_ID_MARK      (1ull << 63)
#define FILE_ID_SLOT_BITS 24u /* a set never has 2^24 slots: there are not so many descriptors */

#define OPEN_AGAIN       1 /* attrs were weakened: start over */
#define OPEN_EVENT_AGAIN 2 /* the refused event's attr was weakened: the events before it stay open */

struct opener {
    struct weir_event_set *set;
    const struct weir_event_set_setup *setup;
    struct weir_event_ladder ladder;
    bool *gone; /* [target] */
};

static int place_cpus(struct weir_event_set *set, const struct weir_event_set_setup *setup)
{
    const struct {
        const struct weir_cpuset *cpus; /* NULL: none */
        bool late, side_only;
    } parts[] = {
        {setup->cpus, false, false},
        {setup->side_cpus, false, true},
        {setup->late_cpus, true, setup->late_are_side_only},
    };
    size_t count = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(parts); i++)
        count += parts[i].cpus ? weir_cpuset_count(parts[i].cpus) : 0;
    set->places = calloc(weir_max_u64(count, 1), sizeof(*set->places));
    if (!set->places)
        return -ENOMEM;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(parts); i++) {
        for (int cpu = parts[i].cpus ? weir_cpuset_next(parts[i].cpus, 0) : -1; cpu >= 0;
             cpu = weir_cpuset_next(parts[i].cpus, (unsigned)cpu + 1))
            set->places[set->place_count++] = (struct weir_event_place){
                .cpu = cpu, .task = -1, .late = parts[i].late, .side_only = parts[i].side_only};
        if (!parts[i].late)
            set->late_from = set->place_count;
    }
    return 0;
}

static size_t sibling_count(const struct weir_event_set_setup *setup)
{
    return setup->with_siblings ? setup->targets->sibling_count : 0;
}

static int place_tasks(struct weir_event_set *set, const struct weir_event_set_setup *setup)
{
    const struct weir_targets *targets = setup->targets;
    size_t count = targets->count + sibling_count(setup);
    set->places = calloc(count, sizeof(*set->places));
    if (!set->places)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        set->places[set->place_count++] =
            (struct weir_event_place){.cpu = -1, .task = targets->tids[i], .side_only = i >= targets->count};
    set->late_from = set->place_count;
    return 0;
}

static int allocate(struct weir_event_set *set, const struct weir_event_set_setup *setup)
{
    set->kernel = setup->kernel;
    set->list = setup->list;
    set->targets = setup->targets;
    set->event_count = (unsigned)setup->list->count;
    set->side_only_watermark_bytes = setup->config->side_only_watermark_bytes;
    set->off_cpu = setup->off_cpu;
    int result = setup->per_thread ? place_tasks(set, setup) : place_cpus(set, setup);
    if (result < 0)
        return result;
    set->sampled_tasks = setup->per_thread ? 1 : (unsigned)setup->targets->count;
    set->task_count = setup->per_thread ? 1 : set->sampled_tasks + (unsigned)sibling_count(setup);

    size_t count = set->event_count * weir_event_set_slots(set);
    set->fds = malloc(count * sizeof(*set->fds));
    set->ids = calloc(count, sizeof(*set->ids));
    set->file_ids = calloc(count, sizeof(*set->file_ids));
    set->ring_fds = malloc(2 * (size_t)set->place_count * sizeof(*set->ring_fds));
    if (set->fds)
        memset(set->fds, 0xff,
               count * sizeof(*set->fds)); /* weir_event_set_close() looks at these also after -ENOMEM */
    set->on = calloc(set->event_count, sizeof(*set->on));
    set->apart_fds = malloc(set->targets->count * sizeof(*set->apart_fds));
    if (set->apart_fds)
        memset(set->apart_fds, 0xff, set->targets->count * sizeof(*set->apart_fds));
    if (!set->fds || !set->ids || !set->file_ids || !set->ring_fds || !set->on || !set->apart_fds)
        return -ENOMEM;
    memset(set->ring_fds, 0xff, 2 * (size_t)set->place_count * sizeof(*set->ring_fds));
    return 0;
}

/* ---- weaker attrs ---- */

static void configure(const struct opener *opener)
{
    struct weir_event_list *list = opener->setup->list;
    weir_event_list_configure(list, opener->setup->config);
    weir_event_ladder_apply(&opener->ladder, list);
}

static bool step_down_ladder(struct opener *opener, struct weir_event *refused, int code)
{
    if (code != -EINVAL && code != -E2BIG)
        return false;
    const char *what = weir_event_ladder_step(&opener->ladder, refused);
    if (!what)
        return false;
    weir_notice(opener->setup->notices, WEIR_NOTICE_VERBOSE, "the kernel refuses an attr; trying without %s", what);
    weir_event_restore_precision(refused);
    configure(opener);
    return true;
}

/* As in perf: replaces cycles, which the user need not have named, by an event that works, and says so. */
static bool fall_back_to_software(struct opener *opener, struct weir_event *event, int code)
{
    if (code != -ENOENT && code != -ENODEV && code != -ENXIO && code != -EOPNOTSUPP)
        return false;
    char *before = strdup(event->name);
    bool fell = before && weir_event_fall_back_to_software(event);
    if (fell) {
        weir_notice(opener->setup->notices, WEIR_NOTICE_WARNING,
                    "the %s event is not supported here (no hardware PMU); recording %s instead", before, event->name);
        configure(opener);
    }
    free(before);
    return fell;
}

/* ":u" helps a user who may record his own tasks but not the kernel. It helps neither for all tasks of a CPU, nor when
 * something else refuses, such as a seccomp filter. */
static bool fall_back_to_user(struct opener *opener, struct weir_event *event, int code, pid_t pid)
{
    const struct weir_kernel_limits *limits = opener->setup->limits;
    bool forbids_kernel = limits->perf_event_paranoid > 1 && !limits->cap_perfmon;
    if ((code != -EACCES && code != -EPERM) || pid < 0 || !forbids_kernel || !weir_event_fall_back_to_user(event))
        return false;
    weir_notice(opener->setup->notices, WEIR_NOTICE_WARNING,
                "kernel.perf_event_paranoid=%d forbids recording the kernel; recording %s, user space only",
                limits->perf_event_paranoid, event->name);
    configure(opener);
    return true;
}

/* Finds the highest precision that the machine has, from the top. */
static bool lower_precision(struct opener *opener, struct weir_event *event, int code)
{
    bool refused = code == -EOPNOTSUPP || code == -ENOENT || code == -EINVAL;
    if (!refused || !weir_event_lower_precision(event))
        return false;
    configure(opener);
    return true;
}

/* Most PMUs outside the CPUs cannot tell guest from host. Tried before the ladder, which weakens all events. */
static bool include_machines(struct opener *opener, struct weir_event *event, int code)
{
    if (code != -EINVAL || event->attr.type < PERF_TYPE_MAX || !weir_event_include_machines(event))
        return false;
    weir_notice(opener->setup->notices, WEIR_NOTICE_VERBOSE, "%s: its PMU may not tell guests apart; trying with them",
                event->name);
    configure(opener);
    return true;
}

/* Opens the events of a weak group (:W) one by one when the kernel refuses the group, as perf does. */
static bool break_weak_group(struct opener *opener, size_t member, int code)
{
    struct weir_event_list *list = opener->setup->list;
    size_t leader = list->events[member].leader, members = 0;
    if ((code != -EINVAL && code != -EBADF) || leader == member || !list->events[leader].weak_group)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].leader == leader) {
            list->events[i].leader = i;
            members++;
        }
    }
    weir_notice(opener->setup->notices, WEIR_NOTICE_VERBOSE,
                "the kernel refuses the group of %s (%zu events); opening them one by one", list->events[leader].name,
                members);
    configure(opener);
    return true;
}

/* ---- opening ---- */

/* The index of the target that a slot is for. */
static size_t target_of(const struct weir_event_set *set, unsigned place, unsigned task)
{
    return set->places[place].cpu < 0 ? place : task;
}

/* The argument `pid` of perf_event_open(2). */
static pid_t pid_of(const struct weir_event_set *set, const struct weir_event *event, unsigned place, unsigned task)
{
    if (event->cgroup)
        return event->cgroup_fd;
    return event->all_tasks ? -1 : set->targets->tids[target_of(set, place, task)];
}

/* The number of descriptors at each place. Events of all tasks have one, in the slot of the first task. */
static unsigned tasks_of(const struct weir_event_set *set, unsigned event)
{
    const struct weir_event *described = &set->list->events[event];
    if (described->all_tasks)
        return 1;
    return described->sideband ? set->task_count : set->sampled_tasks;
}

/* A member is open only where its leader is: elsewhere nothing would enable or disable it. */
bool weir_event_set_belongs_at(const struct weir_event_set *set, size_t event, unsigned place)
{
    const struct weir_event *described = &set->list->events[event];
    int cpu = set->places[place].cpu;
    if (set->places[place].side_only && !described->sideband)
        return false;
    if (cpu >= 0 && !weir_cpuset_is_empty(&described->pmu_cpus) &&
        !weir_cpuset_has(&described->pmu_cpus, (unsigned)cpu))
        return false;
    return described->leader == event || weir_event_set_belongs_at(set, described->leader, place);
}

struct perf_event_attr weir_event_set_attr_at(const struct weir_event_set *set, unsigned event, unsigned place,
                                              unsigned task)
{
    struct perf_event_attr attr = set->list->events[event].attr;
    if (set->places[place].side_only || task >= set->sampled_tasks)
        attr.context_switch = 0;
    if (set->places[place].side_only)
        attr.wakeup_watermark = set->side_only_watermark_bytes;
    if (set->list->events[event].off_cpu) { /* the samples of the file are made of this (drain/off_cpu_sample.h) */
        attr.sample_type &=
            ~(uint64_t)(PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_CGROUP);
        attr.sample_type |= PERF_SAMPLE_RAW;
        attr.exclude_callchain_user = attr.exclude_callchain_kernel = 0;
    }
    return attr;
}

static int check_places(const struct weir_event_set *set, struct weir_error *err)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        unsigned place = 0;
        while (place < set->late_from && !weir_event_set_belongs_at(set, event, place))
            place++;
        if (place < set->late_from)
            continue;
        const struct weir_event *nowhere = &set->list->events[event];
        const struct weir_cpuset *only = &set->list->events[nowhere->leader].pmu_cpus;
        char list[128] = "";
        weir_cpuset_format(weir_cpuset_is_empty(&nowhere->pmu_cpus) ? only : &nowhere->pmu_cpus, list, sizeof(list));
        weir_error_set(err, -ENODEV, "event '%s' cannot be opened on any of the recorded CPUs", nowhere->name);
        if (nowhere->terms.given & WEIR_TERM_CPU)
            weir_error_hint(err, "its term cpu names CPUs %s, which are offline or not among those of -C", list);
        else
            weir_error_hint(err, "its PMU counts on CPUs %s only: give one of them with -C, or leave out -C", list);
        return -ENODEV;
    }
    return 0;
}

static unsigned long open_flags(const struct opener *opener, const struct weir_event *event)
{
    return weir_event_ladder_flags(&opener->ladder) | (event->cgroup ? PERF_FLAG_PID_CGROUP : 0);
}

/* Whether the kernel refuses the event only in its group: opens it alone, and closes it at once. */
static bool is_refused_in_group(const struct opener *opener, unsigned event, unsigned place, unsigned task)
{
    const struct weir_event_set *set = opener->set;
    const struct weir_event *described = &set->list->events[event];
    if (described->leader == event)
        return false;
    struct perf_event_attr attr = described->attr;
    int fd = set->kernel->ops->event_open(set->kernel->ctx, &attr, pid_of(set, described, place, task),
                                          set->places[place].cpu, -1, open_flags(opener, described));
    if (fd >= 0)
        set->kernel->ops->event_close(set->kernel->ctx, fd);
    return fd >= 0;
}

static uint64_t fds_needed(const struct weir_event_set *set)
{
    struct weir_event_set_size size = {
        .sample_events = weir_event_set_sideband(set),
        .sample_tasks = set->sampled_tasks,
        .side_places = set->place_count,
        .side_tasks = set->task_count,
    };
    size.side_events = set->event_count - size.sample_events;
    for (unsigned place = 0; place < set->place_count; place++)
        size.sample_places += !set->places[place].side_only;
    return weir_event_set_fds_needed(&size);
}

/* Reacts to a failed open. OPEN_AGAIN or OPEN_EVENT_AGAIN after weakening attrs; 0: the task is gone; or -errno with
 * err. */
static int handle_refusal(struct opener *opener, unsigned event_index, unsigned place, unsigned task, int code,
                          struct weir_error *err)
{
    struct weir_event *event = &opener->setup->list->events[event_index];
    const struct weir_event_set *set = opener->set;
    size_t target = target_of(set, place, task);
    pid_t pid = event->all_tasks ? -1 : set->targets->tids[target];
    if (code == -ESRCH && pid > 0) {
        opener->gone[target] = true;
        return 0;
    }
    if (lower_precision(opener, event, code) || fall_back_to_software(opener, event, code) ||
        fall_back_to_user(opener, event, code, pid) || include_machines(opener, event, code))
        return OPEN_EVENT_AGAIN;
    if (break_weak_group(opener, event_index, code))
        return OPEN_AGAIN;
    bool in_group = code == -EINVAL && is_refused_in_group(opener, event_index, place, task);
    if (!in_group && step_down_ladder(opener, event, code)) /* a weaker attr does not make the group fit */
        return OPEN_AGAIN;

    struct weir_open_attempt attempt = {
        .name = event->name,
        .attr = &event->attr,
        .pid = pid,
        .cpu = set->places[place].cpu,
        .fds_needed = fds_needed(set),
        .has_aux = event->aux != WEIR_AUX_KIND_NONE,
        .is_refused_in_group = in_group,
    };
    bool may_be_asked_for = code == -EINVAL || code == -E2BIG || code == -EOVERFLOW ||
                            (code == -EOPNOTSUPP && event->attr.sample_regs_intr);
    if (may_be_asked_for && !attempt.is_refused_in_group &&
        weir_event_ladder_blame(set->kernel, &attempt, event->cgroup ? event->cgroup_fd : pid,
                                open_flags(opener, event), err))
        return -EINVAL;
    return weir_open_error_explain(err, code, &attempt, opener->setup->limits);
}

/* A refusal on a late CPU weakens nothing: the CPU may never come. */
static void tell_refused_late(const struct opener *opener, const struct weir_event *event, int cpu, int code)
{
    weir_notice(opener->setup->notices, WEIR_NOTICE_VERBOSE,
                "event '%s' cannot be opened on cpu %d, which is offline (%s): it is not recorded there if it comes",
                event->name, cpu, strerror(-code));
}

static int open_one(struct opener *opener, unsigned event, unsigned place, unsigned task, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    const struct weir_kernel *kernel = set->kernel;
    struct weir_event *described = &set->list->events[event];
    size_t leader = described->leader;
    int group_fd = leader == event ? -1 : weir_event_set_fd(set, (unsigned)leader, place, task);
    pid_t pid = pid_of(set, described, place, task);
    bool is_late = set->places[place].late;
    if (is_late && leader != event && group_fd < 0)
        return 0; /* the kernel refused its leader there */
    struct perf_event_attr attr = weir_event_set_attr_at(set, event, place, task);
    int fd = kernel->ops->event_open(kernel->ctx, &attr, pid, set->places[place].cpu, group_fd,
                                     open_flags(opener, described));
    if (fd < 0 && fd != -ESRCH && is_late) {
        tell_refused_late(opener, described, set->places[place].cpu, fd);
        return 0;
    }
    if (fd < 0)
        return handle_refusal(opener, event, place, task, fd, err);

    size_t at = weir_event_set_slot(set, event, place, task);
    set->fds[at] = fd;
    int result = kernel->ops->event_id(kernel->ctx, fd, &set->ids[at]);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read the id of event %s on cpu %d", described->name,
                                             set->places[place].cpu)
                      : 0;
}

static bool can_be_opened(const struct weir_event_set *set, unsigned event, unsigned place)
{
    bool is_refused = set->places[place].late && weir_event_set_is_of_all_tasks(set, event);
    return weir_event_set_belongs_at(set, event, place) && !is_refused;
}

/* Opens an event at all places that it belongs at. 0, OPEN_AGAIN, OPEN_EVENT_AGAIN or -errno with err. */
static int open_event(struct opener *opener, unsigned event, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    for (unsigned place = 0; place < set->place_count; place++) {
        for (unsigned task = 0; task < tasks_of(set, event) && can_be_opened(set, event, place); task++) {
            bool gone = !set->list->events[event].all_tasks && opener->gone[target_of(set, place, task)];
            int result = gone ? 0 : open_one(opener, event, place, task, err);
            if (result != 0)
                return result;
        }
    }
    return 0;
}

static int open_all(struct opener *opener, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    for (unsigned event = 0; event < set->event_count; event++) {
        int result;
        while ((result = open_event(opener, event, err)) == OPEN_EVENT_AGAIN)
            weir_event_set_close_event(set, event);
        if (result != 0)
            return result;
    }
    return 0;
}

/*
 * Tries a filter on an extra event, which it closes at once. weir_event_set_exclude_tasks() sets the real filters after
 * the output was created. A filter that the kernel refuses should fail earlier. The kernel takes only one filter per
 * event, for good.
 */
static int try_filter(const struct opener *opener, unsigned event, unsigned place, struct weir_error *err)
{
    const struct weir_event_set *set = opener->set;
    const struct weir_event *described = &set->list->events[event];
    struct perf_event_attr attr = described->attr;
    attr.disabled = 1;
    pid_t pid = pid_of(set, described, place, 0);
    int fd = set->kernel->ops->event_open(set->kernel->ctx, &attr, pid, set->places[place].cpu, -1,
                                          open_flags(opener, described));
    if (fd < 0)
        return 0; /* such as no counter left: then the filter is checked when it is set */
    int result = set->kernel->ops->event_set_filter(set->kernel->ctx, fd, described->filter);
    set->kernel->ops->event_close(set->kernel->ctx, fd);
    return result < 0 ? weir_event_filter_refused(described, described->filter, result, err) : 0;
}

static int try_filters(const struct opener *opener, struct weir_error *err)
{
    const struct weir_event_set *set = opener->set;
    int result = 0;
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        unsigned place = 0;
        while (place < set->place_count && weir_event_set_fd(set, event, place, 0) < 0)
            place++;
        if (set->list->events[event].filter && place < set->place_count)
            result = try_filter(opener, event, place, err);
    }
    return result;
}

/*
 * The file id of an open event is its id. An event of a late CPU, which is not open yet, gets a number of its own. The
 * kernel never uses that number, because it counts ids from 1 since boot. Nor does any other recording of this boot.
 */
static void choose_file_ids(struct weir_event_set *set)
{
    uint64_t first = 0;
    for (size_t slot = 0; slot < set->event_count * weir_event_set_slots(set); slot++) {
        set->file_ids[slot] = set->ids[slot];
        first = first ? first : set->ids[slot];
    }
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned place = set->late_from; place < set->place_count; place++) {
            size_t slot = weir_event_set_slot(set, event, place, 0);
            if (!can_be_opened(set, event, place) && weir_event_set_belongs_at(set, event, place))
                set->file_ids[slot] = FILE_ID_MARK | first << FILE_ID_SLOT_BITS | slot;
        }
    }
}

static int build_id_map(struct weir_event_set *set)
{
    size_t count = set->event_count * weir_event_set_slots(set);
    int result = weir_id_map_init(&set->id_map, count);
    if (result < 0)
        return result;
    choose_file_ids(set);
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned place = 0; place < set->place_count; place++) {
            for (unsigned task = 0; task < set->task_count; task++) {
                uint64_t id = set->file_ids[weir_event_set_slot(set, event, place, task)];
                if (id)
                    weir_id_map_add(&set->id_map, id, event, place);
            }
        }
    }
    return 0;
}

/* Places must be CPUs; late ones need not be in order. */
static int build_cpu_table(struct weir_event_set *set)
{
    size_t count = 0;
    for (unsigned place = 0; place < set->place_count; place++) {
        weir_assert(set->places[place].cpu >= 0);
        count = weir_max_u64(count, (uint64_t)set->places[place].cpu + 1);
    }
    set->by_cpu = calloc(weir_max_u64(count, 1), sizeof(*set->by_cpu));
    if (!set->by_cpu)
        return -ENOMEM;
    set->by_cpu_count = count;
    for (unsigned place = 0; place < set->place_count; place++)
        set->by_cpu[set->places[place].cpu] = (struct weir_id_entry){.id = 1, .place = place};
    return 0;
}

static bool any_task_left(const struct weir_event_set *set, const bool *gone)
{
    for (size_t target = 0; target < set->targets->count; target++) {
        if (!gone[target])
            return true;
    }
    return false;
}

/*
 * -s: opens one event on each target that children do not inherit, so that counts stay with their event.
 *
 * At a context switch between a task and its clone the kernel exchanges their whole event contexts. With -s it then
 * exchanges the counts as well, event by event in the order of both lists (perf_event_sync_stat(),
 * kernel/events/core.c). The lists differ: the target's is in the order of opening, the child's by CPU and PMU. So
 * counts of one event went to another. An event that is not inherited makes the child no clone (inherit_task_group()),
 * and the kernel exchanges nothing. Among the children themselves the lists have one order.
 */
static int keep_contexts_apart(struct opener *opener, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    const struct weir_event_config *config = opener->setup->config;
    if (!config->inherit_stat || !config->inherit || set->targets->tids[0] == -1)
        return 0;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .size = sizeof(attr),
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    for (size_t i = 0; i < set->targets->count; i++) {
        int fd = set->kernel->ops->event_open(set->kernel->ctx, &attr, set->targets->tids[i], -1, -1,
                                              weir_event_ladder_flags(&opener->ladder));
        set->apart_fds[i] = fd;
        if (fd < 0 && fd != -ESRCH)
            return weir_error_set_errno(err, fd, "cannot keep the counts of task %d and its children apart",
                                        (int)set->targets->tids[i]);
    }
    return 0;
}

static int open_with_fallbacks(struct opener *opener, struct weir_error *err)
{
    int result;
    do {
        weir_event_set_close_fds(opener->set);
        result = open_all(opener, err);
    } while (result == OPEN_AGAIN);
    if (result == 0 && !any_task_left(opener->set, opener->gone))
        result = weir_error_set(err, -ESRCH, "all target tasks ended before they could be attached to");
    return result == 0 ? keep_contexts_apart(opener, err) : result;
}

static int set_no_memory(const struct weir_event_set_setup *setup, struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "cannot open %zu events on %u CPUs", setup->list->count,
                                weir_cpuset_count(setup->cpus));
}

/* Events that execve(2) enables count as on, though weir does not enable them. */
static void note_on(struct weir_event_set *set)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        const struct perf_event_attr *attr = &set->list->events[event].attr;
        set->on[event] = !attr->disabled || attr->enable_on_exec;
    }
}

int weir_event_set_open(struct weir_event_set *set, const struct weir_event_set_setup *setup, struct weir_error *err)
{
    memset(set, 0, sizeof(*set));
    int result = allocate(set, setup);
    struct opener opener = {
        .set = set, .setup = setup, .gone = calloc(setup->targets->count + sibling_count(setup), sizeof(bool))};
    if (result < 0 || !opener.gone) {
        result = set_no_memory(setup, err);
    } else {
        configure(&opener);
        result = check_places(set, err);
        if (result == 0)
            result = open_with_fallbacks(&opener, err);
        if (result == 0)
            result = setup->exclude_follows ? try_filters(&opener, err) : weir_event_set_apply_filters(set, err);
        if (result == 0)
            result = weir_event_set_filter_samples(set, setup->notices, err);
        if (result == 0 && (build_id_map(set) < 0 || (setup->config->without_ids && build_cpu_table(set) < 0)))
            result = set_no_memory(setup, err);
    }
    free(opener.gone);
    set->open_flags = weir_event_ladder_flags(&opener.ladder);
    if (result == 0)
        note_on(set);
    else
        weir_event_set_close(set);
    return result;
}
