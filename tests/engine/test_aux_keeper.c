/*
 * Who keeps AUX areas, on the simulated kernel, whose first event plays one that has them: which areas are mapped, when
 * their event is enabled once more, held still or left alone. What readers do with the areas: test_reader_aux.c; on the
 * kernel of an emulated machine: tests/record/aux.sh.
 */
#include "engine/aux/aux_keeper.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/aux/aux_drain.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/fake_sysfs.h"
#include "tests/engine/sim_rig.h"

#define CPUS       2u
#define AREA_BYTES 8192u
#define ENTRY      24u
#define BTS_TYPE   9u /* of intel_bts in FAKE_TRACE */

/* A test is a process of its own. */
static struct sim_rig rig;
static struct weir_kernel_ops ops;
static struct weir_kernel kernel;
static struct weir_poll_set sources;
static struct fake_clock fake;
static struct weir_clock fake_clock;
static struct weir_aux_plan plan;
static struct weir_aux_keeper keeper;
static char calls[256]; /* "+0 -1 ": the AUX event of place 0 was enabled, that of place 1 disabled */
static int map_error;
static unsigned maps;
static bool mapped_writable;

static void note_call(char sign, int fd)
{
    size_t used = strlen(calls);
    for (unsigned place = 0; place < rig.set.place_count; place++) {
        if (fd >= 0 && fd == sim_rig_fd(&rig, 0, place))
            snprintf(calls + used, sizeof(calls) - used, "%c%u ", sign, place);
    }
}

static int note_enable(void *ctx, int fd)
{
    note_call('+', fd);
    return rig.kernel.ops->event_enable(ctx, fd);
}

static int note_disable(void *ctx, int fd)
{
    note_call('-', fd);
    return rig.kernel.ops->event_disable(ctx, fd);
}

static int map_area(void *ctx, int fd, uint64_t offset, size_t bytes, bool writable, void **area)
{
    (void)ctx, (void)fd, (void)offset;
    if (map_error < 0)
        return map_error;
    maps++;
    mapped_writable = writable;
    *area = calloc(1, bytes);
    return *area ? 0 : -ENOMEM;
}

static void unmap_area(void *ctx, void *area, size_t bytes)
{
    (void)ctx, (void)bytes;
    maps--;
    free(area);
}

static struct weir_reader_ring *ring(unsigned place)
{
    return weir_pipeline_ring(&rig.pipeline, place, false);
}

static void set_up_for(enum weir_aux_mode mode, bool of_task)
{
    sim_rig_init(&rig, &(struct sim_rig_options){.cpus = CPUS,
                                                 .events = "bpf-output,bpf-output",
                                                 .ring_bytes = 4096,
                                                 .of_task = of_task,
                                                 .aux = mode != WEIR_AUX_NONE ? &weir_aux_drain_hooks : NULL});
    ops = *rig.kernel.ops;
    ops.event_enable = note_enable;
    ops.event_disable = note_disable;
    ops.aux_map = map_area;
    ops.aux_unmap = unmap_area;
    kernel = (struct weir_kernel){.ops = &ops, .ctx = rig.kernel.ctx};
    rig.set.kernel = &kernel;
    for (unsigned place = 0; place < CPUS; place++)
        ring(place)->ring.kernel = &kernel;
    sources = (struct weir_poll_set)WEIR_POLL_SET_INIT;
    fake.now_ns = WEIR_NS_PER_S; /* long ago for the timer, which expires at once */
    fake_clock = fake_clock_interface(&fake);
    plan = (struct weir_aux_plan){
        .kind = mode == WEIR_AUX_NONE ? WEIR_AUX_KIND_NONE : WEIR_AUX_KIND_INTEL_BTS,
        .mode = mode,
        .area_bytes = AREA_BYTES,
        .snapshot_bytes = AREA_BYTES / 2,
        .alignment = ENTRY,
    };
    keeper = (struct weir_aux_keeper)WEIR_AUX_KEEPER_INIT;
    weir_aux_keeper_init(&keeper, &(struct weir_aux_keeper_setup){
                                      .plan = &plan,
                                      .events = &rig.set,
                                      .pipeline = &rig.pipeline,
                                      .clock = &fake_clock,
                                      .cpus = &rig.cpus,
                                      .system_wide = !of_task,
                                  });
}

