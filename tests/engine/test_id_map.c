/* The id table: finds what was added and nothing else, also when it is as full as it gets. */
#include "engine/kernel/id_map.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

#include "tests/base/failing_alloc.h"

Test(id_map, out_of_memory_is_reported)
{
    struct weir_id_map map = WEIR_ID_MAP_INIT;
    failing_alloc_after(0);
    cr_assert_eq(weir_id_map_init(&map, 10), -ENOMEM);
    weir_id_map_fini(&map);
}

Test(id_map, extension_without_memory_leaves_the_map_as_it_was)
{
    struct weir_id_map map;
    cr_assert_eq(weir_id_map_init(&map, 1), 0);
    weir_id_map_add(&map, 7, 1, 2);
    failing_alloc_after(0);
    cr_assert_eq(weir_id_map_extend(&map, &(struct weir_id_entry){.id = 8}, 1), -ENOMEM);
    failing_alloc_never();
    cr_assert_null(weir_id_map_find(&map, 8));
    cr_assert_eq(weir_id_map_find(&map, 7)->place, 2);
    weir_id_map_fini(&map);
}

Test(id_map, fini_takes_an_empty_map_and_is_idempotent)
{
    struct weir_id_map map = WEIR_ID_MAP_INIT;
    weir_id_map_fini(&map);
    cr_assert_eq(weir_id_map_init(&map, 1), 0);
    weir_id_map_fini(&map);
    weir_id_map_fini(&map);
    cr_assert_null(weir_id_map_table(&map));
}

Test(id_map, id_zero_is_a_bug, .signal = SIGABRT)
{
    struct weir_id_map map;
    weir_id_map_init(&map, 1);
    weir_id_map_add(&map, 0, 0, 0);
}

Test(id_map, second_add_of_an_id_is_a_bug, .signal = SIGABRT)
{
    struct weir_id_map map;
    weir_id_map_init(&map, 2);
    weir_id_map_add(&map, 7, 0, 0);
    weir_id_map_add(&map, 7, 1, 0);
}

Test(id_map, nothing_is_found_in_an_empty_map)
{
    struct weir_id_map map;
    cr_assert_eq(weir_id_map_init(&map, 0), 0);
    cr_assert_null(weir_id_map_find(&map, 1));
    cr_assert_null(weir_id_map_find(&map, UINT64_MAX));
    weir_id_map_fini(&map);
}

/* Ids of one CPU are a fixed stride apart: every stride up to a machine's CPU count, map as full as asked for. */
Test(id_map, every_added_id_is_found_and_no_other)
{
    enum {
        COUNT = 256
    };
    for (uint64_t stride = 1; stride <= 64; stride++) {
        struct weir_id_map map;
        cr_assert_eq(weir_id_map_init(&map, COUNT), 0);
        for (uint32_t i = 0; i < COUNT; i++)
            weir_id_map_add(&map, 5 + i * stride * 2, i, i * 3);
        for (uint32_t i = 0; i < COUNT; i++) {
            const struct weir_id_entry *entry = weir_id_map_find(&map, 5 + i * stride * 2);
            cr_assert_not_null(entry, "stride %u, entry %u", (unsigned)stride, i);
            cr_assert_eq(entry->event, i);
            cr_assert_eq(entry->place, i * 3);
            cr_assert_null(weir_id_map_find(&map, 4 + i * stride * 2));
        }
        weir_id_map_fini(&map);
    }
}

/* Four ids that all belong into the last slot: three of them go on at the front. */
Test(id_map, collisions_in_the_last_slot_wrap_to_the_first)
{
    struct weir_id_map map;
    cr_assert_eq(weir_id_map_init(&map, 8), 0);
    const struct weir_id_table *table = weir_id_map_table(&map);
    cr_assert_eq(table->slot_count, 16);
    uint64_t ids[5];
    unsigned found = 0;
    for (uint64_t id = 1; found < 5; id++) {
        if ((id * 0x9e3779b97f4a7c15ull) >> table->shift == 15)
            ids[found++] = id;
    }
    for (uint32_t i = 0; i < 4; i++)
        weir_id_map_add(&map, ids[i], i, 0);
    for (uint32_t i = 0; i < 4; i++)
        cr_assert_eq(weir_id_map_find(&map, ids[i])->event, i);
    cr_assert_eq(table->slots[15].id, ids[0]);
    cr_assert_eq(table->slots[2].id, ids[3]);
    cr_assert_null(weir_id_map_find(&map, ids[4]));
    weir_id_map_fini(&map);
}

/* What a reader found before stays valid: it may be looking at the table that was replaced. */
Test(id_map, extension_adds_ids_and_keeps_what_was_there)
{
    struct weir_id_map map;
    cr_assert_eq(weir_id_map_init(&map, 2), 0);
    weir_id_map_add(&map, 7, 1, 2);
    const struct weir_id_entry *before = weir_id_map_find(&map, 7);
    for (uint32_t round = 0; round < 20; round++) {
        struct weir_id_entry more[] = {{.id = 100 + 2 * round, .event = round, .place = 3},
                                       {.id = 101 + 2 * round, .event = round, .place = 4}};
        cr_assert_eq(weir_id_map_extend(&map, more, 2), 0);
    }
    cr_assert_eq(before->id, 7);
    cr_assert_eq(weir_id_map_find(&map, 7)->place, 2);
    for (uint32_t round = 0; round < 20; round++) {
        cr_assert_eq(weir_id_map_find(&map, 100 + 2 * round)->event, round);
        cr_assert_eq(weir_id_map_find(&map, 101 + 2 * round)->place, 4);
    }
    cr_assert_null(weir_id_map_find(&map, 140));
    weir_id_map_fini(&map);
}

/* A recording of weeks may see a CPU come ten thousand times. */
Test(id_map, memory_grows_as_the_ids_do)
{
    enum {
        COMES = 1000,
        EVENTS = 5
    };
    struct weir_id_map map;
    cr_assert_eq(weir_id_map_init(&map, EVENTS), 0);
    for (uint32_t come = 0; come < COMES; come++) {
        struct weir_id_entry more[EVENTS];
        for (uint32_t event = 0; event < EVENTS; event++)
            more[event] = (struct weir_id_entry){.id = 1 + come * EVENTS + event, .event = event, .place = come};
        cr_assert_eq(weir_id_map_extend(&map, more, EVENTS), 0);
    }
    size_t slots = 0;
    for (const struct weir_id_table *table = weir_id_map_table(&map); table; table = table->replaced)
        slots += table->slot_count;
    cr_assert_leq(slots, 8 * COMES * EVENTS, "%zu slots", slots);
    for (uint32_t id = 1; id <= COMES * EVENTS; id++) {
        const struct weir_id_entry *entry = weir_id_map_find(&map, id);
        cr_assert(entry && entry->event == (id - 1) % EVENTS && entry->place == (id - 1) / EVENTS, "id %u", id);
    }
    weir_id_map_fini(&map);
}
