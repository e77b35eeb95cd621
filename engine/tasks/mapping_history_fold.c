/* Moves changes from logs into maps. Run by the writer, which changes no maps that a reader may see but under the lock
 * of their shard. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/kernel/test_point.h"
#include "engine/tasks/mapping_history_internal.h"

void weir_history_refuse(struct weir_mapping_history *history, struct weir_history_process *process, uint64_t time_ns)
{
    uint64_t until_ns = process->begun_ns > time_ns ? process->begun_ns : UINT64_MAX;
    history->counts.refused++;
    process->unknown_from_ns = weir_min_u64(process->unknown_from_ns, time_ns);
    process->unknown_until_ns = weir_max_u64(process->unknown_until_ns, until_ns);
}

/* ---- changes into maps ---- */

static uint32_t count_until(const struct weir_history_process *process, uint64_t time_ns)
{
    uint32_t count = process->count;
    while (count > 0 && process->log[count - 1].time_ns > time_ns)
        count--;
    return count;
}

/* Returns the number of the newest of the first `count` changes that covers all addresses; `count`: none does. */
static uint32_t find_begin(const struct weir_history_process *process, uint32_t count)
{
    for (uint32_t i = count; i > 0; i--) {
        enum weir_history_kind kind = process->log[i - 1].kind;
        if (kind == WEIR_HISTORY_FORK || kind == WEIR_HISTORY_EXEC)
            return i - 1;
    }
    return count;
}

/* Puts [start, end) of a MAP or a CUT into maps. 0 or -errno. */
static int put_part(struct weir_task_mappings **maps, const struct weir_history_change *change, uint64_t start,
                    uint64_t end, uint64_t *bytes)
{
    const struct weir_task_mapping mapping = {
        .start = start,
        .end = end,
        .page_offset = change->page_offset + (start - change->start),
        .since_ns = change->time_ns,
        .file = change->file,
    };
    return weir_task_mappings_replace(maps, start, end, change->kind == WEIR_HISTORY_MAP ? &mapping : NULL, bytes);
}

/* Puts the changes [first, end) of a process into maps. Returns the number of the first without room; `end`: none. */
static uint32_t put_all(struct weir_mapping_history *history, struct weir_task_mappings **maps,
                        const struct weir_history_process *process, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        const struct weir_history_change *change = &process->log[i];
        if (put_part(maps, change, change->start, change->end, &history->counts.bytes) < 0)
            return i;
    }
    return end;
}

/* ---- the state at a time ---- */

/* Removes maps that are newer than a time. Where there is no memory for it, all. */
static struct weir_task_mappings *without_newer(struct weir_mapping_history *history, struct weir_task_mappings *maps,
                                                uint64_t time_ns)
{
    for (uint32_t i = 0; maps && i < maps->count;) {
        const struct weir_task_mapping map = maps->all[i];
        if (map.since_ns <= time_ns) {
            i++;
        } else if (weir_task_mappings_replace(&maps, map.start, map.end, NULL, &history->counts.bytes) < 0) {
            weir_task_mappings_drop(maps, &history->counts.bytes);
            return NULL;
        }
    }
    return maps;
}

/* Returns the maps of a process before its log, as of a time that may be older; NULL: none. The caller drops them. */
static struct weir_task_mappings *share_maps(struct weir_mapping_history *history,
                                             const struct weir_history_process *process, uint64_t time_ns)
{
    if (time_ns < process->floor_ns)
        return NULL;
    struct weir_task_mappings *maps = weir_task_mappings_share(process->maps);
    return time_ns < process->maps_ns ? without_newer(history, maps, time_ns) : maps;
}

/*
 * Returns the maps of process pid as of a time: NULL if there are none, or no room for them. The caller drops them.
 * Goes up from child to parent, and then puts the changes of each process into the maps on its way down.
 */