static void set_up(enum weir_aux_mode mode)
{
    set_up_for(mode, false);
    for (unsigned place = 0; place < CPUS; place++)
        cr_assert_eq(weir_aux_keeper_map(&keeper, place, ring(place)), 0);
    cr_assert_eq(weir_aux_keeper_watch(&keeper, &sources), 0);
    weir_aux_keeper_set_on(&keeper, true);
    weir_event_set_enable(&rig.set, false);
    calls[0] = '\0';
}

static void tear_down(void)
{
    weir_aux_keeper_fini(&keeper);
    weir_aux_keeper_fini(&keeper);
    weir_poll_set_fini(&sources);
    sim_rig_fini(&rig);
    cr_expect_eq(maps, 0);
}

static void expect_calls(const char *expected)
{
    cr_assert_str_eq(calls, expected);
    calls[0] = '\0';
}

/* What the loop does when fd is ready. */
static void become_ready(int fd)
{
    size_t i = 0;
    while (i < sources.count && sources.sources[i].fd != fd)
        i++;
    cr_assert_lt(i, sources.count);
    sources.sources[i].ready(sources.sources[i].ctx, POLLIN);
}

/* A reader asks for the event of its place. */
static void request(unsigned place)
{
    ring(place)->aux->wants_enable = true;
    become_ready(rig.pipeline.aux_fd);
}

static void write_area(unsigned place, uint64_t bytes)
{
    ring(place)->ring.page->aux_head += bytes;
}

/* The timer expires so much later, if it is set to that time or an earlier one. */
static void pass(uint64_t ns)
{
    fake.now_ns += ns;
    if (keeper.next_ns > 0 && keeper.next_ns <= fake.now_ns)
        become_ready(keeper.timer_fd);
}

Test(aux_keeper, without_areas_nothing_is_done)
{
    struct weir_buf records = WEIR_BUF_INIT;
    set_up(WEIR_AUX_NONE);
    weir_aux_keeper_pause(&keeper, true);
    weir_aux_keeper_pause(&keeper, false);
    expect_calls("");
    cr_expect_eq(weir_aux_keeper_append_info(&keeper, &records), 0);
    cr_expect_eq(records.used, 0);
    cr_expect_eq(sources.count, 0);
    tear_down();
}

Test(aux_keeper, nothing_was_set_up_and_all_is_released)
{
    struct weir_aux_keeper fresh = WEIR_AUX_KEEPER_INIT;
    weir_aux_keeper_fini(&fresh);
    cr_expect_eq(fresh.timer_fd, -1);
}

/* ---- areas ---- */

Test(aux_keeper, area_that_cannot_be_mapped_is_told_and_may_be_tried_again)
{
    set_up_for(WEIR_AUX_FULL, false);
    map_error = -EPERM;
    cr_expect_eq(weir_aux_keeper_map(&keeper, 0, ring(0)), -EPERM);
    cr_expect_null(ring(0)->aux->area.page);
    map_error = 0;
    cr_expect_eq(weir_aux_keeper_map(&keeper, 0, ring(0)), 0);
    cr_expect_eq(maps, 1);
    tear_down();
}

Test(aux_keeper, each_ring_gets_one_area_which_knows_whose_it_is)
{
    set_up(WEIR_AUX_FULL);
    cr_expect_eq(weir_aux_keeper_map(&keeper, 1, ring(1)), 0);
    cr_expect_eq(maps, CPUS);
    cr_expect(mapped_writable, "the kernel stops where the reader is");
    const struct weir_aux_drain *aux = ring(1)->aux;
    cr_expect_eq(aux->index, 1);
    cr_expect_eq(aux->cpu, 1);
    cr_expect_eq(aux->task, -1);
    cr_expect_eq(aux->entry_bytes, ENTRY);
    cr_expect_eq(aux->area.bytes, AREA_BYTES);
    cr_expect_not(aux->sampled);
    tear_down();
}

