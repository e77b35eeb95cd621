/* The build-id cache: what is filed where, only under its own id, and never half. */
#include "engine/tasks/build_id_cache.h"

#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct rig {
    char folder[64], cache[128], program[PATH_MAX];
    struct weir_mapped_files files;
    struct weir_mapped_file_roots roots;
    struct weir_build_id id;
};

/* A table with this very program, whose file is opened by its name. */
/* The file, under the program's build id, is all that was mapped. */
static void map_one(struct rig *rig, char *path)
{
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    struct weir_side_record record = {
        .type = PERF_RECORD_MMAP2,
        .map = {.pid = -1,
                .bytes = 4096,
                .major = major(status.st_dev),
                .minor = minor(status.st_dev),
                .inode = status.st_ino,
                .cpumode = PERF_RECORD_MISC_USER,
                .filename = path},
    };
    weir_mapped_files_init(&rig->files);
    cr_assert_eq(weir_mapped_files_add(&rig->files, &record), 0);
    rig->files.all[0].build_id = rig->id;
}

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.folder = "/tmp/weir-cache-XXXXXX"};
    cr_assert_not_null(mkdtemp(rig->folder));
    snprintf(rig->cache, sizeof(rig->cache), "%s/cache", rig->folder);
    cr_assert_gt(readlink("/proc/self/exe", rig->program, sizeof(rig->program) - 1), 0);
    int fd = open(rig->program, O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_build_id_of_file(fd, &rig->id), 0);
    close(fd);

    map_one(rig, rig->program);
}

static void rig_fini(struct rig *rig)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", rig->folder);
    cr_assert_eq(system(command), 0);
    weir_mapped_files_fini(&rig->files);
}

/* The path of the link for an id. */
static void link_path(const struct rig *rig, char path[PATH_MAX])
{
    char text[41] = "";
    for (unsigned i = 0; i < rig->id.bytes; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", rig->id.data[i]);
    snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s", rig->cache, text, text + 2);
}

Test(build_id_cache, folder_that_cannot_be_made_is_an_error)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    rig_init(&rig);
    cr_assert_eq(weir_build_id_cache_fill("/proc/there/is/none", &rig.files, &rig.roots, &counts, &err), -ENOENT);
    cr_assert_str_eq(err.what, "cannot make the build-id cache /proc/there/is/none: No such file or directory");
    rig_fini(&rig);
}

/* The file was replaced: it has another id than the one under which it would be filed. */
Test(build_id_cache, file_with_another_id_is_left_out)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    char path[PATH_MAX];
    rig_init(&rig);
    rig.files.all[0].build_id.data[0] ^= 1;
    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_assert(counts.added == 0 && counts.present == 0 && counts.left_out == 1);
    link_path(&rig, path);
    cr_assert_eq(access(path, F_OK), -1);
    rig_fini(&rig);
}

Test(build_id_cache, copy_is_found_by_its_id_and_made_once)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    char path[PATH_MAX];
    rig_init(&rig);
    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_assert(counts.added == 1 && counts.present == 0 && counts.left_out == 0);
    link_path(&rig, path);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/elf");

    struct weir_build_id id = {0};
    struct stat copy, program;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(weir_build_id_of_file(fd, &id), 0);
    cr_assert_arr_eq(id.data, rig.id.data, 20);
    cr_assert(fstat(fd, &copy) == 0 && stat(rig.program, &program) == 0);
    cr_assert_eq(copy.st_size, program.st_size);
    close(fd);

    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_assert(counts.added == 0 && counts.present == 1 && counts.left_out == 0);
    rig_fini(&rig);
}

/* Whoever maps a file of few blocks and any size must not fill the disk of who records him. */
Test(build_id_cache, copy_has_the_holes_of_its_file)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    struct stat status;
    char path[PATH_MAX], sparse[128], command[2 * PATH_MAX];
    rig_init(&rig);
    snprintf(sparse, sizeof(sparse), "%s/sparse", rig.folder);
    snprintf(command, sizeof(command), "cp '%s' %s", rig.program, sparse);
    cr_assert(system(command) == 0 && truncate(sparse, 8 << 20) == 0 && truncate(sparse, 1ll << 40) == 0);
    cr_assert_eq(stat(sparse, &status), 0);
    weir_mapped_files_fini(&rig.files);
    map_one(&rig, sparse);
    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_expect_eq(counts.added, 1);
    link_path(&rig, path);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/elf");
    blkcnt_t blocks = status.st_blocks;
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_size, 1ll << 40);
    cr_expect_leq(status.st_blocks, blocks + 1024);
    snprintf(command, sizeof(command), "cmp -n 8388608 %s %s", sparse, path);
    cr_expect_eq(system(command), 0);
    rig_fini(&rig);
}

Test(build_id_cache, addresses_of_the_kernel_are_the_owners_alone)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    struct stat status;
    char path[PATH_MAX], proc[128];
    rig_init(&rig);
    snprintf(proc, sizeof(proc), "%s/proc", rig.folder);
    snprintf(path, sizeof(path), "%s/kallsyms", proc);
    cr_assert_eq(mkdir(proc, 0700), 0);
    FILE *kallsyms = fopen(path, "we");
    cr_assert(kallsyms && fputs("ffffffff81000000 T _text\n", kallsyms) >= 0 && fclose(kallsyms) == 0);
    const struct weir_side_record record = {
        .type = PERF_RECORD_MMAP,
        .map = {.pid = -1, .bytes = 4096, .cpumode = PERF_RECORD_MISC_KERNEL, .filename = "[kernel.kallsyms]_text"},
    };
    int64_t kernel = weir_mapped_files_add(&rig.files, &record);
    cr_assert_eq(kernel, 1);
    rig.id.data[0] ^= 1;
    rig.files.all[kernel].build_id = rig.id;
    rig.roots.proc = proc;
    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_expect_eq(counts.added, 2);
    link_path(&rig, path);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/kallsyms");
    cr_assert_eq(stat(path, &status), 0, "%s", path);
    cr_expect_eq(status.st_mode & 07777, 0600, "%o", (unsigned)status.st_mode);
    rig_fini(&rig);
}

