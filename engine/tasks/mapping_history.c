/* Puts changes into the logs of their processes, and searches. */
#include "engine/tasks/mapping_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernel/test_point.h"
#include "engine/tasks/mapping_history_internal.h"

#define FIRST_ROOM    4u
#define PRESSED_BYTES (WEIR_TASK_MAPS_BYTES_MAX / 8 * 7)
#define PRESS_NS      100000000ull /* from one try to the next */
#define SPAN_LEAST_NS 1000000000ull

/* ---- processes ---- */

static uint32_t hash(pid_t pid)
{
    return (uint32_t)pid * 0x9e3779b1u >> 8;
}

struct weir_history_shard *weir_history_shard_of(struct weir_mapping_history *history, pid_t pid)
{
    return &history->shards[hash(pid) & (WEIR_HISTORY_SHARDS - 1)];
}

static struct weir_history_process **bucket_of(struct weir_mapping_history *history, pid_t pid)
{
    uint32_t bucket = hash(pid) / WEIR_HISTORY_SHARDS & (WEIR_HISTORY_BUCKETS - 1);
    return &weir_history_shard_of(history, pid)->buckets[bucket];
}

struct weir_history_process *weir_history_process_find(struct weir_mapping_history *history, pid_t pid)
{
    struct weir_history_process *process = *bucket_of(history, pid);
    while (process && process->pid != pid)
        process = process->next;
    return process;
}

void weir_history_process_free(struct weir_mapping_history *history, struct weir_history_process *process)
{
    for (uint32_t i = 0; i < process->count; i++)
        weir_task_mappings_drop(process->log[i].maps, &history->counts.bytes);
    weir_task_mappings_drop(process->maps, &history->counts.bytes);
    history->counts.bytes -= sizeof(*process) + process->room * sizeof(*process->log);
    history->counts.processes--;
    free(process->log);
    free(process);
}

static struct weir_history_process *find_or_add(struct weir_mapping_history *history, pid_t pid)
{
    struct weir_history_process *process = weir_history_process_find(history, pid);
    if (process)
        return process;
    if (history->counts.bytes + sizeof(*process) <= WEIR_TASK_MAPS_BYTES_MAX)
        process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    struct weir_history_process **bucket = bucket_of(history, pid);
    struct weir_history_shard *shard = weir_history_shard_of(history, pid);
    process->pid = pid;
    process->unknown_from_ns = UINT64_MAX;
    history->counts.bytes += sizeof(*process);
    history->counts.processes++;
    pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
    process->next = *bucket;
    *bucket = process;
    pthread_rwlock_unlock(&shard->lock);
    return process;
}

/* ---- making ---- */

int weir_mapping_history_new(struct weir_mapping_history **made)
{
    struct weir_mapping_history *history = aligned_alloc(WEIR_CACHE_LINE_BYTES, sizeof(*history));
    if (!history)
        return -ENOMEM;
    memset(history, 0, sizeof(*history));
    for (unsigned i = 0; i < WEIR_HISTORY_SHARDS; i++)
        pthread_rwlock_init(&history->shards[i].lock, NULL);
    *made = history;
    return 0;
}

void weir_mapping_history_free(struct weir_mapping_history *history)
{
    if (!history)
        return;
    for (unsigned i = 0; i < WEIR_HISTORY_SHARDS; i++) {
        for (unsigned k = 0; k < WEIR_HISTORY_BUCKETS; k++) {
            struct weir_history_process *process = history->shards[i].buckets[k];
            while (process) {
                struct weir_history_process *next = process->next;
                weir_history_process_free(history, process);
                process = next;
            }
        }
        pthread_rwlock_destroy(&history->shards[i].lock);
    }
    free(history);
}

struct weir_mapping_history_counts weir_mapping_history_count(const struct weir_mapping_history *history)
{
    return history->counts;
}

/* ---- changes ---- */

static bool is_before(const struct weir_history_change *a, const struct weir_history_change *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->kind < b->kind;
}

/* Makes room for one more change. The caller holds the shard. */
static bool make_room(struct weir_mapping_history *history, struct weir_history_process *process)
{
    if (process->count < process->room)
        return true;
    uint32_t room = process->room ? 2 * process->room : FIRST_ROOM;
    uint64_t more = (room - process->room) * sizeof(*process->log);
    if (history->counts.bytes + more > WEIR_TASK_MAPS_BYTES_MAX)
        return false;
    struct weir_history_change *log = reallocarray(process->log, room, sizeof(*log));
    if (!log)
        return false;
    history->counts.bytes += more;
    process->log = log;
    process->room = room;
    return true;
}

