/* The sideband thread: what readers and synthesis hand it ends in the task map and in the list of build ids. */
#include "engine/tasks/sideband_internal.h"

#include "tests/base/failing_alloc.h"
#include "tests/engine/mappings_of.h"
#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PATIENCE_MS 60000u

static _Atomic uint64_t epoch;

static struct weir_sideband *make(unsigned tees)
{
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = tees, .epoch = &epoch, .read_build_ids = true};
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    return sideband;
}

static void push(struct weir_sideband *sideband, unsigned reader, const struct weir_buf *records)
{
    weir_side_tee_push(weir_sideband_tee(sideband, reader), records->data, records->used);
}

Test(sideband, without_memory_it_is_not_made)
{
    struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = 2, .epoch = &epoch};
    for (unsigned successes = 0; successes < 4; successes++) {
        struct weir_sideband *sideband = NULL;
        failing_alloc_after(successes);
        int result = weir_sideband_new(&sideband, &setup);
        failing_alloc_never();
        cr_expect_eq(result, -ENOMEM, "allocation %u", successes);
        weir_sideband_free(sideband);
    }
    weir_sideband_free(NULL);
}

Test(sideband, not_started_it_is_freed_with_what_it_was_fed)
{
    struct weir_sideband *sideband = make(1);
    struct weir_buf records = WEIR_BUF_INIT;
    side_comm(&records, 0, 5, 5, "x", false);
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

/* The fork was drained after its child's exec, from another CPU; synthesis comes last and stands first. */
Test(sideband, records_are_applied_in_the_order_of_time)
{
    struct weir_sideband *sideband = make(2);
    struct weir_buf records = WEIR_BUF_INIT;
    cr_assert_eq(weir_sideband_start(sideband), 0);
    side_comm(&records, 20, 6, 6, "new", true);
    side_map(&records, 30, 6, 0x3000, 0x4000, 0, "//anon");
    push(sideband, 0, &records);
    weir_buf_reset(&records);
    side_fork(&records, 10, 6, 5, 6, 5);
    push(sideband, 1, &records);
    weir_buf_reset(&records);
    side_fork(&records, 0, 5, 1, 5, 1);
    side_comm(&records, 0, 5, 5, "old", false);
    side_map(&records, 0, 5, 0x1000, 0x2000, 0, "//anon");
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);

    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    const struct weir_task_map *tasks = &sideband->tasks;
    size_t count;
    cr_assert_eq(counts.records, 6);
    cr_assert_eq(counts.tasks, 2);
    cr_assert_eq(counts.missed, 0);
    cr_assert_eq(counts.reordered, 0);
    cr_assert_not(counts.lacks_files);
    cr_assert_str_eq(weir_task_map_find(tasks, 6)->comm, "new");
    cr_assert_str_eq(weir_task_map_find(tasks, 5)->comm, "old");
    const struct weir_task_mapping *maps = mappings_of(tasks, 6, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(maps[0].start, 0x3000);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

Test(sideband, more_files_than_there_is_room_for_are_told)
{
    const struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = 1, .epoch = &epoch};
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_counts counts;
    struct weir_buf records = WEIR_BUF_INIT;
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    for (uint64_t i = 0; i <= WEIR_MAPPED_FILES_MAX; i++)
        side_map(&records, 0, 5, 0x1000, 0x2000, i + 1, "/bin/x");
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_expect_eq(counts.files, WEIR_MAPPED_FILES_MAX);
    cr_expect(counts.lacks_files);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

Test(sideband, missed_records_leave_the_task_map_in_doubt)
{
    struct weir_sideband *sideband = make(1);
    struct weir_side_tee *tee = weir_sideband_tee(sideband, 0);
    static uint8_t block[65536];
    const struct perf_event_header header = {.type = PERF_RECORD_COMM, .size = 65528};
    memcpy(block, &header, sizeof(header));
    for (size_t used = 0; used <= tee->bytes; used += header.size)
        weir_side_tee_push(tee, block, header.size);
    cr_assert_eq(weir_side_tee_missed(tee), 1);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_assert_eq(counts.missed, 1);
    cr_assert(sideband->tasks.is_doubtful);
    weir_sideband_free(sideband);
}

/* The kernel says so in the ring itself, once it has room again. */
Test(sideband, records_that_the_kernel_lost_leave_the_task_map_in_doubt)
{
    struct weir_sideband *sideband = make(1);
    struct weir_buf records = WEIR_BUF_INIT;
    side_comm(&records, 10, 5, 5, "known", false);
    side_lost(&records, 20, 3);
    push(sideband, 0, &records);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_expect_eq(counts.lost, 3);
    cr_expect_eq(counts.records, 1);
    cr_expect(sideband->tasks.is_doubtful);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

Test(sideband, build_id_of_a_mapped_file_is_read)
{
    struct stat status;
    char path[4096] = "";
    cr_assert_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
    cr_assert_eq(stat(path, &status), 0);
    struct weir_build_id expected = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_build_id_of_file(fd, &expected), 0);
    close(fd);

    struct weir_sideband *sideband = make(1);
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_record_map map = {
        .pid = getpid(),
        .tid = getpid(),
        .start = 0x1000,
        .bytes = 0x1000,
        .major = major(status.st_dev),
        .minor = minor(status.st_dev),
        .inode = status.st_ino,
        .protection = 5,
        .cpumode = PERF_RECORD_MISC_USER,
        .filename = path,
    };
    weir_record_mmap2(&records, &map, 32);
    map.filename = "/there/is/no/such/file";
    map.inode++;
    weir_record_mmap2(&records, &map, 32);
    push(sideband, 0, &records);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_assert_eq(counts.files, 2);
    cr_assert_eq(counts.build_ids, 1);
    cr_assert_eq(counts.unread, 0);

    struct weir_build_id_entry *entries;
    size_t count;
    cr_assert_eq(weir_mapped_files_list(weir_sideband_files(sideband), 0, &entries, &count), 0);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(entries[0].name, path);
    cr_assert_eq(entries[0].id.bytes, expected.bytes);
    cr_assert_arr_eq(entries[0].id.data, expected.data, 20);
    free(entries);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

/* ---- questions ---- */

struct answered {
    struct weir_buf records;
    unsigned answers, unanswered;
    pid_t incomplete; /* the last one */
    int result;
};

static int keep(void *ctx, const void *records, size_t bytes)
{
    struct answered *answered = ctx;
    memcpy(weir_buf_extend(&answered->records, bytes), records, bytes);
    return 0;
}

static int note_incomplete(void *ctx, pid_t pid)
{
    ((struct answered *)ctx)->incomplete = pid;
    return 0;
}

static void answer(void *ctx, const struct weir_sideband_view *view)
{
    struct answered *answered = ctx;
    const struct weir_task_map_sink sink = {
        .sample_id_bytes = 32, .emit = keep, .incomplete = note_incomplete, .ctx = ctx};
    answered->answers++;
    answered->unanswered += !view;
    answered->result = view ? weir_sideband_view_emit(view, &sink) : 0;
}

/* "type pid" of every record, with its time when it has one. */
static void describe(const struct weir_buf *records, char *text, size_t bytes)
{
    struct weir_side_record record;
    text[0] = '\0';
    for (size_t at = 0; at < records->used;) {
        at = side_parse(records, at, &record);
        size_t used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s %d@%llu", used ? ", " : "",
                 record.type == PERF_RECORD_FORK   ? "fork"
                 : record.type == PERF_RECORD_EXIT ? "exit"
                 : record.type == PERF_RECORD_COMM ? record.comm
                                                   : "map",
                 (int)record.pid, (unsigned long long)record.time_ns);
    }
}

Test(sideband, question_that_nobody_got_to_is_answered_without_a_view)
{
    struct weir_sideband *sideband = make(1);
    struct answered answered = {.records = WEIR_BUF_INIT};
    const uint64_t side_bytes = 0;
    struct weir_sideband_question question = {.side_bytes = &side_bytes, .answer = answer, .ctx = &answered};
    weir_sideband_ask(sideband, &question);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts); /* it was never started */
    cr_assert_eq(answered.answers, 1);
    cr_assert_eq(answered.unanswered, 1);
    weir_sideband_free(sideband);
}

/* Task 5 ends just before the switch, task 6 just behind it. */
Test(sideband, answer_is_the_task_map_and_what_was_kept_back_from_before_the_switch)
{
    struct weir_sideband *sideband = make(2);
    struct weir_buf records = WEIR_BUF_INIT;
    struct answered answered = {.records = WEIR_BUF_INIT};
    char text[512];
    epoch = 7;
    side_comm(&records, 0, 5, 5, "five", false);
    side_comm(&records, 0, 6, 6, "six", false);
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);
    weir_buf_reset(&records);
    side_exit(&records, 100, 5, 5);
    uint64_t side_bytes[2] = {records.used, 0};
    side_exit(&records, 120, 6, 6);
    push(sideband, 0, &records);
    weir_buf_reset(&records);
    side_comm(&records, 110, 7, 7, "late", false);
    push(sideband, 1, &records);

    struct weir_sideband_question question = {.side_bytes = side_bytes, .answer = answer, .ctx = &answered};
    weir_sideband_ask(sideband, &question);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_assert_eq(answered.answers, 1);
    cr_assert_eq(answered.unanswered, 0);
    cr_assert_eq(answered.result, 0);
    cr_assert_eq(answered.incomplete, 0);
    describe(&answered.records, text, sizeof(text));
    cr_assert_str_eq(text, "fork 5@0, five 5@0, fork 6@0, six 6@0, exit 5@100");
    uint64_t id;
    memcpy(&id, answered.records.data + answered.records.used - sizeof(id), sizeof(id));
    cr_assert_eq(id, 0, "a repeated record is of no event");
    cr_assert_null(weir_task_map_find(&sideband->tasks, 5));
    weir_sideband_free(sideband);
    weir_buf_fini(&answered.records);
    weir_buf_fini(&records);
}

