/*
 * Fills the build-id cache. A copy gets its name when it is whole (base/new_file.h), and then a link: behind a link
 * there is always a whole copy. Before the copy the build id of the file is checked: its name may lead to another file
 * by now. Each directory is opened by its parent's descriptor and has to be this user's or root's. So the owner of the
 * home in which root records can lead no copy elsewhere.
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
#include "base/directory.h"
#include "base/new_file.h"
#include "base/regular_file.h"
#include "format/elf_symbols.h"

#define ID_TEXT_BYTES (2 * WEIR_BUILD_ID_MAX_BYTES + 1)
#define COPY_BYTES    (1u << 30) /* in one call */
#define DIR_MODE      0755
#define FILE_MODE     0755 /* as in perf, also of libraries */
#define KERNEL_MODE   0600 /* addresses that the kernel may hide from others */

struct addition {
    int cache_fd;
    const struct weir_mapped_file *file;
    const char *name;
    const struct weir_mapped_file_roots *roots;
    struct weir_build_id id;
    char text[ID_TEXT_BYTES];           /* of the id */
    char links[sizeof(".build-id/xx")]; /* where the link is, below the cache; its name is text + 2 */
    char folder[2 * PATH_MAX];          /* PATH/ID, below the cache */
};

static void describe(struct addition *addition)
{
    for (unsigned i = 0; i < addition->id.bytes; i++)
        snprintf(addition->text + (size_t)2 * i, 3, "%02x", addition->id.data[i]);
    snprintf(addition->links, sizeof(addition->links), ".build-id/%.2s", addition->text);
    const char *name = addition->name + strspn(addition->name, "/");
    snprintf(addition->folder, sizeof(addition->folder), "%s/%s", name, addition->text);
}

/* ---- directories ---- */

/* Opens a directory of this user or of root, or makes it. A descriptor, which the caller owns, or -errno. */
static int enter(int parent_fd, const char *name)
{
    int fd = weir_directory_open_at(parent_fd, name);
    if (fd != -ENOENT)
        return fd;
    fd = weir_directory_make_at(parent_fd, name, DIR_MODE);
    return fd == -EEXIST ? weir_directory_open_at(parent_fd, name) : fd; /* another recorder was faster */
}

