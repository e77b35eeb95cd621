/*
 * Fills the build-id cache. A copy is written under another name, renamed, and then linked: behind a link there is
 * always a whole copy. Before the copy the build id of the file is checked: its name may lead to another file by now.
 *
 * Source of the layout: build_id_cache__add() in tools/perf/util/build-id.c of Linux 6.12.
 */
#include "engine/tasks/build_id_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/regular_file.h"

#define ID_TEXT_BYTES (2 * WEIR_BUILD_ID_MAX_BYTES + 1)
#define COPY_BYTES    (1u << 30) /* in one call */
#define DIR_MODE      0755
#define FILE_MODE     0644
#define KERNEL_MODE   0600 /* addresses that the kernel may hide from others */

struct addition {
    int dir_fd; /* of the cache */
    const struct weir_mapped_file *file;
    const char *name;
    const struct weir_mapped_file_roots *roots;
    struct weir_build_id id;
    char text[ID_TEXT_BYTES]; /* of the id */
    char link[ID_TEXT_BYTES + 16];
    char folder[2 * PATH_MAX]; /* PATH/ID, below the cache */
};

static void describe(struct addition *addition)
{
    for (unsigned i = 0; i < addition->id.bytes; i++)
        snprintf(addition->text + (size_t)2 * i, 3, "%02x", addition->id.data[i]);
    snprintf(addition->link, sizeof(addition->link), ".build-id/%.2s/%s", addition->text, addition->text + 2);
    const char *name = addition->name + strspn(addition->name, "/");
    snprintf(addition->folder, sizeof(addition->folder), "%s/%s", name, addition->text);
}

