/* Directories by descriptor: links and other users' directories are refused, and nobody can exchange one meanwhile. */
#include "base/directory.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/swapper.h"
#include "tests/format/temp_tree.h"

static struct temp_tree tree;
static int root_fd;

static void make_tree(void)
{
    temp_tree_init(&tree);
    root_fd = open(tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(root_fd, 0);
}

static void remove_tree(void)
{
    close(root_fd);
    temp_tree_fini(&tree);
}

TestSuite(directory, .init = make_tree, .fini = remove_tree);

/* ---- the parent ---- */

Test(directory, path_without_a_last_component_has_no_parent)
{
    static const char *const paths[] = {"", ".", "..", "/", "a/", "a/.", "a/.."};
    const char *name;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        cr_expect_eq(weir_directory_open_parent(paths[i], &name), -EINVAL, "'%s'", paths[i]);
}

Test(directory, parent_that_is_not_there_is_an_error)
{
    char path[PATH_MAX + 64], long_path[2 * PATH_MAX];
    const char *name;
    snprintf(path, sizeof(path), "%s/not-there/it", tree.root);
    cr_assert_eq(weir_directory_open_parent(path, &name), -ENOENT);
    memset(long_path, 'x', sizeof(long_path));
    memcpy(long_path + sizeof(long_path) - 3, "/it", 4 - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    cr_assert_eq(weir_directory_open_parent(long_path, &name), -ENAMETOOLONG);
}

static void expect_parent(const char *path, const char *parent, const char *expected_name)
{
    const char *name;
    struct stat here, there;
    int fd = weir_directory_open_parent(path, &name);
    cr_assert_geq(fd, 0, "'%s': %d", path, fd);
    cr_assert_str_eq(name, expected_name);
    cr_assert_eq(fstat(fd, &here), 0);
    cr_assert_eq(stat(parent, &there), 0);
    cr_assert_eq(here.st_ino, there.st_ino, "'%s'", path);
    close(fd);
}

Test(directory, parent_is_opened_through_links_that_the_user_names)
{
    char path[PATH_MAX + 64];
    cr_assert_eq(symlinkat(tree.root, root_fd, "link"), 0);
    snprintf(path, sizeof(path), "%s/link/it", tree.root);
    expect_parent(path, tree.root, "it");
    expect_parent("it", ".", "it");
    expect_parent("/it", "/", "it");
}

/* ---- open and make ---- */

Test(directory, what_is_no_directory_is_not_opened)
{
    temp_tree_write_text(&tree, "file", "");
    cr_assert_eq(symlinkat("/tmp", root_fd, "link"), 0);
    cr_assert_eq(weir_directory_open_at(root_fd, "none"), -ENOENT);
    cr_assert_eq(weir_directory_open_at(root_fd, "file"), -ENOTDIR);
    cr_assert_eq(weir_directory_open_at(root_fd, "link"), -ELOOP);
    cr_assert_eq(weir_directory_make_at(root_fd, "link", 0700), -EEXIST);
}

Test(directory, directory_of_another_user_is_not_opened)
{
    if (geteuid() != 0)
        cr_skip("needs root, to give a directory away");
    cr_assert_eq(mkdirat(root_fd, "others", 0755), 0);
    cr_assert_eq(fchownat(root_fd, "others", 65534, 65534, 0), 0);
    cr_assert_eq(weir_directory_open_at(root_fd, "others"), -EPERM);
}

Test(directory, made_one_is_open_and_at_its_name)
{
    struct stat status;
    int fd = weir_directory_make_at(root_fd, "made", 0700);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fstat(fd, &status), 0);
    cr_assert_eq(status.st_mode, S_IFDIR | 0700);
    cr_assert(weir_directory_has(root_fd, "made", fd));
    cr_assert_not(weir_directory_has(root_fd, "other", fd));
    cr_assert_eq(symlinkat("made", root_fd, "link"), 0);
    cr_assert_not(weir_directory_has(root_fd, "link", fd));
    close(fd);
    fd = weir_directory_open_at(root_fd, "made");
    cr_assert_geq(fd, 0);
    close(fd);
}

Test(directory, nobody_exchanges_a_directory_between_its_making_and_its_opening, .timeout = 60)
{
    unsigned refused = 0;
    temp_tree_make_folder(&tree, "victim");
    cr_assert_eq(symlinkat("victim", root_fd, "planted"), 0);
    for (unsigned i = 0, reached = SWAPPER_WAYS; reached == SWAPPER_WAYS; i++) {
        reached = 0;
        for (enum swapper_way way = 0; way < SWAPPER_WAYS; way++) {
            swapper_arm(root_fd, "made", "planted", i, way);
            int fd = weir_directory_make_at(root_fd, "made", 0700);
            reached += swapper_disarm();
            refused += fd < 0;
            cr_assert(fd >= 0 || fd == -ELOOP || fd == -ENOTDIR, "%d", fd);
            if (fd >= 0) {
                cr_assert(weir_directory_has(root_fd, "made", fd)); /* and not the victim */
                close(fd);
            }
            unlinkat(root_fd, "made", AT_REMOVEDIR);
        }
    }
    cr_assert_gt(refused, 0);
}
