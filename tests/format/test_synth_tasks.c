/* FORK and COMM records of a /proc that the test writes: tasks that are half gone, and tasks that are whole. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/format/synth_fixture.h"

#define CAT_MAPS "00400000-0040c000 r-xp 00000000 fd:01 41038 /bin/cat\n"

static const struct expected_map cat_map = {
    .start = 0x400000,
    .end = 0x40c000,
    .inode = 41038,
    .major = 0xfd,
    .minor = 1,
    .protection = 5,
    .flags = 2,
    .misc = 2,
};

static void expect_cat_map(struct weir_buf *expected, pid_t pid)
{
    struct expected_map map = cat_map;
    map.pid = pid;
    map.name = "/bin/cat";
    expect_mmap2(expected, &map);
}

static struct synth_fixture fixture;

static void init(void)
{
    synth_fixture_init(&fixture);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_tasks, .init = init, .fini = fini);

static int synth(struct weir_synth_counts *counts)
{
    return weir_synth_all_tasks(&fixture.options, counts, NULL);
}

Test(synth_tasks, proc_that_cannot_be_opened_is_an_error)
{
    struct weir_error err;
    fixture.options.proc_root = "/nonexistent/proc";
    cr_expect_eq(weir_synth_all_tasks(&fixture.options, NULL, &err), -ENOENT);
    cr_expect_str_eq(err.what, "cannot open /nonexistent/proc: No such file or directory");
    pid_t pid = 1;
    cr_expect_eq(weir_synth_processes(&fixture.options, &pid, 1, NULL, &err), -ENOENT);
    cr_expect_eq(fixture.sink.calls, 0);
}

Test(synth_tasks, running_out_of_descriptors_is_an_error_not_a_vanished_task)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 10, .ppid = 1, .comm = "cat"});
    int next_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next_fd);
    struct rlimit all, few;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
    few = (struct rlimit){.rlim_cur = (rlim_t)next_fd + 1, .rlim_max = all.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct weir_synth_counts counts;
    int result = synth(&counts);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
    cr_expect_eq(result, -EMFILE);
    cr_expect_eq(counts.vanished, 0);
}

Test(synth_tasks, error_of_emit_is_returned_and_ends_the_work)
{
    for (pid_t pid = 1000; pid < 3500; pid++)
        synth_fixture_add(&fixture, &(struct fixture_task){.pid = pid, .ppid = 1, .comm = "t"});
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    struct weir_synth_counts counts;
    struct weir_error err;
    cr_expect_eq(weir_synth_all_tasks(&fixture.options, &counts, &err), -ENOSPC);
    cr_expect_eq(fixture.sink.calls, 1);
    cr_expect_eq(counts.tasks, 1025, "a block holds 1025 tasks of 120 bytes, the one after finds it full");
    cr_expect_eq(err.code, -ENOSPC);
}

Test(synth_tasks, error_of_the_last_emit_is_returned)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 10, .ppid = 1, .comm = "cat"});
    synth_fixture_write(&fixture, "10/status", "Name:\tcat\nTgid:\t10\n");
    fixture.sink.fail_at = 1;
    fixture.sink.error = -EPIPE;
    cr_expect_eq(synth(NULL), -EPIPE);
    pid_t pid = 10;
    cr_expect_eq(weir_synth_processes(&fixture.options, &pid, 1, NULL, NULL), -EPIPE);
    cr_expect_eq(fixture.sink.calls, 2);
}

Test(synth_tasks, error_of_one_thread_ends_all)
{
    for (pid_t pid = 1000; pid < 4000; pid++)
        synth_fixture_add(&fixture, &(struct fixture_task){.pid = pid, .ppid = 1, .comm = "t"});
    fixture.options.threads = 4;
    fixture.sink.fail_at = 1;
    fixture.sink.error = -EIO;
    cr_expect_eq(synth(NULL), -EIO);
    cr_expect_eq(fixture.sink.records.used, 0);
}

Test(synth_tasks, tasks_that_vanish_are_counted_and_leave_no_record)
{
    temp_tree_make_folder(&fixture.tree, "proc/20"); /* gone since it was listed */
    synth_fixture_write(&fixture, "21/stat", "");    /* gone since it was opened */
    synth_fixture_write(&fixture, "22/stat", "22 (cut) S 1 ");
    synth_fixture_write(&fixture, "23", "not a folder");
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.vanished, 4);
    cr_expect_eq(counts.tasks, 0);
    cr_expect_eq(fixture.sink.calls, 0);
}