static int fill(struct rig *rig, struct weir_error *err)
{
    struct weir_build_id_cache_counts counts;
    return weir_build_id_cache_fill(rig->cache, &rig->files, &rig->roots, &counts, err);
}

/* The files in a folder and below, which is to stay as it is. */
static unsigned count_files(const char *folder)
{
    char command[PATH_MAX];
    unsigned count = 99;
    snprintf(command, sizeof(command), "find %s -mindepth 1 | wc -l", folder);
    FILE *stream = popen(command, "re");
    cr_assert(stream && fscanf(stream, "%u", &count) == 1 && pclose(stream) == 0);
    return count;
}

/* Somebody else's home: the cache is a link, or a part of the way into it is. */
Test(build_id_cache, links_are_not_followed)
{
    struct rig rig;
    struct weir_error err;
    char elsewhere[128], path[PATH_MAX], first[NAME_MAX];
    rig_init(&rig);
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", rig.folder);
    cr_assert_eq(mkdir(elsewhere, 0755), 0);
    cr_assert_eq(symlink(elsewhere, rig.cache), 0);
    cr_expect_eq(fill(&rig, &err), -ELOOP);
    char what[256];
    snprintf(what, sizeof(what), "cannot use the build-id cache %s: it is a symbolic link", rig.cache);
    cr_expect_str_eq(err.what, what);
    cr_assert_eq(unlink(rig.cache), 0);

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(rig.program + 1, "/"), rig.program + 1);
    const char *const planted[] = {".build-id", first};
    for (size_t i = 0; i < 2; i++) {
        struct weir_build_id_cache_counts counts;
        cr_assert_eq(mkdir(rig.cache, 0755), 0);
        snprintf(path, sizeof(path), "%s/%s", rig.cache, planted[i]);
        cr_assert_eq(symlink(elsewhere, path), 0);
        cr_expect_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
        cr_expect_eq(counts.left_out, 1, "%s", planted[i]);
        char command[256];
        snprintf(command, sizeof(command), "rm -r %s", rig.cache);
        cr_assert_eq(system(command), 0);
    }
    cr_expect_eq(count_files(elsewhere), 0);
    rig_fini(&rig);
}

Test(build_id_cache, directory_of_another_user_is_refused)
{
    struct rig rig;
    struct weir_error err;
    if (geteuid() != 0)
        cr_skip("needs root, to give a directory away");
    rig_init(&rig);
    cr_assert_eq(mkdir(rig.cache, 0777), 0);
    cr_assert_eq(chown(rig.cache, 65534, 65534), 0);
    cr_expect_eq(fill(&rig, &err), -EPERM);
    cr_expect_not_null(strstr(err.what, ": it belongs to another user"), "%s", err.what);
    cr_expect_eq(count_files(rig.cache), 0);
    rig_fini(&rig);
}

Test(build_id_cache, path_without_a_last_name_is_a_cache_too)
{
    struct rig rig;
    struct weir_error err;
    char path[PATH_MAX];
    rig_init(&rig);
    snprintf(rig.cache, sizeof(rig.cache), "%s/cache///", rig.folder);
    cr_expect_eq(fill(&rig, &err), 0, "%s", err.what);
    cr_assert_eq(chdir(rig.cache), 0);
    snprintf(rig.cache, sizeof(rig.cache), ".");
    link_path(&rig, path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(symlink("../../gone", path), 0, "a link that leads nowhere is replaced");
    cr_expect_eq(fill(&rig, &err), 0, "%s", err.what);
    cr_expect_eq(access(path, F_OK), 0);
    cr_assert_eq(chdir("/"), 0);
    rig_fini(&rig);
}

Test(build_id_cache, vdso_is_copied_from_memory)
{
    struct rig rig;
    struct weir_build_id_cache_counts counts;
    struct weir_error err;
    struct weir_build_id id;
    char path[PATH_MAX];
    rig_init(&rig);
    if (weir_build_id_of_vdso(&rig.id) < 0)
        cr_skip("needs a vDSO with a build id");
    const struct weir_side_record record = {
        .type = PERF_RECORD_MMAP2,
        .map = {.pid = 1, .bytes = 4096, .cpumode = PERF_RECORD_MISC_USER, .filename = "[vdso]"},
    };
    int64_t vdso = weir_mapped_files_add(&rig.files, &record);
    cr_assert_eq(vdso, 1);
    rig.files.all[vdso].build_id = rig.id;
    cr_assert_eq(weir_build_id_cache_fill(rig.cache, &rig.files, &rig.roots, &counts, &err), 0);
    cr_expect_eq(counts.added, 2);
    link_path(&rig, path);
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/vdso");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", path);
    cr_expect_eq(weir_build_id_of_file(fd, &id), 0);
    cr_expect_arr_eq(id.data, rig.id.data, rig.id.bytes);
    close(fd);
    rig_fini(&rig);
}

Test(build_id_cache, default_is_below_home)
{
    char dir[64];
    setenv("HOME", "/home/me", 1);
    cr_assert(weir_build_id_cache_default(dir, sizeof(dir)));
    cr_assert_str_eq(dir, "/home/me/.debug");
    cr_assert_not(weir_build_id_cache_default(dir, 8));
    unsetenv("HOME");
    cr_assert_not(weir_build_id_cache_default(dir, sizeof(dir)));
}
