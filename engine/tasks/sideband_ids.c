/*
 * The thread that reads build ids of mapped files, on whatever file systems they are: it may hang there for any time,
 * and nobody waits for it without a bound (sideband.h). It gives the lock away while it reads. At nice 10 until
 * recording has ended.
 */
#include "engine/tasks/sideband_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "engine/kernel/test_point.h"

#define NAME_BYTES 4096u /* PATH_MAX */

/* Reads one; false when there is none to read. */
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
    sideband->files.all[index].build_id = id;
    sideband->files.all[index].unreadable = result < 0 && result != -ENODATA;
    return true;
}

void *weir_sideband_ids_main(void *argument)
{
    struct weir_sideband *sideband = argument;
    bool is_nice = true;
    pthread_mutex_lock(&sideband->lock);
    weir_sideband_thread_begin(sideband, &sideband->ids);
    while (!sideband->left_behind) {
        if (sideband->stopping && is_nice) /* the coordinator waits now; where it is refused, a little longer */
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
