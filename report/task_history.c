/*
 * As perf does, the history sorts events by time and then plays them once. Each event changes the present state of its
 * task or process, which is the newest of its tid or pid. Afterwards tasks and processes are sorted into ranges for
 * searching.
 */
#include "report/task_history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"

#define PARENTS_MAX 64u /* forks between a process and the one that mapped something */

void weir_task_history_init(struct weir_task_history *history, struct weir_string_table *strings, uint64_t seed)
{
    *history = (struct weir_task_history){.strings = strings};
    weir_row_table_init(&history->sampled, 1, 1, seed);
    weir_row_table_init(&history->task_ranges, 1, 2, seed);
    weir_row_table_init(&history->newest_process, 1, 2, seed);
}

void weir_task_history_fini(struct weir_task_history *history)
{
    for (size_t i = 0; i < history->process_count; i++)
        weir_map_index_fini(&history->processes[i].maps);
    free(history->processes);
    free(history->tasks);
    free(history->events);
    weir_row_table_fini(&history->sampled);
    weir_row_table_fini(&history->task_ranges);
    weir_row_table_fini(&history->newest_process);
}

/* ---- note ---- */

int weir_task_history_note(struct weir_task_history *history, const struct weir_task_event *event)
{
    if (history->event_count == WEIR_TASK_RECORDS_MAX) {
        history->events_dropped++;
        return 0;
    }
    struct weir_task_event *events =
        weir_array_grow(history->events, sizeof(*events), history->event_count, 1, &history->event_capacity);
    if (!events)
        return -ENOMEM;
    history->events = events;
    events[history->event_count] = *event;
    events[history->event_count].order = (uint32_t)history->event_count;
    history->event_count++;
    return 0;
}

int weir_task_history_sampled(struct weir_task_history *history, uint32_t pid, uint32_t tid)
{
    uint64_t key = (uint64_t)pid << 32 | tid;
    return weir_row_table_add(&history->sampled, &key) == WEIR_ROW_NONE ? -ENOMEM : 0;
}

/* ---- play ---- */

/* The present state while events are played: the newest task of each tid. */
struct play {
    struct weir_task_history *history;
    struct weir_row_table newest_task; /* tid; number */
};

static int add_process(struct play *play, const struct weir_process *process, uint32_t *number)
{
    struct weir_task_history *history = play->history;
    struct weir_process *processes =
        weir_array_grow(history->processes, sizeof(*processes), history->process_count, 1, &history->process_capacity);
    if (!processes)
        return -ENOMEM;
    history->processes = processes;
    uint64_t key = process->pid;
    uint32_t row = weir_row_table_add(&play->history->newest_process, &key);
    if (row == WEIR_ROW_NONE)
        return -ENOMEM;
    *number = (uint32_t)history->process_count++;
    uint64_t *newest = weir_row(&history->newest_process, row) + 1; /* number plus 1 */
    processes[*number] = *process;
    processes[*number].previous = (uint32_t)*newest - 1;
    *newest = *number + 1ull;
    return 0;
}

static int find_process(struct play *play, uint32_t pid, uint32_t *number)
{
    uint64_t key = pid;
    uint32_t row = weir_row_table_find(&play->history->newest_process, &key);
    if (row != WEIR_ROW_NONE) {
        *number = (uint32_t)weir_row(&play->history->newest_process, row)[1] - 1;
        return 0;
    }
    return add_process(play, &(struct weir_process){.pid = pid, .parent = WEIR_PROCESS_NONE}, number);
}

static int add_task(struct play *play, const struct weir_task *task)
{
    struct weir_task_history *history = play->history;
    struct weir_task *tasks =
        weir_array_grow(history->tasks, sizeof(*tasks), history->task_count, 1, &history->task_capacity);
    if (!tasks)
        return -ENOMEM;
    history->tasks = tasks;
    uint64_t key = task->tid;
    uint32_t row = weir_row_table_add(&play->newest_task, &key);
    if (row == WEIR_ROW_NONE)
        return -ENOMEM;
    weir_row(&play->newest_task, row)[1] = history->task_count;
    tasks[history->task_count] = *task;
    tasks[history->task_count].order = (uint32_t)history->task_count;
    history->task_count++;
    return 0;
}

