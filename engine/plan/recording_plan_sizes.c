/* Sizes of rings, chunk pool and memory for samples; see recording_plan.h. Coordinator thread. */
#include <errno.h>
#include <limits.h>

#include "base/bits.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_stage.h"
#include "engine/drain/pipeline.h"
#include "engine/drain/retention.h"
#include "engine/events/cgroup.h"
#include "engine/events/event_set.h"
#include "engine/kernel/ring.h"
#include "engine/plan/budget.h"
#include "engine/plan/recording_plan_internal.h"

#define MACHINE_FOR_CGROUP 8 /* a machine with 8 times the memory gives a recording as much as the cgroup does */

/* Without context switches, for which no option asks there, a CPU has some hundred bytes of side records for each
 * execve(2) and library. */
#define SIDE_ONLY_RING_BYTES (128ull << 10)

#define MEMORY_SHARE            4 /* live, spare, and snapshots of all AUX areas get at most this part of memory each */
#define PASSING_PER_READER      (8ull << 20) /* for side records, and for samples while a snapshot is written */
#define AUX_PAGES_LEAST         2            /* least size of an AUX area whose size the user did not name */
#define AUX_CHUNKS_PER_READER   4u           /* for all other records while a snapshot of AUX areas is taken */
#define TABLES_SHARE            64           /* unwind tables get at most this part of memory */
#define TABLES_WORKER_MAX_BYTES (64ull << 20)
#define POOL_SHARE_OF_FREE      4 /* --on-full=rotate: the pool gets at most this part of the free disk space */

uint64_t weir_recording_plan_places(const struct weir_recording_plan *plan)
{
    if (plan->tasks > 0)
        return plan->tasks;
    uint64_t late = plan->options->targets.cpus ? 0 : weir_cpuset_count(&plan->machine->late_cpus);
    return weir_cpuset_count(&plan->cpus) + late;
}

uint64_t weir_recording_plan_side_only_cpus(const struct weir_recording_plan *plan)
{
    uint64_t late = plan->options->targets.cpus ? weir_cpuset_count(&plan->machine->late_cpus) : 0;
    return weir_cpuset_count(&plan->side_cpus) + late;
}

/* Returns the number of events at recorded places, including those that ask for rotations and snapshots, and a sideband
 * event for each of their lists. */
static unsigned sample_events(const struct weir_record_options *options)
{
    const struct weir_event_list *const lists[] = {options->rotation.events, options->snapshot.on.events};
    size_t count = 0;
    for (size_t i = 0; i < options->events->count; i++)
        count += !options->events->events[i].sideband;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lists); i++)
        count += lists[i] && lists[i]->count > 0 ? lists[i]->count + 1 : 0;
    return (unsigned)count;
}

uint64_t weir_recording_plan_descriptors(const struct weir_recording_plan *plan, const struct weir_targets *targets)
{
    bool per_thread = weir_recording_plan_per_thread(plan);
    size_t count = 0;
    for (size_t i = 0; i < plan->options->events->count; i++)
        count += plan->options->events->events[i].sideband;
    struct weir_event_set_size size = {
        .sample_events = sample_events(plan->options),
        .sample_places = per_thread ? 1 : (unsigned)weir_recording_plan_places(plan),
        .sample_tasks = (unsigned)weir_max_u64(targets->count, 1),
        .side_events = (unsigned)count,
    };
    size.side_places = size.sample_places + (unsigned)weir_recording_plan_side_only_cpus(plan);
    size.side_tasks = size.sample_tasks + (unsigned)targets->sibling_count;
    return weir_event_set_fds_needed(&size);
}

uint64_t weir_recording_plan_fds_needed(const struct weir_recording_plan *plan, const struct weir_targets *targets)
{
    const struct weir_record_options *options = plan->options;
    uint64_t apart = options->targets.inherit_stat ? targets->count : 0; /* one descriptor for each target */
    return weir_budget_fds(weir_recording_plan_descriptors(plan, targets), plan->placement.reader_count) + apart +
           weir_cgroup_count_fds(options->events);
}