Test(aux_keeper, area_of_a_recorded_task_knows_the_task)
{
    set_up_for(WEIR_AUX_FULL, true);
    cr_assert_eq(weir_aux_keeper_map(&keeper, 0, ring(0)), 0);
    cr_expect_eq(ring(0)->aux->task, rig.targets.tids[0]);
    tear_down();
}

Test(aux_keeper, areas_of_snapshots_and_samples_are_overwritten)
{
    static const enum weir_aux_mode modes[] = {WEIR_AUX_SNAPSHOT, WEIR_AUX_SAMPLE};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        set_up(modes[i]);
        cr_expect_not(mapped_writable);
        cr_expect_eq(ring(0)->aux->sampled, modes[i] == WEIR_AUX_SAMPLE);
        cr_expect_eq(ring(0)->aux->snapshot_bytes, AREA_BYTES / 2);
        cr_expect_eq(sources.count, 0, "such an area is never full");
        tear_down();
    }
}

Test(aux_keeper, cpu_that_the_pmu_is_not_for_has_a_ring_without_an_area)
{
    set_up_for(WEIR_AUX_FULL, false);
    size_t slot = weir_event_set_slot(&rig.set, 0, 1, 0);
    int fd = rig.set.fds[slot];
    rig.set.fds[slot] = -1;
    cr_expect_eq(weir_aux_keeper_map(&keeper, 1, ring(1)), 0);
    cr_expect_null(ring(1)->aux->area.page);
    rig.set.fds[slot] = fd;
    tear_down();
}

/* ---- enabling ---- */

Test(aux_keeper, event_whose_area_was_full_is_enabled_seven_times)
{
    static const unsigned after_ms[] = {1, 4, 16, 64, 256, 1024};
    set_up(WEIR_AUX_FULL);
    request(1);
    expect_calls("+1 ");
    for (size_t i = 0; i < sizeof(after_ms) / sizeof(after_ms[0]); i++) {
        write_area(1, 64);
        pass(after_ms[i] * WEIR_NS_PER_MS - 1);
        expect_calls("");
        pass(1);
        expect_calls("+1 ");
    }
    cr_expect_eq(keeper.next_ns, 0);
    pass(WEIR_NS_PER_S * 60);
    expect_calls("");
    tear_down();
}

Test(aux_keeper, event_whose_area_got_nothing_is_disabled_first)
{
    set_up(WEIR_AUX_FULL);
    request(1);
    expect_calls("+1 ");
    pass(WEIR_NS_PER_MS);
    expect_calls("-1 +1 ");
    write_area(1, 64);
    pass(4 * WEIR_NS_PER_MS);
    expect_calls("+1 ");
    tear_down();
}

Test(aux_keeper, each_event_has_times_of_its_own)
{
    set_up(WEIR_AUX_FULL);
    request(0);
    write_area(0, 64);
    pass(WEIR_NS_PER_MS / 2);
    request(1);
    write_area(1, 64);
    expect_calls("+0 +1 ");
    pass(WEIR_NS_PER_MS / 2);
    expect_calls("+0 ");
    pass(WEIR_NS_PER_MS / 2);
    expect_calls("+1 ");
    tear_down();
}

Test(aux_keeper, wake_without_a_request_enables_nothing)
{
    set_up(WEIR_AUX_FULL);
    become_ready(rig.pipeline.aux_fd);
    expect_calls("");
    cr_expect_eq(keeper.next_ns, 0);
    tear_down();
}

