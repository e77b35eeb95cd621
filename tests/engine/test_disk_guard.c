/*
 * The guard of the disk with free bytes that the test sets. Its timer is the real one: a look takes a tenth of a
 * second. How it removes files with "rotate" is in test_file_finisher.c.
 */
#include "engine/session/disk_guard.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/engine/fake_clock.h"
#include "tests/engine/finisher_rig.h"

#define MIB         (1ull << 20)
#define KEEP_BYTES  (80 * MIB)
#define MORE_BYTES  (KEEP_BYTES / 8) /* beyond these, before recording goes on */
#define PATIENCE_MS 20000

static struct weir_disk_guard guard;
static struct weir_disk_guard_setup setup;
static struct weir_poll_set sources;
static struct weir_writer writer;
static struct fake_clock now;
static struct weir_clock monotonic;

static uint64_t free_bytes, lost;
static int probe_result;
static unsigned probes, ends, rotations, pauses, rooms, asked_for_haste, notices;
static bool hurried, was_suspended;
static char told[8][512];

static int probe_space(const char *folder, uint64_t *bytes)
{
    cr_assert_str_eq(folder, "/some/where");
    probes++;
    *bytes = free_bytes;
    return probe_result;
}

static void take_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    snprintf(told[notices++ % 8], sizeof(told[0]), "%s%s", level == WEIR_NOTICE_WARNING ? "warning: " : "", line);
}

static void end_recording(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    ends++;
}

static void rotate_output(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    rotations++;
}

static void pause_samples(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    was_suspended = guard.suspended;
    pauses++;
}

static uint64_t count_lost(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    return lost;
}

static void find_room(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    rooms++;
}

static bool is_hurried(void *ctx)
{
    cr_assert_eq(ctx, &setup);
    asked_for_haste++;
    return hurried;
}

static const struct weir_notice_sink sink = {.emit = take_notice};

static void init(void)
{
    monotonic = fake_clock_interface(&now);
    free_bytes = 1024 * MIB;
    setup = (struct weir_disk_guard_setup){
        .output_path = "/some/where/it.data",
        .keep_free_bytes = KEEP_BYTES,
        .probe_space = probe_space,
        .notices = &sink,
        .clock = &monotonic,
        .writer = &writer,
        .ctx = &setup,
        .end_recording = end_recording,
        .rotate_output = rotate_output,
        .pause_samples = pause_samples,
        .count_lost = count_lost,
        .find_room = find_room,
        .is_hurried = is_hurried,
    };
}

static void fini(void)
{
    weir_disk_guard_fini(&guard);
    weir_poll_set_fini(&sources);
}

TestSuite(disk_guard, .init = init, .fini = fini, .timeout = 60);

static void begin(enum weir_record_on_full on_full)
{
    struct weir_error err = {0};
    setup.on_full = on_full;
    cr_assert_eq(weir_disk_guard_init(&guard, &setup, &sources, &err), 0, "%s", err.what);
    weir_disk_guard_start(&guard);
}

/* The next look of the timer, with so much free. */
static void look(uint64_t bytes)
{
    free_bytes = bytes;
    cr_assert_eq(weir_poll_set_wait(&sources, PATIENCE_MS), 1);
}

static void tend(void)
{
    now.now_ns += 100 * WEIR_NS_PER_MS;
    weir_disk_guard_tend(&guard);
}

static void *tend_elsewhere(void *ctx)
{
    (void)ctx;
    tend();
    return NULL;
}

/* ---- what is watched ---- */

Test(disk_guard, nothing_is_watched_unless_an_option_asks_for_it)
{
    setup.keep_free_bytes = 0;
    begin(WEIR_RECORD_ON_FULL_STOP);
    cr_expect_not(guard.active);
    cr_expect_eq(sources.count, 0);
    weir_disk_guard_begin_tending(&guard);
    tend();
    cr_expect_not(writer.waits);
    cr_expect_eq(asked_for_haste + probes + notices, 0);
}

Test(disk_guard, folder_that_has_gone_is_no_reason_to_act)
{
    begin(WEIR_RECORD_ON_FULL_STOP);
    probe_result = -ENOENT;
    writer.full = true;
    look(0);
    cr_expect_eq(probes, 1);
    cr_expect_eq(ends + rooms + notices, 0);
}

Test(disk_guard, room_is_told_at_each_look_that_finds_it)
{
    begin(WEIR_RECORD_ON_FULL_STOP);
    look(KEEP_BYTES);
    look(KEEP_BYTES + 1);
    cr_expect_eq(rooms, 2);
    cr_expect_eq(ends + notices, 0);
}

/* ---- stop ---- */

Test(disk_guard, stop_ends_the_recording_once_when_less_is_free)
{
    begin(WEIR_RECORD_ON_FULL_STOP);
    cr_expect_not(writer.waits, "a write without room is a failure");
    look(KEEP_BYTES - 1);
    look(KEEP_BYTES - 1);
    cr_expect_eq(ends, 1);
    cr_expect_eq(rooms, 0);
    cr_expect_eq(notices, 1);
    cr_expect_str_eq(told[0], "warning: less than --keep-free (80 MiB) is free in '/some/where': recording ends");
}

