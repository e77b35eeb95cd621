/* Searches a list of mounts for control groups. Any thread. */
#include "format/cgroup_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/mount_line.h"

#define HANDLE_BYTES 8 /* of a file handle of cgroupfs: the id */

bool weir_cgroup_mount_find(const char *mounts, char path[PATH_MAX])
{
    FILE *file = setmntent(mounts, "re");
    if (!file)
        return false;
    char line[WEIR_MOUNT_LINE_BYTES];
    struct mntent mount;
    bool found_v1 = false, found_v2 = false;
    while (!found_v1 && getmntent_r(file, &mount, line, sizeof(line))) {
        size_t bytes = strlen(mount.mnt_dir) + 1;
        bool is_v1 = strcmp(mount.mnt_type, "cgroup") == 0 && hasmntopt(&mount, "perf_event");
        bool is_v2 = strcmp(mount.mnt_type, "cgroup2") == 0;
        if (bytes == 1 || bytes > PATH_MAX || (!is_v1 && (!is_v2 || found_v2)))
            continue;
        memcpy(path, mount.mnt_dir, bytes);
        found_v1 |= is_v1;
        found_v2 |= is_v2;
    }
    endmntent(file);
    return found_v1 || found_v2;
}

int weir_cgroup_read_id(int dir_fd, uint64_t *id)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + HANDLE_BYTES];
    } buffer = {.handle = {.handle_bytes = HANDLE_BYTES}};
    int mount_id;
    if (name_to_handle_at(dir_fd, "", &buffer.handle, &mount_id, AT_EMPTY_PATH) < 0)
        return -errno;
    memcpy(id, buffer.handle.f_handle, sizeof(*id));
    return 0;
}

int weir_cgroup_find_id(const char *path, uint64_t *id)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd < 0 ? -errno : weir_cgroup_read_id(fd, id);
    if (fd >= 0)
        close(fd);
    return result;
}
