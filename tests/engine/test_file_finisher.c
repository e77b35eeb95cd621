/*
 * The finisher at its bounds: more files than its queue holds, and a disk or a quota without room for what a file ends
 * with. Its names and commands are those of test_kept_files.c, its races those of race_file_finisher.c.
 */
#include "engine/files/file_finisher.h"
#include "engine/files/file_series_internal.h"
#include "engine/session/disk_guard.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/engine/finisher_rig.h"
#include "tests/engine/side_records.h"
#include "tests/io/fake_io.h"

#define PATIENCE_MS 20000
#define TABLE_BYTES 512 /* no table of features has so many; less than the features themselves */

static struct finisher_rig rig;
static struct weir_writer writer; /* of which the guard uses `full` and `waits` */
static sem_t gate;                /* where the finisher's thread waits when it tells of a file */
static bool gated;
static char told[16][256];
static _Atomic unsigned told_count, warned; /* the finisher tells */

static void take_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    warned += level == WEIR_NOTICE_WARNING;
    if (level != WEIR_NOTICE_INFO)
        return;
    snprintf(told[told_count++ % 16], sizeof(told[0]), "%s", line);
    while (gated && sem_wait(&gate) < 0 && errno == EINTR)
        ;
}

static const struct weir_notice_sink sink = {.emit = take_notice};

static bool no_haste(void *ctx)
{
    (void)ctx;
    return false;
}

/* Files in the folder, which are removed. */
static unsigned clean_folder(void)
{
    unsigned count = 0;
    DIR *folder = opendir(rig.folder);
    cr_assert_not_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_type == DT_REG && unlinkat(dirfd(folder), entry->d_name, 0) == 0;
    closedir(folder);
    return count;
}

static void init(void)
{
    sem_init(&gate, 0, 0);
    finisher_rig_init(&rig, &sink);
}

static void fini(void)
{
    clean_folder();
    cr_assert_eq(finisher_rig_fini(&rig), 0);
}

TestSuite(file_finisher, .init = init, .fini = fini, .timeout = 60);

/* ---- the queue ---- */

static bool is_told_of_room(int timeout_ms)
{
    struct pollfd room = {.fd = rig.room_fd, .events = POLLIN};
    eventfd_t ignored;
    return poll(&room, 1, timeout_ms) == 1 && eventfd_read(rig.room_fd, &ignored) == 0;
}

/* One is in hand, and as many as there may be wait behind it. */
Test(file_finisher, full_queue_takes_no_file_until_there_is_room_and_says_when)
{
    gated = true;
    finisher_rig_start(&rig);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    cr_assert(is_told_of_room(PATIENCE_MS));
    for (unsigned i = 0; i < WEIR_FINISHER_FILES; i++)
        cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)), "file %u", i);
    struct weir_record_file *one_more = finisher_rig_make_file(&rig, NULL);
    cr_expect_not(weir_file_finisher_push(rig.finisher, one_more));
    cr_expect_not(is_told_of_room(0));
    sem_post(&gate);
    cr_assert(is_told_of_room(PATIENCE_MS));
    cr_assert(weir_file_finisher_push(rig.finisher, one_more));
    for (unsigned i = 0; i < WEIR_FINISHER_FILES + 1; i++)
        sem_post(&gate);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->files, WEIR_FINISHER_FILES + 2);
    cr_expect_eq(told_count, WEIR_FINISHER_FILES + 2);
    for (unsigned i = 1; i < told_count; i++)
        cr_expect_lt(strcmp(told[i - 1], told[i]), 0, "file %u", i);
    cr_expect_eq(rig.rotations.word & UINT32_MAX, 0);
    cr_expect_eq(warned, 0);
    cr_expect_eq(clean_folder(), WEIR_FINISHER_FILES + 2);
}

/* ---- what is removed ---- */

/* Looks so often, a tenth of a second apart, at a disk that is full. The recording has ended. */
static void look_at_full_disk(struct weir_disk_guard *guard, unsigned looks)
{
    static struct fake_clock now;
    static struct weir_clock clock;
    clock = fake_clock_interface(&now);
    writer.full = writer.waits = true;
    guard->active = true;
    guard->folder = rig.folder;
    guard->setup = (struct weir_disk_guard_setup){
        .on_full = WEIR_RECORD_ON_FULL_ROTATE,
        .notices = &sink,
        .clock = &clock,
        .writer = &writer,
        .finisher = rig.finisher,
        .is_hurried = no_haste,
    };
    weir_disk_guard_begin_tending(guard);
    for (unsigned i = 0; i < looks; i++) {
        now.now_ns += 100 * WEIR_NS_PER_MS;
        weir_disk_guard_tend(guard);
    }
}

