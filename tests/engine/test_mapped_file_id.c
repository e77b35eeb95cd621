/* From a mapping to its file: only the file that was mapped, wherever its name leads meanwhile. */
#include "engine/tasks/mapped_file_id.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct place {
    char folder[64], path[128];
    struct weir_mapped_file file; /* as a mapping of path would tell it */
    struct weir_mapped_file_roots roots;
};

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void place_init(struct place *place)
{
    struct stat status;
    *place = (struct place){.folder = "/tmp/weir-mapped-XXXXXX"};
    cr_assert_not_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof(place->path), "%s/file", place->folder);
    write_file(place->path, "mapped");
    cr_assert_eq(stat(place->path, &status), 0);
    place->file = (struct weir_mapped_file){
        .major = major(status.st_dev),
        .minor = minor(status.st_dev),
        .inode = status.st_ino,
        .kind = WEIR_MAPPED_FILE,
        .pid = getpid(),
    };
}

static void place_fini(struct place *place)
{
    unlink(place->path);
    rmdir(place->folder);
}

static void expect_text(int fd, const char *expected)
{
    char text[16] = "";
    cr_assert_geq(fd, 0, "%s", strerror(-fd));
    cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
    cr_assert_str_eq(text, expected);
    close(fd);
}

Test(mapped_file_id, file_that_took_the_name_later_is_not_it)
{
    struct place place;
    char other[160];
    place_init(&place);
    snprintf(other, sizeof(other), "%s.new", place.path);
    write_file(other, "other");
    cr_assert_eq(rename(other, place.path), 0);
    cr_assert_eq(weir_mapped_file_open(&place.file, place.path, &place.roots), -ESTALE);
    place_fini(&place);
}

Test(mapped_file_id, fifo_is_no_file_and_is_not_waited_for)
{
    struct place place;
    place_init(&place);
    unlink(place.path);
    cr_assert_eq(mkfifo(place.path, 0600), 0);
    cr_assert_eq(weir_mapped_file_open(&place.file, place.path, &place.roots), -ENODATA);
    place_fini(&place);
}

Test(mapped_file_id, task_that_is_gone_and_name_that_is_gone)
{
    struct place place;
    place_init(&place);
    unlink(place.path);
    place.file.pid = -1;
    cr_assert_eq(weir_mapped_file_open(&place.file, place.path, &place.roots), -ENOENT);
    place_fini(&place);
}

Test(mapped_file_id, mapped_file_is_opened_by_its_name)
{
    struct place place;
    place_init(&place);
    place.file.pid = -1;
    expect_text(weir_mapped_file_open(&place.file, place.path, &place.roots), "mapped");
    place_fini(&place);
}

/* As a container sees it: the name leads there only below the root of the task. */
Test(mapped_file_id, name_is_looked_up_in_the_root_of_the_task)
{
    struct place place;
    char proc[128], task[192], root[256];
    place_init(&place);
    snprintf(proc, sizeof(proc), "%s/proc", place.folder);
    snprintf(task, sizeof(task), "%s/7", proc);
    snprintf(root, sizeof(root), "%s/root", task);
    cr_assert(mkdir(proc, 0700) == 0 && mkdir(task, 0700) == 0);
    cr_assert_eq(symlink(place.folder, root), 0);
    place.roots.proc = proc;
    place.file.pid = 7;
    expect_text(weir_mapped_file_open(&place.file, "/file", &place.roots), "mapped");
    unlink(root);
    rmdir(task);
    rmdir(proc);
    place_fini(&place);
}

Test(mapped_file_id, deleted_file_is_opened_by_its_mapping)
{
    struct place place;
    place_init(&place);
    int fd = open(place.path, O_RDONLY | O_CLOEXEC);
    void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    cr_assert_neq(at, MAP_FAILED);
    close(fd);
    unlink(place.path);
    place.file.start = (uintptr_t)at;
    place.file.end = place.file.start + 4096;
    fd = weir_mapped_file_open(&place.file, place.path, &place.roots);
    if (fd < 0)
        cr_skip("needs CAP_CHECKPOINT_RESTORE to open /proc/PID/map_files");
    expect_text(fd, "mapped");
    place_fini(&place);
}

/* Overlay and btrfs number files differently in maps and in stat(2). */
Test(mapped_file_id, other_number_is_taken_when_the_file_is_older_than_the_recording)
{
    struct place place;
    place_init(&place);
    place.file.inode++;
    cr_assert_eq(weir_mapped_file_open(&place.file, place.path, &place.roots), -ESTALE);
    place.roots.begin_s = INT64_MAX;
    expect_text(weir_mapped_file_open(&place.file, place.path, &place.roots), "mapped");
    place_fini(&place);
}

Test(mapped_file_id, module_is_found_by_the_name_that_sysfs_has)
{
    static const char *const names[] = {"[na_me]", "/lib/modules/6.1/kernel/na-me.ko", "/x/na_me.ko.xz"};
    /* header, "GNU", 4 bytes of id */
    static const uint8_t note[] = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 9, 8, 7, 6};
    char folder[] = "/tmp/weir-module-XXXXXX", path[128], note_path[192];
    cr_assert_not_null(mkdtemp(folder));
    static const char *const below[] = {"/module", "/module/na_me", "/module/na_me/notes"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s%s", folder, below[i]);
        cr_assert_eq(mkdir(path, 0700), 0);
    }
    snprintf(note_path, sizeof(note_path), "%s/.note.gnu.build-id", path);
    int fd = open(note_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(write(fd, note, sizeof(note)), (ssize_t)sizeof(note));
    close(fd);

    struct weir_mapped_file module = {.kind = WEIR_MAPPED_MODULE};
    struct weir_mapped_file_roots roots = {.sys = folder};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct weir_build_id id = {0};
        cr_expect_eq(weir_mapped_file_read_id(&module, names[i], &roots, &id), 0, "%s", names[i]);
        cr_expect(id.bytes == 4 && id.data[0] == 9);
    }
    struct weir_build_id id = {0};
    cr_assert_eq(weir_mapped_file_read_id(&module, "[]", &roots, &id), -ENODATA);
    cr_assert_eq(weir_mapped_file_read_id(&module, "[other]", &roots, &id), -ENOENT);
    unlink(note_path);
    for (size_t i = 3; i-- > 0;) {
        snprintf(path, sizeof(path), "%s%s", folder, below[i]);
        rmdir(path);
    }
    rmdir(folder);
}
