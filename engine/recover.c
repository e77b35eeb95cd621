/* Carries out a plan of recovery. Main thread. */
#include "engine/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/recovery_child.h"
#include "topology/machine.h"
#include "topology/topology.h"

#define FILE_MODE  0600
#define COPY_BYTES (1u << 20)

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

static int copy(int from, int to, uint64_t bytes)
{
    uint8_t *buffer = malloc(COPY_BYTES);
    int result = buffer ? 0 : -ENOMEM;
    for (uint64_t done = 0; result == 0 && done < bytes;) {
        ssize_t count = pread(from, buffer, (size_t)weir_min_u64(COPY_BYTES, bytes - done), (off_t)done);
        if (count < 0 && errno != EINTR)
            result = -errno;
        else if (count == 0)
            result = -EIO; /* it has shrunk since it was planned */
        else if (count > 0)
            result = write_at(to, buffer, (size_t)count, done);
        done += count > 0 ? (size_t)count : 0;
    }
    free(buffer);
    return result;
}

static int sync_fd(int fd)
{
    return fsync(fd) < 0 ? -errno : 0;
}

/* Tail and header, in an order in which a crash in between leaves what there was before, or the whole. */
static int write_plan(int fd, const struct weir_recovery *recovery)
{
    uint64_t end = recovery->data_end + recovery->tail.used;
    int result = write_at(fd, recovery->tail.data, recovery->tail.used, recovery->data_end);
    if (result == 0)
        result = ftruncate(fd, (off_t)end) < 0 ? -errno : sync_fd(fd);
    if (result == 0)
        result = write_at(fd, &recovery->header, sizeof(recovery->header), 0);
    return result == 0 ? sync_fd(fd) : result;
}

static int recover_in_place(const char *path, const struct weir_recovery *recovery, struct weir_error *err)
{
    if (recovery->is_whole)
        return 0;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    int result = fd < 0 ? -errno : write_plan(fd, recovery);
    if (fd >= 0 && close(fd) < 0 && result == 0)
        result = -errno;
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s in place", path) : 0;
}

static int fail_output(const char *path, int code, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot make %s", path);
    if (code == -EEXIST)
        weir_error_hint(err, "name another file with -o, or remove it first");
    return code;
}

static int recover_to(const char *input_path, const char *output_path, const struct weir_recovery *recovery,
                      struct weir_error *err)
{
    struct stat status;
    int from = open(input_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", input_path);
    int to = open(output_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    int result = to < 0 ? -errno : 0;
    if (to < 0) {
        close(from);
        return fail_output(output_path, result, err);
    }
    uint64_t bytes = recovery->data_end;
    if (recovery->is_whole)
        bytes = fstat(from, &status) < 0 ? 0 : (uint64_t)status.st_size;
    result = copy(from, to, bytes);
    if (result == 0)
        result = recovery->is_whole ? sync_fd(to) : write_plan(to, recovery);
    if (close(to) < 0 && result == 0)
        result = -errno;
    close(from);
    if (result < 0)
        unlink(output_path);
    return result < 0 ? fail_output(output_path, result, err) : 0;
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
