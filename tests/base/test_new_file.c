/* Files that get their name when they are whole, also where nameless files cannot be made. */
#include "base/new_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/format/temp_tree.h"
#include "tests/io/refuse_call.h"

static struct temp_tree tree;
static int root_fd;

static void make_tree(void)
{
    temp_tree_init(&tree);
    root_fd = open(tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(root_fd, 0);
    umask(022);
}

static void remove_tree(void)
{
    close(root_fd);
    temp_tree_fini(&tree);
}

TestSuite(new_file, .init = make_tree, .fini = remove_tree);

static bool is_there(const char *name)
{
    return faccessat(root_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void expect_text(const char *name, const char *text)
{
    char have[16] = "";
    int fd = openat(root_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", name);
    cr_assert_geq(read(fd, have, sizeof(have) - 1), 0);
    cr_expect_str_eq(have, text);
    close(fd);
}

static int open_good(char hidden[WEIR_HIDDEN_NAME_BYTES])
{
    int fd = weir_new_file_open(root_fd, 0666, hidden);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, "new", 3), 3);
    return fd;
}

/* Makes a file that replaces another one, and one that is dropped. */
static void expect_replaced_and_dropped(bool is_hidden)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES], dropped[WEIR_HIDDEN_NAME_BYTES];
    temp_tree_write_text(&tree, "it", "old");
    int fd = open_good(hidden), dropped_fd = open_good(dropped);
    struct stat st;
    cr_assert_eq(fstat(fd, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0644u);
    cr_expect_eq(st.st_nlink, is_hidden ? 1u : 0u);
    cr_expect_eq(hidden[0] != '\0', is_hidden);
    cr_expect_eq(is_hidden && is_there(dropped), is_hidden);
    expect_text("it", "old");
    cr_assert_eq(weir_new_file_end(root_fd, fd, hidden, "it"), 0);
    cr_assert_eq(weir_new_file_end(root_fd, dropped_fd, dropped, NULL), 0);
    expect_text("it", "new");
    for (unsigned i = 0; i < 3; i++) {
        snprintf(hidden, sizeof(hidden), ".weir-%d-%u", (int)getpid(), i);
        cr_expect_not(is_there(hidden));
    }
}

Test(new_file, nameless_file_replaces_another_or_vanishes)
{
    expect_replaced_and_dropped(false);
}

Test(new_file, hidden_file_replaces_another_or_vanishes)
{
    refuse_call_with(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP);
    expect_replaced_and_dropped(true);
}

Test(new_file, missing_proc_means_a_hidden_name)
{
#ifdef SYS_access
    refuse_call(SYS_access, ENOENT);
#endif
    refuse_call(SYS_faccessat, ENOENT);
    expect_replaced_and_dropped(true);
}

Test(new_file, directory_in_the_place_of_the_name_is_left_alone)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES];
    cr_assert_eq(mkdirat(root_fd, "it", 0700), 0);
    int fd = open_good(hidden);
    cr_assert_eq(weir_new_file_end(root_fd, fd, hidden, "it"), -EISDIR);
    cr_expect_not(is_there(hidden));
    struct stat st;
    cr_assert_eq(fstatat(root_fd, "it", &st, 0), 0);
    cr_expect(S_ISDIR(st.st_mode));
}

Test(new_file, hidden_names_that_are_taken_are_left_alone)
{
    char taken[WEIR_HIDDEN_NAME_BYTES], hidden[WEIR_HIDDEN_NAME_BYTES];
    snprintf(taken, sizeof(taken), ".weir-%d-0", (int)getpid());
    temp_tree_write_text(&tree, taken, "old");
    int fd = open_good(hidden);
    cr_assert_eq(weir_new_file_hide(root_fd, fd, hidden), 0);
    cr_expect_str_neq(hidden, taken);
    cr_assert_eq(weir_new_file_end(root_fd, fd, hidden, "it"), 0);
    expect_text(taken, "old");
    expect_text("it", "new");
}

Test(new_file, name_that_is_taken_is_no_link)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES];
    temp_tree_write_text(&tree, "it", "old");
    int fd = open_good(hidden);
    cr_assert_eq(weir_new_file_link(root_fd, fd, "it"), -EEXIST);
    expect_text("it", "old");
    cr_assert_eq(weir_new_file_link(root_fd, fd, "other"), 0);
    cr_assert_eq(weir_new_file_end(root_fd, fd, hidden, NULL), 0);
    expect_text("other", "new");
}

Test(new_file, file_that_cannot_be_made_is_an_error)
{
    char hidden[WEIR_HIDDEN_NAME_BYTES] = "x";
    refuse_call(SYS_openat, EROFS);
    cr_assert_eq(weir_new_file_open(root_fd, 0666, hidden), -EROFS);
    cr_expect_str_eq(hidden, "");
}
