/*
 * Finished files: under which names they stay, how many of them, and what the command gets to see. Real files, without
 * data, in a folder of the test's own.
 */
#include "engine/files/kept_files.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/files/file_finisher.h"
#include "tests/base/failing_alloc.h"
#include "tests/base/swapper.h"
#include "tests/engine/fake_clock.h"
#include "tests/format/temp_tree.h"

#define STAMP "2026112118000012"

static struct temp_tree tree;
static sigset_t no_signals;
static bool whole_only; /* of what make() makes; a process per test */

static struct {
    char lines[8][256];
    unsigned count;
} told;

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    (void)level;
    cr_assert_lt(told.count, 8);
    snprintf(told.lines[told.count++], sizeof(told.lines[0]), "%s", line);
}

static const struct weir_notice_sink sink = {.emit = keep_notice};

static void init(void)
{
    temp_tree_init(&tree);
    sigemptyset(&no_signals);
}

static void fini(void)
{
    temp_tree_fini(&tree);
}

TestSuite(kept_files, .init = init, .fini = fini, .timeout = 60);

static struct weir_kept_files *make(unsigned most, char *const *command)
{
    struct weir_kept_files *kept = NULL;
    struct weir_kept_files_setup setup = {.stamped = true,
                                          .most = most,
                                          .whole_only = whole_only,
                                          .command = command,
                                          .child_mask = &no_signals,
                                          .notices = &sink};
    cr_assert_eq(weir_kept_files_new(&kept, &setup), 0);
    return kept;
}

/* A file "data" that is to be named; path: room for where it is. */
static struct weir_record_file make_file(char path[PATH_MAX])
{
    temp_tree_path(&tree, "data", path);
    struct weir_record_file file = {.path = path};
    struct weir_output_options options = {.engine = WEIR_OUTPUT_WRITEV};
    cr_assert_eq(weir_output_open(&file.output, path, &options, NULL), 0);
    return file;
}

/* In no hurry until it was asked so often. */
static unsigned patience = UINT_MAX;
static bool hurried(void *ctx)
{
    (void)ctx;
    patience -= patience > 0 && patience < UINT_MAX;
    return patience == 0;
}

static void name_and_add(struct weir_kept_files *kept, struct weir_record_file *file)
{
    cr_assert_eq(weir_kept_files_name(kept, file, NULL), 0);
    weir_kept_files_add(kept, file, hurried, NULL);
    weir_output_close(file->output);
}

/* A file that has ended, at that time or by that clock; its name is "data". */
static void add_by(struct weir_kept_files *kept, const char *stamp, const struct weir_clock *day)
{
    char path[PATH_MAX];
    struct weir_record_file file = make_file(path);
    if (day)
        weir_record_file_stamp(&file, day);
    else
        snprintf(file.stamp, sizeof(file.stamp), "%s", stamp);
    name_and_add(kept, &file);
}

static void add(struct weir_kept_files *kept, const char *stamp)
{
    add_by(kept, stamp, NULL);
}

/* One of so many samples, and of twice as many bytes. */
static void add_snapshot(struct weir_kept_files *kept, const char *stamp, uint64_t samples, bool lasting)
{
    char path[PATH_MAX];
    struct weir_record_file file = make_file(path);
    file.samples = samples;
    file.file_bytes = 2 * samples;
    file.lasting = lasting;
    snprintf(file.stamp, sizeof(file.stamp), "%s", stamp);
    name_and_add(kept, &file);
}

static bool is_there(const char *name)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, name, path);
    return access(path, F_OK) == 0;
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static bool always(void *ctx)
{
    (void)ctx;
    return true;
}

Test(kept_files, out_of_memory_is_reported)
{
    struct weir_kept_files *kept = NULL;
    struct weir_kept_files_setup setup = {0};
    failing_alloc_after(0);
    int result = weir_kept_files_new(&kept, &setup);
    failing_alloc_never();
    cr_assert_eq(result, -ENOMEM);
    weir_kept_files_free(NULL);
}

