/* Computes memory and descriptors of a recording; see budget.h. Pure, except for notices. */
#include "engine/plan/budget.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "engine/drain/chunk.h"
#include "engine/drain/pipeline.h"
#include "engine/kernel/id_map.h"
#include "engine/tasks/sideband.h"

#define MIB_SHIFT     20
#define SPARE_FDS     64u /* descriptors of weir that belong neither to events nor to readers */
#define OTHER_THREADS 5u  /* coordinator, sideband, build ids, /proc and finisher */
/* weir's own code, data of libraries, hwloc's tree. On a machine with 2 CPUs the cgroup was charged 3 MiB. */
#define OWN_BYTES (4ull << 20)

/* Each descriptor needs its number, its id, the id that the head of the file has, and slots in the id map. */
static uint64_t table_bytes(uint64_t descriptors)
{
    uint64_t slots = weir_round_up_power_of_two(weir_max_u64(descriptors, 1) * 2);
    return descriptors * (sizeof(int) + 2 * sizeof(uint64_t)) + slots * sizeof(struct weir_id_entry);
}

uint64_t weir_budget_fds(uint64_t descriptors, unsigned readers)
{
    return descriptors + 2ull * readers + SPARE_FDS;
}

void weir_budget_compute(struct weir_budget *budget, const struct weir_budget_input *input)
{
    *budget = (struct weir_budget){
        .ring_bytes = input->places * (input->ring_bytes + input->sideband_ring_bytes + input->aux_area_bytes +
                                       2 * input->page_bytes) +
                      input->side_only_places * (input->side_only_ring_bytes + input->page_bytes),
        .pool_bytes = weir_pool_whole_bytes(input->pool_bytes, input->readers),
        .side_bytes = input->sideband ? (uint64_t)input->readers * weir_sideband_tee_bytes(input->readers) : 0,
        .table_bytes = table_bytes(input->descriptors),
        .stage_bytes = input->stage.most,
        .stack_bytes = (input->readers + WEIR_PIPELINE_OTHER_THREADS + OTHER_THREADS + input->stage_threads) *
                       WEIR_PIPELINE_STACK_BYTES,
    };
    budget->pool_ready_bytes = input->pool_grows
                                   ? weir_min_u64(budget->pool_bytes, weir_pool_default_ready_bytes(input->readers))
                                   : budget->pool_bytes;
    budget->least_bytes = budget->pool_ready_bytes + budget->table_bytes + input->stage.least + OWN_BYTES;
    budget->total_bytes = budget->ring_bytes + budget->pool_bytes + budget->side_bytes + budget->table_bytes +
                          budget->stage_bytes + budget->stack_bytes;
}

static uint64_t mib(uint64_t bytes)
{
    return (bytes + (1u << MIB_SHIFT) - 1) >> MIB_SHIFT;
}

uint64_t weir_budget_enough_bytes(const struct weir_budget *budget)
{
    return weir_round_up_power_of_two(budget->total_bytes);
}

int weir_budget_check(const struct weir_budget *budget, const struct weir_memory_limit *limit, struct weir_error *err)
{
    if (budget->least_bytes <= limit->bytes)
        return 0;
    char command[WEIR_REMEDY_BYTES];
    weir_error_set(err, -ENOMEM,
                   "recording begins with %" PRIu64 " MiB of memory, and its cgroup has at most %" PRIu64 " MiB",
                   mib(budget->least_bytes), limit->bytes >> MIB_SHIFT);
    uint64_t enough = weir_budget_enough_bytes(budget);
    weir_error_hint(err, "a smaller --buffer-size or -M, fewer readers (--threads=core or =numa), or %s",
                    weir_remedy_on(WEIR_REMEDY_MEMORY_CGROUP, (int64_t)enough, limit->file, command));
    return -ENOMEM;
}

void weir_budget_tell_fds(uint64_t fds, const struct weir_kernel_limits *limits, const struct weir_notice_sink *notices)
{
    if (fds <= limits->nofile)
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "files: %" PRIu64 " descriptors, within the limit", fds);
    else if (fds <= limits->nofile_max)
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "files: %" PRIu64 " descriptors; the limit of %" PRIu64 " is raised",
                    fds, limits->nofile);
    else
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%" PRIu64 " file descriptors may be needed, and at most %" PRIu64
                    " are allowed: %s, or fewer events or CPUs (-C)",
                    fds, limits->nofile_max,
                    weir_remedy(WEIR_REMEDY_NOFILE_HARD, (int64_t)fds, (char[WEIR_REMEDY_BYTES]){0}));
}

void weir_budget_tell(const struct weir_budget *budget, const struct weir_budget_input *input,
                      const struct weir_notice_sink *notices)
{
    weir_notice(notices, WEIR_NOTICE_VERBOSE,
                "memory: rings %" PRIu64 " MiB (%" PRIu64 " KiB data and %" PRIu64
                " KiB sideband for each of %u), pool %" PRIu64 " MiB, of which %" PRIu64 " at the start",
                mib(budget->ring_bytes), input->ring_bytes >> 10, input->sideband_ring_bytes >> 10, input->places,
                mib(budget->pool_bytes), mib(budget->pool_ready_bytes));
    if (input->side_only_places > 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE,
                    "memory: of the rings, %" PRIu64 " KiB sideband for each of %u further CPUs: no samples there, but "
                    "tasks that move map code there",
                    input->side_only_ring_bytes >> 10, input->side_only_places);
    weir_notice(notices, WEIR_NOTICE_VERBOSE,
                "memory: at most %" PRIu64 " MiB in all: side records %" PRIu64 " MiB, tables %" PRIu64
                " MiB, stacks %" PRIu64 " MiB besides",
                mib(budget->total_bytes), mib(budget->side_bytes), mib(budget->table_bytes), mib(budget->stack_bytes));
    if (budget->stage_bytes > 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE,
                    "memory: of that, %" PRIu64 " MiB for the %u threads that work on chunks, %" PRIu64
                    " of it at the start",
                    mib(budget->stage_bytes), input->stage_threads, mib(input->stage.least));
    if (input->aux_area_bytes > 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "memory: of the rings, %" PRIu64 " KiB of each are its AUX area",
                    input->aux_area_bytes >> 10);
}
