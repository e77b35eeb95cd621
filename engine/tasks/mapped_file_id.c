/*
 * From a mapping to its file and build id. The build-id thread runs it without the lock: a file on a dead server may
 * take any time.
 *
 * Source: proc(5) on PID/root and PID/map_files.
 */
#include "engine/tasks/mapped_file_id.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/regular_file.h"
#include "format/build_id.h"

#define PROC_ROOT "/proc"

/* ---- opening ---- */

static bool is_mapped_one(const struct weir_mapped_file *file, const struct stat *status)
{
    return status->st_ino == file->inode && major(status->st_dev) == file->major &&
           minor(status->st_dev) == file->minor;
}

static int open_mapped_one(const char *path, const struct weir_mapped_file *file)
{
    struct stat status;
    int fd = weir_regular_file_open(AT_FDCWD, path, &status);
    if (fd < 0 || is_mapped_one(file, &status))
        return fd;
    close(fd);
    return -ESTALE;
}

static int open_unchanged(const char *path, int64_t begin_s)
{
    struct stat status;
    int fd = weir_regular_file_open(AT_FDCWD, path, &status);
    if (fd < 0 || status.st_ctim.tv_sec < begin_s)
        return fd;
    close(fd);
    return -ESTALE;
}

int weir_mapped_file_open(const struct weir_mapped_file *file, const char *name,
                          const struct weir_mapped_file_roots *roots)
{
    const char *proc = roots->proc ? roots->proc : PROC_ROOT;
    char in_root[2 * PATH_MAX], mapping[PATH_MAX];
    if ((size_t)snprintf(in_root, sizeof(in_root), "%s/%d/root%s", proc, (int)file->pid, name) >= sizeof(in_root))
        return -ENAMETOOLONG;
    snprintf(mapping, sizeof(mapping), "%s/%d/map_files/%llx-%llx", proc, (int)file->pid,
             (unsigned long long)file->start, (unsigned long long)file->end);

    int fd = open_mapped_one(name, file);
    if (fd < 0)
        fd = open_mapped_one(in_root, file);
    if (fd < 0)
        fd = open_mapped_one(mapping, file);
    if (fd < 0)
        fd = open_unchanged(in_root, roots->begin_s);
    if (fd < 0)
        fd = open_unchanged(name, roots->begin_s);
    return fd;
}

/* ---- reading ---- */

/* The name of a module in sysfs, from "[name]" or ".../na-me.ko.xz". */
static bool module_name(const char *name, char *module, size_t bytes)
{
    const char *base = weir_path_name(name);
    base += base[0] == '[';
    size_t length = strcspn(base, ".]");
    if (length == 0 || length >= bytes)
        return false;
    for (size_t i = 0; i < length; i++)
        module[i] = base[i] == '-' ? '_' : base[i];
    module[length] = '\0';
    return true;
}

static int read_file_id(const struct weir_mapped_file *file, const char *name,
                        const struct weir_mapped_file_roots *roots, struct weir_build_id *id)
{
    int fd = weir_mapped_file_open(file, name, roots);
    if (fd < 0)
        return fd;
    int result = weir_build_id_of_file(fd, id);
    close(fd);
    return result;
}

int weir_mapped_file_read_id(const struct weir_mapped_file *file, const char *name,
                             const struct weir_mapped_file_roots *roots, struct weir_build_id *id)
{
    char module[NAME_MAX + 1];
    switch (file->kind) {
    case WEIR_MAPPED_KERNEL:
        return weir_build_id_of_kernel(roots->sys, id);
    case WEIR_MAPPED_MODULE:
        return module_name(name, module, sizeof(module)) ? weir_build_id_of_module(roots->sys, module, id) : -ENODATA;
    case WEIR_MAPPED_VDSO:
        return weir_build_id_of_vdso(id);
    case WEIR_MAPPED_FILE:
        return read_file_id(file, name, roots, id);
    default:
        return -ENODATA;
    }
}