Test(kept_files, command_that_cannot_be_started_is_told_once)
{
    char word[] = "/there/is/no/such/program";
    char *command[] = {word, NULL};
    struct weir_kept_files *kept = make(0, command);
    add(kept, STAMP);
    add(kept, STAMP);
    unsigned warnings = 0;
    for (unsigned i = 0; i < told.count; i++)
        warnings +=
            strstr(told.lines[i], "cannot be started: No such file or directory; this is reported once") != NULL;
    cr_assert_eq(warnings, 1);
    weir_kept_files_free(kept);
}

/* ignored: of SIGPIPE and SIGUSR2, which this process ignores. seen: as SigIgn has them. */
static void expect_ignored_in_command(const sigset_t *ignored, const char *seen)
{
    char shell[] = "sh", option[] = "-c", script[200];
    snprintf(script, sizeof(script),
             "[ $((0x$(sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' /proc/$$/status) & 0x1800)) = $((%s)) ]", seen);
    char *command[] = {shell, option, script, NULL};
    struct weir_kept_files *kept = NULL;
    struct weir_kept_files_setup setup = {
        .stamped = true, .command = command, .child_mask = &no_signals, .ignored = ignored, .notices = &sink};
    cr_assert_eq(weir_kept_files_new(&kept, &setup), 0);
    add(kept, STAMP);
    weir_kept_files_await_commands(kept, never, NULL);
    for (unsigned i = 0; i < told.count; i++)
        cr_expect_null(strstr(told.lines[i], "--on-rotate"), "%s", told.lines[i]);
    weir_kept_files_free(kept);
}

Test(kept_files, command_gets_back_the_signals_that_weir_was_started_with)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    expect_ignored_in_command(NULL, "0");
    sigset_t ignored;
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    expect_ignored_in_command(&ignored, "0x1000");
}

Test(kept_files, command_that_fails_or_is_killed_is_told_once)
{
    signal(SIGCHLD, SIG_IGN); /* as whoever started weir may have left it */
    char shell[] = "sh", option[] = "-c", script[] = "kill -TERM $$";
    char *command[] = {shell, option, script, NULL};
    struct weir_kept_files *kept = make(0, command);
    add(kept, STAMP);
    weir_kept_files_await_commands(kept, never, NULL);
    cr_assert_eq(told.count, 2);
    cr_assert_str_eq(told.lines[1], "the command of --on-rotate, 'sh', was ended by signal 15; this is reported once");
    add(kept, STAMP);
    weir_kept_files_await_commands(kept, never, NULL);
    cr_assert_eq(told.count, 3);
    weir_kept_files_free(kept);
}

Test(kept_files, who_is_in_a_hurry_does_not_wait_for_a_command)
{
    char shell[] = "sh", option[] = "-c", script[] = "sleep 1; false";
    char *command[] = {shell, option, script, NULL};
    struct weir_kept_files *kept = make(0, command);
    add(kept, STAMP);
    weir_kept_files_await_commands(kept, always, NULL);
    cr_assert_eq(told.count, 1);
    weir_kept_files_free(kept);
}

/* Sixteen that end when somebody writes to a pipe: the next one waits for them, until there is haste. */
Test(kept_files, no_more_commands_run_than_may_and_haste_starts_none)
{
    char shell[] = "sh", option[] = "-c", pipe_path[PATH_MAX], script[PATH_MAX + 16];
    temp_tree_path(&tree, "pipe", pipe_path);
    cr_assert_eq(mkfifo(pipe_path, 0600), 0);
    snprintf(script, sizeof(script), "read -r _ <'%s'", pipe_path);
    char *command[] = {shell, option, script, NULL};
    struct weir_kept_files *kept = make(0, command);
    for (unsigned i = 0; i < WEIR_KEPT_COMMANDS; i++) {
        add(kept, STAMP);
        told.count = 0;
    }
    patience = 3;
    add(kept, STAMP);
    cr_assert_eq(patience, 0);
    cr_assert_eq(told.count, 2);
    cr_assert_not_null(strstr(told.lines[1], "there is no command of --on-rotate for '"), "%s", told.lines[1]);
    cr_assert_not_null(strstr(told.lines[1], "data." STAMP "-016': 16 still run"), "%s", told.lines[1]);

    int fd = open(pipe_path, O_RDWR | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    for (unsigned i = 0; i < WEIR_KEPT_COMMANDS; i++)
        cr_assert_eq(write(fd, "\n", 1), 1);
    weir_kept_files_await_commands(kept, never, NULL);
    close(fd);
    cr_assert_eq(told.count, 2);
    weir_kept_files_free(kept);
}

Test(kept_files, same_time_gets_a_number_and_replaces_nothing)
{
    temp_tree_write_text(&tree, "data." STAMP, "of before");
    struct weir_kept_files *kept = make(0, NULL);
    add(kept, STAMP);
    add(kept, STAMP);
    cr_assert(is_there("data." STAMP "-001"));
    cr_assert(is_there("data." STAMP "-002"));
    char path[PATH_MAX];
    struct stat st;
    temp_tree_path(&tree, "data." STAMP, path);
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_size, strlen("of before"));
    cr_assert_eq(told.count, 2);
    cr_assert_not_null(strstr(told.lines[0], "data." STAMP "-001 ]"));
    weir_kept_files_free(kept);
}

