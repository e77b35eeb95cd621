/* The id table. Built by the coordinator before threads start; read-only afterwards. */
#include "engine/id_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/bits.h"

int weir_id_map_init(struct weir_id_map *map, size_t count)
{
    map->slot_count = weir_round_up_power_of_two(weir_max_u64(count, 1) * 2);
    map->shift = 64 - (unsigned)__builtin_ctzll(map->slot_count);
    map->slots = calloc(map->slot_count, sizeof(*map->slots));
    return map->slots ? 0 : -ENOMEM;
}

void weir_id_map_fini(struct weir_id_map *map)
{
    free(map->slots);
    *map = (struct weir_id_map)WEIR_ID_MAP_INIT;
}

void weir_id_map_add(struct weir_id_map *map, uint64_t id, uint32_t event, uint32_t place)
{
    weir_assert(id != 0 && !weir_id_map_find(map, id));
    size_t slot = (size_t)((id * 0x9e3779b97f4a7c15ull) >> map->shift);
    while (map->slots[slot].id)
        slot = (slot + 1) & (map->slot_count - 1);
    map->slots[slot] = (struct weir_id_entry){.id = id, .event = event, .place = place};
}
