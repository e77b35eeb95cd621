/* Sorted arrays of maps, copied before the first change of a shared one. */
#include "engine/tasks/task_mappings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"

#define FIRST_ROOM 8u

static uint64_t bytes_of(uint32_t room)
{
    return sizeof(struct weir_task_mappings) + (uint64_t)room * sizeof(struct weir_task_mapping);
}

struct weir_task_mappings *weir_task_mappings_share(struct weir_task_mappings *maps)
{
    if (maps)
        maps->shares++;
    return maps;
}

void weir_task_mappings_drop(struct weir_task_mappings *maps, uint64_t *bytes)
{
    if (!maps || --maps->shares > 0)
        return;
    *bytes -= bytes_of(maps->room);
    free(maps);
}

/* The first map that ends behind start. */
static uint32_t first_behind(const struct weir_task_mappings *maps, uint64_t start)
{
    return maps ? (uint32_t)weir_array_count_up_to(maps->all, sizeof(*maps->all),
                                                   offsetof(struct weir_task_mapping, end), maps->count, start)
                : 0;
}

const struct weir_task_mapping *weir_task_mappings_find(const struct weir_task_mappings *maps, uint64_t address)
{
    uint32_t at = first_behind(maps, address);
    return maps && at < maps->count && maps->all[at].start <= address ? &maps->all[at] : NULL;
}

/* Writes the maps that take the place of [first, last): the rest before start, the new map, the rest behind end. */
static uint32_t replacement(const struct weir_task_mappings *maps, uint32_t first, uint32_t last, uint64_t start,
                            uint64_t end, const struct weir_task_mapping *mapping, struct weir_task_mapping *out)
{
    uint32_t count = 0;
    if (first < last && maps->all[first].start < start) {
        out[count] = maps->all[first];
        out[count++].end = start;
    }
    if (mapping)
        out[count++] = *mapping;
    if (first < last && maps->all[last - 1].end > end) {
        out[count] = maps->all[last - 1];
        out[count].page_offset += end - out[count].start;
        out[count++].start = end;
    }
    return count;
}

/* Makes *maps unshared, with room for count. 0, -ENOSPC or -ENOMEM. */
static int make_room(struct weir_task_mappings **maps, uint32_t count, uint64_t *bytes)
{
    struct weir_task_mappings *old = *maps;
    if (old && old->shares == 1 && old->room >= count)
        return 0;
    uint32_t room = (uint32_t)weir_max_u64(weir_round_up_power_of_two(count), FIRST_ROOM);
    if (count > WEIR_TASK_MAPS_MAX || *bytes + bytes_of(room) > WEIR_TASK_MAPS_BYTES_MAX)
        return -ENOSPC;
    struct weir_task_mappings *own = malloc(bytes_of(room));
    if (!own)
        return -ENOMEM;
    *bytes += bytes_of(room);
    own->shares = 1;
    own->room = room;
    own->count = old ? old->count : 0;
    if (old)
        memcpy(own->all, old->all, old->count * sizeof(own->all[0]));
    weir_task_mappings_drop(old, bytes);
    *maps = own;
    return 0;
}

int weir_task_mappings_replace(struct weir_task_mappings **maps, uint64_t start, uint64_t end,
                               const struct weir_task_mapping *mapping, uint64_t *bytes)
{
    uint32_t count = *maps ? (*maps)->count : 0;
    uint32_t first = first_behind(*maps, start), last = first;
    while (last < count && (*maps)->all[last].start < end)
        last++;
    if (first == last && !mapping)
        return 0;

    struct weir_task_mapping put[3];
    uint32_t put_count = replacement(*maps, first, last, start, end, mapping, put);
    uint32_t new_count = count - (last - first) + put_count;
    /* Shared maps are copied whole before anything is cut out of the copy. */
    int result = make_room(maps, (uint32_t)weir_max_u64(count, new_count), bytes);
    if (result < 0)
        return result;
    struct weir_task_mapping *all = (*maps)->all;
    memmove(all + first + put_count, all + last, (count - last) * sizeof(*all));
    memcpy(all + first, put, put_count * sizeof(*all));
    (*maps)->count = new_count;
    return 0;
}
