/* The task map: forks, execs, exits and maps in any order that the kernel gives, its bounds, and what comes out of it.
 */
#include "engine/tasks/task_map.h"

#include "tests/base/failing_alloc.h"
#include "tests/engine/mappings_of.h"
#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rig {
    struct weir_mapped_files files;
    struct weir_task_map map;
    struct weir_buf records; /* to be applied */
    size_t at;
};

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.records = WEIR_BUF_INIT};
    weir_mapped_files_init(&rig->files);
    weir_task_map_init(&rig->map, &rig->files);
}

static void rig_fini(struct rig *rig)
{
    weir_task_map_fini(&rig->map);
    cr_assert_eq(rig->map.map_bytes, 0);
    weir_mapped_files_fini(&rig->files);
    weir_buf_fini(&rig->records);
}

/* Applies what was appended since. */
static void apply(struct rig *rig)
{
    struct weir_side_record record;
    while (rig->at < rig->records.used) {
        rig->at = side_parse(&rig->records, rig->at, &record);
        weir_task_map_apply(&rig->map, &record);
    }
    weir_buf_reset(&rig->records);
    rig->at = 0;
}

/* "start-end:name ..." */
static void expect_maps(const struct rig *rig, pid_t pid, const char *expected)
{
    char text[512] = "";
    size_t count, used = 0;
    const struct weir_task_mapping *maps = mappings_of(&rig->map, pid, &count);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llx-%llx+%llx:%s", i ? " " : "",
                                 (unsigned long long)maps[i].start, (unsigned long long)maps[i].end,
                                 (unsigned long long)maps[i].page_offset,
                                 weir_mapped_files_name(&rig->files, maps[i].file));
    cr_assert_str_eq(text, expected);
}

Test(task_map, unknown_tasks_are_nobody)
{
    struct rig rig;
    rig_init(&rig);
    cr_assert_null(weir_task_map_find(&rig.map, 1));
    cr_assert_null(weir_task_map_find(&rig.map, -1));
    side_exit(&rig.records, 1, 5, 5);
    apply(&rig);
    cr_assert_null(weir_task_map_find(&rig.map, 5));
    expect_maps(&rig, 5, "");
    rig_fini(&rig);
}

Test(task_map, kernel_maps_and_empty_maps_are_no_tasks_maps)
{
    struct rig rig;
    rig_init(&rig);
    side_kernel_map(&rig.records, "[kernel.kallsyms]_text");
    side_map(&rig.records, 1, 5, 0x2000, 0x2000, 1, "/a");
    side_map(&rig.records, 1, 5, 0x2000, 0x1000, 1, "/a");
    apply(&rig);
    cr_assert_eq(rig.map.count, 0);
    rig_fini(&rig);
}

Test(task_map, no_memory_leaves_the_process_incomplete_or_all_in_doubt)
{
    for (unsigned successes = 0; successes < 8; successes++) {
        struct rig rig;
        rig_init(&rig);
        side_fork(&rig.records, 0, 5, 1, 5, 1);
        side_map(&rig.records, 0, 5, 0x1000, 0x2000, 1, "/a");
        failing_alloc_after(successes);
        apply(&rig);
        failing_alloc_never();
        const struct weir_task *task = weir_task_map_find(&rig.map, 5);
        size_t count;
        mappings_of(&rig.map, 5, &count);
        cr_expect(count == 1 || rig.map.is_doubtful || task->is_incomplete, "allocation %u", successes);
        cr_expect(count == 1 || rig.map.refused > 0, "allocation %u", successes);
        rig_fini(&rig);
    }
}

Test(task_map, child_has_its_parents_maps_and_name_until_one_changes_them)
{
    struct rig rig;
    rig_init(&rig);
    side_fork(&rig.records, 0, 5, 1, 5, 1);
    side_comm(&rig.records, 0, 5, 5, "parent", false);
    side_map(&rig.records, 0, 5, 0x1000, 0x2000, 1, "/a");
    side_fork(&rig.records, 10, 6, 5, 6, 5);
    apply(&rig);
    uint64_t bytes = rig.map.map_bytes;
    expect_maps(&rig, 6, "1000-2000+1000:/a");
    cr_assert_str_eq(weir_task_map_find(&rig.map, 6)->comm, "parent");
    side_map(&rig.records, 11, 6, 0x3000, 0x4000, 2, "/b");
    side_map(&rig.records, 12, 5, 0x5000, 0x6000, 3, "/c");
    apply(&rig);
    expect_maps(&rig, 5, "1000-2000+1000:/a 5000-6000+5000:/c");
    expect_maps(&rig, 6, "1000-2000+1000:/a 3000-4000+3000:/b");
    cr_assert_eq(rig.map.map_bytes, 2 * bytes, "copied when it was changed, not before");
    rig_fini(&rig);
}