Test(synth_tasks, entries_that_are_no_tasks_are_passed_over)
{
    static const char *const names[] = {"self", "12a", "-3", "0", "99999999999", "2147483648", "sys"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[64];
        format_text(path, sizeof(path), "%s/stat", names[i]);
        synth_fixture_write(&fixture, path, "1 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 4096 0\n");
    }
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.vanished, 0);
    cr_expect_eq(counts.tasks, 0);
    cr_expect_eq(fixture.sink.calls, 0);
}

Test(synth_tasks, thread_that_vanishes_is_counted_and_the_others_are_recorded)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 30, .ppid = 1, .comm = "java", .threads = 3});
    synth_fixture_add_thread(&fixture, 30, 30, "java");
    synth_fixture_add_thread(&fixture, 30, 31, "worker");
    temp_tree_make_folder(&fixture.tree, "proc/30/task/32");
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.vanished, 1);
    cr_expect_eq(counts.tasks, 2);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 30, 1, 30, 1);
    expect_comm(&expected, 30, 30, "java");
    expect_fork(&expected, 30, 30, 31, 30);
    expect_comm(&expected, 30, 31, "worker");
    expect_emitted(&fixture, &expected);
}

Test(synth_tasks, process_that_vanishes_before_its_threads_are_listed_keeps_its_own_records)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 30, .ppid = 1, .comm = "java", .threads = 3});
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.vanished, 1);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 30, 1, 30, 1);
    expect_comm(&expected, 30, 30, "java");
    expect_emitted(&fixture, &expected);
}

Test(synth_tasks, process_whose_maps_cannot_be_opened_keeps_its_threads)
{
    synth_fixture_add(&fixture,
                      &(struct fixture_task){.pid = 30, .ppid = 1, .comm = "java", .threads = 2, .vm_bytes = 4096});
    synth_fixture_add_thread(&fixture, 30, 30, "java");
    synth_fixture_add_thread(&fixture, 30, 31, "worker");
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.vanished, 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 30, 1, 30, 1);
    expect_comm(&expected, 30, 30, "java");
    expect_fork(&expected, 30, 30, 31, 30);
    expect_comm(&expected, 30, 31, "worker");
    expect_emitted(&fixture, &expected);
}

Test(synth_tasks, kernel_thread_and_zombie_have_no_maps)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 2, .ppid = 0, .comm = "kthreadd", .maps = CAT_MAPS});
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 40, .ppid = 7, .comm = "zombie", .maps = CAT_MAPS});
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.tasks, 2);
    cr_expect_eq(counts.maps, 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 2, 0, 2, 0);
    expect_comm(&expected, 2, 2, "kthreadd");
    expect_fork(&expected, 40, 7, 40, 7);
    expect_comm(&expected, 40, 40, "zombie");
    expect_emitted_in_any_order(&fixture, &expected);
}

Test(synth_tasks, process_has_fork_comm_and_maps_in_this_order)
{
    synth_fixture_add(&fixture,
                      &(struct fixture_task){.pid = 50, .ppid = 1, .comm = "cat", .vm_bytes = 4096, .maps = CAT_MAPS});
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.tasks, 1);
    cr_expect_eq(counts.maps, 1);
    cr_expect_eq(counts.vanished, 0);
    cr_expect_eq(counts.timed_out, 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 50, 1, 50, 1);
    expect_comm(&expected, 50, 50, "cat");
    expect_cat_map(&expected, 50);
    expect_emitted(&fixture, &expected);
    cr_expect_eq(fixture.sink.notices, 0);
}