static unsigned stage_workers(const struct weir_recording_plan *plan)
{
    return weir_chunk_stage_default_workers(weir_cpuset_count(weir_topology_online(plan->machine->topology)));
}

struct weir_chunk_stage_setup weir_recording_plan_stage(const struct weir_recording_plan *plan,
                                                        const struct weir_stage_steps *steps)
{
    struct weir_chunk_stage_setup setup = {.level = plan->options->output.compression_level};
    if (weir_modes_have(&plan->modes, WEIR_MODE_DEFER))
        setup.rewriters[setup.rewriter_count++] = weir_join_step_rewriter(steps ? steps->join : NULL);
    if (plan->unwinds)
        setup.rewriters[setup.rewriter_count++] = weir_unwind_step_rewriter(steps ? steps->unwind : NULL);
    if (plan->options->samples.aggregate.interval_ns) /* after them: stacks and cookies are hardly ever equal */
        setup.rewriters[setup.rewriter_count++] = weir_aggregate_rewriter(steps ? steps->aggregate : NULL);
    setup.holds = plan->unwinds != NULL; /* a stack may need a mapping that another reader drains */
    if (weir_chunk_stage_is_needed(&setup))
        setup.workers = stage_workers(plan);
    return setup;
}

uint64_t weir_recording_plan_tables_bytes(const struct weir_recording_plan *plan)
{
    uint64_t share = weir_machine_facts_memory_bytes(plan->machine) / TABLES_SHARE;
    return plan->unwinds ? weir_min_u64(share, stage_workers(plan) * TABLES_WORKER_MAX_BYTES) : 0;
}

/* ---- rings and pool ---- */

static void set_watermarks(struct weir_recording_plan *plan)
{
    uint64_t bytes = plan->ring_bytes / WEIR_RING_WATERMARK_SHARE;
    plan->config.watermark_bytes = (uint32_t)weir_min_u64(bytes, UINT32_MAX);
    plan->config.sideband_watermark_bytes = (uint32_t)(plan->sideband_ring_bytes / WEIR_RING_WATERMARK_SHARE);
    plan->config.side_only_watermark_bytes = (uint32_t)(plan->side_only_ring_bytes / WEIR_RING_WATERMARK_SHARE);
}

static void choose_rings(struct weir_recording_plan *plan)
{
    const struct weir_record_options *options = plan->options;
    uint64_t memory = weir_topology_memory_bytes(plan->machine->topology);
    unsigned places = weir_cpuset_count(&plan->cpus);
    struct weir_kernel_limits limits = plan->machine->limits;
    if (plan->tasks > 0) {
        /* The memory that the kernel allows for each CPU goes to the tasks instead. */
        unsigned cpus = weir_cpuset_count(weir_topology_online(plan->machine->topology));
        places = (unsigned)plan->tasks;
        limits.mlock_kb = weir_min_u64(limits.mlock_kb * cpus / places, limits.mlock_kb);
    }
    struct weir_ring_sizes sizes = weir_ring_bytes_choose(&limits, memory, places);
    plan->ring_bytes = options->memory.ring_bytes ? options->memory.ring_bytes : sizes.data_bytes;
    if (options->memory.ring_bytes == 0 && plan->aux.data_ring_bytes_wanted > 0)
        plan->ring_bytes = weir_min_u64(plan->ring_bytes, plan->aux.data_ring_bytes_wanted);
    plan->sideband_ring_bytes = sizes.sideband_bytes; /* -m is for samples: side records need their own room */
    plan->side_only_ring_bytes = weir_min_u64(sizes.sideband_bytes, SIDE_ONLY_RING_BYTES);
    bool has_switches = options->samples.switch_events || plan->aux.switches != WEIR_AUX_SWITCHES_AS_ASKED;
    if (has_switches && weir_kernel_limits_rings_are_free(&plan->machine->limits))
        plan->sideband_ring_bytes = plan->ring_bytes; /* there are as many context switches as samples, or more */
}

