/*
 * Which paths are written, and what happens to the files that are there: refusals first.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "io/output_internal.h"
#include "tests/format/temp_tree.h"
#include "tests/io/refuse_call.h"

#define NOBODY 65534

static struct temp_tree tree; /* each test is a process of its own */

static void set_up(void)
{
    temp_tree_init(&tree);
}

static void tear_down(void)
{
    temp_tree_fini(&tree);
}

TestSuite(output_file, .init = set_up, .fini = tear_down);

struct place {
    char text[PATH_MAX];
};

static struct place place_of(const char *relative)
{
    struct place place;
    temp_tree_path(&tree, relative, place.text);
    return place;
}

static void expect_text(const char *relative, const char *text)
{
    struct weir_buf file = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&file, place_of(relative).text), 0, "%s", relative);
    cr_assert_str_eq(weir_buf_str(&file), text);
    weir_buf_fini(&file);
}

static bool exists(const char *relative)
{
    struct stat st;
    return lstat(place_of(relative).text, &st) == 0;
}

static unsigned entries(void)
{
    char command[PATH_MAX + 32], count[16] = "";
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", tree.root);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    cr_assert_not_null(fgets(count, sizeof(count), pipe));
    pclose(pipe);
    return (unsigned)strtoul(count, NULL, 10);
}

static int open_output(struct weir_output **output, const char *path, struct weir_error *err)
{
    return weir_output_open(output, path, &(struct weir_output_options){.engine = WEIR_OUTPUT_WRITEV}, err);
}

static struct weir_output *open_good(const char *relative)
{
    struct weir_output *output = NULL;
    struct weir_error err;
    cr_assert_eq(open_output(&output, place_of(relative).text, &err), 0, "%s", err.what);
    return output;
}

static void expect_refused(const char *path, int code, const char *word)
{
    struct weir_output *output = NULL;
    struct weir_error err = {0};
    cr_assert_eq(open_output(&output, path, &err), code, "%s: %d %s", path, err.code, err.what);
    cr_assert_eq(err.code, code);
    cr_assert_not_null(strstr(err.what, word), "'%s' lacks '%s'", err.what, word);
    struct weir_error checked = {0};
    cr_assert_eq(weir_output_file_check(path, &checked), code);
    cr_assert_str_eq(checked.what, err.what);
}

/* A refusal, and the end of its hint. */
static void expect_hint(const char *path, const char *hint)
{
    struct weir_error err = {0};
    cr_assert_lt(weir_output_file_check(path, &err), 0);
    const char *found = strstr(err.hint, hint);
    cr_assert(found && found[strlen(hint)] == '\0', "'%s' is not at the end of '%s'", hint, err.hint);
}

/* ---- refused ---- */

Test(output_file, symbolic_link_is_refused)
{
    temp_tree_write_text(&tree, "target", "old");
    cr_assert_eq(symlink("target", place_of("link").text), 0);
    expect_refused(place_of("link").text, -ELOOP, "symbolic link");
    expect_text("target", "old");
    cr_assert_eq(entries(), 2);
}

Test(output_file, dangling_symbolic_link_is_refused)
{
    cr_assert_eq(symlink("nowhere", place_of("link").text), 0);
    expect_refused(place_of("link").text, -ELOOP, "symbolic link");
    cr_assert_not(exists("nowhere"));
}

Test(output_file, symbolic_link_to_dev_null_is_refused)
{
    cr_assert_eq(symlink("/dev/null", place_of("link").text), 0);
    expect_refused(place_of("link").text, -ELOOP, "symbolic link");
}

Test(output_file, directory_is_refused)
{
    temp_tree_make_folder(&tree, "folder");
    expect_refused(place_of("folder").text, -EISDIR, "is a directory");
    expect_refused(place_of("folder/").text, -EISDIR, "is a directory");
    expect_refused(place_of("folder/.").text, -EISDIR, "is a directory");
    expect_refused(place_of("folder/..").text, -EISDIR, "is a directory");
    expect_refused("/", -EISDIR, "is a directory");
}

Test(output_file, fifo_is_refused_without_waiting_for_a_reader)
{
    cr_assert_eq(mkfifo(place_of("fifo").text, 0600), 0);
    expect_refused(place_of("fifo").text, -EINVAL, "a FIFO");
}