/* Which of them is the oldest is known by the order in which they ended. */
Test(kept_files, clock_that_is_set_back_or_stands_costs_no_file)
{
    struct fake_clock fake = {.now_ns = UINT64_C(1795284000129999999)}; /* 2026-11-21 18:00:00.13 UTC, nearly */
    const struct weir_clock day = fake_clock_interface(&fake);
    struct weir_kept_files *kept = make(3, NULL);
    add_by(kept, NULL, &day);
    cr_assert(is_there("data.2026112118000012"));
    fake.now_ns -= 3600 * WEIR_NS_PER_S;
    add_by(kept, NULL, &day);
    add_by(kept, NULL, &day);
    cr_assert(is_there("data.2026112117000012"));
    cr_assert(is_there("data.2026112117000012-001"));
    fake.now_ns = 0;
    add_by(kept, NULL, &day);
    cr_assert(is_there("data.1970010100000000"));
    cr_assert_not(is_there("data.2026112118000012"));
    cr_assert(is_there("data.2026112117000012"));
    weir_kept_files_free(kept);
}

Test(kept_files, oldest_ones_are_removed_but_not_what_is_at_their_names_now)
{
    struct weir_kept_files *kept = make(2, NULL);
    add(kept, "2026112118000001");
    add(kept, "2026112118000002");
    cr_assert(is_there("data.2026112118000001"));
    add(kept, "2026112118000003");
    cr_assert_not(is_there("data.2026112118000001"));
    char path[PATH_MAX], other[PATH_MAX];
    temp_tree_write_text(&tree, "other", "somebody else's"); /* while the other is there: not its inode */
    temp_tree_path(&tree, "other", other);
    temp_tree_path(&tree, "data.2026112118000002", path);
    cr_assert_eq(rename(other, path), 0);
    add(kept, "2026112118000004");
    cr_assert(is_there("data.2026112118000003"));
    cr_assert(is_there("data.2026112118000004"));
    cr_assert(is_there("data.2026112118000002"));
    weir_kept_files_free(kept);
}

Test(kept_files, command_gets_its_words_and_the_path_last)
{
    char shell[] = "sh", option[] = "-c", script[] = "echo \"$0 $#\" >\"$2.told\"", first[] = "zero",
         second[] = "one two";
    char *command[] = {shell, option, script, first, second, NULL};
    struct weir_kept_files *kept = make(0, command);
    add(kept, STAMP);
    weir_kept_files_await_commands(kept, never, NULL);
    char path[PATH_MAX], text[32] = "";
    temp_tree_path(&tree, "data." STAMP ".told", path);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    cr_assert_not_null(fgets(text, sizeof(text), file));
    fclose(file);
    cr_assert_str_eq(text, "zero 2\n");
    weir_kept_files_free(kept);
}

