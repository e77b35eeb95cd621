/* Carries out the plan of a recovery: copies or changes files. Main thread. */
#include "engine/upkeep/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/upkeep/recovery_child.h"
#include "io/output.h"
#include "io/output_folder.h"
#include "io/output_refusal.h"
#include "topology/machine.h"
#include "topology/topology.h"

#define FILE_MODE   0600
#define FOLDER_MODE 0700
#define KERNEL_MODE 0400 /* the mode that the recorder gives it */
#define COPY_BYTES  (1u << 20)

static int write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t count = pwrite(fd, (const uint8_t *)data + done, bytes - done, (off_t)(offset + done));
        if (count < 0 && errno != EINTR)
            return -errno;
        done += count > 0 ? (size_t)count : 0;
    }
    return 0;
}

/* Copies [at, end) of one file to the same place in another. */
static int copy(int from, int to, uint64_t at, uint64_t end)
{
    uint8_t *buffer = malloc(COPY_BYTES);
    int result = buffer ? 0 : -ENOMEM;
    while (result == 0 && at < end) {
        ssize_t count = pread(from, buffer, (size_t)weir_min_u64(COPY_BYTES, end - at), (off_t)at);
        if (count < 0 && errno != EINTR)
            result = -errno;
        else if (count == 0)
            result = -EIO; /* the file has shrunk since it was planned */
        else if (count > 0)
            result = write_at(to, buffer, (size_t)count, at);
        at += count > 0 ? (size_t)count : 0;
    }
    free(buffer);
    return result;
}

static int sync_fd(int fd)
{
    return fsync(fd) < 0 ? -errno : 0;
}

/* Writes the tail, then the header, and removes leftover bytes last, so that a crash in between leaves the old
 * recording or the new one. (Bytes that the tail replaces exist only in the tail until the header is written.) */
static int write_plan(int fd, const struct weir_recovery *recovery)
{
    uint64_t end = recovery->data_end + recovery->tail.used;
    int result = write_at(fd, recovery->tail.data, recovery->tail.used, recovery->data_end);
    if (result == 0)
        result = sync_fd(fd);
    if (result == 0 && !recovery->is_stream)
        result = write_at(fd, &recovery->header, sizeof(recovery->header), 0);
    if (result == 0)
        result = sync_fd(fd);
    if (result == 0)
        result = ftruncate(fd, (off_t)end) < 0 ? -errno : sync_fd(fd);
    return result;
}

static int finish_fd(int fd, int result)
{
    return close(fd) < 0 && result == 0 ? -errno : result;
}

static int fail_output(const char *path, int code, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot make %s", path);
    if (code == -EEXIST)
        weir_error_hint(err, "name another one with -o, or remove it first");
    return code;
}

/* Copies the first bytes of a file into a new file, which the plan completes; plan NULL: copies the file unchanged. 0
 * or -errno with err; on failure there is no new file. */