Test(output_file, socket_is_refused)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    cr_assert_eq(chdir(tree.root), 0);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    expect_refused(place_of("socket").text, -EINVAL, "a socket");
}

Test(output_file, device_other_than_null_is_refused)
{
    expect_refused("/dev/zero", -EINVAL, "a character device");
}

Test(output_file, name_of_a_device_that_is_not_there_is_refused)
{
    expect_refused("/dev/weir-no-such-device", -EINVAL, "would be a new file among the devices of /dev");
    cr_assert_eq(access("/dev/weir-no-such-device", F_OK), -1);
}

Test(output_file, hard_link_is_refused)
{
    temp_tree_write_text(&tree, "one", "old");
    cr_assert_eq(link(place_of("one").text, place_of("two").text), 0);
    expect_refused(place_of("two").text, -EINVAL, "2 names");
    expect_text("one", "old");
}

Test(output_file, empty_path_is_refused)
{
    expect_refused("", -ENOENT, "empty");
}

Test(output_file, missing_directory_is_refused_with_the_command_that_makes_it)
{
    struct weir_output *output;
    struct weir_error err;
    cr_assert_eq(open_output(&output, place_of("no/such/file").text, &err), -ENOENT);
    char hint[PATH_MAX + 64];
    format_text(hint, sizeof(hint), "make it first: mkdir -p '%s/no/such'", tree.root);
    cr_assert_str_eq(err.hint, hint);
}

Test(output_file, file_in_place_of_a_directory_is_refused)
{
    temp_tree_write_text(&tree, "file", "old");
    expect_refused(place_of("file/name").text, -ENOTDIR, "cannot open directory");
    expect_hint(place_of("file/name").text, "one of the directories on the way to it is a file");
}

Test(output_file, name_that_is_too_long_is_refused)
{
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof(name));
    name[NAME_MAX + 1] = '\0';
    expect_refused(place_of(name).text, -ENAMETOOLONG, "File name too long");
    expect_hint(place_of(name).text, "a name may have 255 bytes, and a path 4095");
}

Test(output_file, existing_file_without_room_for_its_backup_name_is_refused)
{
    char name[NAME_MAX];
    memset(name, 'n', sizeof(name));
    name[NAME_MAX - 3] = '\0'; /* one more than leaves room for .old */
    temp_tree_write_text(&tree, name, "old");
    expect_refused(place_of(name).text, -ENAMETOOLONG, "too long to add .old");
    expect_hint(place_of(name).text, "choose a shorter name, or move the file that is there away");
    cr_assert_eq(rename(place_of(name).text, place_of(name + 1).text), 0);
    struct weir_output *output = open_good(name + 1);
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0, "%s", err.what);
    weir_output_close(output);
    cr_assert_eq(entries(), 2);
}

Test(output_file, backup_that_is_a_directory_is_refused)
{
    temp_tree_write_text(&tree, "file", "old");
    temp_tree_make_folder(&tree, "file.old");
    expect_refused(place_of("file").text, -EISDIR, "backup");
    expect_hint(place_of("file").text, "choose another name, or move that directory away");
}

/* Goes on as a user without rights. */
static void become_nobody(void)
{
    if (geteuid() != 0)
        cr_skip_test("needs root to become another user");
    cr_assert_eq(chmod(tree.root, 0755), 0);
    cr_assert_eq(seteuid(NOBODY), 0);
}

Test(output_file, file_of_another_user_is_refused)
{
    temp_tree_write_text(&tree, "file", "old");
    become_nobody();
    expect_refused(place_of("file").text, -EPERM, "belongs to user 0, not to user 65534");
    expect_hint(place_of("file").text, "what others own is not replaced: choose another name");
    cr_assert_eq(seteuid(0), 0);
    expect_text("file", "old");
}

Test(output_file, directory_that_may_not_be_entered_is_refused)
{
    temp_tree_make_folder(&tree, "locked");
    cr_assert_eq(chmod(place_of("locked").text, 0700), 0);
    become_nobody();
    expect_refused(place_of("locked/file").text, -EACCES, "cannot inspect output");
    expect_hint(place_of("locked/file").text, "user 65534 may not enter a directory on the way to it");
    cr_assert_eq(seteuid(0), 0);
}

