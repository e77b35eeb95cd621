#include "engine/bpf/sample_filter_program.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/bpf/sample_filter_skeleton.h"
#include "engine/bpf/skeleton.h"

#define PINNED_FILTERS 256u   /* of all users at a time: 1 KiB each */
#define PINNED_EVENTS  65536u /* of all users at a time: 80 bytes each */

#define HINT_PIN                                                                                           \
    "run weir as root, or with CAP_BPF and CAP_PERFMON; or have root pin the program for all users: weir " \
    "record --setup-filter pin"

enum part {
    PROGRAM,
    FILTERS,
    EVENTS,
    PARTS
};

static const char *const part_names[PARTS] = {"program", "filters", "events"};

struct weir_sample_program {
    struct weir_skeleton *skeleton; /* owned; NULL: the program is pinned */
    int fds[PARTS];                 /* borrowed from skeleton, or owned */
    int folder_fd;                  /* owned; of the pinned program; -1: none */
    bool *added;                    /* owned; [PINNED_FILTERS]: filters of this recorder in the pinned map */
    uint32_t count;                 /* filters in a map of our own */
};

static const char *folder_of(const char *folder)
{
    return folder ? folder : WEIR_SAMPLE_FILTER_FOLDER;
}

/* ---- a program of our own ---- */

/* Whether the kernel lends programs no way to the sample. Reads all of the kernel's types: for failures only. */
static bool lacks_samples(void)
{
    struct btf *types = btf__load_vmlinux_btf();
    bool lacks = types && btf__find_by_name_kind(types, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) < 0;
    btf__free(types);
    return lacks;
}

static int load(struct weir_skeleton **made, const char *user, uint32_t filters, uint32_t events,
                const struct weir_notice_sink *notices, struct weir_error *err)
{
    const struct weir_skeleton_setup setup = {.user = user,
                                              .image = weir_sample_filter_skeleton,
                                              .image_bytes = weir_sample_filter_skeleton_bytes,
                                              .notices = notices};
    struct weir_skeleton *skeleton;
    int result = weir_skeleton_open(&skeleton, &setup, err);
    if (result < 0)
        return result;
    weir_skeleton_size_map(skeleton, "filters", filters);
    weir_skeleton_size_map(skeleton, "events", events);
    result = weir_skeleton_load(skeleton, err);
    if (result < 0 && result != -EPERM && lacks_samples()) {
        result =
            weir_error_set(err, -EOPNOTSUPP, "%s needs a kernel whose BPF programs can read samples: Linux 6.2", user);
        weir_error_hint(err, "older kernels filter tracepoints only: -e SYSTEM:NAME --filter 'FIELD > 1'");
    }
    if (result == 0)
        *made = skeleton;
    else
        weir_skeleton_free(skeleton);
    return result;
}

static void take_parts(const struct weir_skeleton *skeleton, int fds[PARTS])
{
    fds[PROGRAM] = weir_skeleton_program(skeleton, "weir_sample");
    fds[FILTERS] = weir_skeleton_map(skeleton, "filters");
    fds[EVENTS] = weir_skeleton_map(skeleton, "events");
}

/* ---- a pinned program ---- */

/* Whether a pinned map holds what this weir writes there: the kernel reads that many bytes. */
static bool has_sizes(int fd, uint32_t key_bytes, uint32_t value_bytes)
{
    struct bpf_map_info info = {0};
    uint32_t bytes = sizeof(info);
    return bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 && info.key_size == key_bytes &&
           info.value_size == value_bytes;
}

static int open_parts(struct weir_sample_program *program, const char *folder)
{
    program->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (program->folder_fd < 0)
        return -errno;
    for (unsigned part = 0; part < PARTS; part++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder, part_names[part]);
        program->fds[part] = bpf_obj_get(path);
        if (program->fds[part] < 0)
            return -errno;
    }
    return 0;
}

