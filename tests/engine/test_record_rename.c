/*
 * Ids of events that were opened anew become those of the file: where in each record they stand, and that nothing else
 * changes. The records are written here by the layouts of perf_event_open(2), in heap blocks of their exact size.
 */
#include "engine/drain/record_rename.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "format/sample_layout.h"
#include "tests/engine/event_set_rig.h"

#define TRAILER_WORDS 4u /* PID and TID, TIME, CPU, IDENTIFIER */
#define STRANGE       0x7777u

static struct event_set_rig rig;
static uint64_t now[2], named[2]; /* ids of cs and faults on CPU 1, which has come back */

static void set_up(const char *events, bool reads)
{
    event_set_rig_init(&rig, events, 0);
    event_set_rig_expect_open(&rig);
    cr_assert_eq(weir_event_set_reopen(&rig.set, 0, &rig.limits, &rig.err), 0, "%s", rig.err.what);
    for (unsigned event = 0; event < 2; event++) {
        now[event] = rig.set.ids[weir_event_set_slot(&rig.set, event, 0, 0)];
        named[event] = rig.set.file_ids[weir_event_set_slot(&rig.set, event, 0, 0)];
        cr_assert_neq(now[event], named[event]);
        if (reads)
            rig.list.events[event].attr.sample_type |= PERF_SAMPLE_READ;
    }
}

static void tear_down(void)
{
    event_set_rig_fini(&rig);
}

/* A record of so many words behind its header, 0 where nothing is said, and what becomes of it. */
static void expect_renamed(uint32_t type, size_t words, const uint64_t *before, const uint64_t *after)
{
    size_t bytes = sizeof(struct perf_event_header) + words * sizeof(uint64_t);
    struct perf_event_header header = {.type = type, .size = (uint16_t)bytes};
    uint8_t *record = malloc(bytes);
    cr_assert_not_null(record);
    memcpy(record, &header, sizeof(header));
    if (words > 0)
        memcpy(record + sizeof(header), before, words * sizeof(uint64_t));
    weir_record_rename(&rig.set, record, bytes);
    cr_expect_arr_eq(record, &header, sizeof(header), "type %u", type);
    if (words > 0)
        cr_expect_arr_eq(record + sizeof(header), after, words * sizeof(uint64_t), "type %u", type);
    free(record);
}

Test(record_rename, ids_of_nobody_and_records_that_are_too_short_stay)
{
    set_up("cs,faults", false);
    const uint64_t sample[] = {STRANGE, 1, 2};
    expect_renamed(PERF_RECORD_SAMPLE, 3, sample, sample);
    expect_renamed(PERF_RECORD_SAMPLE, 0, NULL, NULL);
    expect_renamed(PERF_RECORD_COMM, 0, NULL, NULL);
    expect_renamed(PERF_RECORD_LOST, 1, &(uint64_t){now[0]}, &(uint64_t){named[0]});
    const uint64_t synthesized[] = {now[0], 1, 0};
    expect_renamed(PERF_RECORD_COMM, 3, synthesized, synthesized);
    tear_down();
}

Test(record_rename, sample_begins_with_its_id)
{
    set_up("cs,faults", false);
    for (unsigned event = 0; event < 2; event++) {
        const uint64_t before[] = {now[event], now[event], 2, 3};
        const uint64_t after[] = {named[event], now[event], 2, 3}; /* an address may be any number */
        expect_renamed(PERF_RECORD_SAMPLE, 4, before, after);
        expect_renamed(PERF_RECORD_SAMPLE, 4, after, after);
    }
    tear_down();
}

Test(record_rename, other_records_end_in_it)
{
    set_up("cs,faults", false);
    const uint64_t comm_before[] = {1, 2, 3, 4, 5, now[1]}, comm_after[] = {1, 2, 3, 4, 5, named[1]};
    expect_renamed(PERF_RECORD_COMM, 6, comm_before, comm_after);
    expect_renamed(PERF_RECORD_MMAP2, 6, comm_before, comm_after);
    expect_renamed(PERF_RECORD_LOST_SAMPLES, 6, comm_before, comm_after);
    tear_down();
}

Test(record_rename, reports_of_losses_and_throttling_have_it_in_their_body)
{
    set_up("cs,faults", false);
    const uint64_t lost[] = {now[0], 5, 1, 2, 3, now[1]}, lost_after[] = {named[0], 5, 1, 2, 3, named[1]};
    expect_renamed(PERF_RECORD_LOST, 2 + TRAILER_WORDS, lost, lost_after);
    const uint64_t throttle[] = {9, now[0], now[0], 1, 2, 3, now[0]};
    const uint64_t throttle_after[] = {9, named[0], named[0], 1, 2, 3, named[0]};
    expect_renamed(PERF_RECORD_THROTTLE, 3 + TRAILER_WORDS, throttle, throttle_after);
    expect_renamed(PERF_RECORD_UNTHROTTLE, 3 + TRAILER_WORDS, throttle, throttle_after);
    tear_down();
}