Test(output_file, directory_that_is_not_writable_is_refused)
{
    become_nobody();
    expect_refused(place_of("file").text, -EACCES, "cannot create output");
    cr_assert_eq(seteuid(0), 0);
    cr_assert_eq(entries(), 0);
}

Test(output_file, directory_that_was_removed_is_refused_as_such)
{
    temp_tree_make_folder(&tree, "gone");
    cr_assert_eq(chdir(place_of("gone").text), 0);
    cr_assert_eq(rmdir(place_of("gone").text), 0);
    expect_refused("file", -ENOENT, "cannot create output 'file': its directory was removed");
    expect_hint("file", "cd to one that is there, or name a file in another directory");
    cr_assert_eq(chdir(tree.root), 0);
}

/* ---- before the name ---- */

Test(output_file, nothing_is_to_be_seen_before_publish)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_good("file");
    cr_assert_eq(entries(), 1);
    expect_text("file", "old");
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
    expect_text("file", "old");
}

Test(output_file, check_leaves_nothing_behind)
{
    cr_assert_eq(weir_output_file_check(place_of("file").text, NULL), 0);
    cr_assert_eq(entries(), 0);
}

Test(output_file, close_of_nothing_is_allowed)
{
    weir_output_close(NULL);
}

Test(output_file, descriptors_do_not_reach_the_workload)
{
    struct weir_output *output = open_good("file");
    cr_assert_eq(fcntl(output->file.fd, F_GETFD), FD_CLOEXEC);
    cr_assert_eq(fcntl(output->file.dir_fd, F_GETFD), FD_CLOEXEC);
    weir_output_close(output);
}

/* ---- the name ---- */

static void publish(struct weir_output *output)
{
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0, "%s", err.what);
}

Test(output_file, published_file_is_private_and_has_one_name)
{
    struct weir_output *output = open_good("file");
    publish(output);
    struct stat st;
    cr_assert_eq(lstat(place_of("file").text, &st), 0);
    cr_assert_eq(st.st_mode, S_IFREG | 0600);
    cr_assert_eq(st.st_nlink, 1);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, existing_file_becomes_the_backup)
{
    temp_tree_write_text(&tree, "file", "old");
    temp_tree_write_text(&tree, "file.old", "older");
    struct weir_output *output = open_good("file");
    publish(output);
    weir_output_close(output);
    expect_text("file", "");
    expect_text("file.old", "old");
    cr_assert_eq(entries(), 2);
}

Test(output_file, existing_file_that_is_empty_is_no_backup)
{
    temp_tree_write_text(&tree, "file", "");
    temp_tree_write_text(&tree, "file.old", "older");
    struct weir_output *output = open_good("file");
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0);
    weir_output_close(output);
    cr_assert_eq(entries(), 2);
    expect_text("file.old", "older");
}

Test(output_file, empty_file_that_gets_content_after_open_is_a_backup)
{
    temp_tree_write_text(&tree, "file", "");
    struct weir_output *output = open_good("file");
    temp_tree_write_text(&tree, "file", "late");
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0);
    weir_output_close(output);
    expect_text("file.old", "late");
}

Test(output_file, second_publish_changes_nothing)
{
    struct weir_output *output = open_good("file");
    publish(output);
    publish(output);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, path_without_a_slash_is_in_the_current_directory)
{
    cr_assert_eq(chdir(tree.root), 0);
    struct weir_output *output = NULL;
    cr_assert_eq(open_output(&output, "file", NULL), 0);
    temp_tree_make_folder(&tree, "elsewhere");
    cr_assert_eq(chdir("elsewhere"), 0);
    publish(output);
    weir_output_close(output);
    expect_text("file", "");
}

Test(output_file, directory_may_be_reached_through_a_symbolic_link)
{
    temp_tree_make_folder(&tree, "folder");
    cr_assert_eq(symlink("folder", place_of("link").text), 0);
    struct weir_output *output = open_good("link/file");
    publish(output);
    weir_output_close(output);
    expect_text("folder/file", "");
}

Test(output_file, own_unreadable_file_is_replaced)
{
    temp_tree_write_text(&tree, "file", "old");
    cr_assert_eq(chmod(place_of("file").text, 0), 0);
    struct weir_output *output = open_good("file");
    publish(output);
    weir_output_close(output);
    cr_assert_eq(entries(), 2);
}

