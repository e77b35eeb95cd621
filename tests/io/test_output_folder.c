/* The folder of a recording: what is refused, what becomes of a folder that is there, and what a failure leaves. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/output.h"
#include "io/output_folder.h"
#include "tests/base/swapper.h"
#include "tests/format/temp_tree.h"

static struct temp_tree tree;
static char path[PATH_MAX];

static void make_tree(void)
{
    temp_tree_init(&tree);
    temp_tree_path(&tree, "it", path);
}

static void remove_tree(void)
{
    temp_tree_fini(&tree);
}

TestSuite(output_folder, .init = make_tree, .fini = remove_tree);

static bool exists(const char *name)
{
    char full[PATH_MAX];
    struct stat st;
    temp_tree_path(&tree, name, full);
    return lstat(full, &st) == 0;
}

static void expect_refused(int code, const char *what)
{
    struct weir_error err = {0};
    cr_assert_eq(weir_output_folder_check(path, &err), code, "%s", err.what);
    cr_assert(strstr(err.what, what), "%s", err.what);
}

static struct weir_output_folder *open_folder(void)
{
    struct weir_output_folder *folder = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_output_folder_open(&folder, path, &err), 0, "%s", err.what);
    return folder;
}

/* The first name under which a folder is made. */
static const char *hidden_name(void)
{
    static char name[64];
    snprintf(name, sizeof(name), ".weir-%d-0.dir", (int)getpid());
    return name;
}

/* An output in it, with its name. */
static void add_file(const struct weir_output_folder *folder, const char *name)
{
    struct weir_error err = {0};
    struct weir_output *output;
    const struct weir_output_options options = {
        .engine = WEIR_OUTPUT_WRITEV, .stage_bytes = 16u * 1024, .directory_fd = weir_output_folder_directory(folder)};
    cr_assert_eq(weir_output_open(&output, name, &options, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_file_publish(weir_output_file_of(output), &err), 0, "%s", err.what);
    weir_output_close(output);
}

Test(output_folder, what_is_no_folder_is_refused)
{
    temp_tree_write_text(&tree, "it", "a file");
    expect_refused(-ENOTDIR, "is no directory");
}

Test(output_folder, symbolic_link_is_refused)
{
    cr_assert_eq(symlink("/tmp", path), 0);
    expect_refused(-ELOOP, "is a symbolic link");
}

Test(output_folder, folder_with_other_files_is_refused)
{
    temp_tree_write_text(&tree, "it/data.5x", "");
    expect_refused(-ENOTEMPTY, "holds other files than those of a recording ('data.5x')");
}

Test(output_folder, old_folder_with_other_files_is_refused)
{
    temp_tree_write_text(&tree, "it/data", "");
    temp_tree_write_text(&tree, "it.old/notes", "");
    expect_refused(-ENOTEMPTY, "it.old' holds other files");
    cr_assert(exists("it.old/notes"));
}

Test(output_folder, parent_that_is_not_there_is_refused)
{
    temp_tree_path(&tree, "not-there/it", path);
    expect_refused(-ENOENT, "cannot make a directory for output");
}

Test(output_folder, unpublished_one_vanishes_with_its_files)
{
    temp_tree_write_text(&tree, "it/data", "of before");
    struct weir_output_folder *folder = open_folder();
    add_file(folder, "data");
    add_file(folder, "data.0");
    const char *hidden = hidden_name();
    cr_assert(exists(hidden));
    weir_output_folder_close(folder);
    cr_assert_not(exists(hidden));
    cr_assert(exists("it/data"));
    cr_assert_not(exists("it.old"));
}

Test(output_folder, published_one_has_its_name_and_mode)
{
    struct weir_output_folder *folder = open_folder();
    add_file(folder, "data");
    cr_assert_not(exists("it"));
    cr_assert_eq(weir_output_folder_publish(folder, NULL), 0);
    cr_assert_eq(weir_output_folder_publish(folder, NULL), 0); /* again: nothing */
    weir_output_folder_close(folder);
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0700);
    cr_assert(exists("it/data"));
    cr_assert_not(exists("it.old"));
}

Test(output_folder, existing_one_becomes_the_old_one_and_that_goes)
{
    temp_tree_write_text(&tree, "it/data", "second");
    temp_tree_write_text(&tree, "it/data.7", "second");
    temp_tree_write_text(&tree, "it.old/data", "first");
    temp_tree_write_text(&tree, "it.old/data.3", "first");
    struct weir_output_folder *folder = open_folder();
    add_file(folder, "data");
    cr_assert_eq(weir_output_folder_publish(folder, NULL), 0);
    weir_output_folder_close(folder);
    cr_assert(exists("it/data"));
    cr_assert_not(exists("it/data.7"));
    cr_assert(exists("it.old/data.7"));
    cr_assert_not(exists("it.old/data.3"));
}

Test(output_folder, slashes_at_the_end_change_nothing)
{
    temp_tree_path(&tree, "it//", path);
    struct weir_output_folder *folder = open_folder();
    cr_assert_eq(weir_output_folder_publish(folder, NULL), 0);
    weir_output_folder_close(folder);
    cr_assert(exists("it"));
}