/* The copy that the child gets has fewer maps than what it is a copy of. Seen by the sanitizer, or by free(3). */
Test(task_map, child_replaces_many_maps_of_its_parent_by_one)
{
    enum {
        MAPS = 40
    };
    struct rig rig;
    rig_init(&rig);
    for (uint64_t i = 0; i < MAPS; i++)
        side_map(&rig.records, 1, 5, 0x10000 + i * 0x1000, 0x11000 + i * 0x1000, 1, "/a");
    side_fork(&rig.records, 10, 6, 5, 6, 5);
    side_map(&rig.records, 11, 6, 0x10000, 0x10000 + MAPS * 0x1000, 2, "/b");
    apply(&rig);
    expect_maps(&rig, 6, "10000-38000+10000:/b");
    size_t count;
    mappings_of(&rig.map, 5, &count);
    cr_assert_eq(count, MAPS);
    rig_fini(&rig);
}

/* What synthesis emits: the maps follow. */
Test(task_map, synthesized_fork_inherits_nothing)
{
    struct rig rig;
    rig_init(&rig);
    side_map(&rig.records, 0, 5, 0x1000, 0x2000, 1, "/a");
    side_fork(&rig.records, 0, 6, 5, 6, 5);
    apply(&rig);
    expect_maps(&rig, 6, "");
    rig_fini(&rig);
}

Test(task_map, exec_forgets_maps_and_other_threads)
{
    struct rig rig;
    rig_init(&rig);
    side_fork(&rig.records, 1, 5, 1, 5, 1);
    side_fork(&rig.records, 2, 5, 5, 6, 5);
    side_map(&rig.records, 3, 5, 0x1000, 0x2000, 1, "/a");
    side_comm(&rig.records, 4, 5, 5, "other", false);
    apply(&rig);
    expect_maps(&rig, 5, "1000-2000+1000:/a");
    side_comm(&rig.records, 5, 5, 5, "new", true);
    side_map(&rig.records, 6, 5, 0x3000, 0x4000, 2, "/b");
    apply(&rig);
    expect_maps(&rig, 5, "3000-4000+3000:/b");
    cr_assert_str_eq(weir_task_map_find(&rig.map, 5)->comm, "new");
    side_exit(&rig.records, 7, 5, 5);
    apply(&rig);
    expect_maps(&rig, 5, "");
    cr_assert_null(weir_task_map_find(&rig.map, 5), "thread 6 ended in exec, though nobody said so");
    rig_fini(&rig);
}

Test(task_map, maps_live_as_long_as_any_thread)
{
    struct rig rig;
    rig_init(&rig);
    side_fork(&rig.records, 1, 5, 1, 5, 1);
    side_fork(&rig.records, 2, 5, 5, 6, 5);
    side_map(&rig.records, 3, 5, 0x1000, 0x2000, 1, "/a");
    side_exit(&rig.records, 4, 5, 5);
    apply(&rig);
    expect_maps(&rig, 5, "1000-2000+1000:/a");
    cr_assert_not(weir_task_map_find(&rig.map, 5)->is_running);
    side_exit(&rig.records, 5, 5, 6);
    apply(&rig);
    cr_assert_eq(rig.map.count, 0);
    cr_assert_eq(rig.map.map_bytes, 0);
    rig_fini(&rig);
}

Test(task_map, thread_that_maps_does_not_bring_the_first_one_back)
{
    struct rig rig;
    rig_init(&rig);
    side_fork(&rig.records, 1, 5, 1, 5, 1);
    side_fork(&rig.records, 2, 5, 5, 6, 5);
    side_exit(&rig.records, 3, 5, 5);
    apply(&rig);
    struct weir_side_record record;
    side_map(&rig.records, 4, 5, 0x1000, 0x2000, 1, "/a");
    side_parse(&rig.records, 0, &record);
    record.tid = 6;
    weir_task_map_apply(&rig.map, &record);
    weir_buf_reset(&rig.records);
    expect_maps(&rig, 5, "1000-2000+1000:/a");
    cr_assert_not(weir_task_map_find(&rig.map, 5)->is_running);
    side_exit(&rig.records, 5, 5, 6);
    apply(&rig);
    cr_assert_eq(rig.map.count, 0);
    rig_fini(&rig);
}