Test(disk_guard, stop_ends_the_recording_when_a_write_found_no_room)
{
    begin(WEIR_RECORD_ON_FULL_STOP);
    writer.full = true;
    look(1024 * MIB);
    cr_expect_eq(ends, 1);
    cr_expect_str_eq(told[0], "warning: there is no room in '/some/where': recording ends");
}

/* ---- suspend ---- */

Test(disk_guard, suspended_recording_goes_on_when_an_eighth_more_is_free)
{
    begin(WEIR_RECORD_ON_FULL_SUSPEND);
    cr_expect(writer.waits);
    lost = 100;
    look(KEEP_BYTES - 1);
    cr_expect(was_suspended);
    cr_expect_eq(pauses, 1);
    look(KEEP_BYTES + MORE_BYTES - 1);
    cr_expect_eq(pauses, 1, "it would be suspended again at once");
    lost = 142;
    look(KEEP_BYTES + MORE_BYTES);
    cr_expect_not(was_suspended);
    cr_expect_eq(pauses, 2);
    cr_expect_eq(guard.lost_suspended, 42);
    cr_expect_eq(notices, 2);
    cr_expect_str_eq(told[0], "warning: less than --keep-free (80 MiB) is free in '/some/where': recording is "
                              "suspended, and samples are counted as lost meanwhile");
    cr_expect_str_eq(told[1], "recording goes on");
}

Test(disk_guard, without_keep_free_a_mib_more_has_to_be_free)
{
    setup.keep_free_bytes = 0;
    begin(WEIR_RECORD_ON_FULL_SUSPEND);
    writer.full = true;
    look(0);
    writer.full = false;
    look(MIB - 1);
    cr_expect(guard.suspended);
    look(MIB);
    cr_expect_not(guard.suspended);
}

Test(disk_guard, gap_at_the_end_of_a_suspended_recording_is_counted_and_no_room_is_a_failure)
{
    begin(WEIR_RECORD_ON_FULL_SUSPEND);
    look(0);
    lost = 7;
    weir_disk_guard_begin_tending(&guard);
    cr_expect_eq(guard.lost_suspended, 7);
    cr_expect_not(writer.waits);
}

/* ---- rotate ---- */

Test(disk_guard, rotation_is_asked_for_where_there_is_no_file_to_remove)
{
    struct finisher_rig rig;
    finisher_rig_init(&rig, &sink);
    finisher_rig_start(&rig);
    setup.finisher = rig.finisher;
    begin(WEIR_RECORD_ON_FULL_ROTATE);
    cr_expect(writer.waits);
    look(KEEP_BYTES - 1);
    look(KEEP_BYTES - 1);
    cr_expect_eq(rotations, 2);
    cr_expect_eq(notices, 1);
    cr_expect_str_eq(told[0], "warning: less than --keep-free (80 MiB) is free in '/some/where': the oldest files of "
                              "this recording are removed; this is reported once");
    cr_assert_eq(finisher_rig_fini(&rig), 0);
}

Test(disk_guard, file_that_may_not_fit_is_told_at_the_start)
{
    setup.file_bytes = 100 * MIB;
    setup.memory_bytes = 20 * MIB;
    setup.rings_bytes = 3 * MIB;
    free_bytes = 123 * MIB;
    begin(WEIR_RECORD_ON_FULL_ROTATE);
    cr_expect_eq(notices, 0);
    weir_disk_guard_fini(&guard);
    weir_poll_set_fini(&sources);
    free_bytes--;
    begin(WEIR_RECORD_ON_FULL_ROTATE);
    cr_expect_eq(notices, 1);
    cr_expect_str_eq(told[0],
                     "warning: --on-full=rotate may find no file to remove: 122 MiB are free in '/some/where', and one "
                     "file may take 123 MiB: 100 by --switch-output, 20 from the buffer and 3 from rings; "
                     "--switch-output=SIZE, --buffer-size and -m make the file smaller");
}

/* ---- the end ---- */

Test(disk_guard, haste_ends_the_waiting_for_space_when_the_coordinator_looks)
{
    begin(WEIR_RECORD_ON_FULL_ROTATE);
    writer.full = hurried = true;
    tend();
    cr_expect_eq(asked_for_haste, 0, "recording goes on");
    weir_disk_guard_begin_tending(&guard);
    tend();
    weir_disk_guard_tend(&guard); /* a tenth of a second has not passed */
    cr_expect_eq(asked_for_haste, 1);
    cr_expect_not(writer.waits);
}

Test(disk_guard, other_threads_do_not_look_for_signals)
{
    pthread_t thread;
    begin(WEIR_RECORD_ON_FULL_ROTATE);
    hurried = true;
    weir_disk_guard_begin_tending(&guard);
    cr_assert_eq(pthread_create(&thread, NULL, tend_elsewhere, NULL), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_expect_eq(asked_for_haste, 0);
    cr_expect(writer.waits);
}