Test(kept_files, oldest_one_is_dropped_when_room_is_wanted_until_none_is_left)
{
    struct weir_kept_files *kept = NULL;
    struct weir_kept_files_setup setup = {
        .stamped = true, .droppable = true, .child_mask = &no_signals, .notices = &sink};
    cr_assert_eq(weir_kept_files_new(&kept, &setup), 0);
    cr_assert_not(weir_kept_files_drop_oldest(kept));
    add(kept, "2026112118000001");
    add(kept, "2026112118000002");
    cr_assert(weir_kept_files_drop_oldest(kept));
    cr_assert_not(is_there("data.2026112118000001"));
    cr_assert(is_there("data.2026112118000002"));
    cr_assert(weir_kept_files_drop_oldest(kept));
    cr_assert_not(weir_kept_files_drop_oldest(kept));
    weir_kept_files_free(kept);
}

static void take_away(const char *name)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, name, path);
    cr_assert_eq(unlink(path), 0);
}

Test(kept_files, files_that_somebody_has_taken_are_no_room)
{
    struct weir_kept_files *kept = NULL;
    struct weir_kept_files_setup setup = {
        .stamped = true, .droppable = true, .child_mask = &no_signals, .notices = &sink};
    cr_assert_eq(weir_kept_files_new(&kept, &setup), 0);
    add(kept, "2026112118000001");
    add(kept, "2026112118000002");
    take_away("data.2026112118000001");
    add(kept, "2026112118000003");
    cr_expect_eq(weir_kept_files_count(kept), 2, "a name that is not there any more is kept");
    take_away("data.2026112118000002");
    cr_assert(weir_kept_files_drop_oldest(kept));
    cr_expect_not(is_there("data.2026112118000003"));
    cr_expect_not(weir_kept_files_drop_oldest(kept));
    cr_expect_eq(weir_kept_files_removed(kept).files, 1);
    weir_kept_files_free(kept);
}

Test(kept_files, what_is_to_last_is_not_replaced_but_replaces)
{
    struct weir_kept_files *kept = make(1, NULL);
    add_snapshot(kept, "2026112118000001", 10, false);
    add_snapshot(kept, "2026112118000002", 200, true);
    cr_expect_not(is_there("data.2026112118000001"));
    add_snapshot(kept, "2026112118000003", 3000, false);
    add_snapshot(kept, "2026112118000004", 40000, false);
    cr_expect(is_there("data.2026112118000002"));
    cr_expect_not(is_there("data.2026112118000003"));
    cr_expect(is_there("data.2026112118000004"));
    struct weir_removed_files removed = weir_kept_files_removed(kept);
    cr_expect_eq(removed.files, 2);
    cr_expect_eq(removed.samples, 3010);
    cr_expect_eq(removed.bytes, 6020);
    weir_kept_files_free(kept);
}

/* The last one has its own name, "data". */
Test(kept_files, newest_one_takes_the_name_of_the_last_or_is_replaced_by_it)
{
    char path[PATH_MAX];
    struct weir_error err = {0};
    struct weir_kept_files *kept = make(1, NULL);
    struct weir_record_file last = make_file(path);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(last.output), NULL), 0);
    cr_expect_null(weir_kept_files_newest(kept));
    cr_expect_eq(weir_kept_files_pass_name(kept, &last, &err), -ENOENT);
    cr_expect(strstr(err.what, "no other file has a whole one"), "%s", err.what);
    weir_output_file_remove(weir_output_file_of(last.output));
    add_snapshot(kept, "2026112118000001", 10, false);
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(last.output), "data", NULL), -ENOENT);
    weir_output_close(last.output);

    last = make_file(path);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(last.output), NULL), 0);
    last.file_bytes = 1;
    weir_kept_files_add_last(kept, &last);
    cr_expect_not(is_there("data.2026112118000001"));
    cr_expect_str_eq(weir_kept_files_newest(kept), path);
    weir_kept_files_free(kept);

    kept = make(1, NULL);
    weir_output_file_rename(weir_output_file_of(last.output), "data.2026112118000002", NULL);
    weir_kept_files_add_last(kept, &last);
    struct weir_record_file left_over = make_file(path);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(left_over.output), NULL), 0);
    weir_output_file_rename(weir_output_file_of(last.output), "taken-away", NULL);
    cr_expect_eq(weir_kept_files_pass_name(kept, &left_over, &err), -ENOENT);
    cr_expect(strstr(err.what, "has been removed"), "%s", err.what);
    cr_expect_null(weir_kept_files_newest(kept));
    weir_output_file_rename(weir_output_file_of(last.output), "data.2026112118000002", NULL);
    weir_kept_files_add_last(kept, &last);
    cr_expect_eq(weir_kept_files_pass_name(kept, &left_over, &err), 0);
    cr_expect(is_there("data"));
    cr_expect_not(is_there("data.2026112118000002"));
    cr_expect_eq(weir_kept_files_removed(kept).files, 0);
    weir_output_close(left_over.output);
    weir_output_close(last.output);
    weir_kept_files_free(kept);
}

