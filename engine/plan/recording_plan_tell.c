/* The plan in words, and the check that it fits into memory; see recording_plan.h. Coordinator thread. */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/buf.h"
#include "engine/drain/chunk.h"
#include "engine/drain/chunk_stage.h"
#include "engine/drain/retention.h"
#include "engine/kernel/ring.h"
#include "engine/plan/budget.h"
#include "engine/plan/recording_plan_internal.h"

static void tell_readers(const struct weir_recording_plan *plan)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_plan_describe(&plan->placement, &text);
    char *rest = NULL, *copy = strdup(weir_buf_str(&text));
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        weir_notice(plan->options->notices, WEIR_NOTICE_VERBOSE, "%s", line);
    free(copy);
    weir_buf_fini(&text);
}

/* Warns of files that get larger than asked, as perf does. A ring wakes its reader at the watermark, and a file does
 * not end before data comes. Samples kept in memory wake nobody. */
static void tell_of_larger_files(const struct weir_recording_plan *plan)
{
    const struct weir_record_options *options = plan->options;
    uint64_t bytes = options->rotation.bytes, watermark = plan->ring_bytes / WEIR_RING_WATERMARK_SHARE;
    bool gathers = !options->samples.no_buffering && !weir_modes_keep_samples(&plan->modes);
    if (gathers && bytes > 0 && bytes < watermark)
        weir_notice(
            options->notices, WEIR_NOTICE_WARNING,
            "files get larger than the size of --switch-output: a ring wakes its reader when it holds %llu KiB (-m)",
            (unsigned long long)(watermark >> 10));
}

/* In perf's words. */
static void tell_call_chains(const struct weir_recording_plan *plan)
{
    static const char *const types[] = {
        [WEIR_CALL_GRAPH_FP] = "FP", [WEIR_CALL_GRAPH_DWARF] = "DWARF", [WEIR_CALL_GRAPH_LBR] = "LBR"};
    const struct weir_record_options *options = plan->options;
    const struct weir_call_graph_request *request = &options->samples.call_graph;
    if (request->mode == WEIR_CALL_GRAPH_NONE)
        return;
    weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "callchain: type %s", types[request->mode]);
    if (request->defers)
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "callchain: user part deferred");
    if (request->mode == WEIR_CALL_GRAPH_DWARF)
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "callchain: stack dump size %u", request->stack_bytes);
}

static void tell_retained(const struct weir_recording_plan *plan)
{
    if (plan->retained_bytes == 0)
        return;
    unsigned readers = plan->placement.reader_count;
    struct weir_retention_plan kept =
        weir_retention_plan(plan->retained_bytes, plan->options->memory.retained_span_ns, readers);
    weir_notice(plan->options->notices, WEIR_NOTICE_VERBOSE,
                "memory: %llu KiB of the pool for samples (%u chunks of %u KiB for each of %u readers), and as much "
                "again when snapshot-alloc asks for it",
                (unsigned long long)(kept.bytes >> 10), kept.chunks_per_reader, kept.chunk_bytes >> 10, readers);
}

static struct weir_chunk_stage_memory stage_memory(const struct weir_recording_plan *plan, uint64_t pool_bytes)
{
    struct weir_chunk_stage_setup setup = weir_recording_plan_stage(plan, NULL);
    if (!weir_chunk_stage_is_needed(&setup))
        return (struct weir_chunk_stage_memory){0};
    setup.chunk_bytes = weir_pool_chunk_bytes(pool_bytes, plan->placement.reader_count);
    struct weir_chunk_stage_memory memory = weir_chunk_stage_memory_of(&setup);
    memory.most += weir_recording_plan_tables_bytes(plan);
    return memory;
}

int weir_recording_plan_tell(const struct weir_recording_plan *plan, const struct weir_targets *targets,
                             struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    const struct weir_machine_facts *machine = plan->machine;
    tell_readers(plan);
    tell_call_chains(plan);
    tell_of_larger_files(plan);
    tell_retained(plan);
    uint64_t pool_bytes = plan->buffer_bytes + plan->retained_bytes;
    const struct weir_budget_input input = {
        .places = weir_cpuset_count(&plan->cpus),
        .side_only_places = weir_cpuset_count(&plan->side_cpus),
        .readers = plan->placement.reader_count,
        .descriptors = weir_recording_plan_descriptors(plan, targets),
        .ring_bytes = plan->ring_bytes,
        .sideband_ring_bytes = plan->sideband_ring_bytes,
        .side_only_ring_bytes = plan->side_only_ring_bytes,
        .aux_area_bytes = plan->aux.area_bytes,
        .pool_bytes = pool_bytes,
        .pool_grows = plan->grow_pool,
        .sideband = !options->build_ids.left_out || plan->unwinds,
        .page_bytes = machine->limits.page_bytes,
        .stage_threads = weir_recording_plan_stage(plan, NULL).workers,
        .stage = stage_memory(plan, pool_bytes),
    };
    struct weir_budget budget;
    weir_budget_compute(&budget, &input);
    if (weir_modes_have(&plan->modes, WEIR_MODE_PER_THREAD)) /* the attach list decides the size of rings */
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE, "memory: rings for each task, pool %llu MiB",
                    (unsigned long long)(plan->buffer_bytes >> 20));
    else
        weir_budget_tell(&budget, &input, options->notices);
    weir_budget_tell_fds(weir_recording_plan_fds_needed(plan, targets), &machine->limits, options->notices);
    if (machine->memory_limit.bytes < weir_topology_memory_bytes(machine->topology))
        weir_notice(options->notices, WEIR_NOTICE_VERBOSE,
                    "memory: the cgroup allows %llu MiB, of which rings take none",
                    (unsigned long long)(machine->memory_limit.bytes >> 20));
    return weir_budget_check(&budget, &machine->memory_limit, err);
}