static struct weir_task *newest_task(struct play *play, uint32_t tid)
{
    uint64_t key = tid;
    uint32_t row = weir_row_table_find(&play->newest_task, &key);
    return row == WEIR_ROW_NONE ? NULL : &play->history->tasks[weir_row(&play->newest_task, row)[1]];
}

static int play_comm(struct play *play, const struct weir_task_event *event)
{
    struct weir_task *present = newest_task(play, event->tid);
    if (present && !present->has_comm) {
        present->comm = event->comm;
        present->has_comm = true;
        return 0;
    }
    if (present && present->comm == event->comm)
        return 0;
    return add_task(play, &(struct weir_task){.pid = event->pid,
                                              .tid = event->tid,
                                              .since = present ? event->time : 0,
                                              .comm = event->comm,
                                              .has_comm = true});
}

static int play_fork(struct play *play, const struct weir_task_event *event)
{
    const struct weir_task *parent = newest_task(play, event->ptid);
    struct weir_task child = {.pid = event->pid, .tid = event->tid, .since = event->time};
    if (parent) {
        child.comm = parent->comm;
        child.has_comm = parent->has_comm;
    }
    int result = add_task(play, &child);
    if (result < 0 || event->pid == event->ppid)
        return result;
    uint32_t from, number;
    result = find_process(play, event->ppid, &from);
    if (result < 0)
        return result;
    struct weir_process process = {.pid = event->pid, .since = event->time, .parent = from, .parent_time = event->time};
    const struct weir_process *source = &play->history->processes[from];
    if (source->maps.count == 0) { /* whatever it has comes from its own parent */
        process.parent = source->parent;
        process.parent_time = source->parent_time;
    }
    if (!event->copies)
        process.parent = WEIR_PROCESS_NONE;
    return add_process(play, &process, &number);
}

static int play_map(struct play *play, const struct weir_task_event *event)
{
    uint32_t number;
    int result = find_process(play, event->pid, &number);
    struct weir_mapping map = event->map;
    map.time = event->time;
    return result < 0 ? result : weir_map_index_add(&play->history->processes[number].maps, &map);
}

static int play_event(struct play *play, const struct weir_task_event *event)
{
    switch (event->kind) {
    case WEIR_TASK_COMM:
        return play_comm(play, event);
    case WEIR_TASK_FORK:
        return play_fork(play, event);
    default:
        return play_map(play, event);
    }
}