/* There is always a whole one. */
Test(kept_files, broken_file_replaces_nothing_where_whole_ones_count)
{
    for (unsigned n = 0; n < 2; n++) {
        char path[PATH_MAX];
        whole_only = n == 1;
        struct weir_kept_files *kept = make(1, NULL);
        add_snapshot(kept, "2026112118000001", 10, false);
        struct weir_record_file file = make_file(path);
        snprintf(file.stamp, sizeof(file.stamp), "2026112118000002");
        file.broken = true;
        name_and_add(kept, &file);
        cr_expect(is_there("data.2026112118000002"));
        cr_expect_eq(is_there("data.2026112118000001"), whole_only);
        add_snapshot(kept, "2026112118000003", 10, false);
        cr_expect_not(is_there("data.2026112118000001"));
        cr_expect_eq(is_there("data.2026112118000002"), whole_only);
        cr_expect(is_there("data.2026112118000003"));
        weir_kept_files_free(kept);
    }
}

/* ---- a hostile owner of the directory ---- */

/* Names a file of a rotation in "dir", and closes it. beside: the file before. */
static void rotate(struct weir_kept_files *kept, struct weir_record_file *file, const char *stamp,
                   struct weir_record_file *next)
{
    struct weir_output_options options = {
        .engine = WEIR_OUTPUT_WRITEV, .directory_fd = weir_output_file_directory(weir_output_file_of(file->output))};
    *next = (struct weir_record_file){.path = file->path};
    cr_assert_eq(weir_output_open(&next->output, file->path, &options, NULL), 0);
    snprintf(file->stamp, sizeof(file->stamp), "%s", stamp);
    name_and_add(kept, file);
}

static unsigned entries_of(const char *path)
{
    unsigned count = 0;
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

/* The directory of the output is exchanged with a link to a directory that has files of the same names. */
Test(kept_files, directory_that_is_exchanged_between_rotations_leads_nowhere_else)
{
    char root[PATH_MAX], victim[PATH_MAX], path[PATH_MAX];
    bool reached = true;
    temp_tree_path(&tree, "", root);
    temp_tree_path(&tree, "victim", victim);
    temp_tree_path(&tree, "dir/data", path);
    temp_tree_write_text(&tree, "victim/data.2026112118000001", "the victim's");
    temp_tree_make_folder(&tree, "dir");
    int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_eq(symlinkat("victim", root_fd, "planted"), 0);
    for (unsigned call = 0; reached; call++) {
        reached = false;
        for (enum swapper_way way = 0; way < SWAPPER_WAYS; way++) {
            struct weir_kept_files *kept = make(1, NULL);
            struct weir_record_file first = {.path = path}, second, third;
            struct weir_output_options options = {.engine = WEIR_OUTPUT_WRITEV};
            cr_assert_eq(weir_output_open(&first.output, path, &options, NULL), 0);
            told.count = 0;
            swapper_arm(root_fd, "dir", "planted", call, way);
            rotate(kept, &first, "2026112118000001", &second);
            rotate(kept, &second, "2026112118000002", &third);
            reached |= swapper_disarm();
            weir_output_close(third.output);
            weir_kept_files_free(kept);
            cr_assert_eq(entries_of(victim), 1);
            cr_assert(is_there("victim/data.2026112118000001"));
            cr_assert_not(is_there("dir/data.2026112118000001"), "the oldest was not removed");
            cr_assert(is_there("dir/data.2026112118000002"));
            unlinkat(root_fd, "dir/data.2026112118000002", 0);
        }
    }
    close(root_fd);
}
