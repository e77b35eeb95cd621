/* Outputs that begin with bytes of a file and take its place. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "io/output.h"
#include "tests/format/temp_tree.h"

#define OLD_BYTES  (3u << 20)
#define OLD_OFFSET 1000u
#define HEAD_BYTES 4096u

static struct temp_tree tree;
static char path[PATH_MAX];
static uint8_t *old;
static struct weir_output_identity was;
static int old_fd;

static void note_identity(void)
{
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    weir_output_file_identify(&was, &st);
}

static void make_file(void)
{
    temp_tree_init(&tree);
    old = malloc(OLD_BYTES);
    cr_assert(old);
    for (size_t i = 0; i < OLD_BYTES; i++)
        old[i] = (uint8_t)(i * 13 + i / 255);
    temp_tree_write(&tree, "it", old, OLD_BYTES);
    temp_tree_path(&tree, "it", path);
    note_identity();
    old_fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(old_fd, 0);
}

static void remove_file(void)
{
    close(old_fd);
    free(old);
    temp_tree_fini(&tree);
}

TestSuite(output_replace, .init = make_file, .fini = remove_file);

static struct weir_output *open_output(void)
{
    struct weir_error err = {0};
    struct weir_output *output = NULL;
    const struct weir_output_options options = {.engine = WEIR_OUTPUT_WRITEV};
    cr_assert_eq(weir_output_open(&output, path, &options, &err), 0, "%s", err.what);
    static const uint8_t head[HEAD_BYTES];
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    return output;
}

static void expect_old_file(void)
{
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq((uint64_t)st.st_ino, was.inode);
    cr_assert_eq((size_t)st.st_size, OLD_BYTES);
}

Test(output_replace, source_that_ends_before_is_an_error)
{
    struct weir_output *output = open_output();
    cr_assert_eq(weir_output_copy_in(output, old_fd, OLD_OFFSET, OLD_BYTES), -ENODATA);
    weir_output_close(output);
    expect_old_file();
}

Test(output_replace, file_that_was_changed_meanwhile_is_left_alone)
{
    struct weir_output *output = open_output();
    struct weir_error err = {0};
    was.bytes++;
    cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), -ESTALE);
    was.bytes--;
    weir_output_close(output);
    expect_old_file();
}

/* Appends the file's bytes to head, as a recording that continues it; nothing is at its name any more. */
static struct weir_output *continue_taken_file(void)
{
    struct weir_output *output = open_output();
    struct weir_error err = {0};
    cr_assert_eq(weir_output_copy_in(output, old_fd, 0, OLD_BYTES), 0);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), -ENOENT);
    return output;
}

static void expect_kept(void)
{
    char kept[PATH_MAX];
    struct stat st;
    temp_tree_path(&tree, "it.appending", kept);
    cr_assert_eq(stat(kept, &st), 0);
    cr_assert_eq((size_t)st.st_size, HEAD_BYTES + OLD_BYTES);
    cr_assert_neq(stat(path, &st), 0);
}

Test(output_replace, output_whose_file_was_taken_can_be_kept_beside_its_place)
{
    struct weir_error err = {0};
    struct weir_output *output = continue_taken_file();
    cr_assert_eq(weir_output_file_keep_beside(weir_output_file_of(output), ".appending", &err), 0, "%s", err.what);
    weir_output_close(output);
    expect_kept();
}

Test(output_replace, output_that_stands_beside_its_place_is_kept_there)
{
    struct weir_error err = {0};
    struct weir_output *output = open_output();
    cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".appending", &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_copy_in(output, old_fd, 0, OLD_BYTES), 0);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), -ENOENT);
    cr_assert_eq(weir_output_file_keep_beside(weir_output_file_of(output), ".appending", &err), 0, "%s", err.what);
    weir_output_close(output);
    expect_kept();
}

Test(output_replace, output_is_not_kept_in_the_place_of_another_file)
{
    struct weir_error err = {0};
    struct weir_output *output = continue_taken_file();
    temp_tree_write(&tree, "it.appending", "other", 5);
    cr_assert_eq(weir_output_file_keep_beside(weir_output_file_of(output), ".appending", &err), -EEXIST);
    weir_output_close(output);
    char other[PATH_MAX];
    struct stat st;
    temp_tree_path(&tree, "it.appending", other);
    cr_assert_eq(stat(other, &st), 0);
    cr_assert_eq(st.st_size, 5);
}

