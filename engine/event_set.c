/*
 * Opening, redirecting, enabling, reading and closing the events of a recording. Coordinator thread only.
 */
#include "engine/event_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/open_error.h"

#define OPEN_AGAIN 1 /* attrs were weakened: start over */

/* attr bits that older kernels refuse, newest first: what level n of the ladder drops, on top of the levels below it.
 */
static const struct {
    const char *what;
    uint64_t read_format;
    bool bpf_records;
} ladder[] = {
    {"PERF_FORMAT_LOST (Linux 6.0): losses are known from LOST records only", PERF_FORMAT_LOST, false},
    {"ksymbol and bpf_event records (Linux 5.1)", 0, true},
};

struct opener {
    struct weir_event_set *set;
    const struct weir_event_set_setup *setup;
    unsigned ladder_level; /* steps taken */
    bool *gone;            /* [task] */
};

static size_t slot(const struct weir_event_set *set, unsigned event, unsigned cpu_index, unsigned task)
{
    return ((size_t)event * set->cpu_count + cpu_index) * set->task_count + task;
}

int weir_event_set_fd(const struct weir_event_set *set, unsigned event, unsigned cpu_index, unsigned task)
{
    return set->fds[slot(set, event, cpu_index, task)];
}

unsigned weir_event_set_sideband(const struct weir_event_set *set)
{
    return set->event_count - 1;
}

uint64_t weir_event_set_fds_needed(unsigned events, unsigned cpus, unsigned tasks)
{
    return (uint64_t)events * cpus * tasks;
}

static void close_fds(struct weir_event_set *set)
{
    size_t count = (size_t)set->event_count * set->cpu_count * set->task_count;
    for (size_t i = 0; set->fds && set->ids && i < count; i++) {
        if (set->fds[i] >= 0)
            set->kernel->ops->event_close(set->kernel->ctx, set->fds[i]);
        set->fds[i] = -1;
        set->ids[i] = 0;
    }
}

void weir_event_set_close(struct weir_event_set *set)
{
    if (!set)
        return;
    close_fds(set);
    free(set->cpus);
    free(set->fds);
    free(set->ids);
    weir_id_map_fini(&set->id_map);
    memset(set, 0, sizeof(*set));
}

static int allocate(struct weir_event_set *set, const struct weir_event_set_setup *setup)
{
    set->kernel = setup->kernel;
    set->list = setup->list;
    set->targets = setup->targets;
    set->event_count = (unsigned)setup->list->count;
    set->task_count = (unsigned)setup->targets->count;
    set->cpus = calloc(weir_cpuset_count(setup->cpus), sizeof(*set->cpus));
    if (!set->cpus)
        return -ENOMEM;
    WEIR_CPUSET_FOREACH(cpu, setup->cpus) {
        set->cpus[set->cpu_count++] = (unsigned)cpu;
    }

    size_t count = (size_t)set->event_count * set->cpu_count * set->task_count;
    set->fds = malloc(count * sizeof(*set->fds));
    set->ids = calloc(count, sizeof(*set->ids));
    if (!set->fds || !set->ids)
        return -ENOMEM;
    memset(set->fds, 0xff, count * sizeof(*set->fds));
    return 0;
}

/* ---- weaker attrs ---- */

static void configure(const struct opener *opener)
{
    struct weir_event_list *list = opener->setup->list;
    weir_event_list_configure(list, opener->setup->config);
    for (unsigned level = 0; level < opener->ladder_level; level++) {
        for (size_t i = 0; i < list->count; i++) {
            struct perf_event_attr *attr = &list->events[i].attr;
            attr->read_format &= ~ladder[level].read_format;
            if (ladder[level].bpf_records)
                attr->ksymbol = attr->bpf_event = 0;
        }
    }
}

static bool step_down_ladder(struct opener *opener)
{
    if (opener->ladder_level == WEIR_ARRAY_COUNT(ladder))
        return false;
    weir_notice(opener->setup->notices, WEIR_NOTICE_VERBOSE, "the kernel refuses an attr; trying without %s",
                ladder[opener->ladder_level].what);
    opener->ladder_level++;
    configure(opener);
    return true;
}

/* Says the fall-back in perf's sense: the event that the user did not have to name is replaced by one that works. */
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

/* ":u" helps a user who may look at his own tasks but not at the kernel; for all tasks of a CPU it does not. */
static bool fall_back_to_user(struct opener *opener, struct weir_event *event, int code, pid_t pid)
{
    if ((code != -EACCES && code != -EPERM) || pid < 0 || !weir_event_fall_back_to_user(event))
        return false;
    weir_notice(opener->setup->notices, WEIR_NOTICE_WARNING,
                "kernel.perf_event_paranoid=%d forbids recording the kernel; recording %s, user space only",
                opener->setup->limits->perf_event_paranoid, event->name);
    configure(opener);
    return true;
}