/* Of equal changes the one that came last is the newest. */
static void insert(struct weir_history_process *process, const struct weir_history_change *change)
{
    uint32_t at = process->count;
    while (at > 0 && is_before(change, &process->log[at - 1]))
        at--;
    memmove(process->log + at + 1, process->log + at, (process->count - at) * sizeof(*change));
    process->log[at] = *change;
    process->count++;
}

/* A new program, or a new process of that number: the time of unknown mappings is over. */
static void note_begin(struct weir_history_process *process, uint64_t time_ns)
{
    if (time_ns > process->unknown_from_ns && time_ns < process->unknown_until_ns)
        process->unknown_until_ns = time_ns;
    if (time_ns < process->begun_ns)
        return;
    process->begun_ns = time_ns;
    process->has_ended = false;
}

static void put(struct weir_mapping_history *history, pid_t pid, const struct weir_history_change *change)
{
    struct weir_history_process *process = find_or_add(history, pid);
    history->counts.changes++;
    if (!process) {
        history->counts.refused++;
        return;
    }
    if (process->count == WEIR_MAPPING_LOG_MAX)
        weir_history_fold(history, process, process->count / 2);
    struct weir_history_shard *shard = weir_history_shard_of(history, pid);
    pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
    process->heard_ns = weir_max_u64(process->heard_ns, change->time_ns);
    if (change->kind == WEIR_HISTORY_FORK || change->kind == WEIR_HISTORY_EXEC)
        note_begin(process, change->time_ns);
    if (change->time_ns == 0 || change->time_ns < process->maps_ns)
        weir_history_fold_late(history, process, change);
    else if (make_room(history, process))
        insert(process, change);
    else
        weir_history_refuse(history, process, change->time_ns);
    weir_test_point(WEIR_AT_HISTORY_PUT);
    pthread_rwlock_unlock(&shard->lock);
}

/* ---- records ---- */

static void apply_fork(struct weir_mapping_history *history, const struct weir_side_record *record)
{
    struct weir_history_process *process = weir_history_process_find(history, record->pid);
    const struct weir_history_change change = {
        .time_ns = record->time_ns, .end = UINT64_MAX, .parent = record->ppid, .kind = WEIR_HISTORY_FORK};
    if (record->tid != record->pid && process)
        process->heard_ns = weir_max_u64(process->heard_ns, record->time_ns);
    /* Of a synthesized process the mappings come, too. */
    if (record->tid == record->pid && record->time_ns != 0 && !(record->misc & PERF_RECORD_MISC_FORK_EXEC))
        put(history, record->pid, &change);
}

static void apply_comm(struct weir_mapping_history *history, const struct weir_side_record *record)
{
    const struct weir_history_change change = {
        .time_ns = record->time_ns, .end = UINT64_MAX, .kind = WEIR_HISTORY_EXEC};
    if ((record->misc & PERF_RECORD_MISC_COMM_EXEC) && record->tid == record->pid)
        put(history, record->pid, &change);
}

static void apply_exit(struct weir_mapping_history *history, const struct weir_side_record *record)
{
    struct weir_history_process *process = weir_history_process_find(history, record->pid);
    if (!process)
        return;
    struct weir_history_shard *shard = weir_history_shard_of(history, record->pid);
    pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
    process->heard_ns = weir_max_u64(process->heard_ns, record->time_ns);
    process->has_ended |= record->tid == record->pid && record->time_ns >= process->begun_ns;
    pthread_rwlock_unlock(&shard->lock);
}

static void apply_map(struct weir_mapping_history *history, const struct weir_side_record *record, uint32_t file)
{
    const struct weir_record_map *map = &record->map;
    const struct weir_history_change change = {
        .time_ns = record->time_ns,
        .start = map->start,
        .end = map->start + map->bytes,
        .page_offset = map->page_offset,
        .file = file,
        .kind = record->misc & PERF_RECORD_MISC_MMAP_DATA ? WEIR_HISTORY_CUT : WEIR_HISTORY_MAP,
    };
    if (map->cpumode == PERF_RECORD_MISC_USER && change.end > change.start)
        put(history, record->pid, &change);
}

