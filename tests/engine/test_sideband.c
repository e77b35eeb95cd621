/* The sideband thread: what readers and synthesis hand it ends in the task map and in the list of build ids. */
#include "engine/sideband.h"

#include "tests/base/failing_alloc.h"
#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
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
    for (unsigned successes = 0; successes < 3; successes++) {
        struct weir_sideband *sideband = NULL;
        failing_alloc_after(successes);
        int result = weir_sideband_new(&sideband, &setup);
        failing_alloc_never();
        /* One of its allocations is aligned_alloc(3), which is not counted. */
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
    const struct weir_task_map *tasks = weir_sideband_tasks(sideband);
    size_t count;
    cr_assert_eq(counts.records, 6);
    cr_assert_eq(counts.tasks, 2);
    cr_assert_eq(counts.missed, 0);
    cr_assert_eq(counts.reordered, 0);
    cr_assert_str_eq(weir_task_map_find(tasks, 6)->comm, "new");
    cr_assert_str_eq(weir_task_map_find(tasks, 5)->comm, "old");
    const struct weir_task_mapping *maps = weir_task_map_mappings(tasks, 6, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(maps[0].start, 0x3000);
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
    cr_assert(weir_sideband_tasks(sideband)->is_doubtful);
    weir_sideband_free(sideband);
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
    cr_assert_eq(weir_mapped_files_list(weir_sideband_files(sideband), &entries, &count), 0);
    cr_assert_eq(count, 1);
    cr_assert_str_eq(entries[0].name, path);
    cr_assert_eq(entries[0].id.bytes, expected.bytes);
    cr_assert_arr_eq(entries[0].id.data, expected.data, 20);
    free(entries);
    weir_sideband_free(sideband);
    weir_buf_fini(&records);
}
