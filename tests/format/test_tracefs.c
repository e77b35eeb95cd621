/* tracefs: what is refused and what is suggested, on fixture trees; finding the mounted one, on this machine. */
#include "format/tracefs.h"

#include "format/tracefs_internal.h"
#include "tests/format/temp_tree.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534

static struct temp_tree tree;

static void make_tree(void)
{
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "events/sched/sched_switch/id", "316\n");
    temp_tree_write_text(&tree, "events/sched/sched_wakeup/id", "318\n");
    temp_tree_write_text(&tree, "events/sched/enable", "0\n");
    temp_tree_write_text(&tree, "events/irq/irq_handler_entry/id", "150\n");
    temp_tree_write_text(&tree, "events/header_page", "page\n");
}

static void remove_tree(void)
{
    temp_tree_fini(&tree);
}

TestSuite(tracefs, .init = make_tree, .fini = remove_tree);

/* Expects the id of system:name to be refused, id untouched. */
static void expect_refused(const char *system, const char *name, int code, const char *what, const char *hint)
{
    struct weir_error err = {0};
    uint64_t id = 99;
    cr_expect_eq(weir_tracefs_event_id(tree.root, system, name, &id, &err), code, "%s:%s", system, name);
    cr_expect_eq(err.code, code);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
    cr_expect_eq(id, 99);
}

Test(tracefs, names_that_would_leave_their_folder_are_refused)
{
    expect_refused("", "sched_switch", -EINVAL, "the system of a tracepoint is empty", "");
    expect_refused("sched", "", -EINVAL, "the name of a tracepoint is empty", "");
    expect_refused("../events/sched", "x", -EINVAL, "'../events/sched' cannot be the system of a tracepoint", "");
    expect_refused("sched", "sched_switch/../sched_wakeup", -EINVAL,
                   "'sched_switch/../sched_wakeup' cannot be the name of a tracepoint", "");
    expect_refused("..", "sched", -EINVAL, "'..' cannot be the system of a tracepoint", "");
    expect_refused("sched", ".", -EINVAL, "'.' cannot be the name of a tracepoint", "");
}

Test(tracefs, misspelt_name_in_a_right_system_suggests_one_of_that_system)
{
    expect_refused("sched", "sched_swich", -ENOENT, "there is no tracepoint sched:sched_swich",
                   "did you mean sched:sched_switch?");
}

Test(tracefs, misspelt_system_suggests_a_pair)
{
    expect_refused("shed", "sched_switch", -ENOENT, "there is no tracepoint shed:sched_switch",
                   "did you mean sched:sched_switch?");
}

Test(tracefs, name_of_another_system_suggests_that_pair)
{
    expect_refused("sched", "irq_handler_entry", -ENOENT, "there is no tracepoint sched:irq_handler_entry",
                   "did you mean irq:irq_handler_entry?");
}

Test(tracefs, name_like_no_other_says_where_all_are_listed)
{
    char hint[WEIR_ERROR_TEXT_BYTES];
    format_text(hint, sizeof(hint), "%s/events lists all systems and their tracepoints", tree.root);
    expect_refused("zzz", "q", -ENOENT, "there is no tracepoint zzz:q", hint);
}

Test(tracefs, name_too_long_for_any_file_is_unknown)
{
    char name[PATH_MAX + 10];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    uint64_t id = 99;
    cr_expect_eq(weir_tracefs_event_id(tree.root, "sched", name, &id, NULL), -ENOENT);
    name[1000] = '\0';
    cr_expect_eq(weir_tracefs_event_id(tree.root, "sched", name, &id, NULL), -ENOENT);
    cr_expect_eq(id, 99);
}

Test(tracefs, file_where_a_tracepoint_would_be_is_unknown)
{
    char hint[WEIR_ERROR_TEXT_BYTES];
    format_text(hint, sizeof(hint), "%s/events lists all systems and their tracepoints", tree.root);
    expect_refused("sched", "enable", -ENOENT, "there is no tracepoint sched:enable", hint);
}

Test(tracefs, tracepoint_without_id_cannot_be_recorded)
{
    temp_tree_make_folder(&tree, "events/sched/no_id");
    expect_refused("sched", "no_id", -ENOENT, "the tracepoint sched:no_id has no id, so it cannot be recorded", "");
}

Test(tracefs, id_that_is_no_number_is_refused)
{
    static const char *const texts[] = {"", "\n", "abc\n", "-5\n", "12x\n", "1 2\n", " 7\n", "99999999999999999999\n"};
    char what[WEIR_ERROR_TEXT_BYTES];
    format_text(what, sizeof(what), "%s/events/sched/bad/id does not hold a number", tree.root);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        temp_tree_write_text(&tree, "events/sched/bad/id", texts[i]);
        expect_refused("sched", "bad", -EINVAL, what, "");
    }
    static const char digits_behind_a_zero_byte[] = "1\0002\n";
    temp_tree_write(&tree, "events/sched/bad/id", digits_behind_a_zero_byte, sizeof(digits_behind_a_zero_byte) - 1);
    expect_refused("sched", "bad", -EINVAL, what, "");
}