/* IDENTIFIER, IP, TID, TIME, CPU, then as many members as are told, of which the record may hold fewer. */
Test(record_rename, values_of_a_group_have_one_each)
{
    set_up("{cs,faults}:S", true);
    rig.list.events[0].attr.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED;
    struct weir_sample_layout layout;
    weir_sample_layout_init(&layout, &rig.list.events[0].attr);
    size_t at = (layout.variable - sizeof(struct perf_event_header)) / sizeof(uint64_t);
    uint64_t before[32] = {now[0]}, after[32];
    const uint64_t values[] = {2, 77, 100, now[0], 0, 200, now[1], 0};
    memcpy(before + at, values, sizeof(values));
    memcpy(after, before, sizeof(after));
    after[0] = named[0];
    after[at + 3] = named[0];
    after[at + 6] = named[1];
    expect_renamed(PERF_RECORD_SAMPLE, at + 8, before, after);
    after[at + 6] = now[1];
    expect_renamed(PERF_RECORD_SAMPLE, at + 6, before, after);
    before[at] = after[at] = UINT64_MAX;
    expect_renamed(PERF_RECORD_SAMPLE, at + 5, before, after);
    tear_down();
}

Test(record_rename, values_that_a_task_leaves_behind_have_one)
{
    set_up("cs,faults", false);
    rig.list.events[0].attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED;
    const uint64_t before[] = {1, 100, 50, now[0], 0, 1, 2, 3, now[0]};
    const uint64_t after[] = {1, 100, 50, named[0], 0, 1, 2, 3, named[0]};
    expect_renamed(PERF_RECORD_READ, 5 + TRAILER_WORDS, before, after);
    tear_down();
}

/* ---- ids of other recorders ---- */

Test(record_rename, samples_of_nobody_are_adopted_and_nothing_else_is)
{
    set_up("cpu-clock,faults", false);
    const struct {
        struct perf_event_header header;
        uint64_t words[2];
    } before[] = {
        {{PERF_RECORD_SAMPLE, 0, 24}, {STRANGE, STRANGE}}, {{PERF_RECORD_SAMPLE, 0, 24}, {now[0], 1}},
        {{PERF_RECORD_COMM, 0, 24}, {1, STRANGE}},         {{PERF_RECORD_SAMPLE, 0, 24}, {named[1], 2}},
        {{PERF_RECORD_SAMPLE, 0, 24}, {STRANGE + 1, 3}},   {{PERF_RECORD_SAMPLE, 0, 8}, {0, 0}},
    };
    const size_t bytes = sizeof(before) - sizeof(before[0].words); /* the last one is a header */
    uint8_t *records = malloc(bytes), *expected = malloc(bytes);
    cr_assert(records && expected);
    memcpy(records, before, bytes);
    memcpy(expected, before, bytes);
    memcpy(expected + 8, &named[1], sizeof(named[1]));
    memcpy(expected + 4 * sizeof(before[0]) + 8, &named[1], sizeof(named[1]));
    uint64_t samples[3] = {0};
    cr_expect_eq(weir_record_adopt(&rig.set, 0, records, bytes, samples), 2);
    cr_expect_arr_eq(records, expected, bytes);
    cr_expect_eq(samples[1], 2);
    free(records);
    free(expected);
    tear_down();
}

Test(record_rename, samples_are_adopted_by_the_first_task_that_is_left)
{
    event_set_rig_init(&rig, "cs", 3);
    event_set_rig_expect_open(&rig);
    rig.set.file_ids[weir_event_set_slot(&rig.set, 0, 1, 0)] = 0;
    uint64_t second = rig.set.file_ids[weir_event_set_slot(&rig.set, 0, 1, 1)];
    uint64_t record[2] = {0, STRANGE};
    memcpy(record, &(struct perf_event_header){PERF_RECORD_SAMPLE, 0, 16}, sizeof(record[0]));
    uint64_t samples[2] = {0};
    cr_expect_eq(weir_record_adopt(&rig.set, 1, (uint8_t *)record, sizeof(record), samples), 1);
    cr_expect_eq(record[1], second);
    cr_expect_eq(weir_record_adopt(&rig.set, 1, (uint8_t *)record, sizeof(record), samples), 0,
                 "it is one of ours now");
    cr_expect_eq(samples[0], 1);
    tear_down();
}

/* Of two events a sample with an id of somebody is of nobody, but what has one that asks is of the event of its kind.
 */
Test(record_rename, samples_with_the_id_of_what_asks_are_of_the_same_kind)
{
    set_up("cs,faults", false);
    struct event_set_rig asking;
    event_set_rig_init(&asking, "minor-faults,faults", 0);
    event_set_rig_expect_open(&asking);
    const struct weir_id_entry ids[] = {{.id = STRANGE, .event = 1}, {.id = STRANGE + 1, .event = 0}};
    cr_assert_eq(weir_id_map_extend(&asking.set.id_map, ids, 2), 0);
    rig.set.asking[1] = &asking.set;

    const struct perf_event_header header = {PERF_RECORD_SAMPLE, 0, 16};
    const uint64_t before[] = {STRANGE, STRANGE + 1, STRANGE + 2}, after[] = {named[1], STRANGE + 1, STRANGE + 2};
    uint64_t records[6], samples[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        memcpy(&records[2 * i], &header, sizeof(header));
        records[2 * i + 1] = before[i];
    }
    cr_expect_eq(weir_record_adopt(&rig.set, 0, (uint8_t *)records, sizeof(records), samples), 1);
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(records[2 * i + 1], after[i], "%zu", i);
    cr_expect(samples[0] == 0 && samples[1] == 1 && samples[2] == 0);
    event_set_rig_fini(&asking);
    tear_down();
}