/* FAULTS: no stale maps when a number is used again, whether its end was seen or not. */
Test(task_map, number_used_again_is_a_new_task)
{
    struct rig rig;
    rig_init(&rig);
    side_fork(&rig.records, 1, 5, 1, 5, 1);
    side_fork(&rig.records, 1, 5, 5, 6, 5);
    side_map(&rig.records, 2, 5, 0x1000, 0x2000, 1, "/a");
    side_fork(&rig.records, 3, 5, 1, 5, 1); /* as a process */
    apply(&rig);
    expect_maps(&rig, 5, "");
    side_map(&rig.records, 4, 5, 0x1000, 0x2000, 1, "/a");
    side_fork(&rig.records, 5, 7, 1, 7, 1);
    side_fork(&rig.records, 6, 7, 7, 5, 7); /* as a thread of another one */
    apply(&rig);
    expect_maps(&rig, 5, "");
    cr_assert_eq(weir_task_map_find(&rig.map, 5)->pid, 7);
    side_exit(&rig.records, 7, 7, 5);
    side_exit(&rig.records, 8, 7, 7);
    apply(&rig);
    cr_assert_null(weir_task_map_find(&rig.map, 7));
    side_map(&rig.records, 9, 6, 0x1000, 0x2000, 1, "/a"); /* 6 was a thread: now it has an address space */
    apply(&rig);
    expect_maps(&rig, 6, "1000-2000+1000:/a");
    rig_fini(&rig);
}

Test(task_map, new_map_takes_the_place_of_what_it_overlaps)
{
    struct rig rig;
    rig_init(&rig);
    side_map(&rig.records, 1, 5, 0x1000, 0x9000, 1, "/a");
    side_map(&rig.records, 2, 5, 0x3000, 0x4000, 2, "/b");
    apply(&rig);
    expect_maps(&rig, 5, "1000-3000+1000:/a 3000-4000+3000:/b 4000-9000+4000:/a");
    side_map(&rig.records, 3, 5, 0x2000, 0x8000, 3, "/c");
    apply(&rig);
    expect_maps(&rig, 5, "1000-2000+1000:/a 2000-8000+2000:/c 8000-9000+8000:/a");
    size_t at = rig.records.used;
    side_map(&rig.records, 4, 5, 0x0800, 0x8800, 4, "/data");
    side_change_misc(&rig.records, at, PERF_RECORD_MISC_MMAP_DATA, 0);
    apply(&rig);
    expect_maps(&rig, 5, "8800-9000+8800:/a");
    rig_fini(&rig);
}

Test(task_map, too_many_maps_leave_the_process_incomplete)
{
    struct rig rig;
    rig_init(&rig);
    for (uint64_t i = 0; i <= WEIR_TASK_MAPS_MAX; i++)
        side_map(&rig.records, 1, 5, i * 0x2000 + 0x1000, i * 0x2000 + 0x2000, 1, "/a");
    apply(&rig);
    cr_assert(weir_task_map_find(&rig.map, 5)->is_incomplete);
    cr_assert_eq(rig.map.refused, 1);
    side_fork(&rig.records, 2, 6, 5, 6, 5);
    apply(&rig);
    cr_assert(weir_task_map_find(&rig.map, 6)->is_incomplete, "the child inherits that");
    side_comm(&rig.records, 3, 6, 6, "new", true);
    apply(&rig);
    cr_assert_not(weir_task_map_find(&rig.map, 6)->is_incomplete);
    cr_assert_not(rig.map.is_doubtful);
    rig_fini(&rig);
}

Test(task_map, too_many_tasks_leave_all_in_doubt)
{
    struct rig rig;
    rig_init(&rig);
    for (pid_t pid = 1; pid < (pid_t)WEIR_TASKS_MAX; pid++) {
        side_comm(&rig.records, 1, pid, pid, "task", false);
        apply(&rig);
    }
    cr_assert_eq(rig.map.count, WEIR_TASKS_MAX - 1);
    cr_assert_not(rig.map.is_doubtful);
    side_comm(&rig.records, 1, WEIR_TASKS_MAX, WEIR_TASKS_MAX, "task", false);
    apply(&rig);
    cr_assert(rig.map.is_doubtful);
    cr_assert_eq(rig.map.refused, 1);
    side_exit(&rig.records, 2, 77, 77);
    side_comm(&rig.records, 3, WEIR_TASKS_MAX, WEIR_TASKS_MAX, "task", false);
    apply(&rig);
    cr_assert_eq(rig.map.count, WEIR_TASKS_MAX - 1, "a place that became free is used");
    rig_fini(&rig);
}

