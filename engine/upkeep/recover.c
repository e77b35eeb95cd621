/* Carries out the plan of a recovery: copies or changes files. Main thread. */
#include "engine/upkeep/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/directory.h"
#include "base/write_whole.h"
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

/* Copies [at, end) of one file into another, from to_at on. */
static int copy_to(int from, int to, uint64_t at, uint64_t end, uint64_t to_at)
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
            result = weir_write_whole_at(to, buffer, (size_t)count, to_at);
        at += count > 0 ? (size_t)count : 0;
        to_at += count > 0 ? (size_t)count : 0;
    }
    free(buffer);
    return result;
}

/* Copies [at, end) of one file to the same place in another. */
static int copy(int from, int to, uint64_t at, uint64_t end)
{
    return copy_to(from, to, at, end, at);
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
    int result = weir_write_whole_at(fd, recovery->tail.data, recovery->tail.used, recovery->data_end);
    if (result == 0)
        result = sync_fd(fd);
    if (result == 0 && !recovery->is_stream)
        result = weir_write_whole_at(fd, &recovery->header, sizeof(recovery->header), 0);
    if (result == 0)
        result = sync_fd(fd);
    if (result == 0)
        result = ftruncate(fd, (off_t)end) < 0 ? -errno : sync_fd(fd);
    return result;
}

