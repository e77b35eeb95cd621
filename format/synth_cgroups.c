/*
 * CGROUP records of the existing control groups. Runs on the caller's thread, before recording begins.
 *
 * name_to_handle_at(2) of a group's directory gives its id, the number in PERF_SAMPLE_CGROUP. The walk of the tree has
 * one open descriptor per level. Source: perf_event__synthesize_cgroups(), tools/perf/util/synthetic-events.c, Linux
 * 6.1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/cgroup_mount.h"
#include "format/records.h"
#include "format/synth_internal.h"

#define DEPTH_MAX 64 /* of groups in groups: bounds the descriptors */

struct cgroup_walk {
    struct weir_synth_block block;
    char path[PATH_MAX]; /* of the group in hand, from the root of the hierarchy; "" for that */
    int depth;
};

static int emit_group(struct cgroup_walk *walk, int fd)
{
    uint64_t id;
    if (weir_cgroup_read_id(fd, &id) < 0) /* the directory is of a file system without handles */
        return 0;
    int result = weir_synth_block_reserve(&walk->block);
    if (result == 0)
        weir_record_cgroup(&walk->block.records, id, walk->path[0] ? walk->path : "/",
                           walk->block.options->sample_id_bytes);
    return result;
}

static int walk_group(struct cgroup_walk *walk, int fd);

/* The group `name` below the one in hand. */
static int walk_child(struct cgroup_walk *walk, int parent_fd, const char *name)
{
    size_t length = strlen(walk->path);
    if (length + 1 + strlen(name) >= sizeof(walk->path) || walk->depth == DEPTH_MAX)
        return 0;
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? -errno : 0;
    snprintf(walk->path + length, sizeof(walk->path) - length, "/%s", name);
    walk->depth++;
    int result = walk_group(walk, fd);
    walk->depth--;
    walk->path[length] = '\0';
    return result;
}

/* The group behind fd, which is closed, and all below it. */
static int walk_group(struct cgroup_walk *walk, int fd)
{
    int result = emit_group(walk, fd);
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return -ENOMEM;
    }
    const struct dirent *entry;
    while (result == 0 && (entry = readdir(directory))) {
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = walk_child(walk, dirfd(directory), entry->d_name);
    }
    closedir(directory);
    return result;
}

static int walk_mount(const struct weir_synth_options *options, const char *mount)
{
    int fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? -errno : 0;
    struct cgroup_walk *walk = calloc(1, sizeof(*walk));
    if (!walk || weir_synth_block_init(&walk->block, options) < 0) {
        free(walk);
        close(fd);
        return -ENOMEM;
    }
    int result = walk_group(walk, fd);
    if (result == 0)
        result = weir_synth_block_flush(&walk->block);
    weir_synth_block_fini(&walk->block);
    free(walk);
    return result;
}

int weir_synth_cgroups(const struct weir_synth_options *options, struct weir_error *err)
{
    char mounts[PATH_MAX], mount[PATH_MAX];
    snprintf(mounts, sizeof(mounts), "%s/mounts", options->proc_root ? options->proc_root : "/proc");
    if (!weir_cgroup_mount_find(mounts, mount))
        return 0;
    int result = walk_mount(options, mount);
    return result < 0 ? weir_error_set_errno(err, result, "cannot record the control groups in %s", mount) : 0;
}
