/*
 * The table of tasks: one array of entries, chained in buckets by thread id. The entry of a process's first thread
 * stands for the process. Run by the sideband thread, and by the coordinator once that has ended.
 */
#include "engine/tasks/task_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"

#define FIRST_ROOM  1024u
#define BLOCK_BYTES (128u * 1024) /* of emitted records */
#define RECORD_MAX  (8u * 1024)   /* a map with the longest name */

void weir_task_map_init(struct weir_task_map *map, struct weir_mapped_files *files)
{
    *map = (struct weir_task_map){.files = files};
}

void weir_task_map_fini(struct weir_task_map *map)
{
    if (!map)
        return;
    for (uint32_t i = 1; i < map->used; i++) {
        if (map->tasks[i].tid != 0)
            weir_task_mappings_drop(map->tasks[i].maps, &map->map_bytes);
    }
    free(map->tasks);
    free(map->buckets);
    weir_task_map_init(map, NULL);
}

/* ---- entries ---- */

static uint32_t *bucket_of(const struct weir_task_map *map, pid_t tid)
{
    return &map->buckets[((uint32_t)tid * 0x9e3779b1u) & (map->bucket_count - 1)];
}

static struct weir_task *find(const struct weir_task_map *map, pid_t tid)
{
    if (map->bucket_count == 0 || tid <= 0)
        return NULL;
    uint32_t i = *bucket_of(map, tid);
    while (i != 0 && map->tasks[i].tid != tid)
        i = map->tasks[i].next;
    return i != 0 ? &map->tasks[i] : NULL;
}

static int grow(struct weir_task_map *map)
{
    uint32_t room = map->room ? map->room * 2 : FIRST_ROOM;
    if (room > WEIR_TASKS_MAX)
        return -ENOSPC;
    struct weir_task *tasks = reallocarray(map->tasks, room, sizeof(*tasks));
    if (!tasks)
        return -ENOMEM;
    map->tasks = tasks;
    uint32_t *buckets = calloc(room, sizeof(*buckets));
    if (!buckets)
        return -ENOMEM;
    free(map->buckets);
    map->buckets = buckets;
    map->bucket_count = map->room = room;
    map->used = (uint32_t)weir_max_u64(map->used, 1); /* number 0 ends lists */
    for (uint32_t i = 1; i < map->used; i++) {
        if (tasks[i].tid == 0)
            continue;
        uint32_t *bucket = bucket_of(map, tasks[i].tid);
        tasks[i].next = *bucket;
        *bucket = i;
    }
    return 0;
}

/* Adds an entry for tid, which has none. NULL: no room. Invalidates pointers to entries. */
static struct weir_task *add(struct weir_task_map *map, pid_t tid)
{
    uint32_t i = map->free;
    if (i == 0 && map->used == map->room && grow(map) < 0)
        return NULL;
    if (i != 0)
        map->free = map->tasks[i].next;
    else
        i = map->used++;
    uint32_t *bucket = bucket_of(map, tid);
    map->tasks[i] = (struct weir_task){.tid = tid, .next = *bucket};
    *bucket = i;
    map->count++;
    return &map->tasks[i];
}

static void remove_entry(struct weir_task_map *map, struct weir_task *task)
{
    uint32_t i = (uint32_t)(task - map->tasks);
    uint32_t *link = bucket_of(map, task->tid);
    while (*link != i)
        link = &map->tasks[*link].next;
    *link = task->next;
    weir_task_mappings_drop(task->maps, &map->map_bytes);
    *task = (struct weir_task){.next = map->free};
    map->free = i;
    map->count--;
}

/* ---- tasks ---- */

static bool is_leader(const struct weir_task *task)
{
    return task->tid == task->pid;
}

/* Removes a thread that has ended, by its EXIT or because its number is reused. */
static void end_task(struct weir_task_map *map, struct weir_task *task)
{
    struct weir_task *process = is_leader(task) ? task : find(map, task->pid);
    bool counts = process && process->serial == task->serial && task->is_running;
    if (process != task)
        remove_entry(map, task);
    else
        task->is_running = false;
    if (counts && --process->threads == 0)
        remove_entry(map, process);
}

/* Removes the task whose number is reused: its EXIT was missed. A process goes with all of its threads. */
static void remove_stale(struct weir_task_map *map, struct weir_task *task)
{
    if (is_leader(task))
        remove_entry(map, task);
    else
        end_task(map, task);
}

/* Finds or adds the entry of process pid. NULL: no room. */
static struct weir_task *process_of(struct weir_task_map *map, pid_t pid)
{
    struct weir_task *process = find(map, pid);
    if (process && is_leader(process))
        return process;
    if (process)
        remove_stale(map, process);
    process = add(map, pid);
    if (process) {
        process->pid = pid;
        process->serial = ++map->serial;
    }
    return process;
}

