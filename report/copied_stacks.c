#include "report/copied_stacks.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_ENTRIES 16384u

/* An answer that has been found already: it holds for the span of time. */
struct weir_cached_mapping {
    uint64_t address, since, until; /* until 0: empty */
    uint32_t process;
    bool is_found;
    struct weir_unwind_mapping mapping;
};

static int open_object(void *ctx, uint64_t key)
{
    const struct weir_copied_stacks *stacks = ctx;
    return weir_objects_open(&stacks->survey->objects, (uint32_t)key);
}

int weir_copied_stacks_init(struct weir_copied_stacks *stacks, const struct weir_survey *survey, size_t tables_bytes)
{
    const struct weir_table_source files = {.open = open_object, .ctx = stacks};
    *stacks = (struct weir_copied_stacks){.survey = survey};
    stacks->cache = calloc(CACHE_ENTRIES, sizeof(*stacks->cache));
    if (!stacks->cache)
        return -ENOMEM;
    int result = weir_unwinder_init(&stacks->unwinder, survey->machine, &files, tables_bytes);
    if (result < 0) {
        free(stacks->cache);
        stacks->cache = NULL;
    }
    return result;
}

void weir_copied_stacks_fini(struct weir_copied_stacks *stacks)
{
    if (!stacks->cache)
        return;
    weir_unwinder_fini(&stacks->unwinder);
    free(stacks->cache);
    stacks->cache = NULL;
}

static void look_up(const struct weir_copied_stacks *stacks, uint64_t address, struct weir_cached_mapping *entry)
{
    const struct weir_survey *survey = stacks->survey;
    struct weir_map_found found = weir_task_history_map(&survey->history, stacks->process, address, stacks->time);
    *entry = (struct weir_cached_mapping){.address = address,
                                          .since = found.since,
                                          .until = found.until,
                                          .process = stacks->process,
                                          .is_found = found.map};
    if (!found.map)
        return;
    enum weir_object_kind kind = survey->objects.list[found.map->object]->kind;
    entry->mapping = (struct weir_unwind_mapping){.start = found.map->start,
                                                  .offset = found.map->offset,
                                                  .has_file = kind == WEIR_OBJECT_FILE || kind == WEIR_OBJECT_VDSO,
                                                  .key = found.map->object};
}

static bool find_mapping(void *ctx, uint64_t address, struct weir_unwind_mapping *mapping)
{
    struct weir_copied_stacks *stacks = ctx;
    uint64_t hash = (address ^ (uint64_t)stacks->process << 40) * 0x9e3779b97f4a7c15ull;
    struct weir_cached_mapping *entry = &stacks->cache[hash >> 32 & (CACHE_ENTRIES - 1)];
    if (entry->address != address || entry->process != stacks->process || stacks->time < entry->since ||
        stacks->time >= entry->until)
        look_up(stacks, address, entry);
    *mapping = entry->mapping;
    return entry->is_found;
}

void weir_copied_stacks_unwind(struct weir_copied_stacks *stacks, const struct weir_sample_layout *layout,
                               const struct weir_sample *sample, uint32_t process, uint64_t time,
                               struct weir_unwind_chain *chain)
{
    struct weir_unwind_input input;
    const struct weir_unwind_mappings mappings = {.find = find_mapping, .ctx = stacks};
    chain->count = 0;
    if (!weir_unwound_input(sample, layout, &input)) {
        stacks->counts.ends[WEIR_UNWIND_NO_REGS] += sample->user_abi != PERF_SAMPLE_REGS_ABI_NONE;
        return;
    }
    stacks->process = process;
    stacks->time = time;
    weir_unwinder_run(&stacks->unwinder, &input, &mappings, chain);
    stacks->counts.unwound++;
    stacks->counts.frames += chain->count;
    stacks->counts.ends[chain->end]++;
}