/* Makes a file of a stream. */
static int write_file_of_stream(int from, int to, const struct weir_recovery *recovery)
{
    uint64_t at = recovery->head.used;
    int result = weir_write_whole_at(to, recovery->head.data, recovery->head.used, 0);
    for (size_t i = 0; result == 0 && i < recovery->kept_count; i++) {
        const struct weir_stream_range *range = &recovery->kept[i];
        result = copy_to(from, to, range->begin, range->end, at);
        at += range->end - range->begin;
    }
    if (result == 0)
        result = weir_write_whole_at(to, recovery->tail.data, recovery->tail.used, at);
    return result < 0 ? result : sync_fd(to);
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

/* A name in a directory that is open. The owner of the directory may exchange the name, but not the open directory. */
struct place {
    int directory_fd;
    const char *name;
    const char *path; /* for messages */
};

/* Finds the place of a path, without the slashes at its end. The caller closes place->directory_fd, and frees *copy,
 * into which place->name points. 0 or -errno. */
static int find_place(const char *path, char **copy, struct place *place)
{
    *place = (struct place){.directory_fd = -1, .path = path};
    *copy = strdup(path);
    if (!*copy)
        return -ENOMEM;
    for (size_t length = strlen(*copy); length > 1 && (*copy)[length - 1] == '/';)
        (*copy)[--length] = '\0';
    place->directory_fd = weir_directory_open_parent(*copy, &place->name);
    return place->directory_fd < 0 ? place->directory_fd : 0;
}

static void leave_place(struct place *place, char *copy)
{
    if (place->directory_fd >= 0)
        close(place->directory_fd);
    free(copy);
}

/* Copies the first bytes of a file into a new file, which the plan completes. plan NULL: copies the file unchanged. 0
 * or -errno with err. On failure there is no new file. */
static int copy_file(int from, const struct place *output, uint64_t bytes, const struct weir_recovery *recovery,
                     struct weir_error *err)
{
    int to =
        openat(output->directory_fd, output->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    bool is_made = recovery && recovery->head.used > 0;
    int result = to < 0 ? -errno : is_made ? write_file_of_stream(from, to, recovery) : copy(from, to, 0, bytes);
    if (result == 0 && !is_made)
        result = recovery ? write_plan(to, recovery) : sync_fd(to);
    if (result < 0 && to >= 0 && weir_directory_has(output->directory_fd, output->name, to))
        unlinkat(output->directory_fd, output->name, 0);
    if (to >= 0)
        result = finish_fd(to, result);
    return result < 0 ? fail_output(output->path, result, err) : 0;
}

/* Copies the file, or the directory's main file. */
static int copy_main(const struct place *input, const struct place *output, const struct weir_recovery *recovery,
                     struct weir_error *err)
{
    struct stat status;
    int from = openat(input->directory_fd, input->name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (from < 0 || fstat(from, &status) < 0) {
        int code = weir_error_set_errno(err, -errno, "cannot open %s", input->path);
        if (from >= 0)
            close(from);
        return code;
    }
    int result = recovery->is_whole ? copy_file(from, output, (uint64_t)status.st_size, NULL, err)
                                    : copy_file(from, output, recovery->data_end, recovery, err);
    close(from);
    return result;
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

/* Copies the image that --kcore has made, if there is one. */
static int copy_kernel(int from, int to)
{
    const char *name;
    int from_folder = weir_directory_open_at(from, WEIR_OUTPUT_KCORE_FOLDER);
    if (from_folder < 0)
        return 0;
    int to_folder = weir_directory_make_at(to, WEIR_OUTPUT_KCORE_FOLDER, FOLDER_MODE);
    int result = to_folder < 0 ? to_folder : 0;
    for (size_t i = 0; result == 0 && (name = weir_output_folder_kcore_file(i)); i++)
        result = copy_kernel_file(from_folder, to_folder, name);
    if (to_folder >= 0)
        close(to_folder);
    close(from_folder);
    return result;
}

static void remove_kernel(int directory_fd)
{
    const char *name;
    int folder = weir_directory_open_at(directory_fd, WEIR_OUTPUT_KCORE_FOLDER);
    if (folder < 0)
        return;
    for (size_t i = 0; (name = weir_output_folder_kcore_file(i)); i++)
        unlinkat(folder, name, 0);
    close(folder);
    unlinkat(directory_fd, WEIR_OUTPUT_KCORE_FOLDER, AT_REMOVEDIR);
}

/* ---- directories ---- */

#define MAIN_FILE "data"

struct part_name {
    char text[32];
};

static struct part_name part_name_of(size_t number)
{
    struct part_name name;
    snprintf(name.text, sizeof(name.text), MAIN_FILE ".%zu", number);
    return name;
}

/* Two directories that are open. */
struct directories {
    int from, to;
    const char *input_path, *output_path; /* for messages */
};

static int copy_part(const struct directories *directories, size_t number, uint64_t bytes, struct weir_error *err)
{
    const struct part_name name = part_name_of(number);
    const struct place output = {directories->to, name.text, directories->output_path};
    int from = openat(directories->from, name.text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s of %s", name.text, directories->input_path);
    int result = copy_file(from, &output, bytes, NULL, err);
    close(from);
    return result;
}

/* Copies parts and kernel image first: without the main file, perf finds no recording. Leaves nothing after a failure.
 */
static int fill_directory(const struct directories *directories, const struct weir_recovery *recovery,
                          struct weir_error *err)
{
    const struct place input = {directories->from, MAIN_FILE, directories->input_path};
    const struct place output = {directories->to, MAIN_FILE, directories->output_path};
    int result = 0;
    size_t made = 0;
    for (; result == 0 && made < recovery->part_count; made += result == 0)
        result = copy_part(directories, made, recovery->parts[made].kept_bytes, err);
    if (result == 0) {
        result = copy_kernel(directories->from, directories->to);
        if (result < 0)
            fail_output(directories->output_path, result, err);
    }
    if (result == 0)
        result = copy_main(&input, &output, recovery, err);
    if (result == 0)
        return 0;
    remove_kernel(directories->to);
    while (made-- > 0)
        unlinkat(directories->to, part_name_of(made).text, 0);
    return result;
}

static int copy_directory(const char *input_path, const struct place *output, const struct weir_recovery *recovery,
                          struct weir_error *err)
{
    struct directories directories = {.input_path = input_path, .output_path = output->path};
    directories.from = open(input_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directories.from < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", input_path);
    directories.to = weir_directory_make_at(output->directory_fd, output->name, FOLDER_MODE);
    int result = directories.to < 0 ? fail_output(output->path, directories.to, err)
                                    : fill_directory(&directories, recovery, err);
    if (directories.to >= 0) {
        if (result < 0 && weir_directory_has(output->directory_fd, output->name, directories.to))
            unlinkat(output->directory_fd, output->name, AT_REMOVEDIR);
        close(directories.to);
    }
    close(directories.from);
    return result;
}

/* ---- in place ---- */

/*
 * Opens a file that is to be changed: a descriptor, or -errno with err. A recording may come from anybody, and links in
 * it may name files of the user who recovers it. So nothing is written through symbolic links or to files with other
 * hard links, as with outputs (io/output_file.c).
 */
static int open_to_change(const struct place *place, int access_mode, struct weir_error *err)
{
    struct stat status = {.st_mode = 0};
    int fd = openat(place->directory_fd, place->name, access_mode | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    int code = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
    if (code == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    if (code == -ELOOP)
        return weir_output_refuse_link(place->path, err);
    if (code < 0)
        return weir_error_set_errno(err, code, "cannot recover %s in place", place->path);
    weir_error_set(err, -EINVAL, "cannot recover %s in place: it is not a regular file, or has other hard links",
                   place->path);
    weir_error_hint(err, "without --in-place a copy is made, and this stays as it is");
    return -EINVAL;
}

/* directory: of the main file, with the path of the directory. */
static int open_part(const struct place *directory, size_t number, struct weir_error *err)
{
    const struct part_name name = part_name_of(number);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory->path, name.text);
    const struct place part = {directory->directory_fd, name.text, path};
    return open_to_change(&part, O_WRONLY, err);
}

/* Checks that all parts that have to be cut can be cut, before any of them is. */
static int check_parts(const struct place *directory, const struct weir_recovery *recovery, struct weir_error *err)
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

static int cut_parts(const struct place *directory, const struct weir_recovery *recovery, struct weir_error *err)
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
            weir_error_set_errno(err, result, "cannot recover data.%zu of %s in place", i, directory->path);
    }
    return result;
}

/* Refuses a file that a recorder still writes: the recorder holds its lock, and would write over the recovery. */
static int complete_main(int fd, const struct place *place, const struct weir_recovery *recovery,
                         struct weir_error *err)
{
    int result = weir_output_file_check_lock(fd, place->path, err);
    if (result == 0 && recovery->is_directory)
        result = cut_parts(place, recovery, err);
    if (result < 0)
        return finish_fd(fd, result);
    result = finish_fd(fd, write_plan(fd, recovery));
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s in place", place->path) : 0;
}

/* Enters a directory of perf's layout, whose main file is then the place. A symbolic link stays the place, and is
 * refused later. */
static void enter(struct place *place)
{
    int fd = openat(place->directory_fd, place->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    close(place->directory_fd);
    place->directory_fd = fd;
    place->name = MAIN_FILE;
}

/* The plan was made by path, and its numbers would damage any other file. */
static bool is_planned(int fd, const struct weir_recovery *recovery)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == recovery->device && status.st_ino == recovery->inode;
}

static int recover_in_place(const struct place *place, const struct weir_recovery *recovery, struct weir_error *err)
{
    if (recovery->is_whole)
        return 0;
    int fd = open_to_change(place, O_RDWR, err);
    if (fd < 0)
        return fd;
    if (is_planned(fd, recovery))
        return complete_main(fd, place, recovery, err);
    close(fd);
    weir_error_set(err, -ESTALE, "cannot recover %s in place: another file has its name meanwhile", place->path);
    weir_error_hint(err, "nothing was changed; run it again when nobody replaces the file");
    return -ESTALE;
}

static int recover_to(const char *input_path, const char *output_path, const struct weir_recovery *recovery,
                      struct weir_error *err)
{
    const struct place input = {AT_FDCWD, input_path, input_path};
    struct place output;
    char *copy;
    int result = find_place(output_path, &copy, &output);
    if (result < 0)
        fail_output(output_path, result == -EINVAL ? -EEXIST : result, err);
    else
        result = recovery->is_directory ? copy_directory(input_path, &output, recovery, err)
                                        : copy_main(&input, &output, recovery, err);
    leave_place(&output, copy);
    return result;
}

static int make_plan(const struct weir_recover_options *options, struct weir_recovery *recovery, struct weir_error *err)
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
        .makes_file = options->output_path,
        .assume_same_boot = options->assume_same_boot,
        .progress = options->progress,
    };
    if (result == 0)
        result = weir_recovery_child_plan(recovery, &plan, options->notices, err);
    weir_machine_fini(&machine);
    weir_topology_free(topology);
    return result;
}

/* The place is found before the plan is made, which is for this file. */
static int plan_and_recover_in_place(const struct weir_recover_options *options, struct weir_recovery *recovery,
                                     struct weir_error *err)
{
    struct place place;
    char *copy;
    int found = find_place(options->input_path, &copy, &place);
    if (found == 0)
        enter(&place);
    int result = make_plan(options, recovery, err);
    if (result == 0) {
        result = found < 0 ? weir_error_set_errno(err, found, "cannot recover %s in place", options->input_path)
                           : recover_in_place(&place, recovery, err);
        if (result < 0)
            weir_recovery_fini(recovery);
    }
    leave_place(&place, copy);
    return result;
}

int weir_recover_run(const struct weir_recover_options *options, struct weir_recovery *recovery, struct weir_error *err)
{
    if (!options->output_path)
        return plan_and_recover_in_place(options, recovery, err);
    int result = make_plan(options, recovery, err);
    if (result < 0)
        return result;
    result = recover_to(options->input_path, options->output_path, recovery, err);
    if (result < 0)
        weir_recovery_fini(recovery);
    return result;
}