static void start_running(struct weir_task *process)
{
    process->threads += !process->is_running;
    process->is_running = true;
}

/* Finds or adds the task, as running. NULL: no room. */
static struct weir_task *task_of(struct weir_task_map *map, pid_t pid, pid_t tid)
{
    struct weir_task *process = process_of(map, pid);
    if (!process)
        return NULL;
    if (tid == pid) {
        start_running(process);
        return process;
    }
    struct weir_task *task = find(map, tid);
    if (task && task->pid == pid && task->serial == process->serial)
        return task;
    uint32_t serial = process->serial;
    if (task)
        remove_stale(map, task);
    task = add(map, tid);
    if (!task)
        return NULL;
    task->pid = pid;
    task->serial = serial;
    task->is_running = true;
    find(map, pid)->threads++;
    return task;
}

static void refuse(struct weir_task_map *map)
{
    map->refused++;
    map->refused_tasks++;
    weir_task_map_doubt(map);
}

/* ---- records ---- */

static void apply_fork(struct weir_task_map *map, const struct weir_side_record *record)
{
    struct weir_task *stale = find(map, record->tid);
    if (stale)
        remove_stale(map, stale);

    struct weir_task *task = task_of(map, record->pid, record->tid);
    if (!task) {
        refuse(map);
        return;
    }
    const struct weir_task *parent = find(map, record->ptid);
    if (parent)
        memcpy(task->comm, parent->comm, sizeof(task->comm));
    task->ppid = record->ppid;
    if (record->tid != record->pid || (record->misc & PERF_RECORD_MISC_FORK_EXEC))
        return;
    const struct weir_task *parent_process = find(map, record->ppid);
    if (parent_process && is_leader(parent_process)) {
        task->maps = weir_task_mappings_share(parent_process->maps);
        task->is_incomplete = parent_process->is_incomplete;
    }
}

static void apply_exec(struct weir_task_map *map, pid_t pid)
{
    struct weir_task *process = find(map, pid);
    weir_task_mappings_drop(process->maps, &map->map_bytes);
    process->maps = NULL;
    process->is_incomplete = false;
    /* The other threads have ended. A new serial ends those whose EXIT was missed. */
    process->serial = ++map->serial;
    process->is_running = true;
    process->threads = 1;
}

static void apply_comm(struct weir_task_map *map, const struct weir_side_record *record)
{
    struct weir_task *task = task_of(map, record->pid, record->tid);
    if (!task) {
        refuse(map);
        return;
    }
    weir_proc_comm_copy(task->comm, record->comm, strlen(record->comm));
    if ((record->misc & PERF_RECORD_MISC_COMM_EXEC) && record->tid == record->pid)
        apply_exec(map, record->pid);
}

static void apply_exit(struct weir_task_map *map, const struct weir_side_record *record)
{
    struct weir_task *task = find(map, record->tid);
    if (task)
        end_task(map, task);
}

static void apply_map(struct weir_task_map *map, const struct weir_side_record *record)
{
    const struct weir_record_map *mapped = &record->map;
    uint64_t end = mapped->start + mapped->bytes;
    if (mapped->cpumode != PERF_RECORD_MISC_USER || end <= mapped->start)
        return;
    /* The thread of the record runs; the first thread of its process may have ended. */
    struct weir_task *process = task_of(map, record->pid, record->tid) ? find(map, record->pid) : NULL;
    if (!process) {
        refuse(map);
        return;
    }
    bool is_code = !(record->misc & PERF_RECORD_MISC_MMAP_DATA);
    int64_t file = is_code ? weir_mapped_files_add(map->files, record) : 0;
    struct weir_task_mapping mapping = {
        .start = mapped->start,
        .end = end,
        .page_offset = mapped->page_offset,
        .file = (uint32_t)file,
        .protection = (uint16_t)mapped->protection,
        .flags = (uint16_t)mapped->flags,
    };
    if (file < 0 || weir_task_mappings_replace(&process->maps, mapped->start, end, is_code ? &mapping : NULL,
                                               &map->map_bytes) < 0) {
        map->refused++;
        process->is_incomplete = true;
    }
    if (record->misc & PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT)
        process->is_incomplete = true;
}

void weir_task_map_apply(struct weir_task_map *map, const struct weir_side_record *record)
{
    if (record->tid <= 0 || record->pid <= 0)
        return;
    switch (record->type) {
    case PERF_RECORD_FORK:
        apply_fork(map, record);
        break;
    case PERF_RECORD_COMM:
        apply_comm(map, record);
        break;
    case PERF_RECORD_EXIT:
        apply_exit(map, record);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        apply_map(map, record);
        break;
    default:
        break;
    }
}

void weir_task_map_doubt(struct weir_task_map *map)
{
    map->is_doubtful = true;
}

/* ---- looking ---- */