static int open_pinned(struct weir_sample_program *program, const struct weir_sample_program_setup *setup,
                       struct weir_error *err)
{
    const char *folder = folder_of(setup->folder);
    int result = open_parts(program, folder);
    if (result == -ENOENT || result == -EACCES || result == -EPERM) { /* err says why it is not loaded */
        weir_error_hint(err, HINT_PIN);
        return -EPERM;
    }
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot open the BPF program in %s", folder);
    if (!has_sizes(program->fds[FILTERS], sizeof(uint32_t), sizeof(struct weir_sample_filter)) ||
        !has_sizes(program->fds[EVENTS], sizeof(uint64_t), sizeof(struct weir_sample_event))) {
        weir_error_set(err, -EINVAL, "the BPF program in %s is of another version of weir", folder);
        weir_error_hint(err, "have root pin it again: weir record --setup-filter pin");
        return -EINVAL;
    }
    program->added = calloc(PINNED_FILTERS, sizeof(*program->added));
    return program->added ? 0 : weir_error_set_errno(err, -ENOMEM, "cannot open the BPF program in %s", folder);
}

int weir_sample_program_open(struct weir_sample_program **made, const struct weir_sample_program_setup *setup,
                             struct weir_error *err)
{
    struct weir_sample_program *program = calloc(1, sizeof(*program));
    if (!program)
        return weir_error_set_errno(err, -ENOMEM, "cannot load the BPF program of %s", setup->user);
    *program = (struct weir_sample_program){.fds = {-1, -1, -1}, .folder_fd = -1};
    struct weir_error below = {0};
    int result = load(&program->skeleton, setup->user, setup->filters, setup->events, setup->notices, &below);
    if (result == 0)
        take_parts(program->skeleton, program->fds);
    else if (result == -EPERM)
        result = open_pinned(program, setup, &below);
    if (result == 0) {
        *made = program;
        return 0;
    }
    weir_sample_program_free(program);
    if (err)
        *err = below;
    return result;
}

/* Deletes the events of a filter. Others may add and delete meanwhile: then a deleted key makes the walk begin anew. */
static void delete_events(const struct weir_sample_program *program, uint32_t number)
{
    uint64_t id, next;
    const uint64_t *before = NULL;
    for (uint32_t steps = 0; steps < 2 * PINNED_EVENTS; steps++) {
        if (bpf_map_get_next_key(program->fds[EVENTS], before, &next) < 0)
            return;
        struct weir_sample_event event;
        bool is_of_filter = bpf_map_lookup_elem(program->fds[EVENTS], &next, &event) == 0 && event.filter == number;
        if (is_of_filter) {
            bpf_map_delete_elem(program->fds[EVENTS], &next);
            continue; /* from `before`, which is still there */
        }
        id = next;
        before = &id;
    }
}

static void delete_filter(const struct weir_sample_program *program, uint32_t number)
{
    delete_events(program, number);
    bpf_map_delete_elem(program->fds[FILTERS], &number);
}

void weir_sample_program_free(struct weir_sample_program *program)
{
    if (!program)
        return;
    for (uint32_t number = 0; program->added && number < PINNED_FILTERS; number++) {
        if (program->added[number])
            delete_filter(program, number);
    }
    for (unsigned part = 0; !program->skeleton && part < PARTS; part++) {
        if (program->fds[part] >= 0)
            close(program->fds[part]);
    }
    if (program->folder_fd >= 0)
        close(program->folder_fd);
    weir_skeleton_free(program->skeleton);
    free(program->added);
    free(program);
}

int weir_sample_program_fd(const struct weir_sample_program *program)
{
    return program->fds[PROGRAM];
}

/* ---- filters ---- */

static uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

/* Whether the recorder that entered the filter has ended. A process of another PID namespace cannot be seen from here,
 * and one with the same number as the recorder had counts as the recorder. */
static bool is_left_behind(const struct weir_sample_filter *filter, uint64_t here)
{
    return filter->owner_namespace == here && kill((pid_t)filter->owner, 0) < 0 && errno == ESRCH;
}

/* Finds a number without a filter, or one whose recorder has ended. The caller holds the lock. */
static int add_pinned(struct weir_sample_program *program, struct weir_sample_filter *filter, uint32_t *number)
{
    filter->owner = (unsigned)getpid();
    filter->owner_namespace = pid_namespace();
    for (uint32_t n = 0; n < PINNED_FILTERS; n++) {
        struct weir_sample_filter before;
        if (bpf_map_lookup_elem(program->fds[FILTERS], &n, &before) == 0) {
            if (!is_left_behind(&before, filter->owner_namespace))
                continue;
            delete_filter(program, n);
        }
        if (bpf_map_update_elem(program->fds[FILTERS], &n, filter, BPF_NOEXIST) < 0)
            return -errno;
        program->added[n] = true;
        *number = n;
        return 0;
    }
    return -EBUSY;
}