Test(aux_keeper, no_request_undoes_a_disable)
{
    set_up(WEIR_AUX_FULL);
    request(0);
    expect_calls("+0 ");
    weir_aux_keeper_set_on(&keeper, false);
    pass(WEIR_NS_PER_MS);
    request(1);
    expect_calls("");
    weir_aux_keeper_set_on(&keeper, true);
    write_area(0, 64);
    write_area(1, 64);
    pass(4 * WEIR_NS_PER_MS);
    expect_calls("+0 +1 ");
    tear_down();
}

/* ---- snapshots ---- */

Test(aux_keeper, event_is_held_still_for_a_snapshot)
{
    set_up(WEIR_AUX_SNAPSHOT);
    weir_aux_keeper_pause(&keeper, true);
    expect_calls("-0 -1 ");
    weir_aux_keeper_pause(&keeper, false);
    expect_calls("+0 +1 ");
    tear_down();
}

Test(aux_keeper, event_that_is_off_stays_off_behind_a_snapshot)
{
    set_up(WEIR_AUX_SNAPSHOT);
    weir_aux_keeper_set_on(&keeper, false);
    weir_aux_keeper_pause(&keeper, true);
    weir_aux_keeper_pause(&keeper, false);
    expect_calls("");
    tear_down();
}

Test(aux_keeper, event_that_is_enabled_while_a_snapshot_is_taken_waits_for_its_end)
{
    set_up(WEIR_AUX_SNAPSHOT);
    weir_aux_keeper_set_on(&keeper, false);
    weir_aux_keeper_pause(&keeper, true);
    weir_aux_keeper_set_on(&keeper, true);
    expect_calls("-0 -1 ");
    weir_aux_keeper_pause(&keeper, false);
    expect_calls("+0 +1 ");
    tear_down();
}

Test(aux_keeper, areas_that_are_read_whole_need_no_pause)
{
    set_up(WEIR_AUX_FULL);
    weir_aux_keeper_pause(&keeper, true);
    expect_calls("");
    tear_down();
}

/* ---- sums, and what decoders are told ---- */

Test(aux_keeper, areas_are_added_up)
{
    struct weir_aux_sum sum;
    set_up(WEIR_AUX_SNAPSHOT);
    ring(0)->counts.aux_records = 3;
    ring(0)->counts.aux_truncated = 1;
    ring(1)->counts.aux_records = 4;
    rig.pipeline.writer.failed_train_bytes = 77;
    weir_aux_keeper_sum(&keeper, &sum);
    cr_expect_eq(sum.areas, CPUS);
    cr_expect_eq(sum.area_bytes, AREA_BYTES);
    cr_expect(sum.kept_newest);
    cr_expect_eq(sum.records, 7);
    cr_expect_eq(sum.truncated, 1);
    cr_expect_eq(sum.failed_bytes, 77);
    tear_down();
}

Test(aux_keeper, decoder_is_told_of_the_pmu_or_why_not)
{
    struct weir_buf records = WEIR_BUF_INIT;
    struct temp_tree machine;
    uint32_t type;
    fake_sysfs_init(&machine, FAKE_TRACE);
    set_up(WEIR_AUX_FULL);
    keeper.setup.sysfs_root = machine.root;
    rig.list.events[0].attr.type = 4711;
    cr_expect_eq(weir_aux_keeper_append_info(&keeper, &records), -ENODEV);
    cr_expect_eq(records.used, 0);
    rig.list.events[0].attr.type = BTS_TYPE;
    failing_alloc_after(0);
    cr_expect_eq(weir_aux_keeper_append_info(&keeper, &records), -ENOMEM);
    failing_alloc_never();
    cr_assert_eq(weir_aux_keeper_append_info(&keeper, &records), 0);
    cr_assert_gt(records.used, sizeof(type));
    memcpy(&type, records.data, sizeof(type));
    cr_expect_eq(type, 70, "PERF_RECORD_AUXTRACE_INFO");
    weir_buf_fini(&records);
    tear_down();
    temp_tree_fini(&machine);
}