static struct weir_task_mappings *maps_at(struct weir_mapping_history *history, pid_t pid, uint64_t time_ns)
{
    struct {
        const struct weir_history_process *process;
        uint32_t first, end; /* of its changes since the begin */
    } line[WEIR_MAPPING_FORKS_MAX];
    struct weir_task_mappings *maps = NULL;
    unsigned depth = 0;
    for (bool is_at_top = false; !is_at_top;) {
        const struct weir_history_process *process = weir_history_process_find(history, pid);
        if (depth == WEIR_MAPPING_FORKS_MAX)
            return NULL;
        if (!process || (time_ns >= process->unknown_from_ns && time_ns < process->unknown_until_ns))
            break;
        uint32_t count = count_until(process, time_ns), begin = find_begin(process, count);
        const struct weir_history_change *change = begin < count ? &process->log[begin] : NULL;
        is_at_top = !change || change->kind == WEIR_HISTORY_EXEC || change->is_settled;
        line[depth].process = process;
        line[depth].first = change ? begin + 1 : 0;
        line[depth++].end = count;
        if (!change)
            maps = share_maps(history, process, time_ns);
        else if (is_at_top)
            maps = weir_task_mappings_share(change->maps);
        if (!is_at_top) {
            pid = change->parent;
            time_ns = change->time_ns;
        }
    }
    while (depth-- > 0) {
        if (put_all(history, &maps, line[depth].process, line[depth].first, line[depth].end) == line[depth].end)
            continue;
        weir_task_mappings_drop(maps, &history->counts.bytes);
        return NULL;
    }
    return maps;
}

/* ---- folding ---- */

/* Has the newest fork among the first `count` changes stand for itself, unless an exec follows it. */
static void settle_fork(struct weir_mapping_history *history, struct weir_history_process *process, uint32_t count)
{
    uint32_t begin = find_begin(process, count);
    if (begin == count || process->log[begin].kind != WEIR_HISTORY_FORK || process->log[begin].is_settled)
        return;
    struct weir_history_change *fork = &process->log[begin];
    struct weir_task_mappings *maps = maps_at(history, fork->parent, fork->time_ns);
    struct weir_history_shard *shard = weir_history_shard_of(history, process->pid);
    pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
    fork->maps = maps;
    fork->is_settled = true;
    pthread_rwlock_unlock(&shard->lock);
}

/* Removes the first `count` changes. The caller holds the shard. */
static void remove_changes(struct weir_mapping_history *history, struct weir_history_process *process, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        weir_task_mappings_drop(process->log[i].maps, &history->counts.bytes);
    process->count -= count;
    memmove(process->log, process->log + count, process->count * sizeof(*process->log));
    if (process->count > 0)
        return;
    history->counts.bytes -= process->room * sizeof(*process->log);
    free(process->log);
    process->log = NULL;
    process->room = 0;
}

void weir_history_fold(struct weir_mapping_history *history, struct weir_history_process *process, uint32_t count)
{
    if (count == 0)
        return;
    settle_fork(history, process, count);
    uint32_t begin = find_begin(process, count), first = begin < count ? begin + 1 : 0;
    struct weir_task_mappings *old = process->maps;
    struct weir_task_mappings *maps = weir_task_mappings_share(begin < count ? process->log[begin].maps : old);
    uint32_t refused = put_all(history, &maps, process, first, count);

    struct weir_history_shard *shard = weir_history_shard_of(history, process->pid);
    pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
    if (refused < count)
        weir_history_refuse(history, process, process->log[refused].time_ns);
    if (begin < count)
        process->floor_ns = process->log[begin].time_ns;
    process->maps = maps;
    process->maps_ns = process->log[count - 1].time_ns;
    remove_changes(history, process, count);
    weir_test_point(WEIR_AT_HISTORY_FOLD);
    pthread_rwlock_unlock(&shard->lock);
    weir_task_mappings_drop(old, &history->counts.bytes);
}