Test(synth_tasks, names_are_recorded_as_they_are)
{
    static const char *const names[] = {"", "a b", "(sd-pam)", ") R 1 (", "a\nb", "a\\nb", "exactly15bytes.", " lead"};
    struct weir_buf expected = WEIR_BUF_INIT;
    for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++) {
        synth_fixture_add(&fixture, &(struct fixture_task){.pid = 60 + i, .ppid = 1, .comm = names[i]});
        expect_fork(&expected, 60 + i, 1, 60 + i, 1);
        expect_comm(&expected, 60 + i, 60 + i, names[i]);
    }
    cr_expect_eq(synth(NULL), 0);
    expect_emitted_in_any_order(&fixture, &expected);
}

Test(synth_tasks, thread_is_a_child_of_its_process_and_has_no_maps_of_its_own)
{
    synth_fixture_add(&fixture,
                      &(struct fixture_task){
                          .pid = 70, .ppid = 3, .comm = "main", .threads = 1001, .vm_bytes = 4096, .maps = CAT_MAPS});
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 70, 3, 70, 3);
    expect_comm(&expected, 70, 70, "main");
    expect_cat_map(&expected, 70);
    synth_fixture_add_thread(&fixture, 70, 70, "main");
    for (pid_t tid = 100; tid < 1100; tid++) {
        char comm[16];
        format_text(comm, sizeof(comm), "w (%d)", (int)tid);
        synth_fixture_add_thread(&fixture, 70, tid, comm);
        expect_fork(&expected, 70, 70, tid, 70);
        expect_comm(&expected, 70, tid, comm);
    }
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.tasks, 1001);
    cr_expect_eq(counts.maps, 1);
    expect_emitted_in_any_order(&fixture, &expected);
}

Test(synth_tasks, maps_of_a_process_whose_first_thread_ended_come_from_another)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 80, .ppid = 1, .comm = "main", .threads = 3, .maps = ""});
    synth_fixture_add_thread(&fixture, 80, 80, "main");
    synth_fixture_add_thread(&fixture, 80, 81, "one");
    synth_fixture_add_thread(&fixture, 80, 82, "two");
    synth_fixture_write(&fixture, "80/task/81/maps", CAT_MAPS);
    synth_fixture_write(&fixture, "80/task/82/maps", CAT_MAPS);
    struct weir_synth_counts counts;
    cr_expect_eq(synth(&counts), 0);
    cr_expect_eq(counts.maps, 1);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 80, 1, 80, 1);
    expect_comm(&expected, 80, 80, "main");
    expect_fork(&expected, 80, 80, 81, 80);
    expect_comm(&expected, 80, 81, "one");
    expect_fork(&expected, 80, 80, 82, 80);
    expect_comm(&expected, 80, 82, "two");
    expect_cat_map(&expected, 80);
    expect_emitted_in_any_order(&fixture, &expected);
}

Test(synth_tasks, blocks_hold_whole_records_and_are_bounded)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    for (pid_t pid = 1000; pid < 4000; pid++) {
        synth_fixture_add(&fixture, &(struct fixture_task){.pid = pid, .ppid = 1, .comm = "t"});
        expect_fork(&expected, pid, 1, pid, 1);
        expect_comm(&expected, pid, pid, "t");
    }
    cr_expect_eq(synth(NULL), 0);
    cr_expect_eq(fixture.sink.calls, 3, "1025 tasks of 120 bytes fill a block");
    cr_expect_eq(fixture.sink.largest_bytes, 1025 * 120);
    cr_expect_leq(fixture.sink.largest_bytes, WEIR_SYNTH_BLOCK_BYTES);
    expect_emitted_in_any_order(&fixture, &expected);
}

Test(synth_tasks, chosen_processes_that_are_gone_are_counted)
{
    synth_fixture_write(&fixture, "90/status", "Name:\tx\n"); /* cut: no Tgid */
    const pid_t pids[] = {90, 91, 0, -1};
    struct weir_synth_counts counts;
    cr_expect_eq(weir_synth_processes(&fixture.options, pids, 4, &counts, NULL), 0);
    cr_expect_eq(counts.vanished, 4);
    cr_expect_eq(fixture.sink.calls, 0);
    cr_expect_eq(weir_synth_processes(&fixture.options, NULL, 0, &counts, NULL), 0);
    cr_expect_eq(counts.vanished, 0);
}