Test(sideband, map_that_is_in_doubt_from_the_start_has_its_processes_read_anew)
{
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_setup setup = {.attr = &side_attr, .tee_count = 1, .epoch = &epoch, .is_doubtful = true};
    struct weir_buf records = WEIR_BUF_INIT;
    struct answered answered = {.records = WEIR_BUF_INIT};
    const uint64_t side_bytes = 0;
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    side_comm(&records, 0, 5, 5, "five", false);
    weir_sideband_feed(sideband, records.data, records.used);
    struct weir_sideband_question question = {.side_bytes = &side_bytes, .answer = answer, .ctx = &answered};
    weir_sideband_ask(sideband, &question);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_assert_eq(answered.incomplete, 5);
    weir_sideband_free(sideband);
    weir_buf_fini(&answered.records);
    weir_buf_fini(&records);
}

Test(sideband, copied_build_ids_have_names_of_their_own)
{
    struct weir_sideband *sideband = make(1);
    struct weir_buf records = WEIR_BUF_INIT;
    struct weir_build_id_entry *entries = NULL;
    size_t count = 99;
    side_map(&records, 0, 5, 0x1000, 0x2000, 77, "/there/is/no/such/file");
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    cr_assert_eq(weir_sideband_copy_build_ids(sideband, 0, PATIENCE_MS, NULL, &entries, &count), 0);
    cr_assert_eq(count, 0); /* it has none */
    free(entries);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}