static void await_told(unsigned files)
{
    while (told_count < files)
        usleep(1000);
}

/* Once the file in hand is finished, a look at the full disk has it removed. */
static void have_finished_file_removed(struct weir_disk_guard *guard)
{
    while (weir_file_finisher_work(rig.finisher) != WEIR_FINISHER_RESTS)
        usleep(1000);
    look_at_full_disk(guard, 1);
    weir_file_finisher_await_drops(rig.finisher);
}

/* Its fsync(2) takes half a second, say: what is removed then may be enough. */
Test(file_finisher, while_a_file_is_finished_no_more_than_one_is_removed)
{
    struct weir_disk_guard guard = {0};
    finisher_rig_start(&rig);
    for (unsigned i = 0; i < 3; i++)
        cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    await_told(3);
    gated = true;
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    await_told(4);
    look_at_full_disk(&guard, 5);
    cr_expect_eq(weir_file_finisher_work(rig.finisher), WEIR_FINISHER_DROPS);
    sem_post(&gate);
    weir_file_finisher_await_drops(rig.finisher);
    cr_expect_eq(weir_file_finisher_work(rig.finisher), WEIR_FINISHER_RESTS);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_removed(rig.finisher).files, 1);
    cr_expect_eq(clean_folder(), 3);
}

Test(file_finisher, full_disk_waits_for_the_file_that_is_being_finished)
{
    struct weir_disk_guard guard = {0};
    gated = true;
    finisher_rig_start(&rig);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    await_told(1);
    look_at_full_disk(&guard, 20);
    cr_expect_eq(weir_file_finisher_work(rig.finisher), WEIR_FINISHER_FINISHES);
    cr_expect(writer.waits);
    sem_post(&gate);
    have_finished_file_removed(&guard);
    look_at_full_disk(&guard, 20);
    cr_expect_not(writer.waits, "there is nothing left to remove, and nothing to wait for");
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(clean_folder(), 0);
}

/* One may be about to be switched away. */
Test(file_finisher, full_disk_without_a_file_to_remove_is_given_up_at_the_tenth_look_in_a_row)
{
    struct weir_disk_guard guard = {0};
    finisher_rig_start(&rig);
    look_at_full_disk(&guard, 9);
    cr_assert(writer.waits);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    await_told(1);
    have_finished_file_removed(&guard);
    look_at_full_disk(&guard, 9);
    cr_expect(writer.waits, "the one that was removed begins the row anew");
    look_at_full_disk(&guard, 1);
    cr_expect_not(writer.waits);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(clean_folder(), 0);
}

/* As many run as may, and none ends: the file that comes next waits for its own. */
Test(file_finisher, what_is_to_be_removed_does_not_wait_for_commands)
{
    char fifo[PATH_MAX], limit[] = "timeout", seconds[] = "50", shell[] = "sh", option[] = "-c",
                         script[] = "read -r _ <\"$0\"";
    char *command[] = {limit, seconds, shell, option, script, fifo, NULL};
    snprintf(fifo, sizeof(fifo), "%s/gate", rig.folder);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    rig.options.rotation.command = command;
    finisher_rig_start(&rig);
    for (unsigned i = 0; i <= WEIR_KEPT_COMMANDS; i++) {
        struct weir_record_file *file = finisher_rig_make_file(&rig, NULL);
        while (!weir_file_finisher_push(rig.finisher, file))
            usleep(1000);
    }
    await_told(WEIR_KEPT_COMMANDS + 1);
    cr_expect(weir_file_finisher_drop_oldest(rig.finisher));
    weir_file_finisher_await_drops(rig.finisher);
    int fd = open(fifo, O_RDWR);
    cr_assert_geq(fd, 0);
    for (unsigned i = 0; i <= WEIR_KEPT_COMMANDS; i++)
        cr_assert_eq(write(fd, "\n", 1), 1);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    weir_file_finisher_await_commands(rig.finisher, no_haste, NULL);
    close(fd);
    unlink(fifo);
    cr_expect_eq(weir_file_finisher_removed(rig.finisher).files, 1);
    cr_expect_eq(clean_folder(), WEIR_KEPT_COMMANDS);
}