static void choose_pool(struct weir_recording_plan *plan)
{
    uint64_t memory = weir_topology_memory_bytes(plan->machine->topology);
    uint64_t limit = plan->machine->memory_limit.bytes;
    uint64_t asked = plan->options->memory.buffer_bytes;
    plan->grow_pool = asked == 0;
    /* A cgroup exists for the programs in it. So the pool gets a quarter of a cgroup, where it gets a thirty-second
     * part of a machine. */
    uint64_t spare = limit < memory / MACHINE_FOR_CGROUP ? limit * MACHINE_FOR_CGROUP : memory;
    plan->buffer_bytes = asked ? asked : weir_pool_default_bytes(spare, plan->placement.reader_count);
}

/* ---- samples in memory ---- */

/* --overwrite: the pool takes all rings at once, in whole chunks. So a snapshot does not wait for the disk while the
 * rings are paused. */
static void fit_pool_to_overwritten_rings(struct weir_recording_plan *plan)
{
    uint64_t rings_bytes = plan->ring_bytes * weir_recording_plan_places(plan);
    uint64_t wanted = weir_max_u64(plan->buffer_bytes, weir_align_up(rings_bytes, WEIR_CHUNK_MAX_BYTES));
    plan->grow_pool = false;
    if (plan->options->memory.buffer_bytes == 0)
        plan->buffer_bytes = weir_min_u64(wanted, weir_machine_facts_memory_bytes(plan->machine) / MEMORY_SHARE);
}

static int refuse_retained(const struct weir_recording_plan *plan, uint64_t memory, struct weir_error *err)
{
    unsigned readers = plan->placement.reader_count;
    weir_error_set(err, -EINVAL, "cannot keep %llu MiB in memory: %s has %llu MiB",
                   (unsigned long long)(plan->retained_bytes >> 20),
                   memory == plan->machine->memory_limit.bytes ? "its cgroup" : "the machine",
                   (unsigned long long)(memory >> 20));
    weir_error_hint(err, "at most a quarter of it, -M %lluM; each of %u readers needs %u KiB or more, see --threads",
                    (unsigned long long)(memory / MEMORY_SHARE >> 20), readers,
                    WEIR_RETENTION_CHUNKS_MIN * WEIR_CHUNK_MIN_BYTES >> 10);
    return -EINVAL;
}

/* -M: sizes the memory for samples. Returns 0, or -EINVAL with err: the machine has too little memory. */
static int choose_retained(struct weir_recording_plan *plan, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    uint64_t memory = weir_machine_facts_memory_bytes(plan->machine);
    unsigned readers = plan->placement.reader_count;
    uint64_t bytes = options->memory.retained_bytes;
    if (bytes == 0 && options->memory.retained_span_ns == 0)
        return 0;
    if (bytes == 0)
        bytes = weir_retention_default_bytes(memory, readers);
    plan->retained_bytes = weir_retention_plan(bytes, options->memory.retained_span_ns, readers).bytes;
    if (plan->retained_bytes > bytes)
        weir_notice(options->notices, WEIR_NOTICE_INFO, "raising -M from %llu to %llu bytes, the least for %u %s",
                    (unsigned long long)bytes, (unsigned long long)plan->retained_bytes, readers,
                    readers == 1 ? "reader" : "readers");
    if (plan->retained_bytes > memory / MEMORY_SHARE)
        return refuse_retained(plan, memory, err);
    plan->grow_pool = false; /* a recording of days needs its memory from the start */
    if (options->memory.buffer_bytes == 0)
        plan->buffer_bytes = weir_min_u64(plan->buffer_bytes, readers * PASSING_PER_READER);
    return 0;
}

/* ---- AUX areas ---- */

/* Makes the pool large enough for a snapshot of all AUX areas at once. Each area is one record, and no reader may wait
 * for chunks that waiting readers hold. */