/* ---- outputs ---- */

static int invent_id(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots,
                     struct weir_build_id *id)
{
    (void)name;
    (void)roots;
    *id = (struct weir_build_id){.bytes = 1, .data = {(uint8_t)file->inode}};
    return 0;
}

/* The new output begins with what was read elsewhere. */
struct beginning {
    struct weir_buf records;
    sem_t answered;
};

static void note_and_post(void *ctx, const struct weir_sideband_view *view)
{
    struct beginning *beginning = ctx;
    weir_sideband_view_note_maps(view, beginning->records.data, beginning->records.used);
    sem_post(&beginning->answered);
}

static void begin_output(struct weir_sideband *sideband, struct beginning *beginning)
{
    const uint64_t side_bytes = 0;
    struct weir_sideband_question question = {.side_bytes = &side_bytes, .answer = note_and_post, .ctx = beginning};
    weir_sideband_ask(sideband, &question);
    while (sem_wait(&beginning->answered) < 0) {
    }
}

static void expect_listed(struct weir_sideband *sideband, uint32_t output, const char *expected)
{
    struct weir_build_id_entry *entries = NULL;
    size_t count = 0;
    char names[64] = "";
    cr_assert_eq(weir_sideband_copy_build_ids(sideband, output, PATIENCE_MS, NULL, &entries, &count), 0);
    for (size_t i = 0; i < count; i++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s ", entries[i].name);
    free(entries);
    cr_expect_str_eq(names, expected, "output %u: %s", output, names);
}

/* Task 5 is known with its map; that of task 6 is not, it is read from /proc for each output; task 7 has ended. With
 * keeps: all of them are wanted at the end. */
static void run_outputs(bool keeps)
{
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_setup setup = {.attr = &side_attr,
                                        .tee_count = 1,
                                        .epoch = &epoch,
                                        .read_build_ids = true,
                                        .keeps_files = keeps,
                                        .read_id = invent_id};
    struct weir_buf records = WEIR_BUF_INIT;
    struct beginning beginning = {.records = WEIR_BUF_INIT};
    sem_init(&beginning.answered, 0, 0);
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    side_map(&records, 0, 5, 0x1000, 0x2000, 55, "/bin/5");
    side_map(&records, 0, 6, 0x1000, 0x2000, 66, "/bin/6");
    side_map(&records, 0, 7, 0x1000, 0x2000, 77, "/bin/7");
    side_exit(&records, 0, 6, 6);
    side_exit(&records, 0, 7, 7);
    side_map(&beginning.records, 0, 6, 0x1000, 0x2000, 66, "/bin/6");
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    begin_output(sideband, &beginning);
    expect_listed(sideband, 0, "/bin/7 /bin/6 /bin/5 "); /* their ids are read: a file that waits for that stays */
    for (unsigned output = 2; output <= WEIR_MAPPED_OUTPUTS_KEPT + 2; output++)
        begin_output(sideband, &beginning);
    expect_listed(sideband, WEIR_MAPPED_OUTPUTS_KEPT + 2, "/bin/6 /bin/5 ");
    expect_listed(sideband, 0, keeps ? "/bin/7 /bin/6 /bin/5 " : "/bin/6 /bin/5 ");
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_expect_eq(counts.files, 3);
    weir_sideband_free(sideband);
    weir_buf_fini(&beginning.records);
    weir_buf_fini(&records);
    sem_destroy(&beginning.answered);
}

Test(sideband, files_that_no_output_knows_any_more_are_forgotten, .timeout = 60)
{
    run_outputs(false);
}

Test(sideband, files_that_are_wanted_at_the_end_are_kept, .timeout = 60)
{
    run_outputs(true);
}

/* ---- a file that hangs ---- */

static sem_t hung, let_go;

/* As a file on a dead server: of the first one, until the test lets go. */
static int hang(const struct weir_mapped_file *file, const char *name, const struct weir_mapped_file_roots *roots,
                struct weir_build_id *id)
{
    (void)roots;
    if (file->inode == 77) {
        sem_post(&hung);
        sem_wait(&let_go);
    }
    id->bytes = 20;
    id->data[0] = (uint8_t)name[1];
    return 0;
}

static struct weir_sideband *make_hanging(void)
{
    struct weir_sideband *sideband = NULL;
    struct weir_sideband_setup setup = {
        .attr = &side_attr, .tee_count = 1, .epoch = &epoch, .read_build_ids = true, .read_id = hang};
    sem_init(&hung, 0, 0);
    sem_init(&let_go, 0, 0);
    cr_assert_eq(weir_sideband_new(&sideband, &setup), 0);
    struct weir_buf records = WEIR_BUF_INIT;
    side_map(&records, 0, 5, 0x1000, 0x2000, 77, "/dead");
    side_map(&records, 0, 5, 0x3000, 0x4000, 78, "/live");
    weir_sideband_feed(sideband, records.data, records.used);
    weir_sideband_end_feed(sideband);
    weir_buf_fini(&records);
    cr_assert_eq(weir_sideband_start(sideband), 0);
    while (sem_wait(&hung) < 0) {
    }
    return sideband;
}

static void answer_and_post(void *ctx, const struct weir_sideband_view *view)
{
    answer(ctx, view);
    sem_post(&hung);
}

Test(sideband, question_is_answered_while_a_file_hangs, .timeout = 60)
{
    struct weir_sideband *sideband = make_hanging();
    struct answered answered = {.records = WEIR_BUF_INIT};
    const uint64_t side_bytes = 0;
    struct weir_sideband_question question = {.side_bytes = &side_bytes, .answer = answer_and_post, .ctx = &answered};
    weir_sideband_ask(sideband, &question);
    while (sem_wait(&hung) < 0) {
    }
    cr_expect_eq(answered.unanswered, 0);
    cr_expect_gt(answered.records.used, 0, "the maps of task 5");

    struct weir_build_id_entry *entries = NULL;
    size_t count = 99;
    cr_assert_eq(weir_sideband_copy_build_ids(sideband, 0, 100, NULL, &entries, &count), 0);
    cr_expect_eq(count, 0);
    free(entries);
    sem_post(&let_go);
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, PATIENCE_MS, &counts);
    cr_expect_eq(counts.build_ids, 2);
    cr_expect_eq(counts.unread, 0);
    weir_sideband_free(sideband);
    weir_buf_fini(&answered.records);
}

Test(sideband, file_that_hangs_is_left_behind_and_told, .timeout = 60)
{
    struct weir_sideband *sideband = make_hanging();
    struct weir_sideband_counts counts;
    weir_sideband_stop(sideband, 50, &counts);
    cr_expect_eq(counts.files, 2);
    cr_expect_eq(counts.build_ids, 0);
    cr_expect_eq(counts.unread, 2);
    weir_sideband_free(sideband);
    sem_post(&let_go);
}