Test(tracefs, id_too_long_to_be_read_whole_is_refused)
{
    char what[WEIR_ERROR_TEXT_BYTES];
    format_text(what, sizeof(what), "%s/events/sched/bad/id does not hold a number", tree.root);
    temp_tree_write_text(&tree, "events/sched/bad/id", "000000000000000000000000000000316\n");
    expect_refused("sched", "bad", -EINVAL, what, "");
}

Test(tracefs, unreadable_id_names_file_and_remedy)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, "events/sched/sched_switch/id", path);
    cr_assert_eq(chmod(path, 0), 0);
    cr_assert_eq(chmod(tree.root, 0755), 0);
    if (geteuid() == 0)
        cr_assert_eq(seteuid(NOBODY), 0);

    char what[WEIR_ERROR_TEXT_BYTES], hint[WEIR_ERROR_TEXT_BYTES];
    format_text(what, sizeof(what), "cannot read %s: Permission denied", path);
    format_text(hint, sizeof(hint),
                "run as root, or let others read it: chmod -R o+rX %s/events %s/printk_formats %s/saved_cmdlines",
                tree.root, tree.root, tree.root);
    expect_refused("sched", "sched_switch", -EACCES, what, hint);
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
}

Test(tracefs, tree_that_is_not_there_has_no_events)
{
    uint64_t id = 99;
    cr_expect_eq(weir_tracefs_event_id("/proc/self/none", "sched", "sched_switch", &id, NULL), -ENOENT);
    cr_expect_eq(weir_tracefs_visit("/proc/self/none", NULL, NULL), -ENOENT);
}

Test(tracefs, id_is_read_with_and_without_newline)
{
    struct weir_error err = {0};
    uint64_t id = 0;
    cr_expect_eq(weir_tracefs_event_id(tree.root, "sched", "sched_switch", &id, &err), 0);
    cr_expect_eq(id, 316);
    temp_tree_write_text(&tree, "events/sched/bare/id", "7");
    cr_expect_eq(weir_tracefs_event_id(tree.root, "sched", "bare", &id, &err), 0);
    cr_expect_eq(id, 7);
    cr_expect_eq(err.code, 0);
}

struct seen {
    unsigned count;
    unsigned switches;
    unsigned stop_at;
};

static int see(void *ctx, const char *system, const char *name)
{
    struct seen *seen = ctx;
    seen->count++;
    seen->switches += strcmp(system, "sched") == 0 && strcmp(name, "sched_switch") == 0;
    return seen->count == seen->stop_at ? 42 : 0;
}

Test(tracefs, visit_meets_every_tracepoint_once_and_no_file)
{
    struct seen seen = {0};
    cr_expect_eq(weir_tracefs_visit(tree.root, see, &seen), 0);
    cr_expect_eq(seen.count, 3);
    cr_expect_eq(seen.switches, 1);
}

Test(tracefs, visit_stops_with_the_visitors_result)
{
    struct seen seen = {.stop_at = 2};
    cr_expect_eq(weir_tracefs_visit(tree.root, see, &seen), 42);
    cr_expect_eq(seen.count, 2);
}

static void remove_file(const char *relative)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, relative, path);
    cr_assert_eq(remove(path), 0);
}

/* Unloads the module of system irq or foo, whichever is not visited first. */
static int see_and_unload(void *ctx, const char *system, const char *name)
{
    (void)name;
    if (strcmp(system, "irq") == 0) {
        remove_file("events/foo/bar/id");
        remove_file("events/foo/bar");
        remove_file("events/foo");
    } else {
        remove_file("events/irq/irq_handler_entry/id");
        remove_file("events/irq/irq_handler_entry");
        remove_file("events/irq");
    }
    (*(unsigned *)ctx)++;
    return 0;
}

Test(tracefs, system_that_vanishes_during_the_visit_is_passed_over)
{
    temp_tree_write_text(&tree, "events/foo/bar/id", "1\n");
    remove_file("events/sched/sched_switch/id");
    remove_file("events/sched/sched_switch");
    remove_file("events/sched/sched_wakeup/id");
    remove_file("events/sched/sched_wakeup");
    unsigned visits = 0;
    cr_expect_eq(weir_tracefs_visit(tree.root, see_and_unload, &visits), 0);
    cr_expect_eq(visits, 1);
}