Test(output_replace, output_that_does_not_replace_it_leaves_nothing)
{
    struct weir_output *output = open_output();
    cr_assert_eq(weir_output_copy_in(output, old_fd, 0, OLD_BYTES), 0);
    weir_output_close(output);
    expect_old_file();
}

static int names_in_folder(void)
{
    int count = 0;
    DIR *folder = opendir(tree.root);
    cr_assert(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* "." and ".." */
}

Test(output_replace, name_beside_that_is_taken_is_left_alone)
{
    temp_tree_write(&tree, "it.beside", "x", 1);
    struct weir_output *output = open_output();
    struct weir_error err = {0};
    cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".beside", &err), -EEXIST);
    weir_output_close(output);
    expect_old_file();
    cr_assert_eq(names_in_folder(), 2);
}

Test(output_replace, name_beside_goes_with_the_output_that_does_not_replace)
{
    struct weir_output *output = open_output();
    cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".beside", NULL), 0);
    cr_assert_eq(names_in_folder(), 2);
    weir_output_close(output);
    expect_old_file();
    cr_assert_eq(names_in_folder(), 1);

    /* Unless somebody else has it by now. */
    output = open_output();
    char beside[PATH_MAX];
    temp_tree_path(&tree, "it.beside", beside);
    cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".beside", NULL), 0);
    cr_assert_eq(unlink(beside), 0);
    temp_tree_write(&tree, "it.beside", "x", 1);
    weir_output_close(output);
    cr_assert_eq(names_in_folder(), 2);
}

/* What stands there then is not what was recorded. */
Test(output_replace, name_beside_that_is_gone_or_another_files_replaces_nothing)
{
    char beside[PATH_MAX], what[PATH_MAX + 128];
    temp_tree_path(&tree, "it.beside", beside);
    snprintf(what, sizeof(what), "'it.beside' was removed while recording, before it took the place of '%s'", path);
    for (int another = 0; another < 2; another++) {
        struct weir_output *output = open_output();
        struct weir_error err = {0};
        cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".beside", NULL), 0);
        cr_assert_eq(unlink(beside), 0);
        if (another)
            temp_tree_write(&tree, "it.beside", "x", 1);
        cr_assert_eq(weir_output_look(output), -ENOENT); /* though it is the first look */
        cr_assert_eq(weir_output_look(output), 0);
        cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
        cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), -ENOENT);
        cr_assert_str_eq(err.what, what);
        weir_output_close(output);
        expect_old_file();
        cr_assert_eq(names_in_folder(), 1 + another);
    }
}

Test(output_replace, name_beside_becomes_the_name)
{
    struct weir_output *output = open_output();
    struct weir_error err = {0};
    cr_assert_eq(weir_output_copy_in(output, old_fd, 0, OLD_BYTES), 0);
    cr_assert_eq(weir_output_file_name_beside(weir_output_file_of(output), ".beside", &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
    cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), 0, "%s", err.what);
    weir_output_close(output);
    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_eq(st.st_size, HEAD_BYTES + OLD_BYTES);
    cr_assert_eq(names_in_folder(), 1);
}