/* ---- emitting ---- */

struct taken {
    struct weir_buf records;
    pid_t incomplete[4];
    size_t incomplete_count;
    int result; /* what emit is to return */
};

static int take(void *ctx, const void *records, size_t bytes)
{
    struct taken *taken = ctx;
    cr_assert_leq(bytes, 128 * 1024);
    weir_buf_append(&taken->records, records, bytes);
    return taken->result;
}

static int take_incomplete(void *ctx, pid_t pid)
{
    struct taken *taken = ctx;
    taken->incomplete[taken->incomplete_count++] = pid;
    return 0;
}

static struct weir_task_map_sink sink_to(struct taken *taken)
{
    return (struct weir_task_map_sink){
        .sample_id_bytes = 32, .emit = take, .incomplete = take_incomplete, .ctx = taken};
}

Test(task_map, failing_sink_ends_the_emission)
{
    struct rig rig;
    struct taken taken = {.result = -ENOSPC};
    rig_init(&rig);
    side_map(&rig.records, 1, 5, 0x1000, 0x2000, 1, "/a");
    apply(&rig);
    struct weir_task_map_sink sink = sink_to(&taken);
    cr_assert_eq(weir_task_map_emit(&rig.map, &sink), -ENOSPC);
    rig_fini(&rig);
    weir_buf_fini(&taken.records);
}

Test(task_map, what_is_emitted_makes_the_same_map)
{
    struct rig rig, copy;
    struct taken taken = {.records = WEIR_BUF_INIT};
    rig_init(&rig);
    rig_init(&copy);
    side_fork(&rig.records, 1, 5, 1, 5, 1);
    side_fork(&rig.records, 1, 5, 5, 6, 5);
    side_comm(&rig.records, 1, 5, 6, "thread", false);
    side_map(&rig.records, 1, 5, 0x1000, 0x2000, 1, "/a");
    side_map(&rig.records, 1, 5, 0x3000, 0x4000, 2, "/b");
    side_fork(&rig.records, 2, 7, 5, 7, 5);
    side_exit(&rig.records, 3, 5, 5);
    apply(&rig);
    struct weir_task_map_sink sink = sink_to(&taken);
    cr_assert_eq(weir_task_map_emit(&rig.map, &sink), 0);
    cr_assert_eq(taken.incomplete_count, 0);

    copy.records = taken.records;
    taken.records = (struct weir_buf)WEIR_BUF_INIT;
    apply(&copy);
    expect_maps(&copy, 5, "1000-2000+1000:/a 3000-4000+3000:/b");
    expect_maps(&copy, 7, "1000-2000+1000:/a 3000-4000+3000:/b");
    cr_assert_str_eq(weir_task_map_find(&copy.map, 6)->comm, "thread");
    cr_assert_eq(weir_task_map_find(&copy.map, 7)->ppid, 5);
    cr_assert_eq(copy.map.count, 3);
    rig_fini(&rig);
    rig_fini(&copy);
}

Test(task_map, incomplete_processes_are_named_in_the_place_of_their_maps)
{
    struct rig rig;
    struct taken taken = {.records = WEIR_BUF_INIT};
    rig_init(&rig);
    size_t at = rig.records.used;
    side_map(&rig.records, 1, 5, 0x1000, 0x2000, 1, "/a");
    side_change_misc(&rig.records, at, PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT, 0);
    side_map(&rig.records, 1, 6, 0x1000, 0x2000, 1, "/a");
    apply(&rig);
    struct weir_task_map_sink sink = sink_to(&taken);
    cr_assert_eq(weir_task_map_emit(&rig.map, &sink), 0);
    cr_assert_eq(taken.incomplete_count, 1);
    cr_assert_eq(taken.incomplete[0], 5);
    taken.incomplete_count = 0;
    weir_task_map_doubt(&rig.map);
    cr_assert_eq(weir_task_map_emit(&rig.map, &sink), 0);
    cr_assert_eq(taken.incomplete_count, 2);
    rig_fini(&rig);
    weir_buf_fini(&taken.records);
}
