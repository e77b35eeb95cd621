/* Which mapping covered an address at a time, beside a search through all of them. */
#include "report/map_index.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define MAPS      300
#define ADDRESSES 64
#define TIMES     400

Test(map_index, empty_index_finds_nothing)
{
    struct weir_map_index index = {0};
    cr_assert_eq(weir_map_index_build(&index), 0);
    struct weir_map_found found = weir_map_index_find(&index, 5, 5);
    cr_expect_null(found.map);
    cr_expect_eq(found.until, UINT64_MAX);
    weir_map_index_fini(&index);
}

Test(map_index, mapping_without_bytes_is_left_out)
{
    struct weir_map_index index = {0};
    cr_assert_eq(weir_map_index_add(&index, &(struct weir_mapping){.start = 7, .end = 7}), 0);
    cr_assert_eq(weir_map_index_add(&index, &(struct weir_mapping){.start = 9, .end = 2}), 0);
    cr_expect_eq(index.count, 0);
    weir_map_index_fini(&index);
}

/* The newest mapping of that time which covers the address, and when the next one comes. */
static struct weir_map_found find_slowly(const struct weir_map_index *index, uint64_t address, uint64_t time)
{
    struct weir_map_found found = {.until = UINT64_MAX};
    for (size_t i = 0; i < index->count; i++) {
        const struct weir_mapping *map = &index->maps[i];
        if (address < map->start || address >= map->end)
            continue;
        if (map->time <= time)
            found.map = map;
        else if (map->time < found.until)
            found.until = map->time;
    }
    found.since = found.map ? found.map->time : 0;
    return found;
}

Test(map_index, finds_what_a_search_through_all_finds)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct weir_map_index index = {0};
        srand(seed);
        uint64_t time = 0;
        for (uint32_t i = 0; i < MAPS; i++) {
            uint64_t start = (uint64_t)rand() % ADDRESSES;
            time += (uint64_t)rand() % 3;
            const struct weir_mapping map = {
                .start = start, .end = start + 1 + (uint64_t)rand() % 20, .time = time, .object = i};
            cr_assert_eq(weir_map_index_add(&index, &map), 0);
        }
        cr_assert_eq(weir_map_index_build(&index), 0);
        for (uint64_t address = 0; address < ADDRESSES + 30; address++) {
            for (uint64_t at = 0; at < TIMES; at += 3) {
                struct weir_map_found found = weir_map_index_find(&index, address, at);
                struct weir_map_found wanted = find_slowly(&index, address, at);
                cr_assert_eq(found.map, wanted.map, "seed %u, address %lu, time %lu", seed, address, at);
                cr_assert(found.since <= at || !found.map);
                cr_assert(found.since >= wanted.since && found.until <= wanted.until && at < found.until,
                          "seed %u, address %lu, time %lu: the answer holds too long", seed, address, at);
            }
        }
        weir_map_index_fini(&index);
    }
}
