/*
 * The build-id thread, and weir_sideband_copy_build_ids(), which lists the ids read so far. The thread may hang in a
 * file system for any time, so every wait for it has a bound. It releases the lock while it reads, and runs at nice 10
 * until recording has ended.
 */
#include "engine/tasks/sideband_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/kernel/privileges.h"
#include "engine/kernel/test_point.h"

#define NAME_BYTES 4096u /* PATH_MAX */

/* Reads the id of one file. False: none waits to be read. */
static bool read_next(struct weir_sideband *sideband)
{
    uint32_t index = weir_mapped_files_next_new(&sideband->files);
    if (index == WEIR_MAPPED_NONE)
        return false;
    struct weir_mapped_file file = sideband->files.all[index];
    char name[NAME_BYTES];
    size_t length = strnlen(weir_mapped_files_name(&sideband->files, index), sizeof(name) - 1);
    memcpy(name, weir_mapped_files_name(&sideband->files, index), length);
    name[length] = '\0';

    const struct weir_mapped_file_roots roots = sideband->setup.roots;
    struct weir_build_id id = {0};
    sideband->reading_since_ns = weir_clock_now_ns(&weir_clock_monotonic);
    pthread_mutex_unlock(&sideband->lock);
    int result = sideband->setup.read_id(&file, name, &roots, &id);
    uint64_t cpu_time_ns = weir_clock_thread_cpu_ns();
    weir_test_point(WEIR_AT_SIDE_UNLOCKED);
    pthread_mutex_lock(&sideband->lock);
    if (sideband->left_behind)
        return false;
    sideband->reading_since_ns = 0;
    sideband->counts.ids_cpu_time_ns = cpu_time_ns;
    weir_mapped_files_note_id(&sideband->files, index, &id, result < 0 && result != -ENODATA);
    if (sideband->setup.supply)
        weir_unwind_supply_note_id(sideband->setup.supply, &sideband->files, index);
    return true;
}

void *weir_sideband_ids_main(void *argument)
{
    struct weir_sideband *sideband = argument;
    bool is_nice = true;
    weir_privileges_limit(WEIR_PRIVILEGES_BUILD_IDS);
    pthread_mutex_lock(&sideband->lock);
    weir_sideband_thread_begin(sideband, &sideband->ids);
    while (!sideband->left_behind) {
        if (sideband->stopping && is_nice) /* the coordinator waits now; where this is refused, a little longer */
            setpriority(PRIO_PROCESS, (id_t)sideband->ids.tid, 0);
        is_nice = !sideband->stopping;
        if (read_next(sideband))
            continue;
        if (sideband->took_all || sideband->left_behind)
            break;
        pthread_cond_wait(&sideband->unread, &sideband->lock);
    }
    weir_sideband_thread_end(sideband, &sideband->ids);
    return NULL;
}

static bool has_unread(const struct weir_sideband *sideband)
{
    return sideband->setup.read_build_ids &&
           (sideband->reading_since_ns != 0 || sideband->files.first_new != WEIR_MAPPED_NONE);
}

/* Whether the read of the present file has already taken that long: a caller need not wait for it again. */
static bool hangs(const struct weir_sideband *sideband, uint64_t now_ns, unsigned timeout_ms)
{
    return sideband->reading_since_ns != 0 && now_ns - sideband->reading_since_ns >= timeout_ms * WEIR_NS_PER_MS;
}

static bool is_worth_waiting(const struct weir_sideband *sideband, uint64_t until_ns, unsigned timeout_ms)
{
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    return has_unread(sideband) && !sideband->ids.is_done && !sideband->left_behind && now_ns < until_ns &&
           !hangs(sideband, now_ns, timeout_ms);
}

/* Copies the names, which the table owns, behind the entries. Under the lock. */
static int copy_entries(const struct weir_build_id_entry *entries, size_t count, struct weir_build_id_entry **copies)
{
    size_t names = 0;
    for (size_t i = 0; i < count; i++)
        names += strlen(entries[i].name) + 1;
    struct weir_build_id_entry *copy = malloc(weir_max_u64(count * sizeof(*copy) + names, 1));
    if (!copy)
        return -ENOMEM;
    char *name = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = strlen(entries[i].name) + 1;
        copy[i] = entries[i];
        copy[i].name = memcpy(name, entries[i].name, bytes);
        name += bytes;
    }
    *copies = copy;
    return 0;
}

int weir_sideband_copy_build_ids(struct weir_sideband *sideband, uint32_t output, unsigned timeout_ms,
                                 const struct weir_sideband_patience *patience, struct weir_build_id_entry **entries,
                                 size_t *count)
{
    struct weir_build_id_entry *borrowed = NULL;
    size_t found = 0;
    uint64_t until_ns = weir_clock_now_ns(&weir_clock_monotonic) + timeout_ms * WEIR_NS_PER_MS;
    weir_sideband_lock(sideband, patience);
    while (is_worth_waiting(sideband, until_ns, timeout_ms)) {
        pthread_mutex_unlock(&sideband->lock);
        weir_clock_pause_ns(WEIR_SIDEBAND_BUSY_PAUSE_MS * WEIR_NS_PER_MS);
        weir_sideband_lock(sideband, patience);
    }
    int result = weir_mapped_files_list(&sideband->files, output, &borrowed, &found);
    if (result == 0)
        result = copy_entries(borrowed, found, entries);
    pthread_mutex_unlock(&sideband->lock);
    free(borrowed);
    if (result == 0)
        *count = found;
    return result;
}