const struct weir_task *weir_task_map_find(const struct weir_task_map *map, pid_t tid)
{
    return find(map, tid);
}

/* ---- emitting ---- */

struct emission {
    const struct weir_task_map *map;
    const struct weir_task_map_sink *sink;
    struct weir_buf records;
};

static int flush(struct emission *emission)
{
    int result = weir_buf_error(&emission->records);
    if (result == 0 && emission->records.used > 0)
        result = emission->sink->emit(emission->sink->ctx, emission->records.data, emission->records.used);
    weir_buf_reset(&emission->records);
    return result;
}

static int reserve(struct emission *emission)
{
    return emission->records.used + RECORD_MAX > BLOCK_BYTES ? flush(emission) : 0;
}

static int emit_task(struct emission *emission, const struct weir_task *task)
{
    int result = reserve(emission);
    if (result < 0)
        return result;
    pid_t ppid = is_leader(task) ? task->ppid : task->pid;
    size_t trailer = emission->sink->sample_id_bytes;
    weir_record_fork(&emission->records, task->pid, ppid, task->tid, ppid, trailer);
    weir_record_comm(&emission->records, task->pid, task->tid, task->comm, 0, trailer);
    return weir_buf_error(&emission->records);
}

static int emit_maps(struct emission *emission, const struct weir_task *process)
{
    const struct weir_mapped_files *files = emission->map->files;
    uint32_t count = process->maps ? process->maps->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        int result = reserve(emission);
        if (result < 0)
            return result;
        const struct weir_task_mapping *mapping = &process->maps->all[i];
        const struct weir_mapped_file *file = &files->all[mapping->file];
        struct weir_record_map record = {
            .pid = process->pid,
            .tid = process->pid,
            .start = mapping->start,
            .bytes = mapping->end - mapping->start,
            .page_offset = mapping->page_offset,
            .major = file->major,
            .minor = file->minor,
            .inode = file->inode,
            .inode_generation = file->generation,
            .protection = mapping->protection,
            .flags = mapping->flags,
            .cpumode = PERF_RECORD_MISC_USER,
            .build_id = file->inode == 0 ? &file->build_id : NULL, /* the record had it instead of the inode */
            .filename = weir_mapped_files_name(files, mapping->file),
        };
        /* MMAP records have no protection, but all maps kept here are executable. */
        record.protection |= PROT_EXEC;
        weir_record_mmap2(&emission->records, &record, emission->sink->sample_id_bytes);
    }
    return weir_buf_error(&emission->records);
}

static int emit_process(struct emission *emission, const struct weir_task *process)
{
    int result = process->is_running ? emit_task(emission, process) : 0;
    if (result < 0)
        return result;
    if (!process->is_incomplete && !emission->map->is_doubtful)
        return emit_maps(emission, process);
    /* The sink may emit at once: flush the records before. */
    result = flush(emission);
    return result < 0 ? result : emission->sink->incomplete(emission->sink->ctx, process->pid);
}

void weir_task_map_touch_files(const struct weir_task_map *map)
{
    for (uint32_t i = 1; i < map->used; i++) {
        const struct weir_task *task = &map->tasks[i];
        for (uint32_t m = 0; task->tid != 0 && task->maps && m < task->maps->count; m++)
            weir_mapped_files_touch(map->files, task->maps->all[m].file);
    }
}

static bool is_of_old_serial(const struct weir_task_map *map, const struct weir_task *task)
{
    const struct weir_task *process = find(map, task->pid);
    return !process || process->serial != task->serial;
}

int weir_task_map_emit(const struct weir_task_map *map, const struct weir_task_map_sink *sink)
{
    struct emission emission = {.map = map, .sink = sink, .records = WEIR_BUF_INIT};
    int result = 0;
    for (uint32_t i = 1; result == 0 && i < map->used; i++) {
        if (map->tasks[i].tid != 0 && is_leader(&map->tasks[i]))
            result = emit_process(&emission, &map->tasks[i]);
    }
    for (uint32_t i = 1; result == 0 && i < map->used; i++) {
        const struct weir_task *task = &map->tasks[i];
        if (task->tid != 0 && !is_leader(task) && !is_of_old_serial(map, task))
            result = emit_task(&emission, task);
    }
    if (result == 0)
        result = flush(&emission);
    weir_buf_fini(&emission.records);
    return result;
}

int weir_task_map_emit_maps(const struct weir_task_map *map, pid_t pid, const struct weir_task_map_sink *sink)
{
    const struct weir_task *process = find(map, pid);
    if (!process || !is_leader(process))
        return 0;
    struct emission emission = {.map = map, .sink = sink, .records = WEIR_BUF_INIT};
    int result = emit_maps(&emission, process);
    if (result == 0)
        result = flush(&emission);
    weir_buf_fini(&emission.records);
    return result;
}