/* An event at the highest precision that the machine has: finds out which that is, from the top. */
static bool lower_precision(struct opener *opener, struct weir_event *event, int code)
{
    bool refused = code == -EOPNOTSUPP || code == -ENOENT || code == -EINVAL;
    if (!refused || !weir_event_lower_precision(event))
        return false;
    configure(opener);
    return true;
}

/* ---- opening ---- */

/* What to do about a failed open: OPEN_AGAIN with weaker attrs, 0 when the task is gone, or the error explained. */
static int handle_refusal(struct opener *opener, unsigned event_index, unsigned cpu_index, unsigned task, int code,
                          struct weir_error *err)
{
    struct weir_event *event = &opener->setup->list->events[event_index];
    pid_t pid = opener->setup->targets->tids[task];
    if (code == -ESRCH && pid > 0) {
        opener->gone[task] = true;
        return 0;
    }
    if (lower_precision(opener, event, code) || fall_back_to_software(opener, event, code) ||
        fall_back_to_user(opener, event, code, pid))
        return OPEN_AGAIN;
    if ((code == -EINVAL || code == -E2BIG) && step_down_ladder(opener))
        return OPEN_AGAIN;

    const struct weir_event_set *set = opener->set;
    struct weir_open_attempt attempt = {
        .name = event->name,
        .attr = &event->attr,
        .pid = pid,
        .cpu = (int)set->cpus[cpu_index],
        .fds_needed = weir_event_set_fds_needed(set->event_count, set->cpu_count, set->task_count),
    };
    return weir_open_error_explain(err, code, &attempt, opener->setup->limits);
}

static int open_one(struct opener *opener, unsigned event, unsigned cpu_index, unsigned task, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    const struct weir_kernel *kernel = set->kernel;
    int fd = kernel->ops->event_open(kernel->ctx, &set->list->events[event].attr, set->targets->tids[task],
                                     (int)set->cpus[cpu_index], -1, 0);
    if (fd < 0)
        return handle_refusal(opener, event, cpu_index, task, fd, err);

    size_t at = slot(set, event, cpu_index, task);
    set->fds[at] = fd;
    int result = kernel->ops->event_id(kernel->ctx, fd, &set->ids[at]);
    return result < 0 ? weir_error_set_errno(err, result, "cannot read the id of event %s on cpu %u",
                                             set->list->events[event].name, set->cpus[cpu_index])
                      : 0;
}

static int open_all(struct opener *opener, struct weir_error *err)
{
    struct weir_event_set *set = opener->set;
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned cpu = 0; cpu < set->cpu_count; cpu++) {
            for (unsigned task = 0; task < set->task_count; task++) {
                int result = opener->gone[task] ? 0 : open_one(opener, event, cpu, task, err);
                if (result != 0)
                    return result;
            }
        }
    }
    return 0;
}

static int build_id_map(struct weir_event_set *set)
{
    size_t count = (size_t)set->event_count * set->cpu_count * set->task_count;
    int result = weir_id_map_init(&set->id_map, count);
    if (result < 0)
        return result;
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned cpu = 0; cpu < set->cpu_count; cpu++) {
            for (unsigned task = 0; task < set->task_count; task++) {
                uint64_t id = set->ids[slot(set, event, cpu, task)];
                if (id)
                    weir_id_map_add(&set->id_map, id, event, cpu);
            }
        }
    }
    return 0;
}

static bool any_task_left(const struct weir_event_set *set, const bool *gone)
{
    for (unsigned task = 0; task < set->task_count; task++) {
        if (!gone[task])
            return true;
    }
    return false;
}

static int open_with_fallbacks(struct opener *opener, struct weir_error *err)
{
    int result;
    do {
        close_fds(opener->set);
        result = open_all(opener, err);
    } while (result == OPEN_AGAIN);
    if (result == 0 && !any_task_left(opener->set, opener->gone))
        result = weir_error_set(err, -ESRCH, "all target tasks ended before they could be attached to");
    return result;
}

static int set_no_memory(const struct weir_event_set_setup *setup, struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "cannot open %zu events on %u CPUs", setup->list->count,
                                weir_cpuset_count(setup->cpus));
}

int weir_event_set_open(struct weir_event_set *set, const struct weir_event_set_setup *setup, struct weir_error *err)
{
    memset(set, 0, sizeof(*set));
    int result = allocate(set, setup);
    struct opener opener = {.set = set, .setup = setup, .gone = calloc(setup->targets->count, sizeof(bool))};
    if (result < 0 || !opener.gone) {
        result = set_no_memory(setup, err);
    } else {
        configure(&opener);
        result = open_with_fallbacks(&opener, err);
        if (result == 0 && build_id_map(set) < 0)
            result = set_no_memory(setup, err);
    }
    free(opener.gone);
    if (result < 0)
        weir_event_set_close(set);
    return result;
}