/* Makes room by a shorter span. */
static void press(struct weir_mapping_history *history)
{
    for (uint64_t span_ns = WEIR_MAPPING_HISTORY_SPAN_NS / 2;
         span_ns >= SPAN_LEAST_NS && history->counts.bytes > PRESSED_BYTES; span_ns /= 2)
        weir_history_fold_all(history, span_ns);
    history->press_ns = history->newest_ns + PRESS_NS;
}

void weir_mapping_history_apply(struct weir_mapping_history *history, const struct weir_side_record *record,
                                uint32_t file)
{
    if (record->pid <= 0)
        return;
    history->newest_ns = weir_max_u64(history->newest_ns, record->time_ns);
    if (history->newest_ns >= history->fold_ns) {
        weir_history_fold_all(history, WEIR_MAPPING_HISTORY_SPAN_NS);
        history->fold_ns = history->newest_ns + WEIR_MAPPING_HISTORY_SPAN_NS / 8;
    }
    if (history->counts.bytes > PRESSED_BYTES && history->newest_ns >= history->press_ns)
        press(history);
    switch (record->type) {
    case PERF_RECORD_FORK:
        apply_fork(history, record);
        break;
    case PERF_RECORD_COMM:
        apply_comm(history, record);
        break;
    case PERF_RECORD_EXIT:
        apply_exit(history, record);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        apply_map(history, record, file);
        break;
    default:
        break;
    }
}

/* ---- searching ---- */

enum answer {
    NOTHING,
    MAPPING,
    ASK_PARENT,
};

struct search {
    pid_t pid;
    uint64_t time_ns, address;
    struct weir_unwind_mapping *mapping;
};

static enum answer answer_of(const struct search *search, uint64_t start, uint64_t page_offset, uint32_t file)
{
    *search->mapping = (struct weir_unwind_mapping){
        .start = start, .offset = page_offset, .has_file = file != WEIR_MAPPING_NO_FILE, .key = file};
    return MAPPING;
}

static enum answer search_maps(const struct search *search, const struct weir_task_mappings *maps)
{
    const struct weir_task_mapping *map = weir_task_mappings_find(maps, search->address);
    if (!map || map->since_ns > search->time_ns)
        return NOTHING;
    return answer_of(search, map->start, map->page_offset, map->file);
}

/* Turns the search to the parent with ASK_PARENT. */
static enum answer search_change(struct search *search, const struct weir_history_change *change)
{
    switch (change->kind) {
    case WEIR_HISTORY_MAP:
        return answer_of(search, change->start, change->page_offset, change->file);
    case WEIR_HISTORY_FORK:
        search->time_ns = change->time_ns;
        search->pid = change->parent;
        return change->is_settled ? search_maps(search, change->maps) : ASK_PARENT;
    default:
        return NOTHING;
    }
}

static enum answer search_process(struct search *search, const struct weir_history_process *process)
{
    uint64_t time_ns = search->time_ns;
    if (time_ns >= process->unknown_from_ns && time_ns < process->unknown_until_ns)
        return NOTHING;
    for (uint32_t i = process->count; i > 0; i--) {
        const struct weir_history_change *change = &process->log[i - 1];
        if (change->time_ns <= time_ns && search->address - change->start < change->end - change->start)
            return search_change(search, change);
    }
    return time_ns < process->floor_ns ? NOTHING : search_maps(search, process->maps);
}

bool weir_mapping_history_find(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address,
                               struct weir_unwind_mapping *mapping)
{
    struct weir_mapping_history *history = ctx;
    struct search search = {.pid = pid, .time_ns = time_ns, .address = address, .mapping = mapping};
    enum answer answer = ASK_PARENT;
    for (unsigned forks = 0; answer == ASK_PARENT && forks <= WEIR_MAPPING_FORKS_MAX; forks++) {
        struct weir_history_shard *shard = weir_history_shard_of(history, search.pid);
        pthread_rwlock_rdlock(&shard->lock); /* (history-shard) */
        struct weir_history_process *process = weir_history_process_find(history, search.pid);
        if (process && process->has_ended)
            atomic_store_explicit(&process->is_asked, true, memory_order_relaxed); /* a hint */
        answer = process ? search_process(&search, process) : NOTHING;
        weir_test_point(WEIR_AT_HISTORY_FIND);
        pthread_rwlock_unlock(&shard->lock);
    }
    return answer == MAPPING;
}