static int find_among(const char *candidate, const char *mounts, char *path, size_t bytes, struct weir_error *err)
{
    const char *const candidates[] = {candidate, NULL};
    return weir_tracefs_find_among(candidates, mounts, path, bytes, err);
}

Test(tracefs, folder_that_is_no_tracefs_is_not_found)
{
    char mounts[PATH_MAX], path[PATH_MAX] = "untouched";
    temp_tree_write_text(&tree, "mounts", "none / ext4 rw 0 0\n");
    temp_tree_path(&tree, "mounts", mounts);
    struct weir_error err = {0};
    cr_expect_eq(find_among(tree.root, mounts, path, sizeof(path), &err), -ENODEV);
    cr_expect_str_eq(err.what, "tracefs is not mounted");
    cr_expect_str_eq(err.hint, "mount -t tracefs nodev /sys/kernel/tracing");
    cr_expect_str_eq(path, "untouched");
    cr_expect_eq(find_among(tree.root, "/proc/self/none", path, sizeof(path), NULL), -ENODEV);
}

Test(tracefs, place_behind_a_closed_folder_is_told_with_the_remedy)
{
    char closed[PATH_MAX], inside[PATH_MAX], path[PATH_MAX], what[WEIR_ERROR_TEXT_BYTES], hint[WEIR_ERROR_TEXT_BYTES];
    temp_tree_make_folder(&tree, "closed/tracing");
    temp_tree_path(&tree, "closed", closed);
    temp_tree_path(&tree, "closed/tracing", inside);
    cr_assert_eq(chmod(closed, 0), 0);
    cr_assert_eq(chmod(tree.root, 0755), 0);
    if (geteuid() == 0)
        cr_assert_eq(seteuid(NOBODY), 0);
    struct weir_error err = {0};
    int result = find_among(inside, "/proc/self/none", path, sizeof(path), &err);
    if (getuid() == 0)
        cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(chmod(closed, 0700), 0);

    cr_expect_eq(result, -EACCES);
    format_text(what, sizeof(what), "cannot enter tracefs at %s: Permission denied", inside);
    format_text(hint, sizeof(hint), "run as root, or open it to others: sudo mount -o remount,mode=755 %s", inside);
    cr_expect_str_eq(err.what, what);
    cr_expect_str_eq(err.hint, hint);
}

/* Skips where none is mounted or may be entered: the container or the user has none. */
static void find_real(char path[PATH_MAX])
{
    if (weir_tracefs_find(path, PATH_MAX, NULL) != 0)
        cr_skip_test("no tracefs is mounted that this user may enter");
}

Test(tracefs, mounted_one_is_found_and_holds_the_switch_event)
{
    char path[PATH_MAX];
    find_real(path);
    uint64_t id = 0;
    cr_expect_eq(weir_tracefs_event_id(path, "sched", "sched_switch", &id, NULL), 0);
    struct seen seen = {0};
    cr_expect_eq(weir_tracefs_visit(path, see, &seen), 0);
    cr_expect_eq(seen.switches, 1);
}

Test(tracefs, mounts_file_finds_it_where_the_usual_places_do_not)
{
    char real[PATH_MAX], line[PATH_MAX + 64], mounts[PATH_MAX], path[PATH_MAX];
    find_real(real);
    format_text(line, sizeof(line), "none / ext4 rw 0 0\nnodev %s tracefs rw 0 0\n", real);
    temp_tree_write_text(&tree, "mounts", line);
    temp_tree_path(&tree, "mounts", mounts);
    cr_expect_eq(find_among(tree.root, mounts, path, sizeof(path), NULL), 0);
    cr_expect_str_eq(path, real);
}

Test(tracefs, mounts_file_finds_it_behind_the_longest_name_of_a_device)
{
    char device[4 * PATH_MAX], real[PATH_MAX], line[5 * PATH_MAX + 64], mounts[PATH_MAX], path[PATH_MAX];
    find_real(real);
    memset(device, 'd', sizeof(device) - 1);
    device[sizeof(device) - 1] = '\0';
    format_text(line, sizeof(line), "%s %s tracefs rw 0 0\n", device, real);
    temp_tree_write_text(&tree, "mounts", line);
    temp_tree_path(&tree, "mounts", mounts);
    cr_expect_eq(find_among(tree.root, mounts, path, sizeof(path), NULL), 0);
    cr_expect_str_eq(path, real);
}

Test(tracefs, path_that_does_not_fit_is_an_error)
{
    char real[PATH_MAX], path[4] = "abc";
    find_real(real);
    struct weir_error err = {0};
    cr_expect_eq(find_among(real, "/proc/self/none", path, sizeof(path), &err), -ENAMETOOLONG);
    cr_expect_str_eq(err.what, "the path of tracefs does not fit into 4 bytes");
    cr_expect_str_eq(path, "abc");
}