Test(output_folder, copy_of_the_kernel_belongs_to_a_recording)
{
    temp_tree_write_text(&tree, "it/data", "of before");
    temp_tree_write_text(&tree, "it/kcore_dir/kallsyms", "of before");
    temp_tree_write_text(&tree, "it/kcore_dir/modules", "of before");
    temp_tree_write_text(&tree, "it.old/kcore_dir/kcore", "of long before");
    struct weir_output_folder *folder = open_folder();
    struct weir_error err = {0};
    int fd = weir_output_folder_make_kcore(folder, &err);
    cr_assert_geq(fd, 0, "%s", err.what);
    close(openat(fd, "kcore", O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
    close(fd);
    cr_expect_eq(weir_output_folder_make_kcore(folder, &err), -EEXIST);
    cr_assert_eq(weir_output_folder_publish(folder, &err), 0, "%s", err.what);
    weir_output_folder_close(folder);
    cr_expect(exists("it/kcore_dir/kcore"));
    cr_expect_not(exists("it/kcore_dir/kallsyms"));
    cr_expect(exists("it.old/kcore_dir/kallsyms"));
    cr_expect_not(exists("it.old/kcore_dir/kcore"));
}

Test(output_folder, copy_of_the_kernel_vanishes_with_its_recording)
{
    struct weir_output_folder *folder = open_folder();
    int fd = weir_output_folder_make_kcore(folder, NULL);
    cr_assert_geq(fd, 0);
    close(openat(fd, "modules", O_WRONLY | O_CREAT | O_CLOEXEC, 0400));
    close(fd);
    weir_output_folder_close(folder);
    cr_expect_not(exists(hidden_name()));
}

Test(output_folder, other_files_beside_a_copy_of_the_kernel_are_left_alone)
{
    temp_tree_write_text(&tree, "it/kcore_dir/notes", "mine");
    expect_refused(-ENOTEMPTY, "('kcore_dir')");
    cr_expect(exists("it/kcore_dir/notes"));
}

Test(output_folder, file_named_as_the_copy_is_left_alone)
{
    temp_tree_write_text(&tree, "it/kcore_dir", "mine");
    expect_refused(-ENOTEMPTY, "('kcore_dir')");
}

/* ---- a hostile owner of the directory ---- */

/* Makes a folder with data and a copy of the kernel, as a recording does. Each step may fail. */
static void record_into_folder(void)
{
    struct weir_output_folder *folder;
    struct weir_output *output = NULL;
    if (weir_output_folder_open(&folder, path, NULL) < 0)
        return;
    const struct weir_output_options options = {
        .engine = WEIR_OUTPUT_WRITEV, .stage_bytes = 16u * 1024, .directory_fd = weir_output_folder_directory(folder)};
    int fd = weir_output_folder_make_kcore(folder, NULL);
    if (fd >= 0) {
        unlinkat(fd, "kallsyms", 0);
        close(openat(fd, "kallsyms", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
        close(fd);
    }
    if (weir_output_open(&output, "data", &options, NULL) == 0)
        weir_output_file_publish(weir_output_file_of(output), NULL);
    weir_output_folder_publish(folder, NULL);
    weir_output_folder_sync(folder);
    if (output)
        weir_output_close(output);
    weir_output_folder_close(folder);
}

static void expect_text(const char *name, const char *text)
{
    char full[PATH_MAX], found[64] = "";
    temp_tree_path(&tree, name, full);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s is gone", name);
    cr_assert_eq(read(fd, found, sizeof(found) - 1), (ssize_t)strlen(text), "%s has changed", name);
    cr_assert_str_eq(found, text);
    close(fd);
}

static unsigned entries_of(const char *name)
{
    char full[PATH_MAX];
    unsigned count = 0;
    temp_tree_path(&tree, name, full);
    DIR *folder = opendir(full);
    cr_assert_not_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

/* Exchanges the name with that of a link to the victim at each moment of a recording, of which there is one already. */
static void attack(const char *name, enum swapper_way ways)
{
    bool reached = true;
    for (unsigned call = 0; reached; call++) {
        reached = false;
        for (enum swapper_way way = 0; way < ways; way++) {
            char round[32], full[PATH_MAX + 64];
            snprintf(round, sizeof(round), "%u-%d", call, way);
            snprintf(full, sizeof(full), "%s/it/data", round);
            temp_tree_write_text(&tree, full, "of before");
            snprintf(full, sizeof(full), "%s/it.old/data", round);
            temp_tree_write_text(&tree, full, "of long before");
            temp_tree_path(&tree, round, path);
            int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            cr_assert_geq(fd, 0);
            cr_assert_eq(symlinkat("../victim", fd, "planted"), 0);
            temp_tree_path(&tree, round, full);
            cr_assert_lt(snprintf(path, sizeof(path), "%.*s/it", PATH_MAX - 8, full), PATH_MAX);
            swapper_arm(fd, name, "planted", call, way);
            record_into_folder();
            reached |= swapper_disarm();
            close(fd);
            expect_text("victim/data", "the victim's");
            expect_text("victim/kcore_dir/kallsyms", "the victim's");
            cr_assert_eq(entries_of("victim"), 2);
            cr_assert_eq(entries_of("victim/kcore_dir"), 1);
        }
    }
}

static void make_victim(void)
{
    make_tree();
    temp_tree_write_text(&tree, "victim/data", "the victim's");
    temp_tree_write_text(&tree, "victim/kcore_dir/kallsyms", "the victim's");
}

TestSuite(output_folder_attack, .init = make_victim, .fini = remove_tree);

Test(output_folder_attack, hidden_folder_that_is_exchanged_leads_nowhere_else)
{
    attack(hidden_name(), SWAPPER_WAYS);
}

Test(output_folder_attack, present_folder_that_is_exchanged_leads_nowhere_else)
{
    attack("it", SWAPPER_RETURNS); /* stays exchanged */
}

Test(output_folder_attack, old_folder_that_is_exchanged_leads_nowhere_else)
{
    attack("it.old", SWAPPER_RETURNS);
}