/* Opens a path below the cache, step by step: no link is followed. A descriptor, which the caller owns, or -errno. */
static int enter_path(int cache_fd, const char *path)
{
    char name[NAME_MAX + 1];
    int fd = fcntl(cache_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    while (fd >= 0 && *path) {
        size_t length = strcspn(path, "/");
        int parent_fd = fd;
        snprintf(name, sizeof(name), "%.*s", (int)weir_min_u64(length, NAME_MAX), path);
        fd = length > NAME_MAX ? -ENAMETOOLONG : strcmp(name, "..") == 0 ? -EINVAL : enter(parent_fd, name);
        close(parent_fd);
        path += length + strspn(path + length, "/");
    }
    return fd;
}

static int refuse_cache(const char *dir, int code, struct weir_error *err)
{
    if (code == -ELOOP || code == -EPERM) {
        weir_error_set(err, code, "cannot use the build-id cache %s: it %s", dir,
                       code == -ELOOP ? "is a symbolic link" : "belongs to another user");
        weir_error_hint(err, "name a directory of your own with --buildid-dir");
        return code;
    }
    return weir_error_set_errno(err, code, "cannot make the build-id cache %s", dir);
}

/* Links on the way to the cache are the user's, the cache itself is no link. */
static int open_cache(const char *dir, struct weir_error *err)
{
    char path[PATH_MAX];
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    if (length >= sizeof(path))
        return refuse_cache(dir, -ENAMETOOLONG, err);
    snprintf(path, sizeof(path), "%.*s", (int)length, dir);
    const char *name;
    int parent_fd = weir_directory_open_parent(path, &name);
    int fd = parent_fd == -EINVAL ? weir_directory_open_at(AT_FDCWD, path) /* such as "." */
             : parent_fd < 0      ? parent_fd
                                  : enter(parent_fd, name);
    if (parent_fd >= 0)
        close(parent_fd);
    if (fd < 0)
        return refuse_cache(dir, fd, err);
    if (faccessat(fd, ".", W_OK, AT_EACCESS) == 0)
        return fd;
    int code = -errno;
    close(fd);
    return weir_error_set_errno(err, code, "cannot write to the build-id cache %s", dir);
}

/* ---- copies ---- */

static const char *copy_name(enum weir_mapped_kind kind)
{
    return kind == WEIR_MAPPED_KERNEL ? "kallsyms" : kind == WEIR_MAPPED_VDSO ? "vdso" : "elf";
}

static int open_kallsyms(const struct addition *addition)
{
    const char *proc = addition->roots->proc ? addition->roots->proc : "/proc";
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/kallsyms", proc);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_elf(const struct addition *addition)
{
    struct stat status;
    if (addition->file->kind == WEIR_MAPPED_VDSO)
        return weir_vdso_open(); /* one of 32 bits has another build id */
    if (addition->name[0] != '/')
        return -ENODATA;
    return addition->file->kind == WEIR_MAPPED_FILE
               ? weir_mapped_file_open(addition->file, addition->name, addition->roots)
               : weir_regular_file_open(AT_FDCWD, addition->name, &status);
}

/* Opens the file to copy, and checks that it has the build id. A descriptor or -errno. */
static int open_source(const struct addition *addition)
{
    if (addition->file->kind == WEIR_MAPPED_KERNEL)
        return open_kallsyms(addition);
    int fd = open_elf(addition);
    if (fd < 0)
        return fd;
    struct weir_build_id id;
    if (weir_build_id_of_file(fd, &id) == 0 && weir_build_id_is_same(&id, &addition->id))
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

/* Copies the file up to its present size, with its holes. A file of a few blocks may have a size of TiB, and a file may
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

/* Makes the copy in its folder. 0 or -errno. */
static int make_copy(const struct addition *addition, int folder_fd, int from)
{
    const char *name = copy_name(addition->file->kind);
    bool is_kernel = addition->file->kind == WEIR_MAPPED_KERNEL;
    char hidden[WEIR_HIDDEN_NAME_BYTES];
    int to = weir_new_file_open(folder_fd, is_kernel ? KERNEL_MODE : FILE_MODE, hidden);
    if (to < 0)
        return to;
    int result = is_kernel ? copy_text(from, to) : copy_file(from, to);
    int ended = weir_new_file_end(folder_fd, to, hidden, result < 0 ? NULL : name);
    return result < 0 ? result : ended;
}

static int add_copy(const struct addition *addition)
{
    int from = open_source(addition);
    if (from < 0)
        return from;
    int folder_fd = enter_path(addition->cache_fd, addition->folder);
    int result = folder_fd < 0 ? folder_fd : make_copy(addition, folder_fd, from);
    if (folder_fd >= 0)
        close(folder_fd);
    close(from);
    return result;
}

static int add_link(const struct addition *addition, int links_fd)
{
    char target[3 * PATH_MAX];
    snprintf(target, sizeof(target), "../../%s", addition->folder);
    unlinkat(links_fd, addition->text + 2, 0); /* it leads nowhere: the copy was removed */
    return symlinkat(target, links_fd, addition->text + 2) < 0 && errno != EEXIST ? -errno : 0;
}

/* 1: added; 0: it is there; -errno. */
static int add(const struct addition *addition)
{
    struct stat status;
    int links_fd = enter_path(addition->cache_fd, addition->links);
    if (links_fd < 0)
        return links_fd;
    int result = 0;
    if (fstatat(links_fd, addition->text + 2, &status, 0) < 0) {
        result = add_copy(addition);
        if (result == 0)
            result = add_link(addition, links_fd);
        result = result < 0 ? result : 1;
    }
    close(links_fd);
    return result;
}

/* ---- all objects ---- */

int weir_build_id_cache_fill(const char *dir, const struct weir_mapped_files *files,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id_cache_counts *counts,
                             struct weir_error *err)
{
    *counts = (struct weir_build_id_cache_counts){0};
    int cache_fd = open_cache(dir, err);
    if (cache_fd < 0)
        return cache_fd;
    for (uint32_t i = 0; i < files->count; i++) {
        struct addition addition = {
            .cache_fd = cache_fd,
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
    close(cache_fd);
    return 0;
}

bool weir_build_id_cache_default(char *dir, size_t bytes)
{
    const char *home = getenv("HOME");
    return home && home[0] && (size_t)snprintf(dir, bytes, "%s/.debug", home) < bytes;
}
