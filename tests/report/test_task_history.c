/* Names and mappings of tasks at each time, whatever the order in which their records were noted. */
#include "report/task_history.h"

#include <criterion/criterion.h>

static struct weir_string_table strings;
static struct weir_task_history history;

static void init(void)
{
    cr_assert_eq(weir_string_table_init(&strings), 0);
    weir_task_history_init(&history, &strings, 1);
}

static void fini(void)
{
    weir_task_history_fini(&history);
    weir_string_table_fini(&strings);
}

TestSuite(task_history, .init = init, .fini = fini);

static void note_comm(uint64_t time, uint32_t pid, uint32_t tid, const char *name)
{
    const struct weir_task_event event = {
        .time = time, .pid = pid, .tid = tid, .kind = WEIR_TASK_COMM, .comm = weir_string_table_add(&strings, name)};
    cr_assert_eq(weir_task_history_note(&history, &event), 0);
}

static void note_fork(uint64_t time, uint32_t parent, uint32_t child)
{
    const struct weir_task_event event = {.time = time,
                                          .pid = child,
                                          .tid = child,
                                          .kind = WEIR_TASK_FORK,
                                          .copies = true,
                                          .ppid = parent,
                                          .ptid = parent};
    cr_assert_eq(weir_task_history_note(&history, &event), 0);
}

static void note_map(uint64_t time, uint32_t pid, uint64_t start, uint32_t object)
{
    const struct weir_task_event event = {.time = time,
                                          .pid = pid,
                                          .tid = pid,
                                          .kind = WEIR_TASK_MAP,
                                          .map = {.start = start, .end = start + 100, .object = object}};
    cr_assert_eq(weir_task_history_note(&history, &event), 0);
}

static void build(void)
{
    cr_assert_eq(weir_task_history_build(&history), 0);
}

static const char *name_at(uint32_t tid, uint64_t time)
{
    struct weir_task_found found = weir_task_history_find(&history, tid, tid, time);
    cr_assert(found.since <= time && time < found.until);
    return found.task == WEIR_ROW_NONE ? "none" : weir_string(&strings, history.tasks[found.task].comm);
}

static uint32_t object_at(uint32_t pid, uint64_t address, uint64_t time)
{
    struct weir_task_found task = weir_task_history_find(&history, pid, pid, time);
    struct weir_map_found found = weir_task_history_map(&history, task.process, address, time);
    return found.map ? found.map->object : 0;
}

Test(task_history, task_without_records_is_unknown)
{
    build();
    cr_expect_str_eq(name_at(5, 5), "none");
    cr_expect_eq(object_at(5, 5, 5), 0);
}

Test(task_history, task_of_samples_only_is_called_by_its_number)
{
    cr_assert_eq(weir_task_history_sampled(&history, 5, 7), 0);
    cr_assert_eq(weir_task_history_sampled(&history, 0, 0), 0);
    build();
    cr_expect_str_eq(name_at(7, 9), ":7");
    cr_expect_str_eq(name_at(0, 9), "swapper");
}

Test(task_history, name_changes_with_time_and_not_with_the_order_of_records)
{
    note_comm(30, 5, 5, "late");
    note_comm(0, 5, 5, "early");
    note_comm(20, 5, 5, "middle");
    build();
    cr_expect_str_eq(name_at(5, 0), "early");
    cr_expect_str_eq(name_at(5, 19), "early");
    cr_expect_str_eq(name_at(5, 20), "middle");
    cr_expect_str_eq(name_at(5, 29), "middle");
    cr_expect_str_eq(name_at(5, 1000), "late");
}

Test(task_history, first_known_name_holds_from_the_beginning)
{
    note_comm(30, 5, 5, "first");
    build();
    cr_expect_str_eq(name_at(5, 1), "first");
}

Test(task_history, child_has_name_and_mappings_of_its_parent_at_the_fork)
{
    note_comm(0, 5, 5, "parent");
    note_map(0, 5, 1000, 1);
    note_fork(10, 5, 6);
    note_map(20, 5, 1000, 2);
    note_comm(30, 6, 6, "child");
    note_map(40, 6, 1050, 3);
    build();
    cr_expect_str_eq(name_at(6, 10), "parent");
    cr_expect_str_eq(name_at(6, 30), "child");
    cr_expect_eq(object_at(6, 1000, 25), 1, "what the parent maps later is not the child's");
    cr_expect_eq(object_at(5, 1000, 25), 2);
    cr_expect_eq(object_at(6, 1060, 39), 1);
    cr_expect_eq(object_at(6, 1060, 40), 3);
    cr_expect_eq(object_at(6, 1100, 40), 3);
}

Test(task_history, grandchild_of_a_child_without_mappings_has_those_of_the_first)
{
    note_map(0, 5, 1000, 1);
    note_fork(10, 5, 6);
    note_fork(20, 6, 7);
    build();
    cr_expect_eq(object_at(7, 1000, 25), 1);
}

Test(task_history, number_of_a_process_that_is_used_again_means_two_processes)
{
    note_map(0, 5, 1000, 1);
    note_fork(10, 1, 5);
    note_map(11, 5, 1000, 2);
    build();
    cr_expect_eq(object_at(5, 1000, 9), 1);
    cr_expect_eq(object_at(5, 1000, 10), 0);
    cr_expect_eq(object_at(5, 1000, 11), 2);
}

Test(task_history, kernel_is_the_first_process)
{
    note_map(0, WEIR_TASK_KERNEL, 1000, 1);
    build();
    struct weir_map_found found = weir_task_history_map(&history, WEIR_PROCESS_KERNEL, 1000, 0);
    cr_assert_not_null(found.map);
    cr_expect_eq(found.map->object, 1);
}