int weir_sample_program_add(struct weir_sample_program *program, const struct weir_sample_filter *filter,
                            uint32_t *number, struct weir_error *err)
{
    struct weir_sample_filter entered = *filter;
    int result = 0;
    if (program->skeleton) {
        *number = program->count++;
        result = bpf_map_update_elem(program->fds[FILTERS], number, &entered, BPF_NOEXIST) < 0 ? -errno : 0;
    } else {
        /* Locked, two recorders do not take the number of the same recorder that has ended. */
        result = flock(program->folder_fd, LOCK_EX) < 0 ? -errno : add_pinned(program, &entered, number);
        flock(program->folder_fd, LOCK_UN);
    }
    if (result == -EBUSY)
        return weir_error_set(err, result, "all %u filters of the pinned BPF program are in use", PINNED_FILTERS);
    return result < 0 ? weir_error_set_errno(err, result, "cannot enter a sample filter") : 0;
}

int weir_sample_program_watch(struct weir_sample_program *program, uint64_t id, uint32_t number)
{
    const struct weir_sample_event event = {.filter = number};
    return bpf_map_update_elem(program->fds[EVENTS], &id, &event, BPF_ANY) < 0 ? -errno : 0;
}

void weir_sample_program_forget(struct weir_sample_program *program, uint64_t id)
{
    bpf_map_delete_elem(program->fds[EVENTS], &id);
}

uint64_t weir_sample_program_filtered(const struct weir_sample_program *program, uint64_t id)
{
    struct weir_sample_event event;
    return bpf_map_lookup_elem(program->fds[EVENTS], &id, &event) == 0 ? event.filtered : 0;
}

/* ---- pinning ---- */

static void unpin_parts(const char *folder)
{
    for (unsigned part = 0; part < PARTS; part++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder, part_names[part]);
        (void)unlink(path);
    }
}

/* All users may reach the folder, and use the program and its maps: the kernel wants both rights for that. */
static int pin_parts(const char *folder, const int fds[PARTS])
{
    for (unsigned part = 0; part < PARTS; part++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", folder, part_names[part]);
        if (bpf_obj_pin(fds[part], path) < 0 || chmod(path, 0666) < 0)
            return -errno;
    }
    return chmod(folder, 0755) < 0 ? -errno : 0;
}

/* Lets all users pass through the root of the file system, which only root may enter otherwise; perf does so, too. */
static int open_way(const char *folder)
{
    char above[PATH_MAX];
    struct stat status;
    snprintf(above, sizeof(above), "%s/..", folder);
    if (stat(above, &status) < 0)
        return -errno;
    mode_t mode = status.st_mode & 07777, wanted = mode | S_IXGRP | S_IXOTH;
    return mode != wanted && chmod(above, wanted) < 0 ? -errno : 0;
}

static int refuse_pin(const char *folder, int code, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot pin the BPF program in %s", folder);
    if (code == -ENOENT || code == -EINVAL)
        weir_error_hint(err, "mount the BPF file system: mount -t bpf bpf /sys/fs/bpf");
    else if (code == -EPERM || code == -EACCES)
        weir_error_hint(err, "only root may pin it: weir record --setup-filter pin");
    return code;
}

int weir_sample_program_pin(const char *folder, const struct weir_notice_sink *notices, struct weir_error *err)
{
    folder = folder_of(folder);
    struct weir_skeleton *skeleton = NULL;
    int result = load(&skeleton, "--setup-filter", PINNED_FILTERS, PINNED_EVENTS, notices, err);
    if (result < 0)
        return result;
    int fds[PARTS];
    take_parts(skeleton, fds);
    unpin_parts(folder);
    result = mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : pin_parts(folder, fds);
    if (result == 0)
        result = open_way(folder);
    if (result < 0) {
        unpin_parts(folder);
        (void)rmdir(folder);
        refuse_pin(folder, result, err);
    }
    weir_skeleton_free(skeleton);
    return result;
}

int weir_sample_program_unpin(const char *folder, struct weir_error *err)
{
    folder = folder_of(folder);
    unpin_parts(folder);
    int code = rmdir(folder) < 0 ? -errno : 0;
    if (code == 0)
        return 0;
    weir_error_set_errno(err, code, "cannot remove the pinned BPF program in %s", folder);
    if (code == -EPERM || code == -EACCES)
        weir_error_hint(err, "only root may remove it: weir record --setup-filter unpin");
    return code;
}