static int copy_file(const char *input_path, const char *output_path, uint64_t bytes,
                     const struct weir_recovery *recovery, struct weir_error *err)
{
    int from = open(input_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", input_path);
    int to = open(output_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    int result = to < 0 ? -errno : copy(from, to, 0, bytes);
    if (result == 0)
        result = recovery ? write_plan(to, recovery) : sync_fd(to);
    if (to >= 0) {
        result = finish_fd(to, result);
        if (result < 0)
            unlink(output_path);
    }
    close(from);
    return result < 0 ? fail_output(output_path, result, err) : 0;
}

/* Returns the path of the file, or of the directory's main file. */
static int copy_main(const char *input_path, const char *output_path, const struct weir_recovery *recovery,
                     struct weir_error *err)
{
    struct stat status;
    if (!recovery->is_whole)
        return copy_file(input_path, output_path, recovery->data_end, recovery, err);
    if (stat(input_path, &status) < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", input_path);
    return copy_file(input_path, output_path, (uint64_t)status.st_size, NULL, err);
}

/* ---- copies of the kernel ---- */

/* Copies data and keeps holes: most of kcore may be a hole. */
static int copy_sparse(int from, int to, uint64_t bytes)
{
    int result = ftruncate(to, (off_t)bytes) < 0 ? -errno : 0;
    for (off_t at = 0; result == 0;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0)
            return errno == ENXIO ? 0 : -errno; /* a hole up to the end of the file */
        at = lseek(from, data, SEEK_HOLE);
        result = at < 0 ? -errno : copy(from, to, (uint64_t)data, weir_min_u64((uint64_t)at, bytes));
    }
    return result;
}

/* Skips entries that are not regular files, like missing ones. */
static int copy_kernel_file(int from_folder, int to_folder, const char *name)
{
    struct stat status;
    int from = openat(from_folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return errno == ENOENT || errno == ELOOP ? 0 : -errno;
    int result = fstat(from, &status) < 0 ? -errno : 0;
    if (result == 0 && S_ISREG(status.st_mode)) {
        int to = openat(to_folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, KERNEL_MODE);
        result = to < 0 ? -errno : copy_sparse(from, to, (uint64_t)status.st_size);
        if (to >= 0)
            result = finish_fd(to, result < 0 ? result : sync_fd(to));
    }
    close(from);
    return result;
}

static bool kernel_path(char path[PATH_MAX], const char *directory)
{
    return snprintf(path, PATH_MAX, "%s/" WEIR_OUTPUT_KCORE_FOLDER, directory) < PATH_MAX;
}

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int copy_kernel_files(int from_folder, const char *path)
{
    const char *name;
    int result = mkdir(path, FOLDER_MODE) < 0 ? -errno : 0;
    int to_folder = result < 0 ? -1 : open_folder(path);
    if (result == 0 && to_folder < 0)
        result = -errno;
    for (size_t i = 0; result == 0 && (name = weir_output_folder_kcore_file(i)); i++)
        result = copy_kernel_file(from_folder, to_folder, name);
    if (to_folder >= 0)
        close(to_folder);
    return result;
}

/* Copies the image that --kcore has made, if there is one. */
static int copy_kernel(const char *input_path, const char *output_path, struct weir_error *err)
{
    char path[PATH_MAX];
    int from_folder = kernel_path(path, input_path) ? open_folder(path) : -1;
    if (from_folder < 0)
        return 0;
    int result = kernel_path(path, output_path) ? copy_kernel_files(from_folder, path) : -ENAMETOOLONG;
    close(from_folder);
    return result < 0 ? fail_output(output_path, result, err) : 0;
}

static void remove_kernel(const char *directory)
{
    char path[PATH_MAX];
    const char *name;
    int folder = kernel_path(path, directory) ? open_folder(path) : -1;
    if (folder < 0)
        return;
    for (size_t i = 0; (name = weir_output_folder_kcore_file(i)); i++)
        unlinkat(folder, name, 0);
    close(folder);
    rmdir(path);
}

/* ---- directories ---- */

/* Does as weir_recovery_path(), and fills err. */
static int path_in(char path[PATH_MAX], const char *directory, const size_t *number, struct weir_error *err)
{
    int result = weir_recovery_path(path, directory, number);
    return result < 0 ? weir_error_set_errno(err, result, "cannot open %.64s...", directory) : 0;
}

/* Copies parts and kernel image first: without the main file, perf finds no recording. */
static int copy_directory(const char *input_path, const char *output_path, const struct weir_recovery *recovery,
                          struct weir_error *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (mkdir(output_path, FOLDER_MODE) < 0)
        return fail_output(output_path, -errno, err);
    int result = 0;
    size_t made = 0;
    for (; result == 0 && made < recovery->part_count; made += result == 0) {
        result = path_in(from, input_path, &made, err);
        if (result == 0)
            result = path_in(to, output_path, &made, err);
        if (result == 0)
            result = copy_file(from, to, recovery->parts[made].kept_bytes, NULL, err);
    }
    if (result == 0)
        result = copy_kernel(input_path, output_path, err);
    if (result == 0)
        result = path_in(from, input_path, NULL, err);
    if (result == 0)
        result = path_in(to, output_path, NULL, err);
    if (result == 0)
        result = copy_main(from, to, recovery, err);
    if (result == 0)
        return 0;
    remove_kernel(output_path);
    while (made-- > 0) {
        if (path_in(to, output_path, &made, NULL) == 0)
            unlink(to);
    }
    rmdir(output_path);
    return result;
}

/* ---- in place ---- */

/*
 * Opens a file that is to be changed: a descriptor, or -errno with err. A recording may come from anybody, and links in
 * it may name files of the user who recovers it. So nothing is written through symbolic links or to files with other
 * hard links, as with outputs (io/output_file.c).
 */
static int open_to_change(const char *path, int access_mode, struct weir_error *err)
{
    struct stat status = {.st_mode = 0};
    int fd = open(path, access_mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
    if (code == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    if (code == -ELOOP)
        return weir_output_refuse_link(path, err);
    if (code < 0)
        return weir_error_set_errno(err, code, "cannot recover %s in place", path);
    weir_error_set(err, -EINVAL, "cannot recover %s in place: it is not a regular file, or has other hard links", path);
    weir_error_hint(err, "without --in-place a copy is made, and this stays as it is");
    return -EINVAL;
}

static int open_part(const char *directory, size_t number, struct weir_error *err)
{
    char path[PATH_MAX];
    int result = path_in(path, directory, &number, err);
    return result < 0 ? result : open_to_change(path, O_WRONLY, err);
}

/* Checks that all parts that have to be cut can be cut, before any of them is. */
static int check_parts(const char *directory, const struct weir_recovery *recovery, struct weir_error *err)
{
    for (size_t i = 0; i < recovery->part_count; i++) {
        int fd = recovery->parts[i].dropped_bytes > 0 ? open_part(directory, i, err) : -1;
        if (fd < 0 && recovery->parts[i].dropped_bytes > 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

static int cut_parts(const char *directory, const struct weir_recovery *recovery, struct weir_error *err)
{
    int result = check_parts(directory, recovery, err);
    for (size_t i = 0; result == 0 && i < recovery->part_count; i++) {
        if (recovery->parts[i].dropped_bytes == 0)
            continue;
        int fd = open_part(directory, i, err);
        if (fd < 0)
            return fd;
        result = ftruncate(fd, (off_t)recovery->parts[i].kept_bytes) < 0 ? -errno : sync_fd(fd);
        result = finish_fd(fd, result);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot recover data.%zu of %s in place", i, directory);
    }
    return result;
}

/* Refuses a file that a recorder still writes: the recorder holds its lock, and would write over the recovery. */
static int complete_main(int fd, const char *path, const struct weir_recovery *recovery, struct weir_error *err)
{
    int result = weir_output_file_check_lock(fd, path, err);
    if (result == 0 && recovery->is_directory)
        result = cut_parts(path, recovery, err);
    if (result < 0)
        return finish_fd(fd, result);
    result = finish_fd(fd, write_plan(fd, recovery));
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s in place", path) : 0;
}

static int recover_in_place(const char *path, const struct weir_recovery *recovery, struct weir_error *err)
{
    char main_path[PATH_MAX];
    if (recovery->is_whole)
        return 0;
    int result = recovery->is_directory ? path_in(main_path, path, NULL, err) : 0;
    if (result < 0)
        return result;
    int fd = open_to_change(recovery->is_directory ? main_path : path, O_RDWR, err);
    return fd < 0 ? fd : complete_main(fd, path, recovery, err);
}

static int recover_to(const char *input_path, const char *output_path, const struct weir_recovery *recovery,
                      struct weir_error *err)
{
    return recovery->is_directory ? copy_directory(input_path, output_path, recovery, err)
                                  : copy_main(input_path, output_path, recovery, err);
}

int weir_recover_run(const struct weir_recover_options *options, struct weir_recovery *recovery, struct weir_error *err)
{
    struct weir_topology *topology = NULL;
    struct weir_machine machine = {0};
    int result = weir_topology_load(&topology, err);
    if (result == 0)
        result = weir_machine_collect(&machine, topology, "", err);
    const struct weir_recovery_options plan = {
        .path = options->input_path,
        .machine = &machine,
        .tracefs_root = options->tracefs_root,
        .proc_root = options->proc_root,
        .assume_same_boot = options->assume_same_boot,
    };
    if (result == 0)
        result = weir_recovery_child_plan(recovery, &plan, options->notices, err);
    if (result == 0) {
        result = options->output_path ? recover_to(options->input_path, options->output_path, recovery, err)
                                      : recover_in_place(options->input_path, recovery, err);
        if (result < 0)
            weir_recovery_fini(recovery);
    }
    weir_machine_fini(&machine);
    weir_topology_free(topology);
    return result;
}