/* ---- rings ---- */

static bool owns_ring(const struct weir_event_set *set, unsigned event, bool sideband)
{
    return (event == weir_event_set_sideband(set)) == sideband;
}

/* The first open descriptor among the events of that ring on that CPU, or -1. */
static int ring_owner_fd(const struct weir_event_set *set, unsigned cpu_index, bool sideband)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned task = 0; owns_ring(set, event, sideband) && task < set->task_count; task++) {
            int fd = weir_event_set_fd(set, event, cpu_index, task);
            if (fd >= 0)
                return fd;
        }
    }
    return -1;
}

static int redirect(struct weir_event_set *set, unsigned cpu_index, bool sideband, int owner_fd)
{
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned task = 0; owns_ring(set, event, sideband) && task < set->task_count; task++) {
            int fd = weir_event_set_fd(set, event, cpu_index, task);
            if (fd < 0 || fd == owner_fd)
                continue;
            int result = set->kernel->ops->event_set_output(set->kernel->ctx, fd, owner_fd);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

int weir_event_set_map_ring(struct weir_event_set *set, unsigned cpu_index, bool sideband, uint64_t bytes,
                            struct weir_ring *ring)
{
    int owner_fd = ring_owner_fd(set, cpu_index, sideband);
    weir_assert(owner_fd >= 0);
    int result = weir_ring_map(ring, set->kernel, owner_fd, bytes);
    if (result < 0)
        return result;
    result = redirect(set, cpu_index, sideband, owner_fd);
    if (result < 0)
        weir_ring_unmap(ring);
    return result;
}

const int *weir_event_set_poll_fds(const struct weir_event_set *set, unsigned cpu_index, bool sideband, unsigned *count)
{
    unsigned event = sideband ? weir_event_set_sideband(set) : 0;
    *count = set->task_count;
    return &set->fds[slot(set, event, cpu_index, 0)];
}

/* ---- control ---- */

static void switch_events(struct weir_event_set *set, bool sideband, int (*verb)(void *ctx, int fd))
{
    for (unsigned event = 0; event < set->event_count; event++) {
        if (!owns_ring(set, event, sideband))
            continue;
        size_t first = slot(set, event, 0, 0), end = first + (size_t)set->cpu_count * set->task_count;
        for (size_t i = first; i < end; i++) {
            if (set->fds[i] >= 0)
                verb(set->kernel->ctx, set->fds[i]);
        }
    }
}

void weir_event_set_enable(struct weir_event_set *set, bool sideband)
{
    switch_events(set, sideband, set->kernel->ops->event_enable);
}

void weir_event_set_disable(struct weir_event_set *set)
{
    switch_events(set, false, set->kernel->ops->event_disable);
    switch_events(set, true, set->kernel->ops->event_disable);
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* "common_pid < 10 || common_pid > 12" for the runs of consecutive ids: threads that were made together have such. */
static int build_filter(struct weir_buf *text, const pid_t *tids, size_t count)
{
    pid_t *sorted = malloc(count * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, tids, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_pids);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && sorted[end] - sorted[end - 1] <= 1)
            end++;
        if (sorted[i] == sorted[end - 1])
            weir_buf_printf(text, "%scommon_pid != %d", i ? " && " : "", sorted[i]);
        else
            weir_buf_printf(text, "%s(common_pid < %d || common_pid > %d)", i ? " && " : "", sorted[i],
                            sorted[end - 1]);
        i = end;
    }
    free(sorted);
    return weir_buf_error(text);
}

int weir_event_set_exclude_tasks(struct weir_event_set *set, const pid_t *tids, size_t count, struct weir_error *err)
{
    struct weir_buf filter = WEIR_BUF_INIT;
    int result = build_filter(&filter, tids, count);
    for (unsigned event = 0; result == 0 && event < set->event_count; event++) {
        const struct weir_event *described = &set->list->events[event];
        size_t first = slot(set, event, 0, 0), end = first + (size_t)set->cpu_count * set->task_count;
        for (size_t i = first; result == 0 && described->tracepoint_system && i < end; i++) {
            if (set->fds[i] < 0)
                continue;
            result = set->kernel->ops->event_set_filter(set->kernel->ctx, set->fds[i], weir_buf_str(&filter));
            if (result < 0)
                weir_error_set_errno(err, result, "cannot set filter '%s' on event %s", weir_buf_str(&filter),
                                     described->name);
        }
    }
    weir_buf_fini(&filter);
    return result;
}

int weir_event_set_read(const struct weir_event_set *set, unsigned event, unsigned cpu_index, unsigned task,
                        struct weir_event_count *count)
{
    int fd = weir_event_set_fd(set, event, cpu_index, task);
    if (fd < 0)
        return -ENOENT;
    return set->kernel->ops->event_read(set->kernel->ctx, fd, set->list->events[event].attr.read_format, count);
}
