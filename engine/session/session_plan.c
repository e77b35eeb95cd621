/*
 * Where a recording runs and what it takes: the placement plan with its housekeeping CPUs, and the budget. Coordinator
 * thread, before anything is opened.
 */
#include "engine/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/cgroup.h"
#include "engine/session/budget.h"
#include "topology/thread_affinity.h"
#include "topology/plan_housing.h"

#define FDS_OF_PART 2 /* of a reader's file in a directory */

uint64_t weir_session_places(const struct weir_session *session)
{
    if (session->per_thread && session->targets.count > 0)
        return session->targets.count;
    return weir_cpuset_count(&session->cpus) + weir_cpuset_count(&session->late_cpus);
}

/* With those that ask for something, and a sideband event for each list. */
static unsigned events_needed(const struct weir_record_options *options)
{
    const struct weir_event_list *const lists[] = {options->switch_on, options->snapshot_on.events};
    size_t count = options->events->count;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lists); i++)
        count += lists[i] && lists[i]->count > 0 ? lists[i]->count + 1 : 0;
    return (unsigned)count;
}

uint64_t weir_session_fds_needed(const struct weir_session *session, size_t tasks)
{
    const struct weir_record_options *options = session->options;
    unsigned cpus = session->per_thread ? 1 : (unsigned)weir_session_places(session);
    unsigned readers = session->plan.reader_count;
    uint64_t apart = options->inherit_stat ? tasks : 0; /* one for each target */
    uint64_t parts = options->output_kind == WEIR_RECORD_OUTPUT_DIRECTORY ? readers : 0;
    return weir_budget_fds(events_needed(options), cpus, (unsigned)weir_max_u64(tasks, 1), readers) + apart +
           parts * FDS_OF_PART + weir_cgroup_count_fds(options->events);
}

int weir_session_plan(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    struct weir_cpuset quiet = WEIR_CPUSET_INIT, efficient = WEIR_CPUSET_INIT;
    int result = options->efficient_readers ? weir_topology_efficient_cpus(&efficient, err) : 0;
    if (result < 0)
        return result;
    /* A machine that is only described has no kernel that was told anything. */
    if (weir_topology_is_this_machine(session->topology) && weir_quiet_cpus_read(&quiet, "") < 0)
        result = weir_error_set_errno(err, -ENOMEM, "cannot plan the readers");
    const struct weir_plan_housing housing = {
        .reader_cpus = options->reader_cpus,
        .efficient = options->efficient_readers ? &efficient : NULL,
        .quiet = &quiet,
    };
    if (result == 0)
        result = weir_plan_make_housed(&session->plan, &session->house, session->topology, &session->cpus,
                                       options->threads_spec, &housing, options->notices, err);
    weir_cpuset_fini(&efficient);
    weir_cpuset_fini(&quiet);
    return result;
}

void weir_session_enter_house(struct weir_session *session)
{
    if (weir_cpuset_is_empty(&session->house) || !weir_topology_is_this_machine(session->topology))
        return;
    /* Neither can do harm when it fails: threads that are no readers then run where they did. */
    if (weir_thread_affinity(&session->outside) == 0)
        weir_thread_pin(&session->house);
}

void weir_session_leave_house(struct weir_session *session)
{
    weir_thread_pin(&session->outside); /* nothing, when it is empty */
    weir_cpuset_fini(&session->outside);
    session->outside = (struct weir_cpuset)WEIR_CPUSET_INIT;
}

static void tell_readers(const struct weir_session *session)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&session->plan, &text);
    char *rest = NULL, *copy = strdup(weir_buf_str(&text));
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        weir_notice(session->options->notices, WEIR_NOTICE_VERBOSE, "%s", line);
    free(copy);
    weir_buf_fini(&text);
}

/* As perf does: a file cannot end before there is something in it. Of what is kept in memory nothing wakes anybody. */
static void tell_of_larger_files(const struct weir_session *session)
{
    const struct weir_record_options *options = session->options;
    uint64_t bytes = options->switching.bytes, watermark = session->ring_bytes / WEIR_RING_WATERMARK_SHARE;
    bool gathers = !options->samples.no_buffering && session->retained_bytes == 0 && !session->overwrite;
    if (gathers && bytes > 0 && bytes < watermark)
        weir_notice(
            options->notices, WEIR_NOTICE_WARNING,
            "files get larger than the size of --switch-output: a ring wakes its reader when it holds %llu KiB (-m)",
            (unsigned long long)(watermark >> 10));
}

/* How many are named, as of now: they are listed again when they are attached to, and who is missing is told then. */
static size_t count_tasks(const struct weir_session *session)
{
    struct weir_targets targets;
    if (!weir_session_has_tasks(session) || weir_targets_find(&targets, &session->options->target, NULL, NULL) < 0)
        return 0;
    size_t count = targets.count;
    weir_targets_fini(&targets);
    return count;
}

unsigned weir_session_compression_threads(const struct weir_session *session)
{
    if (session->options->compression_level == 0)
        return 0;
    return weir_compressor_default_workers(weir_cpuset_count(weir_topology_online(session->topology)));
}

static struct weir_compressor_memory compression_memory(const struct weir_session *session, uint64_t pool_bytes)
{
    unsigned workers = weir_session_compression_threads(session);
    if (workers == 0)
        return (struct weir_compressor_memory){0};
    return weir_compressor_memory_of(&(struct weir_compressor_setup){
        .level = session->options->compression_level,
        .workers = workers,
        .chunk_bytes = weir_pool_chunk_bytes(pool_bytes, session->plan.reader_count),
    });
}

int weir_session_describe_plan(const struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    size_t tasks = count_tasks(session);
    tell_readers(session);
    tell_of_larger_files(session);
    weir_session_describe_memory(session);
    uint64_t pool_bytes = session->buffer_bytes + session->retained_bytes;
    const struct weir_budget_input input = {
        .places = weir_cpuset_count(&session->cpus),
        .readers = session->plan.reader_count,
        .events = (unsigned)options->events->count,
        .tasks = (unsigned)weir_max_u64(tasks, 1),
        .ring_bytes = session->ring_bytes,
        .sideband_ring_bytes = session->sideband_ring_bytes,
        .aux_area_bytes = session->aux.area_bytes,
        .pool_bytes = pool_bytes,
        .pool_grows = session->grow_pool,
        .sideband = !options->no_build_ids,
        .page_bytes = session->limits.page_bytes,
        .compression_threads = weir_session_compression_threads(session),
        .compression = compression_memory(session, pool_bytes),
    };
    struct weir_budget budget;
    weir_budget_compute(&budget, &input);
    if (session->per_thread) /* how large they are follows from the list that is attached to */
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "memory: rings for each task, pool %llu MiB",
                    (unsigned long long)(session->buffer_bytes >> 20));
    else
        weir_budget_tell(&budget, &input, options->notices);
    weir_budget_tell_fds(weir_session_fds_needed(session, tasks), &session->limits, options->notices);
    if (session->memory_limit.bytes < weir_topology_memory_bytes(session->topology))
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE,
                    "memory: the cgroup allows %llu MiB, of which rings take none",
                    (unsigned long long)(session->memory_limit.bytes >> 20));
    return weir_budget_check(&budget, &session->memory_limit, err);
}