/* Makes the folders of path, without its last part. */
static int make_folders(int dir_fd, const char *path)
{
    char part[2 * PATH_MAX];
    for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
        if (mkdirat(dir_fd, part, DIR_MODE) < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static const char *copy_name(enum weir_mapped_kind kind)
{
    return kind == WEIR_MAPPED_KERNEL ? "kallsyms" : "elf";
}

/* Opens the file to copy, and checks that it has the build id. A descriptor or -errno. */
static int open_source(const struct addition *addition)
{
    if (addition->file->kind == WEIR_MAPPED_KERNEL) {
        const char *proc = addition->roots->proc ? addition->roots->proc : "/proc";
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/kallsyms", proc);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    if (addition->name[0] != '/' || strstr(addition->name, "/../"))
        return -ENODATA;
    struct stat status;
    int fd = addition->file->kind == WEIR_MAPPED_FILE
                 ? weir_mapped_file_open(addition->file, addition->name, addition->roots)
                 : weir_regular_file_open(AT_FDCWD, addition->name, &status);
    if (fd < 0)
        return fd;
    struct weir_build_id id;
    if (weir_build_id_of_file(fd, &id) == 0 && id.bytes == addition->id.bytes &&
        memcmp(id.data, addition->id.data, id.bytes) == 0)
        return fd;
    close(fd);
    return -ESTALE;
}

/* Copies by read(2) and write(2): files of /proc have no size, and sendfile(2) does not take them. */
static int copy_text(int from, int to)
{
    char text[16384];
    ssize_t got;
    while ((got = read(from, text, sizeof(text))) > 0) {
        if (write(to, text, (size_t)got) != got)
            return -EIO;
    }
    return got < 0 ? -errno : 0;
}

/* Copies [at, end) to the same offset. */
static int copy_stretch(int from, int to, off_t at, off_t end)
{
    if (lseek(to, at, SEEK_SET) < 0)
        return -errno;
    while (at < end) {
        ssize_t got = sendfile(to, from, &at, weir_min_u64(COPY_BYTES, (uint64_t)(end - at)));
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA; /* it has shrunk */
    }
    return 0;
}

/* Copies the file up to its present size, with its holes: a file of a few blocks may have a size of TiB, and a file may
 * grow for ever. */
static int copy_file(int from, int to)
{
    struct stat status;
    if (fstat(from, &status) < 0 || ftruncate(to, status.st_size) < 0)
        return -errno;
    int result = 0;
    for (off_t at = 0, end; result == 0 && at < status.st_size; at = end) {
        at = lseek(from, at, SEEK_DATA);
        end = at < 0 ? at : lseek(from, at, SEEK_HOLE);
        if (end < 0)
            return errno == ENXIO ? 0 : -errno; /* nothing but a hole up to the end */
        result = copy_stretch(from, to, at, end < status.st_size ? end : status.st_size);
    }
    return result;
}

static int copy_source(const struct addition *addition, int from)
{
    char path[3 * PATH_MAX], partial[3 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", addition->folder, copy_name(addition->file->kind));
    snprintf(partial, sizeof(partial), "%s/.partial.%d", addition->folder, (int)getpid());
    int result = make_folders(addition->dir_fd, path);
    if (result < 0)
        return result;
    bool is_kernel = addition->file->kind == WEIR_MAPPED_KERNEL;
    int to = openat(addition->dir_fd, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    is_kernel ? KERNEL_MODE : FILE_MODE);
    if (to < 0)
        return -errno;
    result = is_kernel ? copy_text(from, to) : copy_file(from, to);
    if (close(to) < 0 && result == 0)
        result = -errno;
    if (result == 0 && renameat(addition->dir_fd, partial, addition->dir_fd, path) < 0)
        result = -errno;
    if (result < 0)
        unlinkat(addition->dir_fd, partial, 0);
    return result;
}

static int add_link(const struct addition *addition)
{
    char target[3 * PATH_MAX];
    snprintf(target, sizeof(target), "../../%s", addition->folder);
    int result = make_folders(addition->dir_fd, addition->link);
    if (result == 0 && symlinkat(target, addition->dir_fd, addition->link) < 0 && errno != EEXIST)
        result = -errno;
    return result;
}

/* 1: added; 0: it is there; -errno. */
static int add(const struct addition *addition)
{
    struct stat status;
    if (fstatat(addition->dir_fd, addition->link, &status, 0) == 0)
        return 0;
    int from = open_source(addition);
    if (from < 0)
        return from;
    int result = copy_source(addition, from);
    close(from);
    if (result == 0)
        result = add_link(addition);
    return result < 0 ? result : 1;
}

static int open_cache(const char *dir, struct weir_error *err)
{
    if (mkdir(dir, DIR_MODE) < 0 && errno != EEXIST)
        return weir_error_set_errno(err, -errno, "cannot make the build-id cache %s", dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return weir_error_set_errno(err, -errno, "cannot open the build-id cache %s", dir);
    if (faccessat(fd, ".", W_OK, AT_EACCESS) == 0)
        return fd;
    int code = -errno;
    close(fd);
    return weir_error_set_errno(err, code, "cannot write to the build-id cache %s", dir);
}

int weir_build_id_cache_fill(const char *dir, const struct weir_mapped_files *files,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id_cache_counts *counts,
                             struct weir_error *err)
{
    *counts = (struct weir_build_id_cache_counts){0};
    int dir_fd = open_cache(dir, err);
    if (dir_fd < 0)
        return dir_fd;
    for (uint32_t i = 0; i < files->count; i++) {
        struct addition addition = {
            .dir_fd = dir_fd,
            .file = &files->all[i],
            .name = weir_mapped_files_name(files, i),
            .roots = roots,
            .id = weir_mapped_files_build_id(files, i),
        };
        if (addition.id.bytes < 2)
            continue;
        describe(&addition);
        int result = add(&addition);
        counts->added += result > 0;
        counts->present += result == 0;
        counts->left_out += result < 0;
    }
    close(dir_fd);
    return 0;
}

bool weir_build_id_cache_default(char *dir, size_t bytes)
{
    const char *home = getenv("HOME");
    return home && home[0] && (size_t)snprintf(dir, bytes, "%s/.debug", home) < bytes;
}