/* Tasks that have samples and no other record. */
static int play_sampled(struct play *play)
{
    struct weir_task_history *history = play->history;
    for (size_t i = 0; i < history->sampled.count; i++) {
        uint64_t key = *weir_row(&history->sampled, (uint32_t)i);
        uint32_t pid = (uint32_t)(key >> 32), tid = (uint32_t)key;
        if (newest_task(play, tid))
            continue;
        int result = add_task(play, &(struct weir_task){.pid = pid, .tid = tid});
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- ranges ---- */

static int compare_tasks(const void *a, const void *b)
{
    const struct weir_task *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Adds an item with that key at a position to the range of its key. Items of one key follow one another. */
static int extend_range(struct weir_row_table *ranges, uint32_t id, size_t position)
{
    uint64_t key = id;
    uint32_t row = weir_row_table_add(ranges, &key);
    if (row == WEIR_ROW_NONE)
        return -ENOMEM;
    uint64_t *range = weir_row(ranges, row) + 1; /* first, count in one word */
    if (*range == 0)
        *range = (uint64_t)position << 32;
    ++*range;
    return 0;
}

static int name_unknown(struct weir_task_history *history, struct weir_task *task)
{
    char text[32];
    snprintf(text, sizeof(text), ":%d", (int)task->tid);
    task->comm = weir_string_table_add(history->strings, task->tid == 0 ? "swapper" : text);
    return task->comm == WEIR_ROW_NONE ? -ENOMEM : 0;
}

static int range_tasks(struct weir_task_history *history)
{
    if (history->task_count > 0)
        qsort(history->tasks, history->task_count, sizeof(*history->tasks), compare_tasks);
    for (size_t i = 0; i < history->task_count; i++) {
        struct weir_task *task = &history->tasks[i];
        int result = extend_range(&history->task_ranges, task->tid, i);
        if (result == 0 && !task->has_comm)
            result = name_unknown(history, task);
        if (result < 0)
            return result;
    }
    return 0;
}

static int build_maps(struct weir_task_history *history)
{
    for (size_t i = 0; i < history->process_count; i++) {
        int result = weir_map_index_build(&history->processes[i].maps);
        if (result < 0)
            return result;
    }
    return 0;
}

static int compare_events(const void *a, const void *b)
{
    const struct weir_task_event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int play_all(struct play *play)
{
    struct weir_task_history *history = play->history;
    if (history->event_count > 0)
        qsort(history->events, history->event_count, sizeof(*history->events), compare_events);
    int result = 0;
    for (size_t i = 0; result == 0 && i < history->event_count; i++)
        result = play_event(play, &history->events[i]);
    return result == 0 ? play_sampled(play) : result;
}

int weir_task_history_build(struct weir_task_history *history)
{
    struct play play = {.history = history};
    uint32_t kernel;
    weir_row_table_init(&play.newest_task, 1, 2, history->sampled.seed);
    int result = find_process(&play, WEIR_TASK_KERNEL, &kernel);
    if (result == 0)
        result = play_all(&play);
    weir_row_table_fini(&play.newest_task);
    free(history->events);
    history->events = NULL;
    history->event_count = history->event_capacity = 0;
    if (result == 0)
        result = range_tasks(history);
    return result == 0 ? build_maps(history) : result;
}

/* ---- find ---- */

static uint32_t process_at(const struct weir_task_history *history, uint32_t pid, uint64_t time,
                           struct weir_task_found *found)
{
    uint64_t key = pid;
    uint32_t row = weir_row_table_find(&history->newest_process, &key);
    if (row == WEIR_ROW_NONE)
        return WEIR_PROCESS_NONE;
    uint32_t number = (uint32_t)weir_row(&history->newest_process, row)[1] - 1;
    while (history->processes[number].since > time && history->processes[number].previous != WEIR_PROCESS_NONE) {
        found->until = weir_min_u64(found->until, history->processes[number].since);
        number = history->processes[number].previous;
    }
    found->since = weir_max_u64(found->since, weir_min_u64(history->processes[number].since, time));
    return number;
}

struct weir_task_found weir_task_history_find(const struct weir_task_history *history, uint32_t pid, uint32_t tid,
                                              uint64_t time)
{
    struct weir_task_found found = {.task = WEIR_ROW_NONE, .process = WEIR_PROCESS_NONE, .until = UINT64_MAX};
    uint64_t key = tid;
    uint32_t row = weir_row_table_find(&history->task_ranges, &key);
    if (row == WEIR_ROW_NONE)
        return found;
    uint64_t range = weir_row(&history->task_ranges, row)[1];
    size_t first = range >> 32, count = (uint32_t)range, end = first + count;
    size_t low = first + weir_array_count_up_to(history->tasks + first, sizeof(*history->tasks),
                                                offsetof(struct weir_task, since), count, time);
    if (low < end)
        found.until = history->tasks[low].since;
    found.task = (uint32_t)(low > first ? low - 1 : first);
    found.since = low > first ? history->tasks[found.task].since : 0;
    found.process = process_at(history, pid, time, &found);
    return found;
}

struct weir_map_found weir_task_history_map(const struct weir_task_history *history, uint32_t process, uint64_t address,
                                            uint64_t time)
{
    struct weir_map_found found = {.until = UINT64_MAX};
    for (unsigned step = 0; process != WEIR_PROCESS_NONE && step < PARENTS_MAX; step++) {
        const struct weir_process *at = &history->processes[process];
        struct weir_map_found own = weir_map_index_find(&at->maps, address, time);
        if (step == 0)
            found.until = own.until;
        if (own.map) {
            found.map = own.map;
            found.since = step == 0 ? own.since : 0;
            return found;
        }
        time = at->parent_time;
        process = at->parent;
    }
    return found;
}