static int fit_pool_to_aux_snapshot(struct weir_recording_plan *plan, struct weir_error *err)
{
    if (plan->aux.mode != WEIR_AUX_SNAPSHOT)
        return 0;
    uint64_t each = weir_align_up(plan->aux.snapshot_bytes, WEIR_CHUNK_MAX_BYTES) + WEIR_CHUNK_MAX_BYTES;
    uint64_t chunks = (uint64_t)plan->placement.reader_count * AUX_CHUNKS_PER_READER;
    uint64_t needed = weir_recording_plan_places(plan) * each + chunks * WEIR_CHUNK_MAX_BYTES;
    uint64_t named = plan->options->memory.buffer_bytes;
    if (named == 0 && needed <= weir_machine_facts_memory_bytes(plan->machine) / MEMORY_SHARE) {
        plan->buffer_bytes = weir_max_u64(plan->buffer_bytes, needed);
        return 0;
    }
    if (named >= needed)
        return 0;
    weir_error_set(err, -EINVAL, "the buffer takes no snapshot of all AUX areas: that is %llu MiB",
                   (unsigned long long)(needed >> 20));
    weir_error_hint(err,
                    "-S with a size below %llu KiB, smaller areas (-m ,SIZE), fewer CPUs (-C), or --buffer-size %lluM",
                    (unsigned long long)(plan->aux.snapshot_bytes >> 10), (unsigned long long)(needed >> 20) + 1);
    return -EINVAL;
}

static void shrink_aux(struct weir_recording_plan *plan)
{
    if (plan->options->aux.area_bytes > 0 || plan->aux.area_bytes <= AUX_PAGES_LEAST * plan->machine->limits.page_bytes)
        return;
    plan->aux.area_bytes /= 2;
    plan->aux.snapshot_bytes = weir_min_u64(plan->aux.snapshot_bytes, plan->aux.area_bytes);
}

/* ---- the disk ---- */

/* --on-full=rotate: weir still writes the contents of the pool to a file that is to end. */
static void fit_pool_to_disk(struct weir_recording_plan *plan)
{
    bool holds_snapshots = weir_modes_pause_for_snapshots(&plan->modes); /* the pool takes them whole */
    if (!weir_modes_have(&plan->modes, WEIR_MODE_FULL_ROTATES) || plan->options->memory.buffer_bytes > 0 ||
        holds_snapshots || plan->machine->free_bytes == UINT64_MAX)
        return;
    uint64_t least = (uint64_t)plan->placement.reader_count * WEIR_CHUNK_MAX_BYTES;
    uint64_t most = weir_max_u64(plan->machine->free_bytes / POOL_SHARE_OF_FREE, least);
    plan->buffer_bytes = weir_min_u64(plan->buffer_bytes, most);
}

/* ---- all sizes ---- */

int weir_recording_plan_choose_sizes(struct weir_recording_plan *plan, struct weir_error *err)
{
    choose_rings(plan);
    choose_pool(plan);
    if (weir_modes_have(&plan->modes, WEIR_MODE_OVERWRITE))
        fit_pool_to_overwritten_rings(plan);
    int result = choose_retained(plan, err);
    if (result == 0)
        result = fit_pool_to_aux_snapshot(plan, err);
    fit_pool_to_disk(plan);
    set_watermarks(plan);
    return result;
}

bool weir_recording_plan_shrink_rings(struct weir_recording_plan *plan)
{
    uint64_t page_bytes = plan->machine->limits.page_bytes;
    if (plan->options->memory.ring_bytes || plan->ring_bytes <= page_bytes)
        return false;
    plan->ring_bytes /= 2;
    plan->sideband_ring_bytes = weir_max_u64(plan->sideband_ring_bytes / 2, page_bytes);
    shrink_aux(plan);
    plan->side_only_ring_bytes = weir_min_u64(plan->side_only_ring_bytes, plan->sideband_ring_bytes);
    set_watermarks(plan);
    return true;
}