/* Nobody has said what the next file begins with, and nobody will: /proc hangs. */
Test(file_finisher, file_that_was_left_is_finished_though_the_rotation_had_no_answer)
{
    finisher_rig_start(&rig);
    struct weir_triggers triggers;
    weir_triggers_init(&triggers, &sink);
    struct weir_file_series series = {
        .setup = {.plan = &rig.plan, .triggers = &triggers},
        .finisher = rig.finisher,
        .ended = finisher_rig_make_file(&rig, NULL),
        .rotation = {.step = WEIR_ROTATION_ANSWERING, .progress_fd = rig.room_fd},
    };
    struct weir_writer_rotation *request = &series.rotation.request;
    weir_writer_rotation_init(request, NULL);
    request->item.state = WEIR_CHUNK_IN_FLIGHT;
    weir_file_rotation_end(&series);
    cr_assert_not_null(series.ended, "it is still the writer's");
    request->item.state = WEIR_CHUNK_FREE;
    weir_file_rotation_end(&series);
    cr_expect_null(series.ended);
    cr_expect_eq(series.rotation.step, WEIR_ROTATION_IDLE);
    weir_file_rotation_end(&series);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->files, 1);
    cr_expect_eq(told_count, 1);
}

/* ---- no room ---- */

static sem_t answering, may_answer;

/* As one that waits for chunks, which come back when there is room on the disk. */
static void wait_for_room(void *ctx, const struct weir_sideband_view *view)
{
    (void)ctx, (void)view;
    sem_post(&answering);
    while (sem_wait(&may_answer) < 0 && errno == EINTR)
        ;
}

/* The next file's beginning waits for room, the file that has ended for what the sideband knows, and the room for us.
 */
Test(file_finisher, oldest_file_goes_while_the_sideband_waits_for_room)
{
    static _Atomic uint64_t epoch;
    const uint64_t side_bytes = 0;
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = 1, .epoch = &epoch};
    struct weir_sideband_question question = {.side_bytes = &side_bytes, .answer = wait_for_room};
    struct weir_sideband_counts counts;
    sem_init(&answering, 0, 0);
    sem_init(&may_answer, 0, 0);
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    rig.sideband = sideband;
    finisher_rig_start(&rig);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    cr_assert(is_told_of_room(PATIENCE_MS));
    while (told_count == 0)
        usleep(1000);
    weir_sideband_ask(sideband, &question);
    while (sem_wait(&answering) < 0 && errno == EINTR)
        ;
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    cr_assert(is_told_of_room(PATIENCE_MS)); /* it is in hand */
    cr_assert(weir_file_finisher_drop_oldest(rig.finisher));
    weir_file_finisher_await_drops(rig.finisher);
    cr_expect_eq(told_count, 1, "the second one is not finished yet");
    sem_post(&may_answer);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(told_count, 2);
    cr_expect_eq(clean_folder(), 1);
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    weir_sideband_free(sideband);
}

enum found {
    FOUND_NO_FEATURES,
    FOUND_THOSE_OF_THE_START, /* the copy in the head */
    FOUND_ITS_OWN,
};

/* What the head and the table behind the data say of the features. */
static enum found find_features(const struct fake_io *disk)
{
    struct weir_perf_header header;
    struct weir_perf_section first;
    memcpy(&header, fake_io_bytes(disk), sizeof(header));
    if (header.features[0] == 0)
        return FOUND_NO_FEATURES;
    memcpy(&first, fake_io_bytes(disk) + header.data.offset + header.data.size, sizeof(first));
    cr_expect(first.size > 0 && first.offset + first.size <= fake_io_size(disk));
    return first.offset < header.data.offset ? FOUND_THOSE_OF_THE_START : FOUND_ITS_OWN;
}

/* Pushes a file on a disk of which the next write fails. */
static struct fake_io *push_with_failure(int error)
{
    struct fake_io *disk = fake_io_new(&(struct fake_io_options){0});
    struct weir_record_file *file = finisher_rig_make_file(&rig, fake_io_ops(disk));
    const struct fake_io_fault full = {fake_io_calls(disk, FAKE_IO_PWRITEV) + 1, false, error};
    fake_io_set_fault(disk, FAKE_IO_PWRITEV, &full);
    cr_assert(weir_file_finisher_push(rig.finisher, file));
    return disk;
}

static uint64_t measure_head(void)
{
    struct fake_io *disk = fake_io_new(&(struct fake_io_options){0});
    struct weir_record_file *file = finisher_rig_make_file(&rig, fake_io_ops(disk));
    uint64_t bytes = file->head_bytes;
    weir_record_file_close(file);
    weir_rotation_count_end(&rig.rotations);
    fake_io_free(disk);
    return bytes;
}

/* Pushes a file on a disk that has so much room for more than its head, or a quota that has. */
static struct fake_io *push_onto_full(uint64_t room_bytes, bool is_quota)
{
    const struct fake_io_options options = {.space_bytes = measure_head() + room_bytes, .is_quota = is_quota};
    struct fake_io *disk = fake_io_new(&options);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, fake_io_ops(disk))));
    return disk;
}