Test(output_file, link_that_appears_after_open_is_not_replaced)
{
    struct weir_output *output = open_good("file");
    cr_assert_eq(symlink("target", place_of("file").text), 0);
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), -ELOOP);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, existing_file_that_cannot_be_put_back_is_named)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_good("file");
    refuse_call(SYS_linkat, EIO);
    refuse_call(SYS_renameat2, EEXIST);
    struct weir_error err;
    char hint[PATH_MAX + 64];
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), -EIO);
    format_text(hint, sizeof(hint), "the file that was there is now '%s.old'", place_of("file").text);
    cr_assert_str_eq(err.hint, hint);
    expect_text("file.old", "old");
    weir_output_close(output);
}

Test(output_file, existing_file_is_back_when_naming_fails)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_good("file");
    refuse_call(SYS_linkat, EIO);
    struct weir_error err;
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), -EIO);
    cr_assert_not_null(strstr(err.what, "cannot name the output"));
    expect_text("file", "old");
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, existing_file_stays_when_it_cannot_be_renamed)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_good("file");
    refuse_call(SYS_renameat, EIO);
    refuse_call(SYS_renameat2, EIO);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), NULL), -EIO);
    expect_text("file", "old");
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

/* ---- file systems without O_TMPFILE ---- */

static struct weir_output *open_hidden(const char *relative)
{
    refuse_call_with(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP);
    struct weir_output *output = open_good(relative);
    cr_assert_not_null(output->file.hidden);
    return output;
}

Test(output_file, hidden_file_vanishes_when_it_is_not_published)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_hidden("file");
    cr_assert_eq(entries(), 2);
    struct stat st;
    cr_assert_eq(lstat(place_of(output->file.hidden).text, &st), 0);
    cr_assert_eq(st.st_mode, S_IFREG | 0600);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
    expect_text("file", "old");
}

Test(output_file, hidden_name_that_is_taken_is_left_alone)
{
    char name[64];
    format_text(name, sizeof(name), ".weir-%d-0", (int)getpid());
    temp_tree_write_text(&tree, name, "old");
    struct weir_output *output = open_hidden("file");
    weir_output_close(output);
    expect_text(name, "old");
    cr_assert_eq(entries(), 1);
}

Test(output_file, hidden_file_is_renamed_to_its_name)
{
    temp_tree_write_text(&tree, "file", "old");
    struct weir_output *output = open_hidden("file");
    publish(output);
    weir_output_close(output);
    expect_text("file", "");
    expect_text("file.old", "old");
    cr_assert_eq(entries(), 2);
}

Test(output_file, hidden_file_is_linked_where_rename_cannot_spare_others)
{
    struct weir_output *output = open_hidden("file");
    refuse_call(SYS_renameat2, EINVAL);
    publish(output);
    weir_output_close(output);
    expect_text("file", "");
    cr_assert_eq(entries(), 1);
}

/* ---- /dev/null ---- */

Test(output_file, dev_null_is_written_and_stays_what_it_is)
{
    struct weir_output *output = NULL;
    cr_assert_eq(open_output(&output, "/dev/null", NULL), 0);
    publish(output);
    cr_assert(weir_output_is_unread(output));
    uint8_t head[4096] = {0};
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_output_finish(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_output_sync(output), 0);
    weir_output_close(output);
    struct stat st;
    cr_assert_eq(stat("/dev/null", &st), 0);
    cr_assert(S_ISCHR(st.st_mode));
    cr_assert_not(access("/dev/null.old", F_OK) == 0);
}

/* ---- another name ---- */

Test(output_file, rename_replaces_nothing)
{
    temp_tree_write_text(&tree, "taken", "old");
    struct weir_output *output = open_good("file");
    publish(output);
    struct weir_error err;
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "taken", &err), -EEXIST);
    cr_assert_not_null(strstr(err.what, "taken"));
    expect_text("taken", "old");
    cr_assert_str_eq(weir_output_file_path(weir_output_file_of(output)), place_of("file").text);
    weir_output_close(output);
    cr_assert_eq(entries(), 2);
}