Test(output_replace, bytes_of_before_stand_first_and_the_name_is_taken)
{
    cr_assert_eq(chmod(path, 0640), 0);
    if (geteuid() == 0) /* who continues the recording of another user leaves it his */
        cr_assert_eq(chown(path, 54321, 54322), 0);
    note_identity();
    struct weir_output *output = open_output();
    weir_output_file_give_owner(weir_output_file_of(output), &was);
    cr_assert_eq(weir_output_copy_in(output, old_fd, OLD_OFFSET, OLD_BYTES - OLD_OFFSET), 0);
    cr_assert_eq(weir_output_stable_bytes(output), OLD_BYTES - OLD_OFFSET);
    static const uint8_t span[64] = {1, 2, 3};
    struct weir_output_done done;
    weir_output_append(output, span, sizeof(span), -1, false, NULL);
    weir_output_push_tail(output);
    while (weir_output_reap(output, &done, 1, 10) == 0)
        ;
    cr_assert_eq(done.result, 0);
    cr_assert_eq(weir_output_finish(output, "tail", 4), 0);
    struct weir_error err = {0};
    cr_assert_eq(weir_output_file_replace(weir_output_file_of(output), &was, &err), 0, "%s", err.what);
    weir_output_close(output);

    struct stat st;
    cr_assert_eq(stat(path, &st), 0);
    cr_assert_neq((uint64_t)st.st_ino, was.inode);
    cr_assert_eq(st.st_mode & 0777, 0640);
    cr_assert_eq(st.st_uid, was.uid);
    cr_assert_eq(st.st_gid, was.gid);
    size_t bytes = HEAD_BYTES + OLD_BYTES - OLD_OFFSET + sizeof(span) + 4;
    cr_assert_eq((size_t)st.st_size, bytes);
    uint8_t *now = malloc(bytes);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(read(fd, now, bytes), (ssize_t)bytes);
    cr_assert_eq(memcmp(now + HEAD_BYTES, old + OLD_OFFSET, OLD_BYTES - OLD_OFFSET), 0);
    cr_assert_eq(memcmp(now + HEAD_BYTES + OLD_BYTES - OLD_OFFSET, span, sizeof(span)), 0);
    cr_assert_eq(memcmp(now + bytes - 4, "tail", 4), 0);
    close(fd);
    free(now);
}

/* ---- small files ---- */

static void expect_small(const char *name, const char *text)
{
    char place[PATH_MAX];
    struct weir_buf file = WEIR_BUF_INIT;
    temp_tree_path(&tree, name, place);
    cr_assert_eq(weir_buf_append_file(&file, place), 0, "%s", name);
    cr_expect_str_eq(weir_buf_str(&file), text);
    weir_buf_fini(&file);
}

static unsigned entries(void)
{
    char folder[PATH_MAX];
    temp_tree_path(&tree, ".", folder);
    DIR *dir = opendir(folder);
    unsigned count = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.' || strncmp(entry->d_name, ".weir", 5) == 0;
    closedir(dir);
    return count;
}

Test(output_replace, small_file_is_written_into_no_link_and_no_fifo)
{
    struct weir_error err = {0};
    char link_path[PATH_MAX], fifo_path[PATH_MAX], folder_path[PATH_MAX];
    temp_tree_path(&tree, "link", link_path);
    temp_tree_path(&tree, "fifo", fifo_path);
    temp_tree_path(&tree, "none/small", folder_path);
    cr_assert_eq(symlink(path, link_path), 0);
    cr_assert_eq(mkfifo(fifo_path, 0600), 0);
    cr_expect_eq(weir_output_file_write_whole(link_path, "new", 3, &err), -ELOOP);
    cr_expect_eq(weir_output_file_write_whole(fifo_path, "new", 3, &err), -EINVAL);
    cr_expect_eq(weir_output_file_write_whole(folder_path, "new", 3, &err), -ENOENT);
    cr_expect_eq(weir_output_file_write_whole("/dev/null", "new", 3, &err), 0);
    expect_old_file();
    cr_expect_eq(entries(), 3);
}

Test(output_replace, small_file_takes_the_place_of_the_old_one_with_its_mode)
{
    struct weir_error err = {0};
    char place[PATH_MAX];
    struct stat st;
    temp_tree_path(&tree, "small", place);
    cr_assert_eq(weir_output_file_write_whole(place, "first", 5, &err), 0, "%s", err.what);
    expect_small("small", "first");
    cr_assert_eq(stat(place, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0600);
    cr_assert_eq(chmod(place, 0644), 0);
    int reader = open(place, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_output_file_write_whole(place, "2nd", 3, &err), 0, "%s", err.what);
    expect_small("small", "2nd");
    char before[8] = "";
    cr_expect_eq(read(reader, before, sizeof(before)), 5, "a reader keeps the old bytes");
    close(reader);
    cr_assert_eq(stat(place, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0644);
    cr_expect_eq(entries(), 2);
}
