/* What weir doctor finds out of a folder, on the real file system and kernel. */
#include "io/probe.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/format/temp_tree.h"
#include "tests/io/refuse_call.h"

static struct temp_tree tree;

static void make_tree(void)
{
    temp_tree_init(&tree);
}

static void remove_tree(void)
{
    temp_tree_fini(&tree);
}

TestSuite(probe, .init = make_tree, .fini = remove_tree);

static size_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    cr_assert_not_null(folder);
    size_t count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

Test(probe, what_is_no_folder_is_told_as_that)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, "it", path);
    cr_expect_eq(weir_io_probe_direct(path), -ENOENT);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    cr_expect_eq(weir_io_probe_direct(path), -ENOTDIR);
}

Test(probe, folder_that_was_removed_is_not_there)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, "it", path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(chdir(path), 0);
    cr_assert_eq(rmdir(path), 0);
    cr_expect_eq(weir_io_probe_direct("."), -ENOENT);
}

/* NFS and vfat make no nameless files, and take O_DIRECT. */
Test(probe, file_system_without_nameless_files_has_the_same_answer)
{
    int with_nameless = weir_io_probe_direct(tree.root);
    refuse_call_with(SYS_openat, 2, O_TMPFILE, EOPNOTSUPP);
    cr_assert_lt(open(tree.root, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), 0);
    cr_expect_eq(weir_io_probe_direct(tree.root), with_nameless);
    cr_expect_eq(count_entries(tree.root), 2, "something stays");
}