static void expect_finished(enum weir_record_on_full on_full, int error, bool is_whole, unsigned files_left)
{
    rig.options.output.on_full = on_full;
    finisher_rig_start(&rig);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    struct fake_io *disk = push_with_failure(error);
    while (told_count < 2) /* stop() would end what is waited for */
        usleep(1000);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    const struct weir_finished_files *sums = weir_file_finisher_sums(rig.finisher);
    cr_expect_eq(sums->files, 2);
    cr_expect_eq(sums->err.code, is_whole ? 0 : error);
    cr_expect_eq(find_features(disk), is_whole ? FOUND_ITS_OWN : FOUND_THOSE_OF_THE_START);
    cr_expect_eq(warned, !is_whole);
    cr_expect_eq(clean_folder(), files_left);
    fake_io_free(disk);
}

Test(file_finisher, without_room_a_file_has_the_features_of_its_start_and_that_is_told)
{
    expect_finished(WEIR_RECORD_ON_FULL_STOP, -ENOSPC, false, 1);
}

Test(file_finisher, without_quota_a_file_has_the_features_of_its_start_and_that_is_told)
{
    expect_finished(WEIR_RECORD_ON_FULL_STOP, -EDQUOT, false, 1);
}

Test(file_finisher, with_rotate_the_oldest_file_makes_room_for_features)
{
    expect_finished(WEIR_RECORD_ON_FULL_ROTATE, -ENOSPC, true, 0);
}

Test(file_finisher, with_rotate_the_oldest_file_makes_room_in_a_quota)
{
    expect_finished(WEIR_RECORD_ON_FULL_ROTATE, -EDQUOT, true, 0);
}

Test(file_finisher, with_suspend_room_for_features_is_waited_for)
{
    expect_finished(WEIR_RECORD_ON_FULL_SUSPEND, -ENOSPC, true, 1);
}

Test(file_finisher, with_suspend_room_in_a_quota_is_waited_for)
{
    expect_finished(WEIR_RECORD_ON_FULL_SUSPEND, -EDQUOT, true, 1);
}

Test(file_finisher, other_failures_make_no_room_and_are_not_waited_for)
{
    expect_finished(WEIR_RECORD_ON_FULL_ROTATE, -EIO, false, 1);
}

/* Suspended: until the recording ends. */
Test(file_finisher, room_that_never_comes_is_waited_for_until_the_end_only)
{
    rig.options.output.on_full = WEIR_RECORD_ON_FULL_SUSPEND;
    finisher_rig_start(&rig);
    struct fake_io *disk = push_onto_full(TABLE_BYTES, true);
    cr_assert(is_told_of_room(PATIENCE_MS)); /* it is in hand */
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->files, 1);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->err.code, -EDQUOT);
    cr_expect_eq(find_features(disk), FOUND_THOSE_OF_THE_START);
    fake_io_free(disk);
}

/* The newest file that is left is not this one. */
Test(file_finisher, room_that_never_comes_costs_older_files_and_some_time_only)
{
    finisher_rig_start(&rig);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, NULL)));
    struct fake_io *disk = push_onto_full(0, false);
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->err.code, -ENOSPC);
    cr_expect_eq(find_features(disk), FOUND_NO_FEATURES);
    const char *hint = weir_file_finisher_sums(rig.finisher)->err.hint;
    cr_expect_str_eq(hint, "weir recover makes a whole file of it, with what was known at the start");
    cr_expect_eq(fake_io_size(disk), measure_head());
    cr_expect_eq(clean_folder(), 0);
    fake_io_free(disk);
}

/* With --sync. */
Test(file_finisher, features_of_the_start_are_on_the_disk_before_the_head_tells_of_them)
{
    rig.options.output.sync = true;
    finisher_rig_start(&rig);
    struct fake_io_options options = {.space_bytes = measure_head() + TABLE_BYTES};
    options.faults[FAKE_IO_FSYNC] = (struct fake_io_fault){1, false, -EIO};
    struct fake_io *disk = fake_io_new(&options);
    cr_assert(weir_file_finisher_push(rig.finisher, finisher_rig_make_file(&rig, fake_io_ops(disk))));
    weir_file_finisher_stop(rig.finisher, no_haste, NULL);
    cr_expect_eq(weir_file_finisher_sums(rig.finisher)->err.code, -EIO);
    cr_expect_eq(find_features(disk), FOUND_NO_FEATURES);
    fake_io_free(disk);
}