Test(output_file, what_is_at_the_name_but_not_ours_is_not_renamed)
{
    struct weir_output *output = open_good("file");
    publish(output);
    cr_assert_eq(unlink(place_of("file").text), 0);
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "other", NULL), -ENOENT);
    temp_tree_write_text(&tree, "file", "new");
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "other", NULL), -ENOENT);
    expect_text("file", "new");
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, rename_to_a_name_that_is_too_long_is_refused)
{
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct weir_output *output = open_good("file");
    publish(output);
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), name, NULL), -ENAMETOOLONG);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
}

Test(output_file, renamed_file_is_at_its_new_name_only_and_the_old_one_is_free)
{
    struct weir_output *output = open_good("file");
    publish(output);
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "other", NULL), 0);
    cr_assert_str_eq(weir_output_file_path(weir_output_file_of(output)), place_of("other").text);
    cr_assert_eq(entries(), 1);
    struct weir_output *next = open_good("file");
    publish(next);
    cr_assert_eq(entries(), 2); /* nothing was moved to .old */
    weir_output_close(next);
    weir_output_close(output);
}

Test(output_file, nameless_file_gets_the_name_that_it_is_renamed_to)
{
    struct weir_output *output = open_good("file");
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "other", NULL), 0);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), NULL), 0);
    weir_output_close(output);
    cr_assert_eq(entries(), 1);
    cr_assert_eq(access(place_of("other").text, F_OK), 0);
}

/* What stat(2) says of that file. */
static struct stat stat_of(const char *name)
{
    struct stat st = {0};
    cr_assert_eq(stat(place_of(name).text, &st), 0);
    return st;
}

Test(output_file, only_the_file_that_is_meant_gets_the_name_that_is_passed_on)
{
    struct weir_output *output = open_good("file");
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "heir", 0, 0), -ENOENT, "not published");
    publish(output);
    temp_tree_write_text(&tree, "heir", "a snapshot");
    temp_tree_write_text(&tree, "another", "no snapshot");
    struct stat heir = stat_of("heir");
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "nowhere", heir.st_dev, heir.st_ino), -ENOENT);
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "another", heir.st_dev, heir.st_ino), -ENOENT);
    expect_text("file", "");
    refuse_call(SYS_renameat, EIO);
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "heir", heir.st_dev, heir.st_ino), -EIO);
    expect_text("file", "");
    expect_text("heir", "a snapshot");
    weir_output_close(output);
    cr_expect_eq(entries(), 3);
}

Test(output_file, name_of_somebody_elses_file_is_not_passed_on)
{
    struct weir_output *output = open_good("file");
    publish(output);
    temp_tree_write_text(&tree, "heir", "a snapshot");
    struct stat heir = stat_of("heir");
    cr_assert_eq(unlink(place_of("file").text), 0);
    temp_tree_write_text(&tree, "file", "new");
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "heir", heir.st_dev, heir.st_ino), -ENOENT);
    expect_text("file", "new");
    expect_text("heir", "a snapshot");
    weir_output_close(output);
}

Test(output_file, heir_has_the_name_and_the_output_vanishes)
{
    struct weir_output *output = open_good("file");
    publish(output);
    temp_tree_write_text(&tree, "heir", "a snapshot");
    struct stat heir = stat_of("heir");
    cr_assert_eq(weir_output_file_pass_name(weir_output_file_of(output), "heir", heir.st_dev, heir.st_ino), 0);
    expect_text("file", "a snapshot");
    weir_output_file_remove(weir_output_file_of(output)); /* it has no name any more */
    cr_expect_eq(weir_output_file_pass_name(weir_output_file_of(output), "heir", heir.st_dev, heir.st_ino), -ENOENT);
    weir_output_close(output);
    expect_text("file", "a snapshot");
    cr_expect_eq(entries(), 1);
}

Test(output_file, null_device_keeps_its_name)
{
    struct weir_output *output = NULL;
    cr_assert_eq(open_output(&output, "/dev/null", NULL), 0);
    cr_assert_eq(weir_output_file_rename(weir_output_file_of(output), "other", NULL), 0);
    cr_assert_eq(weir_output_file_pass_name(weir_output_file_of(output), "other", 0, 0), -EOPNOTSUPP);
    cr_assert_str_eq(weir_output_file_path(weir_output_file_of(output)), "/dev/null");
    weir_output_close(output);
}