/* Whether no search needs the process any more. */
static bool is_over(struct weir_mapping_history *history, struct weir_history_process *process, uint64_t settled_ns)
{
    if (!process->has_ended || process->count > 0 || process->heard_ns > settled_ns)
        return false;
    if (!atomic_exchange_explicit(&process->is_asked, false, memory_order_relaxed)) /* a hint */
        return true;
    process->heard_ns = history->newest_ns;
    return false;
}

static void fold_bucket(struct weir_mapping_history *history, struct weir_history_shard *shard,
                        struct weir_history_process **link, uint64_t settled_ns)
{
    while (*link) {
        struct weir_history_process *process = *link;
        weir_history_fold(history, process, count_until(process, settled_ns));
        if (!is_over(history, process, settled_ns)) {
            link = &process->next;
            continue;
        }
        pthread_rwlock_wrlock(&shard->lock); /* (history-shard) */
        *link = process->next;
        pthread_rwlock_unlock(&shard->lock);
        weir_history_process_free(history, process);
    }
}

void weir_history_fold_all(struct weir_mapping_history *history, uint64_t span_ns)
{
    uint64_t settled_ns = history->newest_ns - weir_min_u64(history->newest_ns, span_ns);
    /* All forks first: a parent that is folded no longer knows what it had at the time of an older fork. */
    for (unsigned i = 0; i < WEIR_HISTORY_SHARDS; i++) {
        for (unsigned k = 0; k < WEIR_HISTORY_BUCKETS; k++) {
            for (struct weir_history_process *process = history->shards[i].buckets[k]; process; process = process->next)
                settle_fork(history, process, count_until(process, settled_ns));
        }
    }
    for (unsigned i = 0; i < WEIR_HISTORY_SHARDS; i++) {
        for (unsigned k = 0; k < WEIR_HISTORY_BUCKETS; k++)
            fold_bucket(history, &history->shards[i], &history->shards[i].buckets[k], settled_ns);
    }
}

/* ---- late changes ---- */

/* Returns the first map in [start, end) that is newer than a time; NULL: none. */
static const struct weir_task_mapping *find_newer(const struct weir_task_mappings *maps, uint64_t start, uint64_t end,
                                                  uint64_t time_ns)
{
    for (uint32_t i = 0; maps && i < maps->count && maps->all[i].start < end; i++) {
        if (maps->all[i].end > start && maps->all[i].since_ns > time_ns)
            return &maps->all[i];
    }
    return NULL;
}

/* Puts a MAP or a CUT where nothing newer is. */
static int put_between(struct weir_mapping_history *history, struct weir_history_process *process,
                       const struct weir_history_change *change)
{
    int result = 0;
    for (uint64_t at = change->start; result == 0 && at < change->end;) {
        const struct weir_task_mapping *newer =
            change->time_ns < process->maps_ns ? find_newer(process->maps, at, change->end, change->time_ns) : NULL;
        uint64_t end = newer ? newer->start : change->end, next = newer ? newer->end : change->end;
        if (at < end)
            result = put_part(&process->maps, change, at, end, &history->counts.bytes);
        at = next;
    }
    return result;
}

void weir_history_fold_late(struct weir_mapping_history *history, struct weir_history_process *process,
                            const struct weir_history_change *change)
{
    if (change->time_ns < process->floor_ns)
        return;
    if (change->kind == WEIR_HISTORY_MAP || change->kind == WEIR_HISTORY_CUT) {
        if (put_between(history, process, change) < 0)
            weir_history_refuse(history, process, change->time_ns);
        return;
    }
    /* An exec, or a fork whose parent may have changed since: only newer mappings are known. */
    struct weir_task_mappings *maps = NULL;
    for (uint32_t i = 0; process->maps && i < process->maps->count; i++) {
        const struct weir_task_mapping *map = &process->maps->all[i];
        if (map->since_ns > change->time_ns &&
            weir_task_mappings_replace(&maps, map->start, map->end, map, &history->counts.bytes) < 0)
            weir_history_refuse(history, process, change->time_ns);
    }
    weir_task_mappings_drop(process->maps, &history->counts.bytes);
    process->maps = maps;
    process->floor_ns = change->time_ns;
}