Test(synth_tasks, chosen_processes_come_in_their_order_and_whole)
{
    synth_fixture_add(&fixture, &(struct fixture_task){
                                    .pid = 95, .ppid = 1, .comm = "b", .threads = 2, .vm_bytes = 1, .maps = CAT_MAPS});
    synth_fixture_add_thread(&fixture, 95, 95, "b");
    synth_fixture_add_thread(&fixture, 95, 96, "b2");
    synth_fixture_write(&fixture, "96/status", "Name:\tb2\nTgid:\t95\nPid:\t96\n"); /* /proc/TID is there, unlisted */
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 94, .ppid = 1, .comm = "a"});
    synth_fixture_write(&fixture, "94/status", "Name:\ta\nTgid:\t94\nPid:\t94\n");
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 93, .ppid = 1, .comm = "not chosen"});

    const pid_t pids[] = {96, 94};
    struct weir_synth_counts counts;
    cr_expect_eq(weir_synth_processes(&fixture.options, pids, 2, &counts, NULL), 0);
    cr_expect_eq(counts.tasks, 3);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 95, 1, 95, 1);
    expect_comm(&expected, 95, 95, "b");
    expect_cat_map(&expected, 95);
    expect_fork(&expected, 95, 95, 96, 95);
    expect_comm(&expected, 95, 96, "b2");
    expect_fork(&expected, 94, 1, 94, 1);
    expect_comm(&expected, 94, 94, "a");
    expect_emitted(&fixture, &expected);
}

/* What stat(2) says of the files is what counts, so that files of any kind will do here. */
static void expect_namespaces(struct weir_buf *expected, pid_t pid, pid_t tid, const char *known)
{
    static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
    const struct perf_event_header header = {.type = PERF_RECORD_NAMESPACES, .size = 24 + 7 * 16 + TRAILER_BYTES};
    weir_buf_append(expected, &header, sizeof(header));
    weir_buf_append_u32(expected, (uint32_t)pid);
    weir_buf_append_u32(expected, (uint32_t)tid);
    weir_buf_append_u64(expected, 7);
    for (size_t i = 0; i < 7; i++) {
        struct stat status = {0};
        char path[PATH_MAX];
        format_text(path, sizeof(path), "%s/%d/ns/%s", fixture.proc_root, (int)pid, names[i]);
        cr_expect_eq(stat(path, &status) == 0, strstr(known, names[i]) != NULL, "%s", path);
        weir_buf_append_u64(expected, status.st_dev);
        weir_buf_append_u64(expected, status.st_ino);
    }
    weir_buf_append_zeros(expected, TRAILER_BYTES);
}

Test(synth_tasks, namespaces_stand_between_fork_and_comm_of_each_thread)
{
    synth_fixture_add(&fixture, &(struct fixture_task){.pid = 7, .ppid = 1, .comm = "cat", .threads = 2});
    synth_fixture_add_thread(&fixture, 7, 8, "worker");
    synth_fixture_write(&fixture, "7/ns/net", "");
    synth_fixture_write(&fixture, "7/ns/mnt", "");
    fixture.options.namespaces = true;
    cr_assert_eq(synth(NULL), 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 7, 1, 7, 1);
    expect_namespaces(&expected, 7, 7, "net mnt");
    expect_comm(&expected, 7, 7, "cat");
    expect_fork(&expected, 7, 7, 8, 7);
    expect_namespaces(&expected, 7, 8, "net mnt");
    expect_comm(&expected, 7, 8, "worker");
    expect_emitted(&fixture, &expected);
}

Test(synth_tasks, tasks_come_without_their_maps_on_request)
{
    synth_fixture_add(&fixture,
                      &(struct fixture_task){.pid = 7, .ppid = 1, .comm = "cat", .vm_bytes = 4096, .maps = CAT_MAPS});
    fixture.options.no_maps = true;
    struct weir_synth_counts counts;
    cr_assert_eq(synth(&counts), 0);
    cr_expect(counts.tasks == 1 && counts.maps == 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_fork(&expected, 7, 1, 7, 1);
    expect_comm(&expected, 7, 7, "cat");
    expect_emitted(&fixture, &expected);
}
